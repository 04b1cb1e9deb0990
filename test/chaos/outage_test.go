//go:build peer

package chaos

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"staunch/test/peer"
)

var (
	away = flag.Duration("away", 45*time.Second, "how long no NameNode is there; longer than a call to HDFS is tried (30 s)")
	page = flag.String("page", "", "a file that gets the outage's date and figures")
)

// TestBothNameNodesAway kills both NameNodes under a job with a live topic, for longer than any call is tried, and brings them back. The job
// may not end, and with no restart strategy at all any failure that counts would end it. Afterwards it goes on by itself and nothing is lost.
func TestBothNameNodesAway(t *testing.T) {
	at := newPlace(t, "hdfs")
	k := newTable(t, at, "parquet")
	eye := k.watch()
	live := peer.FillLive(t, k.topic, partitions, rate)
	k.produced()
	k.flags = []string{"-D", "restart-strategy.type=none"}
	r := k.start()
	r.advances("progress before the outage")
	r.advances("more progress before the outage")
	before := k.committed()

	began := time.Now()
	active := at.hdfs.Active()
	for _, n := range []string{active, peer.Other(active)} {
		at.hdfs.Kill(n, "KILL")
	}
	select {
	case <-r.done:
		t.Fatalf("the job ended with the NameNodes: %v\n%s", r.cmd.ProcessState, &r.log)
	case <-time.After(*away):
	}
	during := k.committed()
	for _, n := range []string{"nn1", "nn2"} {
		at.hdfs.Restart(n)
	}
	at.hdfs.Activate(active)
	back := time.Now()
	r.advances("progress after the outage")
	goesOn := time.Since(back)

	records := live.Stop()
	r.until("the end of the topic", 10*time.Minute, func() bool { return k.committed() >= int64(records) })
	caughtUp := time.Since(back)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-r.done
	if r.cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("SIGTERM: %v, want exit code 3\n%s", r.cmd.ProcessState, &r.log)
	}
	seen := eye.end(t)
	v := k.judge(records)
	restarts, free := strings.Count(r.log.String(), "the job failed and starts again"), strings.Count(r.log.String(), "outage, uses up no attempt")
	if restarts != free {
		t.Errorf("%d of %d restarts used up an attempt", restarts-free, restarts)
	}
	figures := [][2]string{
		{"no NameNode answered for", back.Sub(began).Round(time.Second).String()},
		{"rows visible before, at the end of the outage", fmt.Sprintf("%d, %d", before, during)},
		{"first checkpoint committed after an active NameNode was back", goesOn.Round(100 * time.Millisecond).String()},
		{"all that came meanwhile was visible after", caughtUp.Round(100 * time.Millisecond).String()},
		{"times that the job began again from its newest checkpoint by itself; attempts used up by that", fmt.Sprintf("%d; %d", restarts, restarts-free)},
		{"records in the topic", fmt.Sprint(records)},
		{"rows by DuckDB; lost, doubled, unexpected", fmt.Sprintf("%d; %d, %d, %d", v.rows, v.lost, v.doubled, v.unexpected)},
		{"concurrent reader: looks at the table; torn, doubled, vanished", fmt.Sprintf("%d; %d, %d, %d", seen.Reads, seen.Torn, seen.Doubled, seen.Gone)},
	}
	for _, f := range figures {
		t.Logf("%s: %s", f[0], f[1])
	}
	if *page != "" && !t.Failed() {
		write(t, figures)
	}
}

// write makes the page of the long outage.
func write(t *testing.T, figures [][2]string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `# Soak: eleven minutes without a NameNode

`+"`make soak`"+` runs a job that copies a live topic (%d records a second, JSON) into a Parquet table on a real HDFS pair, with its checkpoints there
too, kills both NameNodes with SIGKILL, leaves them dead for %v, and starts them again. One process does all of it; it is given no restart
strategy, so that any failure that counts would end it. A reader looks at the table by WebHDFS all the time; DuckDB, `+"`staunch audit`"+` and
the independent verifier judge at the end. This page is written by the test when it passes.

Last run: %s, HDFS 3.5.0 and Kafka 4.4.0 on one machine with %d cores, which had other work too.

| | |
|---|---|
`, rate, *away, time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.NumCPU())
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s |\n", f[0], f[1])
	}
	if err := os.WriteFile(*page, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
