//go:build peer

package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/test/peer"
)

var topics atomic.Int64

// topic is a Kafka topic of one test.
type topic struct {
	t    *testing.T
	name string
	cl   *kgo.Client
	adm  *kadm.Client
}

// newTopic creates a topic with so many partitions; settings are pairs of name and value.
func newTopic(t *testing.T, partitions int32, settings ...string) *topic {
	t.Helper()
	name := fmt.Sprintf("scn-%d-%d", time.Now().UnixNano(), topics.Add(1))
	cl, err := kgo.NewClient(kgo.SeedBrokers(peer.Kafka(t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(20<<20), kgo.BrokerMaxWriteBytes(64<<20), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	k := &topic{t: t, name: name, cl: cl, adm: kadm.NewClient(cl)}
	k.create(partitions, settings...)
	return k
}

// create makes the topic, anew after delete.
func (k *topic) create(partitions int32, settings ...string) {
	k.t.Helper()
	conf := map[string]*string{}
	for i := 0; i+1 < len(settings); i += 2 {
		conf[settings[i]] = &settings[i+1]
	}
	until(k.t, "topic "+k.name, nil, func() bool { // the broker may be killed by another test just now
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_, err := k.adm.CreateTopic(ctx, partitions, 1, conf, k.name)
		return err == nil || errors.Is(err, kerr.TopicAlreadyExists)
	})
}

// sql is the WITH clause's options of a table that reads the topic from its beginning; more options may follow.
func (k *topic) sql(more ...string) string {
	k.t.Helper()
	opts := append([]string{"'connector'='kafka'", "'topic'='" + k.name + "'", "'properties.bootstrap.servers'='" + peer.Kafka(k.t) + "'",
		"'properties.group.id'='" + k.name + "'", "'scan.startup.mode'='earliest-offset'", "'format'='json'"}, more...)
	return strings.Join(opts, ", ")
}

const bounded = "'scan.bounded.mode'='latest-offset'"

// raw produces values; nil is a tombstone.
func (k *topic) raw(partition int32, values ...[]byte) {
	k.t.Helper()
	var rs []*kgo.Record
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: k.name, Partition: partition, Key: []byte("k"), Value: v})
	}
	if err := k.cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		k.t.Fatal(err)
	}
}

// fill produces {"id":i,"v":"r<i>","dt":"2024-01-01"} for i from a to b.
func (k *topic) fill(partition int32, a, b int64) {
	k.t.Helper()
	var v [][]byte
	for i := a; i <= b; i++ {
		v = append(v, fmt.Appendf(nil, `{"id":%d,"v":"r%d","dt":"2024-01-01"}`, i, i))
	}
	k.raw(partition, v...)
}

// copyJob is the statement file of most tests: the topic, copied to the JSON table $DIR/lake.
func (k *topic) copyJob(more ...string) string {
	return "CREATE TABLE src (id BIGINT, v STRING, dt STRING, part INT METADATA FROM 'partition' VIRTUAL, off BIGINT METADATA FROM 'offset' VIRTUAL) WITH (" +
		k.sql(more...) + ");\n" + lake("lake") + "INSERT INTO lake SELECT id, v, part, off, dt FROM src;\n"
}

// lake is a JSON table below the test's folder.
func lake(name string) string {
	return "CREATE TABLE " + name + " (id BIGINT, v STRING, part INT, off BIGINT, dt STRING) PARTITIONED BY (dt) WITH ('connector'='filesystem', 'path'='$DIR/" +
		name + "', 'format'='json');\n"
}

// seen waits until a table has so many visible rows.
func (p *process) seen(table string, n int) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%d rows in %s", n, table), p, func() bool { return len(rows(p.t, table)) >= n })
}
