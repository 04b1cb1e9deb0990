package repair

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"

	"staunch/account"
	"staunch/audit"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// Rewrite is a rewrite of a table's files that somebody has done on purpose: a delete that the law asks for, a compaction from outside.
type Rewrite struct {
	// Job whose log names the removed files, empty to find it.
	Job string
	// Removed and Added are absolute paths in the table's store. A file that was rewritten under its own name is in both.
	Removed, Added []string
	Who, Host, Why string
	// DryRun checks and measures, and writes nothing.
	DryRun bool
}

// Rewritten is a recorded rewrite.
type Rewritten struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	// Entry is the number in the table's log, 0 in a dry run; Before: it had been recorded already.
	Entry  int64 `json:"entry"`
	Before bool  `json:"recorded_before,omitempty"`
	// Removed and Added are the files with their rows; RowsRemoved is how many rows went.
	Removed     []Part `json:"removed"`
	Added       []Part `json:"added"`
	RowsRemoved int64  `json:"rows_removed"`
	DryRun      bool   `json:"dry_run,omitempty"`
}

// Part is one file of a rewrite.
type Part struct {
	Path   string `json:"path"`
	Rows   int64  `json:"rows"`
	Length int64  `json:"length"`
	account.Sums
}

// Amend records a rewrite in the table's log, so that audits expect the added files instead of the removed ones. It changes no file. What would leave
// rows in the table twice, or hide a loss, is refused with an error of class User, and nothing is written.
func Amend(ctx context.Context, e env.Env, store fs.FS, root string, w Rewrite, log *slog.Logger) (*Rewritten, error) {
	a := &amender{ctx: ctx, env: e, store: store, root: path.Clean(root), w: &w, found: map[string]*named{}}
	if err := a.arguments(); err != nil {
		return nil, err
	}
	if err := a.job(); err != nil {
		return nil, err
	}
	entry := account.Amend{Removed: w.Removed, Who: w.Who, Host: w.Host, Why: w.Why, Time: e.Now().UTC()}
	for _, p := range w.Added {
		f, err := a.measure(p)
		if err != nil {
			return nil, err
		}
		entry.Added = append(entry.Added, f)
		entry.RowsRemoved -= f.Rows
	}
	for _, p := range w.Removed {
		entry.RowsRemoved += a.found[p].Rows
	}
	if err := a.noCopies(entry.Added); err != nil {
		return nil, err
	}
	r := commit.OpenRepair(e, store, a.root, a.name, commit.Variant{}, log)
	out := &Rewritten{Job: a.name, Table: fs.URI(store, a.root), DryRun: w.DryRun, Removed: []Part{}, Added: []Part{}}
	may := func(m *commit.Mended) error {
		if n := before(m, &entry); n > 0 {
			out.Entry, out.Before = n, true
		}
		return a.may(m, &entry, out)
	}
	var err error
	if w.DryRun {
		var m *commit.Mended
		if m, err = commit.ReadMended(e, store, a.root, a.name); err == nil {
			err = may(m)
		}
		return out, ignore(err, errRecorded)
	}
	n, err := r.Amend(entry, may)
	if err == nil {
		out.Entry = n
	}
	return out, ignore(err, errRecorded)
}

// errRecorded: the same rewrite stands in the log.
var errRecorded = errors.New("recorded before")

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// amender checks one rewrite.
type amender struct {
	ctx   context.Context
	env   env.Env
	store fs.FS
	root  string
	w     *Rewrite
	name  string // of the job
	jobs  []string
	// found are the files of the rewrite that a certificate names, by final path.
	found map[string]*named
	// stood is where the table was written, if that is elsewhere.
	stood string
}

// named is what a certificate says of a file.
type named struct {
	account.File
	certificate string
	checkpoint  account.CheckpointID
	job         string
	// lost: neither place had it when its checkpoint was done; open: its checkpoint is not done.
	lost, open bool
}

