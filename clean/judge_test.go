package clean

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
)

var (
	now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	old = now.Add(-8 * 24 * time.Hour)
)

const week = 7 * 24 * time.Hour

// part is the name of a pending file of job orders.
func part(task int, id account.CheckpointID, epoch account.Epoch, rand string) string {
	return account.FileName{Job8: account.Job8("orders"), Subtask: task, Checkpoint: id, Epoch: epoch,
		Rand: strings.Repeat("0", 24-len(rand)) + rand, Ext: "json"}.String() + account.PendingSuffix
}

func under(dir, name string) Found { return Found{Path: dir + "/" + name, Size: 10, Modified: old} }

// verdicts gives what becomes of each path: the kind that is removed, or the reason why it stays; "" for folders that are simply left.
func verdicts(p Plan) map[string]string {
	out := map[string]string{}
	for _, r := range p.Remove {
		out[r.Path] = string(r.Kind)
	}
	for _, l := range p.Left {
		out[l.Path] = string(l.Reason)
	}
	return out
}

func TestJudgeTemporary(t *testing.T) {
	const tmp, rest = "/t/_DUMP_TEMPORARY", "000000000000000000000001"
	young := under(tmp+"/cp-3/task-0", part(0, 3, 4, "b"))
	young.Modified = now.Add(-time.Hour)
	link := under(tmp+"/cp-3/task-0", part(0, 3, 4, "c"))
	link.Symlink = true
	fresh := under(tmp, account.RepairName(account.Job8("orders"), 5, rest, "json"))
	fresh.Modified = now.Add(-time.Hour)
	s := &State{Job: "orders", Completed: 7, Owners: []Owner{{LogID: "L", Own: true, Newest: 9}},
		Repairing: map[string]bool{account.RepairName(account.Job8("orders"), 4, rest, "json"): true},
		Named:     map[string]bool{part(0, 3, 4, "d"): true}, Folders: map[string]bool{"cp-5/task-1": true}}
	for _, x := range []struct {
		f    Found
		want string
	}{
		{under(tmp+"/cp-3/task-0", part(0, 3, 4, "a")), string(Pending)},
		{young, string(Young)},
		{link, string(Foreign)},
		{under(tmp+"/cp-3/task-0", part(0, 3, 4, "d")), string(Named)},
		{under(tmp+"/cp-3/task-0", part(0, 3, 9, "a")), string(Running)},
		{under(tmp+"/cp-3/task-0", part(0, 3, 10, "a")), string(Running)},
		{under(tmp+"/cp-5/task-1", part(1, 5, 4, "a")), string(InFolder)},
		{under(tmp+"/cp-3/task-1", part(0, 3, 4, "a")), string(Foreign)}, // not in the folder that the name tells
		{under(tmp+"/cp-4/task-0", part(0, 3, 4, "a")), string(Foreign)},
		{under(tmp, part(0, 3, 4, "a")), string(Foreign)},
		{under(tmp+"/cp-3/task-0/dt=1", part(0, 3, 4, "a")), string(Foreign)},
		{under(tmp+"/cp-3/task-0", strings.TrimSuffix(part(0, 3, 4, "a"), ".pending")), string(Foreign)},
		{under(tmp+"/cp-3/task-0", part(0, 3, 4, "a")+".crc"), string(Foreign)},
		{under(tmp+"/cp-3/task-0", strings.Replace(part(0, 3, 4, "a"), account.Job8("orders"), account.Job8("other"), 1)), string(OtherJob)},
		{under(tmp+"/cp-3/task-0", "task_dorado_111111111_0_3.1700000000000"), string(Foreign)},
		{under(tmp, account.ProbeName(account.Job8("orders"), 4, rest)), string(Probe)},
		{under(tmp, account.ProbeName(account.Job8("orders"), 9, rest)), string(Running)},
		{under(tmp, account.ProbeName(account.Job8("orders"), 0, rest)), string(Probe)},
		{under(tmp, account.ProbeName(account.Job8("other"), 4, rest)), string(OtherJob)},
		{under(tmp, account.RepairName(account.Job8("orders"), 3, rest, "json")), string(Replacement)},
		{under(tmp, account.RepairName(account.Job8("orders"), 4, rest, "json")), string(Repairing)},
		{under(tmp, account.RepairName(account.Job8("other"), 3, rest, "json")), string(OtherJob)},
		{under(tmp+"/cp-3/task-0", account.RepairName(account.Job8("orders"), 3, rest, "json")), string(Foreign)},
		{fresh, string(Young)},
		{under(tmp+"/cp-3", account.ProbeName(account.Job8("orders"), 4, rest)), string(Foreign)},
	} {
		got := verdicts(Judge(Listing{Root: "/t", Temporary: []Found{x.f}}, s, now, week))
		if got[x.f.Path] != x.want {
			t.Errorf("%s: %q, want %q", x.f.Path, got[x.f.Path], x.want)
		}
	}
}

