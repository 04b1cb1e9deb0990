//go:build peer

package hdfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"staunch/fault"
	"staunch/fs"
)

const (
	tasks = 8
	each  = 1000 // records of each task
	total = tasks * each
)

// play is the incident's schedule. Eight tasks write a file each for one checkpoint, and delete something before; the first request of each
// delete is held back, the second has success. Of tasks 0 to 3 the first request arrives while their file is open, of tasks 4 to 7 when it is
// closed, acknowledged and promised by the completed checkpoint, but not yet renamed.
type play struct {
	s          site
	table      string
	checkpoint int
	// tidy is what a task does before it writes its first file of a checkpoint; settings is SQL before the job's.
	tidy     func(folder string) error
	settings string
	// open and closed are the paths whose held deletes arrive in the two windows.
	open, closed []string

	mu      sync.Mutex
	wrote   int          // tasks that wait with an open file
	closes  map[int]bool // tasks whose file was closed with success
	failed  map[int]bool // tasks whose file could not be ended
	arrived chan struct{}
	once    sync.Once
	errs    []error
}

func (p *play) begin(checkpoint int) *play {
	p.checkpoint, p.wrote, p.arrived, p.once = checkpoint, 0, make(chan struct{}), sync.Once{}
	p.closes, p.failed = map[int]bool{}, map[int]bool{}
	return p
}

// folder is the temporary folder of a task.
func (p *play) folder(checkpoint, k int) string {
	return fmt.Sprintf("%s/_DUMP_TEMPORARY/cp-%d/task-%d", p.table, checkpoint, k)
}

func (p *play) folders(checkpoint, from, to int) (out []string) {
	for k := from; k < to; k++ {
		out = append(out, p.folder(checkpoint, k))
	}
	return out
}

func (p *play) note(err error) {
	if err != nil {
		p.mu.Lock()
		p.errs = append(p.errs, err)
		p.mu.Unlock()
	}
}

// othersClosed waits until the others have closed their files.
func (p *play) othersClosed() {
	until(p.s.t, "four closed files", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.closes) == tasks/2
	})
}

// written holds tasks 0 to 3 with an open file in the first attempt.
func (p *play) written(attempt int, file string) {
	c, k := task(file)
	if c != p.checkpoint || k >= tasks/2 || attempt > 0 {
		return
	}
	p.mu.Lock()
	p.wrote++
	last := p.wrote == tasks/2
	p.mu.Unlock()
	if last {
		p.othersClosed()
		p.s.holding(append(slices.Clone(p.open), p.closed...)...)
		p.note(p.s.release(p.open...))
		close(p.arrived)
	}
	<-p.arrived
}

// ended notes what became of a task's file.
func (p *play) ended(file string, open bool, err error) {
	c, k := task(file)
	if c != p.checkpoint {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed[k] = true
	} else if !open {
		p.closes[k] = true
	}
}

// moving lets the other deletes arrive before the checkpoint's first file is moved.
func (p *play) moving(file string) {
	if c, _ := task(file); c == p.checkpoint {
		p.once.Do(func() { p.note(p.s.release(p.closed...)) })
	}
}

// sql are the job's statements.
func (p *play) sql(k *topic) string {
	return p.settings + "SET 'parallelism.default' = '8';\n" + k.source() +
		"CREATE TABLE lake (id BIGINT, v STRING, part INT, seq BIGINT) WITH ('connector'='filesystem', 'path'='" + uri(p.table) +
		"', 'format'='parquet');\nINSERT INTO lake SELECT id, v, part, seq FROM src;\n"
}

// life prepares the job on this stage.
func (p *play) life(t *testing.T, k *topic, name string, oldVerdict bool, checkpoints fs.Resolver) *life {
	t.Helper()
	var l *life
	attempt := func() int { return int(l.job.Status().Restarts) }
	w := world{dir: uri(p.s.dir + "/checkpoints"), plain: checkpoints, old: oldVerdict, traced: true, stores: stores{p.s.resolver, func(f fs.FS) fs.FS {
		return &store{FS: f, before: p.tidy, attempt: attempt, ended: p.ended, moving: p.moving,
			written: func(file string) { p.written(attempt(), file) }}
	}}}
	l = w.prepare(t, name, p.sql(k))
	return l
}

// sane fails on an error of the schedule itself, and when others than these tasks failed.
func (p *play) sane(t *testing.T, failed ...int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := errors.Join(p.errs...); err != nil {
		t.Error(err)
	}
	var got []int
	for k := range p.failed {
		got = append(got, k)
	}
	if slices.Sort(got); !slices.Equal(got, failed) {
		t.Errorf("tasks %v failed, want %v", got, failed)
	}
}

