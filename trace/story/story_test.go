package story

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/trace"
	"staunch/trace/namenode"
)

// world is a job that writes one table, with its trace, on a store in memory.
type world struct {
	t     *testing.T
	env   *envtest.Quick
	store fs.FS
	rec   *trace.Recorder
	scope trace.Scope
	data  fs.FS
	table *commit.Table
	next  account.CheckpointID
	chain account.ChainEnd
	files [][]account.File
}

const root, job = "/w/orders", "dump"

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, env: &envtest.Quick{}, store: mem.New().Client("a"), next: 4608}
	t.Cleanup(w.env.Join)
	w.rec = trace.New(trace.Options{Env: w.env, Store: w.store, Dir: "/ck/dump/trace", Job: job, Host: "h1", User: "etl", PID: 7, MaxBytes: 1 << 24, Log: slog.New(slog.DiscardHandler)})
	w.scope.Task, w.scope.Looks = trace.NoTask, true
	w.data = w.rec.Store(w.store, &w.scope)
	w.must(w.store.MkdirAll(commit.Dir(root, job)))
	w.must(w.store.MkdirAll(w.path("_DUMP_TEMPORARY")))
	w.rec.Begin(7)
	w.table = commit.Open(w.env, w.data, root, commit.Owner{Job: job, LogID: "l", LogPath: "/ck/dump/log", Epoch: 7}, commit.Variant{}, slog.New(slog.DiscardHandler))
	w.must(w.table.Claim(nil))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(rel string) string { return path.Join(root, rel) }

// write makes the files of the next checkpoint: tasks 0 and 1, each a file of 10 records of its own partition; task 2 writes nothing.
func (w *world) write() []account.File {
	w.t.Helper()
	n := len(w.files)
	var out []account.File
	for k := range 2 {
		data := w.rec.Store(w.store, &trace.Scope{Task: k})
		dir := w.path(fmt.Sprintf("_DUMP_TEMPORARY/cp-%d/task-%d", w.next, k))
		w.must(data.MkdirAll(dir))
		name := account.FileName{Job8: account.Job8(job), Subtask: k, Checkpoint: w.next, Epoch: 7, Seq: n, Rand: fmt.Sprintf("%024x", 16*n+k), Ext: "json"}.String()
		f := account.File{Pending: dir + "/" + name + account.PendingSuffix, Final: w.path("dt=1/" + name), Partition: "dt=1", Length: 5, Rows: 10}
		var set account.Set
		set.AddRun(int64(20*n+10*k), int64(20*n+10*k+10))
		f.Offsets = []account.Offsets{{Split: "orders-0", Set: set}}
		h, err := data.Create(f.Pending)
		w.must(err)
		_, err = h.Write([]byte("12345"))
		w.must(errors.Join(err, h.Sync(), h.Close()))
		out = append(out, f)
	}
	for k := range 3 {
		w.rec.Add(trace.Record{Op: trace.Prepare, Checkpoint: w.next, Task: k})
	}
	w.files = append(w.files, out)
	return out
}

// commit commits the newest files.
func (w *world) commit() error {
	w.t.Helper()
	n := len(w.files) - 1
	w.scope.For(w.next)
	cert := account.Certificate{LogID: "l", Job: job, Epoch: 7, Checkpoint: w.next, Complete: fmt.Sprint("complete", w.next), Time: w.env.Now().UTC(), Files: w.files[n],
		Ranges: []account.Range{{Split: "orders-0", From: int64(20 * n), To: int64(20*n + 23), Filtered: 3}}}
	if n > 0 {
		cert.Ranges[0].From, cert.Ranges[0].To, cert.Ranges[0].Filtered = int64(20*n), int64(20*n+20), 0
	}
	res, err := w.table.Commit(cert, w.chain)
	w.chain = res.Certificate
	w.next++
	return err
}

