//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled reports whether the points are compiled in.
const Enabled = true

var (
	armed string
	left  atomic.Int64
)

func init() {
	name, n, _ := strings.Cut(os.Getenv("STAUNCH_FAILPOINT"), ":")
	armed = name
	left.Store(1)
	if k, err := strconv.ParseInt(n, 10, 64); err == nil && k > 0 {
		left.Store(k)
	}
}

// hits counts how often each point was reached.
var hits = func() map[string]*atomic.Int64 {
	m := map[string]*atomic.Int64{}
	for _, p := range slices.Concat(Points, Back, Mending) {
		m[p] = new(atomic.Int64)
	}
	return m
}()

// Hits says how often a point was reached in this process.
func Hits(name string) int64 {
	if n := hits[name]; n != nil {
		return n.Load()
	}
	return 0
}

// Hit ends the process when the armed point is reached for the wanted time.
func Hit(name string) {
	if n := hits[name]; n != nil {
		n.Add(1)
	}
	if name != armed || left.Add(-1) != 0 {
		return
	}
	fmt.Fprintln(os.Stderr, "failpoint", name, "reached: killing this process")
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
