package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/env"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs/local"
)

// hole is a file that is lost, with its rows as they were written.
type hole struct {
	file account.File
	cert account.Certificate
	rows []byte
}

// punch commits one more checkpoint whose second file is lost.
func (l *lake) punch(accept bool) hole {
	l.t.Helper()
	c := l.write(40)
	h := hole{file: c.Files[1], cert: c}
	var err error
	h.rows, err = os.ReadFile(h.file.Pending)
	l.must(err)
	l.must(os.Remove(h.file.Pending))
	_, err = l.table.Commit(c, l.expect)
	if fault.ClassOf(err) != fault.Lost {
		l.t.Fatalf("committed without a lost file: %v", err)
	}
	if accept {
		l.accept(c, err)
	}
	return h
}

// accept goes on over the loss.
func (l *lake) accept(c account.Certificate, loss error) {
	l.t.Helper()
	l.owner.Accept, l.owner.AcceptWho = []string{string(loss.Error()[strings.LastIndex(loss.Error(), " ")+1:])}, "operator"
	l.open()
	l.commit(c)
}

// turned has the lines of a JSON file in another order and the first one a blank longer: the same rows, other bytes.
func turned(b []byte) []byte {
	lines := bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	slices.Reverse(lines)
	for i := range lines {
		lines[i] = append(bytes.TrimSuffix(slices.Clone(lines[i]), []byte("\n")), '\n')
	}
	return append([]byte("{ "), bytes.Join(lines, nil)[1:]...)
}

func (l *lake) repairer() *commit.Repairer {
	return commit.OpenRepair(&envtest.Quick{}, lazy{local.New()}, l.root, l.job, commit.Variant{}, slog.New(slog.DiscardHandler))
}

// replacement is what is staged for h.
func (l *lake) replacement(h hole, content []byte) commit.Replacement {
	l.t.Helper()
	p := filepath.Join(l.root, "_DUMP_TEMPORARY", account.RepairName(account.Job8(l.job), h.cert.Checkpoint, env.RandomHex(&envtest.Quick{}, 12), "json"))
	l.must(os.MkdirAll(filepath.Dir(p), 0o777))
	l.must(os.WriteFile(p, content, 0o666))
	return commit.Replacement{Staged: p, Length: int64(len(content)), Sums: account.SumsOf(content), Rows: h.file.Rows}
}

// mend repairs h; change, if not nil, makes its order another one.
func (l *lake) mend(h hole, change func(*commit.Replacement)) {
	l.t.Helper()
	x := l.repairer()
	list, err := x.Lost()
	l.must(err)
	i := slices.IndexFunc(list, func(f commit.LostFile) bool { return f.Final == h.file.Final })
	if i < 0 {
		l.t.Fatalf("%s is not lost: %+v", h.file.Final, list)
	}
	content := h.rows
	if strings.HasSuffix(h.file.Final, ".json") {
		content = turned(h.rows)
	}
	rep := l.replacement(h, content)
	if change != nil {
		change(&rep)
	}
	out, err := x.Repair(list[i], rep, commit.Order{Who: "operator", Host: "host", Why: "because"})
	if err != nil || out.State != commit.RepairPlaced {
		l.t.Fatalf("%+v, %v", out, err)
	}
}

