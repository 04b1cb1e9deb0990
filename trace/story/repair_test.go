package story

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"staunch/account"
	"staunch/commit"
	"staunch/env"
	"staunch/trace"
)

// repair writes the lost file again, as an operator's process beside the job does, under the trace of its own.
func (w *world) repair(lost account.File) {
	w.t.Helper()
	rec := trace.New(trace.Options{Env: w.env, Store: w.store, Dir: "/ck/dump/trace", Job: job, Host: "h2", User: "anna", PID: 8, MaxBytes: 1 << 24, Log: slog.New(slog.DiscardHandler)})
	rec.Operate("repair")
	defer rec.Close()
	store := rec.Store(w.store, &trace.Scope{Task: trace.NoTask, Looks: true})
	staged := w.path("_DUMP_TEMPORARY/" + account.RepairName(account.Job8(job), 1, env.RandomHex(w.env, 12), "json"))
	h, err := store.Create(staged)
	w.must(err)
	_, err = h.Write([]byte("123456"))
	w.must(err)
	w.must(h.Sync())
	w.must(h.Close())
	r := commit.OpenRepair(w.env, store, root, job, commit.Variant{}, slog.New(slog.DiscardHandler))
	all, err := r.Lost()
	w.must(err)
	if len(all) != 1 || all[0].Final != lost.Final {
		w.t.Fatalf("lost are %+v", all)
	}
	_, err = r.Repair(all[0], commit.Replacement{Staged: staged, Length: 6, Sums: account.Sums{XXH128: strings.Repeat("0", 32)}, Rows: 10}, commit.Order{Who: "anna@h2", Why: "a script took it"})
	w.must(err)
}

// TestRepaired: what became of a file that was lost and written again, who took it, and what the repair did.
func TestRepaired(t *testing.T) {
	w := newWorld(t)
	lost, taken := w.vanish()
	before := w.ours()
	w.repair(lost)
	audit := before + line(taken, "bob", "10.0.0.9", "delete", lost.Pending, "null")
	s := w.tell(Query{Path: lost.Final}, audit)
	if len(s.Files) != 1 || s.Files[0].State != Repaired || len(s.Files[0].Repairs) != 1 || s.Files[0].Repairs[0].Who != "anna@h2" {
		t.Fatalf("%+v", s.Files)
	}
	c := w.cause(s)
	if c.Kind != Foreign || !strings.HasPrefix(c.Who, "bob@") || !strings.Contains(c.ToDo, "its rows are back") {
		t.Errorf("%+v", c)
	}
	seen := map[string]bool{}
	for _, e := range s.Events {
		if e.Who == "repair" {
			seen[e.Op] = true
			if e.Epoch != 0 || e.Mark != "" {
				t.Errorf("%+v", e)
			}
		}
	}
	if !seen["create"] || !seen["close"] || !seen["rename"] || !seen["begin"] {
		t.Errorf("of the repair the time line has %v", seen)
	}
	var text bytes.Buffer
	w.must(s.Text(&text, nil))
	for _, want := range []string{"repaired dt=1/", "written again by anna@h2", "(a script took it)", "trace  repair "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	s = w.tell(Query{Checkpoint: 4608})
	if len(s.Grids) != 1 || s.Grids[0].Cells[1][0].String() != "repaired" {
		t.Errorf("%+v", s.Grids)
	}
	s = w.tell(Query{Record: &Record{Split: "orders-0", Offset: lost.Offsets[0].Set.Runs[0].From}})
	if len(s.Found) != 1 || s.Found[0].State != string(Repaired) {
		t.Errorf("%+v", s.Found)
	}
	if s := w.tell(Query{}); len(s.Causes) > 0 {
		t.Errorf("without a question nothing is wrong any more: %+v", s.Causes)
	}
	for _, n := range w.tell(Query{}).Notes {
		if strings.Contains(n, "records are gone") {
			t.Error(n)
		}
	}
}
