package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"staunch/account"
	"staunch/commit"
)

const (
	demoTopic      = "events"
	demoPartitions = 4
	// demoFeed is how long the events take to arrive, so that there is a half-way at which the job can be killed.
	demoFeed = 6 * time.Second
	// When the job is killed, in percent of the events: as soon as this much is visible, and the events wait at the gate until it happened.
	firstKill, firstGate   = 15, 45
	secondKill, secondGate = 50, 90
)

// demo is one run of `staunch demo`.
type demo struct {
	dir     string
	records int64
	say     *voice
	began   time.Time
	boot    string
	job     *child
	feed    *feeder
	table   *demoTable
	told    account.CheckpointID // the newest checkpoint that was told of
}

func demoCmd() *cobra.Command {
	d := &demo{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "the product in one minute: no servers needed, killed twice, resumed, audited",
		Long: "An embedded broker with the Kafka protocol, a job that writes its events to a Parquet table, two kill -9 while it runs, and the proof\n" +
			"that each event is there exactly once. Everything it makes is in one folder and stays there to be looked at.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return d.run() },
	}
	c.Flags().StringVar(&d.dir, "dir", "staunch-demo", "the demo's folder; one of an earlier demo is emptied first, any other is refused")
	c.Flags().Int64Var(&d.records, "records", 1_000_000, "events")
	return c
}

func (d *demo) run() error {
	if d.records < 1000 || d.records > 50_000_000 {
		return &exitError{exitUsage, fmt.Errorf("--records is from 1000 to 50000000, not %d", d.records)}
	}
	out := &firm{out: os.Stdout}
	d.say, d.began = newVoice(os.Stdout), time.Now()
	d.say.out = out
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	unlock, err := d.folder()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer unlock()
	err = d.play(ctx)
	if err != nil && ctx.Err() != nil {
		d.say.line("interrupted; the broker and the job were ended")
		return &exitError{exitInterrupted, nil}
	}
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("demo: %w", err)}
	}
	return out.failed()
}

