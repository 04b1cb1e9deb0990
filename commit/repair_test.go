package commit

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/log"
)

// repaired is a table "/t" whose second checkpoint lost one of two files.
type repaired struct {
	t    *testing.T
	disk *mem.Store
	job  fs.FS
	tb   *Table
	end  account.ChainEnd // before the newest checkpoint
	cert account.Certificate
	lost account.File
	n    int // replacements that were made
}

const original, replacement, second = "the lost rows", "the lost rows again", "the lost rows once more"

func write(t *testing.T, store fs.FS, p, content string) {
	t.Helper()
	f, err := store.Create(p)
	if errors.Is(err, fs.ErrNotExist) {
		if err = store.MkdirAll(path.Dir(p)); err == nil {
			f, err = store.Create(p)
		}
	}
	if err == nil {
		_, err = f.Write([]byte(content))
		err = errors.Join(err, f.Sync(), f.Close(), store.SyncDir(path.Dir(p)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// losing makes the table. The job has stopped at the loss; with accept it went on.
func losing(t *testing.T, accept bool) *repaired {
	t.Helper()
	r := &repaired{t: t, disk: mem.New()}
	r.job = r.disk.Client("job")
	r.open(1)
	r.checkpoint(1)
	if _, err := r.tb.Commit(r.cert, r.end); err != nil {
		t.Fatal(err)
	}
	r.end = r.tb.state.Chain
	r.checkpoint(2)
	r.lost = r.cert.Files[1]
	if err := r.job.Delete(r.lost.Pending); err != nil {
		t.Fatal(err)
	}
	_, err := r.tb.Commit(r.cert, r.end)
	if fault.ClassOf(err) != fault.Lost || !strings.Contains(err.Error(), r.lost.Final) || !strings.Contains(err.Error(), "--repair") {
		t.Fatalf("the loss: %v", err)
	}
	if !accept {
		return r
	}
	r.tb.owner.Accept = []string{LossID(2, r.tb.state.Chain.Certificate, []account.File{r.lost})}
	if res, err := r.tb.Commit(r.cert, r.end); err != nil || res.Counters.Lost != 1 {
		t.Fatalf("accepted: %+v, %v", res, err)
	}
	return r
}

// open is a start of the job.
func (r *repaired) open(epoch account.Epoch) {
	r.t.Helper()
	r.tb = Open(&env.Real{}, r.job, "/t", Owner{Job: "j", LogID: "l", LogPath: "/ck/j/log", Epoch: epoch}, Variant{}, slog.New(slog.DiscardHandler))
	if err := r.tb.Claim(nil); err != nil {
		r.t.Fatal(err)
	}
}

// checkpoint writes the files of a checkpoint.
func (r *repaired) checkpoint(id account.CheckpointID) {
	r.cert = account.Certificate{LogID: "l", Job: "j", Epoch: 1, Checkpoint: id, Complete: fmt.Sprint(id)}
	for i := range 2 {
		f := account.File{Pending: fmt.Sprintf("/t/_DUMP_TEMPORARY/cp-%d/task-0/%d.pending", id, i), Final: fmt.Sprintf("/t/dt=%d/%d-%d.json", i, id, i), Partition: fmt.Sprintf("dt=%d", i),
			Length: int64(len(original)), Rows: 1}
		write(r.t, r.job, f.Pending, original)
		r.cert.Files = append(r.cert.Files, f)
	}
}

// repairer is an operator's process.
func (r *repaired) repairer(name string, v Variant) *Repairer {
	return OpenRepair(&env.Real{}, r.disk.Client(name), "/t", "j", v, slog.New(slog.DiscardHandler))
}

// find gives the lost file as a repairer finds it.
func (r *repaired) find(x *Repairer) LostFile {
	r.t.Helper()
	list, err := x.Lost()
	if err != nil || len(list) != 1 || list[0].Final != r.lost.Final {
		r.t.Fatalf("lost: %+v, %v", list, err)
	}
	return list[0]
}

// stage makes a replacement.
func (r *repaired) stage(content string) Replacement {
	r.n++
	p := "/t/_DUMP_TEMPORARY/" + account.RepairName(account.Job8("j"), 2, fmt.Sprintf("%024x", r.n), "json")
	write(r.t, r.job, p, content)
	return Replacement{Staged: p, Length: int64(len(content)), Sums: account.Sums{XXH128: "s"}, Rows: 1}
}

// holds is what stands in the lost file's place.
func (r *repaired) holds() string {
	b, err := fs.ReadFile(r.job, r.lost.Final)
	if err != nil {
		return ""
	}
	return string(b)
}

// visible are the files that readers see.
func (r *repaired) visible() (list []string) {
	r.t.Helper()
	dirs, err := r.job.List("/t")
	for _, d := range dirs {
		if strings.HasPrefix(d.Name, "dt=") {
			files, lerr := r.job.List("/t/" + d.Name)
			err = errors.Join(err, lerr)
			for _, f := range files {
				list = append(list, d.Name+"/"+f.Name)
			}
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

var order = Order{Who: "op", Host: "h", Why: "test"}

// TestRepairInsteadOfAccept: a job that stopped at a loss goes on once the file is replaced, and nobody has to accept anything.
func TestRepairInsteadOfAccept(t *testing.T) {
	for _, content := range []string{replacement, original} {
		synctest.Test(t, func(t *testing.T) {
			r := losing(t, false)
			x := r.repairer("op", Variant{})
			f := r.find(x)
			if f.Done || f.Accepted || len(f.Repairs) > 0 {
				t.Errorf("%+v", f)
			}
			out, err := x.Repair(f, r.stage(content), order)
			if err != nil || out.State != RepairPlaced || r.holds() != content {
				t.Fatalf("%+v, %v", out, err)
			}
			if list, err := x.Lost(); len(list) > 0 || err != nil {
				t.Errorf("still lost: %+v, %v", list, err)
			}
			r.open(2)
			res, err := r.tb.FinishNewest()
			if err != nil || res.Counters.Lost != 0 || res.Counters.Skipped != 2 {
				t.Errorf("%+v, %v", res, err)
			}
			if want := []string{"dt=0/1-0.json", "dt=0/2-0.json", "dt=1/1-1.json", "dt=1/2-1.json"}; !slices.Equal(r.visible(), want) {
				t.Errorf("visible: %v", r.visible())
			}
		})
	}
}

// TestRepairAfterAccept: the hole that a person accepted is filled later, also behind a segment; the job's next commit does not mind.
func TestRepairAfterAccept(t *testing.T) {
	for _, archived := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := losing(t, true)
			if archived {
				r.tb.variant.SegmentEvery = 2
			}
			r.end = r.tb.state.Chain
			r.checkpoint(3)
			if _, err := r.tb.Commit(r.cert, r.end); err != nil {
				t.Fatal(err)
			}
			if got := r.tb.state.Segment != nil; got != archived {
				t.Fatalf("segment: %v", got)
			}
			x := r.repairer("op", Variant{})
			f := r.find(x)
			if !f.Done || !f.Accepted {
				t.Errorf("%+v", f)
			}
			if out, err := x.Repair(f, r.stage(replacement), order); err != nil || out.State != RepairPlaced || r.holds() != replacement {
				t.Fatalf("%+v, %v", out, err)
			}
			r.end = r.tb.state.Chain
			r.checkpoint(4) // its number is taken by the repair: no fence
			if _, err := r.tb.Commit(r.cert, r.end); err != nil {
				t.Error(err)
			}
			m, err := ReadMended(&env.Real{}, r.job, "/t", "j")
			if err != nil || len(m.Repairs(f.Certificate.Hash, f.Final)) != 1 {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

// TestRepairRemoved: a file that was visible and that somebody took away is repaired when it is named, once; one that stands is not.
func TestRepairRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, true)
		gone := "/t/dt=1/1-1.json"
		x := r.repairer("op", Variant{})
		if list, err := x.Removed([]string{gone, r.lost.Final}); len(list) > 0 || err != nil {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := r.job.Delete(gone); err != nil {
			t.Fatal(err)
		}
		list, err := x.Removed([]string{gone, r.lost.Final, "/t/none"})
		if err != nil || len(list) != 1 || list[0].Final != gone || !list[0].Done {
			t.Fatalf("%+v, %v", list, err)
		}
		if out, err := x.Repair(list[0], r.stage(replacement), order); err != nil || out.State != RepairPlaced {
			t.Fatalf("%+v, %v", out, err)
		}
		if list, err := x.Removed([]string{gone}); len(list) > 0 || err != nil || !slices.Contains(r.visible(), "dt=1/1-1.json") {
			t.Fatalf("%+v, %v, visible %v", list, err, r.visible())
		}
		r.find(x) // the other one is lost as before
	})
}

// TestAcceptNamesFiles: what was accepted is these files; another one that is lost later is not.
func TestAcceptNamesFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, false)
		first := LossID(2, r.tb.state.Chain.Certificate, []account.File{r.lost})
		r.tb.owner.Accept = []string{first}
		for _, f := range r.cert.Files { // the other one goes as well, before the job is started with the order
			if f.Final != r.lost.Final {
				if err := r.job.Delete(f.Final); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, err := r.tb.Commit(r.cert, r.end)
		both := LossID(2, r.tb.state.Chain.Certificate, r.cert.Files)
		if fault.ClassOf(err) != fault.Lost || !strings.Contains(err.Error(), both) || both == first {
			t.Fatalf("the second loss passed: %v", err)
		}
		// An entry of an earlier version names no files: it does not count as long as the certificate is not done.
		old := account.Accept{LogID: "l", Checkpoint: 2, Certificate: r.tb.state.Chain.Certificate, ID: "2-old"}
		if err := r.tb.append(account.KindAccept, old, r.tb.stillOurs, log.Fenced); err != nil {
			t.Fatal(err)
		}
		if _, err := r.tb.Commit(r.cert, r.end); fault.ClassOf(err) != fault.Lost || !strings.Contains(err.Error(), both) {
			t.Fatalf("an order that names no files let the loss pass: %v", err)
		}
		r.tb.owner.Accept = []string{both}
		if res, err := r.tb.Commit(r.cert, r.end); err != nil || res.Counters.Lost != 2 {
			t.Errorf("%+v, %v", res, err)
		}
		for _, c := range r.tb.state.Certificates {
			if c.Accepted = []account.Accept{old}; c.Done != nil && c.Checkpoint == 2 && !c.AcceptedLoss(r.lost.Final) {
				t.Error("it does not count for a certificate that is done")
			}
		}
	})
}

// TestFinishAfterPowerCut: an operator's entry stands, its folder is not synced yet; another one carries the repair on. Whatever a power cut takes,
// an entry names what stands in the place.
func TestFinishAfterPowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, true)
		a, b := r.repairer("a", Variant{}), r.repairer("b", Variant{})
		f := r.find(a)
		placed := false
		r.disk.Fault = func(client string, op mem.Op) mem.Effect {
			if placed = placed || client == "a" && strings.HasSuffix(op.To, ".staunch"); client == "a" && placed && op.Kind == mem.SyncDir {
				return mem.Effect{Kind: mem.Fail, Err: errors.New("input/output error")}
			}
			return mem.Effect{}
		}
		if _, err := a.Repair(f, r.stage(replacement), Order{Who: "a"}); err == nil {
			t.Fatal("its entry is said to be durable")
		}
		out, ok, err := b.Finish(r.find(b))
		if err != nil || !ok || out.State != RepairPlaced {
			t.Fatalf("carried on: %+v, %v, %v", out, ok, err)
		}
		r.disk.PowerCut(func() bool { return false })
		r.job = r.disk.Client("reader")
		m, err := ReadMended(&env.Real{}, r.job, "/t", "j")
		if err != nil || r.holds() != replacement || len(m.Repairs(f.Certificate.Hash, f.Final)) != 1 {
			t.Errorf("%v: holds %q, %d entries name it", err, r.holds(), len(m.Repairs(f.Certificate.Hash, f.Final)))
		}
	})
}

