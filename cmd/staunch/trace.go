package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staunch/account"
	"staunch/commit"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/plan"
	"staunch/trace"
	"staunch/trace/namenode"
	"staunch/trace/story"
)

// traceFlags are the flags of staunch trace.
type traceFlags struct {
	scriptFlags
	q            story.Query
	checkpoint   int64
	record       string
	since, until string
	audit        []string
	output       string
}

func traceCmd() *cobra.Command {
	f := &traceFlags{}
	c := &cobra.Command{
		Use:   "trace FILE.sql|TABLE_PATH|CHECKPOINT_FOLDER",
		Short: "what happened to a file, a folder, a checkpoint or a record: the job's operations, the NameNodes' and the most likely cause",
		Long: "Reads the operation trace of a job, which lies beside its checkpoints, the logs of its tables, and the audit logs of HDFS NameNodes that are\n" +
			"given, and shows them as one time line. Of a file that is not where it should be the most likely cause is named, with what speaks for it.\n" +
			"Without a question it shows everything in the trace, and the files that are lost or on their way. Nothing is changed; jobs may run meanwhile.",
		Example: "  staunch trace orders.sql --checkpoint 4608\n" +
			"  staunch trace orders.sql --record orders:2:181344 --audit-log /var/log/hadoop/hdfs-audit.log\n" +
			"  staunch trace /warehouse/orders --path /warehouse/orders/dt=2026-01-01/part-1c168adb-2-4608-7-0-65204daf1a6b0b56a08b16dc.parquet",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args[0], os.Stdout) },
	}
	f.add(c)
	p := c.Flags()
	p.StringVar(&f.q.Path, "path", "", "a file or folder: pending or final name, also as it is below the table or a file's name alone; with what was done to it and to the folders above it")
	p.StringVar(&f.q.Prefix, "prefix", "", "everything whose path begins so")
	p.Int64Var(&f.checkpoint, "checkpoint", 0, "a checkpoint: what each task wrote to each partition, and what became of it")
	p.IntVar(&f.q.Task, "task", trace.NoTask, "one subtask only")
	p.StringVar(&f.q.Job, "job", "", "one job of the file only")
	p.StringVar(&f.record, "record", "", "where a record is, or what took it: topic:partition:offset")
	p.StringVar(&f.since, "since", "", "from this time on: RFC 3339, '2026-01-31 14:00' (UTC), or an age such as 2h")
	p.StringVar(&f.until, "until", "", "up to this time")
	p.StringArrayVar(&f.audit, "audit-log", nil, "audit log of a NameNode, also .gz; once for each file")
	p.StringVar(&f.output, "output", "text", "text, or json: one object a line")
	return c
}

func (f *traceFlags) run(arg string, out *os.File) error {
	usage := func(err error) error { return &exitError{exitUsage, err} }
	if f.output != "text" && f.output != "json" {
		return usage(fmt.Errorf("--output is text or json, not %q", f.output))
	}
	if err := f.query(time.Now()); err != nil {
		return usage(err)
	}
	if err := f.ofFile(arg); err != nil {
		return err
	}
	o := story.Options{Env: &env.Real{}, Stores: f.stores(), AuditLogs: f.audit, Query: f.q}
	if err := f.places(arg, &o); err != nil {
		return err
	}
	if err := f.known(&o); err != nil {
		return err
	}
	s, err := story.Tell(o)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return usage(err)
		}
		return &exitError{exitFailed, err}
	}
	if err := f.write(s, out); err != nil {
		return err
	}
	if s.Nothing() {
		return &exitError{exitFailed, errors.New("nothing that was read knows of what was asked for")}
	}
	return nil
}

// known refuses a job that is none of those that were found.
func (f *traceFlags) known(o *story.Options) error {
	have := map[string]bool{}
	for _, j := range o.Jobs {
		have[j.ID] = true
	}
	for _, t := range o.Tables {
		have[t.Job] = true
	}
	if f.q.Job == "" || have[f.q.Job] || len(have) == 0 {
		return nil
	}
	return &exitError{exitFailed, fmt.Errorf("there is no job %s here, but %s", f.q.Job, strings.Join(slices.Sorted(maps.Keys(have)), ", "))}
}

