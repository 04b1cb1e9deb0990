package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestManySplits: a topic of 5,000 partitions is read by one process, killed and resumed. The broker is one in this process: a real one needs
// a minute to create that many.
func TestManySplits(t *testing.T) {
	t.Parallel()
	const n = 5000
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(n, "many"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var rs []*kgo.Record
	var want []int64
	for _, p := range []int64{0, 1, 777, 2500, n - 1} {
		want = slices.Concat(want, span(p*10, p*10+4))
		for i := range int64(5) {
			rs = append(rs, &kgo.Record{Topic: "many", Partition: int32(p), Value: fmt.Appendf(nil, `{"id":%d}`, p*10+i)})
		}
	}
	if err := cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := newScript(t, "CREATE TABLE src (id BIGINT) WITH ('connector'='kafka','topic'='many','properties.bootstrap.servers'='"+strings.Join(c.ListenAddrs(), ",")+
		"','scan.startup.mode'='earliest-offset','scan.bounded.mode'='latest-offset','format'='json');\n"+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM src;\n")
	s.start("STAUNCH_FAILPOINT=certificate.after").killed()
	p := s.start().exits(0)
	wantIDs(t, s.path("lake"), want)
	s.audited(s.path("lake"))
	if kb := p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; kb > 400<<10 {
		t.Errorf("peak memory %d MB", kb>>10)
	}
}
