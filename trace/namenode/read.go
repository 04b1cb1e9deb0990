package namenode

import (
	"bufio"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"staunch/fs"
)

// Logs are audit logs that were read.
type Logs struct {
	// Events that were kept, in the order of the files, each file's in its own order.
	Events  []Event
	Reports []Report
	// Again are files that were named more than once and read once.
	Again []string
}

// Report says what a file was.
type Report struct {
	Path string `json:"path"`
	// Lines in all; Other are other loggers'; Broken audit lines could not be read, the first of them are Examples.
	Lines    int      `json:"lines"`
	Other    int      `json:"other"`
	Broken   int      `json:"broken"`
	Examples []Broken `json:"examples,omitempty"`
	// Cut says why a packed file ends before its end, behind the last of its Lines; "" if it does not.
	Cut string `json:"cut,omitempty"`
	// Doubled lines of those that were kept are in a log that was given before, too, and are left out here.
	Doubled int `json:"doubled,omitempty"`
	// Covered are the stretches of time in which lines follow each other without a gap longer than Silence, by the NameNode's clock.
	Covered []Span `json:"covered"`
	// Clock tells the NameNode's clock from the job's.
	Clock Clock `json:"clock"`

	// node is the number of the first log with lines of this one: both are of one NameNode.
	node int
}

// Broken is a line that could not be read.
type Broken struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

// Span is from From to To.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Silence is the longest time without a line in a log that goes on: the standby rolls the edit log through the active NameNode every two minutes
// (dfs.ha.log-roll.period), which leaves a line.
const Silence = 5 * time.Minute

const (
	maxExamples = 5
	maxLine     = 1 << 20
)

// Read reads audit logs, one after the other; those that end in .gz are unpacked. A file that is named twice is read once. keep chooses the events that
// are kept, all if nil: a log may have millions.
func Read(stores fs.Resolver, paths []string, keep func(*Event) bool) (*Logs, error) {
	l := &Logs{}
	known := map[string]bool{}
	for _, p := range paths {
		store, at, err := stores.Resolve(p)
		if err != nil {
			return nil, fmt.Errorf("audit log %s: %w", p, err)
		}
		if uri := fs.URI(store, at); known[uri] {
			l.Again = append(l.Again, p)
			continue
		} else {
			known[uri] = true
		}
		r, err := store.Open(at)
		if err != nil {
			return nil, fmt.Errorf("audit log %s: %w", p, err)
		}
		err = l.read(r, p, keep)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("audit log %s: %w", p, err)
		}
	}
	return l, nil
}

// packed reports an error of what is packed: the file was cut, or damaged on its way. What came before it is as it was written.
func packed(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt)
}

// read reads one file.
func (l *Logs) read(r io.Reader, p string, keep func(*Event) bool) error {
	rep := Report{Path: p, node: len(l.Reports)}
	zip := strings.HasSuffix(p, ".gz")
	if zip {
		z, err := gzip.NewReader(r)
		switch {
		case errors.Is(err, gzip.ErrHeader):
			return errors.New("its name ends in .gz, and it is not packed by gzip: give it its right name")
		case err != nil && packed(err):
			rep.Cut = "it ends within gzip's header"
			l.Reports = append(l.Reports, rep)
			return nil
		case err != nil:
			return err
		}
		r = z
	}
	b := bufio.NewReaderSize(r, 1<<16)
	for {
		line, long, err := readLine(b)
		if err == io.EOF {
			break
		}
		if zip && err != nil && packed(err) { // a line that was begun is no line
			rep.Cut = err.Error()
			break
		}
		if err != nil {
			return err
		}
		rep.Lines++
		e, perr := parse(line)
		switch {
		case long || perr != nil && perr != errOther:
			if perr == nil || perr == errOther {
				perr = errors.New("it is longer than a mebibyte")
			}
			rep.broken(line, perr)
			continue
		case perr != nil:
			rep.Other++
			continue
		}
		e.Log, e.Line = rep.node, rep.Lines
		rep.cover(e.Time)
		if keep == nil || keep(&e) {
			e.own()
			l.Events = append(l.Events, e)
		}
	}
	l.Reports = append(l.Reports, rep)
	return nil
}