func (f *traceFlags) write(s *story.Story, out *os.File) error {
	var err error
	if f.output == "json" {
		err = s.JSON(out)
	} else {
		shown := *s
		shown.Traces, shown.Audit = nil, nil // of millions of lines nothing but the reports is shown
		if s.Audit != nil {
			shown.Audit = &namenode.Logs{Reports: s.Audit.Reports}
		}
		shown = printable(shown)
		err = shown.Text(out, newVoice(out).colour)
	}
	if err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

// colour is style for those who have nothing to colour as well.
func (v *voice) colour(code, text string) string {
	if code == "" {
		return text
	}
	return v.style(code, text)
}

// query reads the question.
func (f *traceFlags) query(now time.Time) error {
	f.q.Checkpoint = account.CheckpointID(f.checkpoint)
	asked := 0
	for _, is := range []bool{f.q.Path != "", f.q.Prefix != "", f.checkpoint != 0, f.record != ""} {
		if is {
			asked++
		}
	}
	if asked > 1 {
		return errors.New("give one of --path, --prefix, --checkpoint and --record")
	}
	if f.checkpoint < 0 {
		return fmt.Errorf("--checkpoint is a number above 0, not %d", f.checkpoint)
	}
	if f.q.Task < trace.NoTask {
		return fmt.Errorf("--task is a subtask's number, from 0 on, not %d", f.q.Task)
	}
	var err error
	if f.record != "" {
		if f.q.Record, err = parseRecord(f.record); err != nil {
			return err
		}
	}
	if f.q.Since, err = parseTime(f.since, now); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if f.q.Until, err = parseTime(f.until, now); err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	if !f.q.Since.IsZero() && !f.q.Until.IsZero() && f.q.Until.Before(f.q.Since) {
		return fmt.Errorf("--until %s is before --since %s: there is no time between them; an age (2h) means so long ago", f.until, f.since)
	}
	return nil
}

// parseRecord reads topic:partition:offset. A topic has no colon.
func parseRecord(s string) (*story.Record, error) {
	parts := strings.Split(s, ":")
	if len(parts) == 3 {
		p, err1 := strconv.ParseInt(parts[1], 10, 32)
		o, err2 := strconv.ParseInt(parts[2], 10, 64)
		if err1 == nil && err2 == nil && p >= 0 && o >= 0 && parts[0] != "" {
			return &story.Record{Split: fmt.Sprintf("%s-%d", parts[0], p), Offset: o}, nil
		}
	}
	return nil, fmt.Errorf("--record is topic:partition:offset, not %q", s)
}

// parseTime reads a time of --since or --until; "" is the zero time.
func parseTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, l := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(l, s); err == nil {
			return t.UTC(), nil
		}
	}
	if d, err := config.ParseDuration(s); err == nil {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a time (2026-01-31T14:00:00Z, '2026-01-31 14:00') nor an age (2h)", s)
}

// places finds the jobs and tables that the argument means.
func (f *traceFlags) places(arg string, o *story.Options) error {
	if isScript(arg) {
		return f.placesOfFile(arg, o)
	}
	store, root, err := f.stores().Resolve(arg)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	err = placesOf(o, store, root)
	if err != nil && o.AuditOnly() && len(o.Jobs)+len(o.Tables) == 0 {
		return nil // what another tool wrote
	}
	return err
}

// placesOfFile finds the jobs of a statement file.
func (f *traceFlags) placesOfFile(file string, o *story.Options) error {
	s, _, err := f.load(file, newCollector(nil).sink)
	if err != nil {
		return err
	}
	for _, j := range s.Jobs() {
		if j.Select {
			continue
		}
		store, dir, err := checkpointDir(j)
		if err != nil {
			return err
		}
		folder := path.Join(dir, commit.Escape(j.Name))
		if _, err := store.Stat(folder); errors.Is(err, fs.ErrNotExist) { // a file of another name than that of the job's
			if err := onlyOthers(j); err != nil {
				return err
			}
		}
		o.Jobs = append(o.Jobs, story.Job{ID: j.Name, Store: store, Folder: folder})
		seen := map[string]bool{}
		for _, sink := range j.Sinks {
			if t, ok := sink.Sink.(connector.FileTable); ok && !seen[sink.Key] {
				seen[sink.Key] = true
				o.Tables = append(o.Tables, story.Table{Job: j.Name, Store: t.Store(), Root: t.Root()})
			}
		}
	}
	if len(o.Jobs) == 0 {
		return &exitError{exitUsage, fmt.Errorf("%s has no job that keeps a trace", file)}
	}
	return nil
}

