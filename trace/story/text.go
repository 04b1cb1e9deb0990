package story

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"staunch/trace"
)

// Style colours text for a terminal; nil or the identity elsewhere. code is an ANSI attribute such as "1;31".
type Style func(code, text string) string

// The colours.
const (
	red    = "1;31"
	yellow = "33"
	green  = "32"
	dim    = "2"
	bold   = "1"
)

// text writes for people.
type text struct {
	*bufio.Writer
	s *Story
	c Style
	// roots are left out of paths.
	roots []string
}

// Text writes the story for people.
func (s *Story) Text(out io.Writer, style Style) error {
	if style == nil {
		style = func(_, t string) string { return t }
	}
	t := &text{Writer: bufio.NewWriter(out), s: s, c: style}
	for _, r := range s.Tables {
		t.roots = append(t.roots, bare(r))
	}
	for i := range s.Grids {
		t.grid(&s.Grids[i])
	}
	for i := range s.Found {
		t.found(&s.Found[i])
	}
	t.files()
	t.events()
	for i := 0; i < len(s.Causes); {
		c, rows, n := &s.Causes[i], int64(0), 1
		for ; i+n < len(s.Causes) && c.same(&s.Causes[i+n]); n++ {
			rows += s.Causes[i+n].Rows
		}
		t.cause(c, n-1, rows)
		i += n
	}
	t.audit()
	for _, n := range s.Notes {
		fmt.Fprintln(t, "note:", n)
	}
	if len(s.Events)+len(s.Files)+len(s.Grids)+len(s.Found) == 0 {
		fmt.Fprintln(t, "nothing was recorded about that")
	}
	return t.Flush()
}

func (t *text) grid(g *Grid) {
	fmt.Fprintf(t, "%s, job %s, table %s", t.c(bold, fmt.Sprintf("checkpoint %d", g.Checkpoint)), g.Job, g.Table)
	if g.Certificate > 0 {
		fmt.Fprintf(t, ": certificate %d (%s) of epoch %d", g.Certificate, g.Hash, g.Epoch)
	}
	fmt.Fprintln(t)
	if !g.Completed.IsZero() {
		fmt.Fprintf(t, "  completed %s", stamp(g.Completed))
		if !g.Done.IsZero() {
			fmt.Fprintf(t, ", done %s by epoch %d", stamp(g.Done), g.DoneBy)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, " ", g.Text)
	const columns = 6 // partitions side by side
	for from := 0; from < max(len(g.Partitions), 1) && len(g.Tasks) > 0; from += columns {
		parts := g.Partitions[min(from, len(g.Partitions)):min(from+columns, len(g.Partitions))]
		rows := [][]string{{""}}
		for _, p := range parts {
			if p == "" {
				p = "(table)"
			}
			rows[0] = append(rows[0], p)
		}
		for i, k := range g.Tasks {
			row := []string{fmt.Sprintf("task %d", k)}
			for j := range parts {
				row = append(row, g.Cells[i][from+j].String())
			}
			if len(parts) == 0 {
				row = append(row, Cell{}.String())
			}
			rows = append(rows, row)
		}
		t.columns(rows)
	}
	fmt.Fprintln(t)
}

// columns aligns rows; colours come last, so that they do not count.
func (t *text) columns(rows [][]string) {
	width := map[int]int{}
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	for _, r := range rows {
		line := " "
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			line += " " + t.c(colourOf(c), c) + pad + " "
		}
		fmt.Fprintln(t, strings.TrimRight(line, " "))
	}
}

// colourOf is a cell's or state's colour.
func colourOf(s string) string {
	switch {
	case strings.HasPrefix(s, "LOST"), strings.HasPrefix(s, "GONE"), s == string(Lost), s == string(Gone):
		return red
	case strings.HasPrefix(s, "skipped"), strings.HasPrefix(s, "pending"), strings.HasPrefix(s, "superseded"), strings.HasPrefix(s, string(Repaired)), strings.HasPrefix(s, string(Amended)), s == string(Uncertain):
		return yellow
	case strings.HasPrefix(s, "renamed"), s == string(Visible):
		return green
	case strings.HasPrefix(s, "wrote nothing"):
		return dim
	}
	return ""
}

func (t *text) found(w *Whereabouts) {
	fmt.Fprintf(t, "%s offset %d, table %s: %s\n", w.Split, w.Offset, w.Table, t.c(cmpColour(colourOf(w.State)), w.State))
	fmt.Fprintf(t, "  %s", w.Text)
	if w.Checkpoint > 0 {
		fmt.Fprintf(t, " (checkpoint %d)", w.Checkpoint)
	}
	fmt.Fprintln(t)
	for _, f := range w.Twice {
		fmt.Fprintln(t, t.c(red, "  also in "+f.place()))
	}
	fmt.Fprintln(t)
}

func cmpColour(c string) string {
	if c == "" {
		return bold
	}
	return c
}

