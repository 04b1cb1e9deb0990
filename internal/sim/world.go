package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"staunch/account"
	"staunch/audit"
	"staunch/changelog"
	cp "staunch/checkpoint/protocol"
	"staunch/config"
	"staunch/connector"
	"staunch/connector/filesystem"
	"staunch/dataflow"
	"staunch/fault"
	"staunch/format"
	"staunch/format/json"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/job"
	"staunch/job/protocol"
	"staunch/operator"
)

// Stats say what happened in a seed.
type Stats struct {
	Steps, Attempts, Kills, Pauses, Faults, Repeats, PowerCuts, Removed, Checkpoints, Files, Hard, Restarts int
}

// world is one seed's story.
type world struct {
	seed    uint64
	v       Variant
	rng     *rand.Rand
	s       *sched
	store   *mem.Store
	b       *broker
	o       *oracle
	running []*run
	par     int
	tables  int
	second  bool              // two INSERTs into the first table
	edit    func(*job.Spec)   // of the statement file, before a start
	with    map[string]string // more options of the tables
	success success
	opts    cp.Options
	retain  int
	faults  float64
	hard    bool // some faults are no outages
	calm    bool // no more faults
	accept  []string
	trace   io.Writer
	stats   Stats
	err     error
	cut     bool
	done    bool
	late    []string // folder deletes of the variant delete-before-write, which may be repeated
}

// run is one attempt: a process with its job.
type run struct {
	n       int
	p       *process
	client  *mem.Client
	job     *job.Job
	ended   bool
	outcome job.Outcome
	err     error
}

// Limit of steps after which a seed counts as stuck.
const maxSteps = 400_000

// Run plays one seed and returns what the oracle found wrong. trace gets every call, if not nil.
func Run(seed uint64, v Variant, trace io.Writer) (Stats, error) {
	w := newWorld(seed, v, trace)
	w.start()
	err := w.play()
	w.end()
	w.stats.Steps = w.s.steps
	return w.stats, err
}

// end kills every process.
func (w *world) end() {
	for _, r := range w.running {
		r.p.kill()
	}
}

func newWorld(seed uint64, v Variant, trace io.Writer) *world {
	rng := rand.New(rand.NewPCG(seed, 0x5741554e4348))
	w := &world{seed: seed, v: v, rng: rng, s: newSched(rng), store: mem.New(), trace: trace, par: 1 + rng.IntN(2), retain: 1 + rng.IntN(2)}
	w.b = &broker{topic: "t", s: w.s, partitions: 1 + rng.IntN(3), records: int64(40 + rng.IntN(80)), every: time.Duration(50+rng.IntN(150)) * time.Millisecond, began: w.s.now}
	w.tables, w.success = 1+rng.IntN(2), success(rng.IntN(3))
	w.second = rng.IntN(3) == 0
	timeout := 10 * time.Minute
	if rng.IntN(4) == 0 { // some checkpoints are given up and join the next
		timeout = time.Duration(300+rng.IntN(1500)) * time.Millisecond
	}
	w.opts = v.options(cp.Options{Interval: time.Duration(500+rng.IntN(1500)) * time.Millisecond, Timeout: timeout, Tolerable: rng.IntN(2)})
	w.v.job.Commit.SegmentEvery = 2 + rng.IntN(4)
	if rng.IntN(3) > 0 {
		w.faults = 0.002 + 0.02*rng.Float64()
		w.hard = rng.IntN(2) == 0
	}
	w.store.Now = func() time.Time { return w.s.now }
	w.store.RenameMissingParent = rng.IntN(2) == 0
	w.store.Before = w.before
	w.store.Fault = w.fault
	if trace != nil {
		w.store.Trace = func(line string) { fmt.Fprintf(trace, "%s %s\n", w.s.now.Format("15:04:05.000"), line) }
	}
	w.o = newOracle(w)
	return w
}

