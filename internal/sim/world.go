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

	"staunch/audit"
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
	Steps, Attempts, Kills, Pauses, Faults, Hard, Lags, Repeats, PowerCuts, Outages, Removed, Compactions, Damages, TakeOvers, Strangers, Backs, Cleanings, Cleaned, Repairs, Repaired,
	Records, Checkpoints, Failed, Files, Restarts, Renamed, Skipped, Lost int
}

// world is one seed's story.
type world struct {
	seed    uint64
	v       Variant
	limits  Limits
	rng     *rand.Rand
	s       *sched
	store   *mem.Store
	b       *broker
	o       *oracle
	running []*run
	procs   map[string]*run
	par     int
	tables  int
	second  bool              // two INSERTs into the first table
	edit    func(*job.Spec)   // of the statement file, before a start
	with    map[string]string // more options of the tables
	success success
	opts    cp.Options
	retain  int
	faults  float64
	hard    bool   // some faults are no outages
	hdfs    bool   // the store is a remote one: leases, and looks that lag
	noise   int    // one of so many calls lets time pass
	calm    bool   // no more faults
	endedIn string // the checkpoint directory whose job ended last
	accept  []string
	trace   io.Writer
	stats   Stats
	err     error
	done    bool

	wentBack bool            // the job was ordered to go back
	order    func(*job.Spec) // that is given with each start

	dir     string // of the checkpoints that the operator goes on with
	twoDirs bool   // the job was started with both
	given   bool   // the job had ended when another one took its tables: it takes them back
	refused int    // ordinary starts refused in a row
	strikes int    // attempts of a variant that ended in a fault of the engine's own

	when    []int // steps of the disturbances
	acts    int
	events  []Event
	outage  time.Time
	repeats []repeat

	placed   []string          // entries of job logs that were put in their places since the last look
	promised map[string]string // files by the completed checkpoint that promises them

	damaged   string // the log entry that is damaged, and what stood there
	undamaged []byte
	mended    int // attempts up to this one may have seen damage

	mends    bool              // what is lost is repaired, now and then
	reports  int               // of losses
	cleaners []*run            // and repairers, that were started
	sweeps   bool              // some attempts have temporary-cleanup = before-write
	own      map[string]string // more options of the tables that Flink does not know

	late []string // folder deletes of the variant delete-before-write, which may be repeated
}

// role says what a start is for.
type role uint8

const (
	ordinary role = iota
	stranger      // with another checkpoint directory by mistake: must be refused
	copied        // under another job's name over the same splits: must be refused
	cleaner       // no start: somebody cleans up
	repairer      // no start: somebody repairs what is lost
)

// run is one attempt: a process with its job.
type run struct {
	n       int
	role    role
	back    bool // it was ordered to go back
	dir     string
	calls   int // before which it asked who goes on
	asked   int // whose fate was drawn
	p       *process
	client  *mem.Client
	store   fs.FS // the client, or what a variant makes of it
	job     *job.Job
	ended   bool
	outcome job.Outcome
	err     error
}

// Limit of steps after which a seed counts as stuck.
const maxSteps = 400_000

// Run plays one seed and returns what the oracle found wrong. trace gets every call, if not nil.
func Run(seed uint64, v Variant, trace io.Writer) (Stats, error) {
	stats, _, err := Play(seed, v, Limits{}, trace)
	return stats, err
}

// Play plays one seed's story, or less of it, and tells what happened.
func Play(seed uint64, v Variant, limits Limits, trace io.Writer) (Stats, []Event, error) {
	w := newWorld(seed, v, trace)
	w.limits = limits
	w.reduce()
	w.wild()
	w.start()
	err := w.play()
	w.end()
	w.count()
	return w.stats, w.events, err
}

// reduce applies the limits to what the seed drew.
func (w *world) reduce() {
	least := func(have *int, most int) {
		if most > 0 {
			*have = min(*have, most)
		}
	}
	least(&w.b.partitions, w.limits.Partitions)
	least(&w.tables, w.limits.Tables)
	least(&w.par, w.limits.Parallelism)
	if n := int64(w.limits.Records); n > 0 {
		w.b.records = min(w.b.records, n)
	}
	if w.limits.Plain {
		w.second, w.success = false, never
	}
	w.o = newOracle(w)
}

