package main

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"staunch/account"
	"staunch/all"
	"staunch/commit"
	"staunch/env"
	"staunch/fs"
)

// demoTable follows the log of the demo's table, as any onlooker can.
type demoTable struct {
	store fs.FS
	root  string
	dir   string // of the log
	last  int64  // the newest entry that was read
	// done certificates in order, and what they made visible.
	done  []*commit.Certified
	rows  int64
	files int
	open  *commit.Certified
}

func openDemoTable(path, job string) (*demoTable, error) {
	store, root, err := all.Stores().Resolve(path)
	if err != nil {
		return nil, err
	}
	return &demoTable{store: store, root: root, dir: commit.Dir(root, job)}, nil
}

// entry is the path of entry n.
func (t *demoTable) entry(n int64) string { return filepath.Join(t.dir, fmt.Sprintf("%d.staunch", n)) }

// kind is that of entry n, "" if there is none yet.
func (t *demoTable) kind(n int64) (string, error) {
	b, err := os.ReadFile(t.entry(n))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	head, _, _ := bytes.Cut(b, []byte("\n"))
	f := strings.Fields(string(head))
	if len(f) < 3 {
		return "", fmt.Errorf("%s is no entry of a log", t.entry(n))
	}
	return f[2], nil
}

// look reads the log if something was appended to it.
func (t *demoTable) look() error {
	if _, err := os.Lstat(t.entry(t.last + 1)); err != nil {
		return nil // nothing new, or no table yet
	}
	s, err := commit.Read(&env.Real{}, t.store, t.dir)
	if err != nil {
		return err
	}
	t.last, t.open = s.LastN, nil
	for _, c := range s.Certificates {
		switch {
		case c.Done == nil:
			t.open = c
		case len(t.done) == 0 || c.Checkpoint > t.done[len(t.done)-1].Checkpoint:
			t.done = append(t.done, c)
			t.rows += certifiedRows(c)
			t.files += len(c.Files)
		}
	}
	return nil
}

// undone is the certificate whose files are being made visible, nil if there is none.
func (t *demoTable) undone() *commit.Certified { return t.open }

// covers reports whether the done certificates reach the given ends of the topic's partitions.
func (t *demoTable) covers(ends [demoPartitions]int64) bool {
	reached := map[string]int64{}
	for _, c := range t.done {
		for _, r := range c.Ranges {
			reached[r.Split] = r.To
		}
	}
	for p, end := range ends {
		if reached[fmt.Sprintf("%s-%d", demoTopic, p)] != end {
			return false
		}
	}
	return true
}

// rowsAt is how many rows were visible with a checkpoint.
func (t *demoTable) rowsAt(c account.CheckpointID) (n int64) {
	for _, x := range t.done {
		if x.Checkpoint <= c {
			n += certifiedRows(x)
		}
	}
	return n
}

func certifiedRows(c *commit.Certified) (n int64) {
	for _, f := range c.Files {
		n += f.Rows
	}
	return n
}

// pending counts the files that were written or are being written and are not visible.
func (t *demoTable) pending() (n int, err error) {
	err = filepath.WalkDir(filepath.Join(t.root, account.Temporary), func(_ string, d iofs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && strings.HasSuffix(d.Name(), ".pending") {
			n++
		}
		return err
	})
	return n, err
}

// certificateText shows a certificate with the verdicts on its files.
func certificateText(c *commit.Certified) string {
	var b strings.Builder
	fmt.Fprintf(&b, "checkpoint %d of job '%s', written in epoch %d and done in epoch %d (an epoch is one life of the job)\n", c.Checkpoint, c.Job, c.Epoch, c.Done.Epoch)
	fmt.Fprintf(&b, "sha-256 %s\n", c.Hash)
	if c.Previous != "" {
		fmt.Fprintf(&b, "after   %s\n", c.Previous)
	}
	for _, r := range c.Ranges {
		fmt.Fprintf(&b, "%-10s offsets %s to %s: %s rows, %s filtered\n", r.Split, count(r.From), count(r.To-1), count(r.Rows()), count(r.Filtered))
	}
	const shown = 6
	for i, f := range c.Files {
		if i == shown {
			fmt.Fprintf(&b, "and %d files more\n", len(c.Files)-shown)
			break
		}
		fmt.Fprintf(&b, "%-8s %s/...%s  %s rows, %s bytes, xxh128 %.12s...\n", c.Done.Verdicts[i], f.Partition, tail(filepath.Base(f.Final), 30), count(f.Rows),
			count(f.Length), f.XXH128)
	}
	return strings.TrimRight(b.String(), "\n")
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
