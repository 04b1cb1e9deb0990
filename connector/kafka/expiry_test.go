package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/env"
)

// aged creates a topic with settings (name, value, ...) and writes records one by one to partition 0, so many minutes older than the time that it gives.
func (b *broker) aged(topic string, settings []string, minutes ...int) time.Time {
	b.t.Helper()
	conf := map[string]*string{}
	for i := 0; i+1 < len(settings); i += 2 {
		conf[settings[i]] = &settings[i+1]
	}
	if _, err := b.adm.CreateTopic(context.Background(), 2, 1, conf, topic); err != nil {
		b.t.Fatal(err)
	}
	now := time.Now().Truncate(time.Millisecond)
	for _, m := range minutes {
		r := rec(topic, 0, fmt.Sprint(m))
		r.Timestamp = now.Add(-time.Duration(m) * time.Minute)
		b.produce(r)
	}
	return now
}

// look asks for the retention of the partitions of s, in order, with partition 0 at a position.
func look(t *testing.T, s *source, at int64) []connector.Retention {
	t.Helper()
	splits := connectortest.Discover(t, s, nil, nil)
	slices.SortFunc(splits, func(a, b connector.Split) int { return strings.Compare(a.ID, b.ID) })
	splits[0].Position = at
	e, err := s.Expiry(connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, err := e.Look(splits)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != len(splits) {
		t.Fatalf("%d answers for %d splits", len(out), len(splits))
	}
	for i := range out {
		if out[i].Split != splits[i].ID || out[i].Topic != s.topics[0] || out[i].Position != splits[i].Position {
			t.Errorf("answer %d is %+v", i, out[i])
		}
	}
	return out
}

// TestExpiryTime: what keeps a record is the greatest time of all records up to it, since brokers delete whole segments from the front.
func TestExpiryTime(t *testing.T) { expiryTime(t, newBroker(t), "in") }

func expiryTime(t *testing.T, b *broker, topic string) {
	now := b.aged(topic, []string{"retention.ms", "3600000"}, 50, 40, 45, 40, 3, 30, 2)
	for at, want := range map[int64]int{0: 50, 1: 40, 2: 40, 3: 40, 4: 3, 5: 3, 6: 2} {
		r := look(t, b.source([]connector.Column{valueColumn}, "topic", topic), at)[0]
		if r.Start != 0 || r.End != 7 || r.MaxAge != time.Hour || r.MaxBytes >= 0 || r.Unknown != "" || r.NoAnswer != "" || r.Compacted || r.AgeKey != "retention.ms = 3600000" {
			t.Fatalf("%+v", r)
		}
		// never later than it is, and earlier by little of what is left
		left := time.Hour - time.Duration(want)*time.Minute
		if early := now.Add(-time.Duration(want) * time.Minute).Sub(r.Time); early < 0 || early > left/40+5*time.Second {
			t.Errorf("offset %d: %v old, want %d min", at, now.Sub(r.Time), want)
		}
	}
	r := look(t, b.source([]connector.Column{valueColumn}, "topic", topic), 7)
	if !r[0].Time.IsZero() || !r[1].Time.IsZero() || r[1].End != 0 || r[1].MaxAge != time.Hour {
		t.Errorf("there is no record behind the end: %+v", r)
	}
}

// TestExpiryOverdue: a record that is older than the topic keeps may leave at any moment, and one of the future stays for long.
func TestExpiryOverdue(t *testing.T) {
	b := newBroker(t)
	b.aged("in", []string{"retention.ms", "60000"}, 50, -5)
	for at, late := range map[int64]bool{0: true, 1: false} {
		before := time.Now()
		r := look(t, b.source([]connector.Column{valueColumn}, "topic", "in"), at)[0]
		leaves := r.Time.Add(r.MaxAge)
		if now := time.Now(); late != !leaves.After(now) || leaves.Before(before.Add(-5*time.Second)) || !late && leaves.Before(now.Add(time.Minute)) {
			t.Errorf("offset %d leaves at %v; it is %v", at, leaves, now)
		}
	}
}

// TestExpiryRules reads the topic's settings.
func TestExpiryRules(t *testing.T) {
	for name, c := range map[string]struct {
		settings  []string
		age       time.Duration
		bytes     int64
		compacted bool
	}{
		"for ever":        {[]string{"retention.ms", "-1"}, -1, -1, false},
		"size":            {[]string{"retention.ms", "-1", "retention.bytes", "1000"}, -1, 1000, false},
		"both":            {[]string{"retention.ms", "1000", "retention.bytes", "1000"}, time.Second, 1000, false},
		"compact":         {[]string{"retention.ms", "1000", "cleanup.policy", "compact"}, -1, -1, true},
		"compact, delete": {[]string{"retention.ms", "1000", "cleanup.policy", "compact,delete"}, time.Second, -1, true},
		"longest":         {[]string{"retention.ms", "9223372036854775807"}, math.MaxInt64 / time.Millisecond * time.Millisecond, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			b.aged("in", c.settings, 10)
			r := look(t, b.source([]connector.Column{valueColumn}, "topic", "in"), 0)[0]
			if r.MaxAge != c.age || r.MaxBytes != c.bytes || r.Compacted != c.compacted || r.Unknown != "" {
				t.Errorf("%+v", r)
			}
			if c.bytes >= 0 && (r.SizeBytes <= 0 || r.Oldest.IsZero() || r.Newest.IsZero()) {
				t.Errorf("no size or times: %+v", r)
			}
		})
	}
}