// end kills every process.
func (w *world) end() {
	for _, r := range w.running {
		w.tally(r)
		r.p.kill()
	}
	for _, r := range w.cleaners {
		r.p.kill()
	}
}

// tally adds up what a process says of itself.
func (w *world) tally(r *run) {
	st := r.job.Status()
	w.stats.Checkpoints += int(st.Completed)
	w.stats.Failed += int(st.FailedCount)
	w.stats.Restarts += int(st.Restarts)
	w.stats.Files += int(st.FilesVisible)
	w.stats.Renamed += int(st.Counters.Renamed)
	w.stats.Skipped += int(st.Counters.Skipped)
	w.stats.Lost += int(st.Counters.Lost)
}

func (w *world) count() {
	w.stats.Steps = w.s.steps
	w.stats.Records = w.b.partitions * int(w.b.records)
}

func newWorld(seed uint64, v Variant, trace io.Writer) *world {
	rng := rand.New(rand.NewPCG(seed, 0x5741554e4348))
	w := &world{seed: seed, v: v, rng: rng, s: newSched(rng), store: mem.New(), trace: trace, par: 1 + rng.IntN(2), retain: 1 + rng.IntN(2),
		procs: map[string]*run{}, promised: map[string]string{}, dir: jobs, noise: 4}
	w.b = &broker{topic: "t", s: w.s, partitions: 1 + rng.IntN(3), records: int64(50 + rng.IntN(100)), every: time.Duration(50+rng.IntN(150)) * time.Millisecond, began: w.s.now}
	w.tables, w.success = 1+rng.IntN(2), success(rng.IntN(3))
	w.second = rng.IntN(3) == 0
	timeout := 10 * time.Minute
	if rng.IntN(4) == 0 { // some checkpoints are given up and join the next
		timeout = time.Duration(300+rng.IntN(1500)) * time.Millisecond
	}
	w.b.assigned = v.assigned
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
	case w.rng.IntN(w.noise) == 0:
		w.s.sleep(time.Duration(w.rng.IntN(20)) * time.Millisecond)
	default:
		w.s.pass()
	}
	if r := w.procs[client]; r != nil {
		w.call(r, op)
	}
	w.notice(op)
}

// notice looks at a call that changes what readers see.
func (w *world) notice(op mem.Op) {
	l := w.o.of(op.Path)
	if op.Kind == mem.Rename {
		l = w.o.of(op.To)
		if strings.Contains(op.To, "/log/") {
			w.placed = append(w.placed, op.To)
		}
	}
	if l == nil || op.Kind != mem.Rename && op.Kind != mem.Delete && op.Kind != mem.Write && op.Kind != mem.Create {
		return
	}
	if op.Kind == mem.Write && !strings.HasSuffix(op.Path, ".json") {
		return
	}
	w.o.moved = true
	if op.Kind == mem.Rename && !strings.HasPrefix(op.To, l.root+"/_") {
		cur := w.s.cur
		w.s.cur = nil // the oracle's own calls do not wait
		if err := l.renaming(op.To); err != nil {
			w.fail(err)
		}
		w.s.cur = cur
	}
}

func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// errHard is an answer that no waiting heals: the attempt fails and starts again inside its process.
var errHard = errors.New("input/output error")

// stores resolves every path in the process's own handle.
type stores struct{ c fs.FS }

func (s stores) Resolve(uri string) (fs.FS, string, error) { return s.c, uri, nil }

func formats(n string) (format.Factory, bool) { return json.Factory, n == "json" }

// start begins one more attempt, as another process.
func (w *world) start() { w.launch(ordinary, w.dir, w.twoDirs || w.given) }

