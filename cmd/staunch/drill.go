package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"staunch/account"
	"staunch/commit"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/drill"
	"staunch/env"
	"staunch/fs"
	"staunch/metric"
	"staunch/plan"
)

// scratchPrefix begins the names of scratch folders: hidden from all readers of tables.
const scratchPrefix = ".staunch-drill-"

// drillFlags are what `staunch drill` takes.
type drillFlags struct {
	scriptFlags
	records  int64
	limit    time.Duration
	scratch  string
	output   string
	faults   []string
	steps    string
	parallel int
	keep     bool
}

func drillCmd() *cobra.Command {
	f := &drillFlags{}
	c := &cobra.Command{
		Use:   "drill FILE.sql",
		Short: "break the job of a statement file at every step of its commits, beside the real one, and count what became of the rows",
		Long: "Runs the file's jobs in a scratch folder, undisturbed first, then once for each step on a store and each fault that can meet it: kill -9, answers\n" +
			"that are false, late or missing, calls that are done twice or later, a file that another client deletes. The job is started again until it has\n" +
			"ended; then all visible rows are held against the undisturbed run and the tables are audited.\n\n" +
			"The user's tables, topics, consumer group and checkpoints are read only; at the end they are compared with how they were. No consumer group\n" +
			"is used. Exit code 0: all held; 1: rows were lost or doubled, a job did not come to its end, or something of the user's is gone or other than it\n" +
			"was and no running job explains it; 2: the drill could not be run.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args[0]) },
	}
	f.add(c)
	c.Flags().Int64Var(&f.records, "records", 20000, "records to read of each source table, at most")
	c.Flags().DurationVar(&f.limit, "for", 0, "begin no further run after this time (0: all are made)")
	c.Flags().StringVar(&f.scratch, "scratch", "", "a folder that does not exist, on the store of the tables (default: .staunch-drill-... beside the first table)")
	c.Flags().StringVar(&f.output, "output", "text", "text or json")
	c.Flags().StringSliceVar(&f.faults, "faults", nil, "only these faults: "+faultNames())
	c.Flags().StringVar(&f.steps, "steps", "", "only steps whose name contains this text, for instance \"table's log\" or rename")
	c.Flags().IntVar(&f.parallel, "parallel", 4, "runs at a time")
	c.Flags().BoolVar(&f.keep, "keep", false, "leave the scratch folder and the logs of all runs")
	return c
}

