package kafka

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"staunch/account"
	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/fault"
	"staunch/metric"
	"staunch/types"
)

// broker is a fake cluster of one or more brokers, or a real one, with a client to fill it.
type broker struct {
	t    testing.TB
	fake *kfake.Cluster
	// net is set if the cluster is on a network in memory, where synctest's clock works.
	net   *kfake.VirtualNetwork
	addrs string
	cl    *kgo.Client
	adm   *kadm.Client
}

func newBroker(t testing.TB, opts ...kfake.Opt) *broker {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(2)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	b := connectTo(t, strings.Join(fake.ListenAddrs(), ","))
	b.fake = fake
	return b
}

// newVirtual starts a fake cluster inside of a synctest bubble.
func newVirtual(t testing.TB, opts ...kfake.Opt) *broker {
	t.Helper()
	network := &kfake.VirtualNetwork{}
	fake, err := kfake.NewCluster(append(opts, kfake.ListenFn(network.Listen))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	b := &broker{t: t, fake: fake, net: network, addrs: strings.Join(fake.ListenAddrs(), ",")}
	return b.client()
}

// client gives b another client.
func (b *broker) client() *broker {
	var opts []kgo.Opt
	if b.net != nil {
		opts = append(opts, kgo.Dialer(b.net.DialContext))
	}
	c := connectTo(b.t, b.addrs, opts...)
	c.fake, c.net = b.fake, b.net
	return c
}

func connectTo(t testing.TB, addrs string, opts ...kgo.Opt) *broker {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(addrs, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return &broker{t: t, addrs: addrs, cl: cl, adm: kadm.NewClient(cl)}
}

func (b *broker) topic(name string, partitions int32) {
	b.t.Helper()
	if _, err := b.adm.CreateTopic(context.Background(), partitions, 1, nil, name); err != nil {
		b.t.Fatal(err)
	}
}

func rec(topic string, partition int32, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
}

// produce writes records one batch each, so that offsets and batches are plain.
func (b *broker) produce(records ...*kgo.Record) {
	b.t.Helper()
	for _, r := range records {
		if err := b.cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fill writes the values <partition>:<i> for i in [from, to).
func (b *broker) fill(topic string, partition int32, from, to int) {
	b.t.Helper()
	var rs []*kgo.Record
	for i := from; i < to; i++ {
		rs = append(rs, rec(topic, partition, fmt.Sprintf("%d:%d", partition, i)))
	}
	if err := b.cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// transaction writes values in one transaction and ends it.
func (b *broker) transaction(topic string, partition int32, end kgo.TransactionEndTry, values ...string) {
	b.t.Helper()
	tx := connectTo(b.t, b.addrs, kgo.TransactionalID(fmt.Sprintf("%s-%d-%d", topic, partition, time.Now().UnixNano())))
	if err := tx.cl.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range values {
		tx.produce(rec(topic, partition, v))
	}
	if err := tx.cl.EndTransaction(context.Background(), end); err != nil {
		b.t.Fatal(err)
	}
}

// settle waits until everything below offset is stable: brokers write the markers of a transaction after its end was acknowledged.
func (b *broker) settle(topic string, partition int32, offset int64) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		l, err := b.adm.ListCommittedOffsets(context.Background(), topic)
		if err != nil {
			b.t.Fatal(err)
		}
		o, _ := l.Lookup(topic, partition)
		if o.Offset >= offset {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s-%d is stable up to %d, want %d", topic, partition, o.Offset, offset)
		}
	}
}

// source makes a source of the broker's topic.
func (b *broker) source(columns []connector.Column, kv ...string) *source {
	b.t.Helper()
	s := newTestSource(b.t, columns, append([]string{"properties.bootstrap.servers", b.addrs}, kv...)...)
	if b.net != nil {
		s.opts = append(s.opts, kgo.Dialer(b.net.DialContext))
	}
	return s
}

var valueAndOffset = []connector.Column{valueColumn, {Name: "o", Type: types.New(types.BigInt), Metadata: "offset"}}

// task opens a reader of s for splits with columns.
func task(t testing.TB, s *source, splits []connector.Split, log *syncBuffer) *connectortest.Task {
	t.Helper()
	if log == nil {
		log = &syncBuffer{}
	}
	return connectortest.NewTask(t, s, schemaOf(s.table.Columns), splits, log)
}

// syncBuffer is a log that goroutines may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// readTexts reads to the end and returns the rows, sorted.
func readTexts(t testing.TB, k *connectortest.Task) (out []string) {
	t.Helper()
	for {
		b, status, err := k.Next()
		if err != nil {
			t.Fatalf("Poll: %v", err)
		}
		for i := range b.Rows {
			out = append(out, connectortest.RowText(b, i))
		}
		if status == connector.Ended {
			slices.Sort(out)
			return out
		}
	}
}

// await reads until n rows came.
func await(t testing.TB, k *connectortest.Task, n int) (out []string) {
	t.Helper()
	for len(out) < n {
		b, status, err := k.Next()
		if err != nil {
			t.Fatalf("Poll: %v", err)
		}
		if status == connector.Ended {
			t.Fatalf("ended after %d rows, want %d", len(out), n)
		}
		for i := range b.Rows {
			out = append(out, connectortest.RowText(b, i))
		}
	}
	slices.Sort(out)
	return out
}

// failure reads until an error comes.
func failure(t testing.TB, k *connectortest.Task) error {
	t.Helper()
	for {
		_, status, err := k.Next()
		if err != nil {
			return err
		}
		if status == connector.Ended {
			t.Fatal("ended, want an error")
		}
	}
}

func wantError(t testing.TB, err error, class fault.Class, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if got := fault.ClassOf(err); got != class {
		t.Errorf("class %s, want %s: %v", got, class, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error lacks %q: %v", p, err)
		}
	}
}

func texts(partition int, from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("%d:%d", partition, i))
	}
	slices.Sort(out)
	return out
}

func wantRows(t testing.TB, got []string, want ...string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

func TestConformance(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.SnappyCompression(), kgo.GzipCompression()} {
		b := newBroker(t)
		b.topic("in", 4)
		w := connectTo(t, b.addrs, kgo.ProducerBatchCompression(codec))
		for p := range int32(4) {
			w.fill("in", p, 0, 3000*int(p))
		}
		b.produce(&kgo.Record{Topic: "in", Partition: 1, Key: []byte("k")}, rec("in", 1, ""), rec("in", 2, "skip"), rec("in", 2, "last"))
		columns := []connector.Column{valueColumn, {Name: "t", Type: types.String_, Metadata: "topic"}, {Name: "p", Type: types.New(types.Int), Metadata: "partition"},
			{Name: "o", Type: types.New(types.BigInt), Metadata: "offset"}, {Name: "ts", Type: types.NewTimestampLTZ(3), Metadata: "timestamp"},
			{Name: "tt", Type: types.String_, Metadata: "timestamp-type"}, {Name: "e", Type: types.New(types.Int), Metadata: "leader-epoch"}}
		t.Run(fmt.Sprint(codec), func(t *testing.T) {
			connectortest.RunSource(t, connectortest.SourceCase{
				New: func(t testing.TB) connector.Source {
					return b.source(columns, "topic", "in", "scan.bounded.mode", "latest-offset")
				},
				Schema: schemaOf(columns), Rows: 3000 + 6000 + 9000 + 1})
		})
	}
}

func TestStartModes(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 2)
	for i := range 10 {
		for p := range int32(2) {
			b.produce(&kgo.Record{Topic: "in", Partition: p, Value: fmt.Appendf(nil, "%d:%d", p, i), Timestamp: time.UnixMilli(int64(1000 + i))})
		}
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("in", 0, 4, -1)
	if err := b.adm.CommitAllOffsets(context.Background(), "g", offsets); err != nil {
		t.Fatal(err)
	}
	all := func(from0, from1 int) []string { return append(texts(0, from0, 10), texts(1, from1, 10)...) }
	for name, c := range map[string]struct {
		kv   []string
		want []string
	}{
		"earliest":        {[]string{"scan.startup.mode", "earliest-offset"}, all(0, 0)},
		"latest":          {[]string{"scan.startup.mode", "latest-offset"}, nil},
		"group":           {[]string{"scan.startup.mode", "group-offsets", "properties.group.id", "g", "properties.auto.offset.reset", "earliest"}, all(4, 0)},
		"group-latest":    {[]string{"scan.startup.mode", "", "properties.group.id", "g", "properties.auto.offset.reset", "latest"}, texts(0, 4, 10)},
		"timestamp":       {[]string{"scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", "1007"}, all(7, 7)},
		"timestamp-later": {[]string{"scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", "9999"}, nil},
		"specific":        {[]string{"scan.startup.mode", "specific-offsets", "scan.startup.specific-offsets", "partition:0,offset:8;partition:1,offset:9"}, all(8, 9)},
		"specific-some":   {[]string{"scan.startup.mode", "specific-offsets", "scan.startup.specific-offsets", "partition:1,offset:9"}, all(0, 9)},
		"specific-group": {[]string{"scan.startup.mode", "specific-offsets", "scan.startup.specific-offsets", "partition:1,offset:9", "properties.group.id", "g"},
			all(4, 9)},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.source([]connector.Column{valueColumn}, append(c.kv, "topic", "in", "scan.bounded.mode", "latest-offset")...)
			wantRows(t, readTexts(t, task(t, s, connectortest.Discover(t, s, nil, nil), nil)), c.want...)
		})
	}
	t.Run("group-none", func(t *testing.T) {
		s := b.source([]connector.Column{valueColumn}, "topic", "in", "scan.startup.mode", "group-offsets", "properties.group.id", "g")
		wantError(t, discoverError(t, s), fault.User, "'g'", "'in'", "partition 1", "auto.offset.reset")
	})
	t.Run("specific-unknown", func(t *testing.T) {
		s := b.source([]connector.Column{valueColumn}, "topic", "in", "scan.startup.mode", "specific-offsets", "scan.startup.specific-offsets", "partition:7,offset:9")
		wantError(t, discoverError(t, s), fault.User, "[7]", "'in'")
	})
}

