//go:build peer

package scenario

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestNewAndRemovedSink: the file is edited between two runs. A new sink begins at the job's offsets, which is said; a removed one is
// committed first and ends there.
func TestNewAndRemovedSink(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 2)
	k.fill(0, 1, 50)
	k.fill(1, 51, 100)
	src := "CREATE TABLE src (id BIGINT, v STRING, dt STRING, part INT METADATA FROM 'partition' VIRTUAL, off BIGINT METADATA FROM 'offset' VIRTUAL) WITH (" + k.sql() + ");\n"
	into := func(name string) string { return "INSERT INTO " + name + " SELECT id, v, part, off, dt FROM src;\n" }
	set := func(a, b string) string {
		return src + lake(a) + lake(b) + "EXECUTE STATEMENT SET BEGIN\n" + into(a) + into(b) + "END;\n"
	}

	s := newScript(t, src+lake("first")+into("first"))
	p := s.start()
	p.seen(s.path("first"), 100)
	p.stop()

	s.edit(set("first", "fresh"))
	p = s.start()
	p.awaits("a new sink begins at the job's offsets", "table=fresh", s.path("fresh"))
	k.fill(0, 101, 150)
	p.seen(s.path("first"), 150)
	p.seen(s.path("fresh"), 50)
	p.stop()
	wantIDs(t, s.path("first"), span(1, 150))
	wantIDs(t, s.path("fresh"), span(101, 150))

	// killed between complete and commit, then edited: what was promised to the removed sink is committed first
	k.fill(1, 151, 200)
	s.start("STAUNCH_FAILPOINT=certificate.before").killed()
	waiting := len(pending(t, s.path("first")))
	if waiting == 0 {
		t.Fatal("nothing was promised to the sink when it is removed")
	}
	before := len(files(t, s.path("first"), "json"))
	s.edit(src + lake("fresh") + into("fresh"))
	p = s.start()
	p.awaits("no longer names is committed and ends here", "table=first", s.path("first"))
	if n := len(files(t, s.path("first"), "json")); n != before+waiting {
		t.Errorf("%d files are visible, want %d", n, before+waiting)
	}
	k.fill(0, 201, 250)
	p.seen(s.path("fresh"), 150)
	p.stop()
	wantIDs(t, s.path("fresh"), span(101, 250))
	old := ids(t, s.path("first"))
	if !slices.Equal(old[:150], span(1, 150)) || len(old) != len(slices.Compact(slices.Clone(old))) {
		t.Errorf("the removed sink has %v", old)
	}
	s.verified(s.path("first"))
	s.verified(s.path("fresh"))

	// and it comes back: records in between are not written to it
	s.edit(set("first", "fresh"))
	p = s.start()
	p.awaits("a sink is back", "table=first")
	k.fill(0, 251, 260)
	p.seen(s.path("fresh"), 160)
	p.seen(s.path("first"), len(old)+10)
	p.stop()
	wantIDs(t, s.path("first"), old, span(251, 260))
}

// TestOtherTopic: another topic means new splits, with a warning. As in Flink, what the state has of the old topic is read on, which is said:
// to leave it out would leave a hole.
func TestOtherTopic(t *testing.T) {
	t.Parallel()
	a, b := newTopic(t, 1), newTopic(t, 1)
	a.fill(0, 1, 50)
	b.fill(0, 1001, 1020)
	s := newScript(t, a.copyJob())
	p := s.start()
	p.seen(s.path("lake"), 50)
	p.stop()
	a.fill(0, 51, 60)
	s.edit(b.copyJob())
	p = s.start()
	p.awaits("level=WARN", "does not name a topic that the job's state has", a.name)
	p.awaits("level=WARN", "splits that the restored state does not know", b.name)
	p.seen(s.path("lake"), 80)
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 60), span(1001, 1020))
	s.verified(s.path("lake"))
}

