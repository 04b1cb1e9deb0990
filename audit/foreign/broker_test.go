package foreign

import (
	"context"
	"strings"
	"testing"

	"staunch/connector"
	"staunch/fault"
)

// topicText is a topic of which each partition is a text, one letter an offset: r record, n null, m marker, a aborted, c compacted away; before it first offsets
// are gone, and behind it open ones are not decided.
type topicText struct {
	parts     map[int32]string
	first     int64
	open      int64
	committed map[int32]int64
	// fails is the error of all calls from the n-th Look on; -1: of all.
	fails error
	at    int
	looks int
}

func (p *topicText) Ranges(_ context.Context, topic string) (out []connector.PartitionRange, err error) {
	if p.fails != nil && p.at < 0 {
		return nil, p.fails
	}
	for i := int32(0); i < 10; i++ {
		if text, ok := p.parts[i]; ok {
			end := p.first + int64(len(text))
			out = append(out, connector.PartitionRange{Partition: i, First: p.first, Decided: end, End: end + p.open})
		}
	}
	return out, nil
}

func (p *topicText) Look(_ context.Context, topic string, part int32, from, to int64, visit func(from, to int64, what connector.Content)) error {
	p.looks++
	if p.fails != nil && p.looks > p.at {
		return p.fails
	}
	text := p.parts[part]
	what := map[byte]connector.Content{'r': connector.Record, 'n': connector.Null, 'm': connector.Marker, 'a': connector.Aborted, 'c': connector.Absent}
	for o := from; o < to; o++ {
		at := o - p.first
		switch {
		case at < 0:
			visit(o, o+1, connector.Gone)
		case at < int64(len(text)):
			visit(o, o+1, what[text[at]])
		case at < int64(len(text))+p.open:
			visit(o, o+1, connector.Open)
		default:
			visit(o, to, connector.Beyond)
			return nil
		}
	}
	return nil
}

func (p *topicText) Committed(_ context.Context, group, topic string) (map[int32]int64, error) {
	return p.committed, nil
}

func (p *topicText) Close() {}

