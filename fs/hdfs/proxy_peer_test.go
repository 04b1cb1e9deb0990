//go:build peer

package hdfs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"staunch/fs"
	"staunch/fs/fstest"
	"staunch/test/peer"
	"staunch/test/peer/nnproxy"
)

// limit is how long a test waits for an event.
const limit = 3 * time.Minute

// behind is pair with a proxy before each NameNode. active is the one before the active NameNode.
func behind(t *testing.T) (h *peer.HDFS, c *Client, dir string, active *nnproxy.Proxy) {
	t.Helper()
	h, _, dir = pair(t)
	var proxies [2]*nnproxy.Proxy
	for i, addr := range h.NameNodes {
		p, err := nnproxy.Listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() }) // nothing is kept in it
		proxies[i] = p
	}
	f, _, err := resolver(t, h.ProxyConf(proxies[0].Addr(), proxies[1].Addr())).Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	return h, f.(*Client), dir, proxies[peer.Index(h.Active())]
}

// calls are those of a method for a path in the order in which they came.
func calls(p *nnproxy.Proxy, method, path string) (list []nnproxy.Call) {
	for _, c := range p.Calls() {
		if c.Method == method && c.Path == path {
			list = append(list, c)
		}
	}
	return list
}

func tries(list []nnproxy.Call) (text string) {
	for _, c := range list {
		text += fmt.Sprintf(" [call %d of %x, retry %d, connection %d]", c.ID, c.Client, c.Retry, c.Conn)
	}
	return text
}

func only(path string) func(string) bool { return func(p string) bool { return p == path } }

// TestReplyLost loses the reply of each call that changes something, after the NameNode has carried it out. The retry cache gives the first
// answer again, since the call is the same one.
func TestReplyLost(t *testing.T) {
	_, c, dir, proxy := behind(t)
	p := dir + "/a"
	lose := func(method, path string) *nnproxy.Rule {
		return proxy.On(nnproxy.Match{Method: method, Path: only(path)}, nnproxy.ForwardAndCut)
	}
	rules := []*nnproxy.Rule{lose("create", p), lose("addBlock", p), lose("complete", p), lose("rename2", p), lose("delete", p+"2"), lose("mkdirs", dir+"/d")}
	if err := c.MkdirAll(dir + "/d"); err != nil {
		t.Error(err)
	}
	fstest.Put(t, c, p, "content")
	if err := c.Rename(p, p+"2"); err != nil {
		t.Error(err)
	}
	if got := fstest.Content(t, c, p+"2"); got != "content" {
		t.Errorf("read %q", got)
	}
	if err := c.Delete(p + "2"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for i, r := range rules {
		hit, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("rule %d met nothing: %v", i, err)
		}
		list := calls(proxy, hit.Method, hit.Path)
		if len(list) < 2 || list[0].ID != list[1].ID || list[0].Client != list[1].Client || list[1].Retry <= list[0].Retry || list[0].Conn == list[1].Conn {
			t.Errorf("%s: tries %s", hit.Method, tries(list))
		}
	}
}

// TestLateDelete holds a delete until its own second try and another life of the name are over. The NameNode knows the call and does nothing.
func TestLateDelete(t *testing.T) {
	_, c, dir, proxy := behind(t)
	p := dir + "/a"
	fstest.Put(t, c, p, "first")
	rule := proxy.On(nnproxy.Match{Method: "delete", Path: only(p)}, nnproxy.HoldAndCut)
	if err := c.Delete(p); err != nil {
		t.Fatal(err)
	}
	fstest.Put(t, c, p, "second")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	hit, err := rule.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hit.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if got := fstest.Content(t, c, p); got != "second" {
		t.Errorf("read %q", got)
	}
}

// TestHeldCall holds one call for longer than its time limit: others go through meanwhile, and it is tried again as the same call.
func TestHeldCall(t *testing.T) {
	_, c, dir, proxy := behind(t)
	rule := proxy.On(nnproxy.Match{Method: "mkdirs", Path: only(dir + "/held")}, nnproxy.Hold)
	done := make(chan error, 1)
	go func() { done <- c.MkdirAll(dir + "/held") }()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	hit, err := rule.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	others := 0
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if list := calls(proxy, "mkdirs", dir+"/held"); others < 10 || len(list) < 2 || list[0].ID != list[1].ID {
				t.Errorf("%d other calls; tries %s", others, tries(list))
			}
			if _, err := hit.Release(ctx); err != nil {
				t.Error(err)
			}
			return
		default:
			if _, err := c.Stat(dir); err != nil {
				t.Fatal(err)
			}
			others++ // none would end while that one waits, if they waited for it
		}
	}
}

// TestNoNameNode has both NameNodes unreachable.
func TestNoNameNode(t *testing.T) {
	h, _, dir := pair(t)
	addrs := [2]string{peer.Refusing(t), peer.Refusing(t)}
	r := resolver(t, h.ProxyConf(addrs[0], addrs[1]))
	r.Options.RPC.Patience = time.Second
	c, _, err := r.Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"create": func() error { _, err := c.Create(dir + "/a"); return err },
		"rename": func() error { return c.Rename(dir+"/a", dir+"/b") },
		"delete": func() error { return c.Delete(dir + "/a") },
		"open":   func() error { _, err := c.Open(dir + "/a"); return err },
		"list":   func() error { _, err := c.List(dir); return err },
	} {
		err := call()
		if !errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, say := range []string{what, dir, addrs[0], addrs[1], "hdfs://testbed", "refused"} {
			if !strings.Contains(err.Error(), say) {
				t.Errorf("%v does not say %q", err, say)
			}
		}
	}
}
