package drill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
)

// Subject is what is drilled.
type Subject interface {
	// Live runs the job once, from where its former lives in this run left it, until it ends or dies. life counts from 0. An error means that the
	// drill itself cannot go on.
	Live(ctx context.Context, o Orders, life int) (End, error)
}

// Table is one of the tables that the job writes.
type Table struct {
	// Name in the statement file; URI of the user's folder, which is left alone; Ext and Success as in Root.
	Name, URI, Ext, Success string
}

// Drill is what is to be tried.
type Drill struct {
	Subject Subject
	Stores  fs.Resolver
	// Scratch is the URI of a folder that does not exist yet and in which everything happens; Control a local folder that exists.
	Scratch, Control string
	Tables           []Table
	// Job is handed to the Subject with the places of each run filled in.
	Job Job
	// Audit has the tables audited as well.
	Audit bool
	// Faults that are tried, nil for all; Only leaves out steps (nil: none).
	Faults []Fault
	Only   func(Key) bool
	// Until is when no further run is begun, zero for never. Parallel runs at once.
	Until    time.Time
	Parallel int
	// Keep leaves everything in place. Runs that did not hold are always left.
	Keep bool
	// Told hears of each run, in the order of Report.Runs, from one goroutine at a time.
	Told func(*Run)
	// Planned hears of what will be tried.
	Planned func(*Report)
}

// Verdict is what came out of one run.
type Verdict string

// The verdicts.
const (
	// Held: every row is there once, and the audit is clean.
	Held Verdict = "held"
	// Named: what was taken is gone, and the job stopped and named exactly those rows.
	Named Verdict = "loss named"
	// Lost, Doubled, Foreign: rows are missing, there twice, or never were in the source, and the job has ended as if all were well.
	Lost    Verdict = "LOST"
	Doubled Verdict = "DOUBLED"
	Foreign Verdict = "FOREIGN ROWS"
	// Stopped: the job did not get to its end, however often it was started.
	Stopped Verdict = "STOPPED"
	// Audited: the rows are there once, or named as lost, but something else is wrong: the audit finds it, or offsets are not as they must be.
	Audited Verdict = "AUDIT"
	// NotReached: the step did not come, so that nothing was tried, and nothing is wrong.
	NotReached Verdict = "not reached"
	// NotTried: the time was over.
	NotTried Verdict = "not tried"
)

// Bad reports whether a promise was broken.
func (v Verdict) Bad() bool {
	switch v {
	case Held, Named, NotReached, NotTried, "": // "": the drill ended before
		return false
	}
	return true
}

// Run is one run and what came out of it.
type Run struct {
	Step  Key   `json:"step"`
	Fault Fault `json:"fault"`
	// Nth of Of such steps.
	Nth int `json:"nth"`
	Of  int `json:"of"`
	// Restarts are the processes after the first.
	Restarts int `json:"restarts"`
	Sight
	Verdict Verdict       `json:"verdict"`
	Error   string        `json:"error,omitempty"`
	Took    time.Duration `json:"took_ns"`
	// Kept is the folder in which a run that did not hold can be looked at, Log the output of its processes.
	Kept string `json:"kept,omitempty"`
	Log  string `json:"log,omitempty"`

	strikes []Strike
}

// Report is the outcome of a drill.
type Report struct {
	Scratch string `json:"scratch"`
	// Undisturbed is what all runs are held against; Alike says that a second undisturbed run gave the same rows.
	Undisturbed *Sight `json:"undisturbed"`
	Alike       bool   `json:"rows_alike"`
	// Operations of the undisturbed run, and how many kinds of them.
	Operations int `json:"operations"`
	Steps      int `json:"steps"`
	// Notes say what limits the verdict.
	Notes []string      `json:"notes,omitempty"`
	Runs  []*Run        `json:"runs"`
	Took  time.Duration `json:"took_ns"`
}

// Count gives the number of runs by verdict.
func (r *Report) Count() map[Verdict]int {
	n := map[Verdict]int{}
	for _, x := range r.Runs {
		n[x.Verdict]++
	}
	return n
}

// Bad is the number of runs in which a promise was broken.
func (r *Report) Bad() (n int) {
	for _, x := range r.Runs {
		if x.Verdict.Bad() {
			n++
		}
	}
	return n
}

// Tried is the number of runs whose step was reached.
func (r *Report) Tried() (n int) {
	for _, x := range r.Runs {
		if x.Verdict != NotReached && x.Verdict != NotTried && x.Verdict != "" {
			n++
		}
	}
	return n
}

const (
	// mostLives is after how many processes a run is given up; mostFailures how many of them may end with an error.
	mostLives    = 12
	mostFailures = 6
	// lifeLimit is how long one process may take.
	lifeLimit = 3 * time.Minute
)

