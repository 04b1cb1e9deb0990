package commit

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/log"
)

// written makes a table with n certificates of one file each, with a segment every 3.
func written(t *testing.T, n int) (store fs.FS, tb *Table, hashes []string) {
	t.Helper()
	store = mem.New().Client("a")
	e := &env.Real{}
	tb = Open(e, store, "/t", Owner{Job: "j", LogID: "l", LogPath: "/ck/j/log", Epoch: 1}, Variant{SegmentEvery: 3}, slog.New(slog.DiscardHandler))
	if err := errors.Join(store.MkdirAll(Dir("/t", "j")), store.MkdirAll("/t/_DUMP_TEMPORARY/x")); err != nil {
		t.Fatal(err)
	}
	if err := tb.Claim(nil); err != nil {
		t.Fatal(err)
	}
	expect := account.ChainEnd{}
	for i := range n {
		f := account.File{Pending: fmt.Sprintf("/t/_DUMP_TEMPORARY/x/%d.pending", i), Final: fmt.Sprintf("/t/%d.json", i), Length: 1}
		h, err := store.Create(f.Pending)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Write([]byte("x"))
		if err = errors.Join(err, h.Sync(), h.Close()); err != nil {
			t.Fatal(err)
		}
		res, err := tb.Commit(account.Certificate{LogID: "l", Job: "j", Epoch: 1, Checkpoint: account.CheckpointID(i + 1), Complete: fmt.Sprint(i), Files: []account.File{f}}, expect)
		if err != nil {
			t.Fatal(err)
		}
		expect, hashes = res.Certificate, append(hashes, res.Certificate.Certificate)
		if i%2 == 0 {
			if err := tb.PartitionsCommitted(expect, []string{fmt.Sprint("p", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return store, tb, hashes
}

// TestHistory: every certificate comes once and in order, archived ones too, with what later entries say of it; what was superseded is told.
func TestHistory(t *testing.T) {
	store, tb, hashes := written(t, 11)
	if len(tb.state.Segment.Archives) < 3 {
		t.Fatalf("%d archives", len(tb.state.Segment.Archives))
	}
	gone := account.Supersede{LogID: "l", Epoch: 1, Branch: account.Branch{Target: account.ChainEnd{Certificate: hashes[8], Checkpoint: 9}}, Certificates: []string{hashes[10], hashes[9]}}
	if err := tb.append(account.KindSupersede, gone, tb.stillOurs, log.Fenced); err != nil {
		t.Fatal(err)
	}
	var got []string
	claims, err := History(&env.Real{}, store, "/t", "j", func(c *Recorded) error {
		got = append(got, fmt.Sprintf("%d %v %v %v", c.Checkpoint, c.Done != nil && c.Done.Verdicts[0] == account.Renamed, c.Committed[fmt.Sprint("p", c.Checkpoint-1)], c.Superseded > 0))
		if c.Hash != hashes[c.Checkpoint-1] {
			t.Errorf("checkpoint %d has another hash", c.Checkpoint)
		}
		return nil
	})
	if err != nil || len(claims) == 0 || claims[0].Log != "/ck/j/log" {
		t.Errorf("%v, claims %+v", err, claims)
	}
	var want []string
	for i := range 11 {
		want = append(want, fmt.Sprintf("%d true %v %v", i+1, i%2 == 0, i > 8))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	stop := errors.New("enough")
	if _, err := History(&env.Real{}, store, "/t", "j", func(*Recorded) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestHistoryOfDamagedLogs: an archive that is gone or changed is an error behind what can be read, never a shorter history without a word.
func TestHistoryOfDamagedLogs(t *testing.T) {
	all := func(store fs.FS) (n int, err error) {
		_, err = History(&env.Real{}, store, "/t", "j", func(*Recorded) error { n++; return nil })
		return n, err
	}
	store, tb, _ := written(t, 7)
	first := path.Join(Dir("/t", "j"), tb.state.Segment.Archives[0].Name)
	b, err := fs.ReadFile(store, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(first); err != nil {
		t.Fatal(err)
	}
	if n, err := all(store); fault.ClassOf(err) != fault.Damage || n != 4 {
		t.Errorf("without an archive: %d certificates, %v", n, err)
	}
	for name, bad := range map[string][]byte{"cut": b[:len(b)-7], "changed": []byte(strings.Replace(string(b), `"checkpoint":1`, `"checkpoint":7`, 1)), "no archive": []byte("x")} {
		h, err := store.Create(first)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Write(bad)
		if err = errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
		if n, err := all(store); fault.ClassOf(err) != fault.Damage || n < 4 || n > 7 {
			t.Errorf("%s: %d certificates, %v", name, n, err)
		}
		if err := store.Delete(first); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := all(mem.New().Client("b")); n != 0 || err != nil {
		t.Errorf("no log: %d, %v", n, err)
	}
}
