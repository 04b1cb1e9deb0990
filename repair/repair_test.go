package repair_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"staunch/repair"
)

// first takes the first so many files that are to be moved.
func first(n int) func(string) bool {
	return func(string) bool { n--; return n >= 0 }
}

func everything(string) bool { return true }

// want wants so many files, all in one state.
func want(t *testing.T, r *repair.Report, n int, s repair.State) {
	t.Helper()
	if len(r.Files) != n || r.Count(s) != n {
		t.Fatalf("%d files, %d of them %s; want %d", len(r.Files), r.Count(s), s, n)
	}
}

// TestRepairBeforeTheJobGoesOn: the job stops at the loss, the files are written again, and the job goes on as if nothing had happened.
func TestRepairBeforeTheJobGoesOn(t *testing.T) {
	for _, format := range []string{"json", "parquet"} {
		t.Run(format, func(t *testing.T) {
			b := newBench(t, 2, numbers)
			b.fill(2, 0, 1000)
			b.loses(format, first(2))
			before := pending(t, b)
			r := b.repair(format, repair.Order{DryRun: true})
			want(t, r, 2, repair.WouldRepair)
			if now := pending(t, b); len(now) != len(before) {
				t.Errorf("the dry run wrote %v", now)
			}
			r = b.repair(format, repair.Order{Who: "anna", Why: "a script took them"})
			want(t, r, 2, repair.Repaired)
			if r.Open() != 0 || !r.Waiting || !r.Files[0].Recorded() || r.Files[0].Entry == 0 {
				t.Errorf("%+v", r.Files[0])
			}
			want(t, b.repair(format, repair.Order{}), 0, repair.Repaired)
			b.clean()
			if err := b.run(format); err != nil {
				t.Fatalf("%v\n%s", err, b.log)
			}
			if a := b.clean(); a.Jobs[0].Certificates == 0 {
				t.Error("the audit saw no certificate")
			}
			if format == "json" {
				b.wants(1000)
			}
			if left := pending(t, b); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// pending lists what lies in the temporary folder.
func pending(t *testing.T, b *bench) (out []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(b.dir, "lake", "_DUMP_TEMPORARY"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// TestRepairAfterAccept: the job went on without the files, which come back later.
func TestRepairAfterAccept(t *testing.T) {
	b := newBench(t, 3, numbers)
	b.fill(3, 0, 900)
	id := b.loses("json", everything)
	if err := b.run("json", id); err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	want(t, b.repair("json", repair.Order{}), len(b.stolen), repair.Repaired)
	b.wants(900)
	b.clean()
}

// TestSeveralAtOnce: operators who repair at the same time do no harm to each other: one replacement of each file comes to its place.
func TestSeveralAtOnce(t *testing.T) {
	b := newBench(t, 2, numbers)
	b.fill(2, 0, 2000)
	b.loses("json", everything)
	var wg sync.WaitGroup
	reports := make([]*repair.Report, 3)
	errs := make([]error, len(reports))
	for i := range reports {
		wg.Go(func() { reports[i], errs[i] = b.tryRepair("json", repair.Order{}) })
	}
	wg.Wait()
	placed := map[string]int{}
	for i, r := range reports {
		if errs[i] != nil || r.Open() > 0 {
			t.Fatalf("%v %+v\n%s", errs[i], r, b.log)
		}
		for _, f := range r.Files {
			if f.State == repair.Repaired {
				placed[f.Path]++
			}
		}
	}
	if len(placed) != len(b.stolen) {
		t.Errorf("%d files were repaired, want %d", len(placed), len(b.stolen))
	}
	b.wants(2000)
	if err := b.run("json"); err != nil {
		t.Fatal(err)
	}
	b.wants(2000)
	b.clean()
}

// TestRetention: a file of which a record is gone is refused, naming the offset; the others are repaired.
func TestRetention(t *testing.T) {
	b := newBench(t, 1, numbers)
	b.fill(1, 0, 300)
	id := b.loses("json", everything)
	before := kadm.Offsets{}
	before.AddOffset("in", 0, 2, -1) // offset 0 is of p=0, 1 of p=1
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	r := b.repair("json", repair.Order{})
	if r.Count(repair.Refused) != 2 || r.Count(repair.Repaired) != 1 || r.Open() != 2 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Files {
		if f.State != repair.Refused {
			continue
		}
		if len(f.Missing) != 1 || f.Missing[0].Count != 1 || f.Missing[0].Set != strings.TrimPrefix(f.Partition, "p=") || !strings.Contains(f.Missing[0].Why, "first offset is 2 now: retention") {
			t.Errorf("%+v", f)
		}
	}
	// what remains can be accepted, and later nothing more can be done
	if err := b.run("json"); err == nil {
		t.Fatal("the job goes on over a loss")
	} else if _, now, _ := strings.Cut(err.Error(), "--accept-lost "); strings.Fields(now)[0] == id {
		t.Error("another set of lost files has the same id")
	} else if err := b.run("json", strings.Fields(now)[0]); err != nil {
		t.Fatal(err)
	}
	want(t, b.repair("json", repair.Order{}), 2, repair.Refused)
	// the topic's first offset is named, also where it is far behind those of the files
	before.AddOffset("in", 0, 299, -1)
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	r = b.repair("json", repair.Order{})
	want(t, r, 2, repair.Refused)
	for _, f := range r.Files {
		if len(f.Missing) != 1 || !strings.Contains(f.Missing[0].Why, "first offset is 299 now: retention") {
			t.Errorf("%+v", f)
		}
	}
}

// TestCompaction: a record that a newer one of its key has replaced cannot be had again.
func TestCompaction(t *testing.T) {
	b := newBench(t, 1, numbers, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.001", "max.compaction.lag.ms", "200")
	begin := time.Now().Add(-time.Hour)
	for i := range 30 {
		key := strconv.Itoa(i)
		if i == 7 || i == 20 { // the second replaces the first
			key = "again"
		}
		r := &kgo.Record{Topic: "in", Key: []byte(key), Value: fmt.Appendf(nil, `{"n":%d,"v":"value %d"}`, i, i), Timestamp: begin.Add(time.Duration(i) * time.Second)}
		if err := b.cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b.loses("json", everything)
	b.fake.Compact()
	r := b.repair("json", repair.Order{})
	if r.Count(repair.Refused) != 1 || r.Count(repair.Repaired) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Files {
		if f.State == repair.Refused && (f.Partition != "p=1" || len(f.Missing) != 1 || f.Missing[0].Set != "7" || !strings.Contains(f.Missing[0].Why, "compaction")) {
			t.Errorf("%+v", f)
		}
	}
}

// TestRefusals: what cannot be exact is refused, with the reason, and nothing is changed.
func TestRefusals(t *testing.T) {
	change := func(old, new string) func(*bench) {
		return func(b *bench) { b.sql = strings.ReplaceAll(b.sql, old, new) }
	}
	for _, c := range []struct {
		name   string
		sql    string
		change func(*bench)
		want   []string
	}{
		{"another statement", numbers, change("<> 9", "<> 8"), []string{"another statement", "<> 9", "<> 8"}},
		{"another type", numbers, change("lake (n BIGINT", "lake (n DECIMAL(20, 0)"), []string{"statement is the same", "types"}},
		{"another zone", numbers, change("'UTC'", "'Asia/Tokyo'"), []string{"time zone"}},
		{"another format option", numbers, change("'format' = '$FORMAT')", "'format' = '$FORMAT', 'json.encode.decimal-as-plain-number' = 'true')"), []string{"options"}},
		{"the current time", strings.ReplaceAll(numbers, "UPPER(v)", "CAST(CURRENT_DATE AS STRING)"), func(*bench) {}, []string{"CURRENT_DATE", "records alone"}},
		{"a filter by time", strings.ReplaceAll(numbers, "WHERE MOD(n, 10) <> 9", "WHERE CURRENT_TIMESTAMP > TO_TIMESTAMP_LTZ(n, 3)"), func(*bench) {},
			[]string{"CURRENT_TIMESTAMP", "records alone"}},
		{"another topic", numbers, func(b *bench) {
			if _, err := b.adm.DeleteTopics(context.Background(), "in"); err != nil {
				b.t.Fatal(err)
			}
			b.connect() // the former client remembers the topic's id
			if _, err := b.adm.CreateTopic(context.Background(), 1, 1, nil, "in"); err != nil {
				b.t.Fatal(err)
			}
			b.fill(1, 0, 100)
		}, []string{"created again"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 1, c.sql)
			b.fill(1, 0, 100)
			b.loses("json", first(1))
			entries := logEntries(t, b)
			c.change(b)
			r := b.repair("json", repair.Order{})
			want(t, r, 1, repair.Refused)
			for _, w := range c.want {
				if !strings.Contains(r.Files[0].Reason, w) {
					t.Errorf("no %q in the reason: %s", w, r.Files[0].Reason)
				}
			}
			if r.Files[0].Hint == "" {
				t.Error("nothing says what to do")
			}
			if now := logEntries(t, b); now != entries {
				t.Errorf("the log has %d entries, had %d", now, entries)
			}
		})
	}
}

// TestServersMayChange: what only says where the records come from is no part of the plan.
func TestServersMayChange(t *testing.T) {
	b := newBench(t, 1, numbers)
	b.fill(1, 0, 100)
	b.loses("json", first(1))
	b.sql = strings.Replace(b.sql, "'scan.startup.mode' = 'earliest-offset'", "'scan.startup.mode' = 'latest-offset', 'properties.client.id' = 'x'", 1)
	b.sql = strings.Replace(b.sql, "INSERT INTO lake SELECT", "INSERT INTO lake\n  SELECT", 1)
	want(t, b.repair("json", repair.Order{}), 1, repair.Repaired)
}

func logEntries(t *testing.T, b *bench) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(b.dir, "lake", "_staunch", "*", "*.staunch"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestNoTopicIDs: on a cluster that gives topics no ids the topic may be another one by now: nothing is written from it.
func TestNoTopicIDs(t *testing.T) {
	b := newBenchOn(t, 3, numbers, []kfake.Opt{kfake.MaxVersions(kversion.V2_7_0())})
	b.fill(3, 0, 90)
	b.loses("json", everything)
	if _, err := b.adm.DeleteTopics(context.Background(), "in"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.adm.CreateTopic(context.Background(), 3, 1, nil, "in"); err != nil {
		t.Fatal(err)
	}
	b.connect()
	b.fill(3, 1000, 1090)
	r := b.repair("json", repair.Order{})
	want(t, r, len(b.stolen), repair.Refused)
	if len(r.Files) == 0 || !strings.Contains(r.Files[0].Reason, "gave topics no ids") {
		t.Errorf("%+v", r.Files)
	}
}
