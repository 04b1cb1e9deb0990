package repair

import (
	"slices"
	"strings"

	"staunch/account"
	"staunch/connector"
)

const takeIt = "the loss stays: note it with --accept-lost, and account for the offsets"

// may reports whether a file can be made again exactly, and says in the report why not.
func (r *repairer) may(f *lostFile) bool {
	c := f.Certificate
	switch {
	case len(c.FromDirectories) > 0:
		return f.refuse(takeIt, "its checkpoint was written by a version that recorded no offsets: nothing says which records the file held")
	case len(f.Offsets) == 0:
		return f.refuse(takeIt, "it has no offsets: the source has no positions, and nothing says which records the file held")
	case c.Plan != r.job.Plan || words(c.SQL) != words(r.job.SQL):
		return r.otherPlan(f)
	case !r.find(f):
		return f.refuse("repair with the statement file that wrote it", "the statement file has no INSERT number %s into this table", f.Insert)
	case f.branch.Volatile != "":
		return f.refuse(takeIt, "%s does not follow from the records alone: a second time it gives other values", f.branch.Volatile)
	}
	if n := count(f.Offsets); !c.AccountsClose || n != f.Rows {
		return f.refuse(takeIt, "in this plan a record may give other than one row (%d rows, %d offsets), so the file does not follow from its offsets", f.Rows, n)
	}
	if _, ok := f.branch.Sink.(connector.Replacer); !ok {
		return f.refuse(takeIt, "the table's connector writes no single file again")
	}
	if _, ok := f.source.Source.(connector.Rereader); !ok {
		return f.refuse(takeIt, "%s cannot be read again at given offsets", f.source.Describe)
	}
	return f.findOrigins()
}

// otherPlan refuses a file that another plan wrote, and shows both.
func (r *repairer) otherPlan(f *lostFile) bool {
	c := f.Certificate
	const hint = "repair with the statement file as it was then (and its table.local-time-zone); then go on with today's"
	if words(c.SQL) == words(r.job.SQL) {
		return f.refuse(hint, "the statement is the same, but its plan is not (then %s, today %s): columns, types, formats, options of the tables or the time zone "+
			"were changed, or another version of Staunch wrote it, so the rows or the file might differ\nthe statement:\n%s", account.Short(c.Plan), account.Short(r.job.Plan), indent(c.SQL))
	}
	return f.refuse(hint, "the file was written by another statement (plan %s) than today's (plan %s)\nthen:\n%s\ntoday:\n%s", account.Short(c.Plan),
		account.Short(r.job.Plan), indent(c.SQL), indent(r.job.SQL))
}

// words leaves out how a statement is laid out.
func words(sql string) string { return strings.Join(strings.Fields(sql), " ") }

func indent(sql string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(sql), "\n", "\n  ")
}

func count(list []account.Offsets) (n int64) {
	for _, o := range list {
		n += o.Set.Count()
	}
	return n
}

// find finds the INSERT that wrote the file, and what it reads.
func (r *repairer) find(f *lostFile) bool {
	for i := range r.job.Graph.Sources {
		s := &r.job.Graph.Sources[i]
		for k := range s.Branches {
			if b := &s.Branches[k]; b.Table == r.key && b.Insert == f.Insert {
				f.source, f.branch = s, b
				return true
			}
		}
	}
	return false
}

// findOrigins finds what the file's offsets number, in the accounts of its certificate.
func (f *lostFile) findOrigins() bool {
	f.origins = map[string]string{}
	for _, o := range f.Offsets {
		if len(o.Set.Runs) == 0 {
			continue
		}
		first, end := o.Set.Runs[0].From, o.Set.Runs[len(o.Set.Runs)-1].To
		i := slices.IndexFunc(f.Certificate.Ranges, func(r account.Range) bool {
			return r.Split == o.Split && r.Insert == f.Insert && r.From <= first && end <= r.To
		})
		switch {
		case i < 0:
			return f.refuse(takeIt, "the certificate's accounts of %s do not cover the file's offsets %d to %d (staunch audit tells more)", o.Split, first, end-1)
		case f.Certificate.Ranges[i].Origin == "":
			return f.refuse(takeIt, "the certificate does not say which topic the offsets of %s number: the cluster gave topics no ids (Kafka before 2.8), or the version that wrote it did not record them; "+
				"the topic may be another one by now", o.Split)
		}
		f.origins[o.Split] = f.Certificate.Ranges[i].Origin
	}
	return true
}
