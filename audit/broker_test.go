package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/connector"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs/local"
)

// topic is what the broker of these tests has: the records that a lake was written from.
type topic struct {
	first, end int64
	// what overrides the content of an offset.
	what map[int64]connector.Content
	err  error
	// origin is what its offsets number, more how many partitions there are beyond two, hole an offset of which it says nothing.
	origin string
	more   int32
	hole   int64
	// looks counts the questions.
	looks, asked int
}

func (b *topic) at(o int64) connector.Content {
	if w, ok := b.what[o]; ok {
		return w
	}
	switch {
	case o < b.first:
		return connector.Gone
	case o >= b.end:
		return connector.Beyond
	case o%7 == 3: // see lake.write
		return connector.Record
	case o%11 == 5:
		return connector.Null
	case o%13 == 8:
		return connector.Marker
	}
	return connector.Record
}

func (b *topic) Ranges(context.Context, string) ([]connector.PartitionRange, error) {
	b.asked++
	if b.err != nil {
		return nil, b.err
	}
	var out []connector.PartitionRange
	for p := range 2 + b.more {
		out = append(out, connector.PartitionRange{Partition: p, First: b.first, Decided: b.end, End: b.end, Origin: b.origin})
	}
	return out, nil
}

func (b *topic) Look(_ context.Context, _ string, _ int32, from, to int64, visit func(from, to int64, what connector.Content)) error {
	b.looks++
	for at := from; at < to; {
		end := at + 1
		for end < to && b.at(end) == b.at(at) {
			end++
		}
		if b.hole < at || b.hole >= end || b.hole == 0 {
			visit(at, end, b.at(at))
		}
		at = end
	}
	return nil
}

func (b *topic) Committed(context.Context, string, string) (map[int32]int64, error) { return nil, nil }
func (b *topic) Close()                                                             {}

// outside gives an offset of the second checkpoint of events-0 (1040..1079) of a kind that no file holds.
func outside(rest func(o int64) bool) int64 {
	for o := int64(1040); ; o++ {
		if rest(o) {
			return o
		}
	}
}

