package repair

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/audit"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs/local"
)

func (o *old) amend(removed []string, added ...string) error {
	_, err := Amend(context.Background(), &env.Real{}, local.New(), o.root, Rewrite{Removed: removed, Added: added, Who: "operator", Why: "x"}, slog.New(slog.DiscardHandler))
	return err
}

// refuses wants the amend not to be recorded, and the reason.
func (o *old) refuses(want string, removed []string, added ...string) {
	o.t.Helper()
	before := o.numbers()
	err := o.amend(removed, added...)
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), want) {
		o.t.Errorf("want %q: %v", want, err)
	}
	if o.numbers() != before {
		o.t.Errorf("an entry was written (%s)", want)
	}
}

func (o *old) numbers() int {
	list, err := filepath.Glob(filepath.Join(o.root, "_staunch", "*", "*.staunch"))
	o.must(err)
	return len(list)
}

func (o *old) bytes(p string) string {
	o.t.Helper()
	b, err := os.ReadFile(p)
	o.must(err)
	return string(b)
}

// TestAmendCopies: a copy of a file that stays is not taken in the place of a removed one, whatever names it: a certificate, another added file. The
// removed file itself under another name is.
func TestAmendCopies(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		amendCopies(t, earlier)
	}
}

func amendCopies(t *testing.T, earlier bool) {
	o := newOld(t)
	o.earlier = earlier
	gone, stays := o.commit(), o.commit()
	row := o.bytes(gone.Final)
	o.must(os.Remove(gone.Final))
	other := o.write("dt=2026-01-02/other.json", o.bytes(stays.Final))
	o.refuses("is a copy of "+stays.Final, []string{gone.Final}, other)
	o.must(os.Remove(other))
	renamed := o.write("dt=2026-01-02/renamed.json", row)
	o.must(o.amend([]string{gone.Final}, renamed))
	if err := o.amend([]string{gone.Final}, renamed); err != nil {
		t.Errorf("the same again: %v", err)
	}
	o.must(os.Remove(renamed))
	gone.Final = renamed
	line, rest, _ := strings.Cut(row, "\n")
	a, b := o.write("dt=2026-01-02/a.json", line+"\n"), o.write("dt=2026-01-02/b.json", line+"\n")
	o.refuses("a.json is a copy of", []string{gone.Final}, b, a)
	o.write("dt=2026-01-02/b.json", rest)
	o.must(o.amend([]string{gone.Final}, a, b))
	o.must(os.Remove(b))
	c := o.write("dt=2026-01-02/c.json", line+"\n")
	o.refuses("is a copy of "+a, []string{b}, c)
	o.write("dt=2026-01-02/c.json", rest)
	o.must(o.amend([]string{b}, c))
	if r, found := o.audit(); len(found) != 2 || len(r.Jobs[0].Problems) != 0 { // the files from before, and their success file
		t.Errorf("%v %+v", found, r)
	}
}

// TestAmendNames: a file that readers do not see, or do not look for, is not taken in.
func TestAmendNames(t *testing.T) {
	o := newOld(t)
	gone := o.commit()
	o.must(os.Rename(gone.Final, filepath.Join(o.root, "..", "kept")))
	row := o.bytes(filepath.Join(o.root, "..", "kept"))
	for _, name := range []string{"_a.json", ".a.json"} {
		o.refuses("readers pass over", []string{gone.Final}, o.write("dt=2026-01-02/"+name, row))
	}
	o.refuses("readers pass over", []string{gone.Final}, o.write("_dt/a.json", row))
	o.refuses("the removed files are .json files", []string{gone.Final}, o.write("dt=2026-01-02/a.parquet", row))
}

// TestAmendIsJSON: a file whose lines are no rows is not taken in, although its lines can be counted.
func TestAmendIsJSON(t *testing.T) {
	o := newOld(t)
	gone := o.commit()
	row := o.bytes(gone.Final)
	o.must(os.Remove(gone.Final))
	for text, line := range map[string]string{"garbage\n": "line 1 ", row + "[1]\n": "is no JSON object", row + "{\"n\":\n": "is no JSON object", row + "\n" + row: "is no JSON object", "{} {}\n": "line 1 "} {
		o.refuses(line, []string{gone.Final}, o.write("dt=2026-01-02/a.json", text))
	}
	o.must(o.amend([]string{gone.Final}, o.write("dt=2026-01-02/a.json", row)))
}

// TestAmendSurplus: offsets that the removed files did not hold are those of other files.
func TestAmendSurplus(t *testing.T) {
	f := func(from, to int64) account.File {
		return account.File{Offsets: []account.Offsets{{Split: "e-0", Set: set(from, to)}}}
	}
	for _, c := range []struct {
		removed, added []account.File
		want           string
	}{
		{[]account.File{f(0, 10)}, []account.File{f(2, 5)}, ""},
		{[]account.File{f(0, 10), f(10, 20)}, []account.File{f(0, 20)}, ""},
		{[]account.File{f(0, 10)}, []account.File{f(2, 11)}, "10"},
		{[]account.File{f(0, 10)}, []account.File{f(0, 5), f(4, 10)}, "4"},
		{[]account.File{f(0, 10), f(0, 10)}, []account.File{f(0, 10), f(0, 10)}, ""}, // of two INSERTs
		{[]account.File{f(0, 10)}, []account.File{{}}, ""},
		{nil, []account.File{f(0, 1)}, "0"},
	} {
		got := ""
		if s := audit.FindSurplus(c.removed, c.added); len(s) > 0 {
			got = s[0].Set.String()
		}
		if got != c.want {
			t.Errorf("%+v by %+v: %q, want %q", c.removed, c.added, got, c.want)
		}
		a := &amender{found: map[string]*named{}}
		e := account.Amend{Added: c.added}
		for i, r := range c.removed {
			p := string(rune('a' + i))
			r.XXH128, e.Removed, a.found[p] = "x", append(e.Removed, p), &named{File: r}
			a.found[p].XXH128 = "x"
		}
		if err := a.surplus(&e); (err != nil) != (c.want != "") {
			t.Error(err)
		}
	}
}