// TestAcceptBesideRepair: the id that was given names two files, and one of them has been repaired when the job looks: the other one is accepted.
func TestAcceptBesideRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, false)
		other := r.cert.Files[0]
		if err := r.job.Delete(other.Final); err != nil {
			t.Fatal(err)
		}
		r.tb.owner.Accept = []string{LossID(2, r.tb.state.Chain.Certificate, r.cert.Files)}
		x := r.repairer("op", Variant{})
		list, err := x.Lost()
		if err != nil || len(list) != 2 {
			t.Fatalf("lost: %+v, %v", list, err)
		}
		if _, err := x.Repair(list[1], r.stage(replacement), Order{Who: "op"}); err != nil {
			t.Fatal(err)
		}
		res, err := r.tb.Commit(r.cert, r.end)
		if err != nil || res.Counters.Lost != 1 || r.holds() != replacement {
			t.Errorf("%+v, %v, holds %q", res, err, r.holds())
		}
	})
}

// TestRepairKilledAndTwice: an operator's process dies before each of its calls, after it or without its answer; a power cut comes or not; another
// does the whole repair, or carries on what was begun; then the first is run again. One replacement is there in the end, whole, and both say so.
func TestRepairKilledAndTwice(t *testing.T) {
	for _, how := range []string{"killed", "killed, power cut", "asleep"} {
		for at := 1; ; at++ {
			over := false
			synctest.Test(t, func(t *testing.T) {
				r := losing(t, at%2 == 0)
				first := r.repairer("first", Variant{})
				f := r.find(first)
				rep := r.stage(replacement)
				mine, reached := r.disk.Client("first"), 0
				first.t.store = mine
				first = OpenRepair(&env.Real{}, mine, "/t", "j", Variant{}, slog.New(slog.DiscardHandler))
				other := func() {
					y := r.repairer("second", Variant{})
					g, err := y.Lost()
					if err != nil {
						t.Fatal(err)
					}
					if len(g) == 0 {
						return
					}
					if _, ok, err := y.Finish(g[0]); err != nil {
						t.Fatal(err)
					} else if ok && at%3 > 0 {
						return
					}
					if _, err := y.Repair(g[0], r.stage(second), order); err != nil {
						t.Fatal(err)
					}
				}
				r.disk.Before = func(client string, op mem.Op) {
					if client != "first" {
						return
					}
					if reached++; reached != at {
						return
					}
					if how == "asleep" {
						other()
					} else {
						mine.Kill()
					}
				}
				out, err := first.Repair(f, rep, order)
				over = reached < at
				r.disk.Before = nil
				if how != "asleep" && !over {
					if err == nil {
						t.Fatalf("killed at %d: %+v", at, out)
					}
					if strings.HasSuffix(how, "cut") {
						r.disk.PowerCut(func() bool { return at%2 == 0 })
						r.job = r.disk.Client("job")
					}
					other()
					if strings.HasSuffix(how, "cut") { // what was reported stays
						r.disk.PowerCut(func() bool { return at%3 == 0 })
						r.job = r.disk.Client("job")
					}
				} else if err != nil {
					t.Fatalf("%s at %d: %v", how, at, err)
				}
				holds := r.holds()
				if holds != replacement && holds != second {
					t.Fatalf("%s at %d: %q is there", how, at, holds)
				}
				again := r.repairer("third", Variant{})
				if list, err := again.Lost(); len(list) > 0 || err != nil {
					t.Fatalf("%s at %d: %+v is lost, %v", how, at, list, err)
				}
				out, err = again.Repair(f, r.stage(replacement+" and again"), order)
				if err != nil || out.State != RepairedBefore || r.holds() != holds {
					t.Fatalf("%s at %d: once more: %+v, %v", how, at, out, err)
				}
				if n := len(r.visible()); n != 4 {
					t.Fatalf("%s at %d: %v", how, at, r.visible())
				}
			})
			if over {
				if at < 15 {
					t.Errorf("only %d calls", at)
				}
				break
			}
		}
	}
}

