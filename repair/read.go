package repair

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/commit"
	"staunch/connector"
	"staunch/fault"
	"staunch/operator"
)

// idle is how long the source may give nothing, and pass over nothing.
const idle = 2 * time.Minute

// pass is one reading of the records of some files of one certificate and INSERT.
type pass struct {
	*repairer
	files []*lostFile
	op    operator.Operator
	ctx   connector.Context
	wait  func(time.Duration) bool
	batch *changelog.Batch
	// read are the offsets that gave a record, rows those that gave a row, gone those that the source says are no longer there; by split.
	read, rows, gone map[string]*account.Set
	// begins is where a split begins now that begins too late.
	begins map[string]int64
}

// group writes the files again, one pass over their records, and puts them into their places.
func (r *repairer) group(files []*lostFile) (err error) {
	first := files[0]
	signal := r.env.NewSignal()
	p := &pass{repairer: r, files: files, wait: signal.Wait, batch: changelog.NewBatch(first.source.Schema),
		read: map[string]*account.Set{}, rows: map[string]*account.Set{}, gone: map[string]*account.Set{}, begins: map[string]int64{},
		ctx: connector.Context{Env: r.env, Log: r.job.Log, Metrics: r.job.Metrics, Job: r.job.ID, Parallelism: 1, Wake: signal.Notify,
			NextCheckpoint: func() account.CheckpointID { return first.Certificate.Checkpoint }, Stopped: r.order.Stopped, Traced: r.job.Traced}}
	if p.op, err = first.branch.NewOperator(); err != nil {
		return err
	}
	defer p.close()
	if err := p.open(); err != nil {
		return err
	}
	if err := p.readAll(); err != nil {
		return err
	}
	for _, f := range files {
		if f.failed || p.missing(f) {
			continue
		}
		if err := p.finish(f); err != nil {
			return err
		}
	}
	return nil
}

