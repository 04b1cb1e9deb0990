package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"staunch/audit"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/connector"
	"staunch/env"
	"staunch/fs"
	"staunch/metric"
	"staunch/plan"
	"staunch/repair"
	"staunch/trace"
)

// operator is who orders something: user@host and the host.
func operator() (who, host string) {
	host, _ = os.Hostname() // who does not know it says so by an empty name
	who = host
	if u, err := user.Current(); err == nil {
		who = u.Username + "@" + host
	}
	return who, host
}

// repairFlags are those of `staunch audit --repair`.
type repairFlags struct {
	repair, dryRun bool
	why            string
}

func (r *repairFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&r.repair, "repair", false, "write files that are lost again, from the records at exactly their offsets; then audit")
	c.Flags().StringVar(&r.why, "why", "", "with --repair: a reason, for the table's log")
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "with --repair: read all records of the lost files, and change nothing")
}

// check refuses flags that do not go together.
func (r *repairFlags) check(arg string) error {
	switch {
	case !r.repair && (r.dryRun || r.why != ""):
		return &exitError{exitUsage, errors.New("--dry-run and --why go with --repair")}
	case r.repair && !isScript(arg):
		return &exitError{exitUsage, errors.New("--repair needs the statement file that wrote the table: it says where the records are and what is made of them")}
	}
	return nil
}

// run repairs, then audits the tables, and writes both reports.
func (r *repairFlags) run(ctx context.Context, out io.Writer, f *scriptFlags, s *plan.Script, targets []auditTarget, fast bool, output string) error {
	if err := knownJobs(s); err != nil {
		return err
	}
	reports, err := r.repairAll(ctx, f, s)
	open := 0
	for _, x := range reports {
		open += x.Open()
		if output == "text" {
			if werr := writeText(out, x); werr != nil {
				return &exitError{exitFailed, werr}
			}
			fmt.Fprintln(out)
		}
	}
	if err != nil {
		err = &exitError{exitFailed, fmt.Errorf("%w; what was repaired stays, and repairing again is safe", err)}
	} else if open > 0 {
		err = &exitError{exitFailed, fmt.Errorf("repair: files that are still lost: %d", open)}
	}
	if ctx.Err() != nil {
		return err
	}
	aerr := auditAll(ctx, out, targets, fast, output, reports)
	if err != nil {
		return err
	}
	return aerr
}

// knownJobs refuses a table whose logs are all of other jobs than the file's: a job is known by its name, which is the file's unless it is set.
func knownJobs(s *plan.Script) error {
	ours := map[string]bool{}
	for _, j := range s.Jobs() {
		ours[j.Name] = true
	}
	for _, j := range s.Jobs() {
		for _, sink := range j.Sinks {
			table, ok := sink.Sink.(connector.FileTable)
			if !ok {
				continue
			}
			others, err := audit.Jobs(table.Store(), table.Root())
			if err != nil {
				continue // the repair meets it again
			}
			if len(others) > 0 && !slices.ContainsFunc(others, func(id string) bool { return ours[id] }) {
				return &exitError{exitUsage, fmt.Errorf("table %s has no log of job %s, but of %s: repair with the statement file of that name, or name the job: -D pipeline.name='%s'",
					fs.URI(table.Store(), table.Root()), j.Name, strings.Join(others, ", "), others[0])}
			}
		}
	}
	return nil
}

// repairAll repairs the tables of all jobs of a statement file. Reports of what was done come with an error, too.
func (r *repairFlags) repairAll(ctx context.Context, f *scriptFlags, s *plan.Script) ([]*repair.Report, error) {
	log, err := f.logger()
	if err != nil {
		return nil, err
	}
	out := []*repair.Report{}
	for _, j := range s.Jobs() {
		if j.Select {
			continue
		}
		reports, err := r.job(ctx, f, j, log)
		out = append(out, reports...)
		if err != nil {
			return out, fmt.Errorf("repair of job %s: %w", j.Name, err)
		}
	}
	return out, nil
}

// job repairs the tables of one job.
func (r *repairFlags) job(ctx context.Context, f *scriptFlags, j *plan.Job, log *slog.Logger) (out []*repair.Report, err error) {
	e := &env.Real{}
	who, host := operator()
	rec, err := r.recorder(j, who, host, log)
	if err != nil {
		return nil, err
	}
	rec.Operate("repair")
	defer rec.Close()
	job := repair.Job{ID: j.Name, SQL: j.SQL, Plan: j.Hash, Graph: j.Graph, Log: log, Metrics: metric.NewRegistry().Group("job_name", j.Name),
		Traced: func(s fs.FS) fs.FS { return rec.Store(s, &trace.Scope{Task: trace.NoTask, Looks: true}) }}
	order := repair.Order{Who: who, Host: host, Why: r.why, DryRun: r.dryRun, Stopped: func() bool { return ctx.Err() != nil }}
	seen := map[string]bool{}
	for _, sink := range j.Sinks {
		table, ok := sink.Sink.(connector.FileTable)
		if !ok || seen[sink.Key] {
			continue
		}
		seen[sink.Key] = true
		report, err := repair.Table(e, job, sink.Key, table, order)
		out = append(out, report)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// recorder is the trace that a repair writes beside the job's own; none for one that changes nothing, or whose job has no checkpoints any more.
func (r *repairFlags) recorder(j *plan.Job, who, host string, log *slog.Logger) (*trace.Recorder, error) {
	size, err := j.Conf.TraceSize()
	if err != nil || size == 0 || r.dryRun {
		return nil, err
	}
	store, dir, err := checkpointDir(j)
	if err != nil {
		return nil, err
	}
	if _, err := store.Stat(checkpoint.Dir(dir, commit.Escape(j.Name))); err != nil {
		return nil, nil
	}
	return recorder(j, store, dir, host, who, log)
}
