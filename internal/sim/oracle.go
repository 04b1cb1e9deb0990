package sim

import (
	"bytes"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/commit"
	"staunch/fs/mem"
	"staunch/log"
)

const (
	jobs        = "/checkpoints"
	otherJobs   = "/other-checkpoints"
	strangeJobs = "/strange-checkpoints"
	name        = "orders"
	copyName    = name + "-copy"
)

// roots are the tables that a job may have: the first takes the rows, the second what the first leaves out as well.
var roots = []string{"/lake", "/pond"}

// oracle looks at the tables from outside.
type oracle struct {
	client  *mem.Client
	store   *mem.Store
	b       *broker
	tables  []*lake
	lost    map[string]bool // final names of files that the job reported as lost
	removed map[string]bool // pending names that the outsider removed
	foreign map[string]bool // files that somebody else put at final names
	gone    map[string]bool // files that another program compacted, and what it made of them
	emptied map[string]bool // those of gone that were empty and moved away by the operator, so that the file is lost
	// repairing are the lost files whose repair was begun; mended are those that were reported to be there again, with the number of attempts until then.
	repairing map[string]bool
	mended    map[string]int
	// wentBack: the job was ordered to go back.
	wentBack bool
	moved    bool // what readers see may have changed since the last look
}

// lake is one table.
type lake struct {
	o         *oracle
	root      string
	success   success
	logs      []*log.Log // the job's and its copy's
	files     map[string]*visible
	at        map[record]string // the file of each visible record
	declared  map[string]int    // success files, by the last look that saw them
	looks     int
	certified map[string]bool
	second    bool              // a second INSERT brings what the first leaves out
	excused   map[record]string // records that the job reported as lost, with the file
	// staged are the names of replacements by the file that they are for.
	staged map[string][]string
	// repeats is how many times the job was ordered to go back and to keep what is newer; extra are the copies of records that came of it.
	repeats int
	extra   map[record]int
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

// visible is a file that readers see.
type visible struct {
	rows []record
	size int
	seen int // the last look that saw it
}

type record struct {
	Part int   `json:"part"`
	Off  int64 `json:"off"`
}

func newOracle(w *world) *oracle {
	o := &oracle{store: w.store, b: w.b, lost: map[string]bool{}, removed: map[string]bool{}, foreign: map[string]bool{}, gone: map[string]bool{}, emptied: map[string]bool{},
		repairing: map[string]bool{}, mended: map[string]int{}}
	for i := range w.tables {
		o.tables = append(o.tables, &lake{o: o, root: roots[i], success: w.success, second: w.second && i == 0, files: map[string]*visible{}, at: map[record]string{}, declared: map[string]int{},
			certified: map[string]bool{}, excused: map[record]string{}, staged: map[string][]string{}})
	}
	o.reopen(w)
	return o
}

// reopen gives the oracle a process of its own, again after a power cut.
func (o *oracle) reopen(w *world) {
	o.client = w.store.Client("oracle")
	for _, l := range o.tables {
		l.logs = nil
		for _, job := range []string{name, copyName} {
			l.logs = append(l.logs, log.Open(w.s.process("oracle"), o.client, commit.Dir(l.root, job), ".staunch"))
		}
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

// read parses a file's rows.
func (o *oracle) read(p string) ([]record, error) {
	var out []record
	for line := range bytes.Lines(o.store.Content(p)) {
		r, ok := parse(line)
		if !ok {
			return nil, find(Torn, "P1: the visible file %s has the line %q", p, line)
		}
		out = append(out, r)
	}
	return out, nil
}

// parse reads a line as the JSON format writes it. Anything else is no whole row.
func parse(line []byte) (r record, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"part":`))
	part, rest, ok1 := bytes.Cut(bytes.TrimPrefix(rest, []byte(" ")), []byte(`,"off":`)) // a replacement has a blank there
	off, rest, ok2 := bytes.Cut(rest, []byte("}\n"))
	p, err1 := strconv.Atoi(string(part))
	n, err2 := strconv.ParseInt(string(off), 10, 64)
	return record{p, n}, ok && ok1 && ok2 && len(rest) == 0 && err1 == nil && err2 == nil
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
	l.looks++
	var new []mem.Found
	successes := 0
	for _, f := range o.store.Files(l.root) {
		switch data := strings.HasSuffix(f.Path, ".json"); {
		case strings.HasSuffix(f.Path, "/_SUCCESS"):
			l.declared[f.Path] = l.looks
			successes++
			continue
		case !data || o.foreign[f.Path]:
			continue
		case hidden(f.Path[len(l.root):]): // a reader of **/*.json looks into hidden folders, too
			return find(Torn, "P1: %s ends like a data file and is not one", f.Path)
		}
		v := l.files[f.Path]
		if v == nil {
			new = append(new, f)
			continue
		}
		if f.Size == 0 && o.gone[f.Path] { // see "What it does not show" in docs/design/09-simulation.md
			continue
		}
		if v.seen = l.looks; v.size != f.Size {
			return find(Torn, "P1: the visible file %s had %d bytes and has %d", f.Path, v.size, f.Size)
		}
	}
	for f, v := range l.files {
		if v.seen == l.looks {
			continue
		}
		if !cut && !o.gone[f] && !l.superseded(f) {
			return find(Vanished, "a visible file vanished: %s", f)
		}
		for _, r := range v.rows {
			if l.extra[r] > 0 {
				l.extra[r]--
			} else {
				delete(l.at, r)
			}
		}
		delete(l.files, f)
	}
	for _, f := range new {
		if err := l.appears(f); err != nil {
			return err
		}
	}
	if err := l.kept(); err != nil {
		return err
	}
	return l.successes(successes, cut)
}

// kept finds a file that was reported to be repaired and is not there, not even after a power cut.
func (l *lake) kept() error {
	for f := range l.o.mended {
		switch {
		case l.o.of(f) != l || l.files[f] != nil:
		case l.o.gone[f] || l.superseded(f):
			delete(l.o.mended, f)
		default:
			return find(Vanished, "P6: %s was reported to be repaired, and is not there", f)
		}
	}
	return nil
}

// superseded reports whether a file went to where a rewind takes files.
func (l *lake) superseded(f string) bool {
	rel := strings.TrimPrefix(f, l.root)
	for _, x := range l.o.store.Files(l.root + "/_superseded") {
		_, part, ok := strings.Cut(strings.TrimPrefix(x.Path, l.root+"/_superseded/"), "/")
		if ok && "/"+part == rel+".superseded" {
			return true
		}
		for _, name := range l.staged[f] { // its replacement
			if ok && "/"+part == path.Join(path.Dir(rel), name+".superseded") {
				return true
			}
		}
	}
	return false
}

// appears takes note of a file that became visible.
func (l *lake) appears(f mem.Found) error {
	rows, err := l.o.read(f.Path)
	if err != nil {
		return err
	}
	l.files[f.Path] = &visible{rows, f.Size, l.looks}
	for _, r := range rows {
		if other, twice := l.at[r]; twice && l.extra[r] < l.repeats {
			if l.extra == nil {
				l.extra = map[record]int{}
			}
			l.extra[r]++
		} else if twice {
			return find(Doubled, "P1: record %d of partition %d is visible twice, in %s and %s", r.Off, r.Part, other, f.Path)
		}
		l.at[r] = f.Path
		if r.Part >= l.o.b.partitions || r.Off >= l.o.b.records || !l.takes(l.o.b.kind(r.Part, r.Off)) {
			return find(Strange, "P1: record %d of partition %d in %s must not be in the table", r.Off, r.Part, f.Path)
		}
	}
	return nil
}

// hidden reports whether a path below a table lies in a folder, or is a file, that readers pass over.
func hidden(p string) bool { return strings.Contains(p, "/_") || strings.Contains(p, "/.") }

// successes finds a partition that is declared complete before all of its files are there, and a declaration that is taken back.
func (l *lake) successes(n int, cut bool) error {
	if n < len(l.declared) {
		for f, seen := range l.declared {
			if seen != l.looks && !cut {
				return find(Vanished, "%s vanished", f)
			}
			if seen != l.looks {
				delete(l.declared, f)
			}
		}
	}
	if l.success == never || cut || l.o.wentBack { // a partition whose files were taken back keeps its sign
		return nil
	}
	for f := range l.declared {
		if d := path.Dir(f); !l.has(d) {
			return find(Early, "partition %s is declared complete and has no file", d)
		}
	}
	return nil
}

// has reports whether a folder has a file, or had one that is lost.
func (l *lake) has(dir string) bool {
	for f := range l.files {
		if path.Dir(f) == dir {
			return true
		}
	}
	for f := range l.o.lost {
		if path.Dir(f) == dir {
			return true
		}
	}
	for _, x := range l.o.store.Files(l.root + "/_superseded") { // a rewind leaves success files
		if _, rel, _ := strings.Cut(strings.TrimPrefix(x.Path, l.root+"/_superseded/"), "/"); l.root+"/"+path.Dir(rel) == dir {
			return true
		}
	}
	return false
}

// renaming is called before each rename into the table: the file must have been certified before.
func (l *lake) renaming(final string) error {
	var entries []log.Entry
	for _, x := range l.logs {
		more, err := x.Read()
		if err != nil {
			return err
		}
		entries = append(entries, more...)
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
		return find(Uncertified, "P11: %s becomes visible without a certificate", final)
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
	for r, f := range l.excused {
		_, seen := l.at[r]
		if !seen && o.mended[f] > 0 {
			return find(Missing, "P6: record %d of partition %d was in %s, which was reported to be repaired, and is not visible", r.Off, r.Part, f)
		}
		if seen && !o.wentBack && !o.repairing[f] { // else it may have been read again
			return find(WrongReport, "P5: record %d of partition %d was reported lost and is visible", r.Off, r.Part)
		}
	}
	missing := 0
	var first record
	for p := range o.b.partitions {
		for off := range o.b.records {
			r := record{p, off}
			if _, seen := l.at[r]; l.takes(o.b.kind(p, off)) && !seen && l.excused[r] == "" {
				if missing == 0 {
					first = r
				}
				missing++
			}
		}
	}
	if missing > 0 {
		return find(Missing, "P1, P6: the job ended and %d records are neither visible nor reported lost, the first: record %d of partition %d", missing, first.Off, first.Part)
	}
	return l.allDeclared()
}

// allDeclared holds once the job has ended: a partition has its success file unless a file of it is lost.
func (l *lake) allDeclared() error {
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
	for f := range l.files {
		whole[path.Dir(f)] = true
	}
	for f := range l.o.repairing { // whether it was lost when the partition was declared is another matter
		delete(holes, path.Dir(f))
		delete(whole, path.Dir(f))
	}
	for d := range holes {
		if l.success == atOnce || l.o.wentBack { // it may have been declared before the loss
			delete(whole, d)
			continue
		}
		if _, err := l.o.client.Stat(d + "/_SUCCESS"); err == nil {
			return find(Early, "partition %s is declared complete and a file of it is lost", d)
		}
		delete(whole, d)
	}
	for d := range whole {
		if _, err := l.o.client.Stat(d + "/_SUCCESS"); err != nil {
			return find(Undeclared, "the job ended and partition %s is not declared complete: %v", d, err)
		}
	}
	return nil
}
