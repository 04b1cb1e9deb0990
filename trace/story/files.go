package story

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/fault"
	"staunch/fs"
)

// State is what has become of a file.
type State string

// The states.
const (
	Visible    State = "visible"    // readers of the table see it
	Repaired   State = "repaired"   // lost, and written again: readers see its rows
	Pending    State = "pending"    // promised, and on its way
	Lost       State = "lost"       // a commit found it in neither place
	Gone       State = "gone"       // it was visible and is not there any more
	Superseded State = "superseded" // taken out by a rewind
	Amended    State = "amended"    // taken out of the table on purpose
	Uncertain  State = "uncertain"  // the store does not say
)

// File is a file that a certificate names.
type File struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	// Pending and Final are its two places, without the store's name.
	Pending string `json:"pending"`
	Final   string `json:"final"`
	// Now is the final place in a table that was moved or copied as a whole since; empty if it was not.
	Now        string               `json:"now,omitempty"`
	Partition  string               `json:"partition,omitempty"`
	Checkpoint account.CheckpointID `json:"checkpoint"`
	Epoch      account.Epoch        `json:"epoch"`
	Task       int                  `json:"task"`
	Rows       int64                `json:"rows"`
	Length     int64                `json:"length"`
	Offsets    map[string]string    `json:"offsets,omitempty"`
	// Verdict is the commit's, empty if it is not done; Done when, and by which epoch.
	Verdict account.Verdict `json:"verdict,omitempty"`
	Done    time.Time       `json:"done,omitzero"`
	DoneBy  account.Epoch   `json:"done_by,omitempty"`
	// Promised is when its checkpoint was completed.
	Promised time.Time `json:"promised"`
	State    State     `json:"state"`
	// Accepted: a person let the job go on without it.
	Accepted bool `json:"accepted,omitempty"`
	// Repairs of it that were begun, in order.
	Repairs []Repair `json:"repairs,omitempty"`
	// Amend took it out of the table on purpose, or, of a file that no certificate names, put it there.
	Amend *Amend `json:"amend,omitempty"`
	// Added: an amend put it there.
	Added bool `json:"added,omitempty"`

	file *account.File
}

// Repair is one repair of a lost file.
type Repair struct {
	// Entry is its number in the table's log.
	Entry  int64     `json:"entry"`
	Who    string    `json:"who"`
	Why    string    `json:"why,omitempty"`
	Time   time.Time `json:"time"`
	Staged string    `json:"staged"`
	Length int64     `json:"length"`
}

// Amend is an entry of a table's log by which files were taken out on purpose and others put there for them.
type Amend struct {
	Entry int64     `json:"entry"`
	Who   string    `json:"who"`
	Why   string    `json:"why,omitempty"`
	Time  time.Time `json:"time"`
	// Added are the files that it put there.
	Added []string `json:"added,omitempty"`
	// Adopted: it took out nothing, and its files had stood in the table before the job.
	Adopted bool `json:"adopted,omitempty"`

	// blind: of some of them it is not known which records they hold.
	blind bool
}

func (a *Amend) String() string {
	why := ""
	if a.Why != "" {
		why = " (" + a.Why + ")"
	}
	return fmt.Sprintf("entry %d of the table's log, by %s %s%s", a.Entry, a.Who, stamp(a.Time), why)
}

// amends are the amends of files so far, each made once: it may have taken many files.
type amends map[*commit.Amended]*Amend

// of is the amend with this number, nil if there is none.
func (as amends) of(m *commit.Mended, n int64) *Amend {
	if n == 0 {
		return nil
	}
	i, ok := slices.BinarySearchFunc(m.Amends, n, func(a commit.Amended, n int64) int { return cmp.Compare(a.N, n) })
	if !ok {
		return nil
	}
	a := &m.Amends[i]
	if out := as[a]; out != nil {
		return out
	}
	out := &Amend{Entry: a.N, Who: a.Who, Why: a.Why, Time: a.Time, Adopted: len(a.Removed) == 0}
	as[a] = out
	if out.Adopted {
		return out // its files may be all of the table
	}
	for _, f := range a.Added {
		out.Added = append(out.Added, f.Final)
		out.blind = out.blind || len(f.Offsets) == 0 && f.Rows > 0
	}
	return out
}

