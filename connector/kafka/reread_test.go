package kafka

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/fault"
)

// again opens a reader of given offsets of a source without end.
func again(t *testing.T, s *source, split, origin string, from, to int64) *connectortest.Task {
	t.Helper()
	return connectortest.NewTaskOf(t, schemaOf(valueAndOffset), nil, func(ctx connector.Context) (connector.Reader, error) {
		return s.Reread(ctx, split, origin, from, to)
	})
}

// originOf reads a source a little way and gives what its account says that the offsets number.
func originOf(t *testing.T, s *source) string {
	t.Helper()
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	await(t, k, 1)
	_, ranges, _ := k.Reader.Snapshot()
	k.Close()
	return ranges[0].Origin
}

// TestReread: of an unbounded source offsets are read again to their end, and what retention took of them is counted, whatever the table's
// properties.auto.offset.reset.
func TestReread(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 100)
	for _, reset := range []string{"", "latest"} {
		s := b.source(valueAndOffset, "topic", "in", "properties.auto.offset.reset", reset)
		origin := originOf(t, s)
		wantRows(t, readTexts(t, again(t, s, "in-0", origin, 20, 23)), "0:20|20", "0:21|21", "0:22|22")
	}
	s := b.source(valueAndOffset, "topic", "in")
	origin := originOf(t, s)
	before := kadm.Offsets{}
	before.AddOffset("in", 0, 40, -1)
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to, skipped int64
		rows              []string
	}{{38, 42, 2, []string{"0:40|40", "0:41|41"}}, {3, 5, 2, nil}, {40, 41, 0, []string{"0:40|40"}}} {
		k := again(t, s, "in-0", origin, c.from, c.to)
		wantRows(t, readTexts(t, k), c.rows...)
		if _, ranges, _ := k.Reader.Snapshot(); ranges[0].Skipped != c.skipped || ranges[0].To != c.to {
			t.Errorf("%d to %d: %+v", c.from, c.to, ranges[0])
		}
		if first, ok := k.Reader.(connector.Beginner).Beginning("in-0"); ok != (c.skipped > 0) || ok && first != 40 {
			t.Errorf("%d to %d: the topic begins at %d (%t)", c.from, c.to, first, ok)
		}
	}
	wantError(t, failure(t, again(t, s, "in-0", origin, 120, 121)), fault.Lost, "offset 120", "shorter")
}

// TestRereadOtherTopic: the records of a topic that was created anew under the same name are others.
func TestRereadOtherTopic(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 10)
	s := b.source(valueAndOffset, "topic", "in")
	origin := originOf(t, s)
	if _, err := b.adm.DeleteTopics(context.Background(), "in"); err != nil {
		t.Fatal(err)
	}
	b = b.client() // the former one remembers the topic's id
	b.topic("in", 1)
	b.fill("in", 0, 0, 10)
	wantError(t, failure(t, again(t, s, "in-0", origin, 2, 4)), fault.Lost, "created again")
	ctx, _, _ := connectortest.NewContext(nil)
	for _, c := range []struct{ split, origin, want string }{{"in", origin, "no partition"}, {"other-0", origin, "'other'"}, {"in-0", "", "which topic"}, {"in-0", originPrefix, "gave topic 'in' no id"}} {
		_, err := s.Reread(ctx, c.split, c.origin, 0, 1)
		wantError(t, err, fault.User, c.want)
	}
}

// TestOriginWithoutIDs: where topics have no ids nothing says which topic offsets number, and nothing is read again.
func TestOriginWithoutIDs(t *testing.T) {
	b := newBroker(t, kfake.MaxVersions(kversion.V2_7_0()))
	b.topic("in", 1)
	b.fill("in", 0, 0, 10)
	if origin := originOf(t, b.source(valueAndOffset, "topic", "in")); origin != "" {
		t.Errorf("origin %q", origin)
	}
}
