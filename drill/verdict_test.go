package drill

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/fs"
)

// offsets makes a set of single offsets.
func offsets(list ...int64) (s account.Set) {
	for _, o := range list {
		s.Add(o)
	}
	return s
}

// TestVerdict: what became of the rows comes first, whether or not the step was reached or the job came to its end; and a loss counts as named only if
// exactly the missing rows are named, and nothing else is wrong.
func TestVerdict(t *testing.T) {
	const a, b = "table 1, INSERT x, s", "table 2, INSERT y, s"
	want := &Sight{tables: []rows{{1, 2, 3, 4}, {11, 12}}, splits: []string{"all"},
		visible: map[string]account.Set{a: offsets(1, 2, 3, 4), b: offsets(1, 2)}}
	whole := func() *Run {
		return &Run{Fault: KillAfter, strikes: []Strike{{}}, Sight: Sight{tables: slices.Clone(want.tables), splits: want.splits, visible: maps.Clone(want.visible),
			gone: map[string]account.Set{}, lost: make([]lostFiles, 2)}}
	}
	taken := func() *Run { // a file with the rows 3 and 4
		r := whole()
		r.Fault, r.Named = Taken, 2
		r.tables[0], r.visible[a], r.gone[a] = rows{1, 2}, offsets(1, 2), offsets(3, 4)
		r.lost[0] = lostFiles{all: 2, taken: rows{3, 4}}
		return r
	}
	finished, stopped := outcome{end: End{Finished: true}, struck: 1}, outcome{struck: 1}
	missed := outcome{end: End{Finished: true}}
	told := outcome{end: End{Finished: true}, struck: 1, named: 1}
	toldMissed := outcome{end: End{Finished: true}, named: 1}
	for _, c := range []struct {
		what   string
		want   Verdict
		out    outcome
		run    func() *Run
		change func(*Run)
	}{
		{"all is well", Held, finished, whole, nil},
		{"all is well, the step did not come", NotReached, missed, whole, nil},
		{"a row lost, the step did not come", Lost, missed, whole, func(r *Run) { r.tables[0] = rows{1, 2, 4} }},
		{"a row doubled, the step did not come", Doubled, missed, whole, func(r *Run) { r.tables[0] = rows{1, 1, 2, 3, 4} }},
		{"a foreign row, the step did not come", Foreign, missed, whole, func(r *Run) { r.tables[0] = rows{1, 2, 3, 4, 5} }},
		{"the audit finds something, the step did not come", Audited, missed, whole, func(r *Run) { r.Problems = []string{"audit: something"} }},
		{"other offsets, the step did not come", Audited, missed, whole, func(r *Run) { r.splits = []string{"others"} }},
		{"it did not end, nor did the step come", Stopped, outcome{}, whole, func(r *Run) { r.tables[0] = rows{1} }},
		{"it did not end", Stopped, stopped, whole, func(r *Run) { r.tables[0] = rows{1} }},
		{"it did not end, and a row is there twice", Doubled, stopped, whole, func(r *Run) { r.tables[0] = rows{1, 1} }},
		{"it did not end, and a row is foreign", Foreign, stopped, whole, func(r *Run) { r.tables[0] = rows{9} }},

		{"taken and named", Named, told, taken, nil},
		{"taken and not named", Lost, finished, taken, func(r *Run) { r.Named = 0 }},
		{"named, and nobody took it", Lost, toldMissed, taken, nil},
		{"taken, and the file that is named is another of as many rows", Lost, told, taken, func(r *Run) { r.lost[0].taken = rows{1, 2} }},
		{"taken, and as many rows of another table are named", Lost, told, taken, func(r *Run) { r.lost = []lostFiles{{}, {all: 2, taken: rows{3, 4}}} }},
		{"taken while it was written, and named", Named, told, taken, func(r *Run) { r.lost[0] = lostFiles{all: 2, unseen: 2} }},
		{"taken, and other offsets named", Audited, told, taken, func(r *Run) { r.gone[a] = offsets(7, 8) }},
		{"taken, and fewer offsets named", Audited, told, taken, func(r *Run) { r.gone[a] = offsets(3) }},
		{"taken, and offsets named that a visible file has", Audited, told, taken, func(r *Run) { r.gone[a] = offsets(2, 3, 4) }},
		{"taken, and offsets named of another table", Audited, told, taken, func(r *Run) { delete(r.gone, a); r.gone[b] = offsets(3, 4) }},
		{"taken and named, and the audit finds something else", Audited, told, taken, func(r *Run) { r.Problems = []string{"audit: file-foreign: a file"} }},
		{"taken and named, and other accounts", Audited, told, taken, func(r *Run) { r.splits = []string{"others"} }},
		{"taken and named, and a row is there twice", Doubled, told, taken, func(r *Run) { r.tables[1] = rows{11, 12, 12} }},
		{"it stopped at a loss, and nothing is missing", Audited, told, whole, nil},
	} {
		r := c.run()
		if c.change != nil {
			c.change(r)
		}
		d, j := &Drill{Audit: true}, &judge{want: want, alike: true, settled: true}
		if got := d.verdict(j, r, c.out); got != c.want || got == Audited && len(r.Problems) == 0 {
			t.Errorf("%s: %q, want %q: %+v", c.what, got, c.want, r.Sight)
		}
	}
}

