package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/clean"
	"staunch/fs"
	"staunch/fs/mem"
)

// A seed's story is a list of disturbances. Each has a key that does not depend on the others, so that a story can be told again without some
// of them: that is how a failing seed shrinks.

// dice is chance that depends on the seed and on what it is asked about only, not on what was drawn before.
type dice uint64

// The subjects of dice.
const (
	aboutCall = iota + 1
	aboutFault
	aboutAct
	aboutWorld
	aboutRepair
)

func (w *world) dice(about, a, b int) *dice {
	d := dice(w.seed*0x9e3779b97f4a7c15 ^ uint64(about)<<56 ^ uint64(a)<<32 ^ uint64(b))
	d.next()
	return &d
}

// next is splitmix64.
func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n draws one of 0..k-1.
func (d *dice) n(k int) int { return int(d.next() >> 11 % uint64(k)) }

// p says yes with probability x.
func (d *dice) p(x float64) bool { return float64(d.next()>>11)/(1<<53) < x }

func (d *dice) bool() bool { return d.next()>>40&1 == 1 }

// Event is a disturbance that happened.
type Event struct {
	Key  string
	At   time.Time
	What string
}

// happens records a disturbance, unless this telling leaves it out.
func (w *world) happens(key, format string, args ...any) bool {
	if w.limits.Keep != nil && !w.limits.Keep[key] {
		return false
	}
	w.events = append(w.events, Event{key, w.s.now, fmt.Sprintf(format, args...)})
	return true
}

// Limits make a story smaller. The zero value changes nothing.
type Limits struct {
	// Keep has the keys of the only disturbances that may happen; nil means all.
	Keep map[string]bool
	// Records a partition, Partitions, Tables and Parallelism bound what the seed drew, if not 0.
	Records, Partitions, Tables, Parallelism int
	// Plain: one INSERT, no success files, nothing changes between attempts.
	Plain bool
}

// wild adds the disturbances of a seed's own story to a world.
func (w *world) wild() {
	d := w.dice(aboutWorld, 0, 0)
	w.hdfs = d.bool()
	w.store.Leases = w.hdfs
	if n := w.b.partitions; n > 1 && d.p(0.4) { // partitions are added while the job runs
		w.b.interval = time.Second
		w.b.appear = make([]time.Duration, n)
		for p := 1; p < n; p++ {
			w.b.appear[p] = time.Duration(d.n(4000)) * time.Millisecond
		}
	}
	for range 1 + d.n(6) {
		w.when = append(w.when, 100+d.n(2200))
	}
	slices.Sort(w.when)
	w.noise = []int{4, 4, 12}[d.n(3)]
	w.sweeps = d.p(0.3)
	w.mends = w.dice(aboutRepair, 0, 0).p(0.25)
}

// act is one disturbance.
type act struct {
	weight int
	do     func(w *world, d *dice, key string)
}

var acts = []act{
	{7, (*world).actKill},
	{3, (*world).actTwice},
	{5, (*world).actPause},
	{4, (*world).actLate},
	{3, (*world).actRemove},
	{3, (*world).actPowerCut},
	{2, (*world).actOutage},
	{3, (*world).actCompact},
	{2, (*world).actShortCopy},
	{4, (*world).actBack},
	{1, (*world).actFromTable},
	{2, (*world).actOtherDir},
	{1, (*world).actStranger},
	{1, (*world).actCopy},
	{2, (*world).actDamage},
	{4, (*world).actClean},
}

// act lets the next disturbance of the list happen.
func (w *world) act() {
	w.acts++
	d := w.dice(aboutAct, w.acts, 0)
	sum := 0
	for _, a := range acts {
		sum += a.weight
	}
	k := d.n(sum)
	for _, a := range acts {
		if k -= a.weight; k < 0 {
			a.do(w, d, fmt.Sprintf("act%d", w.acts))
			break
		}
	}
	if w.mends {
		w.loseMore()
	}
}

