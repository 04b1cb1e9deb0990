package dataflow

import (
	"time"

	"staunch/changelog"
)

// watermarks combines the watermarks of a subtask's splits: the least of those that are not idle (Flink: per-split watermarks in the source
// operator). With all splits idle the subtask is idle and keeps its last watermark.
type watermarks struct {
	timeout time.Duration
	splits  []splitMark
	current changelog.Watermark
}

type splitMark struct {
	mark changelog.Watermark
	last time.Time // of the last record
}

func newWatermarks(timeout time.Duration) *watermarks {
	return &watermarks{timeout: timeout, current: changelog.MinWatermark}
}

func (w *watermarks) grow(n int, now time.Time) {
	for len(w.splits) < n {
		w.splits = append(w.splits, splitMark{changelog.MinWatermark, now})
	}
}

// saw records rows of a split and their greatest watermark.
func (w *watermarks) saw(split int, mark changelog.Watermark, ok bool, now time.Time) {
	if split < 0 || split >= len(w.splits) {
		return
	}
	s := &w.splits[split]
	s.last = now
	if ok && mark > s.mark {
		s.mark = mark
	}
}

// combine gives the subtask's watermark, which never goes back, and whether it is idle.
func (w *watermarks) combine(now time.Time) (changelog.Watermark, bool) {
	least, active := changelog.MaxWatermark, false
	for _, s := range w.splits {
		if w.timeout > 0 && now.Sub(s.last) >= w.timeout {
			continue
		}
		active = true
		least = min(least, s.mark)
	}
	if active && least > w.current {
		w.current = least
	}
	return w.current, !active
}

// end is called when the input has ended.
func (w *watermarks) end() { w.current = changelog.MaxWatermark; w.splits = nil }
