//go:build peer

package hdfs

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"staunch/fs"
	"staunch/test/peer"
	"staunch/test/peer/nnproxy"
)

// pair is the run's HDFS behind one proxy for each NameNode.
type pair struct {
	*peer.HDFS
	t       testing.TB
	proxies [2]*nnproxy.Proxy
	conf    string // a client configuration that leads through the proxies
}

func newPair(t testing.TB, properties ...string) *pair {
	t.Helper()
	p := &pair{HDFS: peer.NewHDFS(t), t: t}
	set := map[string]string{}
	for i := 0; i+1 < len(properties); i += 2 {
		set[properties[i]] = properties[i+1]
	}
	for i, target := range p.NameNodes {
		x, err := nnproxy.Listen(target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Close() }) // nobody uses it any more
		p.proxies[i] = x
		set[fmt.Sprintf("dfs.namenode.rpc-address.testbed.nn%d", i+1)] = x.Addr()
	}
	p.conf = p.Conf(set)
	return p
}

// in is the pair for a part of the test.
func (p *pair) in(t testing.TB) *pair {
	q := *p
	q.t = t
	return &q
}

// active is the proxy before the active NameNode.
func (p *pair) active() *nnproxy.Proxy { return p.proxies[peer.Index(p.Active())] }

// calls are those of a method that both NameNodes were asked for, in the order of each.
func (p *pair) calls(method string) []nnproxy.Call {
	var out []nnproxy.Call
	for _, x := range p.proxies {
		for _, c := range x.Calls() {
			if c.Method == method {
				out = append(out, c)
			}
		}
	}
	return out
}

// deadline bounds what has an event.
func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// late holds calls back and lets them through later.
type late struct {
	p    *pair
	mu   sync.Mutex
	held map[string]*nnproxy.Hit // by path
}

func (p *pair) late() *late { return &late{p: p, held: map[string]*nnproxy.Hit{}} }

// hold makes the active NameNode's proxy keep the next delete of each path back and cut its client's connection.
func (l *late) hold(paths ...string) {
	for _, at := range paths {
		rule := l.p.active().On(nnproxy.Match{Method: "delete", Path: func(p string) bool { return p == at }}, nnproxy.HoldAndCut)
		ctx := deadline(l.p.t)
		go func() {
			if h, err := rule.Next(ctx); err == nil {
				l.mu.Lock()
				l.held[at] = h
				l.mu.Unlock()
			}
		}()
	}
}

// holding waits until the deletes of all paths are held.
func (l *late) holding(paths ...string) {
	l.p.t.Helper()
	until(l.p.t, "the held deletes", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, at := range paths {
			if l.held[at] == nil {
				return false
			}
		}
		return true
	})
}

// release lets the held deletes of the paths through, one by one, as calls that the NameNode does not know (any more); it has answered each
// when this returns.
func (l *late) release(paths ...string) error {
	for _, at := range paths {
		l.mu.Lock()
		h := l.held[at]
		l.mu.Unlock()
		if h == nil {
			return fmt.Errorf("no delete of %s is held", at)
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		r, err := h.ReleaseForgotten(ctx)
		cancel()
		if err == nil && r.Failed {
			err = fmt.Errorf("late delete of %s: %s %s", at, r.Exception, r.Message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// store is a store of which a test sees and holds the calls of a table's temporary folders.
type store struct {
	fs.FS
	// before is called before the first file of a folder cp-<id>/task-<k> is made in an attempt.
	before func(folder string) error
	// attempt numbers the attempts of the job's life.
	attempt func() int
	// written is called when the first bytes of a pending file were taken by the client, which is open then.
	written func(file string)
	// ended is called with the outcome of a pending file's Sync (open still) and Close.
	ended func(file string, open bool, err error)
	// moving is called before a pending file is renamed.
	moving func(file string)

	mu   sync.Mutex
	seen map[string]bool
}

var inFolder = regexp.MustCompile(`/_DUMP_TEMPORARY/cp-(\d+)/task-(\d+)$`)

// task is the number of the checkpoint and of the task that a folder or pending file is of, or -1.
func task(p string) (checkpoint, number int) {
	m := inFolder.FindStringSubmatch(p)
	if m == nil {
		m = inFolder.FindStringSubmatch(path.Dir(p))
	}
	if m == nil {
		return -1, -1
	}
	checkpoint, _ = strconv.Atoi(m[1])
	number, _ = strconv.Atoi(m[2])
	return checkpoint, number
}

// Create implements fs.FS.
func (s *store) Create(p string) (fs.File, error) {
	if _, k := task(p); k < 0 || !strings.HasSuffix(p, ".pending") {
		return s.FS.Create(p)
	}
	if s.before != nil {
		folder := path.Dir(p)
		key := fmt.Sprint(s.attempt(), folder)
		s.mu.Lock()
		first := !s.seen[key]
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[key] = true
		s.mu.Unlock()
		if first { // one task's folder is its own, so nobody waits for this
			if err := s.before(folder); err != nil {
				return nil, err
			}
		}
	}
	f, err := s.FS.Create(p)
	if err != nil {
		return nil, err
	}
	return &file{File: f, s: s, path: p}, nil
}

// Rename implements fs.FS.
func (s *store) Rename(src, dst string) error {
	if strings.HasSuffix(src, ".pending") && s.moving != nil {
		s.moving(src)
	}
	return s.FS.Rename(src, dst)
}

type file struct {
	fs.File
	s       *store
	path    string
	written bool
}

// Write implements io.Writer.
func (f *file) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if err == nil && !f.written && f.s.written != nil {
		f.written = true
		f.s.written(f.path)
	}
	return n, err
}

// Sync implements fs.File.
func (f *file) Sync() error { return f.ended(true, f.File.Sync()) }

// Close implements io.Closer.
func (f *file) Close() error { return f.ended(false, f.File.Close()) }

func (f *file) ended(open bool, err error) error {
	if f.s.ended != nil {
		f.s.ended(f.path, open, err)
	}
	return err
}