// arguments refuses what can never be right.
func (a *amender) arguments() error {
	w := a.w
	switch {
	case len(w.Removed) == 0:
		return fault.Userf("no removed file is named: an amend says which files of the table were rewritten").WithHint("files that stood in the table before the job are taken in with --adopt")
	case strings.TrimSpace(w.Why) == "":
		return fault.Userf("a reason is needed: every audit shows it")
	}
	slices.Sort(w.Removed)
	slices.Sort(w.Added)
	for i, list := range [][]string{w.Removed, w.Added} {
		for k, p := range list {
			rel, ok := strings.CutPrefix(p, a.root+"/")
			switch {
			case path.Clean(p) != p || !ok:
				return fault.Userf("%s is not below the table %s", p, a.root)
			case strings.HasPrefix(rel, "_staunch/") || i == 1 && audit.Unseen(rel):
				return fault.Userf("%s is no data file of the table: readers pass over names that begin with '_' or '.'", p)
			case k > 0 && list[k-1] == p:
				return fault.Userf("%s is named twice", p)
			}
		}
	}
	return nil
}

// job finds the job whose log names the removed files, and what its certificates say of the files of the rewrite.
func (a *amender) job() error {
	dirs, err := a.store.List(path.Join(a.root, "_staunch"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fault.Userf("%s is no table that Staunch has written: it has no _staunch folder", a.root)
		}
		return err
	}
	for _, d := range dirs {
		if job, ok := commit.Unescape(d.Name); ok && d.Dir {
			a.jobs = append(a.jobs, job)
		}
	}
	jobs := a.jobs
	if a.w.Job != "" && !slices.Contains(jobs, a.w.Job) {
		return noLog(a.root, a.w.Job, jobs)
	}
	for _, job := range jobs {
		if err := a.read(job); err != nil {
			return fmt.Errorf("log of job %s: %w", job, err)
		}
	}
	a.name = a.w.Job
	for _, p := range a.w.Removed {
		x := a.found[p]
		switch {
		case x == nil && a.stood != "":
			return fault.Userf("no certificate names %s: the table was written at %s, and its log has the paths of that place", p, a.stood).
				WithHint("a table that was moved or copied takes no amends: record it where the table was written, and copy it with its log again")
		case x == nil:
			return fault.Userf("no certificate names %s", p).WithHint("name files by the paths that staunch audit shows")
		case a.name == "":
			a.name = x.job
		case a.name != x.job:
			return fault.Userf("%s was written by job '%s', and this amend is of job '%s'", p, x.job, a.name).WithHint("record one amend for each job")
		}
	}
	for _, p := range a.w.Added {
		if !slices.ContainsFunc(a.w.Removed, func(r string) bool { return path.Dir(r) == path.Dir(p) }) {
			return fault.Userf("%s lies in another partition than the removed files: rows stay in their partition", p)
		}
	}
	return nil
}

func noLog(root, job string, jobs []string) error {
	return fault.Userf("job '%s' has not written to %s; there are %s", job, root, strings.Join(jobs, ", "))
}

// read looks in a job's log for the files of the rewrite.
func (a *amender) read(job string) error {
	asked := map[string]bool{}
	for _, p := range append(slices.Clone(a.w.Removed), a.w.Added...) {
		asked[p] = true
	}
	m, err := commit.ReadMended(a.env, a.store, a.root, job)
	if err != nil {
		return err
	}
	_, err = commit.History(a.env, a.store, a.root, job, func(c *commit.Recorded) error {
		if c.Superseded > 0 {
			return nil
		}
		for i := range c.Files {
			f := &c.Files[i]
			if !asked[f.Final] {
				if at := f.Stood(); at != "" && at != a.root {
					a.stood = at
				}
				continue
			}
			x := &named{File: *f, certificate: c.Hash, checkpoint: c.Checkpoint, job: job, open: c.Done == nil}
			x.lost = c.Done != nil && i < len(c.Done.Verdicts) && c.Done.Verdicts[i] == account.Lost
			a.found[f.Final] = x
		}
		return nil
	})
	if err != nil {
		return err
	}
	for p, f := range m.Added {
		if asked[p] {
			a.found[p] = &named{File: f, job: job}
		}
	}
	return nil
}

// measure says what an added file is.
func (a *amender) measure(p string) (account.File, error) {
	if ext := path.Ext(p); !slices.ContainsFunc(a.w.Removed, func(r string) bool { return path.Ext(r) == ext }) {
		return account.File{}, fault.Userf("%s: the removed files are %s files, and readers of the table look for those", p, path.Ext(a.w.Removed[0]))
	}
	m, err := audit.Measure(a.ctx, a.store, p)
	if errors.Is(err, fs.ErrNotExist) {
		return account.File{}, fault.Userf("the added file %s is not there", p)
	}
	if err != nil {
		return account.File{}, err
	}
	if path.Ext(p) == ".json" {
		if err := a.objects(p); err != nil {
			return account.File{}, err
		}
	}
	f := account.File{Final: p, Length: m.Length, Sums: m.Sums, Rows: m.Rows, Offsets: m.Offsets}
	if d := path.Dir(p); d != a.root {
		f.Partition = strings.TrimPrefix(d, a.root+"/")
	}
	return f, nil
}