// incident plays the old protocol: each task deletes its folder before it writes.
func incident(t *testing.T, name string, oldVerdict bool) (*life, *play, *topic) {
	t.Helper()
	s := newSite(t)
	p := &play{s: s, table: s.dir + "/lake"}
	p.tidy = s.empty
	p.begin(2)
	p.open, p.closed = p.folders(2, 0, 4), p.folders(2, 4, 8)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := errors.Join(p.errs...); err != nil {
			t.Errorf("the schedule was not kept: %v", err)
		}
	})
	k := newTopic(t, tasks)
	l := p.life(t, k, name, oldVerdict, s.resolver)
	l.start()
	l.committed(1) // the start; nothing was there to be read
	k.fill(each)
	l.read(total, 0)
	s.hold(p.folders(2, 0, tasks)...)
	l.clock.forward()
	l.read(total, 1) // four tasks failed: the job reads everything again from checkpoint 1
	l.clock.forward()
	return l, p, k
}

// TestIncidentOldProtocol: with the folder's delete and the old verdict, four tasks fail, four lose what they wrote, and nobody learns of it.
func TestIncidentOldProtocol(t *testing.T) {
	l, p, _ := incident(t, "old", true)
	l.committed(2)
	l.stop()
	p.sane(t, 0, 1, 2, 3)
	got := read(t, p.table, "parquet")
	if got.Rows != total/2 || got.Distinct != total/2 || len(got.Parts) != tasks/2 {
		t.Errorf("the old protocol left %+v, want the rows of four of eight tasks", got)
	}
	st := l.job.Status().Counters
	if st.Lost != 0 || st.Renamed != tasks/2 || st.Skipped != tasks/2 {
		t.Errorf("the old verdict counted %+v, want 4 renamed, 4 skipped, none lost", st)
	}
	if text := l.log.String(); strings.Count(text, "level=ERROR") != 1 || strings.Contains(text, "neither place") {
		t.Errorf("more than the restart of the four tasks was said:\n%s", text)
	}
	t.Logf("old protocol: tasks failed 4, files renamed %d, \"renamed before\" %d, lost 0; rows visible %d of %d; errors after the restart 0",
		st.Renamed, st.Skipped, got.Rows, total)
}

// TestIncidentVerdict: the same deletes, but a file in neither place is lost: the job stops and names what is missing.
func TestIncidentVerdict(t *testing.T) {
	l, p, k := incident(t, "verdict", false)
	err := l.ends()
	p.sane(t, 0, 1, 2, 3)
	if fault.ClassOf(err) != fault.Lost {
		t.Fatalf("the job ended with %v, want a loss:\n%s", err, l.log)
	}
	got := read(t, p.table, "parquet")
	if got.Rows != total/2 || got.Distinct != total/2 {
		t.Errorf("visible: %+v, want the rows of four tasks", got)
	}
	text := err.Error() + "\n"
	if !strings.Contains(text, "4 of 8 files that checkpoint 2 promises") || !strings.Contains(text, fmt.Sprintf("%d rows", total/2)) {
		t.Errorf("the loss is not counted:\n%v", err)
	}
	for part := range tasks {
		named := strings.Contains(text, fmt.Sprintf("-%d offsets 0..%d\n", part, each-1))
		if there := slices.Contains(got.Parts, part); named == there {
			t.Errorf("partition %d: visible %v, named as lost %v:\n%v", part, there, named, err)
		}
	}
	t.Logf("tasks failed 4, files renamed %d, lost %d; rows visible %d of %d; the job stops:\n%v", l.job.Status().Counters.Renamed,
		l.job.Status().Counters.Lost, got.Rows, total, err)
	p.mended(t, k, "verdict")
}