// TestRepairedIsClean: a table whose lost file was replaced is clean, with or without having been accepted before, archived or not, copied elsewhere
// or not; the report names who did it, and no row is missing.
func TestRepairedIsClean(t *testing.T) {
	for _, c := range []struct {
		format string
		every  int
		accept bool
	}{{"json", 0, true}, {"json", 3, false}, {"json", 3, true}, {"parquet", 0, false}} {
		t.Run(fmt.Sprint(c.format, " ", c.every, " ", c.accept), func(t *testing.T) {
			t.Parallel()
			l := standard(t, c.format, c.every)
			whole := l.audit(Options{}).Jobs[0]
			h := l.punch(c.accept)
			if c.accept {
				l.checkpoints(2)
				if r := l.audit(Options{}); r.Verdict != Clean || len(r.Jobs[0].Losses) != 1 || r.Jobs[0].Losses[0].Repairing != "" {
					t.Fatal(text(r))
				}
			}
			before := l.audit(Options{}).Jobs[0]
			l.mend(h, nil)
			if !c.accept {
				l.begin(5)
				l.commit(h.cert)
			}
			l.checkpoints(1)
			r := l.audit(Options{})
			j := r.Jobs[0]
			if r.Verdict != Clean || len(j.Losses) > 0 || len(j.Repairs) != 1 || len(j.Notes) > 0 {
				t.Fatal(text(r))
			}
			if x := j.Repairs[0]; x.Path != h.file.Final || x.Rows != h.file.Rows || !strings.HasPrefix(x.Who, "operator ") || x.Why != "because" || len(x.Offsets) == 0 {
				t.Errorf("%+v", x)
			}
			if !strings.Contains(text(r), "repaired: "+h.file.Final) || j.Splits[0].Lost+j.Splits[1].Lost != 0 {
				t.Error(text(r))
			}
			if lost := before.Splits[0].Lost + before.Splits[1].Lost; lost != h.file.Rows || j.Rows <= whole.Rows {
				t.Errorf("lost %d of %d before", lost, h.file.Rows)
			}
			next := filepath.Join(filepath.Dir(l.root), "elsewhere")
			if err := os.Rename(l.root, next); err != nil {
				t.Fatal(err)
			}
			l.root = next
			if r := l.audit(Options{}); r.Verdict != Clean || len(r.Jobs[0].Repairs) != 1 {
				t.Errorf("moved: %s", text(r))
			}
		})
	}
}

// TestRemovedAndRepaired: a committed file that somebody took away and that was written again is clean.
func TestRemovedAndRepaired(t *testing.T) {
	l := standard(t, "json", 0)
	h := hole{file: l.file(1, 1)}
	_, h.cert = l.certificate(1)
	var err error
	h.rows, err = os.ReadFile(h.file.Final)
	l.must(err)
	l.must(os.Remove(h.file.Final))
	x := l.repairer()
	list, err := x.Removed([]string{h.file.Final})
	l.must(err)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	if out, err := x.Repair(list[0], l.replacement(h, turned(h.rows)), commit.Order{Who: "operator"}); err != nil || out.State != commit.RepairPlaced {
		t.Fatalf("%+v, %v", out, err)
	}
	if r := l.audit(Options{}); r.Verdict != Clean || len(r.Jobs[0].Repairs) != 1 {
		t.Error(text(r))
	}
}

// TestRepairBegun: an entry whose replacement is not in its place says so, and what to do.
func TestRepairBegun(t *testing.T) {
	l := standard(t, "json", 0)
	h := l.punch(false)
	rep := l.replacement(h, turned(h.rows))
	_, hash := l.newest()
	l.put(l.numbers()[len(l.numbers())-1]+1, account.KindRepair, l.body(account.Repair{LogID: l.owner.LogID, Job: l.job, Checkpoint: h.cert.Checkpoint, Certificate: hash, Final: h.file.Final,
		Staged: rep.Staged, Length: rep.Length, Sums: rep.Sums, Rows: rep.Rows, Who: "operator", Time: time.Now()}))
	r := l.audit(Options{})
	if got := kinds(r); !slices.Equal(got, []Kind{FileLost}) || !strings.Contains(text(r), "operator ") || !strings.Contains(text(r), "run the repair again") {
		t.Errorf("%v\n%s", got, text(r))
	}
	x := l.repairer()
	list, err := x.Lost()
	l.must(err)
	if len(list) != 1 || len(list[0].Repairs) != 1 {
		t.Fatalf("%+v", list)
	}
	if out, ok, err := x.Finish(list[0]); err != nil || !ok || out.State != commit.RepairPlaced {
		t.Fatalf("%+v %v %v", out, ok, err)
	}
	l.begin(5)
	l.commit(h.cert)
	if r := l.audit(Options{}); r.Verdict != Clean || len(r.Jobs[0].Repairs) != 1 {
		t.Error(text(r))
	}
}

