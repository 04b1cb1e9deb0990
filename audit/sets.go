package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"staunch/account"
)

// key is what an account is kept for.
type key struct{ split, insert string }

func (k key) String() string {
	if k.insert == "" {
		return k.split
	}
	return k.split + " (INSERT " + k.insert + ")"
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.insert, b.insert), cmp.Compare(a.split, b.split))
}

// ranges checks that the accounts of a certificate join those before it and adds them up.
func (j *judge) ranges(c *certificate) {
	if len(c.FromDirectories) > 0 {
		j.positions(c)
		return
	}
	ranges := slices.Clone(c.Ranges)
	slices.SortStableFunc(ranges, func(a, b account.Range) int {
		return cmp.Or(compareKeys(key{a.Split, a.Insert}, key{b.Split, b.Insert}), cmp.Compare(a.From, b.From))
	})
	for _, r := range ranges {
		k := key{r.Split, r.Insert}
		if least := min(r.From, r.Filtered, r.Rejected, r.Null, r.Gaps, r.Skipped); least < 0 || r.To < r.From || r.Rows() < 0 {
			j.found(c, Problem{Kind: RangeDamaged, What: fmt.Sprintf("the account of %s cannot be: offsets from %d to %d with %d filtered, %d rejected, %d null, %d gaps, %d skipped",
				k, r.From, r.To, r.Filtered, r.Rejected, r.Null, r.Gaps, r.Skipped)})
			continue
		}
		s, ok := j.splits[k]
		if !ok {
			s = &Split{Split: r.Split, Insert: r.Insert, From: r.From, To: r.From}
			j.splits[k], j.next[k] = s, r.From
		}
		next, again := j.next[k], j.again[k]
		switch {
		case r.From == r.To: // says nothing
		case again == anywhere || again == before && r.From <= next:
			delete(j.again, k)
			next = r.To
		case r.From > next:
			j.found(c, Problem{Kind: RangeGap, What: fmt.Sprintf("%s: the account begins at offset %d, but the one before it ended at %d: nothing says what became of the offsets between",
				k, r.From, next), Offsets: span(r.Split, next, r.From), ToDo: j.gapAdvice(c)})
		case r.From < next:
			j.found(c, Problem{Kind: RangeOverlap, What: fmt.Sprintf("%s: the account begins at offset %d, but offsets up to %d were accounted for before: their rows may be there twice",
				k, r.From, next-1), Offsets: span(r.Split, r.From, min(next, max(r.To, r.From))), ToDo: "look for the rows of these offsets in the table; the files of both checkpoints are named in their certificates"})
		}
		j.next[k] = max(next, r.To)
		s.From, s.To = min(s.From, r.From), max(s.To, r.To)
		s.Filtered += r.Filtered
		s.Rejected += r.Rejected
		s.Null += r.Null
		s.Gaps += r.Gaps
		s.Skipped += r.Skipped
	}
}

// positions takes in a certificate whose files came from folders without file names: it proves that they are there, and says from which offsets
// on accounts begin again. What lies between is not proven.
func (j *judge) positions(c *certificate) {
	j.older = true
	for _, r := range c.Ranges {
		for k, s := range j.splits {
			if k.split != r.Split || r.To <= j.next[k] {
				continue
			}
			s.Unproven += r.To - j.next[k]
			s.To = max(s.To, r.To)
			j.next[k] = r.To
		}
	}
	j.rep.note(fmt.Sprintf("checkpoint %d was written by a version that recorded no files: the %d files that stood in its folders are certified without hashes and offsets",
		c.Checkpoint, len(c.Files)))
	if n := len(c.MissingDirectories); n > 0 {
		j.rep.note(fmt.Sprintf("%d of the %d folders of checkpoint %d were not there: that version had committed them, or their files are lost: %s", n, len(c.FromDirectories),
			c.Checkpoint, strings.Join(c.MissingDirectories, ", ")))
	}
}

func (j *judge) gapAdvice(c *certificate) string {
	switch {
	case j.torn:
		return "the entries that are damaged or missing before this one may have accounted for them: bring them back from a copy"
	case j.plan != "" && c.Plan != j.plan:
		return "the statement file was changed before this checkpoint: if the INSERT was taken out of it for a while, these records were left out by that"
	}
	return "keep the topic's records of these offsets, and report this: it is not supposed to happen"
}