// objects refuses a file of lines that are not each a JSON object: audits count its lines as rows, and readers could not read them.
func (a *amender) objects(p string) (err error) {
	r, err := a.store.Open(p)
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	lines := bufio.NewReaderSize(io.NewSectionReader(r, 0, r.Size()), 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s: %w", p, err)
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' || !json.Valid(line) {
			return fault.Userf("line %d of %s is no JSON object: %.60q", n, p, line).WithHint("write one object a line, as the removed files have it; nothing was recorded")
		}
	}
}

// before gives the number of an entry that records the same rewrite, 0 if there is none.
func before(m *commit.Mended, a *account.Amend) int64 {
	for _, x := range m.Amends {
		if slices.Equal(x.Removed, a.Removed) && slices.EqualFunc(x.Added, a.Added, func(f, g account.File) bool {
			return f.Final == g.Final && f.Length == g.Length && f.Contradicts(g.Sums) == "" // an earlier build recorded one of them
		}) {
			return x.N
		}
	}
	return 0
}

// may judges the rewrite by what stands in the log now.
func (a *amender) may(m *commit.Mended, entry *account.Amend, out *Rewritten) error {
	if out.Before {
		return errRecorded
	}
	out.Removed, out.Added = out.Removed[:0], out.Added[:0]
	for _, p := range entry.Removed {
		x := a.found[p]
		_, again := m.Added[p]
		rewritten := slices.Contains(a.w.Added, p)
		switch n := m.Removed[p]; {
		case n > 0 && !again:
			return fault.Userf("%s was taken out of the table before (amend, entry %d of the table's log)", p, n)
		case m.Superseded[x.certificate] > 0 && !again:
			return fault.Userf("%s is of checkpoint %d, which a rewind took back (entry %d)", p, x.checkpoint, m.Superseded[x.certificate])
		case x.open:
			return fault.Userf("%s is of checkpoint %d, which is still being committed", p, x.checkpoint).WithHint("record the amend when that checkpoint is done")
		case !again:
			if err := a.whole(m, x); err != nil {
				return err
			}
		}
		if !rewritten {
			_, err := a.store.Stat(p)
			if err == nil {
				return fault.Userf("%s is still there: readers of the table see its rows", p).WithHint("move it out of the table first")
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("look for %s: %w", p, err)
			}
		}
		out.Removed = append(out.Removed, Part{Path: p, Rows: x.Rows, Length: x.Length})
	}
	for i := range entry.Added {
		f := &entry.Added[i]
		if x := a.found[f.Final]; x != nil && !slices.Contains(entry.Removed, f.Final) {
			return fault.Userf("%s stands in the table's log already (checkpoint %d, job '%s')", f.Final, x.checkpoint, x.job).WithHint("if it was rewritten, name it with --removed too")
		}
		out.Added = append(out.Added, Part{Path: f.Final, Rows: f.Rows, Length: f.Length, Sums: f.Sums})
	}
	if err := a.surplus(entry); err != nil {
		return err
	}
	if out.RowsRemoved = entry.RowsRemoved; out.RowsRemoved < 0 {
		return fault.Userf("the added files have %d rows more than the removed ones: rows would be there twice", -out.RowsRemoved).WithHint("name every file whose rows are in the added ones with --removed")
	}
	return nil
}

// whole refuses a file that was lost and that nothing brought back, and one whose repair is under way. A staged replacement stays where it is until it
// goes to its place, or until something else stands there.
func (a *amender) whole(m *commit.Mended, x *named) error {
	repairs := m.Repairs(x.certificate, x.Final)
	for i := range repairs {
		_, err := a.store.Stat(repairs[i].Staged)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went to its place
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", repairs[i].Staged, err)
		}
	}
	switch {
	case len(repairs) > 0:
		r := repairs[len(repairs)-1]
		return fault.Userf("%s is being repaired (entry %d of the table's log), and its replacement %s is not in its place", x.Final, r.N, r.Staged).
			WithHint("run the repair again (staunch audit FILE.sql --repair), then record the rewrite")
	case x.lost:
		return fault.Userf("%s is lost: there was nothing to rewrite", x.Final).WithHint("repair it (staunch audit FILE.sql --repair), or note the loss (--accept-lost)")
	}
	return nil
}