// TestExpiryMoved: offsets that are gone already, and the end of a bounded read.
func TestExpiryMoved(t *testing.T) {
	b := newBroker(t)
	b.aged("in", []string{"retention.ms", "3600000"}, 9, 8, 7, 6, 5)
	before := kadm.Offsets{}
	before.AddOffset("in", 0, 3, -1)
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	if r := look(t, b.source([]connector.Column{valueColumn}, "topic", "in"), 1)[0]; r.Start != 3 || r.Position != 1 || r.End != 5 || !strings.Contains(r.Skips, "earliest") {
		t.Errorf("a partition of which nothing was read yet: %+v", r)
	}
	if r := look(t, b.source([]connector.Column{valueColumn}, "topic", "in", "scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", "0"), 1)[0]; r.Start != 3 || r.Skips != "" {
		t.Errorf("%+v", r)
	}
	if r := look(t, b.source([]connector.Column{valueColumn}, "topic", "in", "properties.auto.offset.reset", "latest"), 1)[0]; !strings.Contains(r.Skips, "= 'latest'") {
		t.Errorf("%+v", r)
	}
	s := b.source([]connector.Column{valueColumn}, "topic", "in", "scan.bounded.mode", "specific-offsets", "scan.bounded.specific-offsets", "partition:0,offset:4;partition:1,offset:0")
	if r := look(t, s, 4); r[0].End != 4 || !r[0].Time.IsZero() || !r[0].Ended || !r[1].Ended {
		t.Errorf("a bounded read that is at its end: %+v", r)
	}
	if r := look(t, s, 3)[0]; r.End != 4 || r.Time.IsZero() || r.Ended {
		t.Errorf("a bounded read before its end: %+v", r)
	}
}

// TestExpiryRefused: a client that may read the topic but not its settings, and one whose partition has no leader.
func TestExpiryRefused(t *testing.T) {
	b := newBroker(t)
	b.aged("in", []string{"retention.ms", "3600000"}, 9)
	b.fake.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			x := kmsg.NewDescribeConfigsResponseResource()
			x.ResourceType, x.ResourceName, x.ErrorCode = r.ResourceType, r.ResourceName, kerr.TopicAuthorizationFailed.Code
			resp.Resources = append(resp.Resources, x)
		}
		return resp, nil, true
	})
	r := look(t, b.source([]connector.Column{valueColumn}, "topic", "in"), 0)
	if r[0].MaxAge >= 0 || r[0].MaxBytes >= 0 || !strings.Contains(r[0].Unknown, "DESCRIBE_CONFIGS") || r[0].End != 1 || r[0].NoAnswer != "" {
		t.Errorf("%+v", r[0])
	}

	s := b.source([]connector.Column{valueColumn}, "topic", "in")
	splits := connectortest.Discover(t, s, nil, nil)
	splits[0].State = []byte(strings.Replace(string(splits[0].State), `"in"`, `"gone"`, 1))
	splits[0].ID = strings.Replace(splits[0].ID, "in-", "gone-", 1)
	e, err := s.Expiry(connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, err := e.Look(splits)
	if err != nil || out[0].NoAnswer == "" || out[1].NoAnswer != "" {
		t.Errorf("%+v %v", out, err)
	}
}

// TestExpiryClose ends a Look that waits for brokers that do not answer.
func TestExpiryClose(t *testing.T) {
	b := newBroker(t)
	b.aged("in", nil, 9)
	s := b.source([]connector.Column{valueColumn}, "topic", "in")
	splits := connectortest.Discover(t, s, nil, nil)
	asked := make(chan struct{}, 100)
	hold := make(chan struct{})
	defer close(hold)
	b.fake.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.fake.KeepControl()
		asked <- struct{}{}
		b.fake.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	e, err := s.Expiry(connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { _, err := e.Look(splits); ended <- err }()
	<-asked
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("it gave an answer that it cannot have")
	}
}
