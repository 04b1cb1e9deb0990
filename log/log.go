package log

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"
	"time"

	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
	"staunch/log/protocol"
)

// ErrUnknown: the append was ended while it was not known whether the entry stands.
var ErrUnknown = errors.New("it is not known whether the entry stands")

// Head is the number and kind of an entry.
type Head struct {
	N    int64
	Kind string
}

// Damaged is an entry that was read over.
type Damaged struct {
	// N to To are its numbers: several if they are missing.
	N, To int64
	Err   error
}

// Below says whether an appended entry counts.
type Below = protocol.Verdict

// The answers of Append.Below.
const (
	// Fine: the entry counts.
	Fine = protocol.Fine
	// Fenced: it lies below the log's beginning; the append ends with fault.Fenced.
	Fenced = protocol.Fenced
	// Again: it lies below the log's beginning; it is appended again behind what now stands.
	Again = protocol.Again
)

// BelowBeginning reports whether an entry at which the log may begin stands above own: then own's slot may have been cleaned away before it
// was placed, and it counts for nothing. For Append.Below.
func BelowBeginning(own int64, all []Head) bool {
	return slices.ContainsFunc(all, func(h Head) bool { return h.N > own && protocol.Beginning(h.Kind) })
}

// Append is one entry to be appended.
type Append struct {
	// Kind is lower-case letters and hyphens.
	Kind string
	Body []byte
	// OnTaken is called for each entry found at or behind our number before we go on behind it, in order. An error ends the append; it is
	// returned wrapped. May be nil.
	//
	// REQUIRES: any entry of a newer epoch fences, a *complete* or *segment* too, not its *begin* or *claim* only: that may be cleaned away.
	// [A sleeps behind 2; B claims at 3, its segment is 5, 3 and 4 are removed; late repairs come to lie at 3 and 4; A wakes, goes on behind
	// each, and behind B's segment.]
	OnTaken func(Entry) error
	// Below judges after the listing: own is our number, all are the entries now listed (ascending; ours is among them even if it was
	// cleaned away meanwhile). nil means Fine.
	Below func(own int64, all []Head) Below
}

// Log is one log as one process sees it. It is used by one activity at a time.
type Log struct {
	// Variant takes rules away, for simulations only.
	Variant protocol.Variant
	// OnWait, if set, is told of each wait for a store that does not answer. An error ends the call, wrapped.
	OnWait func(err error) error
	// PastDamage reads over entries that are missing or cannot be read, except those of another version, and appends behind them: for a job that
	// is ordered to go back to a state before them. Damaged is what was read over, with the number of each.
	PastDamage bool
	Damaged    []Damaged

	env      env.Env
	fs       fs.FS
	dir, ext string
	// last is the number of the newest entry that was read, shown or appended.
	last int64
	// kinds has the kind of each entry that was read and still was there at the last listing.
	kinds map[int64]string
	// foreign: entries of other processes were read and may not be durable.
	foreign bool
	// unsure: an append of this process ended unknown; see settle.
	unsure bool
	// rooted: the folders that lead to the log are durable. unrooted are those in which this process made one.
	rooted   bool
	unrooted []string
}

// Open gives the log in the folder dir of store. ext is the extension of its entries: "" or ".staunch". It touches nothing yet.
func Open(e env.Env, store fs.FS, dir, ext string) *Log {
	return &Log{env: e, fs: store, dir: path.Clean(dir), ext: ext, kinds: map[int64]string{}}
}

// Dir is the log's folder.
func (l *Log) Dir() string { return l.dir }

// Last is the number of the newest entry that was read, shown to OnTaken or appended; 0 if there is none.
func (l *Log) Last() int64 { return l.last }

const (
	firstWait = 20 * time.Millisecond
	maxWait   = 5 * time.Second
)

// wait sleeps before the next try (from 1): 20 ms, doubled up to 5 s.
func (l *Log) wait(try int, cause error) error {
	if l.OnWait != nil {
		if err := l.OnWait(cause); err != nil {
			return fmt.Errorf("%w (while waiting for: %w)", err, cause)
		}
	}
	d := firstWait << min(try-1, 10)
	env.Sleep(l.env, min(d, maxWait))
	return nil
}