// TestAgainstBroker: what the topic has at the offsets that are not in the table decides what a gap is.
func TestAgainstBroker(t *testing.T) {
	x := newTable(t)
	x.json("a", and(run(0, 2, 5), run(0, 8, 10), run(1, 0, 4)))
	all := strings.Repeat("r", 10)
	part1 := "rrrr"
	for name, c := range map[string]struct {
		topic topicText
		opts  Options
		want  []string
	}{
		"gaps that never were records": {topicText{parts: map[int32]string{0: "rrrrrmacrr", 1: part1}}, Options{}, nil},
		"a tombstone":                  {topicText{parts: map[int32]string{0: "rrrrrmncrr", 1: part1}}, Options{}, nil},
		"records":                      {topicText{parts: map[int32]string{0: all, 1: part1}}, Options{}, []string{"record-missing events-0:5..7"}},
		"one record":                   {topicText{parts: map[int32]string{0: "rrrrrmrmrr", 1: part1}}, Options{}, []string{"record-missing events-0:6"}},
		"it begins behind":             {topicText{parts: map[int32]string{0: "mrr", 1: ""}, first: 7}, Options{}, []string{"record-gone events-0:5..6"}},
		"everything":                   {topicText{parts: map[int32]string{0: "mrrrrmmmrrmr", 1: part1}}, Options{Complete: true}, []string{"record-missing events-0:1 11"}},
		"an open transaction":          {topicText{parts: map[int32]string{0: "rrrrrm", 1: part1}, open: 6}, Options{}, []string{"gap events-0:6..7"}},
		"an open tail":                 {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1}, open: 6}, Options{Complete: true}, []string{"record-missing events-0:0..1"}},
		"the group is behind":          {topicText{parts: map[int32]string{0: "rrrrrmmmrrrr", 1: part1}, committed: map[int32]int64{0: 9, 1: 2}}, Options{Group: "g"}, nil},
		"the group is ahead":           {topicText{parts: map[int32]string{0: "rrrrrmmmrrrr", 1: "rrrrrrr"}, committed: map[int32]int64{0: 11, 1: 4}}, Options{Group: "g"}, []string{"record-missing events-0:10"}},
		"a partition without rows":     {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1, 2: "rrmrr"}}, Options{}, []string{"partition-absent events-2:0..1 3..4"}},
		"one of which nothing is read": {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1, 2: "rrmrr"}, committed: map[int32]int64{2: 0}}, Options{Group: "g"}, nil},
		"one that is half read":        {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1, 2: "rrmrr"}, committed: map[int32]int64{2: 4}}, Options{Group: "g"}, []string{"partition-absent events-2:0..1 3"}},
		"one of markers":               {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1, 2: "mm"}}, Options{}, nil},
		"an empty one":                 {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1, 2: ""}}, Options{}, nil},
		"rows beyond the end":          {topicText{parts: map[int32]string{0: "rrrrrmmmr", 1: "r"}}, Options{}, []string{"offset-beyond events-0:9", "offset-beyond events-1:1..3"}},
		"no such partition":            {topicText{parts: map[int32]string{0: "rrrrrmmmrr"}}, Options{}, []string{"offset-beyond"}},
		"the group is past the end":    {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1}, committed: map[int32]int64{0: 10, 1: 6}}, Options{Group: "g"}, []string{"offset-beyond events-1:4..5"}},
		"past the end of an empty one": {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1, 2: ""}, committed: map[int32]int64{0: 10, 1: 4, 2: 6}}, Options{Group: "g"}, []string{"offset-beyond events-2:0..5"}},
		"a partition of the group's":   {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1}, committed: map[int32]int64{0: 10, 1: 4, 2: 6, 3: 0}}, Options{Group: "g"}, []string{"offset-beyond"}},
		"away":                         {topicText{fails: fault.New(fault.Outage, "away"), at: -1}, Options{}, []string{"broker-away", "gap events-0:5..7"}},
		"away later":                   {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1}, fails: fault.New(fault.Outage, "away")}, Options{}, []string{"broker-away"}},
		"no such topic":                {topicText{fails: fault.Lostf("no topic"), at: -1}, Options{}, []string{"topic-missing", "gap events-0:5..7"}},
		"all must begin at 1":          {topicText{parts: map[int32]string{0: "rrrrrmmmrr", 1: part1}}, Options{From: 1}, []string{"offset-before events-1:0", "record-missing events-0:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.opts
			o.Broker, o.Topic = &c.topic, "events"
			r := x.audit(o)
			x.want(r, c.want...)
			if h := r.Splits[0].Broker; h != nil && name == "gaps that never were records" && *h != (Held{End: 10, Committed: -1, From: 2, To: 10, Markers: 1, Aborted: 1, Absent: 1}) {
				t.Errorf("%+v", h)
			}
			if between := name == "an empty one" || name == "gaps that never were records"; between && !r.Between {
				t.Errorf("what is in front of 2 is not known: %+v", r)
			}
			if r.Between && o.Complete {
				t.Errorf("all is known: %+v", r)
			}
			if note := strings.Join(r.Notes, "\n"); name == "the group is behind" && !strings.Contains(note, "events-0: the topic has 2 offsets behind") {
				t.Error(note)
			}
		})
	}
}

