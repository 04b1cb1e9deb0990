package sim

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"staunch/account"
	"staunch/clean"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs/mem"
)

// Operators who repair what is lost, in a quarter of the seeds: instead of accepting a loss, afterwards, two at once, killed at any call, asleep while
// the job goes back, in a power cut, beside a cleaning. What disturbs them is drawn from dice of their own, so that the stories of other seeds stay as
// they are.

// loseMore is the outsider of such a seed.
func (w *world) loseMore() {
	if d := w.dice(aboutRepair, w.acts, 1); d.p(0.6) {
		w.actRemove(d, fmt.Sprintf("lose%d", w.acts))
	}
}

// accepts decides what becomes of a reported loss: one or two operators begin to repair it; perhaps the job is let go on without it at once, and in
// the end it is in any case.
func (w *world) accepts() bool {
	d := w.dice(aboutRepair, w.reports, 2)
	if w.calm || w.reports > 8 {
		return true
	}
	for range 1 + d.n(2) {
		if w.happens(fmt.Sprintf("repair%d", w.stats.Repairs+1), "what is lost is repaired") {
			w.repairLost()
		}
	}
	return d.p(0.4)
}

// repairLost starts a process that repairs all that is lost.
func (w *world) repairLost() *run {
	w.stats.Repairs++
	r := &run{n: 2000 + w.stats.Repairs, role: repairer, p: w.s.process(fmt.Sprintf("repair%d", w.stats.Repairs))}
	r.client = w.store.Client(r.p.name)
	r.store = r.client
	if w.v.store != nil {
		r.store = w.v.store(r.client)
	}
	w.procs[r.p.name] = r
	w.cleaners = append(w.cleaners, r)
	r.p.Go("repair", func() {
		for _, l := range w.o.tables {
			if r.err = w.mend(r, l); r.err != nil {
				break
			}
		}
		r.ended = true
	})
	return r
}

// mend repairs a table. An error that may come of what the seed does to a repair is no failure of its.
func (w *world) mend(r *run, l *lake) error {
	x := commit.OpenRepair(r.p, r.store, l.root, name, w.v.job.Commit, slog.New(slog.DiscardHandler))
	list, err := x.Lost()
	for _, f := range list {
		out, ok := commit.RepairOutcome{}, false
		w.o.repairing[f.Final] = true
		if out, ok, err = x.Finish(f); err == nil && !ok {
			var rep commit.Replacement
			if rep, err = w.stage(r, l, f); err == nil {
				out, err = x.Repair(f, rep, commit.Order{Who: r.p.name, Host: "sim"})
			}
		}
		if errors.Is(err, commit.ErrNothingToRepair) {
			err = nil
			continue
		}
		if err != nil {
			break
		}
		w.repaired(l, f, out)
		if d := w.dice(aboutRepair, r.n*100+len(w.o.mended), 4); !w.calm && d.p(0.25) { // right behind the report
			w.actPowerCut(d, fmt.Sprintf("%s.cut%d", r.p.name, len(w.o.mended)))
		}
	}
	if err != nil && !r.p.dead && !w.mayFail(err) && fault.ClassOf(err) != fault.Transient && !w.stranger(l) {
		w.fail(fmt.Errorf("a repair ended with (%s): %w", fault.ClassOf(err), err))
	}
	return err
}

// stranger reports whether a file stands in a lost one's place that is none of the job's.
func (w *world) stranger(l *lake) bool {
	for f := range w.o.lost {
		if c := w.store.Content(f); w.o.of(f) == l && (w.o.foreign[f] || c != nil && len(c) == 0) {
			return true
		}
	}
	return false
}

// repaired takes note of a report that a file is there again: no power cut may take it away from here on.
func (w *world) repaired(l *lake, f commit.LostFile, out commit.RepairOutcome) {
	w.stats.Repaired++
	if w.store.Content(f.Final) == nil && !l.superseded(f.Final) && !w.o.gone[f.Final] {
		w.fail(find(Missing, "P6: %s was reported %q, and is not there", f.Final, out.State))
	}
	if w.store.Content(f.Final) != nil {
		w.o.mended[f.Final] = w.stats.Attempts
	}
	w.o.moved = true
}

