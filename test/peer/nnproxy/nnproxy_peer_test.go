//go:build peer

package nnproxy

import (
	"context"
	"strings"
	"testing"
	"time"

	"staunch/test/peer"
)

// TestAJavaClientAndItsLostReply: Hadoop's own client tries again with the same ids, and the NameNode does not execute twice.
func TestAJavaClientAndItsLostReply(t *testing.T) {
	h := peer.NewHDFS(t)
	var proxies [2]*Proxy
	for i, target := range h.NameNodes {
		p, err := Listen(target)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		proxies[i] = p
	}
	active := proxies[peer.Index(h.Active())]
	rule := active.On(Match{Method: "mkdirs"}, ForwardAndCut)
	t.Setenv("HDFS_CLIENT_CONF", h.ProxyConf(proxies[0].Addr(), proxies[1].Addr()))
	h.Shell("-mkdir", "/nnproxy-lost-reply")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lost, err := rule.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := lost.Reply(ctx); err != nil || r.Failed || lost.Path != "/nnproxy-lost-reply" {
		t.Errorf("%s: %+v %v", lost.Path, r, err)
	}
	again := 0
	for _, p := range proxies {
		for _, c := range p.Calls() {
			if c.Method == "mkdirs" && c.Retry > 0 && c.ID == lost.ID && c.Client == lost.Client {
				again++
			}
		}
	}
	if again == 0 {
		t.Error("no second try with the same ids was seen")
	}
	if list := h.Shell("-ls", "-d", "/nnproxy-lost-reply"); !strings.Contains(list, "nnproxy-lost-reply") {
		t.Error(list)
	}
}