func faultNames() string {
	var names []string
	for _, f := range drill.Faults {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// check looks at the flags.
func (f *drillFlags) check() error {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output is text or json, not %q", f.output)
	}
	if f.records < 1 || f.records > 10_000_000 {
		return fmt.Errorf("--records is from 1 to 10000000, not %d", f.records)
	}
	if f.parallel < 1 {
		return fmt.Errorf("--parallel is at least 1, not %d", f.parallel)
	}
	if f.limit < 0 {
		return fmt.Errorf("--for is a time from 0 on (0: all runs are made), not %s", f.limit)
	}
	for _, name := range f.faults {
		if !slices.Contains(drill.Faults, drill.Fault(name)) {
			return fmt.Errorf("--faults: there is no fault %q; known are %s", name, faultNames())
		}
	}
	return nil
}

func (f *drillFlags) run(file string) error {
	if err := f.check(); err != nil {
		return &exitError{exitUsage, err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &drillSetup{drillFlags: f, out: &firm{out: os.Stdout}}
	if f.output == "json" {
		s.out.out = io.Discard
	}
	bad, err := s.play(ctx, file)
	var x *exitError
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("drill: interrupted; what it had made was removed")}
	case errors.As(err, &x) && x.code == exitFailed: // nothing was wrong with the question
		return err
	case err != nil:
		return &exitError{exitUsage, fmt.Errorf("drill: %w", err)}
	case bad > 0:
		return &exitError{exitFailed, fmt.Errorf("drill: runs in which something was not as promised, or things of yours that were changed: %d", bad)}
	}
	return nil
}

// drillSetup is one drill being prepared and run.
type drillSetup struct {
	*drillFlags
	out    *firm
	file   string
	script *plan.Script
	name   string
	tables []drill.Table
	job    drill.Job
	notes  []string
	before []drill.Exhibit
	// expected are the rows of the undisturbed run.
	expected int64
}

// drillReport is the JSON output.
type drillReport struct {
	File      string            `json:"file"`
	Held      bool              `json:"held"`
	Report    *drill.Report     `json:"drill"`
	Untouched []drill.Untouched `json:"untouched"`
}

// play is the drill from the first look to the last.
func (s *drillSetup) play(ctx context.Context, file string) (bad int, err error) {
	if err := s.plan(file); err != nil {
		return 0, err
	}
	if s.before, err = s.look(ctx); err != nil {
		return 0, err
	}
	control, err := os.MkdirTemp("", "staunch-drill-")
	if err != nil {
		return 0, err
	}
	s.tellPlan()
	if err := s.out.failed(); err != nil { // before the work, not behind it
		return 0, errors.Join(err, os.RemoveAll(control))
	}
	d := &drill.Drill{Subject: drilled{}, Stores: s.stores(), Scratch: s.scratch, Control: control, Tables: s.tables, Job: s.job, Audit: true,
		Parallel: s.parallel, Keep: s.keep, Planned: s.tellPlanned, Told: s.tellRun}
	for _, name := range s.faults {
		d.Faults = append(d.Faults, drill.Fault(name))
	}
	if s.steps != "" {
		d.Only = func(k drill.Key) bool { return strings.Contains(k.String(), s.steps) }
	}
	if s.limit > 0 {
		d.Until = time.Now().Add(s.limit)
	}
	rep, err := d.Do(ctx)
	if err != nil {
		return 0, errors.Join(err, os.RemoveAll(control))
	}
	rep.Notes = append(rep.Notes, s.notes...)
	if rep.Bad() > 0 || s.keep {
		rep.Notes = append(rep.Notes, "what the processes of each run said is in "+control)
	} else if err := os.RemoveAll(control); err != nil {
		return 0, err
	}
	after, err := s.look(context.WithoutCancel(ctx))
	if err != nil {
		return 0, err
	}
	bad = rep.Bad()
	var untouched []drill.Untouched
	others, err := drill.FindOthers(context.WithoutCancel(ctx), s.stores(), s.before, after)
	if err != nil {
		rep.Notes = append(rep.Notes, fmt.Sprintf("whether other jobs run cannot be told, so that nothing is explained by them: %v", err))
	}
	for i := range after {
		u := after[i].Against(s.before[i], others, s.name, account.Job8(s.name), path.Base(s.scratch))
		if u.Bad() {
			bad++
		}
		untouched = append(untouched, u)
	}
	s.tellEnd(rep, untouched)
	if s.output == "json" {
		if err := writeJSON(os.Stdout, drillReport{File: s.file, Held: bad == 0 && rep.Tried() > 0, Report: rep, Untouched: untouched}); err != nil {
			return bad, &exitError{exitFailed, err}
		}
	}
	if err := s.out.failed(); err != nil {
		return bad, err
	}
	if err == nil && rep.Tried() == 0 { // never to be taken for a drill that held
		err = errors.New("nothing was tried: no step that was reached is left by --steps and --faults, or --for was over before the first run")
	}
	return bad, err
}

// plan finds what the file reads and writes, and where the drill does instead.
func (s *drillSetup) plan(file string) (err error) {
	if s.script, s.file, err = s.load(file, newCollector(io.Discard).sink); err != nil {
		return err
	}
	s.name = "drill-" + env.RandomHex(&env.Real{}, 4)
	for _, j := range s.script.Jobs() {
		if j.Select {
			continue
		}
		for _, sink := range j.Sinks {
			if !drill.Writes(sink.Connector) {
				return fmt.Errorf("table %s: a drill does not write tables of the connector %s, which it would do for real", sink.Table.Name, sink.Connector)
			}
			ft, ok := sink.Sink.(connector.FileTable)
			if !ok {
				s.notes = append(s.notes, fmt.Sprintf("table %s (%s) is not looked at: only tables of files are", sink.Table.Name, sink.Connector))
				continue
			}
			uri := fs.URI(ft.Store(), ft.Root())
			if slices.ContainsFunc(s.tables, func(t drill.Table) bool { return t.URI == uri }) {
				continue
			}
			s.tables = append(s.tables, drill.Table{Name: sink.Table.Name, URI: uri, Ext: ft.Extension(),
				Success: cmp.Or(sink.Table.Options[keySuccessName], "_SUCCESS")})
		}
	}
	if len(s.tables) == 0 {
		return fmt.Errorf("%s writes no table of files: there is nothing to drill", file)
	}
	if err := s.place(); err != nil {
		return err
	}
	s.job = drill.Job{File: s.file, Define: s.dynamic, Config: s.config, Name: s.name, Sources: map[string][]connector.Split{}, Records: map[string]int64{}}
	return s.windows()
}

// place chooses the scratch folder: beside the first table, or as near as there is a folder.
func (s *drillSetup) place() error {
	near := s.tables[0].URI
	if s.scratch == "" {
		store, p, err := s.stores().Resolve(near)
		if err != nil {
			return err
		}
		for p = path.Dir(p); p != "/"; p = path.Dir(p) {
			if _, err := store.Stat(p); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		s.scratch = fs.URI(store, path.Join(p, scratchPrefix+strings.TrimPrefix(s.name, "drill-")))
	}
	store, p, err := s.stores().Resolve(s.scratch)
	if err != nil {
		return err
	}
	s.scratch = fs.URI(store, p)
	if infos, err := store.List(path.Dir(p)); err == nil {
		for _, i := range infos {
			if i.Dir && strings.HasPrefix(i.Name, scratchPrefix) {
				s.notes = append(s.notes, fmt.Sprintf("%s is of another drill: one that runs, or one that was killed or found something; remove it if it is not needed",
					fs.URI(store, path.Join(path.Dir(p), i.Name))))
			}
		}
	}
	for _, t := range s.tables {
		if t.URI == s.scratch || strings.HasPrefix(s.scratch, t.URI+"/") {
			return fmt.Errorf("--scratch %s lies in table %s: choose a folder outside of it", s.scratch, t.Name)
		}
		if fs.Scheme(t.URI) != fs.Scheme(s.scratch) {
			s.notes = append(s.notes, fmt.Sprintf("table %s lies on another store than the scratch folder %s, where it is drilled", t.Name, s.scratch))
		}
	}
	return nil
}

// context is what sources are asked with.
func (s *drillSetup) context(parallelism int) connector.Context {
	return connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler), Job: s.name, Parallelism: parallelism, Wake: func() {},
		Metrics: metric.NewRegistry().Group("job_name", s.name), NextCheckpoint: func() account.CheckpointID { return 1 }}
}