// short leaves out the table's folder.
func (t *text) short(p string) string {
	p = bare(p)
	if len(t.roots) == 1 && strings.HasPrefix(p, t.roots[0]+"/") {
		return strings.TrimPrefix(p, t.roots[0]+"/")
	}
	return p
}

// shortened shows the first ranges of a set; --output json has them all.
func shortened(offsets string) string {
	const ranges = 8
	all := strings.Fields(offsets)
	if len(all) <= ranges+2 {
		return offsets
	}
	return strings.Join(all[:ranges], " ") + " ... to " + all[len(all)-1]
}

// maxFiles bounds the files that are listed for people.
const maxFiles = 40

func (t *text) files() {
	if len(t.s.Files) == 0 || t.s.Query.Checkpoint != 0 && !slices.ContainsFunc(t.s.Files, func(f File) bool { return f.told(&t.s.Query) }) {
		return
	}
	for i := range t.s.Files {
		f := &t.s.Files[i]
		if i == maxFiles {
			fmt.Fprintf(t, "and %d more files\n", len(t.s.Files)-i)
			break
		}
		if t.s.Query.Checkpoint != 0 && !f.told(&t.s.Query) {
			continue
		}
		state := string(f.State)
		if f.missing() {
			state = strings.ToUpper(state)
		}
		fmt.Fprintf(t, "%s %s\n", t.c(cmpColour(colourOf(string(f.State))), state), t.short(f.place()))
		if f.Amend != nil {
			what := "taken out of the table on purpose"
			switch {
			case f.Added && f.Amend.Adopted:
				what = "it stood there before the job, and was taken in as it was"
			case f.Added:
				what = "put there on purpose"
			}
			fmt.Fprintf(t, "  %s, %s\n", what, f.Amend)
			for _, p := range f.Amend.Added[:min(len(f.Amend.Added), 3)] {
				if !f.Added {
					fmt.Fprintf(t, "  there is in its place %s\n", t.short(p))
				}
			}
		}
		if f.Added {
			fmt.Fprintf(t, "  %d rows, %d bytes\n", f.Rows, f.Length)
			t.offsets(f)
			continue
		}
		if f.Checkpoint == 0 {
			fmt.Fprintln(t, "  no certificate names it")
			continue
		}
		fmt.Fprintf(t, "  checkpoint %d, task %d, epoch %d, %d rows, %d bytes", f.Checkpoint, f.Task, f.Epoch, f.Rows, f.Length)
		if f.Verdict != "" {
			fmt.Fprintf(t, "; %s by epoch %d, done %s", f.Verdict, f.DoneBy, stamp(f.Done))
		}
		if f.Accepted {
			fmt.Fprint(t, "; the loss was accepted")
		}
		fmt.Fprintf(t, "\n  written as %s\n", t.short(f.Pending))
		t.offsets(f)
		for _, r := range f.Repairs {
			fmt.Fprintf(t, "  written again by %s %s, entry %d of the table's log", r.Who, stamp(r.Time), r.Entry)
			if r.Why != "" {
				fmt.Fprintf(t, " (%s)", r.Why)
			}
			fmt.Fprintln(t)
		}
	}
	fmt.Fprintln(t)
}

func (t *text) offsets(f *File) {
	for _, split := range slices.Sorted(maps.Keys(f.Offsets)) {
		fmt.Fprintf(t, "  %s offsets %s\n", split, shortened(f.Offsets[split]))
	}
}

func (t *text) events() {
	if len(t.s.Events) == 0 {
		return
	}
	if len(t.roots) == 1 {
		fmt.Fprintln(t, t.c(dim, "paths are below "+t.s.Tables[0]))
	}
	day := ""
	for i := range t.s.Events {
		e := &t.s.Events[i]
		if d := e.Time.Format("2006-01-02"); d != day {
			day = d
			fmt.Fprintln(t, t.c(bold, day+" UTC"))
		}
		t.event(e)
	}
	fmt.Fprintln(t)
}