// goBack takes the second checkpoint out of the table's chain.
func (r *repaired) goBack() {
	r.t.Helper()
	r.open(2)
	x := account.Supersede{LogID: "l", Epoch: 2, Branch: account.Branch{Target: r.end, Chain: r.tb.state.Chain}, TargetLogID: "l", Certificates: []string{r.tb.state.Chain.Certificate}}
	if err := r.tb.append(account.KindSupersede, x, r.tb.stillOurs, log.Fenced); err != nil {
		r.t.Fatal(err)
	}
	if w, err := r.tb.Withdraw(); err != nil || w.Moved < 1 {
		r.t.Fatalf("%+v, %v", w, err)
	}
}

// before does something before the operator's at-th call of the store while repair runs; over: there were fewer.
func (r *repaired) before(at int, something, repair func()) (over bool) {
	reached := 0
	r.disk.Before = func(client string, op mem.Op) {
		if client == "op" {
			if reached++; reached == at {
				something()
			}
		}
	}
	repair()
	r.disk.Before = nil
	return reached < at
}

// TestRepairUnderRewind: the job goes back before each call of a repair. Nothing of the superseded checkpoint is visible afterwards, whatever the
// repairer does when it wakes, and nothing can become so.
func TestRepairUnderRewind(t *testing.T) {
	late := 0 // rewinds behind the last look at the log: the replacement was placed, and then taken away
	for at := 1; ; at++ {
		over := false
		synctest.Test(t, func(t *testing.T) {
			r := losing(t, false)
			x := r.repairer("op", Variant{})
			f := r.find(x)
			rep := r.stage(replacement)
			var out RepairOutcome
			var err error
			over = r.before(at, r.goBack, func() { out, err = x.Repair(f, rep, order) })
			if over {
				return
			}
			if want := []string{"dt=0/1-0.json", "dt=1/1-1.json"}; !slices.Equal(r.visible(), want) {
				t.Fatalf("at %d: visible %v; %+v, %v", at, r.visible(), out, err)
			}
			if err == nil && out.State == RepairPlaced {
				late++
			} else if !errors.Is(err, ErrNothingToRepair) {
				t.Fatalf("at %d: %+v, %v", at, out, err)
			}
			m, err := ReadMended(&env.Real{}, r.job, "/t", "j")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.job.Stat(rep.Staged); err == nil && len(m.Repairs(f.Certificate.Hash, f.Final)) > 0 {
				t.Fatalf("at %d: an entry names the staged file, and it is there", at)
			}
			if list, err := r.repairer("later", Variant{}).Lost(); len(list) > 0 || err != nil {
				t.Fatalf("at %d: lost: %+v, %v", at, list, err)
			}
			if _, err := r.repairer("later", Variant{}).Repair(f, r.stage(second), order); !errors.Is(err, ErrNothingToRepair) {
				t.Fatalf("at %d: later: %v", at, err)
			}
			took, err := ReadTakenOut(&env.Real{}, r.job, "/t", "j")
			if err != nil || len(took) != 1 || len(took[0].Files) < 2 {
				t.Fatalf("at %d: %+v, %v", at, took, err)
			}
		})
		if over {
			if at < 15 || late > 1 {
				t.Errorf("%d calls; %d times nothing was told of the rewind", at, late)
			}
			return
		}
	}
}

