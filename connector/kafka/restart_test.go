//go:build peer && destructive

package kafka

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"staunch/connector/connectortest"
)

// TestPeerBrokerRestart kills a real broker of the test's own, KAFKA_OWN is the command that rules it (start, kill, restart, env), and starts it
// again: the read goes on.
func TestPeerBrokerRestart(t *testing.T) {
	own := os.Getenv("KAFKA_OWN")
	if own == "" {
		t.Fatal("KAFKA_OWN is not set: it must be a command that starts, kills and restarts a broker")
	}
	do := func(what string) string {
		t.Helper()
		out, err := exec.Command(own, what).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", own, what, err, out)
		}
		return string(out)
	}
	do("start")
	_, addr, _ := strings.Cut(strings.TrimSpace(do("env")), "KAFKA_BOOTSTRAP=")
	b := connectTo(t, addr)
	b.topic("in", 2)
	b.fill("in", 0, 0, 10)
	s := b.source(onlyValue, "topic", "in")
	log := &syncBuffer{}
	k := task(t, s, connectortest.Discover(t, s, nil, nil), log)
	k.Limit = 2 * time.Minute
	await(t, k, 10)
	for round := 1; round <= 2; round++ {
		do("kill")
		for deadline := time.Now().Add(time.Minute); ; { // the killed process may hold its port for a moment
			out, err := exec.Command(own, "restart").CombinedOutput()
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("restart: %v\n%s", err, out)
			}
		}
		w := connectTo(t, addr)
		w.fill("in", 1, round*10, round*10+10)
		w.fill("in", 0, round*10, round*10+10)
		wantRows(t, await(t, k, 20), append(texts(1, round*10, round*10+10), texts(0, round*10, round*10+10)...)...)
	}
	t.Log(log)
}