// newest gives number and hash of the newest certificate.
func (l *lake) newest() (int64, string) {
	l.t.Helper()
	n := l.nth("certificate", -1)
	b, err := os.ReadFile(l.entry(n))
	l.must(err)
	return n, hashOf(string(b))
}

func (l *lake) body(v any) string {
	l.t.Helper()
	b, err := json.Marshal(v)
	l.must(err)
	return string(b)
}

// next is the number behind the newest entry.
func (l *lake) nextNumber() int64 { return l.numbers()[len(l.numbers())-1] + 1 }

// amend takes a file out of the table on purpose; in its place, under the same name or another, stands one with a row less.
func (l *lake) amend(f account.File, name string) account.File {
	l.t.Helper()
	b, err := os.ReadFile(f.Final)
	l.must(err)
	b = b[bytes.IndexByte(b, '\n')+1:]
	a := account.File{Final: filepath.Join(filepath.Dir(f.Final), name), Partition: f.Partition, Length: int64(len(b)), Sums: account.SumsOf(b), Rows: f.Rows - 1}
	l.must(os.Remove(f.Final))
	l.must(os.WriteFile(a.Final, b, 0o666))
	n := l.nextNumber()
	l.put(n, account.KindAmend, l.body(account.Amend{Removed: []string{f.Final}, Added: []account.File{a}, RowsRemoved: 1, Who: "operator", Why: "a legal delete", Time: time.Now()}))
	l.places = nil
	l.open()
	return a
}

// TestUnnamedOfMovedTable: what an amend put into a table is named wherever the table stands now.
func TestUnnamedOfMovedTable(t *testing.T) {
	l := standard(t, "json", 0)
	l.amend(l.file(0, 1), "rewritten.json")
	l.must(os.WriteFile(l.root+"/other.json", []byte("{}\n"), 0o666))
	to := filepath.Join(filepath.Dir(l.root), "elsewhere")
	l.must(os.Rename(l.root, to))
	list, lines, err := ListUnnamed(context.Background(), local.New(), to, "")
	if err != nil || !lines || len(list) != 1 || list[0].Path != to+"/other.json" {
		t.Error(list, lines, err)
	}
}

// TestAmendedIsClean: what was rewritten on purpose and recorded is clean, under the old name or a new one, twice, and archived.
func TestAmendedIsClean(t *testing.T) {
	for _, every := range []int{0, 2} {
		l := standard(t, "json", every)
		rows := l.audit(Options{}).Jobs[0].Rows
		if every == 0 {
			l.amend(l.file(0, 1), filepath.Base(l.file(0, 1).Final))
		}
		c := l.write(40)
		l.commit(c)
		more := int64(0)
		for _, f := range c.Files {
			more += f.Rows
		}
		f := l.amend(c.Files[0], "rewritten.json")
		l.amend(f, "rewritten-again.json")
		l.checkpoints(2)
		r := l.audit(Options{})
		want := int64(2)
		if every == 0 {
			want = 3
		}
		if r.Verdict != Clean || r.Jobs[0].RowsAmended != want || !strings.Contains(text(r), "a legal delete") || r.Jobs[0].Rows < rows+more-want {
			t.Errorf("every %d: %s", every, text(r))
		}
	}
}