// open opens the replacements. A dry run has none.
func (p *pass) open() error {
	if p.order.DryRun {
		return nil
	}
	for _, f := range p.files {
		rep, err := f.branch.Sink.(connector.Replacer).Replace(p.ctx, f.File)
		if err == nil {
			f.rep = rep
			continue
		}
		if err := p.passing(f, err); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) close() {
	for _, f := range p.files {
		if f.rep != nil {
			if err := f.rep.Close(); err != nil {
				p.job.Log.Warn("closing a replacement that is given up", "file", f.Final, "error", err)
			}
			f.rep = nil
		}
	}
}

// readAll reads each split's offsets once. What makes a split unreadable fails the files that need it.
func (p *pass) readAll() error {
	for _, split := range p.splits() {
		var all account.Set
		for _, f := range p.files {
			if set := f.set(split); set != nil && !f.failed {
				all.Union(*set)
			}
		}
		p.read[split], p.rows[split], p.gone[split] = &account.Set{}, &account.Set{}, &account.Set{}
		for _, s := range stretches(all) {
			err := p.stretch(split, s, &all)
			if err == nil {
				continue
			}
			if fault.ClassOf(err) == fault.Outage || errors.Is(err, ErrStopped) {
				return fmt.Errorf("%s: %w", p.files[0].source.Describe, err)
			}
			for _, f := range p.files {
				if set := f.set(split); set != nil && !f.failed {
					f.fail(err)
					f.out.Hint = lostHint(err)
				}
			}
			break
		}
	}
	return nil
}

// lostHint is what to do about an error of a source: its own hints are for jobs.
func lostHint(err error) string {
	if fault.ClassOf(err) == fault.Lost {
		return takeIt
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return known.Hint
	}
	return ""
}

// splits of all files, sorted.
func (p *pass) splits() []string {
	all := map[string]bool{}
	for _, f := range p.files {
		for _, o := range f.Offsets {
			all[o.Split] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// set is a file's offsets of a split, nil if it has none.
func (f *lostFile) set(split string) *account.Set {
	for i := range f.Offsets {
		if f.Offsets[i].Split == split && len(f.Offsets[i].Set.Runs) > 0 {
			return &f.Offsets[i].Set
		}
	}
	return nil
}

// stretch reads the offsets s.From <= o < s.To of a split, of which wanted are needed.
func (p *pass) stretch(split string, s account.Run, wanted *account.Set) (err error) {
	origin := ""
	for _, f := range p.files {
		if o, ok := f.origins[split]; ok {
			origin = o
		}
	}
	reader, err := p.files[0].source.Source.(connector.Rereader).Reread(p.ctx, split, origin, s.From, s.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	at, since := s.From, p.env.Now()
	for {
		if p.stopped() {
			return ErrStopped
		}
		p.batch.Reset()
		status, err := reader.Poll(p.batch)
		if err != nil {
			return err
		}
		if p.batch.Rows > 0 {
			if err := p.process(split, reader.Splits()); err != nil {
				return err
			}
		}
		if status == connector.Ended {
			break
		}
		now := p.env.Now()
		if pos := reader.Splits()[0].Position; pos != at {
			at, since = pos, now
			continue
		}
		if now.Sub(since) > idle {
			return fault.New(fault.Outage, "%s: nothing came from offset %d on for %s", split, at, idle).WithHint("check the broker, and repair again: nothing was changed")
		}
		if status == connector.Waiting {
			p.wait(time.Second)
		}
	}
	_, ranges, err := reader.Snapshot()
	for _, r := range ranges {
		if r.Skipped > 0 { // what is gone is so from the beginning on
			p.gone[split].AddRun(r.From, r.From+r.Skipped)
			p.begins[split] = r.From + r.Skipped
		}
	}
	if b, ok := reader.(connector.Beginner); ok {
		if first, ok := b.Beginning(split); ok {
			p.begins[split] = first
		}
	}
	return err
}

// process brings a batch through the INSERT and gives each file its rows.
func (p *pass) process(split string, splits []connector.Split) error {
	p.read[split].AddAll(p.batch.Offsets)
	out, err := p.op.Process(p.batch)
	if err != nil {
		var row *operator.RowError
		if errors.As(err, &row) && row.Row < len(p.batch.Offsets) {
			return fault.Userf("the record of %s offset %d: %w", split, p.batch.Offsets[row.Row], row.Err)
		}
		return err
	}
	p.rows[split].AddAll(out.Offsets)
	for _, f := range p.files {
		if f.failed || f.rep == nil {
			continue
		}
		if err := f.rep.Write(out, splits); err != nil {
			if err := p.passing(f, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing refuses a file of whose offsets some give no row any more, and says which and why.
func (p *pass) missing(f *lostFile) bool {
	total := int64(0)
	say := func(split string, set account.Set, why string) {
		if n := set.Count(); n > 0 {
			total += n
			f.out.Missing = append(f.out.Missing, Missing{split, set.Text(), n, why})
		}
	}
	for _, o := range f.Offsets {
		if len(o.Set.Runs) == 0 {
			continue
		}
		left := minus(o.Set, *p.rows[o.Split])
		gone := p.gone[o.Split]
		if len(gone.Runs) > 0 {
			say(o.Split, and(left, *gone), fmt.Sprintf("no longer in the topic, whose first offset is %d now: retention", p.begins[o.Split]))
		}
		left = minus(left, *gone)
		read := p.read[o.Split]
		say(o.Split, and(left, *read), "the record is there, but gives no row now")
		say(o.Split, minus(left, *read), "no record there any more: compaction, or it is not visible at this isolation level")
	}
	if total > 0 {
		f.refuse(takeIt, "%d of its %d offsets give no row any more", total, count(f.Offsets))
	}
	return total > 0
}

// finish ends a file's replacement, holds it against the file, and has it put into its place.
func (p *pass) finish(f *lostFile) error {
	if p.stopped() {
		return ErrStopped
	}
	if p.order.DryRun {
		f.out.State = WouldRepair
		return nil
	}
	got, err := f.rep.Finish()
	if err != nil {
		return p.passing(f, err)
	}
	f.out.Staged = got.Pending
	if what := differs(got, &f.File); what != "" {
		return p.passing(f, fault.New(fault.Bug, "the replacement %s %s: it is not used", got.Pending, what))
	}
	f.out.Sums = got.Sums
	out, err := p.commit.Repair(f.LostFile, commit.Replacement{Staged: got.Pending, Length: got.Length, Sums: got.Sums, Rows: got.Rows},
		commit.Order{Who: p.order.Who, Host: p.order.Host, Why: p.order.Why})
	if errors.Is(err, commit.ErrNothingToRepair) {
		f.out.State, f.out.Reason = OutOfChain, err.Error()
		return nil
	}
	if err != nil {
		return p.passing(f, err)
	}
	f.placed(out, Repaired)
	return nil
}

// differs says in what a replacement is not the lost file, "" if it is the same rows.
func differs(got, want *account.File) string {
	if got.Rows != want.Rows {
		return fmt.Sprintf("has %d rows, not %d", got.Rows, want.Rows)
	}
	have := map[string]account.Set{}
	for _, o := range got.Offsets {
		have[o.Split] = o.Set
	}
	for _, o := range want.Offsets {
		if set := have[o.Split]; !slices.Equal(set.Runs, o.Set.Runs) {
			return fmt.Sprintf("has offsets %s of %s, not %s", set, o.Split, o.Set)
		}
		delete(have, o.Split)
	}
	for _, split := range slices.Sorted(maps.Keys(have)) {
		return "has offsets of " + split
	}
	return ""
}
