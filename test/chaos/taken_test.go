//go:build peer

package chaos

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"staunch/account"
	"staunch/audit"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/commit/protocol"
	"staunch/env"
	"staunch/fault/failpoint"
	"staunch/fs"
	"staunch/fs/hdfs"
	"staunch/fs/hdfs/conf"
	"staunch/fs/local"
)

// losses counts what somebody took of the tables before it was visible, and the repairs.
type losses struct {
	stops          int // of the job, with class=lost
	files, rows    int // taken
	repairs, ended int // processes of `staunch audit --repair`, and those of them that were killed

	took time.Duration // by the last repair that was alone and not killed
}

// looks is how long a repair, and the job, look at a file that is in neither place before they believe it.
const looks = (protocol.Looks - 1) * protocol.SecondLook

var (
	// promised are the points at which a checkpoint is complete, and its files are not where they are promised to be.
	promised = []string{failpoint.CompleteAfter, failpoint.CertificateBefore, failpoint.CertificateAfter, failpoint.RenameBefore}
	// mending are the points that a repair passes.
	mending = slices.Concat(failpoint.Mending, []string{failpoint.WriteCreated, failpoint.WriteClosed, failpoint.LogStaged, failpoint.LogPlaced})
	// ways of repairing are taken in turn; the first two are those of a short run.
	ways = []string{besideTheStart, twoAtOnce, anyMoment, startedTooEarly, thenTwo}
)

const (
	besideTheStart  = "a repair beside the job's start is killed"
	twoAtOnce       = "two repairs at once, one may die"
	anyMoment       = "a repair is killed at any moment"
	startedTooEarly = "a repair is killed, and the job started too early"
	thenTwo         = "a repair is killed, then two at once"
)

// takeAway has somebody delete files that a checkpoint promises before they are visible. The next start stops with exactly those; their rows are written
// again by repairs, some of which are killed or meet each other; and the job can go on as if nothing had happened.
func (c *campaign) takeAway(k *table) {
	k.t.Helper()
	began, before := time.Now(), c.loss
	way := ways[c.loss.stops%len(ways)]
	c.loss.stops++
	points := promised
	if way == besideTheStart {
		points = promised[2:] // the first repair finds the certificate, also when it is quicker than the job
	}
	gone := c.take(k, points)
	c.rattle()
	r := k.start()
	var early *run
	if way == besideTheStart { // it is not to bring anything back before the job has looked
		early = k.repair(c.armed(1, failpoint.RepairStaged, failpoint.RepairEntry))
	}
	r.stopsAt(gone)
	if early != nil {
		c.mended(early, true)
	}
	c.rattle()
	switch way {
	case besideTheStart:
		began := time.Now()
		c.mended(k.repair(), false)
		c.loss.took = time.Since(began)
	case twoAtOnce:
		a, b := k.repair(c.armed(len(gone), mending...)), k.repair()
		c.mended(a, true)
		c.mended(b, false)
	case anyMoment: // at which it does more than look
		dying := k.repair()
		select {
		case <-dying.done:
		case <-time.After(looks + time.Duration(c.rng.Int64N(int64(max(c.loss.took-looks, 100*time.Millisecond))))):
			_ = dying.cmd.Process.Kill() // it may have ended just now
		}
		c.mended(dying, true)
		c.mended(k.repair(), false)
	case startedTooEarly:
		c.mended(k.repair(c.armed(len(gone), mending...)), true)
		if c.net != nil {
			c.net.end(c.rng) // nothing that the dead one sent is under way any more
		}
		if left := k.missing(gone); len(left) > 0 {
			k.start().stopsAt(left)
		}
		c.rattle()
		c.mended(k.repair(), false)
	case thenTwo:
		c.mended(k.repair(c.armed(len(gone), mending...)), true)
		c.rattle()
		a, b := k.repair(), k.repair()
		c.mended(a, false)
		c.mended(b, false)
	}
	k.t.Logf("%d files taken away (%s): %d of %d repairs killed, %v", len(gone), way, c.loss.ended-before.ended, c.loss.repairs-before.repairs,
		time.Since(began).Round(time.Second/10))
}

// armed makes a process kill itself at one of these points, when it comes there for the most-th time at the latest.
func (c *campaign) armed(most int, points ...string) string {
	return fmt.Sprintf("STAUNCH_FAILPOINT=%s:%d", points[c.rng.IntN(len(points))], 1+c.rng.IntN(most))
}

// rattle prepares what the network does to the next process.
func (c *campaign) rattle() {
	if c.net != nil {
		c.net.disturb(c.rng)
	}
}

// take kills the job where a checkpoint is promised, and deletes one or two of its files.
func (c *campaign) take(k *table, points []string) (gone []account.File) {
	k.t.Helper()
	for range 10 {
		point := points[c.rng.IntN(len(points))]
		r := k.start(c.armed(2, point))
		r.ends(point)
		r.wasKilled(point)
		c.kills++
		c.met[point]++
		files := k.promises()
		c.rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		store, _ := k.open(k.lake)
		for n := 1 + c.rng.IntN(2); n > 0 && len(files) > 0; files = files[1:] {
			f := files[0]
			if f.Rows == 0 {
				continue
			}
			err := store.Delete(f.Pending)
			if errors.Is(err, fs.ErrNotExist) { // it was moved
				continue
			}
			if err != nil {
				k.t.Fatal(err)
			}
			n--
			gone = append(gone, f)
			c.loss.files, c.loss.rows = c.loss.files+1, c.loss.rows+int(f.Rows)
		}
		if len(gone) > 0 {
			k.taken = append(k.taken, gone...)
			return gone
		}
	}
	k.t.Fatal("the newest checkpoint promised no file with rows, ten times")
	return nil
}