func TestBoundedModes(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 2)
	for i := range 10 {
		for p := range int32(2) {
			b.produce(&kgo.Record{Topic: "in", Partition: p, Value: fmt.Appendf(nil, "%d:%d", p, i), Timestamp: time.UnixMilli(int64(1000 + i))})
		}
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("in", 0, 4, -1)
	offsets.AddOffset("in", 1, 0, -1)
	if err := b.adm.CommitAllOffsets(context.Background(), "g", offsets); err != nil {
		t.Fatal(err)
	}
	all := func(to0, to1 int) []string { return append(texts(0, 0, to0), texts(1, 0, to1)...) }
	for name, c := range map[string]struct {
		kv   []string
		want []string
	}{
		"latest":    {[]string{"scan.bounded.mode", "latest-offset"}, all(10, 10)},
		"group":     {[]string{"scan.bounded.mode", "group-offsets", "properties.group.id", "g"}, all(4, 0)},
		"timestamp": {[]string{"scan.bounded.mode", "timestamp", "scan.bounded.timestamp-millis", "1003"}, all(3, 3)},
		"specific":  {[]string{"scan.bounded.mode", "specific-offsets", "scan.bounded.specific-offsets", "partition:0,offset:1;partition:1,offset:10"}, all(1, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.source([]connector.Column{valueColumn}, append(c.kv, "topic", "in")...)
			wantRows(t, readTexts(t, task(t, s, connectortest.Discover(t, s, nil, nil), nil)), c.want...)
		})
	}
	t.Run("specific-missing", func(t *testing.T) {
		s := b.source([]connector.Column{valueColumn}, "topic", "in", "scan.bounded.mode", "specific-offsets", "scan.bounded.specific-offsets", "partition:0,offset:1")
		wantError(t, discoverError(t, s), fault.User, "partition 1", "'in'")
	})
}

