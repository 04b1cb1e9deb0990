package drill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"staunch/fs"
)

// How many changing calls pass until a late one is carried out: in the process that made it, in the next one, and a repeated one.
const (
	lateAfter      = 3
	nextLifeAfter  = 5
	repeatedAfter  = 12
	strandedFaults = 0 // of a life that is over: at once
	// A late delete waits for its worst moment: until a file of that name is written anew, else until the end.
	worstMoment = 1 << 30
)

// World is where one process of a job lives: its stores, which misbehave as ordered.
type World struct {
	o     Orders
	life  int
	inner fs.Resolver
	die   func()

	mu     sync.Mutex
	count  map[Key]int
	struck int
	// changes counts the calls that change names; late are the calls that come late in this life.
	changes int
	late    []lateCall
	stores  map[fs.FS]*store
	// staged are the kinds of log entries on their way, by URI.
	staged map[string]string
	ops    *os.File
	err    error
}

// lateCall is a call that the store carries out later, and in the file of such calls also the word that it did.
type lateCall struct {
	ID  int    `json:"id"`
	Op  Op     `json:"op,omitempty"`
	URI string `json:"uri,omitempty"`
	To  string `json:"to,omitempty"`
	// Life and After say when: behind so many changing calls of that life, or at its beginning if that life is past.
	Life  int  `json:"life"`
	After int  `json:"after"`
	Done  bool `json:"done,omitempty"`
}

// operation is one line of a recording.
type operation struct {
	Key
	URI string `json:"uri"`
	To  string `json:"to,omitempty"`
}

// Open begins a life of a run. die ends the process and does not return (in a test it panics).
func Open(o Orders, life int, inner fs.Resolver, die func()) (*World, error) {
	w := &World{o: o, life: life, inner: inner, die: die, count: map[Key]int{}, stores: map[fs.FS]*store{}, staged: map[string]string{}}
	var err error
	if w.struck, err = struckSo(o); err != nil {
		return nil, err
	}
	calls, err := outstanding(o)
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		if c.Life < life {
			c.After = strandedFaults
		}
		w.late = append(w.late, c)
	}
	if o.Record {
		if w.ops, err = os.OpenFile(filepath.Join(o.Control, opsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Close ends the life of a process that was not killed. Its error says that what it left for the others may be incomplete.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ops != nil {
		w.err = errors.Join(w.err, w.ops.Close())
		w.ops = nil
	}
	return w.err
}

// Resolve implements fs.Resolver.
func (w *World) Resolve(uri string) (fs.FS, string, error) {
	f, p, err := w.inner.Resolve(uri)
	if err != nil {
		return nil, "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stores[f]
	if s == nil {
		s = &store{FS: f, w: w}
		w.stores[f] = s
	}
	return s, p, nil
}

// enter counts an operation that is about to happen, carries out what is late until now, and says what is to go wrong with it.
func (w *World) enter(op Op, uri, to, kind string) Fault {
	k := w.o.Places.key(op, uri, kind)
	k.Life = w.life
	if k.Place == PlaceTrace { // it decides nothing, and comes when it comes
		return ""
	}
	w.mu.Lock()
	w.count[k]++
	if w.ops != nil {
		w.note(w.ops, operation{Key: k, URI: uri, To: to})
	}
	if k.Op.changes() {
		w.changes++
	}
	var due, later []lateCall
	for _, c := range w.late {
		if c.After <= w.changes {
			due = append(due, c)
			continue
		}
		if k.Op == OpClose && c.URI == uri {
			c.After = w.changes // with whatever comes next
		}
		later = append(later, c)
	}
	w.late = later
	var f Fault
	if w.struck < len(w.o.Strikes) {
		if s := w.o.Strikes[w.struck]; s.Step == k && s.Nth == w.count[k] {
			f = s.Fault
			w.struck++
			w.append(struckFile, s)
		}
	}
	w.mu.Unlock()
	for _, c := range due {
		w.carryOut(c)
	}
	return f
}

// later has the store carry out a call later: after so many changing calls of the life that is ahead by lives.
func (w *World) later(op Op, uri, to string, lives, after int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if op == OpDelete {
		after = worstMoment
	}
	c := lateCall{ID: os.Getpid()<<20 + w.changes, Op: op, URI: uri, To: to, Life: w.life + lives, After: after}
	w.append(lateFile, c)
	if lives == 0 {
		c.After += w.changes
		w.late = append(w.late, c)
	}
}

func (w *World) carryOut(c lateCall) {
	c.do(w.inner)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.append(lateFile, lateCall{ID: c.ID, Done: true})
}

// do carries out the call. Nobody hears its answer.
func (c lateCall) do(stores fs.Resolver) {
	f, p, err := stores.Resolve(c.URI)
	if err != nil {
		return
	}
	switch c.Op {
	case OpCreate:
		if h, err := f.Create(p); err == nil {
			_ = h.Close() // an empty file is what a late create makes
		}
	case OpRename, OpAppend:
		if _, to, err := stores.Resolve(c.To); err == nil {
			_ = f.Rename(p, to)
		}
	case OpMkdir:
		_ = f.MkdirAll(p)
	case OpDelete:
		_ = f.Delete(p)
	case OpRmdir:
		_ = f.DeleteDir(p)
	}
}

// Settle carries out what is still late when no process of a run is left.
func Settle(o Orders, stores fs.Resolver) error {
	calls, err := outstanding(o)
	for _, c := range calls {
		c.do(stores)
	}
	if rerr := os.Remove(filepath.Join(o.Control, lateFile)); !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// outstanding are the late calls that were not carried out yet.
func outstanding(o Orders) (out []lateCall, err error) {
	all, err := lines[lateCall](filepath.Join(o.Control, lateFile))
	done := map[int]bool{}
	for _, c := range all {
		done[c.ID] = done[c.ID] || c.Done
	}
	for _, c := range all {
		if !done[c.ID] {
			out = append(out, c)
		}
	}
	return out, err
}

// struckSo reports how many strikes of a run have come.
func struckSo(o Orders) (int, error) {
	s, err := lines[Strike](filepath.Join(o.Control, struckFile))
	return len(s), err
}

// append writes a line into a control file. It is there for the next process even if this one is killed at once.
func (w *World) append(name string, v any) {
	f, err := os.OpenFile(filepath.Join(w.o.Control, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.note(f, v)
	w.err = errors.Join(w.err, f.Close())
}

func (w *World) note(f *os.File, v any) {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	w.err = errors.Join(w.err, err)
}

// lines reads a file of JSON lines; a missing one is empty.
func lines[T any](name string) (out []T, err error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, v)
	}
	return out, sc.Err()
}
