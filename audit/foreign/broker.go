package foreign

import (
	"fmt"
	"maps"
	"slices"

	"staunch/account"
	"staunch/audit/foreign/bitmap"
	"staunch/connector"
	"staunch/fault"
)

// ask lets the broker say what stands at the offsets that no row has.
func (a *auditor) ask(keys []splitKey) error {
	byTopic := map[string][]splitKey{}
	for _, k := range keys {
		topic := k.topic
		if topic == "" {
			topic = a.opts.Topic
		}
		byTopic[topic] = append(byTopic[topic], k)
	}
	if len(keys) == 0 && a.opts.Topic != "" {
		byTopic[a.opts.Topic] = nil
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		if err := a.topic(topic, byTopic[topic]); err != nil {
			return err
		}
	}
	return nil
}

// topic judges the partitions of one topic.
func (a *auditor) topic(topic string, keys []splitKey) error {
	ranges, err := a.opts.Broker.Ranges(a.ctx, topic)
	committed := map[int32]int64{}
	if err == nil && a.opts.Group != "" {
		if committed, err = a.opts.Broker.Committed(a.ctx, a.opts.Group, topic); err == nil {
			ranges, err = a.opts.Broker.Ranges(a.ctx, topic) // behind the commits: a topic that grows has what was committed
		}
		if err == nil && len(committed) == 0 {
			a.rep.Notes = append(a.rep.Notes, fmt.Sprintf("group %s has committed nothing for topic %s: it does not say what must be in the table", a.opts.Group, topic))
		}
	}
	if err != nil {
		return a.noAnswer(topic, keys, err)
	}
	byPart := map[int32]splitKey{}
	for _, k := range keys {
		byPart[k.part] = k
	}
	rowTopic := "" // how keys of this topic are written
	if len(keys) > 0 {
		rowTopic = keys[0].topic
	}
	known := map[int32]bool{}
	for _, r := range ranges {
		known[r.Partition] = true
		k, has := byPart[r.Partition]
		if !has {
			k = splitKey{rowTopic, r.Partition}
		}
		at, ok := committed[r.Partition]
		if !ok {
			at = -1
		}
		if err := a.partition(topic, k, r, at); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if !known[k.part] {
			a.rep.problem(Problem{Kind: OffsetBeyond, What: fmt.Sprintf("the table has rows of %s, and the topic has no such partition: they are of another topic, or of one that was made anew", a.name(k)),
				ToDo: "check --topic and --bootstrap-server"})
		}
	}
	for _, p := range slices.Sorted(maps.Keys(committed)) {
		if k := (splitKey{rowTopic, p}); !known[p] && committed[p] > 0 {
			a.rep.problem(Problem{Kind: OffsetBeyond, What: fmt.Sprintf("group %s has committed offset %s of %s, and the topic has no such partition: it was made anew since, or is another one", a.opts.Group,
				account.Number(committed[p]), a.name(k)), ToDo: "check --topic, --group and --bootstrap-server; if they are right, find out what happened to the topic"})
		}
	}
	return nil
}

// noAnswer reports that the broker could not be asked; the gaps are told as they are.
func (a *auditor) noAnswer(topic string, keys []splitKey, err error) error {
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	p := Problem{Kind: BrokerAway, What: fmt.Sprintf("topic %s could not be asked: %v", topic, err), ToDo: "the gaps are not judged; audit again when the broker answers"}
	if fault.ClassOf(err) == fault.Lost {
		p.Kind, p.What, p.ToDo = TopicMissing, fmt.Sprintf("topic %s: %v", topic, err), "check --topic and --bootstrap-server; what the topic held can no longer be known if it was deleted"
	}
	a.rep.problem(p)
	a.gaps(keys)
	return nil
}

// partition judges one partition: what the table should have of it, and what stands at the offsets that it has not.
func (a *auditor) partition(topic string, k splitKey, r connector.PartitionRange, committed int64) error {
	s := a.splits[k]
	absent := s == nil
	if absent {
		s = &split{rep: &Split{Split: a.name(k), First: -1, Last: -1}}
	}
	rep := s.rep
	h := &Held{First: r.First, End: r.End, Committed: committed}
	h.From, h.To = expected(s, r, committed, a.opts)
	if committed > r.End {
		past := &runList{}
		past.add(r.End, committed)
		a.rep.problem(Problem{Kind: OffsetBeyond, What: fmt.Sprintf("group %s has committed offset %s, and the topic ends at %s: it was made anew or cut back since, or is another one: what the writer has read is not known",
			a.opts.Group, account.Number(committed), account.Number(r.End)), Offsets: []SplitOffsets{past.offsets(rep.Split)},
			ToDo: "check --topic, --group and --bootstrap-server; if they are right, find out what happened to the topic"})
	}
	if absent {
		if committed < 0 && r.First > 0 && !a.opts.Complete {
			a.rep.Between = true
			a.rep.Notes = append(a.rep.Notes, fmt.Sprintf("%s: the table has no row of it, and %s in front of the topic's first are gone: what stood there can no longer be known", rep.Split,
				account.Plural(r.First, "offset", "offsets")))
		}
		if r.First >= r.End && h.From >= h.To {
			return nil // there was never a record, or all have left the topic and nobody says that they were read
		}
		a.splits[k] = s
		a.rep.Splits = append(a.rep.Splits, rep)
	}
	rep.Broker = h
	if past := pastEnd(&s.set, r.End); past.count > 0 {
		a.rep.problem(Problem{Kind: OffsetBeyond, What: "rows have offsets that the topic has not come to: they are of another topic, or of one that was made anew or cut back",
			Offsets: []SplitOffsets{past.offsets(rep.Split)}, ToDo: "check --topic and --bootstrap-server; if they are right, find out what happened to the topic"})
	}
	records, gone, open := &runList{}, &runList{}, &runList{}
	missing, said := int64(0), int64(0)
	s.set.Gaps(h.From, h.To, func(from, to int64) bool {
		missing += to - from
		return true
	})
	err := a.look(topic, k, &s.set, h, func(from, to int64, what connector.Content) {
		n := to - from
		said += n
		switch what {
		case connector.Record:
			h.Records += n
			records.add(from, to)
		case connector.Null:
			h.Nulls += n
		case connector.Marker:
			h.Markers += n
		case connector.Aborted:
			h.Aborted += n
		case connector.Absent:
			h.Absent += n
		case connector.Gone:
			h.Gone += n
			gone.add(from, to)
		case connector.Open:
			h.Open += n
			open.add(from, to)
		default:
			h.Beyond += n
			open.add(from, to)
		}
	})
	if err == nil && said != missing {
		err = fmt.Errorf("the broker said something of %s of %s offsets", account.Number(said), account.Number(missing))
	}
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		a.rep.problem(Problem{Kind: BrokerAway, What: fmt.Sprintf("%s was not judged to the end: %v", rep.Split, err), ToDo: "audit again when the broker answers"})
		return nil
	}
	a.held(k, rep, h, absent, records, gone, open)
	return nil
}

