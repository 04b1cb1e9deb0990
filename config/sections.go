package config

import (
	"fmt"
	"strings"
	"time"
)

// Checkpointing is the section execution.checkpointing of a job.
type Checkpointing struct {
	Interval          time.Duration
	IntervalSet       bool // false: Interval is the default, which is said at start
	Timeout           time.Duration
	MinPause          time.Duration // from the end of one checkpoint to the start of the next
	ExactlyOnce       bool          // what was asked for; what runs is exactly once
	TolerableFailures int           // consecutive
	Dir               string        // "" = the caller's default, see [DefaultStateDir]
	Retained          int
	// From names the checkpoint to go back to, "" for none.
	From string
}

// RestartStrategy says what follows a failure.
type RestartStrategy string

const (
	RestartNone        RestartStrategy = "none"
	RestartFixed       RestartStrategy = "fixed-delay"
	RestartExponential RestartStrategy = "exponential-delay"
)

// Restart is the section restart-strategy of a job; only the fields of its Strategy have a meaning.
type Restart struct {
	Strategy RestartStrategy

	FixedAttempts int // restarts before the job fails
	FixedDelay    time.Duration

	InitialBackoff time.Duration
	MaxBackoff     time.Duration
	Multiplier     float64       // from one wait to the next
	ResetThreshold time.Duration // running this long without failure resets the wait
	Jitter         float64       // part of the wait, up and down, 0 to 1
	MaxAttempts    int           // restarts without a reset before the job fails
}

// reader collects the first error of several getters.
type reader struct {
	v   Values
	err error
}

func read[T any](r *reader, get func(string) (T, error), key string) T {
	t, err := get(key)
	if err != nil && r.err == nil {
		r.err = err
	}
	return t
}

// Checkpointing returns the checkpoint settings.
func (j *Job) Checkpointing() (Checkpointing, error) {
	const p = "execution.checkpointing."
	v := j.Values()
	r := &reader{v: v}
	c := Checkpointing{
		Interval:          read(r, v.Duration, p+"interval"),
		IntervalSet:       v.Has(p + "interval"),
		Timeout:           read(r, v.Duration, p+"timeout"),
		MinPause:          read(r, v.Duration, p+"min-pause"),
		ExactlyOnce:       read(r, v.Enum, p+"mode") == "EXACTLY_ONCE",
		TolerableFailures: read(r, v.Int, p+"tolerable-failed-checkpoints"),
		Dir:               v.String(p + "dir"),
		Retained:          read(r, v.Int, p+"num-retained"),
		From:              v.String("execution.state-recovery.path"),
	}
	return c, r.err
}

// Restart returns the restart strategy.
func (j *Job) Restart() (Restart, error) {
	const f, e = "restart-strategy.fixed-delay.", "restart-strategy.exponential-delay."
	v := j.Values()
	r := &reader{v: v}
	s := Restart{
		FixedAttempts:  read(r, v.Int, f+"attempts"),
		FixedDelay:     read(r, v.Duration, f+"delay"),
		InitialBackoff: read(r, v.Duration, e+"initial-backoff"),
		MaxBackoff:     read(r, v.Duration, e+"max-backoff"),
		Multiplier:     read(r, v.Double, e+"backoff-multiplier"),
		ResetThreshold: read(r, v.Duration, e+"reset-backoff-threshold"),
		Jitter:         read(r, v.Double, e+"jitter-factor"),
		MaxAttempts:    read(r, v.Int, e+"attempts-before-reset-backoff"),
	}
	switch kind := read(r, v.Enum, "restart-strategy.type"); strings.ReplaceAll(kind, "-", "") {
	case "none", "off", "disable":
		s.Strategy = RestartNone
	case "fixeddelay":
		s.Strategy = RestartFixed
	default:
		s.Strategy = RestartExponential
	}
	if r.err == nil && s.InitialBackoff > s.MaxBackoff {
		r.err = v.Errorf(e+"initial-backoff", "longer than %smax-backoff (%s)", e, FormatDuration(s.MaxBackoff))
	}
	return s, r.err
}

// Parallelism returns the number of subtasks of each operator.
func (j *Job) Parallelism() (int, error) {
	v := j.Values()
	if n, err := v.Int("table.exec.resource.default-parallelism"); err != nil || n > 0 {
		return n, err
	}
	return v.Int("parallelism.default")
}

// Zone returns the session time zone.
func (j *Job) Zone() (*time.Location, error) {
	return get(j.Values(), "table.local-time-zone", ParseZone)
}

// Memory returns the memory budget of the process in bytes.
func (j *Job) Memory() (int64, error) {
	return j.Values().MemorySize("taskmanager.memory.process.size")
}

// TraceSize returns the bound of the operation trace in bytes, 0 for none.
func (j *Job) TraceSize() (int64, error) {
	return j.Values().MemorySize("staunch.trace.max-size")
}

// LossWindow returns how often the loss window is looked at, 0 for never, and the part of what is kept below which an alarm is raised.
func (j *Job) LossWindow() (interval time.Duration, alarm float64, err error) {
	v := j.Values()
	r := &reader{v: v}
	interval, alarm = read(r, v.Duration, "staunch.loss-window.interval"), read(r, v.Double, "staunch.loss-window.alarm")
	return interval, alarm, r.err
}

// MetricsPorts returns the ports to try for the Prometheus endpoint; none = off.
func (j *Job) MetricsPorts() ([]PortRange, error) {
	return get(j.Values(), "metrics.reporter.prom.port", ParsePorts)
}

// Check looks at what no single key can tell: values that do not fit together. It reports the first.
func (j *Job) Check() error {
	if _, err := j.Checkpointing(); err != nil {
		return err
	}
	_, err := j.Restart()
	return err
}

// DefaultStateDir returns the directory for checkpoints where execution.checkpointing.dir is not set: staunch in
// $XDG_STATE_HOME, else in $HOME/.local/state. getenv is os.Getenv or a test's.
func DefaultStateDir(getenv func(string) string) (string, error) {
	if d := getenv("XDG_STATE_HOME"); strings.HasPrefix(d, "/") {
		return strings.TrimRight(d, "/") + "/staunch", nil
	}
	if d := getenv("HOME"); strings.HasPrefix(d, "/") {
		return strings.TrimRight(d, "/") + "/.local/state/staunch", nil
	}
	return "", fmt.Errorf("neither XDG_STATE_HOME nor HOME is an absolute path; set execution.checkpointing.dir")
}
