package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// Options of an audit.
type Options struct {
	// Fast leaves out what needs whole files to be read: hashes and line counts. Existence, lengths and Parquet footers are always checked.
	Fast bool
	// Success is the name of success files; "" means _SUCCESS, or what looks like one.
	Success string
	// Broker, if set, is asked what the topics have at the certified offsets.
	Broker *Broker
	// JobLogs are the logs of the jobs that write the table, as far as they are known. The audit needs none: with them the ends of the table's logs are
	// proven too.
	JobLogs []JobLog
}

// Export audits the table at root and gives the certificate of one partition: its folder below the table, "." for the whole table. There is none, and
// an error beside the report, if a problem concerns it.
func Export(ctx context.Context, e env.Env, store fs.FS, root, partition string, opts Options) (*Report, *Exported, error) {
	partition = strings.Trim(path.Clean(partition), "/")
	if partition == "." {
		partition = ""
	}
	if partition == ".." || strings.HasPrefix(partition, "../") {
		return nil, nil, fault.Userf("%q is no partition of the table", partition)
	}
	var x *exporter
	t, err := again(func() (*table, error) {
		x = newExporter(path.Clean(root), partition)
		return audit(ctx, e, store, root, opts, x)
	})
	if err != nil {
		return nil, nil, err
	}
	c, err := t.export(x)
	return t.rep, c, err
}

// Table audits the table at root. Problems are in the report; an error means that the store did not let us finish.
func Table(ctx context.Context, e env.Env, store fs.FS, root string, opts Options) (*Report, error) {
	t, err := again(func() (*table, error) { return audit(ctx, e, store, root, opts, nil) })
	if err != nil {
		return nil, err
	}
	return t.rep, nil
}

// again repeats an audit that found problems while files were taken out of the table, by a rewind or an amend: what it judged may be over.
func again(audit func() (*table, error)) (*table, error) {
	for try := 0; ; try++ {
		t, err := audit()
		if err != nil || !t.changed || t.rep.Verdict != Wrong {
			return t, err
		}
		if try == 2 {
			t.rep.Notes = append(t.rep.Notes, "files were taken out of the table, by a rewind or an amend, each time while it was read: what is missing may be that; audit again")
			return t, nil
		}
	}
}

func audit(ctx context.Context, e env.Env, store fs.FS, root string, opts Options, x *exporter) (*table, error) {
	root = path.Clean(root)
	rep := &Report{Table: fs.URI(store, root), Time: e.Now().UTC(), Verdict: Clean, Fast: opts.Fast, Jobs: []*Job{}}
	base := path.Join(root, "_staunch")
	dirs, err := store.List(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", base, err)
	}
	t := &table{ctx: ctx, store: store, root: root, rep: rep, named: names{},
		files: &files{ctx: ctx, store: store, root: root, opts: opts, exts: map[string]bool{}, export: x, waiting: map[string]bool{}}}
	if err := t.files.wait(path.Join(root, account.Temporary)); err != nil {
		return nil, err
	}
	if err := t.jobLogs(e, opts.JobLogs); err != nil {
		return nil, err
	}
	if len(opts.JobLogs) > 0 { // a job may have begun meanwhile
		if dirs, err = store.List(base); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list %s: %w", base, err)
		}
	}
	for _, d := range dirs {
		if !d.Dir {
			continue
		}
		if err := t.job(d.Name, path.Join(base, d.Name)); err != nil {
			return nil, err
		}
	}
	if len(t.logs) == 0 {
		if err := t.noLog(); err != nil {
			return nil, err
		}
		return t, t.ends(e)
	}
	if err := t.walk(opts); err != nil {
		return nil, err
	}
	if err := t.doubles(); err != nil {
		return nil, err
	}
	if err := t.ends(e); err != nil {
		return nil, err
	}
	if opts.Broker != nil {
		if err := t.compare(opts.Broker); err != nil {
			return nil, err
		}
	}
	t.finish()
	return t, nil
}

// table is one audit under way.
type table struct {
	ctx   context.Context
	store fs.FS
	root  string
	rep   *Report
	logs  []*jobLog
	named names
	files *files
	// promises are what the jobs' logs say.
	promises []*promise
	// changed: behind what was judged, a log has an entry that takes files out of the table.
	changed bool
}

type jobLog struct {
	name    string
	history *history
	judge   *judge
}

// job reads one job's log and checks the files that it names.
func (t *table) job(name, dir string) error {
	past := &rewinds{done: map[string]bool{}, of: map[string]string{}}
	before := &history{ctx: t.ctx, store: t.store, dir: dir, visit: past.visit}
	if err := before.read(); err != nil {
		return err
	}
	j := &judge{rep: &Job{Job: name, Log: dir, Verdict: Clean, Splits: []Split{}}, splits: map[key]*Split{}, next: map[key]int64{}, again: map[key]anew{},
		past: past, others: map[string]bool{}, parts: map[string]bool{}, named: t.named, files: t.files, promise: t.promised(name),
		left: map[string]account.File{}, replaced: map[string][]account.Sums{}, doubts: map[string]Problem{}, fresh: map[string]int64{}, counted: map[string]bool{}}
	h := &history{ctx: t.ctx, store: t.store, dir: dir, visit: j.visit, limit: before.last}
	err := h.read()
	if err := errors.Join(err, j.err); err != nil {
		return err
	}
	if j.rep.Entries == 0 && len(j.rep.Problems) == 0 {
		j.rep.note("the log is empty: the job has written nothing yet")
	}
	if err := j.end(); err != nil {
		return err
	}
	if j.claim != nil && j.claim.Job != "" {
		j.rep.Job = j.claim.Job
	}
	t.logs = append(t.logs, &jobLog{name, h, j})
	t.rep.Jobs = append(t.rep.Jobs, j.rep)
	return nil
}

