package audit

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"

	"staunch/account"
)

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "table %s: %s\n", r.Table, r.Verdict)
	for _, j := range r.Jobs {
		j.text(w)
	}
	if r.Fast {
		fmt.Fprintln(w, "  contents were not hashed and lines not counted (--fast)")
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "  note:", n)
	}
	problems(w, r.Problems, r.More)
	return w.Flush()
}

func (j *Job) text(w io.Writer) {
	fmt.Fprintf(w, "\n  job %s: %s\n", j.Job, j.Verdict)
	fmt.Fprintf(w, "  log %s: %s, %s", j.Log, account.Plural(j.Entries, "entry", "entries"), account.Plural(j.Certificates, "certificate", "certificates"))
	if j.Certificates > 0 {
		fmt.Fprintf(w, " (checkpoints %d to %d), the newest %s", j.First, j.Last, account.Short(j.Chain))
	}
	fmt.Fprintln(w)
	if len(j.Splits) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "\tpartition\tinsert\tfrom\tto\trows\tfiltered\trejected\tnull\tgaps\tskipped\tlost\tfiles\t")
		for _, s := range j.Splits {
			to := account.Number(s.To - 1)
			if s.From == s.To {
				to = "-"
			}
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", s.Split, s.Insert, account.Number(s.From), to)
			for _, n := range []int64{s.Rows, s.Filtered, s.Rejected, s.Null, s.Gaps, s.Skipped, s.Lost, s.Files} {
				fmt.Fprintf(t, "\t%s", account.Number(n))
			}
			fmt.Fprintln(t, "\t")
		}
		t.Flush() // errors stay in the writer below
	}
	fmt.Fprintf(w, "  visible: %s, %s rows, %s bytes (renamed %s, skipped %s, lost %s); partitions committed: %s\n", account.Plural(j.Files, "file", "files"), account.Number(j.Rows),
		account.Number(j.Bytes), account.Number(j.Counters.Renamed), account.Number(j.Counters.Skipped), account.Number(j.Counters.Lost), account.Number(j.Partitions))
	j.topics(w)
	if j.Adopted > 0 {
		fmt.Fprintf(w, "  not proven by offsets: %s rows in %s from before the job\n", account.Number(j.AdoptedRows), account.Plural(j.Adopted, "file", "files"))
	}
	if j.Pending > 0 {
		fmt.Fprintf(w, "  on their way from the temporary place: %s\n", account.Plural(j.Pending, "file", "files"))
	}
	if j.Left > 0 {
		fmt.Fprintf(w, "  left in the temporary place although they are visible: %s (no reader sees them; staunch clean removes them)\n", account.Plural(j.Left, "file", "files"))
	}
	if !j.AccountsClose && j.Certificates > 0 {
		fmt.Fprintln(w, "  the accounts of this plan need not close (one record may give several rows): ranges and files were checked")
	}
	for _, l := range j.Losses {
		if l.Accepted == "" {
			continue // a problem
		}
		fmt.Fprintf(w, "  accepted loss: %s, checkpoint %d, %s rows, accepted by %s\n", l.Path, l.Checkpoint, account.Number(l.Rows), l.Accepted)
		if l.Repairing != "" {
			fmt.Fprintf(w, "    %s; its replacement is not in its place: run the repair again\n", l.Repairing)
		}
		offsets(w, "    ", l.Offsets)
	}
	for _, r := range j.Repairs {
		fmt.Fprintf(w, "  repaired: %s, checkpoint %d, %s rows, by %s", r.Path, r.Checkpoint, account.Number(r.Rows), r.Who)
		if r.Why != "" {
			fmt.Fprintf(w, " (%s)", r.Why)
		}
		fmt.Fprintln(w)
		offsets(w, "    ", r.Offsets)
	}
	for _, n := range j.Notes {
		fmt.Fprintln(w, "  note:", n)
	}
	problems(w, j.Problems, j.More)
}

// topics writes the comparison with the broker.
func (j *Job) topics(w io.Writer) {
	if len(j.Topics) == 0 {
		return
	}
	fmt.Fprintln(w, "  against the broker: what stands at the offsets that no file holds")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tpartition\tcompared\trecords\tnull\tmarkers\taborted\tabsent\tgone\tremoved\tbehind\t")
	for _, s := range j.Topics {
		fmt.Fprintf(t, "\t%s", s.Split)
		for _, n := range []int64{s.Compared, s.Records, s.Null, s.Markers, s.Aborted, s.Absent, s.Gone, s.Removed, s.Behind} {
			fmt.Fprintf(t, "\t%s", account.Number(n))
		}
		fmt.Fprintln(t, "\t")
	}
	t.Flush() // errors stay in the writer below
	for _, s := range j.Topics {
		if s.Gone > 0 {
			fmt.Fprintf(w, "  note: %s: %s offsets are older than the first that the topic has, %s: they can no longer be compared\n", s.Split, account.Number(s.Gone), account.Number(s.First))
		}
		if s.Removed > 0 {
			fmt.Fprintf(w, "  note: %s: %s records of the table are not in the topic any more (compaction)\n", s.Split, account.Number(s.Removed))
		}
	}
}

// shown bounds the problems that people are shown; --output json has more.
const shown = 50

func problems(w io.Writer, list []Problem, more int64) {
	for i, p := range list {
		if i == shown {
			more += int64(len(list) - shown)
			break
		}
		fmt.Fprintf(w, "\n  PROBLEM %s: %s\n", p.Kind, p.What)
		if p.Path != "" {
			fmt.Fprintf(w, "    file %s\n", p.Path)
		}
		switch {
		case p.Checkpoint > 0 && p.Entry > 0:
			fmt.Fprintf(w, "    checkpoint %d, entry %d of the log\n", p.Checkpoint, p.Entry)
		case p.Entry > 0:
			fmt.Fprintf(w, "    entry %d of the log\n", p.Entry)
		}
		offsets(w, "    ", p.Offsets)
		if p.ToDo != "" {
			fmt.Fprintf(w, "    -> %s\n", p.ToDo)
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "\n  and %s more\n", account.Number(more))
	}
}

func offsets(w io.Writer, indent string, list []SplitOffsets) {
	for _, o := range list {
		fmt.Fprintf(w, "%s%s offsets %s (%s)\n", indent, o.Split, account.Shorten(o.Offsets), account.Number(o.Count))
	}
}