// Do runs the drill. An error means that it could not be run; what was made is removed then too.
func (d *Drill) Do(ctx context.Context) (rep *Report, err error) {
	began := time.Now()
	rep = &Report{Scratch: d.Scratch, Runs: []*Run{}}
	if err := makeScratch(d.Stores, d.Scratch); err != nil {
		return nil, err
	}
	defer func() {
		rep.Took = time.Since(began)
		switch {
		case d.Keep:
			rep.Notes = append(rep.Notes, d.Scratch+" is left to be looked at, with the folder of each run")
			return
		case rep.Bad() > 0:
			rep.Notes = append(rep.Notes, d.Scratch+" is left to be looked at, with the folders of runs that did not hold")
			return
		}
		err = errors.Join(err, removeTree(d.Stores, d.Scratch))
	}()
	j := &judge{seed: maphash.MakeSeed(), stores: d.Stores, audit: d.Audit}
	if err := d.undisturbed(ctx, j, rep); err != nil {
		return rep, err
	}
	if err := d.plan(ctx, j, rep); err != nil {
		return rep, err
	}
	if d.Planned != nil {
		d.Planned(rep)
	}
	return rep, d.tryAll(ctx, j, rep)
}

// orders are those of run n.
func (d *Drill) orders(n int, strikes ...Strike) Orders {
	return d.ordersAt(fmt.Sprintf("run-%04d", n), strikes...)
}

// ordersAt are those of the run with this name, which no other run has: its folders are its own.
func (d *Drill) ordersAt(at string, strikes ...Strike) Orders {
	o := Orders{Control: filepath.Join(d.Control, at), Guard: d.Scratch, Strikes: strikes, Job: d.Job}
	home := strings.TrimSuffix(d.Scratch, "/") + "/" + at
	o.Places.Checkpoints = home + "/checkpoints"
	o.Job.Tables = map[string]string{}
	for i, t := range d.Tables {
		uri := fmt.Sprintf("%s/table-%d", home, i+1)
		o.Places.Tables = append(o.Places.Tables, Root{URI: uri, Ext: t.Ext, Success: t.Success})
		o.Job.Tables[t.URI] = uri
	}
	return o
}

// undisturbed runs the job twice without a fault, and records the first.
func (d *Drill) undisturbed(ctx context.Context, j *judge, rep *Report) error {
	var sights [2]*Sight
	for n := range sights {
		o := d.orders(n)
		o.Record = n == 0
		out, err := d.lives(ctx, o)
		if err != nil {
			return err
		}
		if !out.end.Finished {
			return fmt.Errorf("the undisturbed job did not get to its end: %s", out.end.Error)
		}
		s, err := j.see(ctx, o.Places)
		if err != nil {
			return err
		}
		if s.Named > 0 {
			return fmt.Errorf("the undisturbed job lost %d rows: %s", s.Named, strings.Join(s.Offsets, "; "))
		}
		if len(s.Problems) > 0 {
			return fmt.Errorf("the undisturbed job's tables are not clean: %s", strings.Join(s.Problems, "; "))
		}
		sights[n] = s
		if err := d.leave(o); err != nil {
			return err
		}
	}
	j.want, j.alike, j.settled = sights[0], same(sights[0], sights[1]), sameOffsets(sights[0].visible, sights[1].visible)
	rep.Undisturbed, rep.Alike = j.want, j.alike
	switch {
	case j.want.Rows == 0:
		return errors.New("the undisturbed job wrote no row: there is nothing that could be lost")
	case !j.alike && sights[0].Rows != sights[1].Rows:
		return fmt.Errorf("two undisturbed runs gave %d and %d rows: runs cannot be held against each other", sights[0].Rows, sights[1].Rows)
	case !j.alike:
		rep.Notes = append(rep.Notes, "two undisturbed runs gave other values (a function such as NOW()?): rows are counted, and offsets held against each other, but values are not compared")
	}
	return nil
}

// recorded reads the operations of a life: how often each step came, and the steps, by weight and then in order of their first coming.
func recorded(o Orders, life int, until func(Key) bool) (steps []Key, count map[Key]int, all int, err error) {
	ops, err := lines[operation](filepath.Join(o.Control, opsFile))
	count = map[Key]int{}
	for _, op := range ops {
		if op.Life != life {
			continue
		}
		if until != nil && until(op.Key) {
			break
		}
		if count[op.Key] == 0 {
			steps = append(steps, op.Key)
		}
		count[op.Key]++
		all++
	}
	slices.SortStableFunc(steps, func(a, b Key) int { return cmp.Compare(weight(a), weight(b)) })
	return steps, count, all, err
}

// afterRestart are the faults that are tried in the process after a kill.
var afterRestart = []Fault{KillAfter, DoneUnanswered, DoneError, LateNextLife, Again}

