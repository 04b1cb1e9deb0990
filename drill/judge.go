package drill

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"staunch/account"
	"staunch/audit"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// Sight is what a reader sees of all tables of a run, and what the audit says of them.
type Sight struct {
	// Rows and Files are visible.
	Rows  int64 `json:"rows"`
	Files int   `json:"files"`
	// Lost, Doubled and Foreign count rows against the undisturbed run; foreign ones it does not have at all.
	Lost    int64 `json:"lost"`
	Doubled int64 `json:"doubled"`
	Foreign int64 `json:"foreign,omitempty"`
	// Problems are the audit's and those of reading; Named are the rows that the audit calls lost, with their offsets.
	Problems []string `json:"problems,omitempty"`
	Named    int64    `json:"named_lost,omitempty"`
	Offsets  []string `json:"named_offsets,omitempty"`

	tables []rows
	splits []string
	// visible and gone are the offsets of the rows in visible files and in those that the audit calls lost, by table, INSERT and split.
	visible, gone map[string]account.Set
	// lost are the files that the audit calls lost, by table.
	lost []lostFiles
	// several: a record may give several rows, so that an offset may be in several files.
	several bool
}

// lostFiles are files that the audit calls lost.
type lostFiles struct {
	// all is how many rows they had. taken are the rows of those that were copied when they were taken away; unseen is the number of the others'.
	all, unseen int64
	taken       rows
}

// judge looks at the tables of a run. Nothing is compared yet.
type judge struct {
	seed   maphash.Seed
	stores fs.Resolver
	audit  bool
	// alike: two undisturbed runs gave the same rows, so that rows can be compared one by one.
	alike bool
	// settled: the same offsets came into files.
	settled bool
	want    *Sight
}

// maxProblems bounds what is kept of one run.
const maxProblems = 20

func (s *Sight) problem(format string, args ...any) {
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
	}
}

