package namenode

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
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
}

// Report says what a file was.
type Report struct {
	Path string `json:"path"`
	// Lines in all; Other are other loggers'; Broken audit lines could not be read, the first of them are Examples.
	Lines    int      `json:"lines"`
	Other    int      `json:"other"`
	Broken   int      `json:"broken"`
	Examples []Broken `json:"examples,omitempty"`
	// Covered are the stretches of time in which lines follow each other without a gap longer than Silence, by the NameNode's clock.
	Covered []Span `json:"covered"`
	// Clock tells the NameNode's clock from the job's.
	Clock Clock `json:"clock"`
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

// Read reads audit logs, one after the other; those that end in .gz are unpacked. keep chooses the events that are kept, all if nil: a log may have
// millions.
func Read(stores fs.Resolver, paths []string, keep func(*Event) bool) (*Logs, error) {
	l := &Logs{}
	for i, p := range paths {
		store, at, err := stores.Resolve(p)
		if err != nil {
			return nil, fmt.Errorf("audit log %s: %w", p, err)
		}
		r, err := store.Open(at)
		if err != nil {
			return nil, fmt.Errorf("audit log %s: %w", p, err)
		}
		err = l.read(r, i, p, keep)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("audit log %s: %w", p, err)
		}
	}
	return l, nil
}

// read reads one file.
func (l *Logs) read(r io.Reader, i int, p string, keep func(*Event) bool) error {
	if strings.HasSuffix(p, ".gz") {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		r = z
	}
	rep := Report{Path: p}
	b := bufio.NewReaderSize(r, 1<<16)
	for {
		line, long, err := readLine(b)
		if err == io.EOF {
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
		e.Log, e.Line = i, rep.Lines
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
