package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fs"
	"staunch/plan"
)

// verdict of one line of a check.
type verdict string

const (
	pass verdict = "pass"
	warn verdict = "warn"
	fail verdict = "fail"
)

// finding is one line of a check.
type finding struct {
	Verdict verdict `json:"verdict"`
	What    string  `json:"what"`
	Why     string  `json:"why"`
	// Code names the rule of a forecast, Change is what to do.
	Code   string `json:"code,omitempty"`
	Change string `json:"change,omitempty"`
}

// sinkReport is the guarantee of one INSERT and its reasons.
type sinkReport struct {
	Insert    string   `json:"insert"`
	Table     string   `json:"table"`
	Guarantee string   `json:"guarantee"`
	Reasons   []string `json:"reasons"`
}

// jobReport is the check of one job.
type jobReport struct {
	Job      string       `json:"job"`
	Findings []finding    `json:"findings"`
	Sinks    []sinkReport `json:"sinks"`
	// Windows: how much time is left until something that is not committed leaves its place.
	Windows []windowReport `json:"windows,omitempty"`
	// Forecasts of the INSERTs that write files.
	Forecasts []forecastReport `json:"forecasts,omitempty"`
}

func checkCmd() *cobra.Command {
	f, o := &runFlags{}, forecastFlags{}
	output := "text"
	c := &cobra.Command{
		Use:   "check FILE.sql",
		Short: "parse, bind, plan; ask every source and store; what the job will do, what contradicts what, the guarantee of each sink and why. Nothing is started",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return &exitError{exitUsage, fmt.Errorf("--output is text or json, not %q", output)}
			}
			if err := o.check(); err != nil {
				return err
			}
			return f.check(args[0], output == "json", o)
		},
	}
	f.add(c)
	o.add(c)
	c.Flags().StringVar(&output, "output", output, "text or json")
	return c
}

func (f *runFlags) check(file string, asJSON bool, o forecastFlags) error {
	script, _, err := f.load(file, newCollector(os.Stdout).sink)
	if err != nil {
		return err
	}
	looker, err := f.looker(file, script, o)
	if err != nil {
		return err
	}
	var reports []jobReport
	bad := false
	jobs := script.Jobs()
	for i, j := range jobs {
		r, err := f.checkJob(j)
		if err == nil {
			err = r.forecasts(looker, i, j, len(jobs))
		}
		if err != nil {
			return err
		}
		for _, x := range r.Findings {
			bad = bad || x.Verdict == fail
		}
		reports = append(reports, r)
	}
	if asJSON {
		if err := writeJSON(os.Stdout, map[string]any{"warnings": append([]string{}, script.Warnings...), "jobs": reports}); err != nil {
			return err
		}
	} else {
		var text strings.Builder
		for _, w := range script.Warnings {
			fmt.Fprintln(&text, "warn  ", w)
		}
		for _, r := range reports {
			r.print(&text)
		}
		if len(reports) == 0 {
			fmt.Fprintln(&text, "no job in this file")
		}
		if err := say(os.Stdout, text.String()); err != nil {
			return err
		}
	}
	if bad {
		return &exitError{exitFailed, nil}
	}
	return nil
}

func (r jobReport) print(out io.Writer) {
	fmt.Fprintf(out, "job %s\n", r.Job)
	for _, x := range r.Findings {
		fmt.Fprintf(out, "  %-5s %s: %s\n", x.Verdict, x.What, strings.ReplaceAll(x.Why, "\n", "\n        "))
		if x.Change != "" {
			fmt.Fprintf(out, "        %s [%s]\n", x.Change, x.Code)
		}
	}
	for _, p := range r.Forecasts {
		p.print(out)
	}
	for _, s := range r.Sinks {
		fmt.Fprintf(out, "  sink %s (INSERT %s): %s\n", s.Table, s.Insert, s.Guarantee)
		for _, why := range s.Reasons {
			fmt.Fprintf(out, "        because %s\n", why)
		}
	}
}