// TestRepairMeetsTheOriginal: the file itself comes back, late, before each call of the repair: one of the two is there in the end, the job goes on,
// and the other one is in the temporary place.
func TestRepairMeetsTheOriginal(t *testing.T) {
	for at := 1; ; at++ {
		over := false
		synctest.Test(t, func(t *testing.T) {
			r := losing(t, false)
			x := r.repairer("op", Variant{})
			f := r.find(x)
			rep := r.stage(replacement)
			var out RepairOutcome
			var err error
			over = r.before(at, func() {
				write(t, r.job, r.lost.Pending, original)
				_ = r.job.Rename(r.lost.Pending, r.lost.Final) // taken already, or not
			}, func() { out, err = x.Repair(f, rep, order) })
			holds := r.holds()
			if err != nil || holds != original && holds != replacement || (out.State == CameBack) != (holds == original) {
				t.Fatalf("at %d: %q is there; %+v, %v", at, holds, out, err)
			}
			r.open(2)
			if res, err := r.tb.FinishNewest(); err != nil || res.Counters.Lost > 0 {
				t.Fatalf("at %d: %+v, %v", at, res, err)
			}
			if r.holds() != holds || len(r.visible()) != 4 {
				t.Fatalf("at %d: %v", at, r.visible())
			}
		})
		if over {
			if at < 15 {
				t.Errorf("only %d calls", at)
			}
			return
		}
	}
}

