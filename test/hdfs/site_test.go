//go:build peer

package hdfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"staunch/fs"
	"staunch/fs/hdfs"
	"staunch/fs/hdfs/conf"
)

// resolver leads every hdfs:// path to one client.
type resolver struct{ client fs.FS }

// Resolve implements fs.Resolver.
func (r resolver) Resolve(uri string) (fs.FS, string, error) {
	p, ok := strings.CutPrefix(uri, "hdfs://testbed")
	if !ok {
		return nil, "", fmt.Errorf("%s: want hdfs://testbed/...", uri)
	}
	return r.client, path.Clean(p), nil
}

// client makes a client of the pair, through the proxies.
func (p *pair) client(opt hdfs.Options) *hdfs.Client {
	p.t.Helper()
	c, err := conf.Load(p.conf, os.Getenv)
	if err != nil {
		p.t.Fatal(err)
	}
	k, err := c.Cluster("testbed")
	if err != nil {
		p.t.Fatal(err)
	}
	cl := hdfs.New(k, opt)
	p.t.Cleanup(cl.Close)
	return cl
}

// site is where a played job's table lies: a folder of the test on HDFS.
type site struct {
	*pair
	*late
	resolver fs.Resolver
	dir      string // of the test; paths without scheme
}

func newSite(t testing.TB, properties ...string) site {
	t.Helper()
	p := newPair(t, properties...)
	return site{pair: p, late: p.late(), resolver: resolver{p.client(hdfs.Options{})}, dir: folder(t)}
}

// folder is a test's own folder on HDFS.
func folder(t testing.TB) string {
	return fmt.Sprintf("/hdfs-test-%d/%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
}

func uri(p string) string { return "hdfs://testbed" + p }

// empty deletes a folder as the old protocol's client did: it asks both NameNodes until one has answered, each time with a call of its own.
func (s site) empty(at string) error {
	var last error
	for range 10 {
		for _, x := range s.proxies {
			if last = oldDelete(x.Addr(), at); last == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("delete %s: %w", at, last)
}

// content is what a reader may see of a table.
type content struct {
	Rows, Distinct, Files, Hidden int
	Parts                         []int // partitions of the topic that have rows
}

// read has DuckDB count a table.
func read(t testing.TB, table, format string) (c content) {
	t.Helper()
	out, err := exec.Command(os.Getenv("TESTBED_PYTHON"), "table.py", uri(table), "--format", format).Output()
	if err != nil {
		var x *exec.ExitError
		if errors.As(err, &x) {
			out = x.Stderr
		}
		t.Fatalf("table.py %s: %v\n%s", table, err, out)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("table.py: %v\n%s", err, out)
	}
	return c
}
