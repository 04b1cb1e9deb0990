package story

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"staunch/account"
	"staunch/commit"
)

// TestAmended: files that were taken out on purpose are said to be, with the entry, who and why, and those that were put there are known.
func TestAmended(t *testing.T) {
	w := newWorld(t)
	files := w.write()
	w.must(w.commit())
	put := func(name, text string) account.File {
		f := account.File{Final: w.path("dt=1/" + name), Partition: "dt=1", Length: int64(len(text)), Sums: account.Sums{XXH128: strings.Repeat("0", 32)}, Rows: 9}
		h, err := w.store.Create(f.Final)
		w.must(err)
		_, err = h.Write([]byte(text))
		w.must(err)
		w.must(h.Close())
		return f
	}
	blind, known := put("rewritten-1.json", "1234"), put("rewritten-2.json", "123")
	var set account.Set
	set.AddRun(10, 19) // without the last one
	known.Offsets = []account.Offsets{{Split: "orders-0", Set: set}}
	for i, add := range []account.File{blind, known} {
		w.must(w.store.Delete(files[i].Final))
		r := commit.OpenRepair(w.env, w.store, root, job, commit.Variant{}, slog.New(slog.DiscardHandler))
		_, err := r.Amend(account.Amend{Removed: []string{files[i].Final}, Added: []account.File{add}, RowsRemoved: 1, Who: "anna@h2", Why: "a customer's right", Time: w.env.Now().UTC()},
			func(*commit.Mended) error { return nil })
		w.must(err)
	}
	adopted := put("before.json", "12")
	r := commit.OpenRepair(w.env, w.store, root, job, commit.Variant{}, slog.New(slog.DiscardHandler))
	_, err := r.Amend(account.Amend{Removed: []string{}, Added: []account.File{adopted}, Who: "anna@h2", Why: "it was there", Time: w.env.Now().UTC()}, func(*commit.Mended) error { return nil })
	w.must(err)
	says := func(s *Story, all ...string) {
		t.Helper()
		var text bytes.Buffer
		w.must(s.Text(&text, nil))
		for _, want := range all {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, &text)
			}
		}
		if strings.Contains(text.String(), "GONE") || len(s.Causes) > 0 {
			t.Errorf("%s", &text)
		}
	}
	s := w.tell(Query{Path: files[0].Final})
	if len(s.Files) != 1 || s.Files[0].State != Amended || s.Files[0].Amend.Who != "anna@h2" {
		t.Errorf("%+v", s.Files)
	}
	says(s, "amended dt=1/", "taken out of the table on purpose, entry ", "anna@h2", "a customer's right", "rewritten-1.json")
	s = w.tell(Query{Path: blind.Final})
	if len(s.Files) != 1 || s.Files[0].State != Visible || !s.Files[0].Added {
		t.Errorf("%+v", s.Files)
	}
	says(s, "put there on purpose, entry ", "9 rows, 4 bytes")
	says(w.tell(Query{Path: "before.json"}), "visible dt=1/before.json", "it stood there before the job, and was taken in as it was, entry ", "9 rows, 2 bytes")
	says(w.tell(Query{Checkpoint: 4608}), "amended", "taken out of the table on purpose")
	for offset, want := range map[int64][]string{5: {"amended", "whose records are not known", "entry "}, 12: {"visible", "rewritten-2.json"}, 19: {"amended", "none of the 1 files"}} {
		says(w.tell(Query{Record: &Record{Split: "orders-0", Offset: offset}}), want...)
	}
	if s := w.tell(Query{}); len(s.Files)+len(s.Causes) > 0 {
		t.Errorf("nothing is wrong: %+v %+v", s.Files, s.Causes)
	}
}
