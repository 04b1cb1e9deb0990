package filesystem

import (
	"sync/atomic"

	"staunch/metric"
)

// peaks are the most open files and memory of a writer between two checkpoints, as they stood when the subtask asked for its memory, which it
// does after each batch. A gauge of the present would mostly show what is left right after a checkpoint.
type peaks struct {
	files int
	bytes int64
	// What the last checkpoint ended, for the gauges.
	shownFiles, shownBytes atomic.Int64
}

func (p *peaks) register(g *metric.Group) {
	g.Gauge("maxOpenFiles", func() float64 { return float64(p.shownFiles.Load()) })
	g.Gauge("maxOpenFileBytes", func() float64 { return float64(p.shownBytes.Load()) })
}

func (p *peaks) see(files int, bytes int64) {
	p.files, p.bytes = max(p.files, files), max(p.bytes, bytes)
}

// tell ends the time of a checkpoint.
func (p *peaks) tell() {
	p.shownFiles.Store(int64(p.files))
	p.shownBytes.Store(p.bytes)
	p.files, p.bytes = 0, 0
}
