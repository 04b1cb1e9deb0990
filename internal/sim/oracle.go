package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"staunch/account"
	"staunch/commit"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/log"
)

const (
	root = "/lake"
	jobs = "/checkpoints"
	name = "orders"
)

// oracle looks at the table from outside.
type oracle struct {
	client    *mem.Client
	b         *broker
	log       *log.Log
	rows      map[string][]record // parsed visible files
	certified map[string]bool
	lost      map[string]bool // final names of files that the job reported as lost
	removed   map[string]bool // pending names that the outsider removed
	excused   map[record]bool // records that the job reported as lost
}

type record struct {
	Part int   `json:"part"`
	Off  int64 `json:"off"`
}

func newOracle(w *world) *oracle {
	o := &oracle{b: w.b, rows: map[string][]record{}, certified: map[string]bool{}, lost: map[string]bool{}, removed: map[string]bool{},
		excused: map[record]bool{}}
	o.reopen(w)
	return o
}

// reopen gives the oracle a process of its own, again after a power cut.
func (o *oracle) reopen(w *world) {
	o.client = w.store.Client("oracle")
	o.log = log.Open(w.s.process("oracle"), o.client, commit.Dir(root, name), ".staunch")
}

// visible lists what a reader of the table sees: no hidden folders, only the format's extension.
func (o *oracle) visible() ([]string, error) {
	var out []string
	var walk func(dir string) error
	walk = func(dir string) error {
		list, err := o.client.List(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, i := range list {
			p := path.Join(dir, i.Name)
			switch {
			case strings.HasPrefix(i.Name, "_") || strings.HasPrefix(i.Name, "."):
			case i.Dir:
				if err := walk(p); err != nil {
					return err
				}
			case strings.HasSuffix(i.Name, ".json"):
				out = append(out, p)
			}
		}
		return nil
	}
	return out, walk(root)
}

func (o *oracle) read(p string) ([]record, error) {
	b, err := fs.ReadFile(o.client, p)
	if err != nil {
		return nil, err
	}
	var out []record
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		var r record
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("torn file %s: %w", p, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// check holds at every moment: nothing torn, nothing twice, nothing vanishes. cut says that a power cut may have taken renames back.
func (o *oracle) check(cut bool) error {
	files, err := o.visible()
	if err != nil {
		return err
	}
	now := map[string]bool{}
	seen := map[record]string{}
	for _, f := range files {
		now[f] = true
		rows, ok := o.rows[f]
		if !ok {
			if rows, err = o.read(f); err != nil {
				return err
			}
			o.rows[f] = rows
		}
		for _, r := range rows {
			if other, twice := seen[r]; twice {
				return fmt.Errorf("P1: record %d of partition %d is visible twice, in %s and %s", r.Off, r.Part, other, f)
			}
			seen[r] = f
			if r.Part >= o.b.partitions || r.Off >= o.b.records || kindOf(r.Part, r.Off) != row {
				return fmt.Errorf("P1: record %d of partition %d in %s must not be in the table", r.Off, r.Part, f)
			}
		}
	}
	for f := range o.rows {
		if now[f] {
			continue
		}
		if !cut {
			return fmt.Errorf("a visible file vanished: %s", f)
		}
		delete(o.rows, f)
	}
	return nil
}

// renaming is called before each rename into the table: the file must have been certified before.
func (o *oracle) renaming(final string) error {
	entries, err := o.log.Read()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind != account.KindCertificate {
			continue
		}
		var c account.Certificate
		if err := json.Unmarshal(e.Body, &c); err != nil {
			return err
		}
		for _, f := range c.Files {
			o.certified[f.Final] = true
		}
	}
	if !o.certified[final] {
		return fmt.Errorf("P11: %s becomes visible without a certificate", final)
	}
	return nil
}

// complete holds once the job has ended: every record is visible once, or its file was removed by the outsider and reported as lost.
func (o *oracle) complete() error {
	if err := o.check(true); err != nil {
		return err
	}
	seen := map[record]bool{}
	for _, rows := range o.rows {
		for _, r := range rows {
			seen[r] = true
		}
	}
	for r := range o.excused {
		if seen[r] {
			return fmt.Errorf("P5: record %d of partition %d was reported lost and is visible", r.Off, r.Part)
		}
	}
	missing := 0
	var first record
	for p := range o.b.partitions {
		for off := range o.b.records {
			r := record{p, off}
			if kindOf(p, off) == row && !seen[r] && !o.excused[r] {
				if missing == 0 {
					first = r
				}
				missing++
			}
		}
	}
	if missing > 0 {
		return fmt.Errorf("P1, P6: the job ended and %d records are neither visible nor reported lost, the first: record %d of partition %d", missing, first.Off, first.Part)
	}
	return nil
}
