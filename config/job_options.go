package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultCheckpointInterval is used where execution.checkpointing.interval is not set. Flink takes no checkpoints then, and a
// file sink never makes anything visible, which nobody wants from a job that is meant to be exactly once.
const DefaultCheckpointInterval = 10 * time.Second

// DefaultMemory is the memory budget of the process where taskmanager.memory.process.size is not set.
const DefaultMemory = 384 << 20

// effective lists the keys of the job that have an effect here. Type, default, accepted values and older spellings come from
// options.tsv where Flink has the key; what stands here goes before.
var effective = []Option{
	{Key: "execution.checkpointing.interval", Default: "10 s", Validate: atLeast(10 * time.Millisecond),
		Doc: "Time from the start of one checkpoint to the start of the next. Output becomes visible at checkpoints only."},
	{Key: "execution.checkpointing.timeout", Validate: atLeast(10 * time.Millisecond), Doc: "A checkpoint that takes longer is given up and counts as failed."},
	{Key: "execution.checkpointing.min-pause", Doc: "Least time from the end of one checkpoint to the start of the next."},
	{Key: "execution.checkpointing.mode", Doc: "EXACTLY_ONCE is what always runs; AT_LEAST_ONCE is accepted and gives more than it asks for."},
	{Key: "execution.checkpointing.tolerable-failed-checkpoints", Validate: intRange(0, 1<<31-1),
		Doc: "Consecutive failed checkpoints that are tolerated before the job fails and its restart strategy decides."},
	{Key: "execution.checkpointing.dir", Doc: "Directory of checkpoints and of the job's log; a local path, a file:// or an hdfs:// URI. By default in the user's state directory."},
	{Key: "execution.checkpointing.num-retained", Validate: intRange(1, 1000), Doc: "Completed checkpoints that are kept."},
	{Key: "execution.state-recovery.path", Doc: "The checkpoint to go back to: the file of its entry in a job's log, or the folder of a log, a job or checkpoints for the newest " +
		"there. As `staunch run --from-savepoint`, which goes before it."},
	{Key: "execution.checkpointing.max-concurrent-checkpoints", Validate: intRange(1, 1<<31-1),
		Doc: "Accepted, and runs as 1: the next checkpoint begins when the one before is committed."},
	{Key: "execution.checkpointing.externalized-checkpoint-retention", Ignored: "checkpoints are always kept",
		Doc: "Accepted without effect: there is no way to end a job that removes its checkpoints."},
	{Key: "parallelism.default", Validate: intRange(1, 32768), Doc: "Subtasks of each operator."},
	{Key: "table.exec.resource.default-parallelism", Validate: intRange(-1, 32768), Doc: "Goes before parallelism.default when greater than 0."},
	{Key: "pipeline.name", Doc: "Name of the job, by which its checkpoints are found again. By default the file name without extension."},
	{Key: "pipeline.auto-watermark-interval", Ignored: "watermarks follow each batch", Doc: "Accepted without effect: watermarks are taken after each batch of rows."},
	{Key: "table.exec.source.idle-timeout", Doc: "A source partition without rows for this long does not hold back the watermark; 0 = never."},
	{Key: "table.exec.sink.not-null-enforcer", Doc: "A NULL for a NOT NULL column of a sink: ERROR fails the job, DROP drops the row and counts it."},
	{Key: "table.local-time-zone", Validate: validZone, Doc: "Session time zone: an IANA name, an offset such as +08:00, or default (the machine's)."},
	{Key: "restart-strategy.type", Type: TypeEnum, Default: "exponential-delay", Enum: restartSpellings, Validate: restartAvailable,
		Doc: "What follows a failure: none, fixed-delay or exponential-delay."},
	{Key: "restart-strategy.fixed-delay.attempts", Validate: intRange(0, 1<<31-1), Doc: "Restarts before the job fails."},
	{Key: "restart-strategy.fixed-delay.delay", Doc: "Wait before each restart."},
	{Key: "restart-strategy.exponential-delay.initial-backoff", Validate: atLeast(time.Millisecond), Doc: "Wait before the first restart."},
	{Key: "restart-strategy.exponential-delay.max-backoff", Validate: atLeast(time.Millisecond), Doc: "Longest wait before a restart."},
	{Key: "restart-strategy.exponential-delay.backoff-multiplier", Validate: doubleRange(1, 1e6), Doc: "Factor from one wait to the next."},
	{Key: "restart-strategy.exponential-delay.reset-backoff-threshold", Validate: atLeast(time.Millisecond),
		Doc: "After running without failure for this long the wait is initial-backoff again."},
	{Key: "restart-strategy.exponential-delay.jitter-factor", Validate: doubleRange(0, 1), Doc: "Random part of each wait, up and down."},
	{Key: "restart-strategy.exponential-delay.attempts-before-reset-backoff", Validate: intRange(0, 1<<31-1),
		Doc: "Restarts without a reset between them before the job fails."},
	{Key: "execution.runtime-mode", Enum: []string{"STREAMING", "BATCH"}, Doc: "STREAMING, or BATCH, which is refused for a source without end and otherwise runs as STREAMING: output becomes visible at each " +
		"checkpoint. AUTOMATIC is not for SQL, in Flink neither."},
	{Key: "taskmanager.memory.process.size", Type: TypeMemorySize, Default: "384mb", Validate: memoryAtLeast(64 << 20),
		Doc: "Memory budget of the process: a third of it bounds the open files and buffers of the writers of all jobs. Kafka readers come beside it, with at most 2 x fetch.max.bytes a subtask."},
	{Key: "metrics.reporter.prom.port", Type: TypeString, Validate: validPorts, Doc: "Port of the Prometheus endpoint, or a range such as 9250-9260 of which the first free one is taken. Off unless set."},
	{Key: "staunch.partition.date-style", Type: TypeEnum, Default: "iso", Enum: []string{"iso", "epoch-day"},
		Doc: "How a DATE partition column is written in folder names: iso (2026-01-31), or epoch-day as Flink 2.3 does (20484)."},
	{Key: "staunch.trace.max-size", Type: TypeMemorySize, Default: "64mb", Validate: noneOrAtLeast(8 << 20),
		Doc: "Room for a job's operation trace beside its checkpoints; the oldest records go first. 0 = no trace is kept."},
	{Key: "staunch.loss-window.interval", Type: TypeDuration, Default: "1 min", Validate: noneOrSpan(100 * time.Millisecond),
		Doc: "How often a running job asks how long what is not committed yet stays in its topics; 0 = never."},
	{Key: "staunch.loss-window.alarm", Type: TypeDouble, Default: "0.25", Validate: doubleRange(0, 1),
		Doc: "An alarm is raised when less than this part of what the topic keeps is left (of `temporary-ttl` for files that are not visible yet)."},
	{Key: "staunch.hdfs-audit.logs", Type: TypeList, Doc: "Audit logs of NameNodes that the table staunch.hdfs_audit reads, separated by semicolons; also .gz."},
	{Key: "staunch.json.coercion", Type: TypeEnum, Default: "flink", Enum: []string{"flink", "fail"},
		Doc: "A JSON value that only fits a column by losing something: flink = converted as Flink does, and counted; fail = a record that does not parse."},
}