// TestGoneAgainstBroker: what has left the topic is not clean if the group has read it, and not known if nobody says that it was read.
func TestGoneAgainstBroker(t *testing.T) {
	x := newTable(t)
	x.json("a", run(0, 7, 10))
	for name, c := range map[string]struct {
		topic   topicText
		opts    Options
		want    []string
		between bool
		note    string
	}{
		"read, and all is gone":  {topicText{parts: map[int32]string{0: "rrr", 1: ""}, first: 7, committed: map[int32]int64{0: 10, 1: 7}}, Options{Group: "g"}, []string{"record-gone events-1:0..6"}, true, ""},
		"read, and some is gone": {topicText{parts: map[int32]string{0: "rrr", 1: "mr"}, first: 7, committed: map[int32]int64{0: 10, 1: 9}}, Options{Group: "g"}, []string{"partition-absent events-1:8", "record-gone events-1:0..6"}, true, ""},
		"from where all begin":   {topicText{parts: map[int32]string{0: "rrr", 1: ""}, first: 7, committed: map[int32]int64{0: 10, 1: 7}}, Options{Group: "g", From: 7}, nil, false, ""},
		"from in the middle":     {topicText{parts: map[int32]string{0: "rrr", 1: ""}, first: 7, committed: map[int32]int64{0: 10, 1: 7}}, Options{Group: "g", From: 5}, []string{"record-gone events-0:5..6", "record-gone events-1:5..6"}, false, ""},
		"nothing committed":      {topicText{parts: map[int32]string{0: "rrr", 1: ""}, first: 7, committed: map[int32]int64{0: 10}}, Options{Group: "g", From: 7}, nil, true, "events-1: the table has no row of it, and 7 offsets"},
		"no group":               {topicText{parts: map[int32]string{0: "rrr", 1: ""}, first: 7}, Options{From: 7}, nil, true, "events-1: the table has no row of it, and 7 offsets"},
		"in front of the first":  {topicText{parts: map[int32]string{0: "rrr"}, first: 7, committed: map[int32]int64{0: 10}}, Options{Group: "g"}, nil, true, "events-0: the topic has no offsets in front of 7 any more"},
		"all that there is":      {topicText{parts: map[int32]string{0: "rrr", 1: ""}, first: 7}, Options{Complete: true}, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.opts
			o.Broker, o.Topic = &c.topic, "events"
			r := x.audit(o)
			x.want(r, c.want...)
			if r.Between != c.between || !strings.Contains(strings.Join(r.Notes, "\n"), c.note) {
				t.Errorf("between %v, notes %q", r.Between, r.Notes)
			}
		})
	}
}

// TestSilentBroker: an offset that the broker says nothing of is not judged.
func TestSilentBroker(t *testing.T) {
	x := newTable(t)
	x.json("a", and(run(0, 0, 5), run(0, 8, 10)))
	x.want(x.audit(Options{Topic: "events", Broker: silent{&topicText{parts: map[int32]string{0: "rrrrrmmmrr"}}}}), "broker-away")
}

type silent struct{ *topicText }

func (s silent) Look(ctx context.Context, topic string, part int32, from, to int64, visit func(from, to int64, what connector.Content)) error {
	return s.topicText.Look(ctx, topic, part, from, to-1, visit)
}

// TestGrowingTopic: commits of a group that goes on while it is asked for are not beyond the topic's end.
func TestGrowingTopic(t *testing.T) {
	x := newTable(t)
	x.json("a", run(0, 0, 10))
	b := &growing{topicText{parts: map[int32]string{0: "rrrrrrrrrr"}}}
	x.want(x.audit(Options{Topic: "events", Broker: b, Group: "g"}), "record-missing events-0:10..11")
}

type growing struct{ topicText }

func (g *growing) Committed(context.Context, string, string) (map[int32]int64, error) {
	g.parts[0] += "rr"
	return map[int32]int64{0: 12}, nil
}

// TestEmptyTableAgainstBroker: a table without a row of a topic with records is not clean.
func TestEmptyTableAgainstBroker(t *testing.T) {
	x := newTable(t)
	x.json("a.json", nil)
	x.want(x.audit(Options{Topic: "events", Broker: &topicText{parts: map[int32]string{0: "rr"}}}), "no-rows ", "partition-absent events-0:0..1")
}

// TestTopicsAgainstBroker: every topic of the rows is asked for.
func TestTopicsAgainstBroker(t *testing.T) {
	x := newTable(t)
	x.json("a", []pos{{"a", 0, 0}, {"a", 0, 2}, {"b", 0, 0}, {"b", 0, 2}})
	x.want(x.audit(Options{Columns: Columns{Partition: "part", Offset: "off", Topic: "topic"}, Broker: &topicText{parts: map[int32]string{0: "rrr"}}}),
		"record-missing a-0:1", "record-missing b-0:1")
}