func (w *world) pick(d *dice) *run {
	alive := w.alive()
	if len(alive) == 0 {
		return nil
	}
	return alive[d.n(len(alive))]
}

func (w *world) actKill(d *dice, key string) {
	if r := w.pick(d); r != nil && w.happens(key, "%s is killed", r.p.name) {
		w.kill(r)
		w.start()
	}
}

// actTwice starts the job while it runs.
func (w *world) actTwice(d *dice, key string) {
	if len(w.alive()) < 3 && w.happens(key, "the job is started once more") {
		w.start()
	}
}

// actPause lets a process stand still, perhaps under another attempt.
func (w *world) actPause(d *dice, key string) {
	r := w.pick(d)
	span := time.Duration(1+d.n(120)) * time.Second
	if r != nil && w.happens(key, "%s stands still for %s", r.p.name, span) {
		w.stats.Pauses++
		r.p.until = w.s.now.Add(span)
		if d.p(0.6) {
			w.start()
		}
	}
}

// actLate carries old requests out again.
func (w *world) actLate(d *dice, key string) {
	if w.store.LateCount() > 0 && w.happens(key, "old requests are carried out again") {
		for range 1 + d.n(4) {
			w.repeat(d.n(w.store.LateCount()))
		}
	}
	if len(w.late) > 0 {
		w.deleteFolder(w.late[d.n(len(w.late))])
	}
}

// repeat carries out a request once more. Its answer reaches nobody.
func (w *world) repeat(i int) {
	if i < w.store.LateCount() && w.store.LateCall(i).Client != "oracle" {
		w.stats.Repeats++
		w.o.moved = true
		_ = w.store.Repeat(i)
	}
}

// actRemove is the outsider: it takes one pending file away.
func (w *world) actRemove(d *dice, key string) {
	var pending []string
	for _, l := range w.o.tables {
		for _, f := range w.store.Files(l.root + "/_DUMP_TEMPORARY") {
			if strings.HasSuffix(f.Path, ".pending") {
				pending = append(pending, f.Path)
			}
		}
	}
	if len(pending) == 0 {
		return
	}
	p := pending[d.n(len(pending))]
	if w.happens(key, "somebody removes %s", p) && w.store.Take(p) == nil {
		w.stats.Removed++
		w.o.removed[p] = true
	}
}

func (w *world) actPowerCut(d *dice, key string) {
	if !w.happens(key, "power cut") {
		return
	}
	for _, r := range w.alive() {
		w.kill(r)
	}
	for _, r := range w.cleaners {
		w.kill(r)
	}
	w.stats.PowerCuts++
	w.store.PowerCut(d.bool)
	w.repeats = nil
	w.o.reopen(w)
	if err := w.o.check(true); err != nil {
		w.fail(fmt.Errorf("after a power cut: %w", err))
	}
	if d.p(0.2) {
		w.actBack(d, key+"b")
	}
	if len(w.alive()) == 0 {
		w.start()
	}
}

// actOutage: the store answers nobody for a while.
func (w *world) actOutage(d *dice, key string) {
	span := time.Duration(1+d.n(20)) * time.Second
	if d.p(0.1) {
		span = 90 * time.Second // longer than a writer waits
	}
	if w.happens(key, "the store does not answer for %s", span) {
		w.stats.Outages++
		w.outage = w.s.now.Add(span)
	}
}