func (f *runFlags) checkJob(j *plan.Job) (jobReport, error) {
	r := jobReport{Job: j.Name}
	add := func(v verdict, what, why string, args ...any) {
		r.Findings = append(r.Findings, finding{Verdict: v, What: what, Why: fmt.Sprintf(why, args...)})
	}
	log, err := f.logger()
	if err != nil {
		return r, err
	}
	ck, err := j.Conf.Checkpointing()
	if err != nil {
		return r, err
	}
	checkDir(f.stores(), ck.Dir, j.Name, add)
	dir := ck.Dir
	if dir == "" {
		if dir, err = config.DefaultStateDir(os.Getenv); err != nil {
			return r, err
		}
	}
	window, err := newLoss(j, ck, checkRetained(f.stores(), dir, j.Name, log, add), &r)
	if err != nil {
		return r, err
	}
	ctx := connector.Context{Env: &env.Real{}, Log: log, Job: j.Name, Parallelism: j.Graph.Parallelism, Wake: func() {},
		NextCheckpoint: func() account.CheckpointID { return 1 }}
	for _, s := range j.Graph.Sources {
		splits := checkSource(s.Describe, s.Source, j.Graph.Parallelism, ctx, add)
		window.source(s.Name, s.Describe, s.Source, window.positions(s.Name, splits), ctx)
	}
	window.tables(j)
	for _, s := range j.Sinks {
		r.Sinks = append(r.Sinks, checkSink(s, j, ctx, add))
	}
	return r, nil
}

// checkDir looks whether checkpoints can be kept.
func checkDir(stores fs.Resolver, dir, job string, add func(verdict, string, string, ...any)) {
	if dir == "" {
		add(warn, "checkpoint directory", "execution.checkpointing.dir is not set: the user's state directory is used, and another user or host would not find it")
		return
	}
	store, path, err := stores.Resolve(dir)
	if err != nil {
		add(fail, "checkpoint directory", "%v", err)
		return
	}
	at, err := writable(store, path)
	if err == nil && at == path { // the job's own folder may be another user's
		_, err = writable(store, checkpoint.Dir(path, commit.Escape(job)))
	}
	if err != nil {
		add(fail, "checkpoint directory", "%v", err)
		return
	}
	if at == path {
		add(pass, "checkpoint directory", "%s", fs.URI(store, path))
	} else {
		add(pass, "checkpoint directory", "%s (will be made in %s)", fs.URI(store, path), fs.URI(store, at))
	}
}

// writable finds the nearest folder that exists, path or one above it, and tries whether folders can be made there: an empty one is made and removed.
func writable(store fs.FS, path string) (at string, err error) {
	for at = path; at != "/"; at = filepath.Dir(at) {
		info, err := store.Stat(at)
		if err == nil && !info.Dir {
			return at, fmt.Errorf("%s is a file", fs.URI(store, at))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return at, err
		}
	}
	if err := fs.MayMake(store, at, ".staunch-check-"+env.RandomHex(&env.Real{}, 12)); err != nil {
		return at, fmt.Errorf("nothing can be written in %s: %w", fs.URI(store, at), err)
	}
	return at, nil
}

// checkRetained lists the checkpoints that the job can go back to, and gives their log, nil if there is none.
func checkRetained(stores fs.Resolver, dir, job string, log *slog.Logger, add func(verdict, string, string, ...any)) *checkpoint.Store {
	store, path, err := stores.Resolve(dir)
	if err != nil {
		return nil // checkDir has said it
	}
	path = checkpoint.Dir(path, commit.Escape(job))
	if _, err := store.Stat(path); err != nil {
		return nil // nothing yet, or said
	}
	s := checkpoint.Open(&env.Real{}, store, path, checkpoint.Variant{}, log)
	if err := s.Load(); err != nil {
		add(fail, "retained checkpoints", "%v", err)
		return nil
	}
	for _, r := range s.Retained() {
		files := 0
		for _, t := range r.Tables {
			files += len(t.Files)
		}
		add(pass, fmt.Sprintf("checkpoint %d", r.ID), "%s, %d files, %s", r.Time.UTC().Format("2006-01-02 15:04:05Z"), files, s.Path(r))
	}
	return s
}

