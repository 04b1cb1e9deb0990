package clean

import (
	"fmt"
	"io"
	"time"

	"staunch/account"
)

// Report says what a run did.
type Report struct {
	Job string `json:"job"`
	// Log is the folder of the job's own log; Attempt and Checkpoint the newest that it knows.
	Log        string               `json:"log"`
	Attempt    account.Epoch        `json:"newest_attempt"`
	Checkpoint account.CheckpointID `json:"newest_checkpoint"`
	OlderThan  time.Duration        `json:"older_than_ns"`
	DryRun     bool                 `json:"dry_run"`
	Places     []*Place             `json:"places"`
}

// Place is a table, or the job's log.
type Place struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Removed are the deletes, carried out or, in a dry run, to be carried out. Failed those that the store refused.
	Removed []Item `json:"removed"`
	Failed  []Item `json:"failed"`
	Bytes   int64  `json:"bytes"`
	Left    []Kept `json:"left"`
	// Notes are for people.
	Notes []string `json:"notes,omitempty"`
}

// Item is one removal.
type Item struct {
	Path     string    `json:"path"`
	Kind     Kind      `json:"kind"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	Error    string    `json:"error,omitempty"`
}

// Kept counts what is left for one reason.
type Kept struct {
	Reason   Reason   `json:"reason"`
	Count    int64    `json:"count"`
	Bytes    int64    `json:"bytes"`
	Examples []string `json:"examples"`
}

// examples is how many names are shown for each reason.
const examples = 3

func (p *Place) left(l Left) {
	var k *Kept
	for i := range p.Left {
		if p.Left[i].Reason == l.Reason {
			k = &p.Left[i]
		}
	}
	if k == nil {
		p.Left = append(p.Left, Kept{Reason: l.Reason})
		k = &p.Left[len(p.Left)-1]
	}
	k.Count++
	k.Bytes += l.Size
	if len(k.Examples) < examples {
		k.Examples = append(k.Examples, l.Path)
	}
}

func (p *Place) removed(x Removal, err error) {
	i := Item{Path: x.Path, Kind: x.Kind, Bytes: x.Size, Modified: x.Modified.UTC()}
	if x.Kind == Folder {
		i.Bytes = 0
	}
	if err != nil {
		i.Error = err.Error()
		p.Failed = append(p.Failed, i)
		return
	}
	p.Removed = append(p.Removed, i)
	p.Bytes += i.Bytes
}

// elsewhere tells of other job logs that have claimed the table.
func (p *Place) elsewhere(s *State) {
	for _, o := range s.Owners {
		if o.Own {
			continue
		}
		how := fmt.Sprintf("its newest attempt is %d", o.Newest)
		if o.Lost {
			how = fmt.Sprintf("it cannot be read here: files of epochs up to %d are left", o.Claimed)
		}
		p.Notes = append(p.Notes, fmt.Sprintf("attempts under another log, %s, have claimed this table; %s", o.Dir, how))
	}
}

// Failures counts deletes that the store refused.
func (r *Report) Failures() (n int) {
	for _, p := range r.Places {
		n += len(p.Failed)
	}
	return n
}

// Text writes the report for people: a line for each removal, then what is left and why.
func (r *Report) Text(w io.Writer) error {
	t := &text{w: w}
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	t.line("job %s: newest attempt %d, newest checkpoint %d (%s)", r.Job, r.Attempt, r.Checkpoint, r.Log)
	for _, p := range r.Places {
		t.line("%s: %s", p.Name, p.Path)
		for _, n := range p.Notes {
			t.line("  note: %s", n)
		}
		for _, i := range p.Removed {
			t.line("  %s %s %s%s", verb, i.Kind, i.Path, i.about())
		}
		for _, i := range p.Failed {
			t.line("  could not remove %s %s: %s", i.Kind, i.Path, i.Error)
		}
		for _, k := range p.Left {
			t.line("  left %d, %s: %s", k.Count, size(k.Bytes), k.Reason)
			for _, e := range k.Examples {
				t.line("       %s", e)
			}
			if more := k.Count - int64(len(k.Examples)); more > 0 {
				t.line("       and %d more", more)
			}
		}
		t.line("  %s %d, %s", verb, len(p.Removed), size(p.Bytes))
	}
	return t.err
}

// about tells size and age of a file.
func (i Item) about() string {
	if i.Kind == Folder {
		return ""
	}
	return fmt.Sprintf(" (%s, of %s)", size(i.Bytes), i.Modified.Format(time.RFC3339))
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

// size is a number of bytes for people.
func size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, u := float64(n)/1000, 0
	for ; v >= 1000 && u < len(units)-1; u++ {
		v /= 1000
	}
	return fmt.Sprintf("%.1f %cB", v, units[u])
}