// discoverError is the error of a first discovery.
func discoverError(t testing.TB, s *source) error {
	t.Helper()
	ctx, _, _ := connectortest.NewContext(os.Stderr)
	e, err := s.Enumerate(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Discover(nil)
	return err
}

// TestGapsAtTheEnd is case-12: the last offsets of each partition are not records.
func TestGapsAtTheEnd(t *testing.T) {
	b := newBroker(t)
	gapsAtTheEnd(t, b, "in")
}

func gapsAtTheEnd(t *testing.T, b *broker, topic string) {
	b.topic(topic, 3)
	b.transaction(topic, 0, kgo.TryCommit, "a", "b", "c")
	b.produce(rec(topic, 1, "d"))
	b.transaction(topic, 1, kgo.TryAbort, "x", "y", "z")
	b.settle(topic, 0, 4)
	b.settle(topic, 1, 5)
	for _, c := range []struct {
		level string
		want  []string
		gaps  map[string]int64
	}{
		{"read_committed", []string{"a", "b", "c", "d"}, map[string]int64{topic + "-0": 1, topic + "-1": 4, topic + "-2": 0}},
		{"read_uncommitted", []string{"a", "b", "c", "d", "x", "y", "z"}, map[string]int64{topic + "-0": 1, topic + "-1": 1, topic + "-2": 0}},
	} {
		t.Run(c.level, func(t *testing.T) {
			s := b.source([]connector.Column{valueColumn}, "topic", topic, "scan.bounded.mode", "latest-offset", "properties.isolation.level", c.level)
			k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
			wantRows(t, readTexts(t, k), c.want...)
			splits, ranges, _ := k.Reader.Snapshot()
			want := map[string]int64{topic + "-0": 4, topic + "-1": 5, topic + "-2": 0}
			for i, r := range ranges {
				if r.Gaps != c.gaps[r.Split] || splits[i].Position != want[r.Split] {
					t.Errorf("%+v, want to %d with %d gaps", r, want[r.Split], c.gaps[r.Split])
				}
			}
			if k.Reader.Lag() != 0 {
				t.Errorf("lag %d", k.Reader.Lag())
			}
		})
	}
}

// TestInterleavedTransactions has an aborted and a committed transaction whose records alternate, and one that is still open.
func TestInterleavedTransactions(t *testing.T) {
	interleaved(t, newBroker(t), "in")
}

func interleaved(t *testing.T, b *broker, topic string) {
	b.topic(topic, 1)
	begin := func(id string) *broker {
		tx := connectTo(t, b.addrs, kgo.TransactionalID(topic+id))
		if err := tx.cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	end := func(tx *broker, how kgo.TransactionEndTry) {
		if err := tx.cl.EndTransaction(context.Background(), how); err != nil {
			t.Fatal(err)
		}
	}
	bad, good := begin("bad"), begin("good")
	for i := range 5 {
		bad.produce(rec(topic, 0, "bad"))
		good.produce(rec(topic, 0, strconv.Itoa(i)))
		b.produce(rec(topic, 0, "plain"+strconv.Itoa(i)))
	}
	end(bad, kgo.TryAbort)
	if err := bad.cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	bad.produce(rec(topic, 0, "good now"))
	end(bad, kgo.TryCommit)
	end(good, kgo.TryCommit)
	open := begin("open")
	b.settle(topic, 0, 19)
	open.produce(rec(topic, 0, "open"))
	b.produce(rec(topic, 0, "behind the open one"))
	want := []string{"0", "1", "2", "3", "4", "plain0", "plain1", "plain2", "plain3", "plain4", "good now"}
	s := b.source([]connector.Column{valueColumn}, "topic", topic, "scan.bounded.mode", "latest-offset", "properties.isolation.level", "read_committed")
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	wantRows(t, readTexts(t, k), want...)
	_, ranges, _ := k.Reader.Snapshot()
	if r := ranges[0]; r.To != 19 || r.Gaps != 8 {
		t.Errorf("%+v, want to 19 with 8 gaps: 5 aborted records and 3 markers", r)
	}
	unbounded := b.source([]connector.Column{valueColumn}, "topic", topic, "properties.isolation.level", "read_committed")
	k = task(t, unbounded, connectortest.Discover(t, unbounded, nil, nil), nil)
	wantRows(t, await(t, k, len(want)), want...)
	end(open, kgo.TryCommit)
	wantRows(t, await(t, k, 2), "open", "behind the open one")
}

// TestValues is case-15 and the two ways of records that do not parse.
func TestValues(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.produce(rec("in", 0, "a"), &kgo.Record{Topic: "in", Key: []byte("k")}, rec("in", 0, ""), rec("in", 0, "skip"), rec("in", 0, "b"))
	s := b.source(valueAndOffset, "topic", "in", "scan.bounded.mode", "latest-offset")
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	wantRows(t, readTexts(t, k), "a|0", "b|4")
	_, ranges, _ := k.Reader.Snapshot()
	if r := ranges[0]; r.Null != 2 || r.Rejected != 1 || r.Rows() != 2 || r.To != 5 {
		t.Errorf("%+v", r)
	}
	b.produce(&kgo.Record{Topic: "in", Value: []byte("bad"), Timestamp: time.UnixMilli(1700000000123)})
	s = b.source(valueAndOffset, "topic", "in", "scan.bounded.mode", "latest-offset")
	err := failure(t, task(t, s, connectortest.Discover(t, s, nil, nil), nil))
	wantError(t, err, fault.User, "'in'", "partition 0", "offset 5", "2023-11-14T22:13:20.123Z", "field 'v'", `"bad"`, "plain.ignore-parse-errors")
}

// TestOffsetsLost is case-14.
func TestOffsetsLost(t *testing.T) {
	offsetsLost(t, newBroker(t), "in")
}

func offsetsLost(t *testing.T, b *broker, topic string) {
	b.topic(topic, 1)
	b.fill(topic, 0, 0, 100)
	src := func(kv ...string) *source {
		return b.source([]connector.Column{valueColumn}, append([]string{"topic", topic}, kv...)...)
	}
	s := src()
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	await(t, k, 100)
	splits, _, _ := k.Reader.Snapshot()
	k.Close()
	b.fill(topic, 0, 100, 200)
	before := kadm.Offsets{}
	before.AddOffset(topic, 0, 150, -1)
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	t.Run("default", func(t *testing.T) {
		wantError(t, failure(t, task(t, src(), splits, nil)), fault.Lost, "'"+topic+"'", "partition 0", "offset 100", "150 to 199", "50 offsets are lost")
	})
	end := 200
	for _, reset := range []string{"earliest", "latest"} {
		t.Run(reset, func(t *testing.T) {
			log := &syncBuffer{}
			k := task(t, src("properties.auto.offset.reset", reset), splits, log)
			from := 150
			var got []string
			if reset == "earliest" {
				got = await(t, k, end-150)
			} else {
				from = end
				for k.Reader.Splits()[0].Position != int64(end) {
					if _, status, err := k.Poll(); err != nil || status == connector.Ended {
						t.Fatal(status, err)
					}
				}
			}
			b.fill(topic, 0, end, end+1)
			end++
			got = append(got, await(t, k, 1)...)
			wantRows(t, slices.Sorted(slices.Values(got)), texts(0, from, end)...)
			_, ranges, _ := k.Reader.Snapshot()
			skipped := int64(from - 100)
			if r := ranges[0]; r.Skipped != skipped || r.From != 100 || r.Rows() != int64(len(got)) {
				t.Errorf("%+v", r)
			}
			text := log.String()
			for _, part := range []string{"level=WARN", "from=100", fmt.Sprint("to=", from), fmt.Sprint("skipped=", skipped)} {
				if !strings.Contains(text, part) {
					t.Errorf("log lacks %q: %s", part, text)
				}
			}
			k.Metrics.Each(func(m metric.Sample) {
				if m.Name == "numSkippedOffsets" && m.Value != float64(skipped) {
					t.Errorf("numSkippedOffsets is %v", m.Value)
				}
			})
		})
	}
	t.Run("beyond", func(t *testing.T) {
		far := slices.Clone(splits)
		far[0].Position = 1000
		wantError(t, failure(t, task(t, src("properties.auto.offset.reset", "earliest"), far, nil)), fault.Lost, "offset 1000", "shorter")
	})
}

// TestCompacted reads a compacted topic, bounded at a hole.
func TestCompacted(t *testing.T) {
	b := newBroker(t)
	compacted(t, b, "in", b.fake.Compact)
}

// compactedTopic makes a topic that is compacted as soon as possible; a record a second later than the first of a segment begins a new one.
func compactedTopic(b *broker, topic string) {
	b.t.Helper()
	conf := map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "segment.ms": kadm.StringPtr("100"), "min.cleanable.dirty.ratio": kadm.StringPtr("0.001"),
		"max.compaction.lag.ms": kadm.StringPtr("200"), "delete.retention.ms": kadm.StringPtr("100")}
	if _, err := b.adm.CreateTopic(context.Background(), 1, 1, conf, topic); err != nil {
		b.t.Fatal(err)
	}
}

func compacted(t *testing.T, b *broker, topic string, compact func()) {
	compactedTopic(b, topic)
	begin := time.Now().Add(-time.Hour)
	for i, key := range []string{"a", "b", "b", "b", "b", "b", "c", "c", "c", "c", "c", "d"} {
		b.produce(&kgo.Record{Topic: topic, Key: []byte(key), Value: fmt.Appendf(nil, "%s%d", key, i), Timestamp: begin.Add(time.Duration(i) * time.Second)})
	}
	read := func(stop string) ([]string, account.Range) {
		s := b.source([]connector.Column{valueColumn}, "topic", topic, "scan.bounded.mode", "specific-offsets", "scan.bounded.specific-offsets", "partition:0,offset:"+stop)
		k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
		got := readTexts(t, k)
		_, ranges, _ := k.Reader.Snapshot()
		return got, ranges[0]
	}
	for deadline := time.Now().Add(90 * time.Second); ; {
		compact()
		got, r := read("10")
		if r.To != 10 || r.Rows() != int64(len(got)) {
			t.Fatalf("%+v, rows %q", r, got)
		}
		if len(got) == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not compacted: %q", got)
		}
	}
	got, _ := read("10")
	wantRows(t, got, "a0", "b5")
	got, r := read("12")
	wantRows(t, got, "a0", "b5", "c10", "d11")
	if r.Gaps != 8 || r.To != 12 {
		t.Errorf("%+v", r)
	}
}

