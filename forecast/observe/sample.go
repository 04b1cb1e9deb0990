package observe

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
	"staunch/fault"
	"staunch/forecast"
	"staunch/operator"
)

// atLeast so many records tell how fast they are read.
const atLeast = 20_000

// folders is the most partitions that are told apart.
const folders = 100_000

// run reads the sample of one source and puts it through the branches.
type run struct {
	l      *Looker
	src    *dataflow.Source
	out    *forecast.Source
	survey connector.Survey
	set    forecast.Settings
	splits []connector.SplitSurvey
	// measured is the rate that was, a second.
	measured float64

	// rounds are the parts of each; whole, share and length are as in forecast.Sample, length the time that a round stands for.
	rounds [][]connector.Part
	whole  bool
	share  float64
	length time.Duration

	sinks    []forecast.Sink
	tasks    []*task
	clock    *clock
	deadline time.Time
	seen     forecast.SourceSample
	busy     time.Duration
	event    changelog.Watermark
}

// task is one subtask: its branches, with writers that live through all rounds as in a running job.
type task struct {
	index    int
	branches []*branch
	marker   operator.Watermarker
	// read offsets.
	read int64
}

// branch is one INSERT of a subtask.
type branch struct {
	*dataflow.Branch
	op     operator.Operator
	writer connector.Writer
	out    forecast.TaskSample
	// rows per partition, by folder.
	rows map[string]int64
	// held is the most memory of the round so far, grown where it came to that.
	held  int64
	grown []growth
	taken int64
}

// growth is how much memory was held at most until so many rows of a round were written.
type growth struct{ rows, held int64 }

// clock is an env whose time is that of the sample.
type clock struct {
	env.Env
	now time.Time
}

// Now implements env.Env.
func (c *clock) Now() time.Time { return c.now }

func (l *Looker) context(k, par int, wake func()) connector.Context {
	return connector.Context{Env: l.Env, Log: slog.New(slog.DiscardHandler), Job: "forecast", Subtask: k, Parallelism: max(1, par), Epoch: 1, Wake: wake,
		NextCheckpoint: func() account.CheckpointID { return 1 }}
}

// errTime ends a sample that takes too long.
var errTime = errors.New("the time for the sample is over")

// run reads the sample.
func (r *run) run() {
	if len(r.rounds) == 0 {
		return
	}
	r.event = changelog.MinWatermark
	r.clock = &clock{Env: r.l.Env, now: r.l.Env.Now()}
	r.deadline = r.clock.now.Add(r.l.Options.Time)
	err := r.open()
	done := 0
	for _, parts := range r.rounds {
		if err != nil {
			break
		}
		if err = r.round(account.CheckpointID(done+1), parts); err == nil {
			done++
		}
	}
	switch {
	case errors.Is(err, errTime) && done == 0:
		r.seen.Error = fmt.Sprintf("%d records took %s; ask for fewer", r.seen.Records, r.l.Options.Time)
	case err != nil && !errors.Is(err, errTime):
		r.seen.Error, r.seen.Fatal = err.Error(), fault.ClassOf(err) == fault.User
	}
	if r.event != changelog.MinWatermark && r.event != changelog.MaxWatermark {
		r.seen.Event = time.UnixMilli(int64(r.event))
	}
	if r.seen.Records >= atLeast && r.busy > 0 {
		r.seen.PerSecond = float64(r.seen.Records) / r.busy.Seconds()
	}
	r.out.Sample = &r.seen
	if done > 0 {
		r.collect(done)
	}
}

// open makes operators and writers.
func (r *run) open() error {
	for k := range max(1, r.set.Parallelism) {
		t := &task{index: k}
		r.tasks = append(r.tasks, t)
		var err error
		if r.src.NewWatermarker != nil {
			if t.marker, err = r.src.NewWatermarker(); err != nil {
				return err
			}
		}
		for i := range r.src.Branches {
			b := &branch{Branch: &r.src.Branches[i], rows: map[string]int64{}, out: forecast.TaskSample{Subtask: k}}
			if b.op, err = b.NewOperator(); err != nil {
				return err
			}
			if _, files := b.Sink.(connector.FileTable); files { // rows for others go nowhere
				ctx := r.l.context(k, r.set.Parallelism, func() {})
				ctx.Env = r.clock
				if b.writer, err = b.Sink.NewWriter(ctx); err != nil {
					return fmt.Errorf("sink %s: %w", b.Table, err)
				}
			}
			t.branches = append(t.branches, b)
		}
	}
	return nil
}

