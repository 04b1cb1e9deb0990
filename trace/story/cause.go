package story

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/trace"
	"staunch/trace/namenode"
)

// Kind names a cause.
type Kind string

// The causes, by what they look like in the logs.
const (
	// LateDelete: a request of this job's own client that was carried out after what it was meant for had been replaced.
	LateDelete Kind = "late-delete"
	// OwnDelete: this job removed it, and wrote that down.
	OwnDelete Kind = "own-delete"
	// Cleaner: another client that removes many or old files.
	Cleaner Kind = "cleaner"
	// Foreign: another client removed, renamed or replaced it.
	Foreign Kind = "foreign-client"
	// Failover: the time in question is not in the logs that were given.
	Failover Kind = "failover-gap"
	// Unknown: nothing that was read speaks of it.
	Unknown Kind = "unknown"
)

// Title is the kind for people.
func (k Kind) Title() string {
	switch k {
	case LateDelete:
		return "late delete"
	case OwnDelete:
		return "delete by this job"
	case Cleaner:
		return "TTL or cleaner"
	case Foreign:
		return "foreign client"
	case Failover:
		return "failover: a gap in the audit logs"
	}
	return "unknown"
}

// Cause is why a file is not there, most likely.
type Cause struct {
	Kind Kind `json:"cause"`
	// File is the final name, Pending the other one.
	File    string `json:"file"`
	Pending string `json:"pending"`
	// What took it, by whom and when; empty if not known.
	Op   string    `json:"op,omitempty"`
	Path string    `json:"path,omitempty"`
	Who  string    `json:"who,omitempty"`
	Time time.Time `json:"time,omitzero"`
	// Rows and Offsets are what is missing.
	Rows    int64             `json:"rows"`
	Offsets map[string]string `json:"offsets,omitempty"`
	// For is what speaks for it; ToDo what to do next.
	For  []string `json:"speaks_for_it"`
	ToDo string   `json:"to_do"`

	audit *namenode.Event
	trace *trace.Entry
}

// life is what is known of when a file was there.
type life struct {
	created, closed, seen, missing time.Time
}

// stamp shows a time to the millisecond.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

// lifeOf finds the times of a file.
func (t *teller) lifeOf(f *File) life {
	l := life{}
	if f.Verdict == account.Lost {
		l.missing = f.Done
	}
	for i := range t.entries {
		e := &t.entries[i]
		when := at(e.Record.Time)
		if e.As != "" || f.State == Repaired && when.After(f.Repairs[0].Time) {
			continue // what stands there since is another file
		}
		switch p := bare(e.Path); {
		case p == f.Pending && e.Op == trace.Create && e.Outcome == trace.OK:
			l.created = when
		case p == f.Pending && e.Op == trace.Close && e.Outcome == trace.OK:
			l.closed, l.seen = when.Add(e.Took), when.Add(e.Took)
		case p == f.Pending && e.Op == trace.Rename && e.Outcome == trace.OK:
			l.seen = when.Add(e.Took)
		case (p == f.Pending || p == f.Final) && e.Op == trace.Stat && e.Outcome == trace.OK:
			l.seen = when
		case p == f.Pending && (e.Op == trace.Rename || e.Op == trace.Stat) && e.Outcome == trace.Missing:
			if l.missing.IsZero() || when.Before(l.missing) {
				l.missing = when
			}
		}
	}
	if f.State != Repaired && (f.Verdict == account.Renamed || f.Verdict == account.Skipped) {
		l.missing = time.Time{} // that was before
		if f.Done.After(l.seen) {
			l.seen = f.Done
		}
	}
	if t.out.Audit != nil && l.created.IsZero() {
		for i := range t.out.Audit.Events {
			if e := &t.out.Audit.Events[i]; e.Src == f.Pending && e.Cmd == "create" && e.Allowed {
				l.created = e.Time
			}
		}
	}
	if l.created.IsZero() {
		l.created = f.Promised.Add(-time.Minute)
	}
	if l.missing.IsZero() {
		l.missing = t.Env.Now().UTC()
	}
	return l
}

// slack is by how much the times of two machines may be wrong after their clocks were compared.
const slack = 50 * time.Millisecond