// TestStartInTheTailOfABatch starts at an offset that a batch covers but holds no record for any more, bounded at the batch's end.
func TestStartInTheTailOfABatch(t *testing.T) {
	b := newBroker(t)
	tailOfABatch(t, b, "in", b.fake.Compact)
}

func tailOfABatch(t *testing.T, b *broker, topic string, compact func()) {
	compactedTopic(b, topic)
	begin := time.Now().Add(-time.Hour)
	var batch []*kgo.Record
	for i := range 10 {
		key := "k" + strconv.Itoa(min(i, 4))
		batch = append(batch, &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(key + "-" + strconv.Itoa(i)), Timestamp: begin})
	}
	if err := b.cl.ProduceSync(context.Background(), batch...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b.produce(&kgo.Record{Topic: topic, Key: []byte("k4"), Value: []byte("later" + strconv.Itoa(i)), Timestamp: begin.Add(time.Duration(i+1) * time.Minute)})
	}
	read := func(from string) ([]string, account.Range) {
		s := b.source([]connector.Column{valueColumn}, "topic", topic, "scan.startup.mode", "specific-offsets", "scan.startup.specific-offsets", "partition:0,offset:"+from,
			"scan.bounded.mode", "specific-offsets", "scan.bounded.specific-offsets", "partition:0,offset:10")
		k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
		got := readTexts(t, k)
		_, ranges, _ := k.Reader.Snapshot()
		return got, ranges[0]
	}
	for deadline := time.Now().Add(90 * time.Second); ; {
		compact()
		if got, _ := read("0"); len(got) == 4 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("not compacted: %q", got)
		}
	}
	for from, want := range map[string][]string{"2": {"k2-2", "k3-3"}, "3": {"k3-3"}, "4": nil, "7": nil} {
		got, r := read(from)
		wantRows(t, got, want...)
		if r.To != 10 || r.Rows() != int64(len(want)) {
			t.Errorf("from %s: %+v", from, r)
		}
	}
}

