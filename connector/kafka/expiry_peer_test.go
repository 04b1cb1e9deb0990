//go:build peer

package kafka

import (
	"context"
	"strings"
	"testing"
	"time"

	"staunch/connector"
)

func TestPeerExpiryTime(t *testing.T) { b, topic := peer(t); expiryTime(t, b, topic) }

// TestPeerExpirySize asks a real broker for sizes and times, and is right about what it keeps: the log is never cut to less than retention.bytes.
func TestPeerExpirySize(t *testing.T) {
	b, topic := peer(t)
	const most, each = 2 << 20, 100_000
	conf := map[string]*string{}
	for k, v := range map[string]string{"retention.bytes": "2097152", "segment.bytes": "1048576", "retention.ms": "-1", "compression.type": "uncompressed"} {
		conf[k] = &v
	}
	if _, err := b.adm.CreateTopic(context.Background(), 1, 1, conf, topic); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Truncate(time.Millisecond)
	fill := func(n int) {
		t.Helper()
		for range n {
			b.produce(rec(topic, 0, strings.Repeat("x", each)))
		}
	}
	src := b.source([]connector.Column{valueColumn}, "topic", topic)
	fill(10)
	r := look(t, src, 4)[0]
	if r.Start != 0 || r.End != 10 || r.MaxBytes != most || r.MaxAge >= 0 || r.Unknown != "" {
		t.Fatalf("%+v", r)
	}
	if r.SizeBytes < 10*each || r.SizeBytes > 11*each {
		t.Errorf("%d bytes of 10 times %d", r.SizeBytes, each)
	}
	if r.Oldest.Before(began) || r.Newest.Before(r.Oldest) || r.Newest.After(time.Now()) {
		t.Errorf("began %v, oldest %v, newest %v", began, r.Oldest, r.Newest)
	}
	fill(50)
	deadline := time.Now().Add(time.Minute) // the broker looks at retentions by itself, and gives no notice
	for r = look(t, src, 4)[0]; r.Start <= 4; r = look(t, src, 4)[0] {
		if time.Now().After(deadline) {
			t.Fatalf("the broker keeps all: %+v", r)
		}
	}
	if r.Position != 4 || r.End != 60 || r.SizeBytes < most {
		t.Errorf("%+v", r)
	}
}