// plan decides what is tried: each step of the undisturbed run, and each changing step of a process that finds a commit half done.
func (d *Drill) plan(ctx context.Context, j *judge, rep *Report) error {
	steps, count, all, err := recorded(d.orders(0), 0, nil)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return errors.New("the job did nothing on its stores")
	}
	rep.Operations, rep.Steps = all, len(steps)
	add := func(steps []Key, count map[Key]int, faults func(Key) []Fault, before ...Strike) {
		for _, k := range steps {
			for _, f := range faults(k) {
				if d.Faults != nil && !slices.Contains(d.Faults, f) || d.Only != nil && !d.Only(k) {
					continue
				}
				s := Strike{Step: k, Nth: (count[k] + 1) / 2, Fault: f}
				rep.Runs = append(rep.Runs, &Run{Step: k, Fault: f, Nth: s.Nth, Of: count[k], strikes: append(slices.Clone(before), s)})
			}
		}
	}
	add(steps, count, possible)
	seen := map[Key]bool{}
	for n, first := range halfway(steps, count) {
		steps, count, run, err := d.recovery(ctx, j, n, first, count)
		if err != nil {
			return err
		}
		if run.Verdict != Held { // it shows what no list of steps can make good
			rep.Runs = append(rep.Runs, run)
		}
		steps = slices.DeleteFunc(steps, func(k Key) bool { return seen[k] || !k.Op.changes() })
		for _, k := range steps {
			seen[k] = true
		}
		rep.Steps += len(steps)
		add(steps, count, func(k Key) []Fault {
			return slices.DeleteFunc(slices.Clone(possible(k)), func(f Fault) bool { return !slices.Contains(afterRestart, f) })
		}, first)
	}
	return nil
}

// recovery records what a process does that comes after a kill, until it works on. What became of that run's rows is judged as in any other.
func (d *Drill) recovery(ctx context.Context, j *judge, n int, first Strike, of map[Key]int) (steps []Key, count map[Key]int, r *Run, err error) {
	o := d.ordersAt(fmt.Sprintf("restart-%04d", n), first)
	o.Record = true
	r = &Run{Step: first.Step, Fault: first.Fault, Nth: first.Nth, Of: of[first.Step], strikes: []Strike{first}}
	began := time.Now()
	if err := d.tryOnce(ctx, j, o, r); err != nil {
		return nil, nil, nil, err
	}
	r.Took = time.Since(began)
	steps, count, _, err = recorded(o, 1, goesOn)
	return steps, count, r, err
}

// goesOn reports whether a process has come so far that it works on: what is before it is recovery.
func goesOn(k Key) bool {
	return k.Op == OpCreate && k.Place == PlacePending || k.Op == OpAppend && (k.Kind == account.KindComplete || k.Kind == account.KindEnd)
}

// weight puts first what matters most: entries and renames, then other changes, then what makes files, then looks.
func weight(k Key) int {
	switch {
	case k.Op == OpAppend || k.Op == OpRename:
		return 0
	case k.Op.changes():
		return 1
	case k.Op == OpStat || k.Op == OpList || k.Op == OpOpen:
		return 3
	}
	return 2
}

// halfway are kills that leave a commit half done: with a file that is promised and not renamed, and before a certificate.
func halfway(steps []Key, count map[Key]int) (out []Strike) {
	for _, x := range []Strike{{Step: Key{Op: OpRename, Place: PlacePending}, Fault: KillBefore},
		{Step: Key{Op: OpAppend, Place: PlaceJobLog, Kind: account.KindComplete}, Fault: KillAfter}} {
		if slices.Contains(steps, x.Step) {
			x.Nth = (count[x.Step] + 1) / 2
			out = append(out, x)
		}
	}
	return out
}