// checkSource asks the source for its splits and gives them.
func checkSource(name string, s connector.Source, parallelism int, ctx connector.Context, add func(verdict, string, string, ...any)) []connector.Split {
	en, err := s.Enumerate(ctx, nil)
	if err != nil {
		add(fail, "source "+name, "%v", err)
		return nil
	}
	splits, err := en.Discover(nil)
	cerr := en.Close()
	_, surveyed := s.(connector.Surveyor) // then the forecast says it
	switch {
	case err != nil:
		add(fail, "source "+name, "%v", err)
	case cerr != nil:
		add(warn, "source "+name, "%v", cerr)
	case len(splits) == 0:
		add(warn, "source "+name, "it answers, but there is nothing to read yet")
	case len(splits) < parallelism && !surveyed:
		add(warn, "source "+name, "it answers; %d partitions for a parallelism of %d: the rest stands idle", len(splits), parallelism)
	default:
		add(pass, "source "+name, "it answers; %d partitions", len(splits))
	}
	if !s.Replayable() {
		add(warn, "source "+name, "it cannot be read again from a position")
	}
	return splits
}

// checkFolder tries whether a table's folder can be written to. Its temporary folder is not made for that: where it is not there yet, the store's
// rename is not tried.
func checkFolder(t connector.FileTable) (state string, probe bool, err error) {
	at, err := writable(t.Store(), t.Root())
	if err != nil {
		return "", false, err
	}
	if at != t.Root() {
		return fmt.Sprintf("%s is not there yet and will be made in %s", fs.URI(t.Store(), t.Root()), fs.URI(t.Store(), at)), false, nil
	}
	if _, err := t.Store().Stat(t.Root() + "/" + account.Temporary); errors.Is(err, fs.ErrNotExist) {
		return "the store answers, and folders can be made; whether it renames without overwriting is tried at the start", false, nil
	}
	return "", true, nil
}

// checkSink says what a sink guarantees, and why.
func checkSink(s plan.Sink, j *plan.Job, ctx connector.Context, add func(verdict, string, string, ...any)) sinkReport {
	name := s.Key
	if s.Table != nil {
		name = s.Table.Name
	}
	out := sinkReport{Insert: s.Insert, Table: name, Guarantee: "none"}
	probe := true
	if t, ok := s.Sink.(connector.FileTable); ok {
		var state string
		var err error
		if state, probe, err = checkFolder(t); err != nil {
			add(fail, "sink "+name, "%v", err)
		} else if !probe {
			add(pass, "sink "+name, "%s", state)
		}
	}
	if p, ok := s.Sink.(connector.Prober); ok && probe {
		if err := p.Probe(ctx); err != nil {
			add(fail, "sink "+name, "%v", err)
		} else {
			add(pass, "sink "+name, "the store answers, and renames without overwriting")
		}
	}
	if g, ok := s.Sink.(connector.Guarantee); ok {
		level, why := g.Guarantee()
		out.Guarantee, out.Reasons = level, append(out.Reasons, why)
	}
	if !j.Replayable {
		if out.Guarantee == "exactly-once" {
			out.Guarantee = "at-least-once"
		}
		out.Reasons = append(out.Reasons, "a source of the job cannot be read again from a position")
	} else if out.Guarantee == "exactly-once" {
		out.Reasons = append(out.Reasons, "every source can be read again from the positions in the checkpoint",
			"one record gives at most one row, so that accounts close and `staunch audit` proves each offset")
	}
	if s.Table != nil && j.Conf.TableOptions(s.Table.Name).String("temporary-cleanup") == "before-write" {
		add(warn, "sink "+name, "temporary-cleanup = before-write is not needed: names are unique and files of ended attempts are ignored; "+
			"set it to never once no writer that empties folders runs any more, and use `staunch clean`")
	}
	return out
}
