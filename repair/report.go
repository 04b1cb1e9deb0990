package repair

import (
	"fmt"
	"io"
	"strings"

	"staunch/account"
)

// State is what became of a lost file.
type State string

// The states.
const (
	// Repaired: a replacement was written and is in the file's place.
	Repaired State = "repaired"
	// Finished: a repair that was begun before was carried on, and its replacement is in the file's place.
	Finished State = "finished"
	// RepairedBefore: somebody else's replacement came to the place first.
	RepairedBefore State = "repaired before"
	// CameBack: the file itself is there again.
	CameBack State = "came back"
	// WouldRepair: a dry run has read all its records, or found a replacement that waits.
	WouldRepair State = "would be repaired"
	// Refused: it cannot be exact, and nothing was changed; Reason says why.
	Refused State = "refused"
	// OutOfChain: a rewind or an amend took it out of the table meanwhile.
	OutOfChain State = "out of the table"
	// Failed: a store or broker did not do its part; Reason says which. Repeating it is safe.
	Failed State = "failed"
)

// Report is what a repair did to one table.
type Report struct {
	Job    string  `json:"job"`
	Table  string  `json:"table"`
	DryRun bool    `json:"dry_run,omitempty"`
	Files  []*File `json:"files"`
	// Waiting: a certificate is not done, so the job stands at the loss, or comes to it.
	Waiting bool `json:"waiting,omitempty"`
}

// File is one lost file.
type File struct {
	Path       string               `json:"path"`
	Partition  string               `json:"partition,omitempty"`
	Checkpoint account.CheckpointID `json:"checkpoint"`
	Insert     string               `json:"insert"`
	Rows       int64                `json:"rows"`
	Offsets    []Offsets            `json:"offsets"`
	// Accepted: the job went on without it by order. Done: its checkpoint is done.
	Accepted bool  `json:"accepted,omitempty"`
	Done     bool  `json:"done"`
	State    State `json:"state"`
	// Entry is the number of the repair entry in the table's log. Length and Sums are the replacement's.
	Entry  int64 `json:"entry,omitempty"`
	Length int64 `json:"length,omitempty"`
	account.Sums
	Staged string `json:"staged,omitempty"`
	// Reason says why it was refused or failed, Hint what to do. Missing are the offsets without which it cannot be exact.
	Reason  string    `json:"reason,omitempty"`
	Hint    string    `json:"hint,omitempty"`
	Missing []Missing `json:"missing,omitempty"`
}

// Offsets are a split's offsets, as text.
type Offsets struct {
	Split string `json:"split"`
	Set   string `json:"offsets"`
}

// Missing are offsets that a file held and that give no row now.
type Missing struct {
	Split string `json:"split"`
	Set   string `json:"offsets"`
	Count int64  `json:"count"`
	Why   string `json:"why"`
}

// ok reports whether the file is back, or nothing has to be done for it.
func (f *File) ok() bool { return f.State != Refused && f.State != Failed }

// Open counts the files that are still lost.
func (r *Report) Open() (n int) {
	for _, f := range r.Files {
		if !f.ok() {
			n++
		}
	}
	return n
}

// Count counts the files in a state.
func (r *Report) Count(s State) (n int) {
	for _, f := range r.Files {
		if f.State == s {
			n++
		}
	}
	return n
}

// maxShown bounds the files that the text shows one by one of each state.
const maxShown = 40

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	t := &text{w: w}
	t.line("repair of table %s, job %s", r.Table, r.Job)
	if len(r.Files) == 0 {
		t.line("  no file is lost: there is nothing to repair")
		return t.err
	}
	rows, back := int64(0), int64(0)
	shown := map[State]int{}
	for _, f := range r.Files {
		rows += f.Rows
		if f.ok() {
			back += f.Rows
		}
		if shown[f.State]++; shown[f.State] <= maxShown {
			t.file(f)
		}
	}
	for _, s := range []State{Repaired, Finished, RepairedBefore, CameBack, WouldRepair, Refused, OutOfChain, Failed} {
		if n := shown[s] - maxShown; n > 0 {
			t.line("  and %d more files: %s", n, s)
		}
	}
	var parts []string
	for _, s := range []State{Repaired, Finished, RepairedBefore, CameBack, WouldRepair, OutOfChain, Refused, Failed} {
		if n := shown[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	t.line("  lost files: %d with %d rows; %s", len(r.Files), rows, strings.Join(parts, ", "))
	switch {
	case r.DryRun:
		t.line("  nothing was changed (--dry-run)")
	case r.Waiting && r.Open() == 0:
		t.line("  the checkpoint is not done yet: start the job again, or let it run, and it goes on from here without --accept-lost")
	}
	return t.err
}

type text struct {
	w   io.Writer
	err error
}

func (t *text) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

func (t *text) file(f *File) {
	note := ""
	if f.Accepted {
		note = ", its loss was accepted"
	}
	t.line("  %s: %s", f.State, f.Path)
	t.line("    lost: checkpoint %d, INSERT %s, %d rows%s", f.Checkpoint, f.Insert, f.Rows, note)
	for _, o := range f.Offsets {
		t.line("          %s offsets %s", o.Split, account.Shorten(o.Set))
	}
	switch {
	case f.Length > 0 && !f.Recorded():
		t.line("    in its place: %d rows, %d bytes, entry %d of the table's log", f.Rows, f.Length, f.Entry)
	case f.Length > 0:
		t.line("    written: %d rows, %d bytes, XXH128 %.12s..., entry %d of the table's log", f.Rows, f.Length, f.XXH128, f.Entry)
	}
	if f.Reason != "" {
		t.line("    why: %s", strings.ReplaceAll(f.Reason, "\n", "\n         "))
	}
	for _, m := range f.Missing {
		t.line("    missing: %s offsets %s (%d): %s", m.Split, account.Shorten(m.Set), m.Count, m.Why)
	}
	if f.Hint != "" {
		t.line("    what to do: %s", f.Hint)
	}
}
