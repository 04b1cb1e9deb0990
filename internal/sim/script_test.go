package sim

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/commit"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/fs/mem"
	"staunch/job"
	"staunch/job/protocol"
	"staunch/log"
	"staunch/operator"
)

// script is a world in which nothing happens by chance but the order of activities, which a seed fixes: a test produces the records, waits for
// what it wants to see, and breaks one thing. The job, the commit, the sink and the format are the production code, as in the other worlds, and
// the oracle looks all the time.
type script struct {
	*world
	last *run
	// calls are the calls that processes made, in order.
	calls []call
	// answers decides what becomes of a call; nil: it is carried out.
	answers func(mem.Op) mem.Effect
	// looks are told of each call before it is made.
	looks []func(mem.Op)
	// doom kills the process whose next call it chooses, before that call; stun lets it stand still for so long.
	doom   func(mem.Op) bool
	doomed bool
	stun   func(mem.Op) time.Duration
	// hold is how much later deletes are carried out (again); with emptied also those of the variant that empties folders before it writes.
	hold     time.Duration
	emptied  bool
	held     []held
	lateSeen int
	applied  int
	// deleted are the pending files that were removed one by one.
	deleted []string
	// wrap goes around the sink, if not nil.
	wrap func(connector.Sink) connector.Sink
	// restarts inside a process; 0: without a bound.
	restarts int
	par      int
	dir      string // of the checkpoints, if not the usual one
	// order is what a start asks for besides, nil for nothing.
	order func(*job.Spec)
	// only is the root of the one table that the job writes to, if not all.
	only string
}

// call is a call and when it was made.
type call struct {
	client string
	op     mem.Op
	at     time.Time
}

// held is a delete that takes effect later.
type held struct {
	due   time.Time
	apply func()
}

// broken ends a script.
type broken struct{ error }

func (c *script) failf(format string, args ...any) { panic(broken{fmt.Errorf(format, args...)}) }

func (c *script) must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

// play carries a script out under a variant of the protocol and gives what was found wrong.
func play(seed uint64, v Variant, story func(*script)) (err error) {
	w := newWorld(seed, v, nil)
	w.faults, w.hard, w.calm, w.par, w.retain, w.tables, w.success, w.second = 0, false, true, 1, 1, 1, never, false
	w.v.job.Commit.SegmentEvery = 0
	w.b.scripted, w.b.partitions, w.b.records = true, 1, 0
	w.opts.Interval, w.opts.Timeout, w.opts.Tolerable = 10*time.Minute, 10*time.Minute, 0
	// Files are closed after five quiet seconds, so that there are some before the barrier.
	w.with = map[string]string{"sink.rolling-policy.inactivity-interval": "5 s", "sink.rolling-policy.check-interval": "1 s"}
	c := &script{world: w, par: 1}
	w.store.Before = c.before
	w.store.Fault = func(client string, op mem.Op) mem.Effect {
		if client == "oracle" || c.answers == nil {
			return mem.Effect{}
		}
		return c.answers(op)
	}
	w.edit = c.change
	defer func() {
		w.end()
		if r := recover(); r != nil {
			b, ok := r.(broken)
			if !ok {
				panic(r)
			}
			err = b.error
		}
	}()
	w.o = newOracle(w)
	story(c)
	return w.err
}

// orders is the number of orders of activities in which each script is played.
const orders = 10

