package drill

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"staunch/audit"
	"staunch/env"
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
}

// judge looks at the tables of a run. Nothing is compared yet.
type judge struct {
	seed   maphash.Seed
	stores fs.Resolver
	audit  bool
	// alike: two undisturbed runs gave the same rows, so that rows can be compared one by one.
	alike bool
	want  *Sight
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
	s := &Sight{}
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
			if err := j.ask(ctx, s, n, t); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(s.splits)
	return s, nil
}

// ask has the audit judge a table.
func (j *judge) ask(ctx context.Context, s *Sight, n int, t Root) error {
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
		for _, l := range job.Losses {
			s.Named += l.Rows
			for _, o := range l.Offsets {
				s.Offsets = append(s.Offsets, o.Split+": "+o.Offsets)
			}
		}
	}
	for _, p := range problems {
		s.problem("audit: %s: %s", p.Kind, p.What)
	}
	return nil
}

// compare counts what is lost and doubled against the undisturbed run.
func (j *judge) compare(s *Sight) {
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
	if !slices.Equal(s.splits, j.want.splits) {
		s.problem("offsets and rows by split are not those of the undisturbed run: %s, instead of %s", strings.Join(minus(s.splits, j.want.splits), "; "),
			strings.Join(minus(j.want.splits, s.splits), "; "))
	}
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
