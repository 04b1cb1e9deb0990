package kafka

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"staunch/connector"
	"staunch/connector/connectortest"
)

// TestWindow: a part of a topic is read, from wherever it begins, though more comes meanwhile; and an onlooker sees ends and group.
func TestWindow(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 2)
	b.fill("in", 0, 0, 10)
	b.fill("in", 1, 0, 10)
	offsets := kadm.Offsets{}
	offsets.AddOffset("in", 0, 4, -1)
	if err := b.adm.CommitAllOffsets(context.Background(), "g", offsets); err != nil {
		t.Fatal(err)
	}
	s := b.source([]connector.Column{valueColumn}, "topic", "in", "scan.bounded.mode", "latest-offset", "properties.group.id", "g")
	splits := connectortest.Discover(t, s, nil, nil)
	for i, sp := range splits {
		from, to, err := s.Window(sp)
		if err != nil || from != 0 || to != 10 {
			t.Fatalf("%s: %d..%d, %v", sp.ID, from, to, err)
		}
		if splits[i], err = s.Narrow(sp, int64(2+i), int64(5+i)); err != nil {
			t.Fatal(err)
		}
	}
	b.fill("in", 0, 10, 20)
	wantRows(t, readTexts(t, task(t, s, splits, nil)), append(texts(0, 2, 5), texts(1, 3, 6)...)...)
	if _, _, err := s.Window(connector.Split{ID: "in-0", State: []byte("?")}); err == nil {
		t.Error("a state that cannot be read is taken")
	}
	ctx, _, _ := connectortest.NewContext(&syncBuffer{})
	st, err := s.Stand(ctx)
	if err != nil || st.Ends["in-0"] != 20 || st.Ends["in-1"] != 10 || st.Group != "g" || st.Committed["in-0"] != 4 || len(st.Committed) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	unbounded := b.source([]connector.Column{valueColumn}, "topic", "in")
	if _, to, err := unbounded.Window(connectortest.Discover(t, unbounded, nil, nil)[0]); err != nil || to != -1 {
		t.Errorf("without an end: %d, %v", to, err)
	}
}