// holds plays a script of the protocol as it is.
func holds(t *testing.T, story func(*script)) {
	t.Helper()
	for seed := uint64(1); seed <= orders && !t.Failed(); seed++ {
		if err := play(seed, Protocol, story); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// caught plays a script with a rule taken away, which it must find: a test that finds nothing proves nothing.
func caught(t *testing.T, variant string, story func(*script)) {
	t.Helper()
	i := slices.IndexFunc(KnownBad, func(v Variant) bool { return v.Name == variant })
	if i < 0 {
		t.Fatalf("no variant %s", variant)
	}
	err := play(1, KnownBad[i], story)
	if err == nil {
		t.Errorf("not found: %s", KnownBad[i].Without)
		return
	}
	t.Logf("%s is found: %v", variant, err)
}

// change edits the job before a start.
func (c *script) change(s *job.Spec) {
	s.Graph.Parallelism = c.par
	src := &s.Graph.Sources[0]
	src.NewWatermarker = func() (operator.Watermarker, error) { return eventTimes{c.b}, nil }
	for i := range src.Branches {
		if c.wrap != nil {
			src.Branches[i].Sink = c.wrap(src.Branches[i].Sink)
		}
	}
	if c.dir != "" {
		s.CheckpointDir = c.dir
	}
	for root := range s.Tables {
		if c.only != "" && root != c.only {
			delete(s.Tables, root)
			src.Branches = slices.DeleteFunc(src.Branches, func(b dataflow.Branch) bool { return b.Table == root })
		}
	}
	if c.order != nil {
		c.order(s)
	}
	if c.restarts > 0 {
		s.Restart = &protocol.FixedDelay{Attempts: c.restarts, Delay: time.Second}
	}
}

// eventTimes is WATERMARK FOR ts AS ts.
type eventTimes struct{ b *broker }

func (e eventTimes) Max(in *changelog.Batch) (changelog.Watermark, bool, error) {
	least, ok := changelog.MinWatermark, false
	for _, o := range in.Offsets {
		least, ok = max(least, changelog.Watermark(e.b.script[o].at)), true
	}
	return least, ok, nil
}

func (c *script) before(client string, op mem.Op) {
	if c.s.cur != nil && client != "oracle" {
		c.calls = append(c.calls, call{client, op, c.s.now})
		for _, look := range c.looks {
			look(op)
		}
		if c.doom != nil && c.doom(op) {
			c.doom, c.doomed = nil, true // at the next switch of activities, which comes before the call
		}
		if c.stun != nil {
			if d := c.stun(op); d > 0 {
				c.stun = nil
				c.s.cur.p.until = c.s.now.Add(d)
			}
		}
	}
	c.world.before(client, op)
}

// rows produces n rows of a partition.
func (c *script) rows(n int, dt string) {
	for range n {
		c.b.produce(scriptedRecord{kind: row, dt: dt})
	}
}

// begin starts the job. The first start ends with its first, empty checkpoint.
func (c *script) begin() {
	first := c.stats.Attempts == 0
	c.launch()
	c.until("the job runs", func() bool {
		return c.last.job.Status().Phase == "RUNNING" && (!first || c.last.job.Status().Completed == 1)
	})
}

// launch starts the job, whatever becomes of it.
func (c *script) launch() {
	c.b.read = 0
	c.world.start()
	c.last = c.running[len(c.running)-1]
}

// until lets activities go on until something is so, looking at the table from outside all the time.
func (c *script) until(what string, so func() bool) {
	began := c.s.now
	for steps := 1; !so(); steps++ {
		if c.last.ended {
			c.failf("the job ended (%v) before %s", c.last.err, what)
		}
		c.step(what, steps, began)
	}
	c.must(c.o.check(false))
}

// patience is how long a script waits, in simulated time.
const patience = 2 * time.Hour

func (c *script) step(what string, steps int, began time.Time) {
	more, err := c.s.step()
	c.must(err)
	c.must(c.err)
	if c.doomed {
		c.doomed = false
		c.kill(c.last)
	}
	for ; c.lateSeen < len(c.late); c.lateSeen++ { // of the variant that empties folders
		if dir := c.late[c.lateSeen]; c.emptied {
			c.later(func() { c.deleteFolder(dir) })
		}
	}
	c.held = slices.DeleteFunc(c.held, func(h held) bool {
		if h.due.After(c.s.now) {
			return false
		}
		c.applied++
		h.apply()
		return true
	})
	if steps%32 == 0 {
		c.must(c.o.check(false))
	}
	if !more && !c.last.p.dead && !c.last.ended || steps > maxSteps || c.s.now.Sub(began) > patience {
		c.failf("waited for %s for %s: %+v", what, c.s.now.Sub(began), c.last.job.Status())
	}
}

// later carries a delete out after the time that deletes are held, twice.
func (c *script) later(apply func()) {
	c.held = append(c.held, held{c.s.now.Add(c.hold), func() { apply(); apply() }})
}

// read waits until all that was produced has been read.
func (c *script) read() {
	c.until("all is read", func() bool { return c.b.read == c.b.records })
}

// checkpoint waits until all is read and the next checkpoint is committed, and gives its id.
func (c *script) checkpoint() account.CheckpointID {
	c.read()
	n := c.last.job.Status().Completed
	c.until("a checkpoint", func() bool { return c.last.job.Status().Completed > n })
	return c.last.job.Status().LastCheckpoint
}

// killBefore kills the process before a call, and waits for that.
func (c *script) killBefore(what string, choose func(mem.Op) bool) {
	c.doom = choose
	c.until(what, func() bool { return c.last.p.dead })
}

// ends waits for the end of the newest attempt.
func (c *script) ends() error {
	began := c.s.now
	for steps := 1; !c.last.ended; steps++ {
		c.step("the job's end", steps, began)
	}
	c.must(c.o.check(false))
	return c.last.err
}

// finish ends the topic: the job ends, each row is there once, and the audit agrees (P1, P11).
func (c *script) finish() {
	c.b.closed = true
	c.must(c.ends())
	if c.last.outcome != job.Finished {
		c.failf("outcome %d", c.last.outcome)
	}
	c.must(c.o.complete())
	c.must(c.audited())
}

// visible gives the offsets that a reader of the table finds, in order.
func (c *script) visible() (out []int64) {
	c.must(c.o.check(false))
	for _, v := range c.table().files {
		for _, r := range v.rows {
			out = append(out, r.Off)
		}
	}
	slices.Sort(out)
	return out
}

// sees expects exactly the offsets from <= o < to.
func (c *script) sees(when string, from, to int64) {
	if got := c.visible(); !exactly(got, from, to) {
		c.failf("%s: visible are %v, expected %d to %d", when, got, from, to-1)
	}
}

// exactly reports whether offsets are from, from+1, ... to-1.
func exactly(offsets []int64, from, to int64) bool {
	for i, o := range offsets {
		if o != from+int64(i) {
			return false
		}
	}
	return int64(len(offsets)) == to-from
}

func (c *script) table() *lake { return c.o.tables[0] }

// pending gives the files in the temporary area.
func (c *script) pending() (out []string) {
	for _, line := range c.store.Tree() {
		p, _, _ := strings.Cut(line, " ")
		if strings.HasSuffix(p, ".pending") {
			out = append(out, p)
		}
	}
	return out
}

// written waits until the attempt that runs has read all and has an open file besides those that were there.
func (c *script) written(before int) {
	c.read()
	c.until("rows are in a file", func() bool { return len(c.pending()) > before })
}

// entries reads the table's log.
func (c *script) entries() []log.Entry {
	out, err := log.Open(c.s.process("reader"), c.o.client, commit.Dir(c.table().root, name), ".staunch").Read()
	c.must(err)
	return out
}

func (c *script) certificates() (out []account.Certificate) {
	for _, e := range c.entries() {
		if e.Kind == account.KindCertificate {
			var x account.Certificate
			c.must(json.Unmarshal(e.Body, &x))
			out = append(out, x)
		}
	}
	return out
}

// moved reports whether a folder held files of a checkpoint whose commit is over.
func (c *script) moved(dir string) bool {
	var last account.Certificate // a done follows its certificate
	for _, e := range c.entries() {
		switch e.Kind {
		case account.KindCertificate:
			last = account.Certificate{}
			c.must(json.Unmarshal(e.Body, &last))
		case account.KindDone:
			if slices.ContainsFunc(last.Files, func(f account.File) bool { return strings.HasPrefix(f.Pending, dir+"/") }) {
				return true
			}
		}
	}
	return false
}

// aside looks something up, or does it, from inside a call of a process: that takes no time.
func (c *script) aside(do func()) {
	cur := c.s.cur
	c.s.cur = nil
	defer func() { c.s.cur = cur }()
	do()
}

// verdicts gives what became of a checkpoint's files, by partition.
func (c *script) verdicts(id account.CheckpointID) map[string]account.Verdict {
	out := map[string]account.Verdict{}
	for _, e := range c.entries() {
		var d account.Done
		if e.Kind != account.KindDone {
			continue
		}
		c.must(json.Unmarshal(e.Body, &d))
		for _, cert := range c.certificates() {
			for i := range cert.Files {
				if cert.Checkpoint == id && d.Checkpoint == id && i < len(d.Verdicts) {
					out[cert.Files[i].Partition] = d.Verdicts[i]
				}
			}
		}
	}
	return out
}

// The calls that scripts choose.

// moves reports whether op brings a file into a partition ("" for any).
func moves(op mem.Op, partition string) bool {
	dir := path.Dir(op.To)
	return op.Kind == mem.Rename && strings.HasPrefix(dir, roots[0]+"/dt=") && (partition == "" || dir == roots[0]+"/"+partition)
}

// temporary reports whether op is about the sink's temporary area.
func temporary(op mem.Op) bool { return strings.HasPrefix(op.Path, roots[0]+"/_DUMP_TEMPORARY/") }

// deletes reports whether op removes a name in the temporary area; the probe's own file, which it has just made there, is not meant.
func deletes(op mem.Op) bool {
	return (op.Kind == mem.Delete || op.Kind == mem.DeleteDir) && temporary(op) && !strings.HasSuffix(op.Path, ".probe")
}

// places reports whether op puts an entry into the table's log.
func places(op mem.Op) bool {
	return op.Kind == mem.Rename && path.Dir(op.To) == commit.Dir(roots[0], name) && strings.HasSuffix(op.To, ".staunch")
}

// failing is a sink whose files do not become durable while fails says so, and whose writes fail while refuses (if not nil) says so.
type failing struct {
	connector.Sink
	fails   func() error
	refuses func(*changelog.Batch) error
}

func (f failing) NewWriter(ctx connector.Context) (connector.Writer, error) {
	w, err := f.Sink.NewWriter(ctx)
	return failingWriter{w, f}, err
}

type failingWriter struct {
	connector.Writer
	failing
}

func (f failingWriter) Write(b *changelog.Batch, splits []connector.Split) error {
	if f.refuses != nil {
		if err := f.refuses(b); err != nil {
			return err
		}
	}
	return f.Writer.Write(b, splits)
}

func (f failingWriter) Prepare(id account.CheckpointID) ([]connector.Committable, func() error, error) {
	out, durable, err := f.Writer.Prepare(id)
	return out, func() error {
		if f.fails != nil {
			if err := f.fails(); err != nil {
				return err
			}
		}
		if durable == nil {
			return nil
		}
		return durable()
	}, err
}

func (c *script) claims() (out []account.Claim) {
	for _, e := range c.entries() {
		if e.Kind == account.KindClaim {
			var x account.Claim
			c.must(json.Unmarshal(e.Body, &x))
			out = append(out, x)
		}
	}
	return out
}
