//go:build peer

package hdfs

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"staunch/fs"
	"staunch/fs/hdfs"
	"staunch/fs/hdfs/conf"
	jobp "staunch/job/protocol"
	"staunch/test/peer/nnproxy"
)

// played is a job on the pair, behind the proxies, that takes a checkpoint when it is told to.
type played struct {
	t *testing.T
	*pair
	*life
	k          *topic
	table, dir string
	opt        hdfs.Options
	next       int // the checkpoint that comes next
	before     int // records that earlier lives have committed
}

// partitions of the topics of played jobs.
const partitions = 2

// hadoop resolves paths as the program does, with a configuration and options of the test's own.
func (p *pair) hadoop(opt hdfs.Options) fs.Resolver {
	r := &hdfs.Resolver{Load: func() (*conf.Conf, error) { return conf.Load(p.conf, os.Getenv) }, Options: opt}
	p.t.Cleanup(r.Close)
	return r
}

// playedJob starts a job that copies a topic to a table of JSON files, and has it take its first checkpoint. No failure restarts it, only
// outages do.
func playedJob(t *testing.T, p *pair, opt hdfs.Options) *played {
	t.Helper()
	g := &played{t: t, pair: p, k: newTopic(t, partitions), dir: folder(t), opt: opt, next: 2}
	g.table = g.dir + "/lake"
	g.begin()
	g.committed(1)
	return g
}

// begin runs the job, again after a failure.
func (g *played) begin() {
	g.t.Helper()
	w := world{stores: g.hadoop(g.opt), dir: uri(g.dir + "/checkpoints"), restart: jobp.None{}}
	g.life = w.prepare(g.t, "played", fmt.Sprintf("SET 'parallelism.default' = '%d';\n", partitions)+g.k.source()+
		"CREATE TABLE lake (id BIGINT, v STRING, part INT, seq BIGINT) WITH ('connector'='filesystem', 'path'='"+uri(g.table)+
		"', 'format'='json');\nINSERT INTO lake SELECT id, v, part, seq FROM src;\n")
	g.start()
}

// rows has the job read so many more records of each partition.
func (g *played) rows(n int) {
	g.t.Helper()
	g.k.fill(n)
	g.hasRead()
}

// hasRead waits until the running attempt has read all records that were not committed before it began.
func (g *played) hasRead() {
	g.t.Helper()
	want := int64(g.k.filled*partitions - g.before)
	g.awaits(fmt.Sprintf("%d records", want), func(s status) bool { return s.Phase == "RUNNING" && s.Records == want })
}

// checkpoint has the job take a checkpoint and waits until it is committed.
func (g *played) checkpoint() {
	g.t.Helper()
	g.clock.forward()
	g.committed(g.next)
	g.next++
}

// exact ends the job and has DuckDB, the audit and the independent verifier look at the table: every record once, nothing lost.
func (g *played) exact() {
	t := g.t
	t.Helper()
	g.stop()
	want := g.k.filled * partitions
	if got := read(t, g.table, "json"); got.Rows != want || got.Distinct != want {
		t.Errorf("%+v, want %d rows, each once", got, want)
	}
	if st := g.job.Status(); st.Counters.Lost != 0 {
		t.Errorf("%+v", st)
	}
	judged(t, g.table)
}

// judged wants the audit and the independent verifier to find a table in order.
func judged(t testing.TB, table string) {
	t.Helper()
	if out, err := exec.Command(program(t), "audit", uri(table)).CombinedOutput(); err != nil {
		t.Errorf("staunch audit: %v\n%s", err, out)
	}
	if out, err := exec.Command(os.Getenv("TESTBED_PYTHON"), filepath.Join("..", "verifier", "verify.py"), uri(table)).CombinedOutput(); err != nil {
		t.Errorf("verify.py: %v\n%s", err, out)
	}
}

// below matches paths of a folder.
func below(dir string) func(string) bool {
	return func(p string) bool { return strings.HasPrefix(p, dir+"/") }
}

// TestJobMutations: the first try of each mutating call of a job, in the table and in the checkpoint directory, at different places of a
// checkpoint, loses its reply, never arrives, or arrives once more after the checkpoint. The job does not fail, and every row is there once.
func TestJobMutations(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		t.Run(name, func(t *testing.T) {
			g := playedJob(t, newPair(t), hdfs.Options{})
			count := map[string]int{}
			for _, method := range []string{"mkdirs", "create", "addBlock", "complete", "rename2", "delete"} {
				for skip := range 2 {
					g.rows(5)
					rule := g.active().On(nnproxy.Match{Method: method, Path: below(g.dir), Skip: skip}, actions[name])
					g.checkpoint()
					rule.Off()
					count[method] += g.late(rule, name)
				}
			}
			g.exact()
			if st := g.job.Status(); st.Restarts != 0 || st.FailedCount != 0 {
				t.Errorf("%d restarts, %d failed checkpoints:\n%s", st.Restarts, st.FailedCount, g.log)
			}
			for method, n := range count {
				if n == 0 {
					t.Errorf("no %s was met", method)
				}
			}
			t.Logf("%s, calls met: %v", name, count)
		})
	}
}

// late counts what a rule has met and lets held requests through.
func (g *played) late(rule *nnproxy.Rule, name string) (n int) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		hit, err := rule.Next(over)
		if err != nil { // no more
			return n
		}
		n++
		if actions[name] == nnproxy.HoldAndCut {
			if _, err := release(deadline(g.t), name, hit); err != nil {
				g.t.Error(err)
			}
		}
	}
}

// met counts the calls that rules have met.
func met(rules ...*nnproxy.Rule) (n int) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, r := range rules {
		for {
			if _, err := r.Next(over); err != nil { // no more
				break
			}
			n++
		}
	}
	return n
}

// TestJobPipelines: every third connection to a DataNode is refused or breaks at once, and the calls that mend a pipeline lose their replies.
func TestJobPipelines(t *testing.T) {
	var n atomic.Int64
	opt := hdfs.Options{}
	opt.Data.Dial = func(addr string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout("tcp", addr, timeout)
		if err != nil {
			return nil, err
		}
		switch i := n.Add(1); {
		case i%6 == 2:
			_ = c.Close() // it was never used
			return nil, fmt.Errorf("no way to %s", addr)
		case i%6 == 5:
			return &broken{c, 2000, new(atomic.Bool)}, nil
		}
		return c, nil
	}
	p := newPair(t)
	g := playedJob(t, p, opt)
	methods := []string{"abandonBlock", "updateBlockForPipeline", "updatePipeline"}
	count := map[string]int{}
	for i := range 12 {
		rule := g.active().On(nnproxy.Match{Method: methods[i%3]}, nnproxy.ForwardAndCut)
		g.rows(200)
		g.checkpoint()
		rule.Off()
		count[methods[i%3]] += g.late(rule, "reply lost")
	}
	g.exact()
	for _, m := range methods {
		if count[m] == 0 {
			t.Errorf("no %s was met", m)
		}
	}
	t.Logf("connections to DataNodes %d, of them %d refused and %d broken; replies lost: %v; restarts %d", n.Load(), (n.Load()+4)/6, (n.Load()+1)/6, count,
		g.job.Status().Restarts)
}