// launch starts a process.
func (w *world) launch(as role, dir string, takeOver bool) {
	w.stats.Attempts++
	n := w.stats.Attempts
	r := &run{n: n, role: as, dir: dir, p: w.s.process(fmt.Sprintf("p%d", n))}
	r.client = w.store.Client(r.p.name)
	r.store = r.client
	if w.v.store != nil {
		r.store = w.v.store(r.client)
	}
	w.running = append(w.running, r)
	w.procs[r.p.name] = r
	par := w.par
	if d := w.dice(aboutAct, -n, 0); d.n(4) == 0 && !w.limits.Plain { // started again with another parallelism
		par = 1 + d.n(3)
	}
	id := name
	if as == copied {
		id = copyName
	}
	spec := job.Spec{ID: id, File: "/orders.sql", SQL: "INSERT", Plan: "plan", AccountsClose: true, Stores: stores{r.store},
		Graph:  dataflow.Graph{Parallelism: par, Sources: []dataflow.Source{{Name: "t", Describe: "table t", Source: w.b, Schema: schema}}},
		Tables: map[string]job.Table{}, Sources: []string{"t"}, CheckpointStore: r.store, CheckpointDir: dir, Retain: w.retain, Checkpoints: w.opts,
		Restart: &protocol.FixedDelay{Attempts: 1000, Delay: time.Second}, Process: job.Process{Host: "sim", PID: n}, Accept: slices.Clone(w.accept),
		AcceptWho: "oracle", TakeOver: takeOver, Variant: w.v.job}
	for _, l := range w.o.tables {
		sink, err := w.sink(r, l)
		if err != nil {
			w.fail(fmt.Errorf("sink: %w", err))
			return
		}
		var used connector.Sink = sink
		if w.v.wrap != nil {
			used = w.v.wrap(w, l, sink)
		}
		if w.v.rewrites {
			sink = rewriting{sink, r.store, l.root}
		}
		spec.Tables[l.root] = job.Table{Name: path.Base(l.root), Sink: sink}
		spec.Sinks = append(spec.Sinks, l.root)
		insert := func(id string, takes func(kind) bool) {
			table := l.root
			if w.v.twoSinks && id == "2" {
				table += "/"
				spec.Tables[table] = job.Table{Name: path.Base(l.root), Sink: sink}
			}
			spec.Graph.Sources[0].Branches = append(spec.Graph.Sources[0].Branches, dataflow.Branch{Insert: id, Table: table, Sink: used,
				NewOperator: func() (operator.Operator, error) { return newWhere(w.b, takes), nil }})
		}
		if l.second {
			insert("1", func(k kind) bool { return k == row })
			insert("2", func(k kind) bool { return k == filtered })
		} else {
			insert("1", l.takes)
		}
	}
	if w.order != nil && as == ordinary {
		w.order(&spec)
		r.back = !spec.FromTable
		if spec.OnNewerOutput == job.KeepNewer {
			for _, l := range w.o.tables {
				l.repeats++
			}
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
		Options: config.NewValues("table "+path.Base(l.root), options, nil), Staunch: config.NewValues("table "+path.Base(l.root), w.ownOptions(r), nil), Zone: time.UTC, Stores: stores{r.store}, Formats: formats})
	if err != nil {
		return nil, err
	}
	return sink.(connector.FileTable), nil
}

// ownOptions are the table's own options in one attempt: the setting for the roll-out changes between attempts, in either order.
func (w *world) ownOptions(r *run) map[string]string {
	own := maps.Clone(w.own)
	if w.sweeps && w.dice(aboutAct, -r.n, 1).bool() {
		own = map[string]string{"temporary-cleanup": "before-write"}
	}
	return own
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
	quiet := 0
	for !w.done {
		if w.s.steps > maxSteps {
			return find(Stuck, "liveness: no end after %d steps; alive: %d", w.s.steps, len(w.alive()))
		}
		for len(w.when) > 0 && w.s.steps >= w.when[0] {
			w.when = w.when[1:]
			w.act()
		}
		if len(w.when) == 0 {
			if quiet++; quiet == 3000 {
				w.calm = true
				w.repair()
			}
		}
		more, err := w.tick()
		if err != nil {
			return err
		}
		if !more && !w.done {
			if len(w.alive()) > 0 {
				return find(Stuck, "liveness: every activity waits and no time-out is set")
			}
			w.start()
		}
	}
	return w.finish()
}

// tick lets one thing happen and looks at it.
func (w *world) tick() (bool, error) {
	more, err := w.s.step()
	if err != nil {
		err = find(Engine, "%v", err)
	} else if err = w.err; err == nil {
		w.due()
		if err = w.forks(); err == nil {
			err = w.reap()
		}
	}
	if err == nil && (w.o.moved || w.s.steps%2048 == 0) {
		w.o.moved = false
		err = w.o.check(false)
	}
	if err == nil {
		err = w.err
	}
	return more, err
}

