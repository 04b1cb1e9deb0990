//go:build peer

package kafka

import (
	"os"
	"syscall"
	"testing"
	"time"

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

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead reads the topic KAFKA_BENCH_TOPIC to its end with a decoder that does nothing: what the source itself costs.
func BenchmarkRead(b *testing.B) {
	topic := os.Getenv("KAFKA_BENCH_TOPIC")
	if topic == "" {
		b.Skip("KAFKA_BENCH_TOPIC is not set")
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