// play is the demo from the first step to the last.
func (d *demo) play(ctx context.Context) error {
	end, err := d.broker(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { d.job.kill() }()
	if err := d.start(ctx); err != nil {
		return err
	}
	if err := d.killFirst(ctx); err != nil {
		return err
	}
	interrupted, err := d.killSecond(ctx)
	if err != nil {
		return err
	}
	if err := d.finish(ctx); err != nil {
		return err
	}
	return d.prove(ctx, interrupted)
}

// path is a file or folder of the demo.
func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// broker starts the embedded broker and makes the topic.
func (d *demo) broker(ctx context.Context) (end func(), err error) {
	d.say.step("A broker", "a process of its own speaks the Kafka protocol and keeps its data in "+d.path("broker"))
	b, addr, err := startBroker(ctx, d.path("broker"))
	if err != nil {
		return nil, err
	}
	d.boot = addr
	if d.feed, err = newFeeder(ctx, addr, d.records, demoFeed); err != nil {
		b.stop()
		return nil, err
	}
	d.say.line("it listens on %s (pid %d); topic '%s' has %d partitions", addr, b.pid(), demoTopic, demoPartitions)
	return func() { d.feed.close(); b.stop() }, nil
}

// start shows the job's file, starts the job and lets the events come.
func (d *demo) start(ctx context.Context) error {
	d.say.step("A job", "this is "+d.path("orders.sql")+"; the same file runs on Apache Flink")
	sql, err := d.writeSQL()
	if err != nil {
		return err
	}
	d.say.code(sql)
	if d.table, err = openDemoTable(d.path("lake"), "orders"); err != nil {
		return err
	}
	d.feed.gate.Store(d.records * firstGate / 100)
	go d.feed.run(ctx)
	return d.startJob()
}

func (d *demo) startJob() (err error) {
	d.say.command("staunch run " + shellWord(d.path("orders.sql")))
	d.job, err = startChild(d.path("job.log"), "run", d.path("orders.sql"))
	return err
}

// killFirst kills the job once it has made rows visible while events go on coming.
func (d *demo) killFirst(ctx context.Context) error {
	err := d.until(ctx, func() (bool, error) {
		acked := d.feed.acked.Load() // that some rows are on their way makes the kill worth it
		return d.table.rows*100 >= d.records*firstKill && (acked-d.table.rows >= d.records/12 || acked >= d.feed.gate.Load()), nil
	})
	if err != nil {
		return err
	}
	if _, err = d.killJob("The first kill -9", "some rows are visible, others are on their way: the process dies without a word"); err != nil {
		return err
	}
	d.feed.gate.Store(d.records * secondGate / 100)
	d.say.line("run it again: it first commits what its newest checkpoint promised, then reads on from there")
	return d.startJob()
}

// killSecond kills the job when a certificate stands in the table's log and its files are just being made visible.
func (d *demo) killSecond(ctx context.Context) (*commit.Certified, error) {
	err := d.until(ctx, func() (bool, error) { return d.table.rows*100 >= d.records*secondKill, nil })
	if err != nil {
		return nil, err
	}
	if err := d.certificate(ctx); err != nil {
		return nil, err
	}
	c, err := d.killJob("The second kill -9", "this time in the middle of a commit: at the moment in which a certificate appears in the table's log")
	if err != nil {
		return nil, err
	}
	d.feed.gate.Store(d.records)
	d.feed.fast.Store(true)
	d.say.line("no job runs now, and the events go on coming until all %s are in the topic", count(d.records))
	return c, d.feed.wait(ctx)
}

// certificate waits until another certificate is placed in the table's log.
func (d *demo) certificate(ctx context.Context) error {
	last := d.table.last
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for {
		kind, err := d.table.kind(last + 1)
		if err != nil || kind == account.KindCertificate {
			return err
		}
		if kind != "" {
			last++
			continue
		}
		if err := d.alive(ctx, tick); err != nil {
			return err
		}
	}
}

// killJob ends the job with SIGKILL and tells what it left behind. It gives the certificate that is not done, if there is one.
func (d *demo) killJob(title, text string) (*commit.Certified, error) {
	pid := d.job.pid()
	d.job.kill()
	if err := d.look(); err != nil {
		return nil, err
	}
	d.say.step(title, text)
	d.say.command(fmt.Sprintf("kill -9 %d", pid))
	pending, err := d.table.pending()
	if err != nil {
		return nil, err
	}
	d.say.line("the topic holds %s events; %s rows in %d files are visible and stay so", count(d.feed.acked.Load()), count(d.table.rows), d.table.files)
	if pending > 0 {
		d.say.line("%d files lie in the temporary folder, where no reader looks", pending)
	} else {
		d.say.line("what it had read beyond that was in its memory only, and is gone with it; the topic still has it")
	}
	c := d.table.undone()
	if c == nil {
		return nil, nil
	}
	there := 0
	for _, f := range c.Files {
		if _, err := os.Lstat(f.Final); err == nil {
			there++
		}
	}
	d.say.line("checkpoint %d is promised, and %d of its %d files had been renamed: what is left to do is for the next life of the job", c.Checkpoint, there, len(c.Files))
	return c, nil
}

// finish runs the job until all that is in the topic is visible, and stops it in peace.
func (d *demo) finish(ctx context.Context) error {
	d.say.step("To the end", "the job is run for the third time and reads the rest")
	if err := d.startJob(); err != nil {
		return err
	}
	err := d.until(ctx, func() (bool, error) { return d.table.covers(d.feed.next), nil })
	if err != nil {
		return err
	}
	d.say.line("all is visible; a stream has no end, so the job is asked to stop: it takes and commits a last checkpoint")
	d.say.command(fmt.Sprintf("kill -TERM %d", d.job.pid()))
	if err := d.job.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the job: %w", err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.job.done:
	}
	if code, _ := d.job.ended(); code != exitInterrupted {
		return d.job.failure("the job, asked to stop,")
	}
	if err := d.look(); err != nil {
		return err
	}
	d.say.line("it has stopped with exit code %d: %s rows in %d files", exitInterrupted, count(d.table.rows), d.table.files)
	return nil
}

