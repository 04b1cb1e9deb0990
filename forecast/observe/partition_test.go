package observe

import (
	"testing"
	"time"

	"staunch/connector"
	"staunch/dataflow"
	"staunch/forecast"
)

// shared is the table of two INSERTs; its only partition is that of NULL.
type shared struct{ connector.Sink }

func (*shared) PartitionValues(string) ([]*string, bool) { return []*string{nil}, true }

func (*shared) FileSurvey() connector.FileSurvey {
	return connector.FileSurvey{Keys: []string{"k"}, DefaultPartition: "none"}
}

func (*shared) PartitionTime([]*string) (time.Time, error) { return time.Time{}, nil }

// TestDefaultRowsOfTwoInserts: of two INSERTs into one table, each has the rows without a partition value that are its own, of all subtasks.
func TestDefaultRowsOfTwoInserts(t *testing.T) {
	branches := []dataflow.Branch{{Sink: &shared{}}, {}}
	branches[1].Sink = branches[0].Sink
	r := &run{src: &dataflow.Source{Branches: branches}, sinks: make([]forecast.Sink, 2)}
	for i := range r.sinks {
		r.sinks[i].Files, r.sinks[i].Keys = true, []string{"k"}
	}
	for range 2 {
		x := &task{}
		for i := range branches {
			x.branches = append(x.branches, &branch{Branch: &branches[i], rows: map[string]int64{"k=none": int64(3 + 4*i)}})
		}
		r.tasks = append(r.tasks, x)
	}
	r.collect(1)
	for i, want := range []int64{6, 14} {
		if x := r.sinks[i].Sample; x.Defaults != want || len(x.Values) != 1 || x.Values[0][0] != "none" {
			t.Errorf("INSERT %d: %d rows without a value, want %d; %v", i, x.Defaults, want, x.Values)
		}
	}
}
