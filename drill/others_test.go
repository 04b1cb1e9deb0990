package drill

import (
	"testing"

	"staunch/account"
)

// TestExplains: a job that runs explains what its protocol lets it do, to names of its own, and nothing else; without one nothing is explained but
// that records come to a topic.
func TestExplains(t *testing.T) {
	name := func(job string, epoch account.Epoch) string {
		return account.FileName{Job8: account.Job8(job), Checkpoint: 7, Epoch: epoch, Rand: "0123456789abcdef01234567", Ext: "parquet"}.String()
	}
	table := Exhibit{kind: ofTable, uri: "/t", success: "_SUCCESS", Values: map[string]string{"_superseded/4/dt=1/" + name("job", 1): ""}}
	own := Exhibit{kind: ofCheckpoints, job: "job"}
	topic := Exhibit{kind: ofTopic, readers: []string{"job"}}
	o := &Others{running: map[string]bool{"job": true}, last: map[string]int64{"job": 20},
		writers: map[string]map[string]*writer{"/t": {"job": {job8: account.Job8("job"), epoch: 2, last: 9, root: "/t", removed: map[string]int64{"/t/amended/" + name("job", 2): 3}}}}}
	for _, c := range []struct {
		x             *Exhibit
		name, was, is string
		want          bool
	}{
		{&table, "dt=1/" + name("job", 2), "", "5 bytes", true},
		{&table, "dt=1/" + name("job", 2), "5 bytes", "", false},        // a visible file is gone
		{&table, "dt=1/" + name("job", 2), "5 bytes", "6 bytes", false}, // or another
		{&table, "dt=1/" + name("job", 1), "5 bytes", "", true},         // superseded
		{&table, "amended/" + name("job", 2), "5 bytes", "", true},
		{&table, "dt=1/" + name("job", 3), "", "5 bytes", false}, // of a process that has claimed nothing
		{&table, "dt=1/" + name("other", 2), "", "5 bytes", false},
		{&table, "dt=1/part-0-0.parquet", "", "5 bytes", false},
		{&table, "dt=1/", "", "folder", true},
		{&table, "dt=1/", "folder", "", false},
		{&table, "dt=1/_SUCCESS", "", "0 bytes", true},
		{&table, "dt=1/_SUCCESS", "0 bytes", "", false},
		{&table, "_DUMP_TEMPORARY/cp-7/", "folder", "", true},
		{&table, "_DUMP_TEMPORARY/cp-7/" + name("job", 2) + ".pending", "5 bytes", "", true},
		{&table, "_DUMP_TEMPORARY/cp-7/" + name("other", 2) + ".pending", "5 bytes", "", false},
		{&table, "_staunch/job/10.staunch", "", "5 bytes", true},
		{&table, "_staunch/job/3.staunch", "5 bytes", "", true},
		{&table, "_staunch/job/9.staunch", "5 bytes", "", false}, // the newest entry is gone
		{&table, "_staunch/job/3.staunch", "5 bytes", "6 bytes", false},
		{&table, "_staunch/other/3.staunch", "5 bytes", "", false},
		{&own, "log/21", "", "5 bytes", true},
		{&own, "log/3", "5 bytes", "", true},
		{&own, "log/20", "5 bytes", "", false},
		{&own, "log/3", "5 bytes", "6 bytes", false},
		{&own, "trace/1", "5 bytes", "6 bytes", true},
		{&own, "notes", "5 bytes", "", false},
		{&topic, endOf + "t-0", "5", "6", true},
		{&topic, endOf + "t-0", "5", "4", false},
		{&topic, endOf + "t-0", "5", "", false},
		{&topic, "offset of group g in t-0", "5", "6", true},
		{&topic, "offset of group g in t-0", "6", "5", false},
	} {
		if got := o.explains(c.x, c.name, c.was, c.is); got != c.want {
			t.Errorf("%s %s, %q -> %q: explained %t", c.x.kind, c.name, c.was, c.is, got)
		}
		records := c.x.kind == ofTopic && c.was == "5" && c.is == "6" && c.name == endOf+"t-0"
		if (&Others{}).explains(c.x, c.name, c.was, c.is) != records {
			t.Errorf("%s %s, %q -> %q: explained by nobody", c.x.kind, c.name, c.was, c.is)
		}
	}
}