// expected gives the offsets from <= o < to that should be in the table.
func expected(s *split, r connector.PartitionRange, committed int64, o Options) (from, to int64) {
	from, to = r.First, r.End
	if s.rep.First >= 0 {
		to = s.rep.Last + 1
		if !o.Complete {
			from = s.rep.From
		}
		from = min(from, s.rep.From)
	} else if committed > 0 { // what the group has read is expected, also what the topic has no more
		from = min(max(o.From, 0), r.First)
	}
	switch {
	case o.Complete:
		to = max(to, r.Decided)
	case committed >= 0 && s.rep.First < 0:
		to = min(committed, r.End)
	case committed >= 0:
		to = max(to, min(committed, r.End))
	}
	return from, max(from, to)
}

// pastEnd gives the offsets from end on.
func pastEnd(s *bitmap.Set, end int64) *runList {
	out := &runList{}
	if s.Last() >= end {
		s.Runs(func(from, to int64) bool {
			if to > end {
				out.add(max(from, end), to)
			}
			return true
		})
	}
	return out
}

// look asks the broker about each gap.
func (a *auditor) look(topic string, k splitKey, set *bitmap.Set, h *Held, visit func(from, to int64, what connector.Content)) (err error) {
	set.Gaps(h.From, h.To, func(from, to int64) bool {
		err = a.opts.Broker.Look(a.ctx, topic, k.part, from, to, visit)
		return err == nil
	})
	return err
}

// held reports what the broker said.
func (a *auditor) held(k splitKey, s *Split, h *Held, absent bool, records, gone, open *runList) {
	switch {
	case absent && h.Records > 0:
		a.rep.problem(Problem{Kind: PartitionAbsent, What: "the topic has records of this partition, and the table has no row of it", Offsets: []SplitOffsets{records.offsets(s.Split)},
			ToDo: "unless the query's WHERE leaves all of them out, or it was never read, they are lost"})
	case h.Records > 0:
		a.rep.problem(Problem{Kind: RecordMissing, What: "the topic has these records, and the table has no row of them", Offsets: []SplitOffsets{records.offsets(s.Split)}, Neighbours: a.neighbours(k, records),
			ToDo: "unless the query's WHERE leaves them out, they are lost; as long as the topic has them they can be written again"})
	}
	if h.Gone > 0 {
		a.rep.problem(Problem{Kind: RecordGone, What: fmt.Sprintf("no row has these offsets, and the topic begins at %s: what stood there can no longer be known", account.Number(h.First)),
			Offsets: []SplitOffsets{gone.offsets(s.Split)}, Neighbours: a.neighbours(k, gone), ToDo: "look for another copy of the topic; they may be lost, or never have been records"})
	}
	if open.count > 0 && !absent {
		a.rep.problem(Problem{Kind: Gap, What: "no row has these offsets, and the topic has not decided them yet (an open transaction, or no replica has them)", Offsets: []SplitOffsets{open.offsets(s.Split)},
			ToDo: "audit again when the transaction has ended"})
	}
	if behind := h.End - h.To; behind > 0 && !absent {
		why := "not written yet, or lost: --group or --complete tells"
		switch {
		case a.opts.Complete:
			why = "not decided yet, an open transaction"
		case h.Committed >= 0:
			why = "the group has not committed them"
		default:
			a.rep.Between = true
		}
		a.rep.Notes = append(a.rep.Notes, fmt.Sprintf("%s: the topic has %s behind the table's last: %s", s.Split, account.Plural(behind, "offset", "offsets"), why))
	}
	if first := min(h.From, h.First); first > 0 && !absent && a.opts.From < 0 && !a.opts.Complete {
		a.rep.Between = true
		a.rep.Notes = append(a.rep.Notes, fmt.Sprintf("%s: the topic has no offsets in front of %s any more: whether rows of them are missing can no longer be known, unless --from says where all begin",
			s.Split, account.Number(first)))
	}
	if before := h.From - h.First; before > 0 {
		a.rep.Between = true
		a.rep.Notes = append(a.rep.Notes, fmt.Sprintf("%s: the topic has %s in front of the table's first: left out by where reading began, or lost: --from or --complete tells", s.Split,
			account.Plural(before, "offset", "offsets")))
	}
}