// missing are those of the files that are not visible.
func (k *table) missing(files []account.File) (out []account.File) {
	k.t.Helper()
	store, _ := k.open(k.lake)
	for _, f := range files {
		if _, err := store.Stat(f.Final); errors.Is(err, fs.ErrNotExist) {
			out = append(out, f)
		} else if err != nil {
			k.t.Fatal(err)
		}
	}
	return out
}

// stores leads to the tables of a place by a way that no fault of the network lies on.
func (at place) stores(t *testing.T) fs.Resolver {
	if at.hdfs == nil {
		return local.Resolver{}
	}
	r := &hdfs.Resolver{Load: func() (*conf.Conf, error) { return conf.Load(at.hdfs.ConfDir, os.Getenv) }}
	t.Cleanup(r.Close)
	return r
}

// open finds the store of a path.
func (k *table) open(uri string) (fs.FS, string) {
	k.t.Helper()
	store, p, err := k.stores.Resolve(uri)
	if err != nil {
		k.t.Fatal(err)
	}
	return store, p
}

// job is the name under which the job keeps its logs: that of the statement file.
const job = "orders"

// promises are the files of the newest complete checkpoint.
func (k *table) promises() (files []account.File) {
	k.t.Helper()
	store, dir := k.open(k.checkpoints)
	log := checkpoint.OpenPast(&env.Real{}, store, checkpoint.Dir(dir, commit.Escape(job)), checkpoint.Variant{}, slog.New(slog.DiscardHandler))
	if err := log.Load(); err != nil {
		k.t.Fatal(err)
	}
	if newest := log.Newest(); newest != nil {
		for _, t := range newest.Tables { // one
			files = append(files, t.Files...)
		}
	}
	return files
}

// certified are those of the files that the certificate names which the job stands at.
func (k *table) certified(files []account.File) (out []account.File) {
	k.t.Helper()
	store, root := k.open(k.lake)
	log, err := commit.Read(&env.Real{}, store, commit.Dir(root, job))
	if err != nil {
		k.t.Fatal(err)
	}
	c := log.Find(log.Chain.Certificate)
	if c == nil || c.Done != nil {
		k.t.Fatalf("no certificate waits for its files: %+v", c)
	}
	for _, f := range c.Files {
		if slices.ContainsFunc(files, func(g account.File) bool { return g.Final == f.Final }) {
			out = append(out, f)
		}
	}
	return out
}

var lostFile = regexp.MustCompile(`(?m)^  lost: .+ \(\d+ rows\)\n        was written as .+(\n        \S+ offsets .+)*`)

// stopsAt waits for the job's end, with a loss of exactly these files.
func (r *run) stopsAt(gone []account.File) {
	k := r.k
	k.t.Helper()
	r.ends("a job whose files were taken away")
	said := r.log.String()
	if r.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said, "class=lost") {
		k.t.Fatalf("files were taken away, and the job ended with %v, want exit code 1 and class=lost\n%s", r.cmd.ProcessState, said)
	}
	var want []string
	for _, f := range k.certified(gone) {
		s := fmt.Sprintf("  lost: %s (%d rows)\n        was written as %s", f.Final, f.Rows, f.Pending)
		for _, o := range f.Offsets {
			s += fmt.Sprintf("\n        %s offsets %s", o.Split, o.Set)
		}
		want = append(want, s)
	}
	got := lostFile.FindAllString(said, -1)
	slices.Sort(want)
	slices.Sort(got)
	if len(want) != len(gone) || !slices.Equal(got, want) {
		k.t.Fatalf("taken (of %d files, %d of them in the certificate):\n%s\nthe job says:\n%s\n%s", len(gone), len(want), strings.Join(want, "\n"), strings.Join(got, "\n"), said)
	}
}

// repair starts a repair of the table; env are more variables.
func (k *table) repair(env ...string) *run {
	k.t.Helper()
	return k.process([]string{"audit", k.sql, "--repair", "--why", "files are taken away on purpose"}, env...)
}

// mended waits for the end of a repair. Only one that may die can die, and whichever does not must have made everything good.
func (c *campaign) mended(r *run, mayDie bool) {
	t := r.k.t
	t.Helper()
	c.loss.repairs++
	r.ends("a repair")
	if mayDie && r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		c.loss.ended++
		return
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("a repair ended with %v, want exit code 0\n%s", r.cmd.ProcessState, &r.log)
	}
}

// allMended wants every file that was taken away to be repaired by the audit's account, no other, and no loss to be accepted.
func (k *table) allMended(report []byte) {
	k.t.Helper()
	var all struct{ Tables []audit.Report }
	if err := json.Unmarshal(report, &all); err != nil || len(all.Tables) != 1 {
		k.t.Fatalf("staunch audit: %v, %d tables in %.300s", err, len(all.Tables), report)
	}
	type back struct {
		path string
		rows int64
	}
	var got, want []back
	for _, j := range all.Tables[0].Jobs {
		for _, f := range j.Repairs {
			got = append(got, back{f.Path, f.Rows})
		}
		if len(j.Losses) > 0 {
			k.t.Errorf("lost still: %+v", j.Losses)
		}
	}
	for _, f := range k.taken {
		want = append(want, back{f.Final, f.Rows})
	}
	order := func(a, b back) int { return cmp.Compare(a.path, b.path) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		k.t.Errorf("taken away: %v\nrepaired, says the audit: %v", want, got)
	}
}