// finish waits for those who wake up after the job has ended and lets late requests arrive; then everything must hold.
func (w *world) finish() error {
	w.repair()
	for _, r := range w.alive() {
		r.p.until = w.s.now
	}
	for range 3000 {
		if len(w.alive()) == 0 {
			break
		}
		if more, err := w.tick(); err != nil {
			return err
		} else if !more {
			break
		}
	}
	if dir := w.unended(); dir != "" { // one of them met a start that was ordered to go back
		w.done, w.dir = false, dir
		return w.play()
	}
	for _, x := range w.repeats {
		w.repeat(x.i)
	}
	if n := w.store.LateCount(); n > 0 {
		for range 3 {
			w.repeat(w.rng.IntN(n))
		}
	}
	if err := w.o.complete(); err != nil {
		return err
	}
	if err := w.audited(); err != nil || !w.mends {
		return err
	}
	return w.repairRest()
}

// audited asks the audit, which must agree with the oracle (P11).
func (w *world) audited() error {
	for _, l := range w.o.tables {
		lost := 0
		for f := range w.o.lost {
			if w.o.of(f) == l && w.store.Content(f) == nil && (!w.o.gone[f] || w.o.emptied[f]) { // else it was repaired
				lost++
			}
		}
		rep, err := audit.Table(context.Background(), w.s.process("audit"), w.o.client, l.root, audit.Options{})
		if err != nil {
			return find(Engine, "audit: %v", err)
		}
		ours, losses := false, 0
		bad := rep.Problems
		for _, j := range rep.Jobs {
			if ours = ours || j.Job == name; j.Job == name {
				losses = len(j.Losses)
			}
			bad = append(bad, j.Problems...)
		}
		bad = slices.DeleteFunc(bad, func(p audit.Problem) bool {
			empty := len(w.store.Content(p.Path)) == 0 // see "What it does not show" in docs/design/09-simulation.md
			if empty && p.Kind == audit.FileChanged && w.o.lost[p.Path] {
				losses++ // told as a change of what stands there
				return true
			}
			empty = empty && p.Kind == audit.FileSuperseded
			return p.Path != "" && (w.o.gone[p.Path] || empty)
		})
		if len(bad) > 0 || !ours || losses != lost && !(w.wentBack && losses <= lost) {
			var b strings.Builder
			if err := rep.Text(&b); err != nil {
				return err
			}
			return find(Audited, "P11: the audit says:\n%s\nlost: %v", b.String(), w.o.lost)
		}
	}
	return nil
}

func (w *world) kill(r *run) {
	w.stats.Kills++
	r.client.Kill()
	r.p.kill()
}

var lossID = regexp.MustCompile(`--accept-lost (\S+)`)

// reap looks at attempts that have ended.
func (w *world) reap() error {
	for _, r := range w.running {
		if !r.ended || r.p.dead {
			continue
		}
		r.ended = false
		defer r.p.kill()
		w.tally(r)
		w.running = slices.DeleteFunc(w.running, func(x *run) bool { return x == r })
		if err := w.judge(r); err != nil || w.done {
			return err
		}
		if len(w.alive()) == 0 {
			w.start()
		}
		return nil
	}
	return nil
}

// judge says whether an attempt may end as it did.
func (w *world) judge(r *run) error {
	class := fault.ClassOf(r.err)
	if r.role != ordinary {
		return w.unwanted(r, class)
	}
	if class != fault.User {
		w.refused = 0
	}
	switch {
	case r.err == nil:
		w.endedIn = r.dir
		w.done = !w.reopened(r.dir) && !slices.ContainsFunc(w.alive(), func(x *run) bool { return x.back }) // else it may begin again
		return nil
	case class == fault.Fenced:
		return w.fenced(r)
	case class == fault.Lost:
		return w.reported(r)
	case class == fault.Damage && (w.repair() || r.n <= w.mended):
		return nil
	case class == fault.Damage && w.emptied(r.err):
		return nil
	case class == fault.Damage && strings.Contains(r.err.Error(), "bytes long, but the file that was written for it"):
		return find(FalseDamage, "attempt %d: %v", r.n, r.err)
	case class == fault.User && r.back, class == fault.Damage && r.back: // an order that cannot be carried out
		w.order = nil
		return nil
	case class == fault.User && !w.given && w.over() && !w.reopened(jobs) && !w.reopened(otherJobs) && w.strange() && strings.Contains(r.err.Error(), "with another log"):
		w.given = true
		return nil
	case class == fault.User && w.twoDirs, class == fault.Damage && w.twoDirs && strings.Contains(r.err.Error(), ": its chain "): // the other directory's attempt has gone on
		if w.refused++; w.refused > 6 {
			return find(Stuck, "every start is refused: %v", r.err)
		}
		w.dir = map[string]string{jobs: otherJobs, otherJobs: jobs}[r.dir]
		return nil
	case errors.Is(r.err, errHard), errors.Is(r.err, fs.ErrNoSpace): // before its begin stands a process gives up at the first hard error
		return nil
	case w.hard && r.job.Epoch() == 0 && errors.Is(r.err, fs.ErrRefused): // the same, where the last of its tries happened to be answered "false"
		return nil
	}
	if w.v.Name == Protocol.Name {
		return find(Engine, "attempt %d ended with (%s): %v", r.n, class, r.err)
	}
	// A variant trips over itself: what stands in the store is judged, not that it noticed.
	if w.strikes++; w.strikes < 4 {
		return nil
	}
	if err := w.o.check(true); err != nil {
		return err
	}
	if err := w.audited(); err != nil && findingOf(err) == Audited {
		return err
	}
	return find(Engine, "attempt %d ended with (%s): %v", r.n, class, r.err)
}