// close ends what is open. Nothing was written that could fail to be.
func (r *run) close() {
	for _, t := range r.tasks {
		for _, b := range t.branches {
			if b.writer != nil {
				if err := b.writer.Close(); err != nil {
					r.l.Log.Warn("closing a writer of the sample", "error", err)
				}
			}
		}
	}
	if err := r.survey.Close(); err != nil {
		r.l.Log.Warn("closing the survey", "source", r.src.Describe, "error", err)
	}
}

// round puts one round's records through all subtasks and ends it as a checkpoint does.
func (r *run) round(id account.CheckpointID, parts []connector.Part) error {
	begin := r.clock.now
	for _, t := range r.tasks {
		var mine []connector.Part
		total := int64(0)
		for _, p := range parts {
			if r.out.Splits[p.Split].Subtask == t.index {
				mine = append(mine, p)
				total += p.To - p.From
			}
		}
		r.clock.now = begin
		if len(mine) > 0 {
			if err := r.task(t, mine, begin, total); err != nil {
				return err
			}
		}
		r.clock.now = begin.Add(r.length)
		for _, b := range t.branches {
			if b.writer == nil {
				continue
			}
			if err := b.barrier(id); err != nil {
				return fmt.Errorf("sink %s: %w", b.Table, err)
			}
		}
	}
	r.clock.now = begin.Add(r.length)
	return nil
}

// task reads one subtask's parts of a round.
func (r *run) task(t *task, parts []connector.Part, begin time.Time, total int64) error {
	signal := r.l.Env.NewSignal()
	reader, err := r.survey.Read(r.l.context(t.index, r.set.Parallelism, signal.Notify), parts)
	if err != nil {
		return err
	}
	err = r.drain(t, reader, signal, begin, total)
	_, ranges, serr := reader.Snapshot()
	for _, g := range ranges {
		t.read += g.To - g.From // as rates count: with what was filtered, did not parse, or is no record
		r.seen.Rejected += g.Rejected
	}
	seen := reader.Seen()
	if seen.Newest.After(r.seen.NewestRecord) {
		r.seen.NewestRecord = seen.Newest
	}
	if seen.Transactional {
		for i := range r.out.Topics {
			for _, p := range parts { // a table of several topics: those of the parts
				if r.splits[p.Split].Topic == r.out.Topics[i].Name {
					r.out.Topics[i].Transactional = true
				}
			}
		}
	}
	return errors.Join(err, serr, reader.Close())
}

// drain reads to the end.
func (r *run) drain(t *task, reader connector.Reader, signal env.Signal, begin time.Time, total int64) error {
	batch := changelog.NewBatch(r.src.Schema)
	tick, rows := begin, int64(0)
	for {
		began := r.l.Env.Now()
		if began.After(r.deadline) {
			return errTime
		}
		batch.Reset()
		status, err := reader.Poll(batch)
		if err != nil {
			return err
		}
		if batch.Rows > 0 {
			rows += int64(batch.Rows)
			r.clock.now = begin.Add(time.Duration(float64(r.length) * min(1, float64(rows)/float64(total))))
			if r.clock.now.Sub(tick) >= time.Second {
				tick = r.clock.now
				if err := t.tick(tick); err != nil {
					return err
				}
			}
			if err := r.process(t, batch, reader.Splits()); err != nil {
				return err
			}
			r.busy += r.l.Env.Now().Sub(began)
		}
		switch status {
		case connector.Ended:
			return nil
		case connector.Waiting:
			if batch.Rows == 0 {
				signal.Wait(100 * time.Millisecond)
			}
		}
	}
}

func (t *task) tick(now time.Time) error {
	for _, b := range t.branches {
		if b.writer != nil {
			if err := b.writer.Tick(now); err != nil {
				return err
			}
		}
	}
	return nil
}