// merge puts one file in the place of several, as a compaction does, and records that.
func (l *lake) merge(name string, files ...account.File) account.File {
	l.t.Helper()
	var all []byte
	a := account.File{Final: filepath.Join(filepath.Dir(files[0].Final), name), Partition: files[0].Partition}
	e := account.Amend{Who: "operator", Why: "compaction", Time: time.Now()}
	for _, f := range files {
		b, err := os.ReadFile(f.Final)
		l.must(err)
		l.must(os.Remove(f.Final))
		all = append(all, b...)
		a.Rows += f.Rows
		e.Removed = append(e.Removed, f.Final)
	}
	l.must(os.WriteFile(a.Final, all, 0o666))
	a.Length, a.Sums = int64(len(all)), account.SumsOf(all)
	e.Added = []account.File{a}
	l.put(l.nextNumber(), account.KindAmend, l.body(e))
	l.places = nil
	l.open()
	return a
}

// TestAmendedAndRewound: a rewind takes out what an amend put in the place of superseded files, also over two amends, and leaves the rest.
func TestAmendedAndRewound(t *testing.T) {
	l := standard(t, "json", 0)
	stays := l.merge("old.json", l.file(0, 0), l.file(1, 0))
	first := l.merge("new.json", l.file(4, 0), l.file(4, 1))
	goes := l.merge("newer.json", first, l.file(4, 2))
	if b := l.back(1); len(b.Mixed) != 0 { // all of it, or none
		t.Errorf("%+v", b.Mixed)
	}
	if b := l.back(0); len(b.Mixed) != 1 || b.Mixed[0].Added[0].Final != stays.Final {
		t.Errorf("%+v", b.Mixed)
	}
	l.rewind(3)
	for p, want := range map[string]bool{stays.Final: true, goes.Final: false} {
		if _, err := os.Stat(p); (err == nil) != want {
			t.Errorf("%s: %v", p, err)
		}
	}
	if r := l.audit(Options{}); r.Verdict != Clean {
		t.Error(text(r))
	}
	took, err := commit.ReadTakenOut(&envtest.Quick{}, local.New(), l.root, l.job)
	if err != nil || len(took) != 1 || !took[0].Files[filepath.Join(goes.Partition, "newer.json")] {
		t.Errorf("%+v, %v", took, err)
	}
}

// substitute puts a file made of other's bytes in the place of f, and records that.
func (l *lake) substitute(f, other account.File, change func([]byte) []byte, offsets []account.Offsets) {
	l.t.Helper()
	b, err := os.ReadFile(other.Final)
	l.must(err)
	b = change(b)
	a := account.File{Final: filepath.Join(filepath.Dir(f.Final), "other.json"), Partition: f.Partition, Length: int64(len(b)), Sums: bothSums(b), Rows: other.Rows, Offsets: offsets}
	l.must(os.Remove(f.Final))
	l.must(os.WriteFile(a.Final, b, 0o666))
	l.put(l.nextNumber(), account.KindAmend, l.body(account.Amend{Removed: []string{f.Final}, Added: []account.File{a}, Who: "operator", Why: "x"}))
	l.at(a.Final)
}

// TestEarlierSums: certificates and amends of builds before XXH128 are clean, alone and beside newer ones: that a checksum is not there makes no two files
// the same, and a file that was given another name is no copy.
func TestEarlierSums(t *testing.T) {
	l := standard(t, "json", 0)
	l.earlier(0)
	l.earlier(1)
	two := l.file(0, 0)
	l.amend(l.file(0, 1), "first.json")
	b, err := os.ReadFile(two.Final)
	l.must(err)
	l.must(os.Remove(two.Final))
	var halves []account.File
	cut := bytes.IndexByte(b, '\n') + 1
	for i, part := range [][]byte{b[:cut], b[cut:]} {
		f := account.File{Final: filepath.Join(filepath.Dir(two.Final), fmt.Sprintf("half-%d.json", i)), Partition: two.Partition, Length: int64(len(part)), Rows: int64(bytes.Count(part, []byte("\n"))),
			Sums: account.Sums{SHA256: bothSums(part).SHA256}}
		l.must(os.WriteFile(f.Final, part, 0o666))
		halves = append(halves, f)
	}
	l.put(l.nextNumber(), account.KindAmend, l.body(account.Amend{Removed: []string{two.Final}, Added: halves, Who: "operator", Why: "x"}))
	l.substitute(l.file(1, 0), l.file(1, 0), func(b []byte) []byte { return b }, nil)
	l.places = nil
	if r := l.audit(Options{}); r.Verdict != Clean {
		t.Error(text(r))
	}
}

