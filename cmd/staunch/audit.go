package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"staunch/audit"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/connector"
	"staunch/env"
	"staunch/fs"
	"staunch/plan"
	"staunch/repair"
)

const keySuccessName = "sink.partition-commit.success-file.name"

// auditTarget is one table to be audited.
type auditTarget struct {
	store fs.FS
	root  string
	opts  audit.Options
}

func auditCmd() *cobra.Command {
	f := &scriptFlags{}
	output, fast, broker, mend, other, travel := "", false, false, repairFlags{}, foreignFlags{}, exportFlags{}
	c := &cobra.Command{
		Use:   "audit FILE.sql|TABLE_PATH [--repair]",
		Short: "prove from a table's own log and files that nothing is missing and nothing is there twice",
		Example: "  staunch audit orders.sql\n  staunch audit /warehouse/orders\n" +
			"  staunch audit hdfs://ns/warehouse/flink_orders --columns part,off --against-broker --bootstrap-server b1:9092 --topic orders --group flink-orders\n" +
			"  staunch audit /warehouse/topics/orders --names connect",
		Long: "Reads the log of every job in the table's folder and every file that it names: chain of certificates, offset ranges, accounts,\n" +
			"offset sets, lengths, hashes, footers; and looks for files that nobody named. Of a statement file all filesystem tables that it\n" +
			"writes are audited, and held against the job's own log, which shows an older copy of a table. With --against-broker the offsets are compared with what the topics have now. Nothing is changed; jobs may run\n" +
			"meanwhile. Exit code 1 if anything is wrong.\n\n" +
			"With --columns or --names, a table that Flink, Kafka Connect or Spark writes: gaps and doubles of each topic partition's offsets.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return &exitError{exitUsage, fmt.Errorf("--output is text or json, not %q", output)}
			}
			if err := f.ofFile(args[0]); err != nil {
				return err
			}
			if err := mend.check(args[0]); err != nil {
				return err
			}
			if err := travel.check(c, other.wanted()); err != nil {
				return err
			}
			if err := other.check(c); err != nil {
				return err
			}
			if other.wanted() {
				return other.run(f, args[0], broker, output)
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if travel.certificate != "" {
				return travel.verify(ctx, os.Stdout, f, args[0], fast, output)
			}
			targets, script, err := auditTargets(f, args[0])
			if err != nil {
				return err
			}
			if broker {
				b, err := brokerOf(script, other.servers, other.properties)
				if err != nil {
					return err
				}
				defer b.Close()
				for i := range targets {
					targets[i].opts.Broker = b
				}
			}
			if mend.repair {
				return mend.run(ctx, os.Stdout, f, script, targets, fast, output)
			}
			if travel.partition != "" {
				return travel.export(ctx, os.Stdout, os.Stderr, targets, fast, output)
			}
			return auditAll(ctx, os.Stdout, targets, fast, output, nil)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&fast, "fast", false, "do not read whole files: existence, lengths and Parquet footers, no hashes and no line counts")
	c.Flags().StringVar(&output, "output", "text", "text or json")
	c.Flags().BoolVar(&broker, "against-broker", false, "compare the offsets with what the topics have: of a statement file's sources, or of --bootstrap-server")
	mend.add(c)
	other.add(c)
	travel.add(c)
	return c
}

// auditTargets finds the tables: a folder, or the filesystem tables that a statement file writes, which is given too.
func auditTargets(f *scriptFlags, arg string) ([]auditTarget, *plan.Script, error) {
	if !isScript(arg) {
		store, root, err := f.stores().Resolve(arg)
		if err != nil {
			return nil, nil, &exitError{exitUsage, err}
		}
		if info, err := store.Stat(root); err == nil && !info.Dir {
			return nil, nil, &exitError{exitUsage, fmt.Errorf("%s is neither a table's folder nor a statement file (.sql)", arg)}
		}
		return []auditTarget{{store: store, root: root}}, nil, nil
	}
	s, _, err := f.load(arg, newCollector(nil).sink)
	if err != nil {
		return nil, nil, err
	}
	var out []auditTarget
	of := map[string]int{} // index in out of each table
	for _, j := range s.Jobs() {
		store, dir, err := checkpointDir(j) // the audit reports an error: without the job's log the ends of the tables' logs are not proven
		for _, sink := range j.Sinks {
			table, ok := sink.Sink.(connector.FileTable)
			if !ok {
				continue
			}
			log := audit.JobLog{Job: j.Name, Store: store, Dir: checkpoint.Dir(dir, commit.Escape(j.Name)), Key: sink.Key, Err: err}
			at, known := of[fs.URI(table.Store(), table.Root())]
			if known {
				logs := &out[at].opts.JobLogs
				same := func(l audit.JobLog) bool { return l.Job == log.Job && l.Dir == log.Dir }
				if !slices.ContainsFunc(*logs, same) {
					*logs = append(*logs, log)
				}
				continue
			}
			of[fs.URI(table.Store(), table.Root())] = len(out)
			t := auditTarget{store: table.Store(), root: table.Root(), opts: audit.Options{Success: "_SUCCESS", JobLogs: []audit.JobLog{log}}}
			if sink.Table != nil {
				t.opts.Success = cmp.Or(sink.Table.Options[keySuccessName], "_SUCCESS")
			}
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, nil, &exitError{exitUsage, fmt.Errorf("%s writes no filesystem table: there is nothing to audit", arg)}
	}
	return out, s, nil
}

// auditAll audits the tables and writes the reports; in JSON together with those of a repair before, which may be nil.
func auditAll(ctx context.Context, out io.Writer, targets []auditTarget, fast bool, output string, repairs []*repair.Report) error {
	reports := []*audit.Report{}
	wrong := int64(0)
	for i, t := range targets {
		t.opts.Fast = fast
		r, err := audit.Table(ctx, &env.Real{}, t.store, t.root, t.opts)
		if err != nil {
			return &exitError{exitFailed, fmt.Errorf("audit %s: %w", fs.URI(t.store, t.root), err)}
		}
		reports = append(reports, r)
		wrong += r.Count()
		if output == "text" {
			if i > 0 {
				fmt.Fprintln(out)
			}
			if err := writeText(out, r); err != nil {
				return &exitError{exitFailed, err}
			}
		}
	}
	if output == "json" {
		all := map[string]any{"tables": reports, "problems": wrong}
		if repairs != nil {
			all["repairs"] = repairs
		}
		if err := writeJSON(out, all); err != nil {
			return &exitError{exitFailed, err}
		}
	}
	if wrong > 0 {
		return &exitError{exitFailed, fmt.Errorf("audit: problems found: %d", wrong)}
	}
	return nil
}
