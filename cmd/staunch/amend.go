package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"staunch/env"
	"staunch/fault"
	"staunch/repair"
)

func amendCmd() *cobra.Command {
	f := &scriptFlags{logFormat: "text"}
	w, output, adopts, younger := repair.Rewrite{}, "text", false, false
	c := &cobra.Command{
		Use:   "amend TABLE_PATH --removed FILE... [--added FILE...] --why TEXT | TABLE_PATH --adopt --why TEXT",
		Short: "record that files of a table were rewritten on purpose: a delete that the law asks for, a compaction from outside",
		Long: "Writes into the table's log that the added files stand for the removed ones, with who and why, so that every audit expects and judges\n" +
			"the added files. The added files are measured: length, checksums, rows. No file is changed; move removed ones out of the table first.\n" +
			"Refused is what would leave rows in the table twice, or hide a loss: removed files that are still there or that no certificate names, added\n" +
			"files with more rows than the removed ones had. A file that was rewritten under its own name is named with both options.\n" +
			"With --adopt every file that readers of the table see and no log names, since it stood there before the job, is taken in as it is now:\n" +
			"audits expect it from then on, and say that where its rows came from is not proven. Copies of the job's own files are refused.",
		Example: "  staunch amend /warehouse/orders --removed dt=2026-01-01/part-1c168adb-0-7-3-0-65204daf1a6b0b56a08b16dc.parquet \\\n" +
			"      --added dt=2026-01-01/without-customer-4711.parquet --why 'deletion request 4711'\n" +
			"  staunch amend /warehouse/orders --adopt --why 'written by Flink until November'",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return &exitError{exitUsage, fmt.Errorf("--output is text or json, not %q", output)}
			}
			if younger && !adopts {
				return &exitError{exitUsage, errors.New("--younger goes with --adopt")}
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if adopts {
				if len(w.Removed)+len(w.Added) > 0 {
					return &exitError{exitUsage, errors.New("amend --adopt finds the files itself: leave --removed and --added out")}
				}
				return adopt(ctx, os.Stdout, f, args[0], repair.Adoption{Job: w.Job, Why: w.Why, Younger: younger, DryRun: w.DryRun}, output)
			}
			return amend(ctx, os.Stdout, f, args[0], w, output)
		},
	}
	c.Flags().StringArrayVar(&w.Removed, "removed", nil, "a file that is no longer in the table, below the table's folder or as an absolute path; once for each file")
	c.Flags().StringArrayVar(&w.Added, "added", nil, "a file that has the rows, or what is left of them; once for each file")
	c.Flags().BoolVar(&adopts, "adopt", false, "take in all files that stood in the table before the job")
	c.Flags().BoolVar(&younger, "younger", false, "with --adopt, also files that were written or changed behind the table's first certificate")
	c.Flags().StringVar(&w.Why, "why", "", "the reason; every audit shows it")
	c.Flags().StringVar(&w.Job, "job", "", "the job whose log names the removed files, if it is to be this one")
	c.Flags().BoolVar(&w.DryRun, "dry-run", false, "check and measure, and write nothing")
	c.Flags().StringVar(&output, "output", output, "text or json")
	return c
}

// amend records a rewrite in the log of the table at arg.
func amend(ctx context.Context, out io.Writer, f *scriptFlags, arg string, w repair.Rewrite, output string) error {
	store, root, err := f.stores().Resolve(arg)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	for _, list := range [][]string{w.Removed, w.Added} {
		for i, p := range list {
			if list[i], err = inTable(f, root, p); err != nil {
				return &exitError{exitUsage, err}
			}
		}
	}
	w.Who, w.Host = operator()
	done, err := repair.Amend(ctx, &env.Real{}, store, root, w, slog.Default())
	return amended(out, done, err, output)
}

// adopt takes files from before into the log of the table at arg.
func adopt(ctx context.Context, out io.Writer, f *scriptFlags, arg string, w repair.Adoption, output string) error {
	store, root, err := f.stores().Resolve(arg)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	w.Who, w.Host = operator()
	done, err := repair.Adopt(ctx, &env.Real{}, store, root, w, slog.Default())
	return amended(out, done, err, output)
}

// amended writes what was recorded.
func amended(out io.Writer, done texter, err error, output string) error {
	if err != nil {
		if fault.ClassOf(err) == fault.User {
			return &exitError{exitUsage, fmt.Errorf("amend: %w; nothing was written", err)}
		}
		return &exitError{exitFailed, fmt.Errorf("amend: %w", err)}
	}
	if output == "json" {
		err = writeJSON(out, done)
	} else {
		err = writeText(out, done)
	}
	if err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

// inTable gives the path of a file that is named below the table's folder, absolutely, or with its store.
func inTable(f *scriptFlags, root, p string) (string, error) {
	if !strings.Contains(p, "://") && !path.IsAbs(p) {
		return path.Join(root, p), nil
	}
	if p == root || strings.HasPrefix(p, root+"/") {
		return path.Clean(p), nil
	}
	_, at, err := f.stores().Resolve(p)
	return at, err
}