// Read gives the entries that were neither read nor shown nor appended by this Log before, ascending. A folder that does not exist yet is an
// empty log. With an error come the entries before the one that could not be read; they count as read.
func (l *Log) Read() ([]Entry, error) {
	gaps := 0
	for try := 1; ; try++ {
		entries, gap, err := l.readOnce()
		switch {
		case errors.Is(err, fs.ErrUnavailable):
			if err := l.wait(try, err); err != nil {
				return nil, fmt.Errorf("read log %s: %w", l.dir, err)
			}
		case err == errMoved && try < 100:
			// a cleaner went by: list again
		case gap != nil && gaps == 0:
			gaps++ // the listing of a folder that changes need not be one moment's: look twice
		case gap != nil:
			return nil, gap
		case err != nil && len(entries) == 0:
			return nil, classify(fmt.Errorf("read log %s: %w", l.dir, err))
		default:
			if serr := l.settle(); errors.Is(serr, fs.ErrUnavailable) {
				if err := l.wait(try, serr); err != nil {
					return nil, fmt.Errorf("read log %s: %w", l.dir, err)
				}
				continue
			} else if serr != nil {
				return nil, classify(fmt.Errorf("read log %s: %w", l.dir, serr))
			}
			for _, e := range entries {
				l.seen(e)
			}
			l.foreign = l.foreign || len(entries) > 0
			if err != nil {
				err = classify(fmt.Errorf("read log %s: %w", l.dir, err))
			}
			return entries, err
		}
	}
}

// settle makes what was read durable if an append of this process ended without knowing whether its entry stands: the entry may have been read
// just now, and nobody has synced the folder since. [The folder's sync fails behind a *complete*; the job starts again in the same process,
// finds it, and writes its certificate; power cut: the table is newer than the job's log.] What other processes appended is made durable by
// this one's own next entry, before it acts.
func (l *Log) settle() error {
	if !l.unsure {
		return nil
	}
	if err := l.sync(); err != nil {
		return err
	}
	l.unsure = false
	return nil
}

// Durable makes entries that other processes appended, and this one has read, durable: for whoever acts on one without an entry of its own. Outages
// are waited for.
func (l *Log) Durable() error {
	for try := 1; l.foreign || l.unsure; try++ {
		switch err := l.sync(); {
		case err == nil:
			l.foreign, l.unsure = false, false
		case errors.Is(err, fs.ErrUnavailable):
			if err := l.wait(try, err); err != nil {
				return fmt.Errorf("sync log %s: %w", l.dir, err)
			}
		default:
			return classify(fmt.Errorf("sync log %s: %w", l.dir, err))
		}
	}
	return nil
}

func (l *Log) seen(e Entry) {
	l.last = max(l.last, e.N)
	l.kinds[e.N] = e.Kind
}

// errMoved: an entry went away between listing and reading.
var errMoved = errors.New("the log is being cleaned")

// readOnce lists and reads. gap is the damage that a missing entry would be.
func (l *Log) readOnce() (entries []Entry, gap, err error) {
	listed, err := l.list()
	if err != nil {
		return nil, nil, err
	}
	if greatest(listed) < l.last {
		return nil, l.missing(l.last, l.last), nil
	}
	run, broken := protocol.Run(listed, l.last)
	if l.PastDamage {
		return l.readOver(listed)
	}
	begins := 0 // index behind the newest entry at which the log may begin
	var bad error
	badAt := -1
	for i, n := range run {
		e, err := readEntry(l.fs, l.path(n), n)
		var wrong *badEntry
		switch {
		case err == nil:
		case errors.As(err, &wrong):
			if bad == nil {
				bad, badAt = err, len(entries)
			}
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, errMoved
		default:
			return nil, nil, err
		}
		entries = append(entries, e)
		if protocol.Beginning(e.Kind) {
			begins = i + 1
			bad = nil // what lies below is not needed
		}
	}
	if len(run) > 0 { // INV: see appender.above
		now, err := l.list()
		if err != nil {
			return nil, nil, err
		}
		if greatest(now) > greatest(listed) {
			return nil, nil, errMoved
		}
	}
	if broken && begins == 0 {
		return nil, l.gapBelow(listed, run[0]), nil
	}
	if bad != nil {
		return entries[:badAt], nil, bad
	}
	return entries, nil, nil
}

// readOver is readOnce with PastDamage.
func (l *Log) readOver(listed []int64) (entries []Entry, gap, err error) {
	var damaged []Damaged
	before := l.last
	for _, n := range listed {
		if n <= l.last {
			continue
		}
		if before > 0 && n > before+1 {
			damaged = append(damaged, Damaged{before + 1, n - 1, l.missing(before+1, n-1)})
		}
		before = n
		e, err := readEntry(l.fs, l.path(n), n)
		var wrong *badEntry
		switch {
		case err == nil:
			entries = append(entries, e)
			if protocol.Beginning(e.Kind) {
				damaged = nil // what lies below is not needed
			}
		case errors.As(err, &wrong) && !wrong.version:
			damaged = append(damaged, Damaged{n, n, classify(err)})
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, errMoved
		default:
			return nil, nil, err
		}
	}
	now, err := l.list()
	if err != nil {
		return nil, nil, err
	}
	if greatest(now) > greatest(listed) {
		return nil, nil, errMoved
	}
	l.Damaged = append(l.Damaged, damaged...)
	l.last = max(l.last, greatest(listed)) // so that the next entry comes behind what cannot be read
	l.foreign = true
	return entries, nil, nil
}

