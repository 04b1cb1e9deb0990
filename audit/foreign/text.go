package foreign

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"staunch/account"
)

// shown bounds the problems that people are shown of a report; --output json has more.
const shown = 50

// shownFiles bounds the files that one problem shows.
const shownFiles = 10

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "table %s: %s", r.Table, r.Verdict)
	if r.Verdict == Clean && r.Between {
		fmt.Fprint(w, " between the first and the last offset of each partition")
	}
	if r.Names {
		fmt.Fprint(w, ", by names only: no file was opened")
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "  offsets by %s: %s, %s bytes", r.By, plural(r.Files, "file", "files"), number(r.Bytes))
	if r.Rows > 0 {
		fmt.Fprintf(w, ", %s rows", number(r.Rows))
	}
	fmt.Fprintf(w, "; empty %s, hidden %s\n", number(r.Empty), number(r.Hidden))
	r.splits(w)
	for _, n := range r.Notes {
		fmt.Fprintln(w, "  note:", n)
	}
	more := r.More
	for i, p := range r.Problems {
		if i == shown {
			more += int64(len(r.Problems) - shown)
			break
		}
		p.text(w)
	}
	if more > 0 {
		fmt.Fprintf(w, "\n  and %s more\n", number(more))
	}
	return w.Flush()
}

// splits writes the tables of partitions.
func (r *Report) splits(w io.Writer) {
	if len(r.Splits) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tpartition\tfirst\tlast\trows\tmissing\tin gaps\tdoubled\tfiles\t")
	asked := false
	for i, s := range r.Splits {
		asked = asked || s.Broker != nil
		if i >= shown {
			continue
		}
		fmt.Fprintf(t, "\t%s\t%s\t%s", s.Split, end(s.First), end(s.Last))
		for _, n := range []int64{s.Rows, s.Missing, s.Gaps, s.Doubled, s.Files} {
			fmt.Fprintf(t, "\t%s", number(n))
		}
		fmt.Fprintln(t, "\t")
	}
	t.Flush() // errors stay in the writer below
	if n := len(r.Splits) - shown; n > 0 {
		fmt.Fprintf(w, "  and %d more partitions\n", n)
	}
	if !asked {
		return
	}
	fmt.Fprintln(w, "  of the offsets that are not in the table, the topic has:")
	fmt.Fprintln(t, "\tpartition\ttopic from\tto\tgroup at\trecords\tnull\tmarkers\taborted\tcompacted\tgone\topen\t")
	for i, s := range r.Splits {
		if s.Broker == nil || i >= shown {
			continue
		}
		b := s.Broker
		fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", s.Split, number(b.First), end(b.End-1), end(b.Committed))
		for _, n := range []int64{b.Records, b.Nulls, b.Markers, b.Aborted, b.Absent, b.Gone, b.Open + b.Beyond} {
			fmt.Fprintf(t, "\t%s", number(n))
		}
		fmt.Fprintln(t, "\t")
	}
	t.Flush() // as above
}

func (p *Problem) text(w io.Writer) {
	fmt.Fprintf(w, "\n  PROBLEM %s: %s\n", p.Kind, p.What)
	if p.Path != "" {
		fmt.Fprintf(w, "    %s\n", p.Path)
	}
	for i, f := range p.Files {
		if i == shownFiles {
			fmt.Fprintf(w, "    and %s\n", plural(int64(len(p.Files)-shownFiles), "more file", "more files"))
			break
		}
		fmt.Fprintf(w, "    file %s\n", f)
	}
	for _, o := range p.Offsets {
		text := account.Shorten(o.Offsets)
		if o.More > 0 {
			head, _, _ := strings.Cut(text, " and ")
			text = fmt.Sprintf("%s and %s more ranges", head, number(int64(strings.Count(o.Offsets, " ")-strings.Count(head, " "))+o.More))
		}
		fmt.Fprintf(w, "    %s offsets %s (%s)\n", o.Split, text, number(o.Count))
	}
	for i, n := range p.Neighbours {
		if i == shownFiles {
			break
		}
		fmt.Fprintf(w, "    offset %s is in %s, of %s\n", number(n.Offset), n.Path, n.Time.Format("2006-01-02 15:04:05.000"))
	}
	if p.ToDo != "" {
		fmt.Fprintf(w, "    -> %s\n", p.ToDo)
	}
}

func end(n int64) string {
	if n < 0 {
		return "-"
	}
	return number(n)
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// number writes n with commas.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}