// tryAll makes the planned runs.
func (d *Drill) tryAll(ctx context.Context, j *judge, rep *Report) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	done := make([]chan struct{}, len(rep.Runs))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for range max(1, d.Parallel) {
		wg.Go(func() {
			for i := range next {
				if err := d.try(ctx, j, i, rep.Runs[i]); err != nil {
					cancel(err)
				}
				close(done[i])
			}
		})
	}
	wg.Go(func() {
		for i, r := range rep.Runs {
			select {
			case <-done[i]:
			case <-ctx.Done():
				return
			}
			if d.Told != nil {
				d.Told(r)
			}
		}
	})
	for i, r := range rep.Runs {
		if ctx.Err() != nil {
			break
		}
		if r.Verdict != "" { // it was made while the others were planned
			close(done[i])
			continue
		}
		if !d.Until.IsZero() && time.Now().After(d.Until) {
			r.Verdict = NotTried
			close(done[i])
			continue
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// try makes one run. Once again, at the first such step, if the chosen one did not come: how often a step comes may differ a little.
func (d *Drill) try(ctx context.Context, j *judge, i int, r *Run) error {
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	for {
		o := d.orders(i+2, r.strikes...)
		if err := d.tryOnce(ctx, j, o, r); err != nil {
			return fmt.Errorf("%s, %s: %w", r.Step, r.Fault, err)
		}
		first := !slices.ContainsFunc(r.strikes, func(s Strike) bool { return s.Nth > 1 })
		if r.Verdict != NotReached || first {
			return nil
		}
		if err := errors.Join(removeTree(d.Stores, o.Places.home()), os.RemoveAll(o.Control)); err != nil { // the next try finds nothing of this one
			return err
		}
		r.strikes = slices.Clone(r.strikes)
		for k := range r.strikes {
			r.strikes[k].Nth = 1
		}
		r.Nth = 1
	}
}

func (d *Drill) tryOnce(ctx context.Context, j *judge, o Orders, r *Run) error {
	out, err := d.lives(ctx, o)
	if err != nil {
		return err
	}
	s, err := j.see(ctx, o.Places)
	if err != nil {
		return err
	}
	r.Sight, r.Restarts, r.Error = *s, out.restarts, ""
	r.Verdict = d.verdict(j, r, out)
	if r.Verdict.Bad() || d.Keep {
		r.Kept, r.Log = o.Places.home(), LogFile(o)
	}
	if r.Verdict.Bad() || r.Verdict == NotReached {
		r.Error = out.end.Error
	}
	if r.Verdict.Bad() {
		return nil
	}
	return d.leave(o)
}

// verdict judges a run: its rows first, then what else is said of it, and whether its steps came only if nothing is wrong.
func (d *Drill) verdict(j *judge, r *Run, out outcome) Verdict {
	reached := out.struck == len(r.strikes)
	stolen := reached && r.Fault.theft()
	named := out.named > 0 && (!d.Audit || r.Named > 0)
	j.rows(&r.Sight)
	if !out.end.Finished {
		r.Lost = 0 // they may be still to come
	} else {
		j.offsets(&r.Sight)
	}
	switch {
	case r.Doubled > 0:
		return Doubled
	case r.Foreign > 0:
		return Foreign
	case !out.end.Finished && named && (!stolen || d.Audit): // nobody took anything away, or it does not go on when it is told to
		return Lost
	case !out.end.Finished && !named:
		return Stopped
	case r.Lost > 0 && !(named && stolen && r.Lost == r.Named && j.exactly(&r.Sight)):
		return Lost
	case r.Lost == 0 && out.end.Finished && out.named > 0:
		r.problem("the job stopped at a loss, but no row is missing")
		return Audited
	case len(r.Problems) > 0:
		return Audited
	case named:
		return Named
	case !reached:
		return NotReached
	}
	return Held
}

// outcome is how the processes of a run ended.
type outcome struct {
	end              End
	restarts, struck int
	// named counts the stops at a lost file that was named.
	named int
}

// acceptID finds what a job that stopped at a lost file asks for.
var acceptID = regexp.MustCompile(`--accept-lost[ =]([0-9]+-[0-9a-f]+)`)

// lives runs a job until it has ended, however often it dies meanwhile, and carries out what is late.
func (d *Drill) lives(ctx context.Context, o Orders) (out outcome, err error) {
	if err := o.write(); err != nil {
		return out, err
	}
	failures := 0
	for life := 0; life < mostLives; life++ {
		out.restarts = life
		one, cancel := context.WithTimeout(ctx, lifeLimit)
		out.end, err = d.Subject.Live(one, o, life)
		over := one.Err() != nil && ctx.Err() == nil
		cancel()
		if over {
			out.end = End{Class: fault.Bug.String(), Error: fmt.Sprintf("it had not ended after %s", lifeLimit)}
			break
		}
		if err != nil {
			return out, err
		}
		if out.end.Finished {
			break
		}
		if out.end.Killed {
			continue
		}
		failures++
		if out.end.Class == fault.Lost.String() {
			out.named++
			id := acceptID.FindStringSubmatch(out.end.Error)
			if id == nil {
				break
			}
			o.Job.Accept = append(slices.Clone(o.Job.Accept), id[1])
			if err := o.write(); err != nil {
				return out, err
			}
		}
		if failures >= mostFailures {
			break
		}
	}
	if err := Settle(o, d.Stores); err != nil {
		return out, err
	}
	out.struck, err = struckSo(o)
	return out, err
}

// leave removes what a run made.
func (d *Drill) leave(o Orders) error {
	if d.Keep {
		return nil
	}
	return removeTree(d.Stores, o.Places.home())
}

// Verdicts in order, for people.
func (r *Report) Verdicts() []Verdict {
	n := r.Count()
	return slices.SortedFunc(maps.Keys(n), func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b))
	})
}
