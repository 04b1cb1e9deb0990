package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"staunch/audit"
	"staunch/env"
	"staunch/fs"
)

// exportFlags are the flags of certificates that travel.
type exportFlags struct {
	partition, certificate string
}

func (x *exportFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&x.partition, "export", "", "audit, and write the certificate of one partition to the standard output, for whoever copies it away: its folder, as dt=2026-01-31, or . for the whole table. It is JSON; if it is refused, nothing is written there, and the report goes to the standard error, as --output says")
	c.Flags().StringVar(&x.certificate, "certificate", "", "check the copy of a partition, the folder that is named, by a certificate that --export wrote; neither table nor job is needed")
}

// check refuses flags that do not go together.
func (x *exportFlags) check(c *cobra.Command, other bool) error {
	if x.partition != "" && x.certificate != "" {
		return &exitError{exitUsage, errors.New("--export writes a certificate, --certificate reads one: give one of them")}
	}
	if x.partition == "" && x.certificate == "" {
		return nil
	}
	if other || c.Flags().Changed("repair") {
		return &exitError{exitUsage, errors.New("--export and --certificate go with no --repair, --columns or --names")}
	}
	if x.certificate != "" && c.Flags().Changed("against-broker") {
		return &exitError{exitUsage, errors.New("--certificate asks no broker: leave --against-broker out")}
	}
	return nil
}

// export writes the certificate of a partition to out, and what the audit found, if that forbids it, to log.
func (x *exportFlags) export(ctx context.Context, out, log io.Writer, targets []auditTarget, fast bool, output string) error {
	if len(targets) != 1 {
		return &exitError{exitUsage, fmt.Errorf("--export is of one table, and the file writes %d: name the table's folder", len(targets))}
	}
	t := targets[0]
	t.opts.Fast = fast
	r, c, err := audit.Export(ctx, &env.Real{}, t.store, t.root, x.partition, t.opts)
	if r == nil {
		return &exitError{exitFailed, fmt.Errorf("audit %s: %w", fs.URI(t.store, t.root), err)}
	}
	if err != nil && output == "json" {
		return errors.Join(&exitError{exitFailed, err}, writeJSON(log, map[string]any{"tables": []*audit.Report{r}, "problems": r.Count()}))
	}
	if err != nil {
		return errors.Join(&exitError{exitFailed, err}, writeText(log, r))
	}
	if err := c.Write(out); err != nil {
		return &exitError{exitFailed, err}
	}
	fmt.Fprintf(log, "certificate of partition %q of %s: %d files, %d rows, %d lost\n", c.Partition, c.Table, len(c.Files), c.Rows, len(c.Lost))
	return nil
}

// verify checks a copy.
func (x *exportFlags) verify(ctx context.Context, out io.Writer, f *scriptFlags, folder string, fast bool, output string) error {
	b, err := os.ReadFile(x.certificate)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if len(b) == 0 {
		return &exitError{exitUsage, fmt.Errorf("%s is empty: its export was refused, or is not done yet", x.certificate)}
	}
	c, err := audit.ReadCertificate(b)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("%s: %w", x.certificate, err)}
	}
	store, root, err := f.stores().Resolve(folder)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	r, err := audit.Copy(ctx, &env.Real{}, store, root, c, audit.Options{Fast: fast})
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("audit %s: %w", fs.URI(store, root), err)}
	}
	return writeAudited(out, "copies", r, output)
}