// own copies what was cut out of the line, so that the line can go.
func (e *Event) own() {
	for _, s := range []*string{&e.User, &e.IP, &e.Cmd, &e.Options, &e.Src, &e.Dst, &e.Caller} {
		*s = strings.Clone(*s)
	}
}

// readLine gives a line without its end; long lines are cut.
func readLine(b *bufio.Reader) (line string, long bool, err error) {
	var buf []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(buf) < maxLine {
			buf = append(buf, part...)
		} else {
			long = true
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(buf) > 0, err == nil:
			return strings.TrimRight(string(buf), "\r\n"), long, nil
		}
		return "", false, err
	}
}

func (r *Report) broken(line string, why error) {
	r.Broken++
	if len(r.Examples) < maxExamples {
		if len(line) > 200 {
			line = line[:200] + "..."
		}
		r.Examples = append(r.Examples, Broken{r.Lines, strings.ToValidUTF8(line, "\uFFFD"), why.Error()})
	}
}

// cover takes note that there was a line at t. Lines of several threads may be a little out of order.
func (r *Report) cover(t time.Time) {
	if n := len(r.Covered); n > 0 {
		last := &r.Covered[n-1]
		if d := t.Sub(last.To); d < Silence && t.Sub(last.From) > -Silence {
			if d > 0 {
				last.To = t
			}
			if t.Before(last.From) {
				last.From = t
			}
			return
		}
	}
	r.Covered = append(r.Covered, Span{t, t})
}

// Clock tells a NameNode's clock from the job's: Offset is what is to be taken off the NameNode's time.
type Clock struct {
	Offset time.Duration `json:"offset_ns"`
	// Matches are operations that both wrote down, Spread the width of the middle four fifths of their differences. Without matches the offset is
	// not known and taken for 0.
	Matches int           `json:"matches"`
	Spread  time.Duration `json:"spread_ns"`
	// Borrowed: without matches of its own, the offset is that of the log with the most: NameNodes of a pair have one time zone and synchronized clocks,
	// and the one that was standby has nothing of the job.
	Borrowed bool `json:"borrowed,omitempty"`
}

// Seen is an operation that the job wrote down: an audit command and its path, between Begin and Begin + Took by the job's clock. Names that are
// used once only are of use here.
type Seen struct {
	Cmd, Src string
	Begin    time.Time
	Took     time.Duration
}

// SetClocks finds each file's clock from operations that the job wrote down too, and puts all events into the job's time and in order.
func (l *Logs) SetClocks(seen []Seen) {
	type key struct{ cmd, src string }
	ours := map[key][]Seen{}
	for _, s := range seen {
		ours[key{s.Cmd, s.Src}] = append(ours[key{s.Cmd, s.Src}], s)
	}
	logs := make([][]time.Duration, len(l.Reports))
	for i := range l.Events {
		e := &l.Events[i]
		if s := ours[key{e.Cmd, e.Src}]; len(s) == 1 && e.Allowed {
			logs[e.Log] = append(logs[e.Log], e.Time.Sub(s[0].Begin.Add(s[0].Took/2)))
		}
	}
	best := Clock{}
	for i, d := range logs {
		l.Reports[i].Clock = clockOf(d)
		if l.Reports[i].Clock.Matches > best.Matches {
			best = l.Reports[i].Clock
		}
	}
	for i := range l.Reports {
		if c := &l.Reports[i].Clock; c.Matches == 0 && best.Matches > 0 {
			c.Offset, c.Borrowed = best.Offset, true
		}
	}
	l.single()
	for i := range l.Events {
		l.Events[i].Time = l.Events[i].Time.Add(-l.Reports[l.Events[i].Log].Clock.Offset)
	}
	for i := range l.Reports {
		for k := range l.Reports[i].Covered {
			c := &l.Reports[i].Covered[k]
			c.From, c.To = c.From.Add(-l.Reports[i].Clock.Offset), c.To.Add(-l.Reports[i].Clock.Offset)
		}
	}
	slices.SortStableFunc(l.Events, func(a, b Event) int { return cmp.Or(a.Time.Compare(b.Time), a.Log-b.Log, a.Line-b.Line) })
}

// same is what tells one line from another: NameNodes write the millisecond, and a request is carried out by one of them.
type same struct {
	time                                 int64
	allowed                              bool
	user, ip, cmd, opt, src, dst, caller string
}

