//go:build peer

package hdfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/fstest"
	"staunch/fs/hdfs/conf"
	"staunch/test/peer"
)

// pair gives the run's HDFS, a client of it and a folder of the test's own.
func pair(t *testing.T) (*peer.HDFS, *Client, string) {
	h := peer.NewHDFS(t)
	r := resolver(t, h.ConfDir)
	f, dir, err := r.Resolve("hdfs:///fs-hdfs-" + env.RandomHex(&env.Real{}, 6))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	return h, f.(*Client), dir
}

func resolver(t *testing.T, dir string) *Resolver {
	r := &Resolver{Load: func() (*conf.Conf, error) { return conf.Load(dir, os.Getenv) }}
	t.Cleanup(r.Close)
	return r
}

func TestConformance(t *testing.T) {
	_, c, dir := pair(t)
	n := 0
	fstest.Run(t, func(t *testing.T) (fs.FS, string) {
		n++
		d := fmt.Sprintf("%s/%d", dir, n)
		if err := c.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
		return c, d
	}, fstest.NoColon)
}

func TestSpellings(t *testing.T) {
	h, c, dir := pair(t)
	r := resolver(t, h.ConfDir)
	var first fs.FS
	for _, uri := range []string{"hdfs://testbed" + dir, "hdfs://" + dir, "hdfs:" + dir + "/", "hdfs://" + h.NameNodes[1] + dir + "/./x/..", "HDFS://testbed/" + dir} {
		f, p, err := r.Resolve(uri)
		if err != nil || p != dir {
			t.Errorf("%s: %s, %v", uri, p, err)
		}
		if first == nil {
			first = f
		}
		if f != first || fs.URI(f, p) != "hdfs://testbed"+dir {
			t.Errorf("%s is another store: %s", uri, fs.URI(f, p))
		}
	}
	fstest.Put(t, c, dir+"/a", "1")
	if got := fstest.Content(t, first, dir+"/a"); got != "1" {
		t.Errorf("read %q", got)
	}
}

// TestPages lists a folder that does not fit into one answer of the NameNode (1000 entries).
func TestPages(t *testing.T) {
	_, c, dir := pair(t)
	const n = 2345
	for i := range n {
		if err := c.MkdirAll(fmt.Sprintf("%s/many/%04d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := c.List(dir + "/many")
	if err != nil || len(l) != n {
		t.Fatalf("%d entries, %v", len(l), err)
	}
	for i, e := range l {
		if e.Name != fmt.Sprintf("%04d", i) || !e.Dir {
			t.Fatalf("%d is %+v", i, e)
		}
	}
}

// TestFailovers changes the active NameNode between the calls of a file's life.
func TestFailovers(t *testing.T) {
	h, c, dir := pair(t)
	for name, change := range map[string]func(){
		"graceful": h.Failover,
		"kill":     func() { h.Restart(h.KillActive()) },
		"stopped": func() {
			old := h.Active()
			h.Kill(old, "STOP")
			h.Activate(peer.Other(old))
			t.Cleanup(func() { h.Kill(old, "CONT"); h.Demote(old) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := dir + "/" + name
			change()
			w, err := c.Create(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte("one ")); err != nil {
				t.Fatal(err)
			}
			if name != "stopped" {
				change()
			}
			if _, err := w.Write([]byte("two")); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Sync(), w.Close()); err != nil {
				t.Fatal(err)
			}
			if name != "stopped" {
				change()
			}
			if err := c.Rename(p, p+"-2"); err != nil {
				t.Fatal(err)
			}
			if got := fstest.Content(t, c, p+"-2"); got != "one two" {
				t.Errorf("read %q", got)
			}
			if name == "stopped" {
				old := "nn1"
				if h.Active() == "nn1" {
					old = "nn2"
				}
				h.Kill(old, "CONT")
				h.Demote(old)
			}
			if err := c.Delete(p + "-2"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	h, c, dir := pair(t)
	if err := c.MkdirAll(dir + "/small"); err != nil {
		t.Fatal(err)
	}
	h.Quota(dir+"/small", 1)
	w, err := c.Create(dir + "/small/a")
	if err == nil {
		_, err = w.Write(make([]byte, 200000))
		if err == nil {
			err = w.Sync()
		}
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}
	if !errors.Is(err, fs.ErrNoSpace) || !strings.Contains(err.Error(), dir+"/small/a") {
		t.Errorf("got %v", err)
	}
}

// TestLeftOpen recovers a file whose writer has died.
func TestLeftOpen(t *testing.T) {
	h, c, dir := pair(t)
	other, _, err := resolver(t, h.ConfDir).Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	w, err := other.Create(dir + "/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(dir + "/a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create of a file that another has open: %v", err)
	}
	closed := false
	for end := time.Now().Add(limit); !closed && time.Now().Before(end); {
		if closed, err = c.RecoverLease(dir + "/a"); err != nil {
			t.Fatal(err)
		}
		if !closed {
			env.Sleep(&env.Real{}, 100e6)
		}
	}
	if !closed {
		t.Fatal("not closed")
	}
	if got := fstest.Content(t, c, dir+"/a"); got != "kept" {
		t.Errorf("read %q", got)
	}
	if err := w.Close(); err == nil {
		t.Error("the former writer closed the file")
	}
}

func TestSafeMode(t *testing.T) {
	h, _, dir := pair(t)
	r := resolver(t, h.ConfDir)
	r.Options.RPC.Patience = 2e9
	c, _, err := r.Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	h.SafeMode(true)
	if _, err := c.Create(dir + "/a"); !errors.Is(err, fs.ErrUnavailable) {
		t.Errorf("in safe mode: %v", err)
	}
	h.SafeMode(false)
	fstest.Put(t, c, dir+"/b", "1")
}

func TestMissingService(t *testing.T) {
	h, _, _ := pair(t)
	if _, _, err := resolver(t, h.ConfDir).Resolve("hdfs://elsewhere/x"); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "testbed") {
		t.Errorf("got %v", err)
	}
}
