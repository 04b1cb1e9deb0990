// Package config holds the options of tables and jobs: what may be written, what it means, and what is said when it is wrong.
//
// There are two users. A connector or format declares a table of [Option] and reads the WITH clause of one table through
// [Values]. The command line builds one [Job] from layers (defaults, then config.yaml or flink-conf.yaml, then SET, then -D)
// and hands it to the engine, which reads the typed sections ([Job.Checkpointing], [Job.Restart]) or single keys.
//
// The spelling of keys and values is Flink's, since the same SQL file must run on a real Flink cluster. options.tsv is the
// table of the keys which Flink 2.3.0 knows, as printed from its option objects. A key is one of three kinds:
//
//   - with effect here: listed in job_options.go or in the option table of the connector or format;
//   - known to Flink, without meaning on one machine and without influence on results: accepted, one warning names them all;
//   - anything else: refused, with the nearest known name.
//
// Invariants:
//
//   - No key is ignored silently. What has no effect is named by a warning; what would change results and is not there is an error.
//   - Every value is parsed when it is set or checked, not when it is first used: a wrong value never surfaces in a running job.
//   - An error names the key, the value, the place, and what is accepted. Values of keys that look secret are never printed.
//   - The package is pure: it reads no file, no environment variable and no clock; callers pass bytes in.
//
// See DESIGN.md section 4 for the rules and docs/reference for the generated list of keys.
package config
