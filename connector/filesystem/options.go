package filesystem

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"staunch/config"
	"staunch/function/datetime"
)

// The keys of the WITH clause.
const (
	keyPath           = "path"
	keyFormat         = "format"
	keyDefaultName    = "partition.default-name"
	keyFileSize       = "sink.rolling-policy.file-size"
	keyRollover       = "sink.rolling-policy.rollover-interval"
	keyInactivity     = "sink.rolling-policy.inactivity-interval"
	keyCheck          = "sink.rolling-policy.check-interval"
	keyTrigger        = "sink.partition-commit.trigger"
	keyDelay          = "sink.partition-commit.delay"
	keyPolicyKind     = "sink.partition-commit.policy.kind"
	keyPolicyClass    = "sink.partition-commit.policy.class"
	keyPolicyParams   = "sink.partition-commit.policy.class.parameters"
	keySuccessName    = "sink.partition-commit.success-file.name"
	keyWatermarkZone  = "sink.partition-commit.watermark-time-zone"
	keyExtractorKind  = "partition.time-extractor.kind"
	keyExtractorClass = "partition.time-extractor.class"
	keyTimePattern    = "partition.time-extractor.timestamp-pattern"
	keyTimeFormatter  = "partition.time-extractor.timestamp-formatter"
	keyParallelism    = "sink.parallelism"
	// Options of Staunch's own.
	keyDateStyle = "partition.date-style"
	keyCleanup   = "temporary-cleanup"
	keyTTL       = "temporary-ttl"
	keyChecksum  = "checksum"
)

const (
	triggerPartitionTime = "partition-time"
	triggerProcessTime   = "process-time"
	policySuccessFile    = "success-file"
	dateISO              = "iso"
	dateEpochDay         = "epoch-day"
	cleanupNever         = "never"
	cleanupBeforeWrite   = "before-write"
	checksumXXH128       = "xxh128"
	checksumSHA256       = "sha256"
)

// options are the connector's own; those of the format are added to them.
var options = []config.Option{
	{Key: "connector", Type: config.TypeString, Required: true, Doc: "filesystem."},
	{Key: keyPath, Type: config.TypeString, Required: true, Doc: "The table's folder: a path or a URI such as file:///data/lake."},
	{Key: keyFormat, Type: config.TypeString, Required: true, Doc: "The format of the files."},
	{Key: keyDefaultName, Type: config.TypeString, Default: "__DEFAULT_PARTITION__",
		Doc: "The partition value that stands for NULL and for the empty string.", Validate: validateDefaultName},
	{Key: keyFileSize, Type: config.TypeMemorySize, Default: "128mb", Doc: "A file that has become larger is closed.", Validate: positiveSize},
	{Key: keyRollover, Type: config.TypeDuration, Default: "30 min", Doc: "The longest time that a file stays open.", Validate: positiveDuration},
	{Key: keyInactivity, Type: config.TypeDuration, Default: "30 min", Doc: "A file without new rows for so long is closed.",
		Validate: positiveDuration},
	{Key: keyCheck, Type: config.TypeDuration, Default: "1 min", Doc: "How often both intervals are looked at.", Validate: positiveDuration},
	{Key: keyTrigger, Type: config.TypeEnum, Enum: []string{triggerProcessTime, triggerPartitionTime}, Default: triggerProcessTime,
		Doc: "What decides that a partition is complete: the wall clock, or the watermark and the time in the partition's values."},
	{Key: keyDelay, Type: config.TypeDuration, Default: "0 ms", Doc: "The partition is complete so long after its time."},
	{Key: keyPolicyKind, Type: config.TypeString, Doc: "How completeness is told: success-file.", Validate: validatePolicies},
	{Key: keyPolicyClass, Type: config.TypeString, Doc: "A Java class.",
		Refused: "a policy class is Java code; use 'sink.partition-commit.policy.kind' = 'success-file'"},
	{Key: keyPolicyParams, Type: config.TypeList, Doc: "Parameters of the Java class.",
		Refused: "a policy class is Java code; use 'sink.partition-commit.policy.kind' = 'success-file'"},
	{Key: keySuccessName, Type: config.TypeString, Default: "_SUCCESS", Doc: "The name of the success file.", Validate: validateFileName},
	{Key: keyWatermarkZone, Type: config.TypeString, Default: "UTC", Doc: "The zone of the time in the partition's values. " +
		"For a watermark on TIMESTAMP_LTZ it is the zone in which the partition values were made.",
		Validate: func(s string) error { _, err := datetime.LoadZone(s); return err }},
	{Key: keyExtractorKind, Type: config.TypeEnum, Enum: []string{"default", "custom"}, Default: "default",
		Doc: "How the time is found in the partition's values.", Refused: "a custom extractor is Java code; use '" + keyTimePattern + "'"},
	{Key: keyExtractorClass, Type: config.TypeString, Doc: "A Java class.", Refused: "an extractor class is Java code; use '" + keyTimePattern + "'"},
	{Key: keyTimePattern, Type: config.TypeString, Doc: "The time as text, $key standing for a partition's value: '$dt $hour:00:00'. " +
		"Without it the first value is the time."},
	{Key: keyTimeFormatter, Type: config.TypeString, Doc: "The time's format, such as yyyyMMdd; without it y-M-d[ H:m:s[.fraction]].",
		Validate: func(s string) error { _, err := datetime.CompilePattern(s); return err }},
	{Key: keyParallelism, Type: config.TypeInt, Doc: "The number of writers; it must be the job's parallelism.", Validate: positiveInt},
	{Key: "sink.shuffle-by-partition.enable", Type: config.TypeBool, Default: "false", Doc: "Rows of one partition go to one writer.",
		Refused: "rows are written where they are read; remove it"},
	{Key: "auto-compaction", Type: config.TypeBool, Default: "false", Doc: "Small files are joined before they become visible.",
		Refused: "remove it, and make fewer and larger files with a longer 'execution.checkpointing.interval'"},
	{Key: "compaction.file-size", Type: config.TypeMemorySize, Doc: "The size that compaction aims at.", Ignored: "counts with auto-compaction only"},
	{Key: "compaction.parallelism", Type: config.TypeInt, Doc: "The number of compactors.", Ignored: "counts with auto-compaction only"},
	{Key: "source.monitor-interval", Type: config.TypeDuration, Doc: "How often a source looks for new files.", Ignored: "counts for reading only"},
	{Key: "source.path.regex-pattern", Type: config.TypeString, Doc: "The files that a source reads.", Ignored: "counts for reading only"},
	{Key: "source.report-statistics", Type: config.TypeEnum, Enum: []string{"ALL", "NONE"}, Default: "ALL",
		Doc: "What a source tells the planner.", Ignored: "counts for reading only"},
}

