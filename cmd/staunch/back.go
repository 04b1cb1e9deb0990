package main

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"staunch/job"
)

// backFlags say from which state a job starts, if not from its newest checkpoint.
type backFlags struct {
	from  string
	fresh bool
	table bool
	newer string
}

func (b *backFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&b.from, "from-savepoint", "", "go back to this checkpoint: the id of a retained one, the file of its entry in a job's log (or a copy), or a folder of a log, a job or checkpoints for the newest there")
	c.Flags().BoolVar(&b.fresh, "fresh", false, "begin anew, without the job's checkpoints")
	c.Flags().BoolVar(&b.table, "from-table", false, "the checkpoint directory is gone: go on from the positions that the tables' certificates hold")
	c.Flags().StringVar(&b.newer, "on-newer-output", "refuse", "output that is newer than that state: refuse to start; keep it, so that its rows come again; or rewind: move it to _superseded, so that each row is there once")
	c.MarkFlagsMutuallyExclusive("from-savepoint", "fresh", "from-table")
}

func (b *backFlags) check() error {
	switch b.newer {
	case "refuse", string(job.KeepNewer), string(job.RewindNewer):
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("--on-newer-output is refuse, keep or rewind, not %q", b.newer)}
}

// several refuses the id of a checkpoint for a file with several jobs: each has ids of its own.
func (b *backFlags) several(jobs int) error {
	if _, err := strconv.ParseInt(b.from, 10, 64); err == nil && jobs > 1 {
		return &exitError{exitUsage, fmt.Errorf("--from-savepoint %s: the file has %d jobs, each with ids of its own; name the folder of checkpoints, or split the file", b.from, jobs)}
	}
	return nil
}

// order puts the flags into a job's spec; path is what its configuration names.
func (b *backFlags) order(s *job.Spec, path string) {
	s.Fresh, s.FromTable = b.fresh, b.table
	if !b.fresh && !b.table {
		s.FromSavepoint = cmp.Or(b.from, path)
	}
	if b.newer != "refuse" {
		s.OnNewerOutput = job.NewerOutput(b.newer)
	}
}