func TestAgainstBroker(t *testing.T) {
	filtered := outside(func(o int64) bool { return o%7 == 3 })
	null := outside(func(o int64) bool { return o%7 != 3 && o%11 == 5 })
	gap := outside(func(o int64) bool { return o%7 != 3 && o%11 != 5 && o%13 == 8 })
	row := outside(func(o int64) bool { return o%7 != 3 && o%11 != 5 && o%13 != 8 })
	at := func(o int64, c connector.Content) map[int64]connector.Content {
		return map[int64]connector.Content{o: c}
	}
	for _, x := range []struct {
		name      string
		first     int64
		end       int64
		what      map[int64]connector.Content
		err       error
		isolation string
		want      []Kind
		says      string
		toDo      string // what is to be done
	}{
		{name: "as it was read"},
		{name: "as it was read, in steps"},
		{name: "a record where the account has a gap", what: at(gap, connector.Record), want: []Kind{TopicContradicts}, says: "records stand in the topic"},
		{name: "a record where the account has no value", what: at(null, connector.Record), want: []Kind{TopicContradicts}, says: "records stand in the topic"},
		{name: "a marker where the account has a filtered record", what: at(filtered, connector.Marker), want: []Kind{TopicContradicts}, says: "have no record for this reader"},
		{name: "no value where the account has a filtered record", what: at(filtered, connector.Null), want: []Kind{TopicContradicts}, says: "without value"},
		{name: "a marker under a row", what: at(row, connector.Marker), want: []Kind{TopicContradicts}, says: "the topic has the end of a transaction"},
		{name: "no value under a row", what: at(row, connector.Null), want: []Kind{TopicContradicts}, says: "a record without value"},
		{name: "a row of a transaction that was given up", what: at(row, connector.Aborted), isolation: "read_committed", want: []Kind{TopicContradicts}, says: "given up"},
		{name: "a row of a transaction that was given up, and may be", what: at(row, connector.Aborted)},
		{name: "given up where the account has a gap", what: at(gap, connector.Aborted), isolation: "read_committed"},
		{name: "given up where the account has a gap, and may not", what: at(gap, connector.Aborted), isolation: "read_uncommitted", want: []Kind{TopicContradicts}},
		{name: "given up where the account has a gap, and that may be", what: at(gap, connector.Aborted)},
		{name: "compacted since", what: map[int64]connector.Content{row: connector.Absent, filtered: connector.Absent, null: connector.Absent}, says: "1 records of the table are not in the topic any more"},
		{name: "compaction hides nothing", what: map[int64]connector.Content{row: connector.Absent, gap: connector.Record}, want: []Kind{TopicContradicts}},
		{name: "retention took a part", first: 77, says: "older than the first that the topic has"},
		{name: "retention took a part of events-0, all of events-1", first: 1077, want: []Kind{TopicUnknown}, says: "all 200 offsets", toDo: "more often than its retention"},
		{name: "the topic is shorter", first: 0, end: 1100, want: []Kind{TopicContradicts}, says: "nothing yet"},
		{name: "no topic", err: fault.New(fault.Lost, "topic events is not there"), want: []Kind{TopicUnknown}, says: "topic events is not there", toDo: "name the brokers and the topic"},
		{name: "no broker", err: fault.New(fault.Outage, "no broker answered"), want: []Kind{TopicUnknown}, says: "no broker answered", toDo: "when the broker answers"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			l := standard(t, "json", 2)
			b := &topic{first: x.first, end: 1500, what: x.what, err: x.err}
			if x.end > 0 {
				b.end = x.end
			}
			opts := Options{Broker: &Broker{Inspector: b, Isolation: x.isolation}, Fast: true}
			if strings.HasSuffix(x.name, "in steps") {
				opts.Broker.window = 1
			}
			r, err := Table(context.Background(), &envtest.Quick{}, local.New(), l.root, opts)
			l.must(err)
			if got := kinds(r); !slices.Equal(got, x.want) || !strings.Contains(text(r), x.says) || !strings.Contains(text(r), x.toDo) {
				t.Errorf("found %v, expected %v, %q and %q\n%s", kinds(r), x.want, x.says, x.toDo, text(r))
			}
			for _, p := range r.Jobs[0].Problems {
				if p.Kind == TopicContradicts && len(x.what) == 1 {
					for o := range x.what {
						if !strings.Contains(p.Offsets[0].Offsets, fmt.Sprint(o)) && !strings.HasPrefix(x.name, "no value where") {
							t.Errorf("offset %d is not named: %+v", o, p)
						}
					}
					if p.Checkpoint != 2 {
						t.Errorf("%+v", p)
					}
				}
			}
			if fault.ClassOf(x.err) == fault.Outage && b.asked != 1 {
				t.Errorf("brokers that are away were asked %d times", b.asked)
			}
			if x.err != nil || len(x.what) > 0 || x.first > 0 || x.end > 0 {
				return
			}
			s, have := r.Jobs[0].Splits[0], r.Jobs[0].Topics[0]
			if have.Compared != 200 || have.Records != s.Filtered || have.Null != s.Null || have.Markers != s.Gaps || have.Behind != 300 {
				t.Errorf("%+v\n%+v", s, have)
			}
			if opts.Broker.window == 1 && b.looks != 10 || opts.Broker.window == 0 && b.looks != 2 {
				t.Errorf("%d questions", b.looks)
			}
		})
	}
}

// against audits the table with a broker.
func (l *lake) against(b *topic, o Broker) *Report {
	l.t.Helper()
	o.Inspector = b
	r, err := Table(context.Background(), &envtest.Quick{}, local.New(), l.root, Options{Fast: true, Broker: &o})
	l.must(err)
	return r
}

