//go:build !failpoint

package failpoint

// Enabled reports whether the points are compiled in.
const Enabled = false

// Hit does nothing in this build.
func Hit(string) {}

// Hits is 0 in this build.
func Hits(string) int64 { return 0 }