// TestJudgeOwners: names carry no log's identity, so an epoch must be over in every log that has claimed the table.
func TestJudgeOwners(t *testing.T) {
	own := Owner{LogID: "L", Own: true, Newest: 20}
	for _, x := range []struct {
		name  string
		other Owner
		epoch account.Epoch
		want  string
	}{
		{"over in both", Owner{Newest: 9, Claimed: 9}, 5, string(Pending)},
		{"the other's newest attempt", Owner{Newest: 9, Claimed: 9}, 9, string(Elsewhere)},
		{"the other has begun once more, without a claim", Owner{Newest: 11, Claimed: 9}, 9, string(Pending)},
		{"the other never had that epoch", Owner{Newest: 9, Claimed: 9}, 10, string(Pending)},
		{"the other has ended", Owner{Newest: 9, Claimed: 9, Ended: true}, 9, string(Pending)},
		{"the other cannot be read", Owner{Lost: true, Claimed: 9}, 5, string(Elsewhere)},
		{"the other cannot be read, and never claimed that epoch", Owner{Lost: true, Claimed: 9}, 10, string(Pending)},
		{"of the own newest attempt", Owner{Newest: 9, Claimed: 9}, 20, string(Running)},
	} {
		s := &State{Job: "orders", Owners: []Owner{own, x.other}}
		f := under("/t/_DUMP_TEMPORARY/cp-3/task-0", part(0, 3, x.epoch, "a"))
		if got := verdicts(Judge(Listing{Root: "/t", Temporary: []Found{f}}, s, now, week))[f.Path]; got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
	// Without any log nothing is known to be over.
	f := under("/t/_DUMP_TEMPORARY/cp-3/task-0", part(0, 3, 1, "a"))
	if p := Judge(Listing{Root: "/t", Temporary: []Found{f}}, &State{Job: "orders"}, now, week); len(p.Remove) > 0 {
		t.Errorf("removed without a log: %+v", p.Remove)
	}
}

func TestJudgeBesideLog(t *testing.T) {
	const dir = "/t/_staunch/orders"
	nonce := strings.Repeat("a", 24)
	staged := func(w *Writer, age time.Duration) Found {
		return Found{Path: dir + "/staged-" + nonce, Modified: now.Add(-age), Entry: w}
	}
	s := &State{Job: "orders", Owners: []Owner{{LogID: "L", Own: true, Newest: 9}}, Last: 40, Archives: map[string]bool{"archive-1-20-" + nonce: true}}
	for _, x := range []struct {
		f    Found
		age  time.Duration
		want string
	}{
		{staged(&Writer{"L", 4}, 2*time.Minute), time.Minute, string(Staged)},
		{staged(&Writer{"L", 4}, 2*time.Minute), time.Hour, string(Young)},
		{staged(&Writer{"L", 9}, 8*week), time.Minute, string(Running)},
		{staged(&Writer{"L", 0}, 2*time.Minute), time.Minute, string(Young)}, // a begin does not know its epoch
		{staged(&Writer{"L", 0}, 2*time.Hour), time.Minute, string(Staged)},
		{staged(nil, 2*time.Minute), time.Minute, string(Young)},
		{staged(nil, 2*time.Hour), time.Minute, string(Staged)},
		{under(dir, "staged-1"), 0, string(Foreign)},
		{under(dir, "archive-1-20-"+nonce), 0, string(Named)},
		{under(dir, "archive-21-30-"+nonce), 0, string(Archive)},
		{under(dir, "archive-21-40-"+nonce), 0, string(Running)}, // the segment may follow
		{under(dir, "archive-30-21-"+nonce), 0, string(Foreign)},
		{under(dir, "archive-21-030-"+nonce), 0, string(Foreign)},
		{under(dir, "17.staunch.bak"), 0, string(Foreign)},
	} {
		got := verdicts(Judge(Listing{Root: "/t", Log: []Found{x.f}}, s, now, x.age))
		if got[x.f.Path] != x.want {
			t.Errorf("%s %+v: %q, want %q", x.f.Path, x.f.Entry, got[x.f.Path], x.want)
		}
	}
}

func TestJudgeFolders(t *testing.T) {
	const tmp = "/t/_DUMP_TEMPORARY"
	dir := func(p string) Found { return Found{Path: tmp + "/" + p, Dir: true, Modified: old} }
	s := &State{Job: "orders", Completed: 7, Owners: []Owner{{Own: true, Newest: 9}}, Folders: map[string]bool{"cp-4/task-0": true}}
	l := Listing{Root: "/t", Temporary: []Found{
		dir("cp-3"), dir("cp-3/task-0"), under(tmp+"/cp-3/task-0", part(0, 3, 4, "a")), dir("cp-3/task-1"), under(tmp+"/cp-3/task-1", part(1, 3, 4, "b")),
		dir("cp-4"), dir("cp-4/task-0"),
		dir("cp-5"), dir("cp-5/task-0"), dir("cp-5/task-1"), under(tmp+"/cp-5/task-1", "notes.txt"),
		dir("cp-6"), dir("cp-6/task-0"), dir("cp-6/task-0/dt=1"),
		dir("cp-7"),
		dir("cp-8"), dir("cp-8/task-0"),
		dir("cp-07"), dir("other"),
	}}
	var got []string
	for _, r := range Judge(l, s, now, week).Remove {
		if r.Kind == Folder {
			got = append(got, strings.TrimPrefix(r.Path, tmp+"/"))
		}
	}
	want := []string{"cp-3/task-0", "cp-3/task-1", "cp-5/task-0", "cp-3", "cp-7"}
	if !slices.Equal(got, want) {
		t.Errorf("folders %v, want %v", got, want)
	}
}

func TestReportText(t *testing.T) {
	p := &Place{Name: "table lake", Path: "/t"}
	for i := range 5 {
		p.left(Left{under("/t", fmt.Sprint(i)), Foreign})
	}
	p.removed(Removal{under("/t", "x"), Pending}, nil)
	var b strings.Builder
	if err := (&Report{Job: "orders", DryRun: true, Places: []*Place{p}}).Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"would remove pending file /t/x (10 bytes, of 2026-11-21T12:00:00Z)", "left 5, 50 bytes: not known to be Staunch's", "and 2 more",
		"would remove 1, 10 bytes"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}
