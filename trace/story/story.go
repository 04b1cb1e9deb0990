package story

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/env"
	"staunch/fs"
	"staunch/trace"
	"staunch/trace/namenode"
)

// Job is a job whose trace is read.
type Job struct {
	ID string
	// Store and Folder are the job's place in the checkpoint directory.
	Store  fs.FS
	Folder string
}

// Table is a table that a job of this id writes.
type Table struct {
	Job   string
	Store fs.FS
	Root  string
}

// Query says what is asked for. Zero values ask for everything.
type Query struct {
	// Path is a file or folder, Prefix the beginning of paths; with or without the store's name.
	Path, Prefix string
	Checkpoint   account.CheckpointID
	// Task is a subtask, or trace.NoTask for all.
	Task         int
	Job          string
	Record       *Record
	Since, Until time.Time
}

// Record is a record of a source split, for Kafka "topic-partition".
type Record struct {
	Split  string `json:"split"`
	Offset int64  `json:"offset"`
}

// Options of Tell.
type Options struct {
	Env    env.Env
	Stores fs.Resolver
	Jobs   []Job
	Tables []Table
	// AuditLogs are audit logs of NameNodes.
	AuditLogs []string
	Query     Query
}

// Story is the answer.
type Story struct {
	Query Query
	// Files are the committed or promised files that were asked for, with what is there now.
	Files []File
	// Grids show checkpoints, one a table.
	Grids []Grid
	// Found is where the record is, one a table.
	Found []Whereabouts
	// Events are the time line.
	Events []Event
	Causes []Cause
	// Traces and Audit say what was read, Notes what is to be known about it.
	Traces []*trace.Trace
	Audit  *namenode.Logs
	Tables []string
	Notes  []string
}

// teller puts a story together.
type teller struct {
	Options
	out     *Story
	entries []trace.Entry
	// own are the clients that are this job, by what both it and the NameNode wrote down.
	own map[string]bool
	// set are the paths of the files that were asked for; folders those above them.
	set, folders map[string]bool
	// moreFiles were asked for than are kept.
	moreFiles int
	// names maps a path to its file.
	names map[string]*File
	// amends are those that files of the answer have.
	amends amends
}

// Tell answers a query. Errors mean that something could not be read at all; what is damaged is in the notes.
func Tell(o Options) (*Story, error) {
	t := &teller{Options: o, out: &Story{Query: o.Query}, own: map[string]bool{}, set: map[string]bool{}, folders: map[string]bool{}, names: map[string]*File{}, amends: amends{}}
	if err := t.whole(); err != nil {
		return nil, err
	}
	t.out.Query = t.Query
	if err := t.readTraces(); err != nil {
		return nil, err
	}
	if err := t.readAudit(); err != nil {
		return nil, err
	}
	for _, tb := range o.Tables {
		t.out.Tables = append(t.out.Tables, fs.URI(tb.Store, tb.Root))
		if o.Query.Job != "" && tb.Job != o.Query.Job {
			continue
		}
		if err := t.table(tb); err != nil {
			return nil, err
		}
	}
	if err := t.alone(); err != nil {
		return nil, err
	}
	t.collect()
	t.timeLine()
	t.causes()
	t.mark()
	return t.out, nil
}

// howBack is the part of a ToDo that does not hold for every file.
const howBack = "how to get the rows back: docs/operations/repair.md"

// maxCauses bounds for how many files a cause is looked for.
const maxCauses = 200

// causes looks for what took the files that are missing.
func (t *teller) causes() {
	if n := len(t.out.Files) + t.moreFiles; n > maxLooks {
		t.note("%d files were asked for: the first %d were looked for in the store, %d are shown; ask for less (--path, --checkpoint, --since)", n, maxLooks, len(t.out.Files))
	}
	for i := range t.out.Files {
		f := &t.out.Files[i]
		if !f.asked(&t.Query) {
			continue
		}
		if len(t.out.Causes) == maxCauses {
			t.note("more files are missing: causes are named for the first %d", maxCauses)
			return
		}
		c := t.cause(f)
		if f.State == Repaired {
			c.ToDo = strings.ReplaceAll(c.ToDo, howBack, "its rows are back")
		}
		if f.Checkpoint == 0 { // no log of staunch has its offsets
			c.ToDo = strings.ReplaceAll(c.ToDo, howBack, "its rows must come from their source again")
		}
		t.out.Causes = append(t.out.Causes, c)
	}
}

// readTraces reads all traces.
func (t *teller) readTraces() error {
	for _, j := range t.Jobs {
		if t.Query.Job != "" && j.ID != t.Query.Job {
			continue
		}
		tr, err := trace.Read(j.Store, trace.Dir(j.Folder))
		if err != nil {
			return err
		}
		t.out.Traces = append(t.out.Traces, tr)
		t.entries = append(t.entries, tr.Entries...)
		if tr.Files == 0 {
			t.note("job %s has no trace in %s (a version without one wrote it, or staunch.trace.max-size is 0)", j.ID, tr.Dir)
		}
		for _, x := range []struct {
			n    int64
			what string
		}{{int64(tr.Torn), "files end in the middle of a line: their process was killed, or is writing them"}, {int64(tr.BadFiles), "files are none of a trace"},
			{int64(tr.BadLines), "lines cannot be read"}, {int64(tr.NewerFiles), "files are of a newer version of staunch"}, {tr.Dropped, "records could not be kept"},
			{tr.Missing, "records are gone"}} {
			if x.n > 0 {
				t.note("trace %s: %d %s", tr.Dir, x.n, x.what)
			}
		}
	}
	slices.SortStableFunc(t.entries, func(a, b trace.Entry) int { return int(a.Time/1000 - b.Time/1000) })
	return nil
}