// list gives the numbers in the folder, ascending.
func (l *Log) list() ([]int64, error) {
	infos, err := l.fs.List(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, i := range infos {
		n := number(i.Name, l.ext)
		if n == 0 {
			continue
		}
		if i.Dir {
			return nil, &badEntry{path: l.path(n), reason: "a folder of this name is no log entry"}
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return list, nil
}

// greatest is the newest number of an ascending list, or 0.
func greatest(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// gapBelow names what is missing below the run that begins at first.
func (l *Log) gapBelow(listed []int64, first int64) error {
	from := l.last
	for _, n := range listed {
		if n < first {
			from = max(from, n)
		}
	}
	return l.missing(from+1, first-1)
}

func (l *Log) missing(from, to int64) error {
	what := l.path(from) + " is missing"
	if from < to {
		what = l.path(from) + " to " + l.path(to) + " are missing"
	}
	return classify(fmt.Errorf("read log %s: %w", l.dir, &badEntry{path: l.path(from), reason: what}))
}

// Append appends an entry behind the newest one and returns it when it is durable and counts. On the way OnTaken sees what others appended
// meanwhile; what was there before is to be read first (Read).
func (l *Log) Append(a Append) (Entry, error) {
	if !validKind(a.Kind) {
		return Entry{}, fmt.Errorf("append to log %s: %q is no kind of entry", l.dir, a.Kind)
	}
	d := &appender{Log: l, a: a, m: protocol.New(l.Variant, l.last)}
	act := d.m.Start()
	for {
		switch act.Do {
		case protocol.Done:
			d.entry.N = act.N
			l.seen(d.entry)
			if d.left {
				d.drop()
			}
			return d.entry, nil
		case protocol.Fail:
			return Entry{}, d.failed(act)
		}
		act = d.m.On(d.do(act))
	}
}

// Remove deletes entry n, for cleaning (PROTOCOL.md 6). It is no error if it is not there. Outages are waited for.
func (l *Log) Remove(n int64) error {
	for try := 1; ; try++ {
		err := l.fs.Delete(l.path(n))
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			delete(l.kinds, n)
			return nil
		case !errors.Is(err, fs.ErrUnavailable):
			return classify(fmt.Errorf("clean log %s: %w", l.dir, err))
		}
		if err := l.wait(try, err); err != nil {
			return fmt.Errorf("clean log %s: %w", l.dir, err)
		}
	}
}

// appender carries out one append.
type appender struct {
	*Log
	a Append
	m *protocol.Append
	// staged is the newest staged file, entry what it holds, until another of ours is found in the slot. theirs was found there.
	staged string
	file   []byte
	entry  Entry
	theirs Entry
	nonces []string
	// left: the staged file may be there although the entry stands (a linking rename that was interrupted).
	left bool
	// cause is the newest error, for waits.
	cause error
}

// do carries out one action.
func (d *appender) do(act protocol.Action) protocol.Event {
	switch act.Do {
	case protocol.Stage:
		err := d.stage()
		if err == nil {
			failpoint.Hit(failpoint.LogStaged)
		}
		return d.event(err)
	case protocol.Mkdir:
		return d.event(d.mkdir())
	case protocol.Place:
		err := d.place(d.path(act.N))
		if err == nil {
			failpoint.Hit(failpoint.LogPlaced)
		}
		return d.event(err)
	case protocol.LookStage:
		_, err := d.fs.Stat(d.staged)
		return d.event(err)
	case protocol.Look:
		return d.look(act.N)
	case protocol.Taken:
		return d.event(d.show(d.theirs))
	case protocol.Sync:
		return d.event(d.sync())
	case protocol.List:
		return d.judge(act.N)
	case protocol.CatchUp:
		return d.catchUp(act.N)
	case protocol.Drop:
		return d.event(d.fs.Delete(d.staged))
	case protocol.Wait:
		return d.event(d.wait(act.Try, d.cause))
	}
	return protocol.Event{Answer: protocol.Other, Err: protocol.ErrAnswer}
}

// event classifies an answer.
func (d *appender) event(err error) protocol.Event {
	if err != nil {
		d.cause = err
	}
	e := protocol.Event{Err: err}
	var bad *badEntry
	switch {
	case err == nil:
	case errors.As(err, &bad):
		e.Answer = protocol.Exist
	case errors.Is(err, fs.ErrUnavailable):
		e.Answer = protocol.Unavailable
	case errors.Is(err, fs.ErrExist):
		e.Answer = protocol.Exist
	case errors.Is(err, fs.ErrNotExist):
		e.Answer = protocol.NotExist
	default:
		e.Answer = protocol.Other
	}
	return e
}

// stage writes the entry to a new file and reads it back.
func (d *appender) stage() error {
	nonce := env.RandomHex(d.env, 12)
	d.nonces = append(d.nonces, nonce)
	d.staged = path.Join(d.dir, stagedPrefix+nonce)
	var sum string
	d.file, sum = encode(d.a.Kind, nonce, d.a.Body)
	d.entry = Entry{Kind: d.a.Kind, Nonce: nonce, Body: d.a.Body, SHA256: sum}
	f, err := d.fs.Create(d.staged)
	if err != nil {
		return err
	}
	_, err = f.Write(d.file)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	var got []byte
	if err == nil {
		got, err = fs.ReadFile(d.fs, d.staged)
	}
	if err == nil && !bytes.Equal(got, d.file) {
		err = fmt.Errorf("%s: %d bytes were written and others (%d) are read back", d.staged, len(d.file), len(got))
	}
	if err != nil {
		d.drop()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("stage %s: %v", d.staged, err) // says nothing about the folder, which Create has seen
	}
	return err
}

// drop removes the staged file if it can. The file has a unique name and is not needed any more; one that stays is harmless.
func (d *appender) drop() {
	if d.staged != "" {
		_ = d.fs.Delete(d.staged) //nolint:errcheck // see above
	}
}

// mkdir makes the log's folder and notes which folders must be synced for it to last.
func (d *appender) mkdir() error {
	var parents []string
	for dir := d.dir; dir != "/" && dir != "."; dir = path.Dir(dir) {
		_, err := d.fs.Stat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		parents = append(parents, path.Dir(dir))
	}
	d.unrooted = append(d.unrooted, parents...)
	d.rooted = false
	return d.fs.MkdirAll(d.dir)
}

// place moves the staged file to its number. What stands before it is made durable first, since its writer may have died before it did so:
// else a power cut could keep this entry and lose that one, a gap that looks like damage.
func (d *appender) place(to string) error {
	if d.foreign {
		if err := d.fs.SyncDir(d.dir); err != nil {
			return err
		}
		d.foreign = false
	}
	err := d.fs.Rename(d.staged, to)
	if d.Variant.Overwrite && errors.Is(err, fs.ErrExist) {
		if err := d.fs.Delete(to); err != nil {
			return err
		}
		return d.fs.Rename(d.staged, to)
	}
	return err
}

// look reads number n.
func (d *appender) look(n int64) protocol.Event {
	got, err := readEntry(d.fs, d.path(n), n)
	if errors.Is(err, fs.ErrNotExist) {
		return protocol.Event{Slot: protocol.Empty}
	}
	ev := d.event(err)
	switch {
	case err != nil:
		var bad *badEntry
		if errors.As(err, &bad) {
			switch begun, aerr := d.begunAbove(n); {
			case aerr != nil && !errors.As(aerr, &bad):
				return d.event(aerr)
			case begun:
				return protocol.Event{Slot: protocol.Stale}
			}
		}
	case slices.Contains(d.nonces, got.Nonce):
		ev.Slot = protocol.Ours
		d.entry, d.left = got, true
	default:
		ev.Slot = protocol.Theirs
		d.theirs = got
	}
	return ev
}

// begunAbove reports whether the log, as far as it can be read, begins above n, so that n is not needed.
func (d *appender) begunAbove(n int64) (bool, error) {
	_, newer, err := d.above(n)
	return slices.ContainsFunc(newer, func(e Entry) bool { return protocol.Beginning(e.Kind) }), err
}

// show hands another's entry to the caller.
func (d *appender) show(e Entry) error {
	if d.a.OnTaken != nil {
		if err := d.a.OnTaken(e); err != nil {
			return err
		}
	}
	d.seen(e)
	d.foreign = true
	return nil
}

// sync makes the entry's name durable and, once, the folders that lead there: another process may have made them and died. Those that this
// process made, and the log's two next ones, must be synced; further up it may have no right to, and then has not made them.
func (l *Log) sync() error {
	if l.Variant.NoSync {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil || l.rooted {
		return err
	}
	for dir, up := path.Dir(l.dir), 0; ; dir, up = path.Dir(dir), up+1 {
		err := l.fs.SyncDir(dir)
		mine := up < 2 || slices.Contains(l.unrooted, dir)
		if err != nil && (mine || !errors.Is(err, iofs.ErrPermission) && !errors.Is(err, fs.ErrUnsupported)) {
			return err
		}
		if dir == "/" || dir == "." {
			break
		}
	}
	l.rooted, l.unrooted = true, nil
	return nil
}

// above reads the entries listed above own. One that cannot be read is left out below a beginning.
//
// INV: what was read is what was listed, as far as it counts. Between the two an entry may be cleaned away and a late one of a fenced process
// come to lie at its number; then the newer beginning that allowed the cleaning has been listed as well, or stands behind all that were: so
// it is listed again until no greater number has come.
func (d *appender) above(own int64) (listed []int64, entries []Entry, err error) {
	for range 100 {
		if listed, err = d.list(); err != nil {
			return nil, nil, err
		}
		entries = entries[:0]
		var bad error
		for _, n := range listed {
			if n <= own {
				continue
			}
			e, rerr := readEntry(d.fs, d.path(n), n)
			if errors.Is(rerr, fs.ErrNotExist) {
				err = errMoved
				break
			}
			var wrong *badEntry
			if errors.As(rerr, &wrong) {
				bad = rerr
				continue
			}
			if rerr != nil {
				return nil, nil, rerr
			}
			if protocol.Beginning(e.Kind) {
				bad = nil
			}
			entries = append(entries, e)
		}
		if err == nil && (len(entries) > 0 || bad != nil) {
			var now []int64
			if now, err = d.list(); err != nil {
				return nil, nil, err
			}
			if greatest(now) > greatest(listed) {
				err = errMoved
			}
		}
		if err == nil {
			return listed, entries, bad
		}
	}
	return nil, nil, err
}

// judge lists the folder and asks the caller.
func (d *appender) judge(own int64) protocol.Event {
	listed, newer, err := d.above(own)
	if err != nil {
		return d.event(err)
	}
	var heads []Head
	hasOwn, hasLast := false, false
	kinds := map[int64]string{}
	for _, n := range listed {
		hasOwn = hasOwn || n == own
		hasLast = hasLast || n == own-1
		if kind, ok := d.kinds[n]; ok && n < own {
			kinds[n] = kind
			heads = append(heads, Head{n, kind})
		}
	}
	if _, known := d.kinds[own-1]; known && !hasLast && len(newer) == 0 {
		// Only an attempt that appended behind us could have cleaned it away.
		return d.event(&badEntry{path: d.path(own - 1), reason: "it was read and is gone, and nobody appended since: the folder was emptied or replaced"})
	}
	d.Log.kinds = kinds
	heads = append(heads, Head{own, d.a.Kind})
	for _, e := range newer {
		heads = append(heads, Head{e.N, e.Kind})
	}
	ev := protocol.Event{}
	if d.a.Below != nil {
		ev.Verdict = d.a.Below(own, heads)
	}
	if ev.Verdict == Fine && !hasOwn {
		return d.event(&badEntry{path: d.path(own), reason: "it was placed and is gone, though it counts"})
	}
	return ev
}

// catchUp shows everything above own to the caller, before the entry is appended again.
func (d *appender) catchUp(own int64) protocol.Event {
	_, newer, err := d.above(own)
	if err != nil {
		return d.event(err)
	}
	for _, e := range newer {
		if e.N <= d.last {
			continue // shown before an outage
		}
		if err := d.show(e); err != nil {
			return protocol.Event{Answer: protocol.Other, Err: err}
		}
	}
	return protocol.Event{N: max(own, d.last)}
}

// failed makes the error of an append that ended.
func (d *appender) failed(act protocol.Action) error {
	err := act.Err
	if errors.Is(err, protocol.ErrTakenAndEmpty) || errors.Is(err, protocol.ErrStale) {
		err = &badEntry{path: d.path(act.N), reason: err.Error()}
	} else if errors.Is(err, protocol.ErrVanished) {
		err = &badEntry{path: d.dir, reason: err.Error(), hint: "bring the folder back from a copy"}
	}
	if act.Unknown {
		d.foreign, d.unsure = true, true
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	} else {
		d.drop()
	}
	err = fmt.Errorf("append %s to log %s at %d: %w", d.a.Kind, d.dir, act.N, err)
	if errors.Is(err, protocol.ErrFenced) {
		return fault.New(fault.Fenced, "%w", err)
	}
	return classify(err)
}
