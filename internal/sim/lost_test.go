package sim

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/fault"
	"staunch/fs/mem"
)

// TestManyLost: files that vanished together are looked at again together, so that a folder of thousands is reported within seconds.
func TestManyLost(t *testing.T) {
	w := newWorld(1, Protocol, nil)
	w.faults, w.hard, w.calm = 0, false, true
	p := w.s.process("p")
	store := w.store.Client("p")
	tb := commit.Open(p, store, roots[0], commit.Owner{Job: name, LogID: "l", LogPath: jobs, Epoch: 1, Host: "sim", PID: 1}, commit.Variant{},
		slog.New(slog.DiscardHandler))
	var files []account.File
	for i := range 500 {
		n := fmt.Sprintf("part-%d.json", i)
		files = append(files, account.File{Pending: roots[0] + "/_DUMP_TEMPORARY/cp-1/task-0/" + n + ".pending", Final: roots[0] + "/dt=d0/" + n, Length: 1, Rows: 1})
	}
	var res commit.Result
	var err error
	ended := false
	began := w.s.now
	p.Go("commit", func() {
		if err = store.MkdirAll(commit.Dir(roots[0], name)); err == nil {
			err = tb.Claim(nil)
		}
		if err == nil {
			res, err = tb.Commit(account.Certificate{LogID: "l", Job: name, Epoch: 1, Checkpoint: 1, Complete: "c", Files: files}, account.ChainEnd{})
		}
		ended = true
	})
	for !ended {
		if more, serr := w.s.step(); serr != nil || !more {
			t.Fatal(serr, more)
		}
	}
	if fault.ClassOf(err) != fault.Lost || res.Counters.Lost != 500 || len(res.Lost) != 500 {
		t.Errorf("%d lost, %.100v", res.Counters.Lost, err)
	}
	if d := w.s.now.Sub(began); d > 2*time.Minute {
		t.Errorf("it took %s", d)
	}
}

// TestLateCreate: somebody removes a pending file, then a create of its name that was late takes effect. The empty file is not taken for what was
// promised.
func TestLateCreate(t *testing.T) {
	holds(t, func(c *script) {
		c.begin()
		c.rows(5, "a")
		c.killBefore("the first rename", func(op mem.Op) bool { return moves(op, "") })
		gone := c.pending()[0]
		c.must(c.o.client.Delete(gone))
		c.put(gone, nil)
		c.launch()
		err := c.ends()
		if fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), gone) {
			c.failf("the job ended with %v", err)
		}
	})
}