func (w *world) tell(q Query, audit ...string) *Story {
	w.t.Helper()
	w.rec.Flush()(time.Minute)
	w.env.Join()
	if q.Task == 0 {
		q.Task = trace.NoTask
	}
	o := Options{Env: w.env, Stores: oneStore{w.store}, Jobs: []Job{{ID: job, Store: w.store, Folder: "/ck/dump"}}, Tables: []Table{{job, w.store, root}}, Query: q}
	for i, text := range audit {
		p := fmt.Sprintf("/audit-%d-%d.log", i, w.env.Now().UnixNano())
		h, err := w.store.Create(p)
		w.must(err)
		_, err = h.Write([]byte(text))
		w.must(errors.Join(err, h.Close()))
		o.AuditLogs = append(o.AuditLogs, p)
	}
	s, err := Tell(o)
	w.must(err)
	var text, lines bytes.Buffer
	w.must(s.Text(&text, nil))
	w.must(s.JSON(&lines))
	for l := range strings.Lines(lines.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(l), &v); err != nil || v["kind"] == nil {
			w.t.Fatalf("no JSON object with a kind: %s", l)
		}
	}
	return s
}

type oneStore struct{ f fs.FS }

func (o oneStore) Resolve(p string) (fs.FS, string, error) { return o.f, p, nil }

// ahead is by how much the NameNode's clock is ahead in the tests.
const ahead = 2*time.Hour + 700*time.Millisecond

// line makes a line of an audit log; at is by the job's clock.
func line(at time.Time, user, ip, cmd, src, dst string) string {
	return fmt.Sprintf("%s INFO FSNamesystem.audit: allowed=true\tugi=%s (auth:SIMPLE)\tip=/%s\tcmd=%s\tsrc=%s\tdst=%s\tperm=null\tproto=rpc\n",
		at.Add(ahead).UTC().Format("2006-01-02 15:04:05,000"), user, ip, cmd, src, dst)
}

// ours makes the lines that the NameNode has of what the trace has.
func (w *world) ours() string {
	w.t.Helper()
	w.rec.Flush()(time.Minute)
	tr, err := trace.Read(w.store, "/ck/dump/trace")
	w.must(err)
	var b strings.Builder
	for _, e := range tr.Entries {
		if cmd := auditCmd[e.Op]; cmd != "" && e.Outcome == trace.OK && e.Op != trace.Append {
			dst := "null"
			if e.To != "" {
				dst = e.To
			}
			b.WriteString(line(at(e.Record.Time), "etl", "10.0.0.1", cmd, e.Path, dst))
		}
	}
	return b.String()
}

// vanish writes a checkpoint of which one pending file is taken away, and lets the commit find that.
func (w *world) vanish() (f account.File, taken time.Time) {
	w.t.Helper()
	files := w.write()
	w.must(w.store.Delete(files[1].Pending)) // not by the traced store: somebody else
	taken = w.env.Now()
	if err := w.commit(); fault.ClassOf(err) != fault.Lost {
		w.t.Fatal("the file is not lost:", err)
	}
	return files[1], taken
}

func (w *world) cause(s *Story) Cause {
	w.t.Helper()
	if len(s.Causes) != 1 {
		w.t.Fatalf("%d causes", len(s.Causes))
	}
	return s.Causes[0]
}

