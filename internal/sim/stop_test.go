package sim

import (
	"errors"
	"strings"
	"testing"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// TestStopWhileFailing: a job that was told to stop while it fails has taken no last checkpoint, and does not say that it has; nothing is lost by
// that (P1).
func TestStopWhileFailing(t *testing.T) {
	holds(t, func(c *script) {
		c.begin()
		c.rows(5, "a")
		c.checkpoint()
		c.answers = func(op mem.Op) mem.Effect {
			if op.Kind == mem.Create && strings.HasSuffix(op.Path, ".pending") {
				return mem.Effect{Kind: mem.Fail, Err: fs.ErrNoSpace}
			}
			return mem.Effect{}
		}
		c.rows(5, "b")
		c.until("the job starts again", func() bool { return c.last.job.Status().Restarts > 0 })
		c.last.job.Stop()
		if err := c.ends(); !errors.Is(err, fs.ErrNoSpace) || fault.ClassOf(err) != fault.Transient || !strings.Contains(err.Error(), "without a last checkpoint") {
			c.failf("stopped while it failed: %v", err)
		}
		c.answers = nil
		c.rows(5, "c")
		c.begin()
		c.checkpoint()
		c.finish()
	})
}