// refusedJob are keys which Flink knows and which would change results or what the job goes on from; they are accepted with
// their default value only.
var refusedJob = map[string]string{
	"execution.state-recovery.ignore-unclaimed-state":     "state is found by the names in the statement file",
	"table.exec.legacy-cast-behaviour":                    "only the present cast rules are there",
	"table.exec.sink.type-length-enforcer":                "character columns are written as they are",
	"table.exec.sink.nested-constraint-enforcer":          "nested columns are not checked",
	"table.exec.source.cdc-events-duplicate":              "change streams are not read",
	"table.legacy-nested-row-nullability":                 "only the present rule is there",
	"table.column-expansion-strategy":                     "SELECT * expands to all columns",
	"table.builtin-catalog-name":                          "the built-in catalog keeps its name",
	"table.builtin-database-name":                         "the built-in database keeps its name",
	"table.sql-dialect":                                   "only the default dialect is there",
	"table.exec.disabled-operators":                       "operators are chosen by the planner",
	"execution.checkpointing.unaligned.forced":            "checkpoints are aligned",
	"execution.checkpointing.interval-during-backlog":     "the interval is one for the whole run",
	"execution.state-recovery.approximate-local-recovery": "only exact recovery is there",
	"pipeline.jobvertex-parallelism-overrides":            "parallelism is one for the whole job",
	"pipeline.jars":                                       "Java classes cannot be loaded",
	"pipeline.classpaths":                                 "Java classes cannot be loaded",
}

