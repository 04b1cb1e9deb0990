package sim

import (
	"bytes"
	"testing"
)

// TestJoinedArchives: whole jobs whose logs' archives are joined all the time, killed, fenced and rewound while they do it.
func TestJoinedArchives(t *testing.T) {
	v := named("")
	v.job.Commit.JoinArchives = 2
	joined := 0
	for seed := uint64(1); seed <= 100; seed++ {
		var out bytes.Buffer
		if _, err := Run(seed, v, &out); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, line := range bytes.Split(out.Bytes(), []byte("\n")) {
			if bytes.Contains(line, []byte("delete")) && bytes.Contains(line, []byte("/archive-")) {
				joined++
			}
		}
	}
	if t.Logf("%d archives were joined", joined); joined < 30 {
		t.Errorf("only %d archives were joined", joined)
	}
}