// surplus refuses added files with offsets that the removed ones did not hold as often: they hold rows of other files.
func (a *amender) surplus(entry *account.Amend) error {
	var removed []account.File
	for _, p := range entry.Removed {
		if removed = append(removed, a.found[p].File); !a.found[p].Recorded() {
			return nil // a version that recorded no files wrote it
		}
	}
	for _, s := range audit.FindSurplus(removed, entry.Added) {
		return fault.Userf("%s holds offsets %s of %s, which the removed files did not hold, or another added file holds too: their rows would be there twice", entry.Added[s.File].Final,
			s.Set, s.Split).WithHint("name every file whose rows are in the added ones with --removed; if it is a copy of another file, move it out of the table")
	}
	return nil
}

// noCopies refuses added files that are copies of each other, or of files that the logs name and that are not among the removed ones.
func (a *amender) noCopies(added []account.File) error {
	count, last := map[account.Sums]int{}, map[account.Sums]string{}
	for i := range added {
		for sum := range added[i].Each() {
			if added[i].Length > 0 {
				count[sum]++
				last[sum] = added[i].Final
			}
		}
	}
	removed := map[string]bool{}
	for _, p := range a.w.Removed {
		removed[p] = true
	}
	of := map[account.Sums]string{}
	err := originals(a.env, a.store, a.root, a.jobs, func(final string, sums account.Sums) error {
		for sum := range sums.Each() {
			switch n := count[sum]; {
			case removed[final]:
				if n > 0 {
					count[sum]-- // renamed
				}
			case n > 0 && final != last[sum] && of[sum] == "":
				of[sum] = final
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range added {
		f := &added[i]
		renamed, old, other := false, "", ""
		for sum := range f.Each() { // of the others perhaps one only is recorded
			renamed = renamed || count[sum] <= 0
			old, other = cmp.Or(old, of[sum]), last[sum]
		}
		switch {
		case renamed: // one of the removed files under another name, or an empty one
		case old != "":
			return fault.Userf("%s is a copy of %s, which is not among the removed files: its rows would be there twice", f.Final, old).
				WithHint("name the file that has the removed ones' rows, and move the copy out of the table")
		case other != f.Final:
			return fault.Userf("%s is a copy of %s: its rows would be there twice", f.Final, other).WithHint("move one of them out of the table")
		}
	}
	return nil
}

// originals visits all files that the logs name, with the checksums of each: of certificates, of repairs and of amends.
func originals(e env.Env, store fs.FS, root string, jobs []string, visit func(final string, sums account.Sums) error) error {
	for _, job := range jobs {
		m, err := commit.ReadMended(e, store, root, job)
		if err != nil {
			return err
		}
		for _, f := range m.Added {
			if err := visit(f.Final, f.Sums); err != nil {
				return err
			}
		}
		for r := range m.Each {
			if err := visit(r.Final, r.Sums); err != nil {
				return err
			}
		}
		_, err = commit.History(e, store, root, job, func(c *commit.Recorded) error {
			for i := range c.Files {
				if err := visit(c.Files[i].Final, c.Files[i].Sums); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Text writes what was recorded for people.
func (r *Rewritten) Text(w io.Writer) error {
	t := &text{w: w}
	switch {
	case r.Before:
		t.line("table %s, job %s: entry %d of the log records this rewrite already", r.Table, r.Job, r.Entry)
		return t.err
	case r.DryRun:
		t.line("table %s, job %s: this would be recorded", r.Table, r.Job)
	default:
		t.line("table %s, job %s: recorded as entry %d of the log", r.Table, r.Job, r.Entry)
	}
	for _, p := range r.Removed {
		t.line("  removed  %s: %d rows, %d bytes", p.Path, p.Rows, p.Length)
	}
	for _, p := range r.Added {
		t.line("  added    %s: %d rows, %d bytes, XXH128 %.12s...", p.Path, p.Rows, p.Length, p.XXH128)
	}
	t.line("  rows that went on purpose: %d", r.RowsRemoved)
	return t.err
}
