package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/connector"
	"staunch/fault"
)

func inspect(t testing.TB, b *broker, properties ...string) connector.Inspector {
	t.Helper()
	in, err := NewInspector(b.addrs, properties)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in
}

// contents is what an inspector says of offsets, as "0..2 record, 3 marker".
func contents(t testing.TB, in connector.Inspector, topic string, from, to int64) string {
	t.Helper()
	var out []string
	at := from
	err := in.Look(context.Background(), topic, 0, from, to, func(f, to int64, what connector.Content) {
		if f != at || to <= f {
			t.Fatalf("%d..%d comes behind %d", f, to, at)
		}
		at = to
		if to == f+1 {
			out = append(out, fmt.Sprintf("%d %s", f, what))
		} else {
			out = append(out, fmt.Sprintf("%d..%d %s", f, to-1, what))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if at != to {
		t.Fatalf("it ends at %d, not %d", at, to)
	}
	return strings.Join(out, ", ")
}

func TestInspect(t *testing.T) {
	inspected(t, newBroker(t), "in")
}

// inspected looks at a topic with every kind of content, as a whole and offset by offset, forwards and backwards.
func inspected(t *testing.T, b *broker, topic string) {
	b.topic(topic, 2)
	b.fill(topic, 0, 0, 6)                                                                  // 0..5
	b.produce(&kgo.Record{Topic: topic, Key: []byte("k")})                                  // 6: no value
	b.transaction(topic, 0, kgo.TryCommit, "c1", "c2")                                      // 7, 8, marker 9
	b.settle(topic, 0, 10)                                                                  //
	b.transaction(topic, 0, kgo.TryAbort, "a1", "a2", "a3")                                 // 10..12, marker 13
	b.settle(topic, 0, 14)                                                                  //
	b.fill(topic, 0, 14, 16)                                                                // 14, 15
	open := connectTo(t, b.addrs, kgo.TransactionalID(fmt.Sprintf("%s-open-%p", topic, b))) //
	if err := open.cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	open.produce(rec(topic, 0, "undecided")) // 16
	b.fill(topic, 0, 17, 19)                 // 17, 18: behind an open transaction
	in := inspect(t, b)
	want := "0..5 record, 6 null, 7..8 record, 9 marker, 10..12 aborted, 13 marker, 14..15 record, 16..18 open, 19..24 beyond"
	if got := contents(t, in, topic, 0, 25); got != want {
		t.Errorf("the whole: %s", got)
	}
	single := strings.Split("record record record record record record null record record marker aborted aborted aborted marker record record open open open beyond", " ")
	for o := range single {
		if got := contents(t, in, topic, int64(o), int64(o+1)); got != fmt.Sprintf("%d %s", o, single[o]) {
			t.Errorf("forwards: %s", got)
		}
	}
	for o := len(single) - 1; o >= 0; o-- {
		if got := contents(t, in, topic, int64(o), int64(o+1)); got != fmt.Sprintf("%d %s", o, single[o]) {
			t.Errorf("backwards: %s", got)
		}
	}
	if got := contents(t, in, topic, 11, 15); got != "11..12 aborted, 13 marker, 14 record" {
		t.Errorf("from the middle of a transaction: %s", got)
	}
	r, err := in.Ranges(context.Background(), topic)
	for i := range r {
		if !strings.HasPrefix(r[i].Origin, originPrefix) || len(r[i].Origin) == len(originPrefix) {
			t.Errorf("origin %q", r[i].Origin)
		}
		r[i].Origin = ""
	}
	if err != nil || fmt.Sprint(r) != "[{0 0 16 19 } {1 0 0 0 }]" {
		t.Errorf("ranges %v, %v", r, err)
	}
	if err := open.cl.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

func TestInspectCompacted(t *testing.T) {
	b := newBroker(t)
	inspectCompacted(t, b, "in", b.fake.Compact)
}

// inspectCompacted looks at a topic from which compaction took records in the middle of batches, and whole batches.
func inspectCompacted(t *testing.T, b *broker, topic string, compact func()) {
	compactedTopic(b, topic)
	begin := time.Now().Add(-time.Hour)
	var batch []*kgo.Record
	for i := range 10 { // keys k0 k1 k2 k3 k4 k4 k4 k4 k4 k4
		key := fmt.Sprintf("k%d", min(i, 4))
		batch = append(batch, &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(key), Timestamp: begin})
	}
	if err := b.cl.ProduceSync(context.Background(), batch...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b.produce(&kgo.Record{Topic: topic, Key: []byte("k4"), Value: []byte("later"), Timestamp: begin.Add(time.Duration(i+1) * time.Minute)})
	}
	want := "0..3 record, 4..10 absent, 11..12 record"
	got := ""
	for deadline := time.Now().Add(90 * time.Second); got != want && time.Now().Before(deadline); {
		compact()
		got = contents(t, inspect(t, b), topic, 0, 13)
	}
	if got != want && got != "0..3 record, 4..11 absent, 12 record" {
		t.Errorf("after compaction: %s", got)
	}
}

// TestInspectEmptyAnswers: answers without batches are asked for again, and believed at last of a compacted topic only.
func TestInspectEmptyAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		compact bool
		denied  bool
		// empty is how many fetches are answered without a batch.
		empty int
		want  string
		err   string
	}{
		{name: "once", empty: 1, want: "0..9 record"},
		{name: "some times", empty: emptyAnswers - 1, want: "0..9 record"},
		{name: "once, compacted", empty: 1, compact: true, want: "0..9 record"},
		{name: "always", empty: 1000, err: "cleanup.policy is delete"},
		{name: "always, settings denied", empty: 1000, compact: true, denied: true, err: "cannot be told"},
		{name: "always, compacted", empty: 1000, compact: true, want: "0..9 absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			if c.compact {
				compactedTopic(b, "in")
			} else {
				b.topic("in", 1)
			}
			for i := range 10 {
				b.produce(&kgo.Record{Topic: "in", Key: fmt.Append(nil, i), Value: []byte("v")})
			}
			left := c.empty
			b.fake.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
				if left == 0 {
					return nil, nil, false
				}
				left--
				if left > 0 {
					b.fake.KeepControl()
				}
				req := r.(*kmsg.FetchRequest)
				resp := req.ResponseKind().(*kmsg.FetchResponse)
				for _, rt := range req.Topics {
					st := kmsg.NewFetchResponseTopic()
					st.Topic, st.TopicID = rt.Topic, rt.TopicID
					for _, rp := range rt.Partitions {
						sp := kmsg.NewFetchResponseTopicPartition()
						sp.Partition, sp.HighWatermark, sp.LastStableOffset = rp.Partition, 10, 10
						st.Partitions = append(st.Partitions, sp)
					}
					resp.Topics = append(resp.Topics, st)
				}
				return resp, nil, true
			})
			if c.denied {
				b.fake.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
					resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
					for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
						x := kmsg.NewDescribeConfigsResponseResource()
						x.ResourceType, x.ResourceName, x.ErrorCode = r.ResourceType, r.ResourceName, kerr.TopicAuthorizationFailed.Code
						resp.Resources = append(resp.Resources, x)
					}
					return resp, nil, true
				})
			}
			in := inspect(t, b)
			if c.err == "" {
				if got := contents(t, in, "in", 0, 10); got != c.want {
					t.Error(got)
				}
				return
			}
			err := in.Look(context.Background(), "in", 0, 0, 10, func(from, to int64, what connector.Content) {
				t.Errorf("%d..%d %s", from, to-1, what)
			})
			wantError(t, err, fault.Damage, c.err)
		})
	}
}