// before is called before each call of any process.
func (w *world) before(client string, op mem.Op) {
	if w.s.cur == nil || client == "oracle" {
		return
	}
	switch racing := (op.Kind == mem.Rename || op.Kind == mem.Stat) && !w.calm && len(w.alive()) > 1; {
	case racing && w.rng.IntN(3) == 0: // two attempts are at the same files: spread them out
		w.s.sleep(time.Duration(w.rng.IntN(300)) * time.Millisecond)
	case w.rng.IntN(4) == 0:
		w.s.sleep(time.Duration(w.rng.IntN(20)) * time.Millisecond)
	default:
		w.s.pass()
	}
	if op.Kind == mem.Rename && strings.Contains(op.Path, "/staged-") && !w.calm && w.rng.IntN(60) == 0 && len(w.alive()) < 3 && w.stats.Attempts < 8 {
		// The process stands still with an entry in its hand, while another one goes on, completes and cleans.
		w.stats.Pauses++
		w.start()
		w.s.cur.p.until = w.s.now.Add(time.Duration(1+w.rng.IntN(15)) * time.Second)
		w.s.pass()
	}
	if l := w.o.of(op.To); op.Kind == mem.Rename && l != nil && !strings.HasPrefix(op.To, l.root+"/_") {
		cur := w.s.cur
		w.s.cur = nil // the oracle's own calls do not wait
		if err := l.renaming(op.To); err != nil {
			w.fail(err)
		}
		w.s.cur = cur
		if !w.calm && w.rng.IntN(60) == 0 && len(w.alive()) < 3 && w.stats.Attempts < 8 { // another attempt commits the same checkpoint
			w.start()
			w.s.sleep(time.Duration(w.rng.IntN(500)) * time.Millisecond)
		}
	}
}

func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// errHard is an answer that no waiting heals: the attempt fails and starts again inside its process.
var errHard = errors.New("input/output error")

func (w *world) fault(client string, op mem.Op) mem.Effect {
	rate := w.faults
	if op.Kind == mem.Rename {
		rate *= 8
	}
	if w.calm || client == "oracle" || rate == 0 || w.rng.Float64() >= rate {
		return mem.Effect{}
	}
	w.stats.Faults++
	if w.hard && w.rng.IntN(4) == 0 {
		w.stats.Hard++
		return mem.Effect{Kind: []mem.EffectKind{mem.Fail, mem.Lost}[w.rng.IntN(2)], Err: []error{fs.ErrNoSpace, errHard}[w.rng.IntN(2)]}
	}
	if op.Kind == mem.Rename && w.rng.IntN(3) == 0 {
		return mem.Effect{Kind: []mem.EffectKind{mem.Refuse, mem.DoneRefuse}[w.rng.IntN(2)]}
	}
	return mem.Effect{Kind: []mem.EffectKind{mem.Fail, mem.Lost}[w.rng.IntN(2)]}
}

// stores resolves every path in the process's own handle.
type stores struct{ c *mem.Client }

func (s stores) Resolve(uri string) (fs.FS, string, error) { return s.c, uri, nil }

func formats(n string) (format.Factory, bool) { return json.Factory, n == "json" }

