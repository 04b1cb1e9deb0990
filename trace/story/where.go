package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"staunch/account"
	"staunch/commit"
	"staunch/fs"
)

// Whereabouts is what became of a record in one table.
type Whereabouts struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	Record
	// State is a file's state, or one of: filtered, rejected, null, gap, skipped, "not in a file", "not consumed", "before the start", "unknown".
	State string `json:"state"`
	// File holds it, if one does; Twice more that do.
	File  *File  `json:"file,omitempty"`
	Twice []File `json:"twice,omitempty"`
	// Range of the checkpoint that consumed it.
	Range      *account.Range       `json:"range,omitempty"`
	Checkpoint account.CheckpointID `json:"checkpoint,omitempty"`
	Text       string               `json:"text"`

	// unheard: the table's log does not know the split.
	unheard bool
}

// where looks for a record while a table's log goes by.
type where struct {
	tb     Table
	want   *Record
	found  []File
	ranges []account.Range
	ids    []account.CheckpointID
	// first and next bound what was consumed of the split, -1 if nothing was.
	first, next int64
	// splits are some that the log names.
	splits map[string]bool
}

// maxSplits bounds how many splits are named where the one that was asked for is not known.
const maxSplits = 8

func newWhere(tb Table, r *Record) *where {
	return &where{tb: tb, want: r, first: -1, next: -1, splits: map[string]bool{}}
}

func (w *where) certificate(c *commit.Recorded) {
	if w.want == nil || c.Superseded > 0 {
		return
	}
	for _, r := range c.Ranges {
		if r.Split != w.want.Split {
			if len(w.splits) < maxSplits {
				w.splits[r.Split] = true
			}
			continue
		}
		if w.first < 0 || r.From < w.first {
			w.first = r.From
		}
		w.next = max(w.next, r.To)
		if r.From <= w.want.Offset && w.want.Offset < r.To {
			w.ranges, w.ids = append(w.ranges, r), append(w.ids, c.Checkpoint)
		}
	}
}

func (w *where) files(list []File) {
	if w.want != nil {
		w.found = append(w.found, list...)
	}
}

// answer puts together what was seen.
func (w *where) answer() Whereabouts {
	out := Whereabouts{Job: w.tb.Job, Table: fs.URI(w.tb.Store, w.tb.Root), Record: *w.want}
	if len(w.ranges) > 0 {
		out.Range, out.Checkpoint = &w.ranges[0], w.ids[0]
	}
	var live, amended []File
	for _, f := range w.found {
		switch f.State {
		case Superseded:
		case Amended:
			amended = append(amended, f)
		default:
			live = append(live, f)
		}
	}
	switch {
	case len(live) > 0:
		f := live[0]
		out.File, out.Twice, out.State, out.Checkpoint = &f, live[1:], string(f.State), f.Checkpoint
		out.Text = fileText(&f)
		if len(live) > 1 {
			out.Text += fmt.Sprintf("; and %d more files hold it", len(live)-1)
		}
	case len(amended) > 0:
		f := amended[0]
		out.File, out.State, out.Checkpoint, out.Text = &f, string(Amended), f.Checkpoint, fileText(&f)
	case len(w.ranges) > 0:
		out.State, out.Text = taken(w.ranges[0])
	case len(w.found) > 0:
		f := w.found[0]
		out.File, out.State = &f, string(Superseded)
		out.Text = "its file was taken out of the table by a rewind, and it was not read again yet"
	case w.first < 0:
		out.State, out.Text, out.unheard = "unknown", "the table's log names no offset of "+w.want.Split, true
		if len(w.splits) > 0 {
			out.Text += "; it names those of " + strings.Join(slices.Sorted(maps.Keys(w.splits)), ", ") + " (as --record has it, topic:partition:offset: a generator's topic is datagen)"
		}
	case w.want.Offset >= w.next:
		out.State, out.Text = "not consumed", fmt.Sprintf("the newest checkpoint ends at offset %d of %s: the record comes with a later one, if the job goes on and the topic still has it then", w.next, w.want.Split)
	case w.want.Offset < w.first:
		out.State, out.Text = "before the start", fmt.Sprintf("the job began at offset %d of %s", w.first, w.want.Split)
	default:
		out.State, out.Text = "unknown", "no checkpoint's range covers it: run staunch audit"
	}
	return out
}

func fileText(f *File) string {
	switch f.State {
	case Visible:
		return "it is in " + f.place()
	case Repaired:
		return "its file was lost and written again: " + f.place()
	case Pending:
		return "it is in a file that is on its way: " + f.Pending
	case Lost:
		return "its file is lost: " + f.Final
	case Gone:
		return "its file was visible and is gone: " + f.Final
	case Amended:
		text := fmt.Sprintf("its file was taken out of the table on purpose, %s: %s", f.Amend, f.Final)
		switch n := len(f.Amend.Added); {
		case f.Amend.blind:
			return text + fmt.Sprintf("; its row may be in one of the %d files that were put there for it, whose records are not known", n)
		case n > 0:
			return text + fmt.Sprintf("; none of the %d files that were put there for it has its row", n)
		}
		return text
	}
	return "it is in " + f.Final + ", which the store does not tell of now"
}

// taken says what took a record that was consumed and is in no file.
func taken(r account.Range) (state, text string) {
	kinds := []struct {
		n           int64
		state, text string
	}{{r.Filtered, "filtered", "did not satisfy WHERE, or was dropped by the plan"}, {r.Rejected, "rejected", "did not parse and were skipped by order"},
		{r.Null, "null", "had no value"}, {r.Gaps, "gap", "never held a record for this reader (transaction markers, aborted transactions, compaction)"},
		{r.Skipped, "skipped", "were given up by order of auto.offset.reset"}}
	var is []string
	for _, k := range kinds {
		if k.n > 0 {
			state = k.state
			is = append(is, fmt.Sprintf("%d %s", k.n, k.text))
		}
	}
	span := fmt.Sprintf("it was consumed and is in no file. Of the offsets %d to %d of its checkpoint, ", r.From, r.To-1)
	switch len(is) {
	case 0:
		return "not in a file", fmt.Sprintf("it was consumed (offsets %d to %d), no file of this table holds it and the account names no reason: run staunch audit", r.From, r.To-1)
	case 1:
		return state, span + is[0] + ": it is one of those"
	}
	return "not in a file", span + strings.Join(is, "; ") + ": it is one of those"
}
