// Package operator has the contracts of what stands between a reader and a writer in one chain. Operators start no goroutine, take no lock and
// do no I/O (O1).
package operator