// windows chooses which records are read.
func (s *drillSetup) windows() error {
	f := s.scriptFlags
	f.plugins = func(r *plan.Registry) { r.Connectors = drill.Bounded(r.Connectors, s.records) }
	script, _, err := f.load(s.file, newCollector(io.Discard).sink)
	if err != nil {
		return err
	}
	for _, j := range script.Jobs() {
		if j.Select {
			continue
		}
		for _, src := range j.Graph.Sources {
			if _, have := s.job.Sources[src.Name]; have {
				continue
			}
			if !src.Source.Bounded() || !src.Source.Replayable() {
				return fmt.Errorf("%s cannot be read in part and again: it cannot be drilled", src.Describe)
			}
			en, err := src.Source.Enumerate(s.context(j.Graph.Parallelism), nil)
			if err != nil {
				return fmt.Errorf("%s: %w", src.Describe, err)
			}
			splits, err := en.Discover(nil)
			if err := errors.Join(err, en.Close()); err != nil {
				return fmt.Errorf("%s: %w", src.Describe, err)
			}
			fromEnd := drill.FromEnd(script.Tables[src.Name].Options["scan.startup.mode"])
			splits, n, err := drill.Window(src.Source, splits, s.records, fromEnd)
			if err != nil {
				return fmt.Errorf("%s: %w", src.Describe, err)
			}
			if n == 0 {
				return fmt.Errorf("%s has no records: there is nothing to drill with", src.Describe)
			}
			s.job.Sources[src.Name], s.job.Records[src.Name] = splits, n
			part := "the first"
			if _, windowed := src.Source.(connector.Windowed); fromEnd && windowed {
				part = "the last"
			}
			s.tell("reads    %s: %s %s offsets, without a consumer group", src.Describe, part, count(n))
		}
	}
	return nil
}