// start begins one more attempt, as another process.
func (w *world) start() {
	w.stats.Attempts++
	n := w.stats.Attempts
	r := &run{n: n, p: w.s.process(fmt.Sprintf("p%d", n))}
	r.client = w.store.Client(r.p.name)
	w.running = append(w.running, r)
	par := w.par
	if w.rng.IntN(4) == 0 { // started again with another parallelism
		par = 1 + w.rng.IntN(3)
	}
	spec := job.Spec{ID: name, File: "/orders.sql", SQL: "INSERT", Plan: "plan", AccountsClose: true, Stores: stores{r.client},
		Graph:  dataflow.Graph{Parallelism: par, Sources: []dataflow.Source{{Name: "t", Describe: "table t", Source: w.b, Schema: schema}}},
		Tables: map[string]job.Table{}, Sources: []string{"t"}, CheckpointStore: r.client, CheckpointDir: jobs, Retain: w.retain, Checkpoints: w.opts,
		Restart: &protocol.FixedDelay{Attempts: 1000, Delay: time.Second}, Process: job.Process{Host: "sim", PID: n}, Accept: slices.Clone(w.accept),
		AcceptWho: "oracle", Variant: w.v.job}
	for _, l := range w.o.tables {
		sink, err := w.sink(r, l)
		if err != nil {
			w.fail(fmt.Errorf("sink: %w", err))
			return
		}
		var used connector.Sink = sink
		if w.v.deleteFirst {
			used = deleting{sink, w, l}
		}
		spec.Tables[l.root] = job.Table{Name: path.Base(l.root), Sink: sink}
		spec.Sinks = append(spec.Sinks, l.root)
		insert := func(id string, takes func(kind) bool) {
			spec.Graph.Sources[0].Branches = append(spec.Graph.Sources[0].Branches, dataflow.Branch{Insert: id, Table: l.root, Sink: used,
				NewOperator: func() (operator.Operator, error) { return newWhere(w.b, takes), nil }})
		}
		if l.second {
			insert("1", func(k kind) bool { return k == row })
			insert("2", func(k kind) bool { return k == filtered })
		} else {
			insert("1", l.takes)
		}
	}
	if w.edit != nil {
		w.edit(&spec)
	}
	out := slog.New(slog.DiscardHandler)
	if w.trace != nil {
		out = slog.New(slog.NewTextHandler(w.trace, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String("at", w.s.now.Format("15:04:05.000")+" "+r.p.name)
			}
			return a
		}}))
	}
	r.job = job.New(r.p, spec, out, nil)
	r.p.Go("run", func() {
		r.outcome, r.err = r.job.Run()
		r.ended = true
	})
}

// sink opens a table as a process sees it.
func (w *world) sink(r *run, l *lake) (connector.FileTable, error) {
	cols := make([]connector.Column, len(schema))
	for i, f := range schema {
		cols[i] = connector.Column{Name: f.Name, Type: f.Type}
	}
	options := map[string]string{"connector": "filesystem", "path": l.root, "format": "json"}
	if l.success != never {
		options["sink.partition-commit.policy.kind"] = "success-file"
	}
	maps.Copy(options, w.with)
	switch l.success {
	case byTime:
		options["sink.partition-commit.trigger"] = "partition-time"
		options["sink.partition-commit.delay"] = "1 h"
		options["partition.time-extractor.timestamp-pattern"] = "$dt:00:00"
	case atEnd:
		options["sink.partition-commit.delay"] = "1000 d"
	}
	sink, err := filesystem.Factory.Sink(connector.Table{Name: path.Base(l.root), Columns: cols, AllColumns: cols, PartitionKeys: []string{"dt"},
		Options: config.NewValues("table "+path.Base(l.root), options, nil), Zone: time.UTC, Stores: stores{r.client}, Formats: formats})
	if err != nil {
		return nil, err
	}
	return sink.(connector.FileTable), nil
}

func (w *world) alive() (out []*run) {
	for _, r := range w.running {
		if !r.p.dead && !r.ended {
			out = append(out, r)
		}
	}
	return out
}

// play steps until the job has ended and everything holds.
func (w *world) play() error {
	acts := w.rng.IntN(7)
	var when []int
	for range acts {
		when = append(when, 200+w.rng.IntN(6000))
	}
	slices.Sort(when)
	quiet := 0
	for !w.done {
		if w.s.steps > maxSteps {
			return fmt.Errorf("liveness: no end after %d steps; alive: %d", w.s.steps, len(w.alive()))
		}
		for len(when) > 0 && w.s.steps >= when[0] {
			when = when[1:]
			if err := w.act(); err != nil {
				return err
			}
		}
		if len(when) == 0 {
			if quiet++; quiet == 3000 {
				w.calm = true
			}
		}
		more, err := w.s.step()
		if err == nil {
			err = w.err
		}
		if err == nil {
			err = w.reap()
		}
		if err == nil && w.s.steps%512 == 0 {
			err = w.o.check(w.cut)
		}
		if err != nil {
			return err
		}
		if !more && !w.done {
			if len(w.alive()) > 0 {
				return errors.New("liveness: every activity waits and no time-out is set")
			}
			w.start()
		}
	}
	// Whatever was under way may still arrive.
	for range 3 {
		if n := w.store.LateCount(); n > 0 {
			_ = w.store.Repeat(w.rng.IntN(n)) // its answer reaches nobody
		}
	}
	if err := w.o.complete(); err != nil {
		return err
	}
	return w.audited()
}