// TestChangedColumns: another query holds from the next checkpoint on; what is visible stays as it is.
func TestChangedColumns(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.fill(0, 1, 20)
	s := newScript(t, k.copyJob())
	p := s.start()
	p.seen(s.path("lake"), 20)
	p.stop()
	first := files(t, s.path("lake"), "json")
	src := "CREATE TABLE src (id BIGINT, v STRING, dt STRING) WITH (" + k.sql() + ");\n"
	s.edit(src + "CREATE TABLE lake (id BIGINT, upper_v STRING, twice BIGINT, dt STRING) PARTITIONED BY (dt) WITH ('connector'='filesystem','path'='$DIR/lake','format'='json');\n" +
		"INSERT INTO lake SELECT id, UPPER(v), id * 2, dt FROM src WHERE MOD(id, 2) = 0;\n")
	k.fill(0, 21, 40)
	p = s.start()
	p.seen(s.path("lake"), 30)
	p.stop()
	for _, f := range first {
		if !slices.Contains(files(t, s.path("lake"), "json"), f) {
			t.Errorf("%s is gone", f)
		}
	}
	old, now := 0, 0
	for _, r := range rows(t, s.path("lake")) {
		id, _ := r["id"].(json.Number).Int64()
		switch {
		case id <= 20 && r["v"] != nil:
			old++
		case id > 20 && id%2 == 0 && r["upper_v"] == "R"+r["id"].(json.Number).String() && r["twice"] != nil && r["v"] == nil:
			now++
		default:
			t.Errorf("row %v", r)
		}
	}
	if old != 20 || now != 10 {
		t.Errorf("%d old rows, %d new ones", old, now)
	}
	s.verified(s.path("lake"))
}

// TestTwoCopies: two copies of a statement file under different names write one table: each record would be there twice.
func TestTwoCopies(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.fill(0, 1, 30)
	s := newScript(t, k.copyJob())
	p := s.start()
	p.seen(s.path("lake"), 30)
	copied := s.path("copy.sql")
	s.write(copied, prelude+k.copyJob())
	for range 2 {
		s.program("run", copied).exits(1).says(s.path("lake"), "already has the records", k.name, `job "job"`, "copied or renamed", "pipeline.name")
	}
	k.fill(0, 31, 40)
	p.seen(s.path("lake"), 40)
	p.stop()
	s.program("run", copied).exits(1).says("already has the records") // also when the other does not run
	wantIDs(t, s.path("lake"), span(1, 40))

	// the way out that the message names: it goes on as the same job
	k.fill(0, 41, 50)
	p = s.program("run", copied, "-D", "pipeline.name=job")
	p.seen(s.path("lake"), 50)
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 50))
	s.verified(s.path("lake"))
}

// TestTwoJobs: two jobs that read different topics may write one table, and see nothing of each other.
func TestTwoJobs(t *testing.T) {
	t.Parallel()
	a, b := newTopic(t, 1), newTopic(t, 1)
	a.fill(0, 1, 50)
	b.fill(0, 51, 100)
	s := newScript(t, a.copyJob(bounded))
	other := s.path("other.sql")
	s.write(other, prelude+b.copyJob(bounded))
	p, q := s.start(), s.program("run", other)
	p.exits(0)
	q.exits(0)
	wantIDs(t, s.path("lake"), span(1, 100))
	s.verified(s.path("lake"))
}

// TestFencedKafka: the same file over Kafka, taken over while it lives; nothing doubles.
func TestFencedKafka(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 2)
	k.fill(0, 1, 50)
	s := newScript(t, k.copyJob())
	first := s.start()
	first.seen(s.path("lake"), 50)
	s.start().exits(1).says("is running already", "--take-over")
	k.fill(1, 51, 100)
	second := s.start("--take-over")
	second.awaits("restored")
	k.fill(0, 101, 150)
	first.exits(1)
	second.seen(s.path("lake"), 150)
	second.stop()
	wantIDs(t, s.path("lake"), span(1, 150))
	s.verified(s.path("lake"))
}