// event writes one line of the time line.
func (t *text) event(e *Event) {
	who := e.Who
	if e.From == "trace" {
		if who == "" {
			who = fmt.Sprintf("epoch %d", e.Epoch)
		}
		if e.Attempt > 0 {
			who += fmt.Sprintf(".%d", e.Attempt)
		}
		if e.Task != nil {
			who += fmt.Sprintf(" task %d", *e.Task)
		}
	}
	what := t.short(e.Path)
	if e.To != "" {
		what += " -> " + t.short(e.To)
	}
	if e.Files > 0 || e.Op == string(trace.Prepare) {
		what = strings.TrimSpace(fmt.Sprintf("%s %d files", what, e.Files))
	}
	if e.Bytes > 0 {
		what += fmt.Sprintf(" (%d bytes)", e.Bytes)
	}
	if e.Note != "" {
		what = strings.TrimSpace(what + "  " + e.Note)
	}
	if e.Checkpoint > 0 && (e.Path == "" || e.Op == string(trace.Append) || e.Op == string(trace.Commit)) {
		what = strings.TrimSpace(fmt.Sprintf("checkpoint %d  %s", e.Checkpoint, what))
	}
	took := ""
	if e.From == "trace" && e.TookMicros > 0 {
		took = (time.Duration(e.TookMicros) * time.Microsecond).String()
	}
	line := fmt.Sprintf("  %s  %-5s  %-16s  %-9s  %-8s  %-9s  %s", e.Time.Format("15:04:05.000"), e.From, who, e.Op, e.Outcome, took, what)
	switch {
	case e.Mark != "":
		line = t.c(red, line+"   <== "+e.Mark)
	case e.Op == string(trace.Fail), e.Op == string(trace.Verdict) && e.Outcome == string(trace.Missing):
		line = t.c(red, line)
	case e.Outcome != "ok":
		line = t.c(yellow, line)
	case e.From == "audit":
		line = t.c(bold, line)
	case e.Op == string(trace.Mkdir), e.Op == string(trace.DeleteDir):
		line = t.c(dim, line)
	}
	fmt.Fprintln(t, line)
	if e.Error != "" {
		first, _, _ := strings.Cut(e.Error, "\n")
		first, _, _ = strings.Cut(first, `\n  `) // of a story that was made printable: a hint
		if len(first) > 300 {
			first = first[:300] + "..."
		}
		fmt.Fprintln(t, t.c(dim, "                "+first))
	}
}

// same reports whether one operation took both files.
func (c *Cause) same(d *Cause) bool {
	return c.Op != "" && c.Kind == d.Kind && c.Op == d.Op && c.Path == d.Path && c.Who == d.Who && c.Time.Equal(d.Time)
}

// cause writes a cause; more files with so many rows were taken by the same operation.
func (t *text) cause(c *Cause, more int, rows int64) {
	fmt.Fprintf(t, "%s %s\n", t.c(bold, "most likely cause:"), t.c(red, c.Kind.Title()))
	fmt.Fprintf(t, "  of %s", t.short(c.File))
	if c.Rows > 0 {
		fmt.Fprintf(t, " (%d rows", c.Rows)
	} else {
		fmt.Fprint(t, " (rows not known")
	}
	for _, split := range slices.Sorted(maps.Keys(c.Offsets)) {
		fmt.Fprintf(t, "; %s offsets %s", split, shortened(c.Offsets[split]))
	}
	fmt.Fprintln(t, ")")
	if more > 0 {
		fmt.Fprintf(t, "  and of %d more files (%d rows)\n", more, rows)
	}
	if c.Op != "" {
		fmt.Fprintf(t, "  %s of %s by %s at %s\n", c.Op, c.Path, c.Who, stamp(c.Time))
	}
	for _, f := range c.For {
		fmt.Fprintln(t, "  -", f)
	}
	if c.ToDo != "" {
		fmt.Fprintln(t, "  to do:", c.ToDo)
	}
	fmt.Fprintln(t)
}

// audit says what the audit logs were.
func (t *text) audit() {
	if t.s.Audit == nil {
		return
	}
	w := tabwriter.NewWriter(t, 0, 0, 2, ' ', 0)
	for _, r := range t.s.Audit.Reports {
		clock := "clock not known"
		if r.Clock.Borrowed {
			clock = fmt.Sprintf("clock %+.3f s, taken from the other log", r.Clock.Offset.Seconds())
		}
		if r.Clock.Matches > 0 {
			clock = fmt.Sprintf("clock %+.3f s against the job's, by %d operations of both (spread %s)", r.Clock.Offset.Seconds(), r.Clock.Matches, r.Clock.Spread)
		}
		fmt.Fprintf(w, "audit log %s\t%d lines, %d of other loggers, %d broken\t%s\n", r.Path, r.Lines, r.Other, r.Broken, clock)
	}
	w.Flush() //nolint:errcheck // the writer below keeps its error for Flush
}

// JSON writes the story as JSON lines: each object has a "kind" (grid, record, file, event, cause, audit, note).
func (s *Story) JSON(out io.Writer) error {
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	put := func(kind string, v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if len(b) > 2 && b[0] == '{' {
			_, err = fmt.Fprintf(w, "{\"kind\":%q,%s\n", kind, b[1:])
			return err
		}
		return enc.Encode(map[string]json.RawMessage{"kind": json.RawMessage(fmt.Sprintf("%q", kind)), "text": b})
	}
	err := all(put, "grid", s.Grids)
	for _, step := range []func() error{
		func() error { return all(put, "record", s.Found) },
		func() error { return all(put, "file", s.Files) },
		func() error { return all(put, "event", s.Events) },
		func() error { return all(put, "cause", s.Causes) },
		func() error {
			if s.Audit == nil {
				return nil
			}
			return all(put, "audit", s.Audit.Reports)
		},
		func() error { return all(put, "note", s.Notes) },
	} {
		if err != nil {
			return err
		}
		err = step()
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

func all[T any](put func(string, any) error, kind string, list []T) error {
	for i := range list {
		if err := put(kind, &list[i]); err != nil {
			return err
		}
	}
	return nil
}