// TestVerdictUnlike: rows that differ from run to run are counted by table, and their offsets held against each other.
func TestVerdictUnlike(t *testing.T) {
	want := &Sight{tables: []rows{{1, 2, 3}, {11, 12, 13}}, visible: map[string]account.Set{"k": offsets(1, 2, 3)}}
	out := outcome{end: End{Finished: true}, struck: 1, named: 1}
	for _, c := range []struct {
		named []int64
		gone  []int64
		want  Verdict
	}{
		{[]int64{2, 0}, []int64{2, 3}, Named},
		{[]int64{0, 2}, []int64{2, 3}, Lost},
		{[]int64{2, 0}, []int64{2, 4}, Audited},
	} {
		r := &Run{Fault: Taken, strikes: []Strike{{}}, Sight: Sight{tables: []rows{{7}, {71, 72, 73}}, visible: map[string]account.Set{"k": offsets(1)}, Named: 2,
			gone: map[string]account.Set{"k": offsets(c.gone...)}, lost: []lostFiles{{all: c.named[0]}, {all: c.named[1]}}}}
		if got := (&Drill{Audit: true}).verdict(&judge{want: want, settled: true}, r, out); got != c.want {
			t.Errorf("%v: %q, %v", c, got, r.Problems)
		}
	}
}

// TestKeepTriesRestarts: a run that finds out what a restart does has a folder that nothing was in, whether other runs are kept or not.
func TestKeepTriesRestarts(t *testing.T) {
	for _, keep := range []bool{false, true} {
		rep := drillModelWith(t, right, func(d *Drill) { d.Keep, d.Parallel = keep, 1 })
		after := 0
		for _, r := range rep.Runs {
			if r.Step.Life > 0 {
				after++
			}
			if r.Verdict.Bad() {
				t.Errorf("%s, %s: %s %s", r.Step, r.Fault, r.Verdict, r.Error)
			}
		}
		if after == 0 {
			t.Errorf("keep %t: no step of a restart was tried in %d runs", keep, len(rep.Runs))
		}
		if keep == (len(rep.Notes) == 0) || keep && !strings.Contains(rep.Notes[0], "left to be looked at") {
			t.Errorf("keep %t: %v", keep, rep.Notes)
		}
	}
}

// missing is a Subject that does not come to steps that are to fail at a later one of their kind, and looks at what it finds when it begins.
type missing struct {
	Subject
	t      *testing.T
	stores fs.Resolver
	tried  map[string]int
}

func (m *missing) Live(ctx context.Context, o Orders, life int) (End, error) {
	if life == 0 {
		f, home, err := m.stores.Resolve(o.Places.home())
		if err != nil {
			return End{}, err
		}
		if list, err := f.List(home); !errors.Is(err, fs.ErrNotExist) {
			m.t.Errorf("%s: a run begins with %v, %v", o.Places.home(), list, err)
		}
		if n, err := struckSo(o); n > 0 || err != nil {
			m.t.Errorf("%s: %d strikes before it begins, %v", o.Places.home(), n, err)
		}
		m.tried[o.Places.home()]++
	}
	o.Strikes = slices.Clone(o.Strikes)
	if last := len(o.Strikes) - 1; last >= 0 && o.Strikes[last].Nth > 1 {
		o.Strikes[last].Nth = 1000
	}
	return m.Subject.Live(ctx, o, life)
}

// TestNextTry: a run that is tried again, since its step did not come, finds nothing of the first try, also where everything is kept.
func TestNextTry(t *testing.T) {
	m := &missing{t: t, tried: map[string]int{}}
	rep := drillModelWith(t, right, func(d *Drill) {
		m.Subject, m.stores = d.Subject, d.Stores
		d.Subject, d.Keep, d.Parallel = m, true, 1
		d.Faults = []Fault{KillAfter}
	})
	again := 0
	for _, n := range m.tried {
		again += n - 1
	}
	if n := rep.Count(); again == 0 || n[NotReached] > len(rep.Runs)/10 || rep.Bad() > 0 {
		t.Errorf("%d runs were tried again: %v", again, n)
	}
}
