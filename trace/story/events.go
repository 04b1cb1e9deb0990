package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/trace"
	"staunch/trace/namenode"
)

// Event is a point of the time line.
type Event struct {
	Time time.Time `json:"time"`
	// From is "trace" or "audit".
	From string `json:"from"`
	Job  string `json:"job,omitempty"`
	// Epoch and Attempt are the process that did it, Who the client by an audit log.
	Epoch      account.Epoch        `json:"epoch,omitempty"`
	Attempt    int                  `json:"attempt,omitempty"`
	Who        string               `json:"who,omitempty"`
	Checkpoint account.CheckpointID `json:"checkpoint,omitempty"`
	Task       *int                 `json:"task,omitempty"`
	Op         string               `json:"op"`
	Path       string               `json:"path,omitempty"`
	To         string               `json:"to,omitempty"`
	Outcome    string               `json:"outcome"`
	TookMicros int64                `json:"took_us,omitempty"`
	Bytes      int64                `json:"bytes,omitempty"`
	Files      int64                `json:"files,omitempty"`
	Error      string               `json:"error,omitempty"`
	Note       string               `json:"note,omitempty"`
	// Log and Line are the place in an audit log.
	Log  string `json:"log,omitempty"`
	Line int    `json:"line,omitempty"`
	// Mark says why it is suspicious.
	Mark string `json:"mark,omitempty"`

	audit *namenode.Event
}

// timeLine chooses the events.
func (t *teller) timeLine() {
	var context []Event
	for i := range t.entries {
		e := &t.entries[i]
		if !t.inTime(at(e.Record.Time)) {
			continue
		}
		switch {
		case t.wanted(e):
			t.out.Events = append(t.out.Events, eventOf(e))
		case e.Op == trace.Begin || e.Op == trace.Fail || e.Op == trace.End || e.Op == trace.Restore || e.Op == trace.Dropped:
			context = append(context, eventOf(e))
		}
	}
	if t.out.Audit != nil {
		for i := range t.out.Audit.Events {
			if e := &t.out.Audit.Events[i]; t.inTime(e.Time) && t.wantedAudit(e) {
				t.out.Events = append(t.out.Events, t.eventOfAudit(e))
			}
		}
	}
	t.out.Events = append(t.out.Events, t.around(context)...)
	slices.SortStableFunc(t.out.Events, func(a, b Event) int { return a.Time.Compare(b.Time) })
}

// around keeps what happened to the processes while the chosen events did.
func (t *teller) around(context []Event) (out []Event) {
	if len(t.out.Events) == 0 {
		return nil
	}
	from, to := t.out.Events[0].Time, t.out.Events[0].Time
	for _, e := range t.out.Events {
		if e.Time.Before(from) {
			from = e.Time
		}
		if e.Time.After(to) {
			to = e.Time
		}
	}
	for _, e := range context {
		if !e.Time.Before(from) && !e.Time.After(to) || e.Op == string(trace.Begin) && e.Epoch == t.out.Events[0].Epoch {
			out = append(out, e)
		}
	}
	return out
}

func (t *teller) inTime(x time.Time) bool {
	return (t.Query.Since.IsZero() || !x.Before(t.Query.Since)) && (t.Query.Until.IsZero() || !x.After(t.Query.Until))
}

// touches reports whether an operation concerns a path that was asked for. destroys: it also concerns what lies below its path.
func (t *teller) touches(p string, destroys bool) bool {
	p = strings.TrimRight(p, "/")
	switch {
	case p == "":
		return false
	case t.set[p], destroys && t.folders[p]:
		return true
	case t.Query.Path != "":
		return below(p, strings.TrimRight(bare(t.Query.Path), "/"))
	case t.Query.Prefix != "":
		q := bare(t.Query.Prefix)
		return strings.HasPrefix(p, q) || destroys && below(strings.TrimRight(q, "/"), p)
	}
	return false
}

// byPath: paths are asked for, be it through a record.
func (t *teller) byPath() bool {
	return t.Query.Path != "" || t.Query.Prefix != "" || t.Query.Record != nil
}

// wanted reports whether a record of the trace belongs to the answer.
func (t *teller) wanted(e *trace.Entry) bool {
	q := &t.Query
	if q.Task >= 0 && e.Task != q.Task && taskOf(e.Path) != q.Task {
		return false
	}
	if t.byPath() {
		destroys := e.Op == trace.Delete || e.Op == trace.DeleteDir || e.Op == trace.Rename
		return t.touches(bare(e.Path), destroys) || t.touches(bare(e.To), false)
	}
	if q.Checkpoint != 0 {
		return e.Checkpoint == q.Checkpoint || t.set[bare(e.Path)] || e.To != "" && t.set[bare(e.To)]
	}
	return true
}

// wantedAudit is the same for an audit log's line.
func (t *teller) wantedAudit(e *namenode.Event) bool {
	destroys := e.Cmd == "delete" || e.Cmd == "rename"
	if t.byPath() {
		return t.touches(e.Src, destroys) || t.touches(e.Dst, false)
	}
	if t.Query.Checkpoint != 0 {
		in := fmt.Sprintf("/_DUMP_TEMPORARY/cp-%d", t.Query.Checkpoint)
		return t.set[e.Src] || t.set[e.Dst] || destroys && t.folders[e.Src] || strings.Contains(e.Src+"/", in+"/")
	}
	if t.Query.Task >= 0 {
		return taskOf(e.Src) == t.Query.Task
	}
	return true
}

func eventOf(e *trace.Entry) Event {
	x := Event{Time: at(e.Record.Time), From: "trace", Job: e.Job, Who: e.As, Epoch: e.Epoch, Attempt: e.Attempt, Checkpoint: e.Checkpoint, Op: string(e.Op), Path: e.Path, To: e.To,
		Outcome: e.Outcome.String(), TookMicros: e.Took.Microseconds(), Bytes: e.Bytes, Files: e.Files, Error: e.Error, Note: e.Note}
	if e.Task != trace.NoTask {
		k := e.Task
		x.Task = &k
	}
	return x
}

func (t *teller) eventOfAudit(e *namenode.Event) Event {
	x := Event{Time: e.Time, From: "audit", Who: e.Who(), Op: e.Cmd, Path: e.Src, To: e.Dst, Outcome: "ok", Note: e.Options, Log: t.out.Audit.Reports[e.Log].Path,
		Line: e.Line, audit: e}
	if !e.Allowed {
		x.Outcome = "denied"
	}
	if e.Caller != "" {
		x.Note = strings.TrimSpace(x.Note + " " + e.Caller)
	}
	if f := t.names[e.Src]; f != nil {
		x.Checkpoint = f.Checkpoint
	}
	return x
}

// mark says at the events themselves what is suspicious about them.
func (t *teller) mark() {
	for i := range t.out.Events {
		e := &t.out.Events[i]
		for _, c := range t.out.Causes {
			if e.audit != nil && e.audit == c.audit || e.From == "trace" && c.trace != nil && e.Time.Equal(at(c.trace.Record.Time)) && e.Op == string(c.trace.Op) {
				e.Mark = c.Kind.Title()
			}
		}
		if e.Mark != "" || e.audit == nil || len(t.own) == 0 || t.own[e.Who] {
			continue
		}
		if e.Op == "delete" || e.Op == "rename" || e.audit.Overwrites() {
			e.Mark = "not this job's client"
		}
	}
}
