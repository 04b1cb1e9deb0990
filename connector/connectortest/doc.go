// Package connectortest checks connectors against the contracts of package connector.
//
// RunSource takes a bounded source over data that does not change and checks: Poll does not block; batches are well formed and of one split;
// positions are behind the rows emitted; accounts join and close after every batch; reading again, from a snapshot or with other numbers of
// subtasks gives the same rows; splits may be added; Ended comes when all positions are at their ends and not before; known splits are not found
// again. Its own test runs it over sources with one fault each and wants every fault found.
//
// Task stands for the subtask around a reader in tests of one connector.
package connectortest