// stage writes a replacement: the rows of the file's offsets, in another order and sometimes with a blank each.
func (w *world) stage(r *run, l *lake, f commit.LostFile) (rep commit.Replacement, err error) {
	blank := ""
	if w.dice(aboutRepair, r.n, 3).bool() {
		blank = " "
	}
	var lines []string
	for _, o := range f.Offsets {
		p, _ := strconv.Atoi(strings.TrimPrefix(o.Split, "t-"))
		for _, run := range o.Set.Runs {
			for off := run.From; off < run.To; off++ {
				lines = append(lines, fmt.Sprintf("{\"part\":%s%d,\"off\":%d}\n", blank, p, off))
			}
		}
	}
	slices.Reverse(lines)
	content := []byte(strings.Join(lines, ""))
	name := account.RepairName(account.Job8(name), f.Certificate.Checkpoint, env.RandomHex(r.p, 12), "json")
	rep = commit.Replacement{Staged: path.Join(l.root, "_DUMP_TEMPORARY", name), Length: int64(len(content)), Sums: account.SumsOf(content), Rows: int64(len(lines))}
	l.staged[f.Final] = append(l.staged[f.Final], strings.TrimSuffix(name, account.PendingSuffix))
	if err = r.store.MkdirAll(path.Dir(rep.Staged)); err != nil {
		return rep, err
	}
	h, err := r.store.Create(rep.Staged)
	if err != nil {
		return rep, err
	}
	for part := range slices.Chunk(content, 1+len(content)/2) {
		_, werr := h.Write(bytes.Clone(part))
		err = errors.Join(err, werr)
	}
	return rep, errors.Join(err, h.Sync(), h.Close(), r.store.SyncDir(path.Dir(rep.Staged)))
}

// callRepairer is a disturbance at one call of a repair.
func (w *world) callRepairer(r *run, op mem.Op, d *dice, key string) {
	entry := op.Kind == mem.Rename && strings.Contains(op.Path, "/staged-")
	switch {
	case d.p(1. / 60):
		if w.happens(key, "%s is killed in the middle of: %s", r.p.name, op) {
			if i := w.store.LateCount(); op.Kind.Names() && d.bool() {
				w.repeats = append(w.repeats, repeat{w.s.now, i})
			}
			if d.p(0.7) {
				w.repairLost()
			}
			w.kill(r)
		}
	case entry && d.p(1./3) || (op.Kind == mem.Rename || op.Kind == mem.SyncDir) && d.p(1./5):
		span := time.Duration(1+d.n(90)) * time.Second
		what := d.n(6)
		if entry { // in front of a rewind's entry, or behind it
			what = d.n(3)
		}
		if !w.happens(key, "%s stands still for %s (%d), before: %s", r.p.name, span, what, op) {
			return
		}
		w.stats.Pauses++
		switch what {
		case 0, 1:
			w.actBack(d, key+"b")
		case 2:
			w.repairLost()
		case 3:
			w.actPowerCut(d, key+"p")
		case 4:
			w.clean(w.dir, clean.Options{})
		}
		if !r.p.dead {
			r.p.until = w.s.now.Add(span)
			w.s.pass()
		}
	case op.Kind == mem.Stat && d.p(1./40): // between the rename and the report
		w.actPowerCut(d, key+"p")
	}
}

// repairRest repairs, at the end and without disturbances, what is still lost: then every record is there.
func (w *world) repairRest() error {
	w.calm = true
	w.outage = time.Time{}
	r := w.repairLost()
	for steps := 0; !r.ended; steps++ {
		if steps > 20_000 {
			return find(Stuck, "a repair does not end")
		}
		if more, err := w.tick(); err != nil {
			return err
		} else if !more && !r.ended {
			return find(Stuck, "a repair waits for nothing")
		}
	}
	if r.err != nil && !w.mayFail(r.err) {
		return find(Stuck, "what is lost cannot be repaired: %v", r.err)
	}
	if err := w.o.complete(); err != nil {
		return err
	}
	for f := range w.o.lost {
		if !w.wentBack && w.store.Content(f) == nil && !w.o.gone[f] {
			return find(Missing, "P6: %s is lost after the last repair", f)
		}
	}
	return w.audited()
}
