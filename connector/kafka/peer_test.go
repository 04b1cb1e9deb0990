//go:build peer

package kafka

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/types"
)

// bootstrap is the address of a real broker.
func bootstrap(t testing.TB) string {
	t.Helper()
	b := os.Getenv("KAFKA_BOOTSTRAP")
	if b == "" {
		t.Fatal("KAFKA_BOOTSTRAP is not set: it must name a running broker, host:port")
	}
	return b
}

// peer connects to the real broker and gives the test a topic name of its own.
func peer(t testing.TB) (*broker, string) {
	t.Helper()
	topic := fmt.Sprintf("source-%s-%d", strings.ToLower(t.Name()[len("TestPeer"):]), time.Now().UnixNano())
	b := connectTo(t, bootstrap(t))
	t.Cleanup(func() { _, _ = b.adm.DeleteTopic(context.Background(), topic) })
	return b, topic
}

func TestPeerGapsAtTheEnd(t *testing.T) { b, topic := peer(t); gapsAtTheEnd(t, b, topic) }

func TestPeerInterleaved(t *testing.T) { b, topic := peer(t); interleaved(t, b, topic) }

func TestPeerOffsetsLost(t *testing.T) { b, topic := peer(t); offsetsLost(t, b, topic) }

func TestPeerRecreated(t *testing.T) { b, topic := peer(t); recreatedTopic(t, b, topic) }

func TestPeerInspect(t *testing.T) { b, topic := peer(t); inspected(t, b, topic) }

func TestPeerInspectCompacted(t *testing.T) {
	b, topic := peer(t)
	inspectCompacted(t, b, topic, cleaner)
}

// cleaner gives the broker's log cleaner, which runs by itself and gives no notice, time to run.
func cleaner() { <-time.After(500 * time.Millisecond) }

func TestPeerCompacted(t *testing.T) {
	b, topic := peer(t)
	compacted(t, b, topic, cleaner)
}

func TestPeerStartInTheTailOfABatch(t *testing.T) {
	b, topic := peer(t)
	tailOfABatch(t, b, topic, cleaner)
}

func TestPeerConformance(t *testing.T) {
	b, topic := peer(t)
	b.topic(topic, 4)
	for i, codec := range []kgo.CompressionCodec{kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.SnappyCompression(), kgo.GzipCompression()} {
		connectTo(t, b.addrs, kgo.ProducerBatchCompression(codec)).fill(topic, int32(i), 0, 5000*i)
	}
	connectortest.RunSource(t, connectortest.SourceCase{
		New: func(t testing.TB) connector.Source {
			return b.source(valueAndOffset, "topic", topic, "scan.bounded.mode", "latest-offset")
		},
		Schema: schemaOf(valueAndOffset), Rows: 30_000})
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead reads the topic KAFKA_BENCH_TOPIC to its end with a decoder that does nothing: what the source itself costs.
func BenchmarkRead(b *testing.B) {
	topic := os.Getenv("KAFKA_BENCH_TOPIC")
	if topic == "" {
		b.Fatal("KAFKA_BENCH_TOPIC is not set: it must name a topic with a million records or so")
	}
	columns := []connector.Column{{Name: "partition", Type: types.New(types.Int), Metadata: "partition"}, {Name: "offset", Type: types.New(types.BigInt), Metadata: "offset"}}
	src := newTestSource(b, columns, "properties.bootstrap.servers", bootstrap(b), "topic", topic, "format", "nothing", "scan.bounded.mode", "latest-offset")
	for b.Loop() {
		splits := connectortest.Discover(b, src, nil, nil)
		begin := cpu()
		task := connectortest.NewTask(b, src, schemaOf(columns), splits, os.Stderr)
		rows := task.Discard()
		task.Close()
		b.ReportMetric(float64(cpu()-begin)/1e9/float64(rows)*1e6, "cpu-s/Mrec")
		b.ReportMetric(float64(rows), "rows")
	}
}
