package account

import "testing"

func TestFileName(t *testing.T) {
	n := FileName{Job8: Job8("orders"), Subtask: 3, Checkpoint: 17, Epoch: 5, Seq: 0, Rand: "0123456789abcdef01234567", Ext: "parquet"}
	got, ok := ParseFileName(n.String())
	if !ok || got != n {
		t.Fatalf("%s: %+v %v", n, got, ok)
	}
	for _, bad := range []string{
		"", "part",
		"part-" + n.Job8 + "-3-17-5-0-0123456789abcdef01234567",          // no extension
		"part-" + n.Job8 + "-3-17-5-0-0123456789abcdef0123456.parquet",   // too short
		"part-" + n.Job8 + "-03-17-5-0-0123456789abcdef01234567.parquet", // another spelling of a number
		"part-" + n.Job8 + "-+3-17-5-0-0123456789abcdef01234567.parquet",
		"part-" + n.Job8 + "-3--7-5-0-0123456789abcdef01234567.parquet",
		"part-" + n.Job8 + "-3-17-5-0-0123456789ABCDEF01234567.parquet",
		"part-0123456-3-17-5-0-0123456789abcdef01234567.parquet",
		"part-0123456g-3-17-5-0-0123456789abcdef01234567.parquet",
		"part-" + n.Job8 + "-3-17-99999999999999999999-0-0123456789abcdef01234567.parquet",
		"task_dorado_111111111_2_17.1700000000000",
	} {
		if got, ok := ParseFileName(bad); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func TestProbeName(t *testing.T) {
	name := ProbeName(Job8("a"), 7, "0123456789abcdef01234567")
	if job8, epoch, ok := ParseProbeName(name); !ok || job8 != Job8("a") || epoch != 7 {
		t.Errorf("%s: %s %d %v", name, job8, epoch, ok)
	}
	for _, bad := range []string{"", "probe", name + "x", "x" + name, "probe-" + Job8("a") + "-07-0123456789abcdef01234567.probe"} {
		if _, _, ok := ParseProbeName(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestRepairName(t *testing.T) {
	name := RepairName(Job8("a"), 17, "0123456789abcdef01234567", "parquet")
	if job8, id, ok := ParseRepairName(name); !ok || job8 != Job8("a") || id != 17 {
		t.Errorf("%s: %s %d %v", name, job8, id, ok)
	}
	for _, bad := range []string{"", "repair", name + "x", "x" + name, "repair-" + Job8("a") + "-017-0123456789abcdef01234567.parquet.pending",
		"repair-" + Job8("a") + "-17-0123456789abcdef01234567.parquet", "repair-" + Job8("a") + "-17-0123456789abcdef01234567.pending"} {
		if _, _, ok := ParseRepairName(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestStood: the folder in front of the last temporary one, whatever the table's own path has in it.
func TestStood(t *testing.T) {
	for pending, want := range map[string]string{
		"/a/lake/_DUMP_TEMPORARY/cp-2/task-0/x.pending": "/a/lake", "/a/_DUMP_TEMPORARY/lake/_DUMP_TEMPORARY/x.pending": "/a/_DUMP_TEMPORARY/lake",
		"/a/lake/x.json": "", "/_DUMP_TEMPORARY/x.pending": "", "": "",
	} {
		if got := (&File{Pending: pending}).Stood(); got != want {
			t.Errorf("%s: %q, not %q", pending, got, want)
		}
	}
}
