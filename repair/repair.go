package repair

import (
	"errors"
	"fmt"
	"log/slog"

	"staunch/account"
	"staunch/commit"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/metric"
)

// Job is the job whose files are repaired, as its statement file is planned today.
type Job struct {
	ID string
	// SQL and Plan are what a certificate of today would say.
	SQL, Plan string
	Graph     dataflow.Graph
	Log       *slog.Logger
	Metrics   *metric.Group
	// Traced gives a store that records what is done to it, nil: nothing is recorded.
	Traced func(fs.FS) fs.FS
}

// Order says who wants it, and how.
type Order struct {
	Who, Host, Why string
	// DryRun reads everything and changes nothing.
	DryRun bool
	// Stopped ends it between two files or batches. Nil means never.
	Stopped func() bool
}

// ErrStopped: Order.Stopped said so. What was repaired stays.
var ErrStopped = errors.New("stopped")

// maxFiles and maxBytes bound the files that are written in one pass over the records: each holds rows in memory until it is written.
const (
	maxFiles = 32
	maxBytes = 64 << 20
)

// repairer repairs one table.
type repairer struct {
	env    env.Env
	job    *Job
	order  *Order
	key    string
	sink   connector.FileTable
	commit *commit.Repairer
	report *Report
}

// Table repairs the files of a job that are lost in one table; key is the table's in the graph (dataflow.Branch.Table). The report has what was done
// also when an error ended it: a store or broker that does not answer, or a log that cannot be read. It may be repeated after any error or crash.
func Table(e env.Env, job Job, key string, sink connector.FileTable, order Order) (*Report, error) {
	store := sink.Store()
	if job.Traced != nil {
		store = job.Traced(store)
	}
	r := &repairer{env: e, job: &job, order: &order, key: key, sink: sink,
		commit: commit.OpenRepair(e, store, sink.Root(), job.ID, commit.Variant{}, job.Log),
		report: &Report{Job: job.ID, Table: fs.URI(sink.Store(), sink.Root()), DryRun: order.DryRun, Files: []*File{}}}
	lost, err := r.commit.Lost()
	if err != nil {
		return r.report, err
	}
	var todo []*lostFile
	for _, l := range lost {
		f := r.take(l)
		done, err := r.finish(f)
		if err != nil {
			return r.report, err
		}
		if !done && r.may(f) {
			todo = append(todo, f)
		}
	}
	for _, g := range groups(todo) {
		if err := r.group(g); err != nil {
			return r.report, err
		}
	}
	return r.report, nil
}

// lostFile is a file under repair.
type lostFile struct {
	commit.LostFile
	out    *File
	branch *dataflow.Branch
	source *dataflow.Source
	// origins says of each of the file's splits what its offsets number.
	origins map[string]string
	rep     connector.Replacement
	// failed: its replacement is given up.
	failed bool
}

// take puts a lost file into the report.
func (r *repairer) take(l commit.LostFile) *lostFile {
	out := &File{Path: l.Final, Partition: l.Partition, Checkpoint: l.Certificate.Checkpoint, Insert: l.Insert, Rows: l.Rows, Accepted: l.Accepted,
		Done: l.Done, Offsets: []Offsets{}}
	for _, o := range l.Offsets {
		out.Offsets = append(out.Offsets, Offsets{o.Split, o.Set.Text()})
	}
	r.report.Files = append(r.report.Files, out)
	r.report.Waiting = r.report.Waiting || !l.Done
	return &lostFile{LostFile: l, out: out}
}

// refuse says why a file is not repaired.
func (f *lostFile) refuse(hint, format string, args ...any) bool {
	f.out.State, f.out.Reason, f.out.Hint = Refused, fmt.Sprintf(format, args...), hint
	return false
}

// fail says that something did not do its part. Errors that say what the file is, or was, are refusals.
func (f *lostFile) fail(err error) {
	f.failed = true
	f.out.State = Failed
	var known *fault.Error
	if f.out.Reason = err.Error(); errors.As(err, &known) {
		f.out.Reason, f.out.Hint = known.Err.Error(), known.Hint
	}
	if c := fault.ClassOf(err); c == fault.User || c == fault.Lost || c == fault.Damage {
		f.out.State = Refused
	}
}

// finish carries on a repair that was begun before.
func (r *repairer) finish(f *lostFile) (done bool, err error) {
	if r.stopped() {
		return false, ErrStopped
	}
	if len(f.Repairs) == 0 || r.order.DryRun { // a dry run cannot know whether the replacement will be there; it tries a new one
		return false, nil
	}
	out, ok, err := r.commit.Finish(f.LostFile)
	if errors.Is(err, commit.ErrNothingToRepair) {
		f.out.State, f.out.Reason = OutOfChain, err.Error()
		return true, nil
	}
	if err != nil || !ok {
		return false, r.passing(f, err)
	}
	f.placed(out, Finished)
	for _, x := range f.Repairs {
		if x.N == out.Entry {
			f.out.Sums, f.out.Staged = x.Sums, x.Staged
		}
	}
	return true, nil
}

// passing keeps an error about one file with it, and gives one that concerns all.
func (r *repairer) passing(f *lostFile, err error) error {
	if err == nil {
		return nil
	}
	f.fail(err)
	if c := fault.ClassOf(err); c == fault.Outage || errors.Is(err, ErrStopped) || errors.Is(err, fs.ErrUnavailable) {
		return err
	}
	return nil
}

// placed notes what is in the file's place.
func (f *lostFile) placed(out commit.RepairOutcome, by State) {
	f.out.Entry, f.out.Length = out.Entry, out.Length
	switch out.State {
	case commit.RepairPlaced:
		f.out.State = by
	case commit.RepairedBefore:
		f.out.State, f.out.Sums, f.out.Staged = RepairedBefore, account.Sums{}, ""
	default:
		f.out.State, f.out.Sums, f.out.Staged, f.out.Length = CameBack, account.Sums{}, "", 0
	}
}

func (r *repairer) stopped() bool { return r.order.Stopped != nil && r.order.Stopped() }

// groups puts files together whose records are read in one pass: of one certificate and INSERT.
func groups(files []*lostFile) (out [][]*lostFile) {
	type of struct{ certificate, insert string }
	at, bytes := map[of]int{}, map[int]int64{}
	for _, f := range files {
		k := of{f.Certificate.Hash, f.Insert}
		i, ok := at[k]
		if !ok || len(out[i]) == maxFiles || bytes[i]+f.Length > maxBytes {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], f)
		bytes[i] += f.Length
	}
	return out
}
