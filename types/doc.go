// Package types has Flink SQL's logical types and how their values lie in memory.
//
// A Type is a small comparable value; nested types hold their children by pointer. Physical gives the column
// storage that carries it (see changelog.Column). The text form of a type is Flink's own (`DECIMAL(10, 2) NOT NULL`),
// as its planner prints it, and is what EXPLAIN, errors and certificates show.
//
// Source: Flink 2.3 "Data Types" and org.apache.flink.table.types.logical.
package types