// TestMetrics: the source's metrics under Flink's names.
func TestMetrics(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.produce(rec("in", 0, "abc"), rec("in", 0, ""), rec("in", 0, "skip"), rec("in", 0, "de"))
	s := b.source(onlyValue, "topic", "in")
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	values := func() map[string]float64 {
		m := map[string]float64{}
		k.Metrics.Each(func(s metric.Sample) {
			name := s.Name
			for _, l := range s.Labels {
				name += "," + l.Name + "=" + l.Value
			}
			m[name] = s.Value
		})
		return m
	}
	if v, ok := values()["KafkaSourceReader.topic.partition.currentOffset,topic=in,partition=0"]; !ok || v != -1 {
		t.Errorf("currentOffset before the first record is %v, want -1", v)
	}
	await(t, k, 2)
	for name, want := range map[string]float64{"numRecordsIn": 4, "numBytesIn": 9, "numRecordsInErrors": 1, "numNullRecords": 1, "numSkippedOffsets": 0,
		"pendingRecords": 0, "KafkaSourceReader.topic.partition.currentOffset,topic=in,partition=0": 3} {
		if got, ok := values()[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestLag counts what is not read yet, without what a bounded read leaves.
func TestLag(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 3*batchRows)
	for _, stop := range []int64{2, 9000, 3 * batchRows} {
		s := b.source(onlyValue, "topic", "in", "scan.bounded.mode", "specific-offsets", "scan.bounded.specific-offsets", fmt.Sprintf("partition:0,offset:%d", stop))
		k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
		if lag := k.Reader.Lag(); lag != -1 && lag != stop {
			t.Errorf("lag %d before the first row, want %d or that it is not known", lag, stop)
		}
		for {
			_, status, err := k.Next()
			if err != nil {
				t.Fatal(err)
			}
			if lag, want := k.Reader.Lag(), stop-k.Reader.Splits()[0].Position; lag != want {
				t.Errorf("stop %d: lag %d, want %d", stop, lag, want)
			}
			if status == connector.Ended {
				break
			}
		}
	}
}

// TestOldBrokers: clusters whose topics have no ids (before 2.8), and whose records have no leader epochs in answers (before 2.1).
func TestOldBrokers(t *testing.T) {
	for name, versions := range map[string]*kversion.Versions{"2.7": kversion.V2_7_0(), "1.0": kversion.V1_0_0()} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t, kfake.MaxVersions(versions))
			b.topic("in", 2)
			b.fill("in", 0, 0, 100)
			b.fill("in", 1, 0, 200)
			connectortest.RunSource(t, connectortest.SourceCase{
				New: func(t testing.TB) connector.Source {
					return b.source(valueAndOffset, "topic", "in", "scan.bounded.mode", "latest-offset")
				},
				Schema: schemaOf(valueAndOffset), Rows: 300, NoOrigin: true})
			s := b.source(onlyValue, "topic", "in")
			splits := connectortest.Discover(t, s, nil, nil)
			splits[0].Position = 1000
			wantError(t, failure(t, task(t, s, splits, nil)), fault.Lost, "'in'", "partition 0", "offset 1000", "0 to 99")
		})
	}
}
