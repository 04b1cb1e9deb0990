package scenario

import "testing"

// TestTemporaryTTL: files that are not visible yet have as much time as the cleaner of the folder leaves them.
func TestTemporaryTTL(t *testing.T) {
	t.Parallel()
	sql := func(ttl string) string {
		return "SET 'staunch.table.lake.temporary-ttl' = '" + ttl + "';\n" + sequence(1, 100_000, 1000) + table("lake", "id BIGINT") + "INSERT INTO lake SELECT id FROM gen;\n"
	}
	s := newScript(t, sql("4 s"))
	p := s.start("-D", "staunch.loss-window.interval=100ms", "-D", "staunch.loss-window.alarm=0.6", "-D", "execution.checkpointing.interval=1h",
		"-D", "metrics.reporter.prom.port=30000-30999")
	m := p.metrics()
	p.awaits("level=WARN", "loss window: files are about to be removed before they are visible", "table lake", "temporary-ttl = 4s")
	if left := m.sum("temporaryWindowSeconds"); left > 2.4 || left < 0 || m.sum("temporaryWindowAlarm") != 1 {
		t.Errorf("%v seconds left, alarm %v", left, m.sum("temporaryWindowAlarm"))
	}
	p.stop()

	t.Run("check", func(t *testing.T) { // the file that the newest checkpoint promises is named
		s := newScript(t, sql("1 d"))
		s.program("check", s.file).exits(0).says("pass  temporary files of lake", "no file waits to become visible; one that is written now is removed in 1d at the earliest")
		s.start("STAUNCH_FAILPOINT=rename.before:1").killed()
		s.program("check", s.file).exits(0).says("pass  temporary files of lake", ".pending is removed in ", "at the earliest (temporary-ttl = 1d)")
		s.edit(sql("1 min"))
		s.program("check", s.file).exits(0).says("warn  temporary files of lake", "only 1m are kept", "'execution.checkpointing.timeout' [temporary-window]")
	})
}
