// Package protocol decides what follows a failure of the job: a pure state machine without I/O, clock or randomness of its own (jitter is
// handed in). Formulas: Flink's ExponentialDelayRestartBackoffTimeStrategy and FixedDelayRestartBackoffTimeStrategy.
package protocol