// TestAmendOfALoss: a lost file is not rewritten as long as its repair is not in its place. Behind that it may be.
func TestAmendOfALoss(t *testing.T) {
	o := newOld(t)
	f := o.next()
	text := o.bytes(f.Pending)
	o.must(os.Remove(f.Pending))
	c := account.Certificate{LogID: "l", Job: "orders", Epoch: 1, Checkpoint: o.id, Complete: "x", Files: []account.File{f}, AccountsClose: true,
		Ranges: []account.Range{{Split: "e-0", Insert: "1", From: f.Offsets[0].Set.Runs[0].From, To: f.Offsets[0].Set.Runs[0].To}}}
	_, err := o.table.Commit(c, o.end)
	if fault.ClassOf(err) != fault.Lost {
		t.Fatal(err)
	}
	accept := err.Error()[strings.LastIndex(err.Error(), " ")+1:]
	o.table = commit.Open(&env.Real{}, local.New(), o.root, commit.Owner{Job: "orders", LogID: "l", LogPath: "/ck/orders", Epoch: 2, Accept: []string{accept}}, commit.Variant{},
		slog.New(slog.DiscardHandler))
	o.must(o.table.Claim(nil))
	_, err = o.table.Commit(c, o.end)
	o.must(err)
	o.refuses("is lost", []string{f.Final})

	r := commit.OpenRepair(&env.Real{}, local.New(), o.root, "orders", commit.Variant{}, slog.New(slog.DiscardHandler))
	lost, err := r.Lost()
	o.must(err)
	name := account.RepairName(account.Job8("orders"), o.id, strings.Repeat("a", 24), "json")
	rep := commit.Replacement{Staged: o.write("_DUMP_TEMPORARY/"+name, text), Length: f.Length, Sums: f.Sums, Rows: f.Rows}
	_, err = r.Repair(lost[0], rep, commit.Order{Who: "operator"})
	o.must(err)
	o.must(os.Rename(f.Final, rep.Staged)) // as if it had been killed before it moved it
	o.refuses("is being repaired", []string{f.Final})
	if _, ok, err := r.Finish(lost[0]); err != nil || !ok {
		t.Fatal(ok, err)
	}
	o.must(os.Remove(f.Final))
	o.must(o.amend([]string{f.Final}))
}

// TestAmendOfMovedTable: the paths that the audit shows of a table that was moved are not those of its log, and that is said.
func TestAmendOfMovedTable(t *testing.T) {
	o := newOld(t)
	f := o.commit()
	was := o.root
	o.root += "-moved"
	o.must(os.Rename(was, o.root))
	final := o.root + strings.TrimPrefix(f.Final, was)
	o.must(os.Remove(final))
	o.refuses("the table was written at "+was, []string{final})
	o.refuses("takes no amends", []string{final})
}

// TestAdoptCopyOfReplacement: what replaced a lost file is a file of the job's too.
func TestAdoptCopyOfReplacement(t *testing.T) {
	o := newOld(t)
	f := o.commit()
	text := o.bytes(f.Final)
	o.must(os.Remove(f.Final))
	r := commit.OpenRepair(&env.Real{}, local.New(), o.root, "orders", commit.Variant{}, slog.New(slog.DiscardHandler))
	list, err := r.Removed([]string{f.Final})
	o.must(err)
	text = " " + text
	name := account.RepairName(account.Job8("orders"), o.id, strings.Repeat("a", 24), "json")
	p := o.write("_DUMP_TEMPORARY/"+name, text)
	m, err := audit.Measure(context.Background(), local.New(), p)
	o.must(err)
	_, err = r.Repair(list[0], commit.Replacement{Staged: p, Length: m.Length, Sums: m.Sums, Rows: m.Rows}, commit.Order{Who: "operator"})
	o.must(err)
	o.write("dt=2026-01-02/copy.json", text)
	_, err = Adopt(context.Background(), &env.Real{}, local.New(), o.root, Adoption{Why: "x"}, slog.New(slog.DiscardHandler))
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "is a copy of "+f.Final) {
		t.Error(err)
	}
}

// TestAdoptYounger: a file that was written behind the first certificate may hold rows of the job: it is taken only if that is said.
func TestAdoptYounger(t *testing.T) {
	o := newOld(t)
	f := o.next()
	run := f.Offsets[0].Set.Runs[0]
	res, err := o.table.Commit(account.Certificate{LogID: "l", Job: "orders", Epoch: 1, Checkpoint: o.id, Complete: "x", Files: []account.File{f}, AccountsClose: true, Time: time.Now().Add(time.Minute),
		Ranges: []account.Range{{Split: "e-0", Insert: "1", From: run.From, To: run.To}}}, o.end)
	o.must(err)
	o.end = res.Certificate
	late := o.write("dt=2026-01-02/late.json", o.bytes(f.Final)+"\n")
	o.must(os.Chtimes(late, time.Time{}, time.Now().Add(time.Hour)))
	adopt := func(younger bool) (*Adopted, error) {
		return Adopt(context.Background(), &env.Real{}, local.New(), o.root, Adoption{Why: "x", Younger: younger}, slog.New(slog.DiscardHandler))
	}
	before := o.numbers()
	if _, err := adopt(false); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "late.json was written or changed at") || o.numbers() != before {
		t.Error(err)
	}
	if a, err := adopt(true); err != nil || a.Files != 4 {
		t.Errorf("%+v, %v", a, err)
	}
}