// emptied is the operator who moves away what is no file of the job's: somebody had removed the pending one, a create that arrived once more made an
// empty one under its name, and that was renamed. Then the file is lost.
func (w *world) emptied(err error) bool {
	names := slices.Sorted(maps.Keys(w.o.removed))
	for _, p := range append(names, slices.Sorted(maps.Keys(w.o.gone))...) {
		name := strings.TrimSuffix(path.Base(p), ".pending")
		if !strings.Contains(err.Error(), name+" is 0 bytes long, but") {
			continue
		}
		for _, l := range w.o.tables {
			for _, f := range w.store.Files(l.root) {
				if path.Base(f.Path) == name && f.Size == 0 && w.store.Take(f.Path) == nil {
					w.o.gone[f.Path], w.o.emptied[f.Path] = true, true
				}
			}
		}
		return true
	}
	return false
}

// unwanted judges the end of a start that must be refused.
func (w *world) unwanted(r *run, class fault.Class) error {
	if r.err == nil {
		return find(Accepted, "a %s ran to its end", [...]string{"", "start with another checkpoint directory", "copy of the job"}[r.role])
	}
	return nil
}

// reported checks that what an attempt calls lost was taken by the outsider, and accepts it.
func (w *world) reported(r *run) error {
	err := r.err
	var l *lake
	file := ""
	for _, line := range strings.Split(err.Error(), "\n") {
		line = strings.TrimSpace(line)
		if f, ok := strings.CutPrefix(line, "lost: "); ok {
			f, _, _ = strings.Cut(f, " (")
			w.o.lost[f] = true
			l, file = w.o.of(f), f
			if n := w.o.mended[f]; n > 0 && r.n > n { // else it may have looked before
				return find(FalseLost, "P5: %s was called lost, but it was repaired: %v", f, err)
			}
			took := false
			for p := range w.o.removed {
				took = took || strings.TrimSuffix(path.Base(p), ".pending") == path.Base(f)
			}
			if !took || l == nil {
				return find(FalseLost, "P5: %s was called lost, but nobody took it: %v", f, err)
			}
		}
		if m := lostOffsets.FindStringSubmatch(line); m != nil {
			l.excuse(file, m[1], m[2])
		}
	}
	all := lossID.FindAllStringSubmatch(err.Error(), -1)
	if len(all) == 0 {
		return find(WrongReport, "P6: a loss without an id to accept it by: %v", err)
	}
	if w.reports++; !w.mends || w.accepts() {
		for _, m := range all {
			w.accept = append(w.accept, m[1])
		}
	}
	return w.othersFirst()
}

var lostOffsets = regexp.MustCompile(`^t-(\d+) offsets ([\d. ]+)$`)

// excuse takes the offsets that a report names for those of a lost file.
func (l *lake) excuse(file, part, ranges string) {
	p, _ := strconv.Atoi(part)
	for _, r := range strings.Fields(ranges) {
		from, to, many := strings.Cut(r, "..")
		a, _ := strconv.ParseInt(from, 10, 64)
		b := a
		if many {
			b, _ = strconv.ParseInt(to, 10, 64)
		}
		for o := a; o <= b; o++ {
			l.excused[record{p, o}] = file
		}
	}
}