// onlyOthers refuses a job that has no log in its tables where others have.
func onlyOthers(j *plan.Job) error {
	table, others := "", []string(nil)
	for _, sink := range j.Sinks {
		t, ok := sink.Sink.(connector.FileTable)
		if !ok {
			continue
		}
		logs, err := t.Store().List(path.Join(t.Root(), "_staunch"))
		if err != nil {
			continue // none yet, or the story says it
		}
		for _, i := range logs {
			id, ok := commit.Unescape(i.Name)
			switch {
			case !i.Dir || !ok:
			case id == j.Name:
				return nil
			case !slices.Contains(others, id):
				table, others = fs.URI(t.Store(), t.Root()), append(others, id)
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return &exitError{exitUsage, fmt.Errorf("table %s has no log of job %s, but of %s: name the job: -D pipeline.name='%s'", table, j.Name, strings.Join(others, ", "), others[0])}
}

// placesOf finds the jobs that wrote a table, or the job of a folder of checkpoints.
func placesOf(o *story.Options, store fs.FS, root string) error {
	jobs, err := store.List(path.Join(root, "_staunch"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &exitError{exitFailed, err}
	}
	if err == nil {
		return placesOfTable(o, store, root, jobs)
	}
	for _, sub := range []string{"trace", "log"} {
		if i, err := store.Stat(path.Join(root, sub)); err == nil && i.Dir {
			id, ok := commit.Unescape(path.Base(root))
			if !ok {
				id = path.Base(root)
			}
			o.Jobs = append(o.Jobs, story.Job{ID: id, Store: store, Folder: root})
			return tablesOfTrace(o, store, root, id)
		}
	}
	hint := ""
	if jobs := jobFolders(store, root); len(jobs) > 0 {
		hint = fmt.Sprintf("; the jobs' folders are below it: name %s", fs.URI(store, path.Join(root, jobs[0])))
		if len(jobs) > 1 {
			hint += ", or that of " + strings.Join(jobs[1:], ", ")
		}
	}
	return &exitError{exitUsage, fmt.Errorf("%s is neither a statement file (.sql), nor a table's folder (it has no _staunch), nor a job's folder in a checkpoint directory%s",
		fs.URI(store, root), hint)}
}

// jobFolders are the first folders below a checkpoint directory that are jobs'.
func jobFolders(store fs.FS, root string) (out []string) {
	below, err := store.List(root)
	if err != nil {
		return nil // it is no folder, and only a hint is lacking
	}
	for _, i := range below[:min(len(below), 100)] {
		if log, err := store.Stat(path.Join(root, i.Name, "log")); i.Dir && err == nil && log.Dir && len(out) < 5 {
			out = append(out, i.Name)
		}
	}
	return out
}

// placesOfTable finds the jobs whose logs are in a table, and their traces by the claims.
func placesOfTable(o *story.Options, store fs.FS, root string, jobs []fs.Info) error {
	for _, i := range jobs {
		id, ok := commit.Unescape(i.Name)
		if !i.Dir || !ok {
			continue
		}
		o.Tables = append(o.Tables, story.Table{Job: id, Store: store, Root: root})
		claims, err := commit.History(o.Env, store, root, id, func(*commit.Recorded) error { return nil })
		if err != nil && fault.ClassOf(err) != fault.Damage {
			return &exitError{exitFailed, err}
		}
		seen := map[string]bool{}
		for _, c := range claims {
			folder := path.Dir(c.Log)
			if strings.Contains(c.Log, "://") { // path.Dir would join its slashes
				folder = strings.TrimSuffix(c.Log, "/"+path.Base(c.Log))
			}
			if seen[folder] {
				continue
			}
			seen[folder] = true
			st, at, err := o.Stores.Resolve(folder)
			if err != nil {
				continue // a store that this configuration does not know: its trace is missing
			}
			o.Jobs = append(o.Jobs, story.Job{ID: id, Store: st, Folder: at})
		}
	}
	return nil
}

// tablesOfTrace finds the tables of a job by the log entries that its trace tells of.
func tablesOfTrace(o *story.Options, store fs.FS, folder, id string) error {
	tr, err := trace.Read(store, trace.Dir(folder))
	if err != nil {
		return &exitError{exitFailed, err}
	}
	seen := map[string]bool{}
	mark := "/_staunch/" + commit.Escape(id) + "/"
	for _, e := range tr.Entries {
		root, _, ok := strings.Cut(e.Path, mark)
		if e.Op != trace.Append || !ok || seen[root] {
			continue
		}
		seen[root] = true
		if st, at, err := o.Stores.Resolve(root); err == nil {
			o.Tables = append(o.Tables, story.Table{Job: id, Store: st, Root: at})
		}
	}
	return nil
}
