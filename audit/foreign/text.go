package foreign

import (
	"bufio"
	"fmt"
	"io"
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
	fmt.Fprintf(w, "  offsets by %s: %s, %s bytes", r.By, account.Plural(r.Files, "file", "files"), account.Number(r.Bytes))
	if r.Rows > 0 {
		fmt.Fprintf(w, ", %s rows", account.Number(r.Rows))
	}
	fmt.Fprintf(w, "; empty %s, hidden %s\n", account.Number(r.Empty), account.Number(r.Hidden))
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
		fmt.Fprintf(w, "\n  and %s more\n", account.Number(more))
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
			fmt.Fprintf(t, "\t%s", account.Number(n))
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
		fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", s.Split, account.Number(b.First), end(b.End-1), end(b.Committed))
		for _, n := range []int64{b.Records, b.Nulls, b.Markers, b.Aborted, b.Absent, b.Gone, b.Open + b.Beyond} {
			fmt.Fprintf(t, "\t%s", account.Number(n))
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
			fmt.Fprintf(w, "    and %s\n", account.Plural(int64(len(p.Files)-shownFiles), "more file", "more files"))
			break
		}
		fmt.Fprintf(w, "    file %s\n", f)
	}
	for _, o := range p.Offsets {
		text := account.Shorten(o.Offsets)
		if o.More > 0 {
			head, _, _ := strings.Cut(text, " and ")
			text = fmt.Sprintf("%s and %s more ranges", head, account.Number(int64(strings.Count(o.Offsets, " ")-strings.Count(head, " "))+o.More))
		}
		fmt.Fprintf(w, "    %s offsets %s (%s)\n", o.Split, text, account.Number(o.Count))
	}
	for i, n := range p.Neighbours {
		if i == shownFiles {
			break
		}
		fmt.Fprintf(w, "    offset %s is in %s, of %s\n", account.Number(n.Offset), n.Path, n.Time.Format("2006-01-02 15:04:05.000"))
	}
	if p.ToDo != "" {
		fmt.Fprintf(w, "    -> %s\n", p.ToDo)
	}
}

func end(n int64) string {
	if n < 0 {
		return "-"
	}
	return account.Number(n)
}