// actCompact is another program, which replaces files of a finished checkpoint by one of its own, or a rule that removes old files. A file that a
// power cut has left in both places stays out of it: see "What it does not show" in docs/design/09-simulation.md.
func (w *world) actCompact(d *dice, key string) {
	l := w.o.tables[d.n(len(w.o.tables))]
	byFolder := map[string][]string{}
	var folders []string
	for _, c := range w.certificates(l) {
		if c.done == nil {
			continue
		}
		for i, f := range c.Files {
			if i < len(c.done.Verdicts) && c.done.Verdicts[i] != account.Lost && w.store.Content(f.Final) != nil && w.store.Content(f.Pending) == nil && !w.o.gone[f.Final] && !w.o.foreign[f.Final] {
				dir := path.Dir(f.Final)
				if byFolder[dir] == nil {
					folders = append(folders, dir)
				}
				byFolder[dir] = append(byFolder[dir], f.Final)
			}
		}
	}
	if len(folders) == 0 || w.wentBack || !w.happens(key, "another program compacts %d folders of %s", len(folders), l.root) {
		return
	}
	w.stats.Compactions++
	for _, dir := range folders {
		var all []byte
		for _, f := range byFolder[dir] {
			all = append(all, w.store.Content(f)...)
			w.o.gone[f] = true
			if err := w.store.Take(f); err != nil {
				w.fail(err)
			}
		}
		to := fmt.Sprintf("%s/compacted-%s.json", dir, key)
		w.o.gone[to] = true // no file of the job's
		l.certified[to] = true
		if err := w.store.Put(to, all); err != nil {
			w.fail(err)
		}
	}
	w.o.moved = true
}

// actShortCopy: somebody copies a promised file to its place by hand and does not get far.
func (w *world) actShortCopy(d *dice, key string) {
	l := w.o.tables[d.n(len(w.o.tables))]
	certs := w.certificates(l)
	if len(certs) == 0 || certs[len(certs)-1].done != nil {
		return
	}
	var open []account.File
	for _, f := range certs[len(certs)-1].Files {
		if w.store.Content(f.Final) == nil && len(w.store.Content(f.Pending)) > 1 {
			open = append(open, f)
		}
	}
	if len(open) == 0 {
		return
	}
	f := open[d.n(len(open))]
	if !w.happens(key, "somebody copies half of %s to its place", f.Pending) {
		return
	}
	_ = w.o.client.MkdirAll(path.Dir(f.Final)) // if it cannot be made, nothing is copied
	data := w.store.Content(f.Pending)
	if w.store.Put(f.Final, data[:len(data)/2]) == nil {
		w.stats.Damages++
		w.o.foreign[f.Final] = true
	}
}

// actOtherDir: the job is started with another checkpoint directory and told to take over.
func (w *world) actOtherDir(d *dice, key string) {
	if w.twoDirs || len(w.alive()) >= 3 || !w.happens(key, "the job is started with another checkpoint directory and --take-over") {
		return
	}
	w.twoDirs = true
	w.stats.TakeOvers++
	w.launch(ordinary, otherJobs, true)
}

// actStranger: the job is started with another checkpoint directory, by mistake. It must be refused while the job has not ended.
func (w *world) actStranger(d *dice, key string) {
	if !w.claimed() || !w.happens(key, "the job is started with another checkpoint directory") {
		return
	}
	w.stats.Strangers++
	w.launch(stranger, strangeJobs, false)
}

// actCopy: a copy of the statement file runs as a job of its own over the same topic and table. It must be refused.
func (w *world) actCopy(d *dice, key string) {
	covered := false
	for _, l := range w.o.tables {
		for _, c := range w.certificates(l) {
			covered = covered || c.done != nil && len(c.Ranges) > 0
		}
	}
	if !covered || w.wentBack || !w.happens(key, "a copy of the job is started") {
		return
	}
	w.stats.Strangers++
	w.launch(copied, w.dir, false)
}

// actDamage: the newest completed checkpoint cannot be read until somebody puts it back from a copy.
func (w *world) actDamage(d *dice, key string) {
	if w.damaged != "" {
		return
	}
	var newest string
	for _, e := range w.entries(w.dir + "/" + name + "/log") {
		if e.Kind == account.KindComplete {
			newest = fmt.Sprintf("%s/%s/log/%d", w.dir, name, e.N)
		}
	}
	if newest == "" || !w.happens(key, "%s is damaged", newest) {
		return
	}
	w.stats.Damages++
	data := w.store.Content(newest)
	w.damaged, w.undamaged = newest, slices.Clone(data)
	if d.bool() {
		data = data[:len(data)/2]
	} else {
		data[len(data)/2] ^= 0x20
	}
	if err := w.store.Put(newest, data); err != nil {
		w.fail(err)
	}
	if r := w.pick(d); r != nil && d.bool() {
		w.kill(r)
		w.start()
	}
}