// mended is what the person who is paged does after the loss, by the program alone: who took the files, by the NameNodes' own audit logs; the rows
// again; and the proof. Then the job goes on, without an accept.
func (p *play) mended(t *testing.T, k *topic, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".sql")
	if err := os.WriteFile(file, []byte("SET 'execution.checkpointing.dir' = '"+uri(p.s.dir+"/checkpoints")+"';\n"+p.sql(k)), 0o600); err != nil {
		t.Fatal(err)
	}
	staunch := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program(t), args...)
		out, err := cmd.CombinedOutput()
		var x *exec.ExitError
		if err != nil && !errors.As(err, &x) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("staunch %s: exit code %d, want %d\n%s", args[0], code, want, out)
		}
		t.Logf("$ staunch %s\n%s", strings.Join(args, " "), out)
		return string(out)
	}
	says := func(out string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("no %q in what it printed", w)
			}
		}
	}
	staunch(1, "audit", file)
	staunch(0, "trace", file, "--checkpoint", "2")
	logs := []string{"--audit-log", p.s.Audit[0], "--audit-log", p.s.Audit[1]}
	// the client is named by user and address, the time by the NameNode's line, the rows by their offsets
	told := staunch(0, append([]string{"trace", file, "--path", uri(p.folder(2, tasks-1))}, logs...)...)
	says(told, "most likely cause: late delete", "<== late delete", "delete of the folder above it, "+p.folder(2, tasks-1), "@127.0.0.1 at 20",
		fmt.Sprintf(" offsets 0..%d", each-1), "the same client had deleted the same path")

	says(staunch(0, "audit", file, "--repair", "--why", "a delete of the old dump came late"), fmt.Sprintf("lost files: 4 with %d rows; 4 repaired", total/2),
		"start the job again", "being committed")
	says(staunch(0, "audit", file, "--repair"), "no file is lost")
	if got := read(t, p.table, "parquet"); got.Rows != total || got.Distinct != total || len(got.Parts) != tasks {
		t.Errorf("visible after the repair: %+v, want all %d rows", got, total)
	}
	judged(t, p.table)

	p.tidy = nil
	l := p.life(t, k, name, false, p.s.resolver)
	l.start()
	l.committed(2)
	k.fill(each)
	l.read(total, 0)
	l.stop()
	if st := l.job.Status().Counters; st.Lost != 0 {
		t.Errorf("%+v", st)
	}
	if got := read(t, p.table, "parquet"); got.Rows != 2*total || got.Distinct != 2*total || len(got.Parts) != tasks {
		t.Errorf("visible when the job had gone on: %+v, want all %d rows", got, 2*total)
	}
	judged(t, p.table)
	says(staunch(0, "audit", file), "clean", "repaired: ", "a delete of the old dump came late")
	says(staunch(0, append([]string{"trace", file, "--path", uri(p.folder(2, tasks-1))}, logs...)...), "repaired ", "written again by ", "most likely cause: late delete",
		"its rows are back")
}

// TestIncidentFileState: the job comes from the old protocol, whose folder deletes are still on their way, and is killed once with eight
// files closed and not promised. The next attempt removes those one by one, which is held back too. All sixteen deletes arrive late, in the
// windows in which they did harm before, when the NameNode has forgotten that it carried them out. They name what nobody needs any more.
func TestIncidentFileState(t *testing.T) {
	s := newSite(t)
	p := &play{s: s, table: s.dir + "/lake"}
	k := newTopic(t, tasks)

	// the old protocol: its folder deletes are held, asked again with success, and checkpoint 2 is committed
	p.begin(-1)
	p.tidy = s.empty
	old := p.folders(2, 0, tasks)
	l := p.life(t, k, "roll", true, s.resolver)
	l.start()
	l.committed(1)
	k.fill(each)
	l.read(total, 0)
	s.hold(old...)
	l.clock.forward()
	l.committed(2)
	l.stop()
	s.holding(old...)
	last := int(l.job.Status().LastCheckpoint)

	// the new one dies when all files of its checkpoint are closed
	p.tidy = nil
	full := &full{FS: p.s.resolver.(resolver).client}
	l = p.life(t, k, "roll", false, resolver{full})
	l.start()
	l.awaits("its start", func(st status) bool { return st.Phase == "RUNNING" })
	k.fill(each)
	l.read(total, 0)
	full.now.Store(true)
	l.clock.forward()
	if err := l.ends(); !errors.Is(err, errCrash) {
		t.Fatalf("the attempt ended with %v:\n%s", err, l.log)
	}
	var left [tasks]string
	for i := range left {
		list, err := full.FS.List(p.folder(last+1, i))
		if err != nil || len(list) != 1 {
			t.Fatalf("task %d left %v, %v", i, list, err)
		}
		left[i] = path.Join(p.folder(last+1, i), list[0].Name)
	}

	// and the next attempt, in the same folders
	p.begin(last + 1)
	s.hold(left[:]...)
	p.open, p.closed = append(slices.Clone(left[:4]), old[:4]...), append(slices.Clone(left[4:]), old[4:]...)
	p.settings = "SET 'staunch.table.lake.temporary-cleanup' = 'before-write';\n"
	l = p.life(t, k, "roll", false, s.resolver)
	l.start()
	l.read(total, 0)
	l.clock.forward()
	l.committed(last + 1)
	l.stop()
	p.sane(t)
	got := read(t, p.table, "parquet")
	if got.Rows != 2*total || got.Distinct != 2*total {
		t.Errorf("visible: %+v, want all %d rows", got, 2*total)
	}
	st := l.job.Status()
	if st.Counters.Lost != 0 || st.Counters.Skipped != 0 || st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
	t.Logf("deletes that arrived late 16; tasks failed 0, files renamed %d, lost %d; rows visible %d of %d", st.Counters.Renamed, st.Counters.Lost,
		got.Rows, 2*total)
}
