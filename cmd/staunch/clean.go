package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"staunch/all"
	"staunch/checkpoint"
	"staunch/clean"
	"staunch/commit"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fs"
	"staunch/plan"
)

func cleanCmd() *cobra.Command {
	f := &scriptFlags{}
	older, output, opt := "", "text", clean.Options{}
	c := &cobra.Command{
		Use:   "clean FILE.sql --older-than 7d",
		Short: "remove what ended attempts of the file's jobs left behind, by exact name",
		Long: "Removes, one by one and by exact name, what attempts that have ended left in the tables' temporary folders and beside the logs: pending\n" +
			"files that no checkpoint and no certificate names, probe files, staged log entries, unused archives; and then folders, of any age, that\n" +
			"are empty. Files of other jobs and unknown names are left, counted and shown. Nothing depends on it, and the job may run meanwhile.\n" +
			"Exit code 1 if the store refused a delete.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return &exitError{exitUsage, fmt.Errorf("--output is text or json, not %q", output)}
			}
			var err error
			if opt.OlderThan, err = age(older); err != nil {
				return &exitError{exitUsage, err}
			}
			jobs, err := cleanJobs(f, args[0])
			if err != nil {
				return err
			}
			var stopped atomic.Bool
			opt.Stopped = stopped.Load
			sig := make(chan os.Signal, 1)
			signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT)
			go func() { <-sig; stopped.Store(true); signal.Stop(sig) }() // a second signal ends the process
			return cleanAll(os.Stdout, jobs, opt, output)
		},
	}
	f.add(c)
	c.Flags().StringVar(&older, "older-than", "", "least age of what is removed, by the store's clock: 7d, 12h, '90 min'")
	c.Flags().BoolVar(&opt.Superseded, "superseded", false, "remove also what rewinds took out of the tables (_superseded), if they were so long ago")
	c.Flags().BoolVar(&opt.DryRun, "dry-run", false, "show what would be removed, and change nothing")
	c.Flags().StringVar(&output, "output", output, "text or json")
	return c
}

// age reads --older-than.
func age(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("--older-than is needed, for instance --older-than 7d")
	}
	d, err := config.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("--older-than %s: %w", s, err)
	}
	return d, nil
}

// cleanJobs finds the jobs of a statement file with their logs and tables.
func cleanJobs(f *scriptFlags, file string) ([]clean.Job, error) {
	s, _, err := f.load(file, newCollector(nil).sink)
	if err != nil {
		return nil, err
	}
	var out []clean.Job
	for _, j := range s.Jobs() {
		if j.Select {
			continue // nothing of a query is kept
		}
		store, dir, err := checkpointDir(j)
		if err != nil {
			return nil, err
		}
		job := clean.Job{ID: j.Name, Store: store, Dir: checkpoint.Dir(dir, commit.Escape(j.Name)), Stores: all.Stores()}
		seen := map[string]bool{}
		for _, sink := range j.Sinks {
			if t, ok := sink.Sink.(connector.FileTable); ok && !seen[sink.Key] {
				seen[sink.Key] = true
				name := sink.Key
				if sink.Table != nil {
					name = "table " + sink.Table.Name
				}
				job.Tables = append(job.Tables, clean.Table{Name: name, Store: t.Store(), Root: t.Root()})
			}
		}
		out = append(out, job)
	}
	if len(out) == 0 {
		return nil, &exitError{exitUsage, fmt.Errorf("%s has no job that keeps anything: there is nothing to clean", file)}
	}
	return out, nil
}

// checkpointDir is where a job's checkpoints lie, the folder above the job's own.
func checkpointDir(j *plan.Job) (fs.FS, string, error) {
	ck, err := j.Conf.Checkpointing()
	if err != nil {
		return nil, "", err
	}
	dir := ck.Dir
	if dir == "" {
		if dir, err = config.DefaultStateDir(os.Getenv); err != nil {
			return nil, "", err
		}
	}
	return all.Stores().Resolve(dir)
}

// cleanAll cleans for each job and writes the reports, also what was done before an error.
func cleanAll(out io.Writer, jobs []clean.Job, opt clean.Options, output string) error {
	reports := []*clean.Report{}
	failures := 0
	var first error
	for _, j := range jobs {
		r, err := clean.Run(&env.Real{}, j, opt)
		reports = append(reports, r)
		failures += r.Failures()
		if output == "text" {
			if terr := writeText(out, r); terr != nil {
				return &exitError{exitFailed, terr}
			}
		}
		if err != nil {
			first = fmt.Errorf("clean job %s: %w", j.ID, err)
			break
		}
	}
	if output == "json" {
		if err := writeJSON(out, map[string]any{"jobs": reports}); err != nil {
			return &exitError{exitFailed, err}
		}
	}
	switch {
	case errors.Is(first, clean.ErrStopped):
		return &exitError{exitInterrupted, first}
	case first != nil:
		return first
	case failures > 0:
		return &exitError{exitFailed, fmt.Errorf("clean: %d deletes were refused by the store", failures)}
	}
	return nil
}