// repair puts back what was damaged.
func (w *world) repair() bool {
	did := false
	for f := range w.o.foreign {
		if w.store.Content(f) != nil {
			_ = w.store.Take(f)
			did = true
		}
	}
	clear(w.o.foreign)
	if w.damaged != "" {
		if w.store.Content(w.damaged) != nil { // or it was cleaned away
			if err := w.store.Put(w.damaged, w.undamaged); err != nil {
				w.fail(err)
			}
		}
		w.damaged, did = "", true
	}
	if did {
		w.mended = w.stats.Attempts
	}
	return did
}

// call is a disturbance at one call of a process: killed there, or overtaken by another start.
func (w *world) call(r *run, op mem.Op) {
	r.calls++
	if w.calm || w.stats.Attempts >= 10 {
		return
	}
	d := w.dice(aboutCall, r.n, r.calls)
	key := fmt.Sprintf("%s.%d", r.p.name, r.calls)
	staged := op.Kind == mem.Rename && strings.Contains(op.Path, "/staged-")
	final := op.Kind == mem.Rename && !staged
	if r.role == repairer {
		w.callRepairer(r, op, d, key)
		return
	}
	switch {
	case d.p(0.0008):
		if w.happens(key, "%s is killed in the middle of: %s", r.p.name, op) {
			if i := w.store.LateCount(); op.Kind.Names() && d.bool() { // the request is on its way already
				w.repeats = append(w.repeats, repeat{w.s.now, i})
			}
			w.kill(r)
			w.start()
		}
	case staged && r.back && len(w.o.tables) > 1 && strings.HasPrefix(op.Path, w.o.tables[1].root+"/") && d.p(1./4) && len(w.alive()) < 3:
		// One table is claimed and the other not yet; meanwhile the job may go on by another log, and end.
		if span := time.Duration(5+d.n(90)) * time.Second; w.happens(key, "%s stands still for %s, before: %s", r.p.name, span, op) {
			w.stats.Pauses++
			w.actFromTable(d, key+"o")
			r.p.until = w.s.now.Add(span)
			w.s.pass()
		}
	case staged && d.p(1./60) && len(w.alive()) < 3:
		// The process stands still with an entry in its hand, while another one goes on, completes and cleans.
		span, other := time.Duration(1+d.n(15))*time.Second, d.p(0.7)
		if w.happens(key, "%s stands still for %s (the job is started again: %v), before: %s", r.p.name, span, other, op) {
			w.stats.Pauses++
			if other {
				w.start()
			}
			r.p.until = w.s.now.Add(span)
			w.s.pass()
		}
	case final && d.p(1./60) && len(w.alive()) < 3: // another attempt commits the same checkpoint
		if w.happens(key, "the job is started again before %s does: %s", r.p.name, op) {
			if before := w.stats.Backs; d.p(0.3) {
				if w.actBack(d, key+"b"); w.stats.Backs == before {
					w.start()
				}
			} else {
				w.start()
			}
			w.s.sleep(time.Duration(d.n([]int{3000, 3000, 60_000}[d.n(3)])) * time.Millisecond)
			if d.p(0.2) {
				w.actCompact(d, key+"c")
			}
		}
	case final && d.p(1./80): // in the middle of a commit
		if w.happens(key, "leftovers are cleaned up before %s does: %s", r.p.name, op) {
			w.clean(w.dir, clean.Options{})
			w.s.sleep(time.Duration(d.n(1000)) * time.Millisecond)
		}
	case r.dir == otherJobs && op.Kind == mem.Close && strings.HasSuffix(op.Path, ".pending") && d.p(1./8):
		// by the log of the directory before, in which such an epoch is long over
		if w.happens(key, "leftovers are cleaned up by the other directory's log while %s writes", r.p.name) {
			w.clean(jobs, clean.Options{})
			w.s.sleep(time.Duration(d.n(4000)) * time.Millisecond)
		}
	case r.role == cleaner && (d.p(1./40) || op.Kind == mem.List && strings.HasSuffix(op.Path, "/_DUMP_TEMPORARY") && d.p(1./5)): // the job goes on under it
		if span := time.Duration(1+d.n(15)) * time.Second; w.happens(key, "%s stands still for %s, before: %s", r.p.name, span, op) {
			w.actOtherDir(d, key+"o")
			r.p.until = w.s.now.Add(span)
			w.s.pass()
		}
	}
}

