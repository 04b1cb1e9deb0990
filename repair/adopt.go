package repair

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/audit"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// Adoption takes the files that stood in a table before Staunch wrote to it into a job's log, so that audits expect them as they are now.
type Adoption struct {
	// Job whose log takes them, "" for the only one.
	Job            string
	Who, Host, Why string
	// Success is the name of success files, "" for _SUCCESS.
	Success string
	// Younger takes files too that were changed behind the job's first certificate: they may hold rows of the job.
	Younger bool
	// DryRun measures, and writes nothing.
	DryRun bool
}

// Adopted is what was taken in.
type Adopted struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	// Entries are their numbers in the table's log: one for every adoptedEach files.
	Entries []int64 `json:"entries"`
	Files   int64   `json:"files"`
	Bytes   int64   `json:"bytes"`
	// Rows of the files whose rows can be counted; Uncounted are the others.
	Rows      int64 `json:"rows"`
	Uncounted int64 `json:"uncounted_files,omitempty"`
	DryRun    bool  `json:"dry_run,omitempty"`
}

const (
	// adoptedEach is the number of files that one entry lists.
	adoptedEach = 1000
	// adoptedMost bounds them: every process that works on the table holds what amends added in memory, some hundred bytes each.
	adoptedMost = 200_000
)

// Adopt lists every file that readers of the table see and no log names, with length and checksums, in amend entries that take nothing out. Their rows
// stay unproven, since nobody knows where they came from; from then on it is proven that they stay as they are. Files that may hold rows of the job
// twice (copies of its files, files with a name or offsets of Staunch's) and links are refused, all before anything is written.
func Adopt(ctx context.Context, e env.Env, store fs.FS, root string, w Adoption, log *slog.Logger) (*Adopted, error) {
	a := &adopter{ctx: ctx, env: e, store: store, root: path.Clean(root), w: &w, bySum: map[account.Sums]string{}}
	if strings.TrimSpace(w.Why) == "" {
		return nil, fault.Userf("a reason is needed: every audit shows it")
	}
	if err := a.job(); err != nil {
		return nil, err
	}
	list, lines, err := audit.ListUnnamed(ctx, store, a.root, w.Success)
	if err != nil {
		return nil, err
	}
	if len(list) > adoptedMost {
		return nil, fault.Userf("%d files stand in the table and no log names them: more than %d are not adopted", len(list), adoptedMost).
			WithHint("every process that works on the table would hold them in memory. Keep the old files in a folder of their own, or merge small ones first")
	}
	out := &Adopted{Job: a.name, Table: fs.URI(store, a.root), Entries: []int64{}, DryRun: w.DryRun}
	a.lines = lines
	if err := a.begun(); err != nil {
		return nil, err
	}
	if err := a.measureAll(list, out); err != nil {
		return nil, err
	}
	if err := a.noCopies(); err != nil {
		return nil, err
	}
	r := commit.OpenRepair(e, store, a.root, a.name, commit.Variant{}, log)
	for from := 0; from < len(a.files) && !w.DryRun; from += adoptedEach {
		entry := account.Amend{Removed: []string{}, Added: a.files[from:min(from+adoptedEach, len(a.files))], Who: w.Who, Host: w.Host, Why: w.Why, Time: e.Now().UTC()}
		n, err := r.Amend(entry, func(m *commit.Mended) error {
			for i := range entry.Added {
				if _, ok := m.Added[entry.Added[i].Final]; ok {
					return fault.Userf("%s was adopted by somebody else meanwhile", entry.Added[i].Final).WithHint("run it again: what is adopted is left out")
				}
			}
			return nil
		})
		if err != nil && len(out.Entries) > 0 {
			return out, fault.New(fault.Transient, "%d entries of %d files each stand in the log, then: %w", len(out.Entries), adoptedEach, err)
		}
		if err != nil {
			return nil, err
		}
		out.Entries = append(out.Entries, n)
	}
	return out, nil
}

// adopter is one adoption under way.
type adopter struct {
	ctx   context.Context
	env   env.Env
	store fs.FS
	root  string
	w     *Adoption
	name  string // of the job
	jobs  []string
	files []account.File
	bySum map[account.Sums]string
	lines bool // the table's own files are lines of JSON
	// first is when the oldest certificate of the table's logs was written.
	first time.Time
}

