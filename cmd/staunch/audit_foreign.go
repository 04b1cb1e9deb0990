package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"staunch/audit/foreign"
	"staunch/connector/kafka"
	"staunch/env"
	"staunch/fs"
)

// foreignFlags are the flags of an audit of another tool's table.
type foreignFlags struct {
	columns, topicColumn, names, format, delimiter string
	header                                         bool
	servers, topic, group                          string
	complete                                       bool
	properties                                     []string
	from                                           int64
}

func (f *foreignFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.columns, "columns", "", "audit a table that another tool writes: its columns of partition and offset, as 'part,off'; a.b is a field of a nested one")
	c.Flags().StringVar(&f.topicColumn, "topic-column", "", "with --columns: the column of the topic, if rows are of several")
	c.Flags().StringVar(&f.names, "names", "", "connect: take the offsets from Kafka Connect's file names (topic+partition+first+last) and open no file")
	c.Flags().StringVar(&f.format, "format", "", "with --columns: parquet, json or csv; each file says it itself if this is left out")
	c.Flags().BoolVar(&f.header, "csv-header", false, "with --columns: CSV files have a first row of names; else --columns are numbers from 1 on")
	c.Flags().StringVar(&f.delimiter, "csv-delimiter", ",", "with --columns: what separates fields of CSV files, one byte")
	c.Flags().Int64Var(&f.from, "from", -1, "with --columns or --names: the offset at which every partition must begin: rows in front of it and gaps behind it are problems; -1 if that is not known")
	c.Flags().StringVar(&f.servers, "bootstrap-server", "", "with --columns or --names and --against-broker: the brokers, host:port")
	c.Flags().StringVar(&f.topic, "topic", "", "with --columns: the topic of all rows")
	c.Flags().StringVar(&f.group, "group", "", "with --against-broker: the consumer group of the table's writer; what it has committed must be in the table")
	c.Flags().BoolVar(&f.complete, "complete", false, "with --against-broker: all that the topic has must be in the table")
	c.Flags().StringArrayVar(&f.properties, "kafka-property", nil, "with --against-broker: a property of Kafka's client, as 'security.protocol=SASL_SSL'")
}

// wanted reports whether the table is another tool's.
func (f *foreignFlags) wanted() bool { return f.columns != "" || f.names != "" }

// options checks the flags.
func (f *foreignFlags) options(broker bool) (foreign.Options, error) {
	o := foreign.Options{Topic: f.topic, Group: f.group, Complete: f.complete, Format: foreign.Format(f.format), CSV: foreign.CSV{Header: f.header}, From: f.from}
	usage := func(format string, args ...any) (foreign.Options, error) {
		return o, &exitError{exitUsage, fmt.Errorf(format, args...)}
	}
	switch o.Format {
	case foreign.Each, foreign.Parquet, foreign.JSON, foreign.CSVText:
	default:
		return usage("--format is parquet, json or csv, not %q", f.format)
	}
	if len(f.delimiter) != 1 || strings.Contains("\"\r\n", f.delimiter) {
		return usage("--csv-delimiter is one byte and neither a quote nor a line end, not %q", f.delimiter)
	}
	o.CSV.Delimiter = f.delimiter[0]
	switch {
	case f.from < -1:
		return usage("--from is an offset from 0 on, or -1 if it is not known, not %d", f.from)
	case f.columns != "" && f.names != "":
		return usage("--columns and --names are two ways to find offsets: give one")
	case f.names != "" && f.names != "connect":
		return usage("--names is connect, not %q", f.names)
	case f.names != "":
		o.Names = true
	default:
		part, off, ok := strings.Cut(f.columns, ",")
		part, off = strings.TrimSpace(part), strings.TrimSpace(off)
		if !ok || part == "" || off == "" || strings.Contains(off, ",") {
			return usage("--columns takes two columns, partition and offset, as 'part,off', not %q; the topic's is --topic-column", f.columns)
		}
		o.Columns = foreign.Columns{Partition: part, Offset: off, Topic: f.topicColumn}
	}
	switch {
	case broker && f.servers == "":
		return usage("--against-broker needs --bootstrap-server HOST:PORT for a table that another tool writes")
	case broker && f.topic == "" && f.topicColumn == "" && !o.Names:
		return usage("--against-broker needs --topic, or --topic-column if the rows name it")
	case !broker && (f.group != "" || f.complete || f.servers != "" || len(f.properties) > 0):
		return usage("--bootstrap-server, --group, --complete and --kafka-property go with --against-broker")
	case f.topic != "" && f.topicColumn != "":
		return usage("--topic and --topic-column are two ways to find the topic: give one")
	}
	return o, nil
}

// run audits the table at path and writes the report.
func (f *foreignFlags) run(s *scriptFlags, path string, broker bool, output string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := f.audit(ctx, s, path, broker)
	if err != nil {
		return err
	}
	return writeAudited(os.Stdout, "tables", r, output)
}

// audit audits the table at path.
func (f *foreignFlags) audit(ctx context.Context, s *scriptFlags, path string, broker bool) (*foreign.Report, error) {
	o, err := f.options(broker)
	if err != nil {
		return nil, err
	}
	if isScript(path) {
		return nil, &exitError{exitUsage, fmt.Errorf("--columns and --names take the folder of a table that another tool writes, not a statement file: %s", path)}
	}
	store, root, err := s.stores().Resolve(path)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if broker {
		o.Broker, err = kafka.NewInspector(f.servers, f.properties)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		defer o.Broker.Close()
	}
	r, err := foreign.Table(ctx, &env.Real{}, store, root, o)
	if err != nil {
		return nil, &exitError{exitFailed, fmt.Errorf("audit %s: %w", fs.URI(store, root), err)}
	}
	return r, nil
}

// check refuses flags that mean nothing without --columns or --names, or with them.
func (f *foreignFlags) check(c *cobra.Command) error {
	if f.wanted() {
		for _, name := range []string{"fast", "repair"} {
			if c.Flags().Changed(name) {
				return &exitError{exitUsage, fmt.Errorf("--%s goes with tables that Staunch writes: of those of other tools there is no record of what they should be", name)}
			}
		}
		for _, name := range []string{"topic-column", "format", "csv-header", "csv-delimiter", "topic"} {
			if f.names != "" && c.Flags().Changed(name) {
				return &exitError{exitUsage, fmt.Errorf("--%s goes with --columns: with --names no file is opened, and the topic is in its name", name)}
			}
		}
		for _, name := range []string{"csv-header", "csv-delimiter"} {
			if (f.format == string(foreign.Parquet) || f.format == string(foreign.JSON)) && c.Flags().Changed(name) {
				return &exitError{exitUsage, fmt.Errorf("--%s says how CSV is written, and --format that the files are %s: leave one out", name, f.format)}
			}
		}
		return nil
	}
	for _, name := range []string{"bootstrap-server", "kafka-property"} {
		if c.Flags().Changed(name) && !c.Flags().Changed("against-broker") {
			return &exitError{exitUsage, fmt.Errorf("--%s goes with --against-broker: without it no broker is asked", name)}
		}
	}
	for _, name := range []string{"topic-column", "format", "csv-header", "csv-delimiter", "topic", "group", "complete", "from"} {
		if c.Flags().Changed(name) {
			return &exitError{exitUsage, fmt.Errorf("--%s goes with --columns or --names: a table that Staunch writes is proven by its own log", name)}
		}
	}
	return nil
}
