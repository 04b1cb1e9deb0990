package repair

import (
	"strings"
	"testing"

	"staunch/account"
	"staunch/commit"
	"staunch/connector"
	"staunch/dataflow"
)

// again stands for a source and a sink that can do what a repair needs.
type again struct {
	connector.Source
	connector.Rereader
	connector.Replacer
}

// once stands for those that cannot.
type once struct {
	connector.Source
	connector.Sink
}

func set(from, to int64) (s account.Set) { s.AddRun(from, to); return s }

// TestMay: a file that cannot be made again exactly is refused before anything is read, with the reason.
func TestMay(t *testing.T) {
	type world struct {
		cert *account.Certificate
		file *account.File
		job  *Job
	}
	branch := func(w *world) *dataflow.Branch { return &w.job.Graph.Sources[0].Branches[0] }
	for _, c := range []struct {
		want   string
		change func(*world)
	}{
		{"", func(*world) {}},
		{"", func(w *world) { w.job.SQL = "INSERT INTO a\n\tSELECT 1" }},
		{"recorded no offsets", func(w *world) { w.cert.FromDirectories = []string{"cp-1/task-0"} }},
		{"no positions", func(w *world) { w.file.Offsets = nil }},
		{"another statement", func(w *world) { w.job.SQL = "INSERT INTO b SELECT 1" }},
		{"its plan is not", func(w *world) { w.job.Plan = "q" }},
		{"no INSERT number 2", func(w *world) { w.file.Insert = "2" }},
		{"no INSERT number 1 into this table", func(w *world) { branch(w).Table = "elsewhere" }},
		{"NOW() does not follow", func(w *world) { branch(w).Volatile = "NOW()" }},
		{"other than one row (11 rows, 10 offsets)", func(w *world) { w.file.Rows = 11 }},
		{"other than one row", func(w *world) { w.cert.AccountsClose = false }},
		{"writes no single file again", func(w *world) { branch(w).Sink = once{} }},
		{"table src cannot be read again", func(w *world) { w.job.Graph.Sources[0].Source = once{} }},
		{"do not cover the file's offsets 5 to 14", func(w *world) { w.cert.Ranges[0].From = 6 }},
		{"do not cover", func(w *world) { w.cert.Ranges[0].Insert = "2" }},
		{"which topic the offsets of s-0 number", func(w *world) { w.cert.Ranges[0].Origin = "" }},
	} {
		w := &world{
			cert: &account.Certificate{SQL: "INSERT INTO a SELECT 1", Plan: "p", AccountsClose: true,
				Ranges: []account.Range{{Split: "s-0", Insert: "1", From: 0, To: 20, Origin: "id"}, {Split: "s-1", Insert: "1", From: 0, To: 20}}},
			file: &account.File{Insert: "1", Rows: 10, Offsets: []account.Offsets{{Split: "s-0", Set: set(5, 15)}, {Split: "s-1"}}},
			job: &Job{SQL: "INSERT INTO a SELECT 1", Plan: "p", Graph: dataflow.Graph{Sources: []dataflow.Source{{Describe: "table src", Source: again{},
				Branches: []dataflow.Branch{{Insert: "1", Table: "key", Sink: again{}}}}}}},
		}
		c.change(w)
		f := &lostFile{LostFile: commit.LostFile{File: *w.file, Certificate: &commit.Certified{Certificate: *w.cert}}, out: &File{}}
		ok := (&repairer{job: w.job, key: "key"}).may(f)
		if ok != (c.want == "") || !strings.Contains(f.out.Reason, c.want) || !ok && (f.out.State != Refused || f.out.Hint == "") {
			t.Errorf("want %q: %v, %+v", c.want, ok, f.out)
		}
		if ok && f.origins["s-0"] != "id" {
			t.Errorf("origins %v", f.origins)
		}
	}
}

// TestSets: what is missing is found exactly, and gaps are read over if they are small.
func TestSets(t *testing.T) {
	a := account.Set{Runs: []account.Run{{From: 0, To: 10}, {From: 20, To: 30}, {From: 40, To: 41}}}
	b := account.Set{Runs: []account.Run{{From: 2, To: 3}, {From: 5, To: 22}, {From: 29, To: 50}}}
	if got := minus(a, b).String(); got != "0..1 3..4 22..28" {
		t.Error(got)
	}
	if got := and(a, b).String(); got != "2 5..9 20..21 29 40" {
		t.Error(got)
	}
	if minus(a, a).Count() != 0 || minus(a, account.Set{}).String() != a.String() || and(account.Set{}, a).Count() != 0 {
		t.Error("with itself, or with nothing")
	}
	far := account.Set{Runs: []account.Run{{From: 0, To: 1}, {From: seek, To: seek + 1}, {From: 3 * seek, To: 3*seek + 1}}}
	if got := stretches(far); len(got) != 2 || got[0] != (account.Run{From: 0, To: seek + 1}) {
		t.Error(got)
	}
}