// TestAmendOfALoss: an amend does not make a loss undone, whether a repair of it was begun or not.
func TestAmendOfALoss(t *testing.T) {
	for _, begun := range []bool{false, true} {
		l := standard(t, "json", 0)
		h := l.punch(true)
		if begun {
			_, hash := l.newest()
			rep := l.replacement(h, h.rows)
			l.put(l.nextNumber(), account.KindRepair, l.body(account.Repair{Certificate: hash, Checkpoint: h.cert.Checkpoint, Final: h.file.Final, Staged: rep.Staged, Length: rep.Length,
				Sums: rep.Sums, Rows: rep.Rows}))
		}
		l.put(l.nextNumber(), account.KindAmend, l.body(account.Amend{Removed: []string{h.file.Final}, RowsRemoved: h.file.Rows, Who: "operator", Why: "x"}))
		if r := l.audit(Options{}); len(r.Jobs[0].Losses) != 1 || r.Jobs[0].Losses[0].Path != h.file.Final {
			t.Errorf("begun %v: %s", begun, text(r))
		}
	}
}

// TestAmendRenames: the same bytes under another name are no copy, and two rewritten files may share what two removed ones shared.
func TestAmendRenames(t *testing.T) {
	l := standard(t, "json", 2)
	f := l.file(0, 1)
	b, err := os.ReadFile(f.Final)
	l.must(err)
	a := f
	a.Final, a.Insert, a.Attempt, a.Pending = filepath.Join(filepath.Dir(f.Final), "renamed.json"), "", "", ""
	l.must(os.Rename(f.Final, a.Final))
	l.put(l.nextNumber(), account.KindAmend, l.body(account.Amend{Removed: []string{f.Final}, Added: []account.File{a}, Who: "operator", Why: "x"}))
	l.places = nil
	l.open()
	l.checkpoints(2)
	if r := l.audit(Options{}); r.Verdict != Clean || len(b) == 0 {
		t.Error(text(r))
	}
}