// TestRepairBehindASegment: a repairer falls asleep before it places its entry; meanwhile the job goes back, and then a segment replaces all that
// stood there. Its entry's number is free again when it wakes: it finds the rewind in the archive.
func TestRepairBehindASegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, false)
		x := r.repairer("op", Variant{})
		f := r.find(x)
		rep := r.stage(replacement)
		slept := false
		r.disk.Before = func(client string, op mem.Op) {
			if client != "op" || slept || op.Kind != mem.Rename || !strings.HasSuffix(op.To, ".staunch") {
				return
			}
			slept = true
			r.goBack()
			r.tb.variant.SegmentEvery = 1
			r.end = r.tb.state.Chain
			r.checkpoint(5)
			if _, err := r.tb.Commit(r.cert, r.end); err != nil {
				t.Fatal(err)
			}
			if _, err := r.job.Stat(op.To); err == nil || r.tb.state.Segment == nil {
				t.Fatalf("%s is taken", op.To)
			}
		}
		if out, err := x.Repair(f, rep, order); !slept || !errors.Is(err, ErrNothingToRepair) {
			t.Fatalf("slept %v: %+v, %v", slept, out, err)
		}
		if r.holds() != "" {
			t.Error("the replacement of a superseded file is visible")
		}
	})
}

