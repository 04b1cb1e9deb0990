//go:build peer

package scenario

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/test/peer"
)

// losesAll runs a job that is killed in front of its first certificate, takes all files of it, and lets the job find that.
func losesAll(t *testing.T, s *script) {
	t.Helper()
	s.start("STAUNCH_FAILPOINT=certificate.before").killed()
	remove(t, pending(t, s.path("lake"))...)
	s.start().exits(1).says("--repair")
}

// group gives the offsets that the job's consumer group has committed, and how many members it has.
func (k *topic) group() (out []string, members int) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	got, err := k.adm.FetchOffsets(ctx, k.name)
	if err != nil {
		k.t.Fatal(err)
	}
	got.Each(func(o kadm.OffsetResponse) { out = append(out, fmt.Sprintf("%s-%d: %d", o.Topic, o.Partition, o.At)) })
	slices.Sort(out)
	all, err := k.adm.DescribeGroups(ctx, k.name)
	if err != nil {
		k.t.Fatal(err)
	}
	return out, len(all[k.name].Members)
}

// TestRepairFromKafka: from a real broker, whose group is left alone; the rows are counted by DuckDB.
func TestRepairFromKafka(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 2)
	k.fill(0, 1, 500)
	k.fill(1, 501, 1000)
	s := newScript(t, k.copyJob(bounded))
	losesAll(t, s)
	before, _ := k.group()
	s.repair().exits(0).says("repaired: ", "start the job again")
	if now, members := k.group(); !slices.Equal(now, before) || members > 0 {
		t.Errorf("the group had %v, has %v and %d members", before, now, members)
	}
	s.start().exits(0)
	wantIDs(t, s.path("lake"), span(1, 1000))
	s.exact(s.path("lake"), 2, 500)
}

// TestRepairTransactions: of a topic with transactions only what is committed comes back, and markers and aborted records count for nothing. Then a
// record is gone: nothing is written, and it is named.
func TestRepairTransactions(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	cl, err := kgo.NewClient(kgo.SeedBrokers(peer.Kafka(t)), kgo.TransactionalID(k.name), kgo.DefaultProduceTopic(k.name))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			id := 10*i + n + 1
			if err := cl.ProduceSync(context.Background(), &kgo.Record{Value: fmt.Appendf(nil, `{"id":%d,"v":"r%d","dt":"2024-01-01"}`, id, id)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cl.EndTransaction(context.Background(), end); err != nil {
			t.Fatal(err)
		}
	}
	k.stable(0, 3*(10+1))
	s := newScript(t, k.copyJob(bounded, "'properties.isolation.level'='read_committed'"))
	losesAll(t, s)
	s.repair().exits(0).says("repaired: ", k.name+"-0 offsets 0..9 22..31")
	s.start().exits(0)
	wantIDs(t, s.path("lake"), span(1, 10), span(21, 30))
	s.verified(s.path("lake"))

	k.fill(0, 31, 40)
	s = newScript(t, k.copyJob(bounded, "'properties.isolation.level'='read_committed'"))
	losesAll(t, s)
	gone := kadm.Offsets{}
	gone.AddOffset(k.name, 0, 3, -1)
	if _, err := k.adm.DeleteRecords(context.Background(), gone); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, s.path("lake", "_staunch"))
	s.repair().exits(1).says("refused: ", "3 of its 30 offsets", k.name+"-0 offsets 0..2 (3)", "first offset is 3 now: retention", "still lost: 1")
	unchanged(t, s.path("lake", "_staunch"), before)
}
