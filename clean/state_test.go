package clean

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/log"
)

// TestJobLog: what the entries of a job's log name, in whatever form, is named; what is not understood is an error.
func TestJobLog(t *testing.T) {
	entry := func(n int64, kind string, v any) log.Entry {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return log.Entry{N: n, Kind: kind, Body: b}
	}
	files := func(names ...string) (out []account.File) {
		for _, n := range names {
			out = append(out, account.File{Pending: "/lake/_DUMP_TEMPORARY/cp-1/task-0/" + n})
		}
		return out
	}
	target := checkpoint.Metadata{LogID: "L", ID: 2, Epoch: 3, Tables: map[string]checkpoint.Table{"/lake": {Files: files("c")}}}
	j := &jobLog{named: map[string]bool{}, folders: map[string]bool{}, tables: map[string]bool{}}
	for _, e := range []log.Entry{
		entry(7, account.KindComplete, checkpoint.Metadata{LogID: "L", ID: 2, Epoch: 3, Tables: map[string]checkpoint.Table{"/lake": {Files: files("a")},
			"/pond": {Directories: []string{"/pond/_DUMP_TEMPORARY/cp-2/task-1", "cp-2/task-0"}}}}),
		entry(8, account.KindEnd, account.End{LogID: "L"}),
		entry(9, account.KindBegin, account.Begin{LogID: "M", Renewed: true}),
		entry(10, account.KindRewind, checkpoint.Rewind{LogID: "M", Epoch: 9, Target: &target, Greatest: 5, Tables: map[string]account.Branch{"/sea": {}}}),
		entry(11, account.KindRewind, checkpoint.Rewind{LogID: "M", Epoch: 9}), // from nothing
		entry(12, account.KindComplete, checkpoint.Metadata{LogID: "M", ID: 6, Epoch: 9, Tables: map[string]checkpoint.Table{"/lake": {Files: files("b")}}}),
	} {
		if err := j.apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if j.logID != "M" || j.newest != 9 || j.ended || j.completed != 6 {
		t.Errorf("%+v", j)
	}
	for what, x := range map[string]struct {
		got  map[string]bool
		want []string
	}{"named": {j.named, []string{"a", "b", "c"}}, "folders": {j.folders, []string{"cp-2/task-0", "cp-2/task-1"}}, "tables": {j.tables, []string{"/lake", "/pond", "/sea"}}} {
		if got := slices.Sorted(maps.Keys(x.got)); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", what, got, x.want)
		}
	}
	for want, e := range map[string]log.Entry{
		"unknown kind": entry(13, "repair", nil),
		"format 99":    entry(13, account.KindComplete, checkpoint.Metadata{Version: 99}),
		"format 98":    entry(13, account.KindRewind, checkpoint.Rewind{Version: 98}),
		"invalid":      {N: 13, Kind: account.KindBegin, Body: []byte("invalid")},
	} {
		if err := j.apply(e); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, "alid")) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := j.apply(entry(14, account.KindEnd, nil)); err != nil || !j.ended {
		t.Error(err)
	}
}