// audited asks the audit, which must agree with the oracle (P11).
func (w *world) audited() error {
	for _, l := range w.o.tables {
		lost := 0
		for f := range w.o.lost {
			if w.o.of(f) == l {
				lost++
			}
		}
		rep, err := audit.Table(context.Background(), w.s.process("audit"), w.o.client, l.root, audit.Options{})
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if rep.Verdict != audit.Clean || len(rep.Jobs) != 1 || len(rep.Jobs[0].Losses) != lost {
			var b strings.Builder
			if err := rep.Text(&b); err != nil {
				return err
			}
			return fmt.Errorf("P11: the audit says:\n%s\nlost: %v", b.String(), w.o.lost)
		}
	}
	return nil
}

// act is one disturbance.
func (w *world) act() error {
	alive := w.alive()
	pick := func() *run { return alive[w.rng.IntN(len(alive))] }
	switch k := w.rng.IntN(12); {
	case k < 4 && len(alive) > 0: // kill, and start again some time
		w.kill(pick())
		w.start()
	case k < 6 && len(alive) < 3: // started twice
		w.start()
	case k < 8 && len(alive) > 0: // a pause, perhaps under another attempt
		w.stats.Pauses++
		pick().p.until = w.s.now.Add(time.Duration(1+w.rng.IntN(120)) * time.Second)
		if w.rng.IntN(2) == 0 {
			w.start()
		}
	case k < 10:
		for range 1 + w.rng.IntN(4) {
			if n := w.store.LateCount(); n > 0 {
				w.stats.Repeats++
				_ = w.store.Repeat(w.rng.IntN(n)) // its answer reaches nobody
			}
		}
		if len(w.late) > 0 {
			w.deleteFolder(w.late[w.rng.IntN(len(w.late))])
		}
	case k == 10:
		w.remove()
	default:
		for _, r := range alive {
			w.kill(r)
		}
		w.stats.PowerCuts++
		w.store.PowerCut(func() bool { return w.rng.IntN(2) == 0 })
		w.cut = true
		w.o.reopen(w)
		if err := w.o.check(true); err != nil {
			return fmt.Errorf("after a power cut: %w", err)
		}
		w.cut = false
		w.start()
	}
	return nil
}

func (w *world) kill(r *run) {
	w.stats.Kills++
	r.client.Kill()
	r.p.kill()
}

// remove is the outsider: it takes one pending file away.
func (w *world) remove() {
	var pending []string
	for _, line := range w.store.Tree() {
		p, _, _ := strings.Cut(line, " ")
		if strings.HasSuffix(p, ".pending") {
			pending = append(pending, p)
		}
	}
	if len(pending) == 0 || w.v.Name != Protocol.Name && w.v.Name != "missing-is-done" {
		return
	}
	p := pending[w.rng.IntN(len(pending))]
	if w.o.client.Delete(p) == nil {
		w.stats.Removed++
		w.o.removed[p] = true
	}
}

var lossID = regexp.MustCompile(`--accept-lost (\S+)`)