// TestCauses: each way to lose a file is told from the others, with what speaks for it.
func TestCauses(t *testing.T) {
	w := newWorld(t)
	early := w.env.Now().Add(-10 * time.Minute)
	w.rec.Add(trace.Record{Time: early.UnixMicro(), Op: trace.Create, Path: root + "/early", Task: trace.NoTask})
	w.write()
	w.must(w.commit())
	lost, taken := w.vanish()
	missed := w.env.Now()
	dir := path.Dir(lost.Pending)
	own := w.ours()
	created := taken.Add(-20 * time.Millisecond) // the first delete came before it
	for i := range w.entries() {
		if e := w.entries()[i]; e.Op == trace.Create && bare(e.Path) == lost.Pending {
			created = at(e.Record.Time)
		}
	}
	q := Query{Path: lost.Final}
	noise := strings.Repeat(line(taken, "etl", "10.0.0.1", "getfileinfo", dir, "null"), 3)
	for name, c := range map[string]struct {
		audit []string
		kind  Kind
		says  []string
	}{
		"a delete that came late": {[]string{own + noise + line(created.Add(-time.Second), "etl", "10.0.0.1", "delete", dir, "null") +
			line(taken, "etl", "10.0.0.1", "delete", dir, "null")}, LateDelete, []string{"the same client had deleted the same path", "client that also wrote", "no attempt of the job recorded", "folder above it"}},
		"its only trace is the late one": {[]string{own + line(taken, "etl", "10.0.0.1", "delete", path.Dir(dir), "null")}, LateDelete, []string{"client that also wrote"}},
		"another writer of the same kind, twice": {[]string{own + line(created.Add(-time.Second), "flink", "10.0.0.2", "delete", dir, "null") +
			line(created.Add(-500*time.Millisecond), "flink", "10.0.0.2", "mkdirs", dir, "null") + line(taken, "flink", "10.0.0.2", "delete", dir, "null")}, LateDelete,
			[]string{"mkdirs " + dir + " was made there in between"}},
		"somebody":                     {[]string{own + line(taken, "anna", "10.0.0.9", "delete", lost.Pending, "null")}, Foreign, []string{"anna@10.0.0.9", "not the client that wrote", "10.0.0.1"}},
		"somebody who moves":           {[]string{own + line(taken, "anna", "10.0.0.9", "rename", root+"/_DUMP_TEMPORARY", "/user/anna/.Trash/Current")}, Foreign, []string{"/user/anna/.Trash/Current"}},
		"a rule that removes old ones": {[]string{own + strings.Repeat(line(taken.Add(-time.Second), "cleaner", "10.0.0.8", "delete", root+"/_DUMP_TEMPORARY/cp-12", "null"), 4) + line(taken, "cleaner", "10.0.0.8", "delete", dir, "null")}, Cleaner, []string{"4 other paths"}},
		"somebody, behind a failover":  {[]string{own, line(taken, "anna", "10.0.0.9", "delete", lost.Pending, "null")}, Foreign, []string{"the active NameNode changed from audit-0"}},
		"nobody in a whole log":        {[]string{own + line(taken.Add(-time.Minute), "anna", "10.0.0.9", "getfileinfo", "/", "null") + line(missed.Add(time.Second), "x", "10.0.0.9", "getfileinfo", "/", "null")}, Unknown, []string{"nobody deleted"}},
		"a log that ends too early":    {[]string{line(early, "etl", "10.0.0.1", "create", root+"/early", "null")}, Failover, []string{"no audit log that was given has lines from"}},
		"a log with lines that are cut": {[]string{own + line(taken.Add(-time.Minute), "anna", "10.0.0.9", "getfileinfo", "/", "null") + "2026-01-01 00:00:00,000 INFO FSNamesystem.audit: allowed=true\tugi=anna\tip=/10.0.0.9\tcmd=delete\n" +
			line(missed.Add(time.Second), "x", "10.0.0.9", "getfileinfo", "/", "null")}, Unknown, []string{"1 line of /audit-0", "cannot be read, and may be what tells it"}},
		"no log":                   {nil, Unknown, []string{"was missed at"}},
		"only lines that are none": {[]string{"hello\nworld\n"}, Failover, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			s := w.tell(q, c.audit...)
			got := w.cause(s)
			all := strings.Join(got.For, "\n") + "\n" + got.Who + "\n" + got.ToDo
			if got.Kind != c.kind || got.File != lost.Final || got.Offsets["orders-0"] != "30..39" || got.Rows != 10 {
				t.Errorf("%s, want %s\n%s", got.Kind, c.kind, all)
			}
			for _, want := range c.says {
				if !strings.Contains(all, want) {
					t.Errorf("nothing says %q:\n%s", want, all)
				}
			}
			if got.audit != nil {
				marks := 0
				for _, e := range s.Events {
					if e.Mark == got.Kind.Title() {
						marks++
					}
				}
				if d := got.Time.Sub(taken).Abs(); d > 200*time.Millisecond || marks != 1 {
					t.Errorf("it is %v off the job's clock, %d marks in the time line", d, marks)
				}
			}
		})
	}
}

func (w *world) entries() []trace.Entry {
	w.t.Helper()
	tr, err := trace.Read(w.store, "/ck/dump/trace")
	w.must(err)
	return tr.Entries
}

