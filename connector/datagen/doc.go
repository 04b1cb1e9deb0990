// Package datagen makes rows out of nothing, for tries and tests, with the options of Flink's datagen connector.
//
// A value is a function of the seed, the split, the row's number and the column, so that rows are the same after a restore (P1) and do not depend
// on which columns a query uses. A split's position is the number of its next row. There are as many splits as there were subtasks when the job
// started. Field times are those at which a row is due by rows-per-second from the job's start on, not those of the wall clock.
//
// Rows come at rows-per-second by the clock of the context, divided evenly over the splits. What was missed while the job stood still is not
// made up for.
//
// So given rows can be made once more, at once (Reread), from the split's state, which stands in the accounts as their origin.
//
// Limits: nested types are not made. Flink's DECIMAL, FLOAT and interval ranges are followed in spirit, its random numbers are not.
package datagen
