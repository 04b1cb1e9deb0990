//go:build peer

package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	k := &topic{t: t, name: name}
	k.connect()
	k.create(partitions, settings...)
	return k
}

// connect makes a client that knows nothing of the topic yet.
func (k *topic) connect() {
	k.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(peer.Kafka(k.t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(20<<20), kgo.BrokerMaxWriteBytes(64<<20), kgo.MetadataMinAge(50*time.Millisecond), kgo.UnknownTopicRetries(-1))
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(cl.Close)
	k.cl, k.adm = cl, kadm.NewClient(cl)
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
	k.has(partitions)
}

// has waits until the broker tells of so many partitions, each with a leader.
func (k *topic) has(partitions int32) {
	k.t.Helper()
	until(k.t, fmt.Sprintf("%d partitions of topic %s", partitions, k.name), nil, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		ts, err := k.adm.ListTopics(ctx, k.name)
		if err != nil || len(ts[k.name].Partitions) != int(partitions) {
			return false
		}
		for _, p := range ts[k.name].Partitions {
			if p.Leader < 0 || p.Err != nil {
				return false
			}
		}
		return true
	})
	k.connect()
}

// stable waits until readers of what is committed see a partition up to an offset: brokers write a transaction's marker after its end was acknowledged.
func (k *topic) stable(partition int32, offset int64) {
	k.t.Helper()
	until(k.t, fmt.Sprintf("offset %d of %s-%d", offset, k.name, partition), nil, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		ends, err := k.adm.ListCommittedOffsets(ctx, k.name)
		o, ok := ends.Lookup(k.name, partition)
		return err == nil && ok && o.Err == nil && o.Offset >= offset
	})
}

// grow adds partitions up to so many.
func (k *topic) grow(partitions int32) {
	k.t.Helper()
	until(k.t, "more partitions", nil, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		ts, err := k.adm.ListTopics(ctx, k.name)
		if err == nil && len(ts[k.name].Partitions) < int(partitions) {
			_, err = k.adm.UpdatePartitions(ctx, int(partitions), k.name)
		}
		return err == nil
	})
	k.has(partitions)
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

// verified wants the audit and the independent verifier to find the table in order.
func (s *script) verified(table string) {
	s.t.Helper()
	s.audited(table)
	launch(s.t, exec.Command(os.Getenv("TESTBED_PYTHON"), filepath.Join("..", "verifier", "verify.py"), table)).exits(0)
}