// cause finds what took a file.
func (t *teller) cause(f *File) Cause {
	c := Cause{File: f.Final, Pending: f.Pending, Rows: f.Rows, Offsets: f.Offsets}
	l := t.lifeOf(f)
	c.For = append(c.For, fmt.Sprintf("the file was created %s", stamp(l.created)))
	if f.Checkpoint == 0 && f.Amend == nil {
		c.For = append(c.For, "no log of staunch names it: this is by the audit logs alone")
	}
	if !l.closed.IsZero() {
		c.For = append(c.For, fmt.Sprintf("written to its end and durable %s, %d bytes", stamp(l.closed), f.Length))
	}
	if e := t.culprit(f, l); e != nil {
		t.blame(&c, e, f, l)
		return c
	}
	if e := t.ownDelete(f, l); e != nil {
		c.Kind, c.Op, c.Path, c.Time, c.trace = OwnDelete, string(e.Op), bare(e.Path), at(e.Record.Time), e
		c.Who = fmt.Sprintf("epoch %d (%s, pid %d)", e.Epoch, e.Host, e.PID)
		c.For = append(c.For, fmt.Sprintf("epoch %d removed %s at %s and wrote it into the trace", e.Epoch, c.Path, stamp(c.Time)))
		c.ToDo = "report this: no version of staunch removes a promised file"
		return c
	}
	if e := t.unanswered(f, l); e != nil {
		c.Kind, c.Op, c.Path, c.Time, c.trace = LateDelete, string(e.Op), bare(e.Path), at(e.Record.Time), e
		c.Who = fmt.Sprintf("epoch %d (%s, pid %d)", e.Epoch, e.Host, e.PID)
		c.For = append(c.For, fmt.Sprintf("epoch %d sent a delete of %s at %s and never got an answer: it may have been carried out late", e.Epoch, c.Path, stamp(c.Time)))
		c.ToDo = "confirm it with the NameNodes' audit logs (--audit-log), then " + howBack
		return c
	}
	t.nobody(&c, l)
	return c
}

// takes reports whether an audited operation takes p away.
func takes(e *namenode.Event, p string) bool {
	switch e.Cmd {
	case "delete":
		return below(p, strings.TrimRight(e.Src, "/"))
	case "rename":
		return below(p, strings.TrimRight(e.Src, "/")) || e.Dst == p && e.Overwrites()
	case "truncate", "concat":
		return e.Src == p
	}
	return false
}

// culprit is the last audited operation that took the file while it should have been there.
func (t *teller) culprit(f *File, l life) (last *namenode.Event) {
	if t.out.Audit == nil {
		return nil
	}
	for i := range t.out.Audit.Events {
		e := &t.out.Audit.Events[i]
		if !e.Allowed || e.Time.Before(l.created.Add(-slack)) || e.Time.After(l.missing.Add(slack)) {
			continue
		}
		mine := e.Cmd == "rename" && e.Src == f.Pending && (e.Dst == f.Final || f.Checkpoint == 0 && e.Dst != "" && f.Final != f.Pending)
		if takes(e, f.Pending) && !mine || takes(e, f.Final) {
			// A look that found it after this one says that it did not.
			if !l.seen.IsZero() && e.Time.Before(l.seen.Add(-time.Second)) && !l.seen.Equal(l.closed) {
				continue
			}
			last = e
		}
	}
	return last
}

// blame classifies the operation that took the file.
func (t *teller) blame(c *Cause, e *namenode.Event, f *File, l life) {
	c.Op, c.Path, c.Who, c.Time, c.audit = e.Cmd, e.Src, e.Who(), e.Time, e
	where := fmt.Sprintf("%s line %d", t.out.Audit.Reports[e.Log].Path, e.Line)
	what := "the file"
	if e.Src != f.Pending && e.Src != f.Final {
		what = "the folder above it, " + e.Src
	}
	c.For = append(c.For, fmt.Sprintf("%s of %s by %s at %s, %s after the file was created (%s)", e.Cmd, what, c.Who, stamp(e.Time),
		e.Time.Sub(l.created).Round(time.Millisecond), where))
	own := t.own[e.Who()]
	before, between := t.earlier(e)
	told := t.told(e)
	switch {
	case e.Cmd == "delete" && told != nil:
		c.Kind, c.trace = OwnDelete, told
		c.For = append(c.For, fmt.Sprintf("epoch %d wrote this delete into its trace", told.Epoch))
		c.ToDo = "report this: no version of staunch removes a promised file"
	case e.Cmd == "delete" && (own || before != nil):
		c.Kind = LateDelete
		t.late(c, e, before, between, own)
	case e.Cmd == "delete":
		t.stranger(c, e, l)
	default:
		c.Kind = Foreign
		if e.Dst != "" {
			c.For = append(c.For, "it was renamed to "+e.Dst)
		}
		c.ToDo = "find out what runs as " + c.Who + " and keep it off the table; the file may still be at the other name: put it back there"
		if e.Cmd == "rename" && e.Dst == "" {
			c.ToDo = "find out what runs as " + c.Who + " and keep it off the table"
		}
	}
	if own && c.Kind != OwnDelete {
		whose := "this job's files"
		if f.Checkpoint == 0 {
			whose = "the file"
		}
		c.For = append(c.For, fmt.Sprintf("%s is the client that also wrote %s", c.Who, whose))
	}
	if s := t.switched(l.created, e.Time); s != "" {
		c.For = append(c.For, s)
	}
}

