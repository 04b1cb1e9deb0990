package kafka

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
)

// surveyed opens a survey of one topic.
func surveyed(t *testing.T, b *broker, topic string, kv ...string) connector.Survey {
	t.Helper()
	s := newTestSource(t, []connector.Column{valueColumn}, append([]string{"topic", topic, "properties.bootstrap.servers", b.addrs}, kv...)...)
	v, err := s.Survey(connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler), Wake: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// timed writes one record a second from begin on.
func (b *broker) timed(topic string, partition int32, begin time.Time, n int) {
	b.t.Helper()
	var rs []*kgo.Record
	for i := range n {
		r := rec(topic, partition, "value")
		r.Timestamp = begin.Add(time.Duration(i) * time.Second)
		rs = append(rs, r)
	}
	if err := b.cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

func TestSurvey(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 3)
	begin := time.UnixMilli(1_700_000_000_000)
	b.timed("in", 0, begin, 100)
	b.timed("in", 1, begin, 50)
	v := surveyed(t, b, "in", "properties.group.id", "g")
	s, err := v.Look()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Splits) != 3 || len(s.Topics) != 1 || s.Topics[0].Replicas != 1 || s.Members != 0 || s.Group != "g" || s.ReadCommitted {
		t.Fatalf("%+v", s)
	}
	for i, want := range []int64{100, 50, 0} {
		if x := s.Splits[i]; x.Topic != "in" || x.Start != 0 || x.End != want || x.Stuck != 0 {
			t.Errorf("split %d: %+v", i, x)
		}
	}
	if want := begin.Add(99 * time.Second); !s.Splits[0].Newest.Equal(want) {
		t.Errorf("newest %s, want %s", s.Splits[0].Newest, want)
	}
	marks, err := v.Since([]time.Time{begin.Add(-time.Hour), begin.Add(30 * time.Second), begin.Add(70 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range [][3]int64{{0, 0, 0}, {30, 30, 0}, {70, 50, 0}} {
		for i := range want {
			if m := marks[k][i]; m.Offset != want[i] || m.Time.IsZero() != (want[i] == s.Splits[i].End) {
				t.Errorf("time %d, split %d: %+v, want %d", k, i, m, want[i])
			}
		}
	}
}

// drain reads parts to their end.
func drain(t *testing.T, v connector.Survey, parts ...connector.Part) (offsets map[int][]int64, seen connector.Seen) {
	t.Helper()
	signal := (&env.Real{}).NewSignal()
	r, err := v.Read(connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler), Wake: signal.Notify}, parts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	offsets = map[int][]int64{}
	batch := changelog.NewBatch(schemaOf([]connector.Column{valueColumn}))
	for {
		status, err := r.Poll(batch)
		if err != nil {
			t.Fatal(err)
		}
		offsets[batch.Split] = append(offsets[batch.Split], batch.Offsets...)
		if status == connector.Ended {
			return offsets, r.Seen()
		}
		if status == connector.Waiting && !signal.Wait(20*time.Second) {
			t.Fatal("nothing comes")
		}
	}
}

// TestSurveyRead: parts of an unbounded table are read exactly, and the group knows nothing of it.
func TestSurveyRead(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 2)
	begin := time.UnixMilli(1_700_000_000_000)
	b.timed("in", 0, begin, 100)
	b.timed("in", 1, begin, 50)
	v := surveyed(t, b, "in", "properties.group.id", "g")
	if _, err := v.Look(); err != nil {
		t.Fatal(err)
	}
	got, seen := drain(t, v, connector.Part{Split: 0, From: 10, To: 13}, connector.Part{Split: 1, From: 49, To: 50})
	if len(got[0]) != 3 || got[0][0] != 10 || got[0][2] != 12 || len(got[1]) != 1 || got[1][0] != 49 {
		t.Fatal(got)
	}
	if seen.Bytes != 4*int64(len("value")) || seen.Newest.IsZero() || seen.Transactional {
		t.Errorf("%+v", seen)
	}
	committed, err := b.adm.FetchOffsets(context.Background(), "g")
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) || len(committed) != 0 {
		t.Errorf("%v %v", committed, err)
	}
}

func TestSurveyTransactions(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.transaction("in", 0, kgo.TryCommit, "a", "b")
	b.settle("in", 0, 3)
	v := surveyed(t, b, "in", "properties.isolation.level", "read_committed")
	s, err := v.Look()
	if err != nil || !s.ReadCommitted || s.Splits[0].End != 3 || s.Splits[0].Stuck != 0 {
		t.Fatal(s, err)
	}
	if got, seen := drain(t, v, connector.Part{To: 3}); len(got[0]) != 2 || !seen.Transactional {
		t.Errorf("%v %+v", got, seen)
	}
	tx := connectTo(t, b.addrs, kgo.TransactionalID("open"))
	if err := tx.cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	tx.produce(rec("in", 0, "c"))
	if s, err = v.Look(); err != nil || s.Splits[0].End != 3 || s.Splits[0].Stuck != 1 {
		t.Errorf("%+v %v", s, err)
	}
	if err := tx.cl.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

func TestSurveyMembers(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	other, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.addrs, ",")...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	b.fill("in", 0, 0, 1)
	if f := other.PollFetches(context.Background()); f.Err() != nil { // with the first record it is a member for certain
		t.Fatal(f.Err())
	}
	s, err := surveyed(t, b, "in", "properties.group.id", "g").Look()
	if err != nil || s.Members != 1 {
		t.Errorf("%d members, %v", s.Members, err)
	}
}