// Doubles finds lines that a log before has, too: it is a copy, or was copied in part.
type Doubles map[same]*lines

// lines of one text: how many the log has that has most of them, and how many were met in log.
type lines struct{ first, log, most, met int }

// Again reports whether another log has the event; it is to be asked once for each, in the order of the logs, before the times are put into the job's.
// of is the log that had it first. Within one log a line may well come twice.
func (d Doubles) Again(e *Event) (of int, again bool) {
	k := same{e.Time.UnixNano(), e.Allowed, e.User, e.IP, e.Cmd, e.Options, e.Src, e.Dst, e.Caller}
	n := d[k]
	if n == nil {
		for _, s := range []*string{&k.user, &k.ip, &k.cmd, &k.opt, &k.src, &k.dst, &k.caller} {
			*s = strings.Clone(*s) // of a line that can go
		}
		n = &lines{first: e.Log, log: e.Log}
		d[k] = n
	}
	if n.log != e.Log {
		n.log, n.met = e.Log, 0
	}
	n.met++
	if n.met <= n.most {
		return n.first, true
	}
	n.most = n.met
	return n.first, false
}

// Shared reports whether other logs have lines of around an event's time, which is not in the job's time yet: they may have this one, too.
func (l *Logs) Shared(e *Event) bool {
	for i, r := range l.Reports {
		for _, c := range r.Covered {
			if t := e.Time.Add(-r.Clock.Offset); i != e.Log && t.After(c.From.Add(-time.Second)) && t.Before(c.To.Add(time.Second)) {
				return true
			}
		}
	}
	return false
}

// single leaves out what several logs have.
func (l *Logs) single() {
	if len(l.Reports) < 2 {
		return
	}
	d := Doubles{}
	l.Events = slices.DeleteFunc(l.Events, func(e Event) bool {
		of, again := d.Again(&e)
		if again {
			l.Reports[e.Log].Doubled++
			l.join(of, e.Log)
		}
		return again
	})
}

// join notes that two logs are of one NameNode.
func (l *Logs) join(a, b int) {
	x, y := l.Reports[a].node, l.Reports[b].node
	if x == y {
		return
	}
	for i := range l.Reports {
		if n := &l.Reports[i].node; *n == max(x, y) {
			*n = min(x, y)
		}
	}
}

// OneNode reports whether two logs are surely of one NameNode: they have lines in common, or are the pieces of one that is rotated.
func (l *Logs) OneNode(a, b int) bool {
	return l.Reports[a].node == l.Reports[b].node || whole(l.Reports[a].Path) == whole(l.Reports[b].Path)
}

// rotation is what rotating puts behind a log's name: a number, or a day with or without an hour.
var rotation = regexp.MustCompile(`(\.\d+|[.-]\d{4}-\d\d-\d\d(-\d\d)?|-\d{8})$`)

// whole is a log's path without what rotating and packing put behind it.
func whole(p string) string { return rotation.ReplaceAllString(strings.TrimSuffix(p, ".gz"), "") }

// clockOf is the median, which single late calls do not move.
func clockOf(d []time.Duration) Clock {
	if len(d) == 0 {
		return Clock{}
	}
	slices.Sort(d)
	n := len(d)
	return Clock{Offset: d[n/2].Round(time.Millisecond), Matches: n, Spread: (d[n-1-n/10] - d[n/10]).Round(time.Millisecond)}
}

// Covers reports whether a log has lines around t, so that what is not in it did not happen there.
func (l *Logs) Covers(t time.Time) bool {
	for _, r := range l.Reports {
		for _, c := range r.Covered {
			if !t.Before(c.From) && !t.After(c.To) {
				return true
			}
		}
	}
	return false
}

// Gaps are the stretches between from and to that no log covers.
func (l *Logs) Gaps(from, to time.Time) (out []Span) {
	var all []Span
	for _, r := range l.Reports {
		all = append(all, r.Covered...)
	}
	slices.SortFunc(all, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, c := range all {
		if c.From.After(to) {
			break
		}
		if c.From.After(from) {
			out = append(out, Span{from, c.From})
		}
		if c.To.After(from) {
			from = c.To
		}
	}
	if from.Before(to) {
		out = append(out, Span{from, to})
	}
	return out
}