// earlier finds a delete of the same path by the same client shortly before, and what was made there in between.
func (t *teller) earlier(e *namenode.Event) (before, between *namenode.Event) {
	for i := range t.out.Audit.Events {
		x := &t.out.Audit.Events[i]
		if x == e || x.Time.After(e.Time) {
			break
		}
		switch {
		case x.Cmd == "delete" && x.Src == e.Src && x.Who() == e.Who() && e.Time.Sub(x.Time) < time.Hour:
			before, between = x, nil
		case before != nil && between == nil && (x.Cmd == "mkdirs" || x.Cmd == "create") && below(x.Src, e.Src):
			between = x
		}
	}
	return before, between
}

// late says what makes a delete a late one.
func (t *teller) late(c *Cause, e, before, between *namenode.Event, own bool) {
	if before != nil {
		text := fmt.Sprintf("the same client had deleted the same path %s before, at %s", e.Time.Sub(before.Time).Round(time.Millisecond), stamp(before.Time))
		if between != nil {
			text += fmt.Sprintf(", and %s %s was made there in between: the second request is a retry, or the first one sent again, that came late", between.Cmd, between.Src)
		}
		c.For = append(c.For, text)
	}
	if own && len(t.entries) > 0 {
		c.For = append(c.For, "no attempt of the job recorded a delete of this path at that time: the request had been sent before, by a process that may have ended since")
	}
	c.ToDo = "the writer that deletes before it writes must be replaced (staunch deletes by exact, unique names only); " + howBack
}

// stranger tells a cleaner from any other client.
func (t *teller) stranger(c *Cause, e *namenode.Event, l life) {
	others := 0
	for i := range t.out.Audit.Events {
		x := &t.out.Audit.Events[i]
		if x != e && x.Cmd == "delete" && x.Who() == e.Who() && x.Time.Sub(e.Time).Abs() < time.Minute {
			others++
		}
	}
	age := e.Time.Sub(l.created)
	c.Kind = Foreign
	if others >= 3 || age >= time.Hour {
		c.Kind = Cleaner
	}
	if others > 0 {
		c.For = append(c.For, fmt.Sprintf("the same client deleted %d other paths of the table within a minute of it", others))
	}
	if age >= time.Hour {
		c.For = append(c.For, fmt.Sprintf("the file was %s old: older than a rule that removes old files allows?", age.Round(time.Minute)))
	}
	if len(t.own) > 0 {
		c.For = append(c.For, "it is not the client that wrote the job's files ("+strings.Join(t.owners(), ", ")+")")
	}
	c.ToDo = "find out what runs as " + c.Who + " and keep it out of _DUMP_TEMPORARY and off the table; then " + howBack
}