// TestTopicMadeAnew: accounts of a topic that was deleted are not compared with the one that has its name now; those of the new one are.
func TestTopicMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name, now string
		then      []string
		want      []Kind
		compared  int64
	}{
		{"the same", "topic-id A", []string{"topic-id A", "topic-id A"}, nil, 80},
		{"another", "topic-id B", []string{"topic-id A", "topic-id A"}, []Kind{TopicUnknown}, 0},
		{"another since", "topic-id B", []string{"topic-id A", "topic-id B"}, []Kind{TopicUnknown}, 40},
		{"no ids", "", []string{"topic-id A", "topic-id A"}, nil, 80},
		{"no ids then", "topic-id A", []string{"topic-id ", ""}, nil, 80},
	} {
		for _, window := range []int64{0, 1} {
			l := newLake(t, "json", 0)
			for _, origin := range c.then {
				cert := l.write(40)
				for i := range cert.Ranges {
					cert.Ranges[i].Origin = origin
				}
				l.commit(cert)
			}
			r := l.against(&topic{end: 1500, origin: c.now}, Broker{window: window})
			compared := int64(0)
			if len(r.Jobs[0].Topics) > 0 {
				compared = r.Jobs[0].Topics[0].Compared
			}
			if !slices.Equal(kinds(r), c.want) || compared != c.compared || len(c.want) > 0 && len(r.Jobs[0].Problems) != 2 {
				t.Errorf("%s: compared %d\n%s", c.name, compared, text(r))
			}
		}
	}
}

// TestPartitionAbsent: a partition of which no job has an account is found, unless the job does not look for new ones or it has no record.
func TestPartitionAbsent(t *testing.T) {
	l := standard(t, "json", 0)
	r := l.against(&topic{end: 1500, more: 1}, Broker{})
	if !slices.Equal(kinds(r), []Kind{PartitionAbsent}) || r.Problems[0].Offsets[0].Split != "events-2" || r.Problems[0].Offsets[0].Count < 1000 {
		t.Error(text(r))
	}
	if r := l.against(&topic{end: 1500, more: 1}, Broker{Unread: "it does not look"}); r.Verdict != Clean || !strings.Contains(text(r), "events-2: the topic has records of it") {
		t.Error(text(r))
	}
	empty := map[int64]connector.Content{}
	for o := range int64(1500) {
		empty[o] = connector.Absent // also of the partitions that have accounts: compaction contradicts nothing
	}
	if r := l.against(&topic{end: 1500, more: 1, what: empty}, Broker{}); r.Verdict != Clean {
		t.Error(text(r))
	}
	idle := newLake(t, "json", 0)
	c := idle.write(40)
	c.Ranges = append(c.Ranges, account.Range{Split: "events-2", Insert: "1", From: 7, To: 7})
	idle.commit(c)
	if r := idle.against(&topic{end: 1500, more: 1}, Broker{}); r.Verdict != Clean {
		t.Errorf("a partition that was found, and of which nothing was read yet: %s", text(r))
	}
}

// TestSilentBroker: offsets of which the broker says nothing are not compared, and that is said.
func TestSilentBroker(t *testing.T) {
	l := standard(t, "json", 0)
	r := l.against(&topic{end: 1500, hole: 1050}, Broker{})
	if !slices.Equal(kinds(r), []Kind{TopicUnknown}) || !strings.Contains(text(r), "says nothing of offset 1,0") {
		t.Error(text(r))
	}
}

// TestAgainstBrokerEnds: an audit that is ended while it asks the broker is no audit.
func TestAgainstBrokerEnds(t *testing.T) {
	l := standard(t, "json", 0)
	ctx, stop := context.WithCancel(context.Background())
	b := &ending{stop: stop}
	if _, err := Table(ctx, &envtest.Quick{}, local.New(), l.root, Options{Broker: &Broker{Inspector: b}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type ending struct {
	topic
	stop func()
}

func (b *ending) Ranges(ctx context.Context, _ string) ([]connector.PartitionRange, error) {
	b.stop()
	return nil, ctx.Err()
}