func TestInspectBehindRetention(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 10)
	in := inspect(t, b)
	if _, err := in.Ranges(context.Background(), "in"); err != nil {
		t.Fatal(err)
	}
	before := kadm.Offsets{}
	before.AddOffset("in", 0, 6, -1)
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, inspect(t, b), "in", 2, 8); got != "2..5 gone, 6..7 record" {
		t.Errorf("asked afterwards: %s", got)
	}
	// The inspector asked for the range before; retention goes on under it.
	if got := contents(t, in, "in", 2, 8); got != "2..5 gone, 6..7 record" {
		t.Errorf("asked before: %s", got)
	}
}

func TestInspectCommitted(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 3)
	offsets := kadm.Offsets{}
	offsets.AddOffset("in", 0, 5, -1)
	offsets.AddOffset("in", 2, 7, -1)
	if err := b.adm.CommitAllOffsets(context.Background(), "g", offsets); err != nil {
		t.Fatal(err)
	}
	got, err := inspect(t, b).Committed(context.Background(), "g", "in")
	if err != nil || fmt.Sprint(got) != "map[0:5 2:7]" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := inspect(t, b).Committed(context.Background(), "nobody", "in"); err != nil || len(got) != 0 {
		t.Errorf("a group that is not there: %v, %v", got, err)
	}
}

// TestUnread: a source says whether it finds partitions that come later.
func TestUnread(t *testing.T) {
	for want, kv := range map[string][]string{"": nil, "discovery.interval is 0": {"scan.topic-partition-discovery.interval", "0"}, "bounded.mode is latest-offset": {"scan.bounded.mode", "latest-offset"}} {
		s := newTestSource(t, []connector.Column{valueColumn}, append([]string{"properties.bootstrap.servers", "127.0.0.1:1", "topic", "in"}, kv...)...)
		if got := s.Unread(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}

func TestInspectFailures(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(1))
	_, err := inspect(t, b).Ranges(context.Background(), "none")
	wantError(t, err, fault.Lost, `no topic "none"`)
	err = inspect(t, b).Look(context.Background(), "none", 0, 0, 1, nil)
	wantError(t, err, fault.Lost, "none")
	b.topic("in", 1)
	err = inspect(t, b).Look(context.Background(), "in", 4, 0, 1, nil)
	wantError(t, err, fault.Lost, "no partition 4")
	in := inspect(t, b, "default.api.timeout.ms=300")
	b.fake.Close()
	_, err = in.Ranges(context.Background(), "in")
	wantError(t, err, fault.Outage, "no useful answer")
	for _, bad := range []string{"x", "=y", "security.protocol=NO", "no.such.property=1"} {
		if _, err := NewInspector("127.0.0.1:1", []string{bad}); err == nil {
			t.Errorf("property %q is taken", bad)
		}
	}
}