// piece is one run of one file.
type piece struct {
	account.Run
	file int
}

// sets checks that the offset sets of a certificate's files are disjoint, lie in its ranges and are as large as the accounts say.
func (j *judge) sets(c *certificate) {
	pieces := map[key][]piece{}
	room := map[key]int{}
	for _, f := range c.Files {
		for _, o := range f.Offsets {
			room[key{o.Split, f.Insert}] += len(o.Set.Runs)
		}
	}
	counts := map[key]int64{}
	for i := range c.Files {
		f := &c.Files[i]
		sum := int64(0)
		for _, o := range f.Offsets {
			k := key{o.Split, f.Insert}
			if pieces[k] == nil {
				pieces[k] = make([]piece, 0, room[k])
			}
			for _, r := range o.Set.Runs {
				pieces[k] = append(pieces[k], piece{r, i})
			}
			counts[k] += o.Set.Count()
			sum += o.Set.Count()
			if s := j.splits[k]; s != nil && o.Set.Count() > 0 {
				s.Files++
				s.Rows += o.Set.Count()
			}
		}
		if c.AccountsClose && len(f.Offsets) > 0 && sum != f.Rows {
			j.found(c, Problem{Kind: AccountOpen, What: fmt.Sprintf("the certificate says that the file has %d rows, and names %d offsets for them", f.Rows, sum),
				Path: f.Final, Offsets: offsetsOf(f.Offsets)})
		}
	}
	ranges := map[key][]account.Run{}
	want := map[key]int64{}
	for _, r := range c.Ranges {
		k := key{r.Split, r.Insert}
		if r.From < r.To {
			ranges[k] = append(ranges[k], account.Run{From: r.From, To: r.To})
		}
		want[k] += r.Rows()
	}
	for _, k := range slices.SortedFunc(maps.Keys(pieces), compareKeys) {
		j.disjoint(c, k, pieces[k])
		j.inside(c, k, pieces[k], ranges[k])
		if _, ok := want[k]; !ok {
			want[k] = 0
		}
	}
	if !c.AccountsClose {
		return
	}
	for _, k := range slices.SortedFunc(maps.Keys(want), compareKeys) {
		if want[k] != counts[k] {
			j.found(c, Problem{Kind: AccountOpen, What: fmt.Sprintf("%s: the account leaves %d rows for the files, and the files hold %d", k, want[k], counts[k]),
				ToDo: "compare the table with the topic over this checkpoint's offsets"})
		}
	}
}

// disjoint finds offsets that two files hold. It sorts the pieces. With plans that make several rows of a record that is no fault.
func (j *judge) disjoint(c *certificate, k key, list []piece) {
	slices.SortFunc(list, func(a, b piece) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	if !c.AccountsClose {
		return
	}
	reached := 0 // the piece that reaches farthest so far
	reported := map[[2]int]bool{}
	for i := 1; i < len(list); i++ {
		if list[i].From < list[reached].To {
			pair := [2]int{list[reached].file, list[i].file}
			if !reported[pair] {
				reported[pair] = true
				j.found(c, Problem{Kind: OffsetsTwice, What: fmt.Sprintf("two files hold the same offsets of %s; the other one is %s", k, c.Files[pair[0]].Final),
					Path: c.Files[pair[1]].Final, Offsets: span(k.split, list[i].From, min(list[i].To, list[reached].To))})
			}
		}
		if list[i].To > list[reached].To {
			reached = i
		}
	}
}

// inside finds offsets in files that the checkpoint did not consume. list is sorted.
func (j *judge) inside(c *certificate, k key, list []piece, ranges []account.Run) {
	slices.SortFunc(ranges, func(a, b account.Run) int { return cmp.Compare(a.From, b.From) })
	reported := map[int]bool{}
	for _, p := range list {
		at := p.From
		for _, r := range ranges {
			if r.From <= at && at < r.To {
				at = r.To
			}
		}
		if at < p.To && !reported[p.file] {
			reported[p.file] = true
			j.found(c, Problem{Kind: OffsetsOutside, What: fmt.Sprintf("the file holds offsets of %s that its checkpoint did not consume", k),
				Path: c.Files[p.file].Final, Offsets: span(k.split, at, p.To)})
		}
	}
}