// see reads the tables. Its error means that the stores did not let us.
func (j *judge) see(ctx context.Context, p Places) (*Sight, error) {
	s := &Sight{visible: map[string]account.Set{}, gone: map[string]account.Set{}, lost: make([]lostFiles, len(p.Tables))}
	for n, t := range p.Tables {
		r, files, err := readTable(ctx, j.seed, j.stores, t)
		if errors.Is(err, errUnreadable) {
			s.problem("%v", err)
		} else if err != nil {
			return nil, err
		}
		s.tables = append(s.tables, r)
		s.Rows += int64(len(r))
		s.Files += files
		if j.audit {
			if err := j.ask(ctx, s, n, p); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(s.splits)
	return s, nil
}

// ask has the audit judge a table.
func (j *judge) ask(ctx context.Context, s *Sight, n int, p Places) error {
	t := p.Tables[n]
	store, dir, err := j.stores.Resolve(t.URI)
	if err != nil {
		return err
	}
	r, err := audit.Table(ctx, &env.Real{}, store, dir, audit.Options{Success: t.Success})
	if err != nil {
		return err
	}
	problems := r.Problems
	for _, job := range r.Jobs {
		problems = append(problems, job.Problems...)
		if job.Verdict != audit.Clean && job.Verdict != audit.Wrong {
			s.problem("audit: %s", job.Verdict)
		}
		for _, x := range job.Splits {
			s.splits = append(s.splits, fmt.Sprintf("table %d, INSERT %s, %s: offsets %d..%d, %d rows", n+1, x.Insert, x.Split, x.From, x.To-1, x.Rows))
		}
		losses := map[string]bool{}
		for _, l := range job.Losses {
			losses[l.Path] = true
			s.Named += l.Rows
			for _, o := range l.Offsets {
				s.Offsets = append(s.Offsets, o.Split+": "+o.Offsets)
			}
		}
		s.several = s.several || !job.AccountsClose
		look := lookAt{judge: j, sight: s, n: n, places: p, store: store, losses: losses}
		_, err := commit.History(&env.Real{}, store, dir, job.Job, look.certificate)
		if fault.ClassOf(err) == fault.Damage {
			s.problem("%v", err)
		} else if err != nil {
			return err
		}
	}
	for _, p := range problems {
		s.problem("audit: %s: %s", p.Kind, p.What)
	}
	return nil
}

// lookAt gathers the offsets of one job's files in one table.
type lookAt struct {
	*judge
	sight  *Sight
	n      int
	places Places
	store  fs.FS
	losses map[string]bool
}

func (l *lookAt) certificate(c *commit.Recorded) error {
	if c.Superseded > 0 {
		return nil
	}
	for i := range c.Files {
		f := &c.Files[i]
		to := l.sight.visible
		if l.losses[f.Final] {
			to = l.sight.gone
			if err := l.taken(f); err != nil {
				return err
			}
		}
		for _, o := range f.Offsets {
			k := fmt.Sprintf("table %d, INSERT %s, %s", l.n+1, f.Insert, o.Split)
			set := to[k]
			set.Union(o.Set)
			to[k] = set
		}
	}
	return nil
}

// taken reads what was copied of a lost file when it was taken away.
func (l *lookAt) taken(f *account.File) error {
	x := &l.sight.lost[l.n]
	x.all += f.Rows
	uri, ok := l.places.takenFrom(fs.URI(l.store, f.Pending))
	if !ok {
		l.sight.problem("the lost file %s was promised outside of its run", f.Final)
		return nil
	}
	store, p, err := l.stores.Resolve(uri)
	if err != nil {
		return err
	}
	r := &reader{seed: l.seed, store: store, root: l.places.Tables[l.n]}
	err = r.file(p, f.Partition)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.sight.problem("%s is called lost, and nobody took it", f.Final)
	case errors.Is(err, errUnreadable) || err == nil && int64(len(r.out)) != f.Rows: // it was open, and more was written
		x.unseen += f.Rows
	case err != nil:
		return err
	default:
		x.taken = append(x.taken, r.out...)
	}
	return nil
}

// rows counts what is lost and doubled against the undisturbed run.
func (j *judge) rows(s *Sight) {
	for i, want := range j.want.tables {
		got := s.tables[i]
		if j.alike {
			lost, doubled, foreign := compare(want, got)
			s.Lost, s.Doubled, s.Foreign = s.Lost+lost, s.Doubled+doubled, s.Foreign+foreign
			continue
		}
		s.Lost += max(0, int64(len(want)-len(got)))
		s.Doubled += max(0, int64(len(got)-len(want)))
	}
}

// offsets holds the accounts against those of the undisturbed run: each offset that came into a file there is in a visible one here, or was named.
func (j *judge) offsets(s *Sight) {
	if !slices.Equal(s.splits, j.want.splits) {
		s.problem("offsets and rows by split are not those of the undisturbed run: %s, instead of %s", strings.Join(minus(s.splits, j.want.splits), "; "),
			strings.Join(minus(j.want.splits, s.splits), "; "))
	}
	all := maps.Clone(s.visible)
	for k, gone := range s.gone {
		if run, both := all[k].Overlap(gone); both && !s.several {
			s.problem("%s: offsets %d..%d are named as lost, and in a visible file", k, run.From, run.To-1)
		}
		set := account.Set{}
		set.Union(all[k])
		set.Union(gone)
		all[k] = set
	}
	if j.settled && !sameOffsets(all, j.want.visible) {
		for _, k := range slices.Sorted(maps.Keys(j.want.visible)) {
			if got, want := all[k], j.want.visible[k]; !slices.Equal(got.Runs, want.Runs) {
				s.problem("%s: in visible files or named as lost are the offsets %s, in files of the undisturbed run %s", k, got, want)
			}
		}
	}
}

// exactly reports whether the rows that are missing in each table are those of its files that the audit calls lost.
func (j *judge) exactly(s *Sight) bool {
	ok := true
	for i, want := range j.want.tables {
		x := s.lost[i]
		missing, others := int64(len(want)-len(s.tables[i])), int64(0)
		if j.alike {
			all := slices.Concat(s.tables[i], x.taken)
			slices.Sort(all)
			lost, doubled, foreign := compare(want, all)
			others = max(0, lost-x.unseen) + doubled + foreign
		}
		if missing != x.all || others > 0 {
			s.problem("table %d: %d rows are missing, and files with %d rows are named as lost; %d rows are in one of them only", i+1, missing, x.all, others)
			ok = false
		}
	}
	return ok
}

// sameOffsets reports whether the same offsets are in both.
func sameOffsets(a, b map[string]account.Set) bool {
	return maps.EqualFunc(a, b, func(x, y account.Set) bool { return slices.Equal(x.Runs, y.Runs) })
}

// minus gives the elements of a that b does not have.
func minus(a, b []string) (out []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// same reports whether two runs gave the same rows.
func same(a, b *Sight) bool {
	return slices.EqualFunc(a.tables, b.tables, func(x, y rows) bool { return slices.Equal(x, y) })
}