// TestAmendsReadOn: of several amends by one process the first reads the log's archives; another one does when a segment came between, or when the
// log could not be read.
func TestAmendsReadOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, true)
		segment := func(id account.CheckpointID) {
			r.tb.variant.SegmentEvery = 1
			r.end = r.tb.state.Chain
			r.checkpoint(id)
			if _, err := r.tb.Commit(r.cert, r.end); err != nil || r.tb.state.Segment == nil {
				t.Fatal(err)
			}
		}
		segment(3)
		archives, n := 0, 0
		r.disk.Before = func(client string, op mem.Op) {
			if client == "op" && op.Kind == mem.Open && strings.HasPrefix(path.Base(op.Path), "archive-") {
				archives++
			}
		}
		x := r.repairer("op", Variant{})
		// fails: another process's entry counts as read, and one behind it cannot be read.
		fails := func() {
			if _, err := r.repairer("other", Variant{}).Amend(account.Amend{Removed: []string{}, Who: "other"}, func(*Mended) error { return nil }); err != nil {
				t.Fatal(err)
			}
			n++
			bad := fmt.Sprintf("%s/%d.staunch", Dir("/t", "j"), x.t.log.Last()+2)
			write(t, r.job, bad, "none")
			if _, err := x.Amend(account.Amend{Removed: []string{}}, func(*Mended) error { return nil }); fault.ClassOf(err) != fault.Damage {
				t.Fatalf("behind %s: %v", bad, err)
			}
			if err := r.job.Delete(bad); err != nil {
				t.Fatal(err)
			}
		}
		for i, c := range []struct {
			before func()
			reads  bool
		}{{func() {}, true}, {func() {}, false}, {func() { segment(4) }, true}, {func() {}, false}, {fails, true}, {func() {}, false}} {
			c.before()
			archives = 0
			var seen int
			_, err := x.Amend(account.Amend{Removed: []string{}, Added: []account.File{{Final: fmt.Sprintf("/t/old-%d", i)}}}, func(m *Mended) error {
				seen = len(m.Amends)
				return nil
			})
			if err != nil || seen != n || archives > 0 != c.reads {
				t.Errorf("amend %d: %d of %d amends were seen, %d archives read; %v", i, seen, n, archives, err)
			}
			n++
		}
	})
}

// TestRepairOfDamage: something else that stands in the place is named, and left.
func TestRepairOfDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := losing(t, true)
		x := r.repairer("op", Variant{})
		f := r.find(x)
		write(t, r.job, r.lost.Final, "something else, and longer than that")
		if _, err := x.Repair(f, r.stage(replacement), order); fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), r.lost.Final) {
			t.Error(err)
		}
		if !strings.HasPrefix(r.holds(), "something") {
			t.Error("it was replaced")
		}
		if _, err := x.Repair(f, Replacement{Staged: "/t/_DUMP_TEMPORARY/none", Length: 3}, order); fault.ClassOf(err) != fault.Transient {
			t.Error(err)
		}
		if _, err := x.Repair(f, Replacement{Staged: "/elsewhere", Length: 3}, order); err == nil {
			t.Error("a replacement outside the table passed")
		}
	})
}
