package blackhole

import (
	"strings"
	"testing"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/metric"
)

func TestCountsAndDrops(t *testing.T) {
	s, err := Factory.Sink(connector.Table{Options: config.NewValues("table b", map[string]string{"connector": "blackhole"}, nil)})
	if err != nil {
		t.Fatal(err)
	}
	r := metric.NewRegistry()
	w, err := s.NewWriter(connector.Context{Metrics: r.Group("table", "b")})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{3, 0, 4} {
		if err := w.Write(&changelog.Batch{Rows: rows}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.Group("table", "b").Counter("numRowsDropped").Value(); n != 7 {
		t.Errorf("%d rows", n)
	}
	if out, durable, err := w.Prepare(1); out != nil || durable != nil || err != nil {
		t.Error(out, err)
	}
}

func TestUnknownOption(t *testing.T) {
	_, err := Factory.Sink(connector.Table{Options: config.NewValues("table b", map[string]string{"connector": "blackhole", "rows": "1"}, nil)})
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "'rows'") {
		t.Error(err)
	}
}