// until looks at the table until done says so, and tells of each checkpoint that became visible. A job that ends
// meanwhile is an error.
func (d *demo) until(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	defer d.say.live("")
	var shown time.Time
	for {
		if err := d.look(); err != nil {
			return err
		}
		if ok, err := done(); ok || err != nil {
			return err
		}
		if acked, now := d.feed.acked.Load(), time.Now(); now.Sub(shown) > 100*time.Millisecond {
			shown = now
			d.say.live(fmt.Sprintf("topic %s  visible %s  %s", count(acked), count(d.table.rows), bar(d.table.rows, acked, d.records)))
		}
		if err := d.alive(ctx, tick); err != nil {
			return err
		}
	}
}

// alive waits for a tick; it is an error if the job or the broker's client is at fault, or the demo is to end.
func (d *demo) alive(ctx context.Context, tick *time.Ticker) error {
	if _, ended := d.job.ended(); ended {
		return d.job.failure("the job")
	}
	if err := d.feed.failed(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-tick.C:
		return nil
	}
}

// look reads the table's log and tells what is new in it.
func (d *demo) look() error {
	if err := d.table.look(); err != nil {
		return err
	}
	for _, c := range d.table.done {
		if c.Checkpoint > d.told {
			d.told = c.Checkpoint
			n := c.Done.Counters
			text := fmt.Sprintf("%d files renamed", n.Renamed)
			if n.Skipped > 0 {
				text += fmt.Sprintf(", %d found in place already", n.Skipped)
			}
			d.say.line("checkpoint %3d is visible: %9s rows so far  (%s)", c.Checkpoint, count(d.table.rowsAt(c.Checkpoint)), text)
		}
	}
	return nil
}

// prove is the end: the audit, the rows counted without any of Staunch's own bookkeeping, and what the table's log says.
func (d *demo) prove(ctx context.Context, interrupted *commit.Certified) error {
	bad := 0
	d.say.step("The audit", "each certificate, each file and each offset is checked, from the table alone")
	d.say.command("staunch audit " + shellWord(d.path("orders.sql")))
	out, err := runChild(ctx, "audit", d.path("orders.sql"))
	d.say.code(strings.TrimSpace(out))
	if err != nil || !strings.Contains(out, ": clean") {
		bad++
		d.say.bad("the audit is not clean: %v", err)
	}
	d.say.step("Counted independently", "every Parquet file is read by Arrow's reader and each row is held against the event that was produced")
	r, err := d.feed.check(ctx, d.path("lake"))
	if err != nil {
		return err
	}
	d.say.line("produced  %9s events, %s of them heartbeats that the query leaves out", count(d.records), count(d.records-r.want))
	d.say.line("in files  %9s rows, each (part, off) with the amount and user of its event", count(r.rows))
	if r.right() {
		d.say.good("missing 0, twice 0, wrong 0")
	} else {
		bad++
		d.say.bad("missing %d, twice %d, wrong %d, never produced %d", r.missing, r.twice, r.wrong, r.foreign)
	}
	d.say.step("A few rows", "as any Parquet reader sees them")
	d.say.code(r.sample())
	if err := d.papers(interrupted); err != nil {
		return err
	}
	took := time.Since(d.began).Round(100 * time.Millisecond)
	if bad > 0 {
		return errors.New("the table is not what it should be: see above, and " + d.path("job.log"))
	}
	d.say.step("Done", fmt.Sprintf("two kill -9, no row lost, none twice, in %s", took))
	d.say.line("look around: %s", d.path("lake"))
	return nil
}

// papers shows the certificate of one checkpoint and the counters.
func (d *demo) papers(interrupted *commit.Certified) error {
	c := d.table.done[len(d.table.done)-1]
	text := "for each checkpoint the table's log has one"
	for _, x := range d.table.done {
		if interrupted != nil && x.Hash == interrupted.Hash {
			c, text = x, "of the checkpoint in whose commit the job was killed"
		}
	}
	d.say.step("A certificate", text)
	d.say.code(certificateText(c))
	var n account.Counters
	for _, x := range d.table.done {
		n.Add(x.Done.Counters)
	}
	d.say.step("The counters", "every file that a checkpoint named was renamed or was there already; a lost one would have stopped the job")
	d.say.line("numFilesCreated %d = numFilesRenamed %d + numFilesSkipped %d + numFilesLost %d", n.Created, n.Renamed, n.Skipped, n.Lost)
	return nil
}