func (t *teller) owners() (out []string) {
	for w := range t.own {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}

// told finds the trace's own record of an audited delete.
func (t *teller) told(e *namenode.Event) *trace.Entry {
	for i := range t.entries {
		x := &t.entries[i]
		if (x.Op == trace.Delete || x.Op == trace.DeleteDir) && x.Outcome == trace.OK && bare(x.Path) == e.Src && at(x.Record.Time).Sub(e.Time).Abs() < x.Took+time.Second {
			return x
		}
	}
	return nil
}

// ownDelete finds a recorded delete that took the file.
func (t *teller) ownDelete(f *File, l life) *trace.Entry {
	return t.ownOp(f, l, func(e *trace.Entry) bool { return e.Outcome == trace.OK })
}

// unanswered finds a delete that was sent and never answered, also before the file was created.
func (t *teller) unanswered(f *File, l life) *trace.Entry {
	l.created = l.created.Add(-time.Hour)
	return t.ownOp(f, l, func(e *trace.Entry) bool { return e.Outcome == trace.Unavailable })
}

func (t *teller) ownOp(f *File, l life, ok func(*trace.Entry) bool) (last *trace.Entry) {
	for i := range t.entries {
		e := &t.entries[i]
		when, p := at(e.Record.Time), bare(e.Path)
		if (e.Op == trace.Delete || e.Op == trace.DeleteDir) && ok(e) && !when.Before(l.created) && !when.After(l.missing) &&
			(p == f.Pending || p == f.Final || e.Op == trace.DeleteDir && (below(f.Pending, p) || below(f.Final, p)) && e.Outcome == trace.Unavailable) {
			last = e
		}
	}
	return last
}

// switched tells of a change of the NameNode between two times.
func (t *teller) switched(from, to time.Time) string {
	l, last := t.out.Audit, -1
	for i := range l.Events {
		e := &l.Events[i]
		if e.Time.Before(from.Add(-time.Minute)) || e.Time.After(to) {
			continue
		}
		if last >= 0 && !l.OneNode(last, e.Log) {
			a, b := l.Reports[last].Path, l.Reports[e.Log].Path
			if path.Base(a) != path.Base(b) {
				a, b = path.Base(a), path.Base(b)
			}
			return fmt.Sprintf("the active NameNode changed from %s to %s at %s", a, b, stamp(e.Time))
		}
		last = e.Log
	}
	return ""
}

// nobody says what is known when nothing that was read took the file.
func (t *teller) nobody(c *Cause, l life) {
	since := l.created
	if l.seen.After(since) {
		since = l.seen
	}
	window := fmt.Sprintf("it was there at %s and was missed at %s", stamp(since), stamp(l.missing))
	c.For = append(c.For, window)
	away := 0
	for i := range t.entries {
		if e := &t.entries[i]; e.Outcome == trace.Unavailable && !at(e.Record.Time).Before(since.Add(-time.Minute)) && !at(e.Record.Time).After(l.missing) {
			away++
		}
	}
	if away > 0 {
		c.For = append(c.For, fmt.Sprintf("the store did not answer %d calls of the job around that time", away))
	}
	if t.out.Audit == nil {
		c.Kind, c.ToDo = Unknown, "give the NameNodes' audit logs of that time: --audit-log FILE (once for each NameNode); on another store, its access log"
		return
	}
	for _, r := range t.out.Audit.Reports {
		if r.Broken > 0 {
			c.For = append(c.For, fmt.Sprintf("%s of %s cannot be read, and may be what tells it; the first is line %d", account.Plural(int64(r.Broken), "line", "lines"), r.Path, r.Examples[0].Line))
		}
	}
	gaps := t.out.Audit.Gaps(since.Add(-slack), l.missing.Add(slack))
	gaps = slices.DeleteFunc(gaps, func(g namenode.Span) bool { return g.To.Sub(g.From) <= slack })
	if len(gaps) > 0 {
		c.Kind = Failover
		longest := slices.MaxFunc(gaps, func(a, b namenode.Span) int { return cmp.Compare(a.To.Sub(a.From), b.To.Sub(b.From)) })
		lacks := fmt.Sprintf("no audit log that was given has lines from %s to %s", stamp(longest.From), stamp(longest.To))
		if len(gaps) > 1 {
			lacks += fmt.Sprintf(", the longest of %d such gaps", len(gaps))
		}
		c.For = append(c.For, lacks)
		if s := t.switched(since, l.missing); s != "" {
			c.For = append(c.For, s)
		}
		c.ToDo = "give the audit log of the other NameNode, or the older or newer file of this one, for that time"
		return
	}
	c.Kind = Unknown
	c.For = append(c.For, "the audit logs cover that time, and nobody deleted or renamed the file or a folder above it in them")
	c.ToDo = "were all NameNodes' logs given? Then look below the names: hdfs fsck, snapshots that were restored, another mount of the same disk"
}
