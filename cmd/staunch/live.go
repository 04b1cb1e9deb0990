package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"staunch/job"
)

// startLive shows one line that is renewed each second, in a terminal; elsewhere nothing. The returned function ends it.
func startLive(jobs []*job.Job, out *os.File) func() {
	if info, err := out.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		last, at := make([]int64, len(jobs)), time.Now()
		for {
			select {
			case <-done:
				fmt.Fprint(out, "\r\x1b[K")
				return
			case now := <-t.C:
				var parts []string
				for i, j := range jobs {
					s := j.Status()
					rate := float64(s.Records-last[i]) / now.Sub(at).Seconds()
					last[i] = s.Records
					lag := "?"
					if s.Lag >= 0 {
						lag = count(s.Lag)
					}
					parts = append(parts, fmt.Sprintf("%s  %s rec/s  lag %s  checkpoint %d (%s)  files visible %d", strings.ToLower(s.Phase),
						count(int64(rate)), lag, s.LastCheckpoint, s.LastDuration.Round(time.Millisecond), s.FilesVisible))
				}
				at = now
				fmt.Fprint(out, "\r\x1b[K"+strings.Join(parts, "  |  "))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// count prints a number with thousands marked.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
