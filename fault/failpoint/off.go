//go:build !failpoint

package failpoint

// Enabled reports whether the points are compiled in.
const Enabled = false

// Hit does nothing in this build.
func Hit(string) {}