// added gives the files that amends put there and that are asked for.
func (t *teller) added(tb Table, was string, m *commit.Mended) (out []File) {
	q := &t.Query
	if q.Path == "" && q.Prefix == "" && q.Record == nil {
		return nil
	}
	for i := range m.Amends {
		a := &m.Amends[i]
		by := t.amends.of(m, a.N)
		for k := range a.Added {
			f := &a.Added[k]
			if !q.wants(tb, was, nil, f) {
				continue
			}
			if len(t.out.Files)+len(out) >= maxKept {
				t.moreFiles++
				continue
			}
			x := File{Job: tb.Job, Table: fs.URI(tb.Store, tb.Root), Final: f.Final, Partition: f.Partition, Task: taskOf(f.Final), Rows: f.Rows, Length: f.Length, Promised: a.Time,
				Amend: by, Added: true, Offsets: offsetsOf(f), file: f}
			x.setNow(tb.now(was, f.Final))
			var size int64
			var there, known bool
			if len(t.out.Files)+len(out) < maxLooks {
				size, there, known = exists(tb.Store, x.place())
			}
			switch n := m.Removed[f.Final]; {
			case n > a.N:
				x.State, x.Amend, x.Added = Amended, t.amends.of(m, n), false
			case !known:
				x.State = Uncertain
			case there && size == f.Length:
				x.State = Visible
			default:
				x.State = Gone
			}
			out = append(out, x)
		}
	}
	return out
}

func offsetsOf(f *account.File) map[string]string {
	if len(f.Offsets) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, o := range f.Offsets {
		out[o.Split] = o.Set.Text()
	}
	return out
}

// repaired tells whether what stands at the final place with this size is a replacement.
func (f *File) repaired(tb Table, size int64) bool {
	for _, r := range f.Repairs {
		if r.Length != size {
			continue
		}
		if _, waits, known := exists(tb.Store, tb.now(tb.was(f.file), r.Staged)); known && !waits {
			return true
		}
	}
	return false
}

// asked reports whether what took the file is to be found: of one that was written again too, if it was asked for.
func (f *File) asked(q *Query) bool {
	return f.missing() || f.State == Repaired && q.particular()
}

// told reports whether a checkpoint's answer lists the file besides counting it.
func (f *File) told(q *Query) bool { return f.asked(q) || f.State == Amended }

// missing reports whether the file is not where it should be.
func (f *File) missing() bool { return f.State == Lost || f.State == Gone }

// maxLooks bounds how many files are looked for in the store, maxKept how many are kept at all: a table may have millions.
const (
	maxLooks = 20_000
	maxKept  = 100_000
)

// fileOf makes a File of a certificate's i-th.
func (as amends) fileOf(tb Table, c *commit.Recorded, i int) File {
	f := &c.Files[i]
	out := File{Job: tb.Job, Table: fs.URI(tb.Store, tb.Root), Pending: f.Pending, Final: f.Final, Partition: f.Partition, Checkpoint: c.Checkpoint, Epoch: c.Epoch,
		Task: taskOf(f.Final), Rows: f.Rows, Length: f.Length, Promised: c.Time, Accepted: c.AcceptedLoss(f.Final), file: f}
	for _, r := range c.Repairs(f.Final) {
		out.Repairs = append(out.Repairs, Repair{Entry: r.N, Who: r.Who, Why: r.Why, Time: r.Time, Staged: r.Staged, Length: r.Length})
	}
	out.setNow(tb.now(tb.was(f), f.Final))
	out.Offsets, out.Amend = offsetsOf(f), as.of(c.Mended(), c.Amended(f.Final))
	if c.Done != nil {
		out.Done, out.DoneBy = c.Done.Time, c.Done.Epoch
		if i < len(c.Done.Verdicts) {
			out.Verdict = c.Done.Verdicts[i]
		}
	}
	return out
}

// taskOf is the subtask in a file's name, -1 if it does not say.
func taskOf(p string) int {
	if n, ok := account.ParseFileName(strings.TrimSuffix(path.Base(p), account.PendingSuffix)); ok {
		return n.Subtask
	}
	if _, rest, ok := strings.Cut(p, "/task-"); ok { // of a version that named folders
		var k int
		if _, err := fmt.Sscanf(rest, "%d", &k); err == nil {
			return k
		}
	}
	return -1
}

// was is where the table stood when a certificate's file was written, "" if it stands there still.
func (tb Table) was(f *account.File) string {
	if below(f.Pending, tb.Root) {
		return ""
	}
	return f.Stood()
}

// now is the place of a path of a table that stood elsewhere.
func (tb Table) now(was, p string) string {
	if was == "" || !below(p, was) {
		return p
	}
	return tb.Root + p[len(was):]
}

// setNow notes where the final place is now, if it is another one.
func (f *File) setNow(at string) {
	if at != f.Final {
		f.Now = at
	}
}

// place is the final place, as it is now.
func (f *File) place() string { return cmp.Or(f.Now, f.Final) }