// TestLongestGap: of several stretches that no audit log covers the longest is named, and one as short as clocks may be wrong by is none.
func TestLongestGap(t *testing.T) {
	w := newWorld(t)
	created := w.env.Now().Add(-time.Hour).Truncate(time.Millisecond)
	later := created.Add(20 * time.Minute)
	line := func(at time.Time, cmd, src string) string { // the job did nothing in this log, so its times are taken for the job's
		return line(at.Add(-ahead), "x", "10.0.0.9", cmd, src, "null")
	}
	s := w.tell(Query{Path: "/else/a"}, line(created, "create", "/else/a")+line(later, "getfileinfo", "/"))
	got := w.cause(s)
	all := strings.Join(got.For, "\n")
	if want := "has lines from " + stamp(later) + " to "; got.Kind != Failover || !strings.Contains(all, want) || !strings.Contains(all, "the longest of 2 such gaps") {
		t.Errorf("%s\n%s\nwant %q", got.Kind, all, want)
	}
	only := w.cause(w.tell(Query{Path: "/else/a"}, line(created, "create", "/else/a")))
	if all := strings.Join(only.For, "\n"); !strings.Contains(all, "has lines from "+stamp(created)+" to ") || strings.Contains(all, "such gaps") {
		t.Error(all)
	}
}

// TestUnanswered: without an audit log, a delete that was never answered is the likely cause.
func TestUnanswered(t *testing.T) {
	w := newWorld(t)
	w.rec.Add(trace.Record{Op: trace.DeleteDir, Path: root + "/_DUMP_TEMPORARY/cp-4608/task-1", Task: 1, Outcome: trace.Unavailable})
	lost, _ := w.vanish()
	c := w.cause(w.tell(Query{Path: lost.Pending}))
	if c.Kind != LateDelete || !strings.Contains(strings.Join(c.For, " "), "never got an answer") {
		t.Errorf("%+v", c)
	}
}