// begun finds the oldest certificate.
func (a *adopter) begun() error {
	for _, job := range a.jobs {
		_, err := commit.History(a.env, a.store, a.root, job, func(c *commit.Recorded) error {
			if !c.Time.IsZero() && (a.first.IsZero() || c.Time.Before(a.first)) {
				a.first = c.Time
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// younger refuses a file that was changed behind the oldest certificate: its rows may be the job's, whatever its bytes.
func (a *adopter) younger(p string) error {
	if a.w.Younger || a.first.IsZero() {
		return nil
	}
	i, err := a.store.Stat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // told when it is measured
	}
	if err == nil && i.ModTime.After(a.first) {
		err = fault.Userf("%s was written or changed at %s, behind the table's first certificate (%s): it may hold rows of the job, and they would be there twice", p,
			i.ModTime.UTC().Format(time.RFC3339), a.first.UTC().Format(time.RFC3339)).WithHint("find out who wrote it; if its rows are its own, add --younger")
	}
	return err
}

// job finds the log that takes the files.
func (a *adopter) job() (err error) {
	if a.jobs, err = audit.Jobs(a.store, a.root); err != nil {
		return err
	}
	switch {
	case len(a.jobs) == 0:
		return fault.Userf("%s is no table that Staunch has written: it has no _staunch folder", a.root).WithHint("start the job first: its log takes the files")
	case a.w.Job == "" && len(a.jobs) > 1:
		return fault.Userf("several jobs write to %s: %s", a.root, strings.Join(a.jobs, ", ")).WithHint("name the one whose log takes the files with --job")
	case a.w.Job == "":
		a.name = a.jobs[0]
	case slices.Contains(a.jobs, a.w.Job):
		a.name = a.w.Job
	default:
		return noLog(a.root, a.w.Job, a.jobs)
	}
	return nil
}

// measureAll reads the files, and refuses what cannot be from before.
func (a *adopter) measureAll(list []audit.Unnamed, out *Adopted) error {
	for _, u := range list {
		switch {
		case u.Link:
			return fault.Userf("%s is a symbolic link: what it leads to can change without a trace", u.Path).WithHint("put the file itself into the table, or move the link out")
		case u.Ours:
			return a.twice(u.Path, "it has a name that Staunch gives")
		}
		if err := a.younger(u.Path); err != nil {
			return err
		}
		m, err := audit.MeasureOld(a.ctx, a.store, u.Path, a.lines)
		if errors.Is(err, fs.ErrNotExist) {
			return fault.Userf("%s went away while it was adopted", u.Path).WithHint("end what still writes to the table, and run it again")
		}
		if err != nil {
			return err
		}
		if len(m.Offsets) > 0 {
			return a.twice(u.Path, "its footer has offsets of Staunch's")
		}
		if m.Length != u.Size {
			return fault.Userf("%s changed while it was adopted: %d bytes, then %d", u.Path, u.Size, m.Length).WithHint("end what still writes to the table, and run it again")
		}
		f := account.File{Final: u.Path, Length: m.Length, Sums: m.Sums, Rows: max(0, m.Rows)}
		if d := path.Dir(u.Path); d != a.root {
			f.Partition = strings.TrimPrefix(d, a.root+"/")
		}
		if m.Rows < 0 {
			out.Uncounted++
		}
		out.Files++
		out.Rows += f.Rows
		out.Bytes += f.Length
		a.files = append(a.files, f)
		for sum := range f.Each() {
			if f.Length > 0 {
				a.bySum[sum] = f.Final
			}
		}
	}
	return nil
}

func (a *adopter) twice(p, why string) error {
	return fault.Userf("%s is not from before: %s, so its rows may be in the table twice", p, why).WithHint("see what staunch audit says of it; if it is a copy, move it out of the table")
}

// noCopies refuses files that are copies of those that the logs name.
func (a *adopter) noCopies() error {
	return originals(a.env, a.store, a.root, a.jobs, func(final string, sums account.Sums) error {
		for sum := range sums.Each() {
			if p := a.bySum[sum]; p != "" {
				return a.twice(p, "it is a copy of "+final)
			}
		}
		return nil
	})
}

// Text writes what was adopted for people.
func (r *Adopted) Text(w io.Writer) error {
	t := &text{w: w}
	switch {
	case r.Files == 0:
		t.line("table %s, job %s: the log names every file, there is nothing to adopt", r.Table, r.Job)
		return t.err
	case r.DryRun:
		t.line("table %s, job %s: this would be adopted", r.Table, r.Job)
	default:
		t.line("table %s, job %s: adopted by %d entries of the log, the last is %d", r.Table, r.Job, len(r.Entries), r.Entries[len(r.Entries)-1])
	}
	t.line("  %d files, %d bytes, %d rows: that they stay as they are is proven from now on, where their rows came from is not", r.Files, r.Bytes, r.Rows)
	if r.Uncounted > 0 {
		t.line("  %d of the files are neither Parquet nor lines of JSON: their rows are not counted", r.Uncounted)
	}
	return t.err
}