// look sees everything of the user's that must stay as it is.
func (s *drillSetup) look(ctx context.Context) (out []drill.Exhibit, err error) {
	for _, t := range s.tables {
		x, err := drill.TreeOf(ctx, s.stores(), t)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	seen := map[string]bool{}
	for _, j := range s.script.Jobs() {
		if j.Select {
			continue
		}
		ck, err := j.Conf.Checkpointing()
		if err != nil {
			return nil, err
		}
		store, dir, err := resolveCheckpoints(s.stores(), ck.Dir)
		if err != nil {
			return nil, err
		}
		at := fs.URI(store, path.Join(dir, commit.Escape(j.Name)))
		x, err := drill.CheckpointsOf(ctx, s.stores(), j.Name, at)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
		for _, src := range j.Graph.Sources {
			if seen[src.Name] {
				continue
			}
			seen[src.Name] = true
			x, ok, err := drill.Topic(src.Describe, src.Source, s.context(1), s.readers(src.Name)...)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, x)
			}
		}
	}
	return out, nil
}

// readers are the jobs that read a source table.
func (s *drillSetup) readers(table string) (jobs []string) {
	for _, j := range s.script.Jobs() {
		if !j.Select && slices.ContainsFunc(j.Graph.Sources, func(src dataflow.Source) bool { return src.Name == table }) {
			jobs = append(jobs, j.Name)
		}
	}
	return jobs
}

func (s *drillSetup) tell(format string, args ...any) {
	_ = say(s.out, fmt.Sprintf(format+"\n", args...)) // it is kept
}

func (s *drillSetup) tellPlan() {
	for _, t := range s.tables {
		s.tell("writes   %s in %s, not in %s", t.Name, s.scratch, t.URI)
	}
	s.tell("runs     the job undisturbed, twice ...")
}

func (s *drillSetup) tellPlanned(r *drill.Report) {
	s.tell("         %s rows in %d files; %s operations on the stores, of %d kinds; %d runs follow\n", count(r.Undisturbed.Rows), r.Undisturbed.Files,
		count(int64(r.Operations)), r.Steps, len(r.Runs))
	s.tell("%-60s %-15s %8s %9s %9s %6s %7s  %s", "step", "fault", "restarts", "expected", "visible", "lost", "doubled", "verdict")
	s.expected = r.Undisturbed.Rows
}

func (s *drillSetup) tellRun(r *drill.Run) {
	if r.Verdict == drill.NotTried {
		return
	}
	s.tell("%-60s %-15s %8d %9d %9d %6d %7d  %s", fmt.Sprintf("%s (%d of %d)", r.Step, r.Nth, r.Of), r.Fault, r.Restarts, s.expected, r.Rows, r.Lost, r.Doubled, r.Verdict)
	if !r.Verdict.Bad() {
		return
	}
	for _, p := range r.Problems {
		s.tell("    %s", p)
	}
	if r.Error != "" {
		s.tell("    the job: %s", r.Error)
	}
	s.tell("    to be looked at: %s, %s", r.Kept, r.Log)
}

func (s *drillSetup) tellEnd(r *drill.Report, untouched []drill.Untouched) {
	s.tell("")
	for _, u := range untouched {
		switch {
		case u.Ours:
			s.tell("TOUCHED  %s: names of the drill were found in it: %s", u.What, strings.Join(u.Examples, "; "))
		case u.Same:
			s.tell("untouched  %s: %s values as before", u.What, count(int64(u.Values)))
		case u.Unexplained == 0:
			s.tell("changed by a running job  %s: %d new, %d changed, %d gone: %s", u.What, u.Added, u.Changed, u.Removed, strings.Join(u.Examples, "; "))
		default:
			word := "changed"
			if u.Harmed > 0 {
				word = "CHANGED"
			}
			s.tell("%s, by whom is not known  %s: %d new, %d changed, %d gone, of which no running job explains %d: %s", word, u.What, u.Added, u.Changed, u.Removed, u.Unexplained,
				strings.Join(u.Examples, "; "))
		}
	}
	for _, n := range r.Notes {
		s.tell("note     %s", n)
	}
	var parts []string
	n := r.Count()
	for _, v := range r.Verdicts() {
		parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
	}
	s.tell("%d runs in %s: %s", len(r.Runs), r.Took.Round(time.Second), strings.Join(parts, ", "))
	if tried := r.Tried(); r.Bad() == 0 && tried > 0 && tried == len(r.Runs) {
		s.tell("no row was lost or doubled without being named")
	} else if r.Bad() == 0 && tried > 0 {
		s.tell("in the %d runs that were made no row was lost or doubled without being named", tried)
	}
}
