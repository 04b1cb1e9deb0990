//go:build peer

package hdfs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"staunch/fs/hdfs"
	"staunch/test/peer/nnproxy"
)

// TestCase02Writer is the writer's part of ../cases/case-02: the NameNode answers three times that a file is not complete yet, and the
// connection to the DataNode of an open file breaks. (The idle time is in TestFailoverInTheMiddle.) The checkpoint that names the file comes
// after complete = true, and every record is there once.
func TestCase02Writer(t *testing.T) {
	opt := hdfs.Options{}
	opt.Data.Dial = breaks()
	p := newPair(t)
	g := playedJob(t, p, opt)
	g.rows(2000)
	pending := func(s string) bool { return strings.HasPrefix(s, g.table+"/") && strings.HasSuffix(s, ".pending") }
	no := p.active().Answer(nnproxy.Match{Method: "complete", Path: pending, Times: 3}, []byte{8, 0})
	last := p.active().On(nnproxy.Match{Method: "complete", Path: pending, Skip: 1}, nnproxy.Hold) // of two files the second
	g.clock.forward()
	for range 3 {
		if _, err := no.Next(deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := last.Next(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := int(g.job.Status().LastCheckpoint); n >= g.next {
		t.Errorf("checkpoint %d is committed, and a file of it is not complete", n)
	}
	log := tree(t, g.HDFS, g.dir+"/checkpoints/played/log") // begin, complete 1, complete 2
	if _, one := log[g.dir+"/checkpoints/played/log/2"]; !one {
		t.Errorf("the log: %v", slices.Sorted(maps.Keys(log)))
	}
	if _, two := log[g.dir+"/checkpoints/played/log/3"]; two {
		t.Error("checkpoint 2 stands in the log before its files are complete")
	}
	if _, err := held.Release(deadline(t)); err != nil {
		t.Fatal(err)
	}
	g.committed(g.next)
	g.next++
	if len(p.calls("updatePipeline"))+len(p.calls("abandonBlock")) == 0 {
		t.Error("no connection broke")
	}
	if st := g.job.Status(); st.Restarts != 0 {
		t.Errorf("%d restarts:\n%s", st.Restarts, g.log)
	}
	g.exact()
}