// walk looks for files that no log names. Jobs may run meanwhile: a certificate is there before its files become visible, so what the logs say
// after the walk covers all that was seen.
func (t *table) walk(opts Options) error {
	w := &walker{files: t.files, named: t.named, exts: t.files.exts, success: cmp.Or(opts.Success, "_SUCCESS"), parts: map[string]bool{}, seen: map[string]bool{}}
	if len(w.exts) == 0 {
		w.exts = map[string]bool{".parquet": true, ".json": true}
	}
	if err := w.walk(""); err != nil {
		return err
	}
	for _, l := range t.logs {
		changed, err := l.later(t.named, t.files)
		if err != nil {
			return err
		}
		t.changed = t.changed || changed
		w.older = w.older || l.judge.older
		for p, committed := range l.judge.parts {
			w.parts[p] = w.parts[p] || committed
		}
	}
	w.drop()
	if err := w.describe(); err != nil {
		return err
	}
	if err := t.copies(w); err != nil {
		return err
	}
	return w.report(t.rep, opts.Success != "")
}

// later takes in the names of what was appended since the log was judged, and reports whether that takes files out of the table.
func (l *jobLog) later(named names, x *files) (changed bool, err error) {
	h := *l.history
	h.limit = 0
	h.visit = func(it item) {
		if it.entry == nil {
			return // it is judged by the next audit
		}
		switch it.entry.Kind {
		case account.KindSupersede, account.KindRewound:
			changed = true
		case account.KindCertificate:
			var c account.Certificate
			if json.Unmarshal(it.entry.Body, &c) != nil {
				return
			}
			for i := range c.Files {
				if p, ok := x.inside(&c.Files[i], c.Files[i].Final); ok {
					named.add(p)
				}
			}
			for _, p := range c.Partitions {
				l.judge.parts[p] = l.judge.parts[p]
			}
		case account.KindAmend:
			var a account.Amend
			changed = true
			if json.Unmarshal(it.entry.Body, &a) == nil {
				for i := range a.Added {
					named.add(x.now(a.Added[i].Final))
				}
			}
		case account.KindPartition:
			var p account.Partition
			if json.Unmarshal(it.entry.Body, &p) == nil {
				for _, name := range p.Partitions {
					l.judge.parts[name] = true
				}
			}
		}
	}
	err = h.read()
	return changed, err
}

// copies reads the logs once more, for the originals of foreign files.
func (t *table) copies(w *walker) error {
	bySum := map[account.Sums]*foreign{}
	for _, f := range w.foreign {
		for sum := range f.sums.Each() {
			bySum[sum] = f
		}
	}
	if len(bySum) == 0 {
		return nil
	}
	for _, l := range t.logs {
		h := &history{ctx: t.ctx, store: t.store, dir: l.history.dir, visit: func(it item) {
			var c account.Certificate
			if it.entry != nil && it.entry.Kind == account.KindCertificate && json.Unmarshal(it.entry.Body, &c) == nil {
				w.copies(&c, bySum)
			}
		}}
		if err := h.read(); err != nil {
			return err
		}
	}
	return nil
}

// noLog reports a table that nothing can be proven of.
func (t *table) noLog() error {
	_, err := t.store.Stat(t.root)
	what, todo := "the folder has no log of Staunch (_staunch): nothing can be proven", "name the folder that a job writes to (option 'path' of its table)"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "the table's folder does not exist"
	case err != nil:
		return fmt.Errorf("look at %s: %w", t.root, err)
	default:
		todo += "; of a table that another tool writes, say where its rows have their offsets: --columns part,off, or --names connect"
	}
	t.rep.problem(Problem{Kind: NoLog, What: what, Path: t.root, ToDo: todo})
	return nil
}

// finish compares the logs with each other and gives the table's verdict.
func (t *table) finish() {
	t.twice()
	if t.files.moved != "" {
		t.rep.Notes = append(t.rep.Notes, "the table was written at "+t.files.moved+"; it is audited where it is now")
	}
	for _, j := range t.rep.Jobs {
		switch {
		case j.Verdict == Wrong:
			t.rep.Verdict = Wrong
		case j.Verdict != Clean && t.rep.Verdict == Clean:
			t.rep.Verdict = j.Verdict
		}
	}
}

// excuses reports whether the log says that its offsets may overlap with the other's.
func (l *jobLog) excuses(o *jobLog) bool { return l.judge.others[path.Base(o.history.dir)] }

// twice finds source offsets that two jobs wrote to this table.
func (t *table) twice() {
	type stretch struct {
		log      *jobLog
		job      string
		from, to int64
	}
	bySplit := map[string][]stretch{}
	for _, l := range t.logs {
		own := map[string]stretch{}
		for k, s := range l.judge.splits {
			o, ok := own[k.split]
			if !ok {
				o = stretch{l, l.judge.rep.Job, s.From, s.To}
			}
			own[k.split] = stretch{l, o.job, min(o.from, s.From), max(o.to, s.To)}
		}
		for split, s := range own {
			bySplit[split] = append(bySplit[split], s)
		}
	}
	for _, split := range slices.Sorted(maps.Keys(bySplit)) {
		list := bySplit[split]
		for i, a := range list {
			for _, b := range list[i+1:] {
				if a.log.excuses(b.log) || b.log.excuses(a.log) {
					continue
				}
				if from, to := max(a.from, b.from), min(a.to, b.to); from < to {
					t.rep.problem(Problem{Kind: TwoJobs, What: fmt.Sprintf("jobs %q and %q both wrote the records of these offsets into this table", a.job, b.job),
						Path:    t.root,
						Offsets: span(split, from, to), ToDo: "let one of them write to another table"})
				}
			}
		}
	}
}