// repeat is a request that will be carried out (again).
type repeat struct {
	at time.Time
	i  int
}

// due carries out what was on its way.
func (w *world) due() {
	for i := 0; i < len(w.repeats); i++ {
		if x := w.repeats[i]; !x.at.After(w.s.now) {
			w.repeats = slices.Delete(w.repeats, i, i+1)
			i--
			w.repeat(x.i)
		}
	}
}

// lags says whether what a call looks at may be some time old: the answer of a standby that follows. Logs are read from the active only
// (PROTOCOL.md 1 and 5 need that); the state of a data file may be younger than a second look waits (SecondLook), and a folder's listing is
// never a reason to call something lost.
func lags(op mem.Op) bool {
	return (op.Kind == mem.Stat || op.Kind == mem.List) && !strings.Contains(op.Path, "/_staunch") && !strings.HasSuffix(op.Path, "/log") &&
		!strings.Contains(op.Path, "/log/")
}

// maxLag is how old such an answer may be.
const maxLag = 2 * time.Second

func (w *world) fault(client string, op mem.Op) mem.Effect {
	r := w.procs[client]
	if w.calm || r == nil {
		return mem.Effect{}
	}
	r.asked++
	d := w.dice(aboutFault, r.n, r.asked)
	if w.outage.After(w.s.now) {
		return mem.Effect{Kind: mem.Fail}
	}
	if w.hdfs && lags(op) && d.p(0.2) && (w.limits.Keep == nil || w.limits.Keep["lag"]) {
		w.stats.Lags++
		return mem.Effect{Lag: time.Duration(d.n(int(maxLag)))}
	}
	rate := w.faults
	if op.Kind == mem.Rename {
		rate *= 8
	}
	if !d.p(rate) {
		if op.Kind == mem.Delete && d.p(0.15) && w.happens(fmt.Sprintf("%s?%d", r.p.name, r.asked), "%s is carried out twice: %s", r.p.name, op) {
			w.again(d)
		}
		return mem.Effect{}
	}
	eff := w.effect(d, op)
	what := [...]string{"", "fails", "is done and its answer lost", "is refused", "is done and refused"}[eff.Kind]
	if !w.happens(fmt.Sprintf("%s!%d", r.p.name, r.asked), "%s %s: %s", r.p.name, what, op) {
		return mem.Effect{}
	}
	w.stats.Faults++
	if eff.Err != nil {
		w.stats.Hard++
	}
	if op.Kind.Names() && d.bool() {
		w.again(d)
	}
	return eff
}

// again lets the request that is being made arrive once more, seconds or minutes later.
func (w *world) again(d *dice) {
	w.repeats = append(w.repeats, repeat{w.s.now.Add(time.Duration(d.n([]int{800, 5000, 180_000}[d.n(3)])) * time.Millisecond), w.store.LateCount()})
}

func (w *world) effect(d *dice, op mem.Op) mem.Effect {
	if w.hard && d.n(4) == 0 {
		return mem.Effect{Kind: []mem.EffectKind{mem.Fail, mem.Lost}[d.n(2)], Err: []error{fs.ErrNoSpace, errHard}[d.n(2)]}
	}
	if op.Kind == mem.Rename && d.n(3) == 0 {
		return mem.Effect{Kind: []mem.EffectKind{mem.Refuse, mem.DoneRefuse}[d.n(2)]}
	}
	return mem.Effect{Kind: []mem.EffectKind{mem.Fail, mem.Lost}[d.n(2)]}
}