// StaunchOptions are the options of one table in its staunch section, which Flink does not know.
var StaunchOptions = []config.Option{
	{Key: keyDateStyle, Type: config.TypeEnum, Enum: []string{dateISO, dateEpochDay}, Default: dateISO,
		Doc: "How a DATE partition column names its folder: 2024-01-02, as Hive and Spark expect it, or 19724, the day number, as Flink writes it."},
	{Key: keyCleanup, Type: config.TypeEnum, Enum: []string{cleanupNever, cleanupBeforeWrite}, Default: cleanupNever,
		Doc: "before-write: before its first file of a checkpoint each task lists its temporary folder and deletes, one by one, files of ended attempts of " +
			"this job that nothing names. An aid for the change from writers that empty the folder; names are unique, so that it is never needed."},
	{Key: keyTTL, Type: config.TypeDuration, Default: "0 ms",
		Doc: "The age at which a cleaner outside of this job, a TTL of the store for one, removes files below the table that nobody has used since. 0 = there is none. " +
			"Nothing is removed by this: it is how the loss-window guard knows when to raise its alarm."},
	{Key: keyChecksum, Type: config.TypeEnum, Enum: []string{checksumXXH128, checksumSHA256}, Default: checksumXXH128,
		Doc: "By what certificates name the bytes of each file. xxh128 (XXH3, 128 bits) finds whatever happens to a file. sha256: SHA-256 besides, which finds files too " +
			"that somebody forged to fit; it costs some 4 % of the job's CPU."},
}

func positiveSize(s string) error {
	if n, err := config.ParseMemorySize(s); err == nil && n <= 0 {
		return errors.New("accepted is a size above 0")
	}
	return nil
}

func positiveDuration(s string) error {
	if d, err := config.ParseDuration(s); err == nil && d <= 0 {
		return errors.New("accepted is a duration above 0")
	}
	return nil
}

func positiveInt(s string) error {
	if strings.HasPrefix(strings.TrimSpace(s), "-") || strings.Trim(s, " 0") == "" {
		return errors.New("accepted is a whole number above 0")
	}
	return nil
}

func validateDefaultName(s string) error {
	if s == "" {
		return errors.New("accepted is a name that is not empty")
	}
	return nil
}

func validateFileName(s string) error {
	if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\x00") || len(s) > maxElement {
		return fmt.Errorf("accepted is the name of a file, without '/' and of at most %d bytes", maxElement)
	}
	return nil
}

// validatePolicies accepts Flink's comma-separated list as far as it can be done here.
func validatePolicies(s string) error {
	for _, p := range strings.Split(s, ",") {
		switch strings.ToLower(strings.TrimSpace(p)) {
		case policySuccessFile:
		case "metastore":
			return errors.New("the policy metastore needs a Hive catalog, which is not available here; use success-file")
		case "custom":
			return errors.New("the policy custom is Java code, which is not available here; use success-file")
		default:
			return fmt.Errorf("policy %q is unknown; accepted is success-file", strings.TrimSpace(p))
		}
	}
	return nil
}

// rolling says when a file is closed before the barrier.
type rolling struct {
	size                        int64
	rollover, inactivity, check time.Duration
}

func rollingOf(v config.Values) (r rolling, err error) {
	if r.size, err = v.MemorySize(keyFileSize); err != nil {
		return r, err
	}
	for _, d := range []struct {
		key string
		to  *time.Duration
	}{{keyRollover, &r.rollover}, {keyInactivity, &r.inactivity}, {keyCheck, &r.check}} {
		if *d.to, err = v.Duration(d.key); err != nil {
			return r, err
		}
	}
	return r, nil
}