// look finds the state of a file.
func (f *File) look(tb Table, c *commit.Recorded) {
	if c.Superseded > 0 {
		f.State = Superseded
		return
	}
	if f.Amend != nil {
		f.State = Amended
		return
	}
	size, there, known := exists(tb.Store, f.place())
	switch {
	case !known:
		f.State = Uncertain
		return
	case there && f.repaired(tb, size):
		f.State = Repaired
		return
	case there && size == f.Length:
		f.State = Visible
		return
	}
	_, waits, known := exists(tb.Store, tb.now(tb.was(f.file), f.Pending))
	if !known {
		f.State = Uncertain
		return
	}
	switch {
	case waits && c.Done == nil:
		f.State = Pending
	case f.Verdict == account.Lost || c.Done == nil:
		// It may have moved between the two looks.
		if size, there, _ = exists(tb.Store, f.place()); there && size == f.Length {
			f.State = Visible
			return
		}
		f.State = Lost
	default:
		f.State = Gone
	}
}

// particular: something in particular is asked for, not what is wrong.
func (q *Query) particular() bool {
	return q.Path != "" || q.Prefix != "" || q.Record != nil || q.Checkpoint != 0
}

// wants reports whether a certificate's file is asked for.
// The table stood at was when the file was written: it may be asked for by either place.
func (q *Query) wants(tb Table, was string, c *commit.Recorded, f *account.File) bool {
	anywhere := func(is func(at string) bool) bool {
		return is(f.Final) || is(f.Pending) || was != "" && (is(tb.now(was, f.Final)) || is(tb.now(was, f.Pending)))
	}
	switch {
	case q.Path != "":
		p := strings.TrimRight(bare(q.Path), "/")
		return anywhere(func(at string) bool { return below(at, p) })
	case q.Prefix != "":
		p := bare(q.Prefix)
		return anywhere(func(at string) bool { return strings.HasPrefix(at, p) })
	case q.Record != nil:
		return holds(f, *q.Record)
	case q.Checkpoint != 0:
		return c.Checkpoint == q.Checkpoint && (q.Task < 0 || taskOf(f.Final) == q.Task)
	}
	// Nothing in particular: what is wrong.
	return c.Done == nil || c.Done.Counters.Lost > 0
}

// holds reports whether a file has the record.
func holds(f *account.File, r Record) bool {
	for _, o := range f.Offsets {
		if o.Split != r.Split {
			continue
		}
		for _, run := range o.Set.Runs {
			if run.From <= r.Offset && r.Offset < run.To {
				return true
			}
		}
	}
	return false
}

// table reads a table's log.
func (t *teller) table(tb Table) error {
	q := &t.Query
	where := newWhere(tb, q.Record)
	var mended *commit.Mended
	was := "" // where the table stood
	_, err := commit.History(t.Env, tb.Store, tb.Root, tb.Job, func(c *commit.Recorded) error {
		mended = c.Mended()
		where.certificate(c)
		var mine []File
		for i := range c.Files {
			at := tb.was(&c.Files[i])
			was = cmp.Or(at, was)
			if !q.wants(tb, at, c, &c.Files[i]) {
				continue
			}
			if len(t.out.Files)+len(mine) >= maxKept {
				t.moreFiles++
				continue
			}
			f := t.amends.fileOf(tb, c, i)
			if len(t.out.Files)+len(mine) < maxLooks {
				f.look(tb, c)
			} else {
				f.State = Uncertain
			}
			if !q.particular() && (f.State == Visible || f.State == Amended) {
				continue
			}
			if !q.Since.IsZero() && !f.Done.IsZero() && f.Done.Before(q.Since) || !q.Until.IsZero() && f.Promised.After(q.Until) {
				continue
			}
			mine = append(mine, f)
		}
		if q.Checkpoint != 0 && c.Checkpoint == q.Checkpoint {
			t.out.Grids = append(t.out.Grids, t.grid(tb, c, mine))
		}
		where.files(mine)
		t.out.Files = append(t.out.Files, mine...)
		return nil
	})
	if fault.ClassOf(err) == fault.Damage {
		t.note("log of table %s: %v", tb.Root, err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("log of table %s: %w", tb.Root, err)
	}
	if was != "" {
		t.note("table %s was written at %s: its files are looked for where it is now; the time line has the names of that time", fs.URI(tb.Store, tb.Root), fs.URI(tb.Store, was))
	}
	if mended != nil {
		added := t.added(tb, was, mended)
		where.files(added)
		t.out.Files = append(t.out.Files, added...)
	}
	if q.Record != nil {
		t.out.Found = append(t.out.Found, where.answer())
	}
	if q.Checkpoint != 0 && !t.hasGrid(tb) {
		t.out.Grids = append(t.out.Grids, t.gridOfTrace(tb))
	}
	return nil
}