func (t *teller) note(format string, args ...any) {
	t.out.Notes = append(t.out.Notes, fmt.Sprintf(format, args...))
}

// auditCmd is the NameNode's word for an operation.
var auditCmd = map[trace.Op]string{trace.Create: "create", trace.Rename: "rename", trace.Append: "rename", trace.Delete: "delete", trace.DeleteDir: "delete", trace.Mkdir: "mkdirs"}

// copyAgain is what is to be done about a log that is cut.
const copyAgain = "copy it again from the NameNode, whole (gzip -t tells)"

// cut says of a log how far it can be read.
func cut(r *namenode.Report) string {
	return fmt.Sprintf("audit log %s is cut or damaged behind line %d (%s)", r.Path, r.Lines, r.Cut)
}

// readAudit reads the audit logs, puts them into the job's time, and learns which client the job is.
func (t *teller) readAudit() error {
	if len(t.AuditLogs) == 0 {
		return nil
	}
	var roots []string
	for _, tb := range t.Tables {
		roots = append(roots, tb.Root)
	}
	if p := bare(t.Query.Path); p != "" {
		roots = append(roots, p)
	}
	if p := strings.TrimRight(bare(t.Query.Prefix), "/"); p != "" {
		roots = append(roots, p)
	}
	l, err := namenode.Read(t.Stores, t.AuditLogs, func(e *namenode.Event) bool {
		if !e.Changes() {
			return false
		}
		for _, r := range roots {
			if related(e.Src, r) || e.Dst != "" && related(e.Dst, r) {
				return true
			}
		}
		return len(roots) == 0
	})
	if err != nil {
		return err
	}
	var seen []namenode.Seen
	type key struct{ cmd, src string }
	ours := map[key]bool{}
	for i := range t.entries {
		e := &t.entries[i]
		if cmd := auditCmd[e.Op]; cmd != "" && e.As == "" && e.Outcome == trace.OK && e.Op != trace.Append {
			ours[key{cmd, bare(e.Path)}] = true
			if cmd != "mkdirs" { // made again and again
				seen = append(seen, namenode.Seen{Cmd: cmd, Src: bare(e.Path), Begin: at(e.Record.Time), Took: e.Took})
			}
		}
	}
	l.SetClocks(seen)
	for i := range l.Events {
		e := &l.Events[i]
		if (e.Cmd == "create" || e.Cmd == "rename") && ours[key{e.Cmd, e.Src}] {
			t.own[e.Who()] = true
		}
	}
	t.out.Audit = l
	for _, p := range l.Again {
		t.note("audit log %s was given more than once: it is read once", p)
	}
	for _, r := range l.Reports {
		if r.Cut != "" {
			t.note("%s: what came later is missing here; %s", cut(&r), copyAgain)
		}
		if r.Doubled > 0 {
			t.note("audit log %s: %d of its operations are in a log that was given before it, too: they are shown once", r.Path, r.Doubled)
		}
		if r.Broken > 0 {
			t.note("audit log %s: %d of %d lines cannot be read; line %d: %s: %s", r.Path, r.Broken, r.Lines, r.Examples[0].Line, r.Examples[0].Why, r.Examples[0].Text)
		}
		switch {
		case r.Lines == 0 && r.Cut != "":
		case r.Lines == 0:
			t.note("audit log %s is empty", r.Path)
		case r.Lines == r.Other:
			t.note("audit log %s: none of its %d lines is one of an audit log", r.Path, r.Lines)
		case r.Clock.Borrowed:
			t.note("audit log %s: nothing in it was done by the job; its clock is taken for that of the other log", r.Path)
		case r.Clock.Matches == 0 && len(t.entries) > 0:
			t.note("audit log %s: nothing in it was done by the job, so its clock is not known; its times are taken for UTC", r.Path)
		}
	}
	return nil
}

// at is a time of the trace.
func at(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// bare is a path without the name of its store.
func bare(p string) string {
	if _, rest, ok := strings.Cut(p, "://"); ok {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			return rest[i:]
		}
		return "/"
	}
	return p
}

// below reports whether p is dir or lies below it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir) && (strings.HasSuffix(dir, "/") || len(p) > len(dir) && p[len(dir)] == '/')
}

// related reports whether one of two paths lies below the other.
func related(a, b string) bool { return below(a, b) || below(b, a) }

// collect makes the sets of paths that the time line is chosen by.
func (t *teller) collect() {
	add := func(p string) {
		t.set[p] = true
		for d := path.Dir(p); len(d) > 1; d = path.Dir(d) {
			t.folders[d] = true
		}
	}
	for i := range t.out.Files {
		f := &t.out.Files[i]
		if f.Pending != "" { // an amend's file has but one name
			add(f.Pending)
			t.names[f.Pending] = f
		}
		add(f.Final)
		t.names[f.Final] = f
		for _, r := range f.Repairs {
			add(r.Staged)
			t.names[r.Staged] = f
		}
	}
	if p := bare(t.Query.Path); p != "" {
		add(strings.TrimRight(p, "/"))
	}
}

// exists looks for a path. known is false if the store did not say.
func exists(store fs.FS, p string) (size int64, there, known bool) {
	i, err := store.Stat(p)
	switch {
	case err == nil:
		return i.Size, true, true
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, true
	}
	return 0, false, false
}
