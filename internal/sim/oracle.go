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
	jobs = "/checkpoints"
	name = "orders"
)

// roots are the tables that a job may have: the first takes the rows, the second what the first leaves out as well.
var roots = []string{"/lake", "/pond"}

// oracle looks at the tables from outside.
type oracle struct {
	client  *mem.Client
	b       *broker
	tables  []*lake
	lost    map[string]bool // final names of files that the job reported as lost
	removed map[string]bool // pending names that the outsider removed
}

// lake is one table.
type lake struct {
	o         *oracle
	root      string
	success   success
	log       *log.Log
	rows      map[string][]record // parsed visible files
	certified map[string]bool
	second    bool            // a second INSERT brings what the first leaves out
	excused   map[record]bool // records that the job reported as lost
}

// success says when partitions are declared complete.
type success int

const (
	never  success = iota
	atEnd          // once the input has ended
	atOnce         // with the checkpoint of their first file
	byTime         // when the watermark passes their hour; only in scripts
)

// takes says whether a record of kind k belongs into the table.
func (l *lake) takes(k kind) bool {
	return k == row || k == filtered && (l.root != roots[0] || l.second)
}

type record struct {
	Part int   `json:"part"`
	Off  int64 `json:"off"`
}

func newOracle(w *world) *oracle {
	o := &oracle{b: w.b, lost: map[string]bool{}, removed: map[string]bool{}}
	for i := range w.tables {
		o.tables = append(o.tables, &lake{o: o, root: roots[i], success: w.success, second: w.second && i == 0, rows: map[string][]record{}, certified: map[string]bool{}, excused: map[record]bool{}})
	}
	o.reopen(w)
	return o
}

// reopen gives the oracle a process of its own, again after a power cut.
func (o *oracle) reopen(w *world) {
	o.client = w.store.Client("oracle")
	for _, l := range o.tables {
		l.log = log.Open(w.s.process("oracle"), o.client, commit.Dir(l.root, name), ".staunch")
	}
}

// of is the table that a path lies in, or nil.
func (o *oracle) of(p string) *lake {
	for _, l := range o.tables {
		if strings.HasPrefix(p, l.root+"/") {
			return l
		}
	}
	return nil
}

// visible lists what a reader of the table sees: no hidden folders, only the format's extension.
func (l *lake) visible() ([]string, error) {
	var out []string
	var walk func(dir string) error
	walk = func(dir string) error {
		list, err := l.o.client.List(dir)
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
	return out, walk(l.root)
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
	for _, l := range o.tables {
		if err := l.check(cut); err != nil {
			return err
		}
	}
	return nil
}

func (l *lake) check(cut bool) error {
	o := l.o
	files, err := l.visible()
	if err != nil {
		return err
	}
	now := map[string]bool{}
	seen := map[record]string{}
	for _, f := range files {
		now[f] = true
		rows, ok := l.rows[f]
		if !ok {
			if rows, err = o.read(f); err != nil {
				return err
			}
			l.rows[f] = rows
		}
		for _, r := range rows {
			if other, twice := seen[r]; twice {
				return fmt.Errorf("P1: record %d of partition %d is visible twice, in %s and %s", r.Off, r.Part, other, f)
			}
			seen[r] = f
			if r.Part >= o.b.partitions || r.Off >= o.b.records || !l.takes(o.b.kind(r.Part, r.Off)) {
				return fmt.Errorf("P1: record %d of partition %d in %s must not be in the table", r.Off, r.Part, f)
			}
		}
	}
	if err := l.early(); err != nil && !cut {
		return err
	}
	for f := range l.rows {
		if now[f] {
			continue
		}
		if !cut {
			return fmt.Errorf("a visible file vanished: %s", f)
		}
		delete(l.rows, f)
	}
	return nil
}

// early finds a partition that is declared complete and has no file yet.
func (l *lake) early() error {
	if l.success == never {
		return nil
	}
	has := map[string]bool{}
	for f := range l.rows {
		has[path.Dir(f)] = true
	}
	for f := range l.o.lost {
		has[path.Dir(f)] = true
	}
	list, err := l.o.client.List(l.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, i := range list {
		d := path.Join(l.root, i.Name)
		if _, err := l.o.client.Stat(d + "/_SUCCESS"); err == nil && !has[d] {
			return fmt.Errorf("partition %s is declared complete and has no file", d)
		}
	}
	return err
}

// renaming is called before each rename into the table: the file must have been certified before.
func (l *lake) renaming(final string) error {
	entries, err := l.log.Read()
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
			l.certified[f.Final] = true
		}
	}
	if !l.certified[final] {
		return fmt.Errorf("P11: %s becomes visible without a certificate", final)
	}
	return nil
}

// complete holds once the job has ended: every record is visible once, or its file was removed by the outsider and reported as lost.
func (o *oracle) complete() error {
	if err := o.check(true); err != nil {
		return err
	}
	for _, l := range o.tables {
		if err := l.complete(); err != nil {
			return err
		}
	}
	return nil
}

func (l *lake) complete() error {
	o := l.o
	seen := map[record]bool{}
	for _, rows := range l.rows {
		for _, r := range rows {
			seen[r] = true
		}
	}
	for r := range l.excused {
		if seen[r] {
			return fmt.Errorf("P5: record %d of partition %d was reported lost and is visible", r.Off, r.Part)
		}
	}
	missing := 0
	var first record
	for p := range o.b.partitions {
		for off := range o.b.records {
			r := record{p, off}
			if l.takes(o.b.kind(p, off)) && !seen[r] && !l.excused[r] {
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
	return l.declared()
}

// declared holds once the job has ended: a partition has its success file unless a file of it is lost.
func (l *lake) declared() error {
	if l.success == never {
		return nil
	}
	holes := map[string]bool{}
	for f := range l.o.lost {
		if l.o.of(f) == l {
			holes[path.Dir(f)] = true
		}
	}
	whole := map[string]bool{}
	for f := range l.rows {
		whole[path.Dir(f)] = true
	}
	for d := range holes {
		if l.success == atOnce { // it may have been declared before the loss
			delete(whole, d)
			continue
		}
		if _, err := l.o.client.Stat(d + "/_SUCCESS"); err == nil {
			return fmt.Errorf("partition %s is declared complete and a file of it is lost", d)
		}
		delete(whole, d)
	}
	for d := range whole {
		if _, err := l.o.client.Stat(d + "/_SUCCESS"); err != nil {
			return fmt.Errorf("the job ended and partition %s is not declared complete: %w", d, err)
		}
	}
	return nil
}
