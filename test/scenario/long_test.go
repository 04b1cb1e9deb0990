package scenario

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestManyCheckpoints: more checkpoints than a table's log holds before it is shortened, with kills on both sides of that; two INSERTs of one
// file are two jobs, as on Flink.
func TestManyCheckpoints(t *testing.T) {
	t.Parallel()
	s := newScript(t, "SET 'execution.checkpointing.interval' = '10 ms';\n"+sequence(1, 1_000_000, 1000)+table("lake", "id BIGINT")+table("evens", "id BIGINT")+
		"INSERT INTO lake SELECT id FROM gen;\nINSERT INTO evens SELECT id FROM gen WHERE MOD(id, 2) = 0;\n")
	s.start("STAUNCH_FAILPOINT=done.after:60").killed() // of both jobs together
	p := s.start()
	until(t, "an archive of the log", p, func() bool {
		found, err := filepath.Glob(s.path("lake", "_staunch", "job", "archive-*"))
		return err == nil && len(found) > 0
	})
	p.kill()
	s.start("STAUNCH_FAILPOINT=done.after:20").killed()
	p = s.start()
	p.awaits("restored", "job=job ")
	p.awaits("restored", "job=job-2 ")
	p.stop()

	got := ids(t, s.path("lake"))
	wantIDs(t, s.path("lake"), span(1, int64(len(got))))
	evens := ids(t, s.path("evens"))
	if len(evens) == 0 || len(slices.Compact(slices.Clone(evens))) != len(evens) || evens[0] != 2 || evens[len(evens)-1] != 2*int64(len(evens)) {
		t.Errorf("%d even numbers up to %d", len(evens), evens[len(evens)-1])
	}
	s.audited(s.path("lake"))
	s.audited(s.path("evens"))
}