// mended are damages of repaired and amended tables.
var mended = []damage{
	{name: "replacement edited", do: func(l *lake) {
		h := l.punch(true)
		l.mend(h, nil)
		l.edit(h.file.Final, flip)
	}, want: []Kind{FileChanged}, fast: []Kind{}},
	{name: "replacement shortened", do: func(l *lake) {
		h := l.punch(true)
		l.mend(h, nil)
		l.edit(h.file.Final, func(b []byte) []byte { return b[1:] })
	}, want: []Kind{FileChanged}, says: "was lost, and what stands in its place is neither"},
	{name: "replacement removed after done", both: true, do: func(l *lake) {
		h := l.punch(false)
		l.mend(h, nil)
		l.begin(5)
		l.commit(h.cert)
		l.remove(h.file.Final)
	}, want: []Kind{FileMissing}},
	{name: "replacement with rows too few", do: func(l *lake) {
		h := l.punch(true)
		content := h.rows[bytes.IndexByte(h.rows, '\n')+1:]
		l.mend(h, func(r *commit.Replacement) {
			l.must(os.WriteFile(r.Staged, content, 0o666))
			r.Length, r.Sums, r.Rows = int64(len(content)), account.SumsOf(content), h.file.Rows-1
		})
		l.at(h.file.Final)
	}, want: []Kind{FileFooter}, fast: []Kind{FileFooter}, says: "the lost file had"},
	{name: "something else in the place of an accepted loss", do: func(l *lake) {
		h := l.punch(true)
		l.create(h.file.Final, []byte("{}\n"))
	}, want: []Kind{FileChanged}},
	{name: "accept that names another file", do: func(l *lake) {
		h := l.punch(true)
		l.change(l.nth("accept", 0), func(b string) string { return strings.ReplaceAll(b, filepath.Base(h.file.Final), "another.json") })
		l.at(h.file.Final)
	}, want: []Kind{FileLost}, fast: []Kind{FileLost}},
	{name: "accept of an earlier version before the checkpoint is done", do: func(l *lake) {
		h := l.punch(false)
		_, hash := l.newest()
		l.put(l.nextNumber(), account.KindAccept, l.body(account.Accept{LogID: l.owner.LogID, Checkpoint: h.cert.Checkpoint, Certificate: hash, ID: "5-old"}))
		l.at(h.file.Final)
	}, want: []Kind{FileLost}, fast: []Kind{FileLost}},
	{name: "repair of an unknown certificate", do: func(l *lake) {
		l.put(l.nextNumber(), account.KindRepair, l.body(account.Repair{Certificate: hashOf("x"), Final: l.file(0, 0).Final, Staged: "/x", Sums: account.SumsOf(nil)}))
	}, want: []Kind{ChainBroken}},
	{name: "repair of an unknown file", do: func(l *lake) {
		_, hash := l.newest()
		l.put(l.nextNumber(), account.KindRepair, l.body(account.Repair{Certificate: hash, Final: l.root + "/none.json", Staged: "/x", Sums: account.SumsOf(nil)}))
	}, want: []Kind{ChainBroken}},
	{name: "repair behind a rewind", do: func(l *lake) {
		h := l.punch(false)
		_, hash := l.newest()
		l.rewind(3)
		l.put(l.nextNumber(), account.KindRepair, l.body(account.Repair{Certificate: hash, Checkpoint: h.cert.Checkpoint, Final: h.file.Final, Staged: "/x", Sums: account.SumsOf(nil)}))
	}, want: []Kind{Order}},
	{name: "staged replacement behind a rewind", do: func(l *lake) {
		h := l.punch(false)
		_, hash := l.newest()
		rep := l.replacement(h, h.rows)
		l.put(l.nextNumber(), account.KindRepair, l.body(account.Repair{Certificate: hash, Checkpoint: h.cert.Checkpoint, Final: h.file.Final, Staged: rep.Staged, Length: rep.Length, Sums: rep.Sums}))
		l.open()
		l.rewind(3)
		l.create(rep.Staged, h.rows)
		l.at(rep.Staged)
	}, want: []Kind{FileSuperseded}},
	{name: "amended file put back", do: func(l *lake) {
		f := l.file(0, 1)
		b, err := os.ReadFile(f.Final)
		l.must(err)
		l.amend(f, "rewritten.json")
		l.create(f.Final, b)
	}, want: []Kind{FileAmended}},
	{name: "file of an amend edited", do: func(l *lake) { l.edit(l.amend(l.file(0, 1), "rewritten.json").Final, flip) }, want: []Kind{FileChanged}, fast: []Kind{}},
	{name: "file of an amend removed", do: func(l *lake) { l.remove(l.amend(l.file(0, 1), "rewritten.json").Final) }, want: []Kind{FileMissing}},
	{name: "file of an amend outside", do: func(l *lake) {
		l.put(l.nextNumber(), account.KindAmend, l.body(account.Amend{Removed: nil, Added: []account.File{{Final: "/elsewhere/x.json", Sums: account.SumsOf(nil)}}, Why: "x"}))
	}, want: []Kind{FileMissing, FileOutside}},
	{name: "amend over a rewind", do: func(l *lake) {
		f := l.merge("mixed.json", l.file(0, 0), l.file(4, 0))
		l.rewind(3)
		l.at(f.Final)
	}, want: []Kind{FileSuperseded}},
	{name: "rewound file of an amend put back", do: func(l *lake) {
		f := l.merge("both.json", l.file(4, 0), l.file(4, 1))
		b, err := os.ReadFile(f.Final)
		l.must(err)
		l.rewind(3)
		l.create(f.Final, b)
	}, want: []Kind{FileSuperseded}},
	{name: "copy of a live file in place of another", do: func(l *lake) {
		l.substitute(l.file(0, 1), l.file(0, 0), func(b []byte) []byte { return b }, nil)
	}, want: []Kind{OffsetsTwice}, fast: []Kind{OffsetsTwice}, says: "is a copy of"},
	{name: "copy of a live file of an earlier build, with SHA-256 alone, in place of another", do: func(l *lake) {
		l.earlier(0)
		l.substitute(l.file(1, 0), l.file(0, 0), func(b []byte) []byte { return b }, nil)
	}, want: []Kind{OffsetsTwice}, fast: []Kind{OffsetsTwice}, says: "is a copy of"},
	{name: "copy of a live file in place of one of an earlier build, with SHA-256 alone", do: func(l *lake) {
		l.earlier(1)
		l.substitute(l.file(1, 0), l.file(0, 0), func(b []byte) []byte { return b }, nil)
	}, want: []Kind{OffsetsTwice}, fast: []Kind{OffsetsTwice}, says: "is a copy of"},
	{name: "amend without a checksum", do: func(l *lake) {
		a := l.amend(l.file(0, 1), "rewritten.json")
		n := l.nth(account.KindAmend, 0)
		l.change(n, func(b string) string { return strings.Replace(b, `"xxh128":`, `"xxh3":`, 1) })
		l.edit(a.Final, func(text []byte) []byte { return bytes.Replace(text, []byte("v"), []byte("w"), 1) })
		l.at(l.entry(n))
	}, want: []Kind{EntryDamaged}, fast: []Kind{EntryDamaged}},
	{name: "repair without a checksum", do: func(l *lake) {
		h := l.punch(false)
		l.mend(h, func(r *commit.Replacement) { r.Sums = account.Sums{} })
		l.at(l.entry(l.nth(account.KindRepair, 0)))
	}, want: []Kind{EntryDamaged}, fast: []Kind{EntryDamaged}},
	{name: "one of two files twice in place of both", do: func(l *lake) {
		f, g := l.file(0, 1), l.file(0, 0)
		b, err := os.ReadFile(f.Final)
		l.must(err)
		a := account.Amend{Removed: []string{f.Final, g.Final}, Who: "operator", Why: "x"}
		for _, name := range []string{"a.json", "b.json"} {
			x := account.File{Final: filepath.Join(filepath.Dir(f.Final), name), Partition: f.Partition, Length: f.Length, Sums: f.Sums, Rows: f.Rows}
			l.must(os.WriteFile(x.Final, b, 0o666))
			a.Added = append(a.Added, x)
		}
		l.must(os.Remove(f.Final))
		l.must(os.Remove(g.Final))
		l.put(l.nextNumber(), account.KindAmend, l.body(a))
		l.at(a.Added[0].Final)
	}, want: []Kind{OffsetsTwice}, fast: []Kind{OffsetsTwice}},
	{name: "offsets of a live file in place of others", do: func(l *lake) {
		l.substitute(l.file(0, 1), l.file(0, 0), turned, l.file(0, 0).Offsets)
	}, want: []Kind{OffsetsTwice}, fast: []Kind{OffsetsTwice}, says: "did not hold"},
	{name: "amend with a name that readers pass over", do: func(l *lake) {
		l.at(l.amend(l.file(0, 1), "_rewritten.json").Final)
	}, want: []Kind{FileOutside}, fast: []Kind{FileOutside}},
	{name: "amend of an unknown file", do: func(l *lake) {
		l.put(l.nextNumber(), account.KindAmend, l.body(account.Amend{Removed: []string{l.root + "/none.json"}, Why: "x"}))
	}, want: []Kind{ChainBroken}},
}