// families are beginnings of keys that size, place or connect the processes of a cluster. options.tsv does not list them all,
// and none of them influences results on one machine.
var families = []string{"akka.", "blob.", "classloader.", "cleanup-strategy.", "client.", "cluster.", "deployment.", "env.", "external-resource.", "external-resources",
	"fs.", "gs.", "heartbeat.", "high-availability.", "historyserver.", "io.", "jmx.", "job-result-store.", "jobmanager.", "jobstore.", "kubernetes.", "metrics.", "oss.",
	"pekko.", "plugin.", "process.", "queryable-state.", "resourcemanager.", "rest.", "s3.", "s3a.", "security.", "slot.", "slotmanager.", "sql-client.", "sql-gateway.",
	"state.backend.forst.", "state.backend.rocksdb.", "taskmanager.", "traces.", "user.", "web.", "yarn.", "zookeeper."}

// gone are keys of Flink 1.x that 2.x does not know any more and that have no meaning here.
var gone = []string{"pipeline.time-characteristic", "state.backend.async", "table.planner", "table.exec.source.force-break-chain", "table.exec.legacy-transformation-uids",
	"pipeline.default-kryo-serializers", "pipeline.registered-kryo-types", "pipeline.registered-pojo-types", "execution.checkpointing.force-unaligned",
	"table.optimizer.source.predicate-pushdown-enabled", "table.optimizer.source.aggregate-pushdown-enabled"}

// restartSpellings are the values of restart-strategy.type in Flink.
var restartSpellings = []string{"none", "off", "disable", "fixed-delay", "fixeddelay", "exponential-delay", "exponentialdelay", "failure-rate", "failurerate"}

func restartAvailable(value string) error {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), "failure") {
		return errors.New("known to Flink and not available here yet; use exponential-delay, fixed-delay or none")
	}
	return nil
}

// jobOptions is effective, completed from options.tsv.
var jobOptions = sync.OnceValue(func() []Option {
	out := slices.Clone(effective)
	for i := range out {
		o := &out[i]
		f := flink().job[o.Key]
		if f == nil {
			continue
		}
		if o.Type == TypeString {
			o.Type = f.Type
		}
		if o.Default == "" {
			o.Default = f.Default
		}
		if o.Enum == nil {
			o.Enum = f.Enum
		}
		o.Aliases = append(o.Aliases, f.Aliases...)
	}
	return out
})

// JobOptions returns the keys of the job with an effect here, in the order of the reference page. It must not be changed.
func JobOptions() []Option { return jobOptions() }

// RefusedJobKeys returns Flink's keys that are accepted with their default value only, with the reason.
func RefusedJobKeys() map[string]string { return maps.Clone(refusedJob) }

// IdleJobKeys returns Flink's keys that are accepted without effect, in alphabetical order, patterns as Flink writes them.
func IdleJobKeys() []string {
	var out []string
	for k := range flink().job {
		if o, _ := Find(jobOptions(), k); (o == nil || o.Ignored != "") && refusedJob[k] == "" {
			out = append(out, k)
		}
	}
	return sorted(out)
}

// KeyFamilies returns the beginnings of keys that are accepted without effect, whatever follows.
func KeyFamilies() []string { return slices.Clone(families) }

func atLeast(least time.Duration) func(string) error {
	return func(s string) error {
		if d, err := ParseDuration(s); err == nil && d < least {
			return fmt.Errorf("must be at least %s", FormatDuration(least))
		}
		return nil
	}
}

// noneOrSpan: 0 turns it off.
func noneOrSpan(least time.Duration) func(string) error {
	return func(s string) error {
		if d, err := ParseDuration(s); err == nil && d != 0 {
			return atLeast(least)(s)
		}
		return nil
	}
}

func memoryAtLeast(least int64) func(string) error {
	return func(s string) error {
		if n, err := ParseMemorySize(s); err == nil && n < least {
			return fmt.Errorf("must be at least %d mb", least>>20)
		}
		return nil
	}
}

// noneOrAtLeast: 0 turns it off.
func noneOrAtLeast(least int64) func(string) error {
	return func(s string) error {
		if n, err := ParseMemorySize(s); err == nil && n != 0 {
			return memoryAtLeast(least)(s)
		}
		return nil
	}
}

func intRange(low, high int64) func(string) error {
	return func(s string) error {
		if n, err := parseInt(s, 64); err == nil && (n < low || n > high) {
			return fmt.Errorf("must be from %d to %d", low, high)
		}
		return nil
	}
}

func doubleRange(low, high float64) func(string) error {
	return func(s string) error {
		if f, err := parseDouble(s); err == nil && (f < low || f > high) {
			return fmt.Errorf("must be from %g to %g", low, high)
		}
		return nil
	}
}

func validZone(s string) error  { _, err := ParseZone(s); return err }
func validPorts(s string) error { _, err := ParsePorts(s); return err }