// reap looks at attempts that have ended.
func (w *world) reap() error {
	for _, r := range w.running {
		if !r.ended {
			continue
		}
		r.ended = false
		defer r.p.kill()
		w.stats.Checkpoints += int(r.job.Status().Completed)
		w.stats.Files += int(r.job.Status().FilesVisible)
		w.stats.Restarts += int(r.job.Status().Restarts)
		w.running = slices.DeleteFunc(w.running, func(x *run) bool { return x == r })
		if r.err == nil {
			w.done = true
			return nil
		}
		switch fault.ClassOf(r.err) {
		case fault.Fenced:
		case fault.Lost:
			if err := w.reported(r.err); err != nil {
				return err
			}
		case fault.Transient, fault.Bug: // before its begin stands a process gives up at the first hard error
			if !errors.Is(r.err, errHard) && !errors.Is(r.err, fs.ErrNoSpace) {
				return fmt.Errorf("attempt %d ended with (%s): %w", r.n, fault.ClassOf(r.err), r.err)
			}
		default:
			return fmt.Errorf("attempt %d ended with (%s): %w", r.n, fault.ClassOf(r.err), r.err)
		}
		if len(w.alive()) == 0 {
			w.start()
		}
		return nil
	}
	return nil
}

// reported checks that what an attempt calls lost was taken by the outsider, and accepts it.
func (w *world) reported(err error) error {
	var l *lake
	for _, line := range strings.Split(err.Error(), "\n") {
		line = strings.TrimSpace(line)
		if f, ok := strings.CutPrefix(line, "lost: "); ok {
			f, _, _ = strings.Cut(f, " (")
			w.o.lost[f] = true
			l = w.o.of(f)
			took := false
			for p := range w.o.removed {
				took = took || strings.TrimSuffix(path.Base(p), ".pending") == path.Base(f)
			}
			if !took || l == nil {
				return fmt.Errorf("P5: %s was called lost, but nobody took it: %w", f, err)
			}
		}
		if m := lostOffsets.FindStringSubmatch(line); m != nil {
			l.excuse(m[1], m[2])
		}
	}
	all := lossID.FindAllStringSubmatch(err.Error(), -1)
	if len(all) == 0 {
		return fmt.Errorf("P6: a loss without an id to accept it by: %w", err)
	}
	for _, m := range all {
		w.accept = append(w.accept, m[1])
	}
	return nil
}

var lostOffsets = regexp.MustCompile(`^t-(\d+) offsets ([\d. ]+)$`)

// excuse takes the offsets that a report names for lost.
func (l *lake) excuse(part, ranges string) {
	p, _ := strconv.Atoi(part)
	for _, r := range strings.Fields(ranges) {
		from, to, many := strings.Cut(r, "..")
		a, _ := strconv.ParseInt(from, 10, 64)
		b := a
		if many {
			b, _ = strconv.ParseInt(to, 10, 64)
		}
		for o := a; o <= b; o++ {
			l.excused[record{p, o}] = true
		}
	}
}

// deleting is the variant delete-before-write.
type deleting struct {
	connector.Sink
	w *world
	l *lake
}

func (d deleting) NewWriter(ctx connector.Context) (connector.Writer, error) {
	inner, err := d.Sink.NewWriter(ctx)
	return &deletingWriter{Writer: inner, d: d, ctx: ctx}, err
}

type deletingWriter struct {
	connector.Writer
	d    deleting
	ctx  connector.Context
	last account.CheckpointID
}

func (x *deletingWriter) folder(id account.CheckpointID) string {
	return fmt.Sprintf("%s/_DUMP_TEMPORARY/cp-%d/task-%d", x.d.l.root, id, x.ctx.Subtask)
}

// Write empties the folder of the next checkpoint before its first file, as the old protocol did. The request may arrive again later.
func (x *deletingWriter) Write(b *changelog.Batch, splits []connector.Split) error {
	if id := x.ctx.NextCheckpoint(); id != x.last {
		x.last = id
		x.d.w.deleteFolder(x.folder(id))
		x.d.w.late = append(x.d.w.late, x.folder(id))
	}
	return x.Writer.Write(b, splits)
}

func (w *world) deleteFolder(dir string) {
	list, err := w.o.client.List(dir)
	if err != nil {
		return
	}
	for _, i := range list {
		_ = w.o.client.Delete(path.Join(dir, i.Name)) // gone already is as good
	}
}