// process puts a batch through the branches, as a running subtask does.
func (r *run) process(t *task, in *changelog.Batch, splits []connector.Split) error {
	r.seen.Records += int64(in.Rows)
	if t.marker != nil {
		w, ok, err := t.marker.Max(in)
		if err != nil {
			return rowError(err, in, splits, "WATERMARK of "+r.src.Name)
		}
		if ok && w > r.event {
			r.event = w
		}
	}
	for _, b := range t.branches {
		out, err := b.op.Process(in)
		if err != nil {
			return rowError(err, in, splits, "INSERT "+b.Insert)
		}
		b.out.Written += int64(out.Rows)
		if out.Rows == 0 || b.writer == nil {
			continue
		}
		if err := b.writer.Write(out, splits); err != nil {
			return fmt.Errorf("sink %s: %w", b.Table, err)
		}
		b.taken += int64(out.Rows)
		if n := b.writer.SizeBytes(); n > b.held {
			b.held = n
			b.grown = append(b.grown, growth{b.taken, n})
		}
	}
	return t.reduce(r.l.Options.WritersMemory)
}

// reduce keeps a subtask's open files inside of what all of them may take in the running job: this process has no more.
func (t *task) reduce(most int64) error {
	for most > 0 {
		total, largest := int64(0), (*branch)(nil)
		for _, b := range t.branches {
			if b.writer == nil {
				continue
			}
			n := b.writer.SizeBytes()
			total += n
			if _, ok := b.writer.(connector.Flusher); ok && (largest == nil || n > largest.writer.SizeBytes()) {
				largest = b
			}
		}
		if total <= most || largest == nil {
			return nil
		}
		if did, err := largest.writer.(connector.Flusher).FlushLargest(); err != nil || !did {
			return err
		}
	}
	return nil
}

// rowError names the record that an operator could not process: it would end the job.
func rowError(err error, in *changelog.Batch, splits []connector.Split, where string) error {
	var row *operator.RowError
	if errors.As(err, &row) && in.Split >= 0 && in.Split < len(splits) && row.Row < len(in.Offsets) {
		return fault.Userf("%s: record at %s offset %d: %w", where, splits[in.Split].ID, in.Offsets[row.Row], row.Err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// barrier ends the files of a round, and forgets them.
func (b *branch) barrier(id account.CheckpointID) error {
	out, durable, err := b.writer.Prepare(id)
	if err != nil {
		return err
	}
	if durable != nil {
		if err := durable(); err != nil {
			return err
		}
	}
	store := b.Sink.(connector.FileTable).Store()
	open, rows := map[string]bool{}, int64(0)
	for _, c := range out {
		f := c.File
		if f == nil {
			continue
		}
		rows += f.Rows
		open[f.Partition] = true
		b.out.Files = append(b.out.Files, forecast.FileSample{Rows: f.Rows, Bytes: f.Length})
		if _, known := b.rows[f.Partition]; known || len(b.rows) < folders {
			b.rows[f.Partition] += f.Rows
		}
		if err := store.Delete(f.Pending); err != nil {
			return err
		}
	}
	half := int64(0)
	for _, g := range b.grown {
		if g.rows <= b.taken/2 {
			half = g.held
		}
	}
	b.out.Rows, b.out.Held, b.out.Half, b.out.Open = append(b.out.Rows, rows), append(b.out.Held, b.held), append(b.out.Half, half), append(b.out.Open, len(open))
	b.held, b.taken, b.grown = 0, 0, b.grown[:0]
	return nil
}

// collect puts what the subtasks had into the facts of the sinks.
func (r *run) collect(done int) {
	for i := range r.sinks {
		s := &r.sinks[i]
		if !s.Files {
			continue
		}
		x := &forecast.Sample{Whole: r.whole, Share: r.share, Rounds: done}
		rows := map[string]int64{}
		for _, t := range r.tasks {
			b := t.branches[i]
			b.out.Read = t.read
			for folder, n := range b.rows {
				b.out.Folders = append(b.out.Folders, n)
				rows[folder] += n
			}
			x.Tasks = append(x.Tasks, b.out)
		}
		if len(s.Keys) > 0 {
			partitions(s, x, r.src.Branches[i].Sink, rows)
		}
		s.Sample = x
	}
}