// TestGrid: a checkpoint's grid has each task and partition, what was lost, and what wrote nothing.
func TestGrid(t *testing.T) {
	w := newWorld(t)
	w.write()
	w.must(w.commit())
	w.vanish()
	s := w.tell(Query{Checkpoint: 4609})
	if len(s.Grids) != 1 {
		t.Fatalf("%d grids", len(s.Grids))
	}
	g := s.Grids[0]
	got := fmt.Sprint(g.Tasks, g.Partitions, g.Cells)
	if want := "[0 1 2] [dt=1] [[renamed] [LOST] [wrote nothing]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var b bytes.Buffer
	w.must(s.Text(&b, nil))
	for _, want := range []string{"task 1  LOST", "task 2  wrote nothing", "being committed", "most likely cause: unknown", "orders-0 offsets 30..39", "rename"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if got := fmt.Sprint(w.tell(Query{Checkpoint: 4608}).Grids[0].Cells); got != "[[renamed] [renamed] [wrote nothing]]" {
		t.Error(got)
	}
	w.write() // of a checkpoint that is never completed
	if g := w.tell(Query{Checkpoint: 4610}).Grids[0]; fmt.Sprint(g.Cells) != "[[created] [created] [wrote nothing]]" || g.Certificate != 0 {
		t.Errorf("%+v", g)
	}
	if g := w.tell(Query{Checkpoint: 99}).Grids[0]; !strings.Contains(g.Text, "neither") {
		t.Errorf("%+v", g)
	}
}

// TestWhere: each answer to "where is this record, or what took it".
func TestWhere(t *testing.T) {
	w := newWorld(t)
	ask := func(split string, o int64) Whereabouts {
		t.Helper()
		s := w.tell(Query{Record: &Record{split, o}})
		if len(s.Found) != 1 {
			t.Fatalf("%d answers", len(s.Found))
		}
		return s.Found[0]
	}
	first := w.write()
	w.must(w.commit())
	if got := ask("orders-0", 13); got.State != "visible" || got.File.Final != first[1].Final || got.Checkpoint != 4608 {
		t.Errorf("%+v", got)
	}
	for o, want := range map[int64]string{21: "filtered", 23: "not consumed", 1000: "not consumed"} {
		if got := ask("orders-0", o); got.State != want {
			t.Errorf("%d: %s: %s", o, got.State, got.Text)
		}
	}
	if got := ask("orders-9", 1); got.State != "unknown" {
		t.Errorf("%+v", got)
	}
	w.must(w.store.Delete(first[0].Final))
	if got := ask("orders-0", 3); got.State != "gone" || got.File.Final != first[0].Final {
		t.Errorf("%+v", got)
	}
	lost, _ := w.vanish()
	if got := ask("orders-0", 35); got.State != "lost" || got.File.Final != lost.Final {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		r    account.Range
		want string
	}{{account.Range{From: 0, To: 10, Null: 1}, "null"}, {account.Range{From: 0, To: 10, Rejected: 1}, "rejected"}, {account.Range{From: 0, To: 10, Gaps: 1}, "gap"},
		{account.Range{From: 0, To: 10, Skipped: 1}, "skipped"}, {account.Range{From: 0, To: 10, Skipped: 1, Null: 2}, "not in a file"}, {account.Range{From: 0, To: 10}, "not in a file"}} {
		if got, _ := taken(c.r); got != c.want {
			t.Errorf("%+v: %s", c.r, got)
		}
	}
}

// TestPathsAreChosen: a file's time line has it under both names and the folders above it, and nothing of other files.
func TestPathsAreChosen(t *testing.T) {
	w := newWorld(t)
	files := w.write()
	w.must(w.commit())
	w.write()
	w.must(w.commit())
	var ops []string
	for _, e := range w.tell(Query{Path: "hdfs://ns" + files[0].Final}).Events {
		ops = append(ops, e.Op)
		if strings.Contains(e.Path, "part-") && bare(e.Path) != files[0].Pending && bare(e.Path) != files[0].Final {
			t.Errorf("%+v", e)
		}
	}
	if got := strings.Join(ops, " "); got != "begin create close rename stat rmdir rmdir rmdir" && got != "begin create close rename stat rmdir rmdir" {
		t.Errorf("%s", got)
	}
	if s := w.tell(Query{}); len(s.Files) != 0 || len(s.Events) < 20 {
		t.Errorf("without a question: %d files, %d events", len(s.Files), len(s.Events))
	}
	if s := w.tell(Query{Since: w.env.Now().Add(time.Hour)}); len(s.Events) != 0 {
		t.Errorf("%d events of the future", len(s.Events))
	}
}

// TestIncident: the real lines of a reproduction of the incident, whose writer deleted its folder before it wrote: the first delete, late, took the
// file. Nothing but the NameNode's log is needed to tell.
func TestIncident(t *testing.T) {
	b, err := os.ReadFile("../namenode/testdata/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	store := mem.New().Client("a")
	h, err := store.Create("/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Write(b)
	if err := errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
	const victim = "/_DUMP_TEMPORARY/cp-4608/task-2/part-2-4608"
	s, err := Tell(Options{Env: &envtest.Quick{}, Stores: oneStore{store}, AuditLogs: []string{"/audit.log"}, Query: Query{Path: victim, Task: trace.NoTask}})
	if err != nil || len(s.Causes) != 1 {
		t.Fatal(s, err)
	}
	c := s.Causes[0]
	all := strings.Join(c.For, "\n")
	if c.Kind != LateDelete || c.Path != "/_DUMP_TEMPORARY/cp-4608/task-2" || c.Who != "root@127.0.0.1" || stamp(c.Time) != "2026-11-29 15:15:37.722" {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{"the same client had deleted the same path 1.158s before", "was made there in between", "audit logs alone", "client that also wrote"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

// TestOneDeleteOfManyFiles: files that one operation took are told together.
func TestOneDeleteOfManyFiles(t *testing.T) {
	w := newWorld(t)
	for _, f := range w.write() {
		w.must(w.store.Delete(f.Pending))
	}
	taken := w.env.Now()
	if err := w.commit(); fault.ClassOf(err) != fault.Lost {
		t.Fatal(err)
	}
	s := w.tell(Query{Checkpoint: 4608}, w.ours()+line(taken, "anna", "10.0.0.9", "delete", w.path("_DUMP_TEMPORARY/cp-4608"), "null"))
	var b bytes.Buffer
	w.must(s.Text(&b, nil))
	if text := b.String(); len(s.Causes) != 2 || strings.Count(text, "most likely cause") != 1 || !strings.Contains(text, "and of 1 more files (10 rows)") {
		t.Errorf("%d causes\n%s", len(s.Causes), text)
	}
}

// TestCopiedLogs: copies of a log and of parts of it change nothing in the answer, and are no other NameNode's.
func TestCopiedLogs(t *testing.T) {
	w := newWorld(t)
	w.write()
	w.must(w.commit())
	lost, taken := w.vanish()
	log := w.ours() + line(taken, "anna", "10.0.0.9", "delete", path.Dir(lost.Pending), "null")
	lines := strings.SplitAfter(log, "\n")
	n := len(lines) / 2
	first, last := strings.Join(lines[:n], ""), strings.Join(lines[n:], "")
	one := w.tell(Query{Path: lost.Final}, log)
	for name, logs := range map[string][]string{"a copy": {log, log}, "copies": {log, log, log}, "its first part": {log, first}, "its first part before it": {first, log},
		"its last part": {log, last}, "its last part before it": {last, log}, "both parts": {first, last, log}} {
		s := w.tell(Query{Path: lost.Final}, logs...)
		c := w.cause(s)
		// A log's clock is found from the operations in it, which are written to the millisecond: a part of the log can have it otherwise by as much.
		if want := w.cause(one); len(s.Events) != len(one.Events) || c.Kind != want.Kind || c.Time.Sub(want.Time).Abs() > 10*time.Millisecond || len(c.For) != len(want.For) {
			t.Errorf("%s: %d events instead of %d, cause %+v, not %+v", name, len(s.Events), len(one.Events), c, want)
		}
		if all := strings.Join(c.For, "\n"); strings.Contains(all, "NameNode changed") {
			t.Errorf("%s: %s", name, all)
		}
		if !strings.Contains(strings.Join(s.Notes, "\n"), "of its operations are in a log that was given before it, too: they are shown once") {
			t.Errorf("%s: %q", name, s.Notes)
		}
	}
}

// TestEachAudited: a query has each line of copied logs once and hears the notes; over a log that is cut it is refused.
func TestEachAudited(t *testing.T) {
	w := newWorld(t)
	at := w.env.Now()
	log := line(at, "anna", "10.0.0.9", "delete", "/a", "null") + line(at, "anna", "10.0.0.9", "delete", "/a", "null") + line(at.Add(time.Hour), "anna", "10.0.0.9", "delete", "/b", "null")
	put := func(p, text string) string {
		h, err := w.store.Create(p)
		w.must(err)
		_, err = h.Write([]byte(text))
		w.must(errors.Join(err, h.Close()))
		return p
	}
	var notes, seen []string
	ask := func(logs ...string) error {
		notes, seen = nil, nil
		return EachAudited(Options{Env: w.env, Stores: oneStore{w.store}, AuditLogs: logs}, func(n string) { notes = append(notes, n) },
			func(e *namenode.Event, r *namenode.Report) error {
				seen = append(seen, fmt.Sprintf("%s:%d %s", r.Path, e.Line, e.Src))
				return nil
			})
	}
	a, b := put("/a.log", log), put("/b.log", log+"FSNamesystem.audit: \n"+line(at, "anna", "10.0.0.9", "delete", "/c", "null"))
	w.must(ask(a, b, a))
	if want := "/a.log:1 /a /a.log:2 /a /a.log:3 /b /b.log:5 /c"; strings.Join(seen, " ") != want {
		t.Errorf("%q, not %q", seen, want)
	}
	for _, want := range []string{"audit log /a.log was given more than once", "audit log /b.log: 3 of its operations are in a log", "audit log /b.log: 1 of 5 lines cannot be read; line 4"} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("no %q in %q", want, notes)
		}
	}
	if err := ask(a, put("/c.log.gz", "\x1f\x8b\x08")); fault.ClassOf(err) != fault.User || len(seen) > 0 || !strings.Contains(err.Error(), "/c.log.gz is cut or damaged behind line 0") {
		t.Error(err, seen)
	}
	if err := ask("/none.log"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
