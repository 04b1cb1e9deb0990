package forecast

import (
	"math"
	"time"
)

// What a commit asks of the store: for each file to be completed, to be renamed and to be looked at, and for its folder; and for each checkpoint
// three entries of logs, each of which is created, written, read back, renamed and listed.
const callsPerFile, callsPerCheckpoint = 4, 18

// predict computes what one INSERT will do; ok is false without a sample or rows that come.
func predict(f *Facts, s *Sink, src *Source) (p Forecast, ok bool) {
	if s.Sample == nil || s.Sample.Rounds == 0 || !src.Surveyed || f.Settings.Bounded {
		return p, false
	}
	p = Forecast{Table: s.Table, Insert: s.Insert, Measured: s.Sample.Whole}
	var bytes, rows float64
	for i := range s.Sample.Tasks {
		t := &s.Sample.Tasks[i]
		if t.Read > 0 {
			p.Rate += src.taskRate(t.Subtask) * float64(t.Written) / float64(t.Read)
		}
		x := perCheckpoint(s, t)
		p.FilesPerCheckpoint += x.files
		p.OpenFiles += x.open
		p.OpenBytes += x.held
		bytes += x.bytes
		rows += x.rows
	}
	if p.FilesPerCheckpoint > 0 {
		p.FileBytes = bytes / p.FilesPerCheckpoint
	}
	p.Commit = time.Duration(float64(s.RoundTrip) * (p.FilesPerCheckpoint*callsPerFile + callsPerCheckpoint))
	p.Cycle = f.cycle(p.Commit)
	if p.Rate == 0 || rows == 0 {
		return p, false
	}
	a := float64(time.Hour) / float64(p.Cycle)
	p.FilesPerHour = p.FilesPerCheckpoint * a
	p.BytesPerDay = bytes * a * 24
	p.objects(f, s)
	p.delays(f, s, src)
	return p, true
}

// cycle is the time from one checkpoint to the next: c+1 begins when c is committed.
func (f *Facts) cycle(commit time.Duration) time.Duration {
	return max(f.Settings.Interval, commit+f.Settings.MinPause, time.Millisecond)
}

// round is what one subtask makes of the records between two checkpoints.
type round struct{ rows, files, bytes, open, held float64 }

// perCheckpoint averages the rounds of a subtask where they are whole; else it extrapolates.
func perCheckpoint(s *Sink, t *TaskSample) (r round) {
	n := float64(s.Sample.Rounds)
	for _, f := range t.Files {
		r.rows += float64(f.Rows) / n
		r.bytes += float64(f.Bytes) / n
	}
	r.files = float64(len(t.Files)) / n
	for i := range t.Held {
		r.held = max(r.held, float64(t.Held[i]))
		r.open += float64(t.Open[i]) / n
	}
	if s.Sample.Whole || s.Sample.Share <= 0 || r.rows == 0 {
		return r
	}
	return extrapolate(s, t, r)
}

// extrapolate scales a part of a checkpoint's rows to all of them. Rows of partitions that were seen grow in proportion, partitions that were
// not seen yet come in as many as the ones seen once or twice let expect (Chao, Gotelli and others, Ecological Monographs 84, 2014, equation 9);
// a file's length and memory grow along the line through the files of the sample; size closes files.
func extrapolate(s *Sink, t *TaskSample, r round) round {
	share := s.Sample.Share
	rows := r.rows / share
	seen := float64(0)
	for _, n := range t.Folders {
		seen += float64(n)
	}
	folders := Distinct(t.Folders, rows)
	if seen == 0 || folders == 0 {
		return r
	}
	fixed, each := line(t.Files)
	out := round{rows: rows, open: folders}
	perFolder := rows / folders
	full := math.Inf(1) // rows of a file that is closed by its size
	if s.Roll.Size > 0 && each > 0 {
		full = max(1, (float64(s.Roll.Size)-fixed)/each)
	}
	out.files = folders * math.Ceil(perFolder/full)
	out.bytes = out.files*fixed + rows*each
	out.held = folders * memory(t, min(perFolder, full))
	out.held = max(out.held, r.held)
	return out
}

// memory is what an open file of so many rows holds: it goes on from the largest round as it grew in that round's second half, in which buffers that
// fill once are full.
func memory(t *TaskSample, rows float64) float64 {
	at := -1
	for i := range t.Held {
		if t.Open[i] > 0 && i < len(t.Rows) && i < len(t.Half) && (at < 0 || t.Rows[i] > t.Rows[at]) {
			at = i
		}
	}
	if at < 0 || t.Rows[at] == 0 {
		return 0
	}
	open := float64(t.Open[at])
	had, held, half := float64(t.Rows[at])/open, float64(t.Held[at])/open, float64(t.Half[at])/open
	if rows <= had {
		return held // buffers are there with few rows too
	}
	return held + (held-half)*2/had*(rows-had)
}

// Distinct is how many different values rows draws will show, when as many draws as counts sum up to have shown each of counts' values so often.
func Distinct(counts []int64, rows float64) float64 {
	var n, once, twice float64
	for _, c := range counts {
		n += float64(c)
		switch c {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	seen := float64(len(counts))
	if n == 0 || rows >= n && once == 0 {
		return seen
	}
	if rows < n { // expected number among fewer draws
		var d float64
		for _, c := range counts {
			d += 1 - math.Pow(1-float64(c)/n, rows)
		}
		return d
	}
	unseen := (n - 1) / n * once * once / (2 * max(twice, 1))
	if twice == 0 {
		unseen = (n - 1) / n * once * (once - 1) / 2
	}
	if unseen <= 0 {
		return seen
	}
	return seen + unseen*(1-math.Pow(1-once/(n*unseen+once), rows-n))
}

// line fits bytes = fixed + each * rows through files, none of both negative.
func line(files []FileSample) (fixed, each float64) {
	var n, x, y, xx, xy float64
	for _, f := range files {
		a, b := float64(f.Rows), float64(f.Bytes)
		n, x, y, xx, xy = n+1, x+a, y+b, xx+a*a, xy+a*b
	}
	if x == 0 {
		return 0, 0
	}
	if d := n*xx - x*x; d > 1e-9*n*xx {
		each = (n*xy - x*y) / d
		fixed = (y - each*x) / n
	}
	if each <= 0 || fixed < 0 {
		return 0, y / x
	}
	return fixed, each
}

// objects counts what a day adds.
func (p *Forecast) objects(f *Facts, s *Sink) {
	day := float64(24*time.Hour) / float64(p.Cycle)
	p.ObjectsPerDay = p.FilesPerCheckpoint*day + logObjects(day, f.Settings.SegmentEvery, f.Settings.JoinArchives)
	t := s.Sample.Times
	if length := t.Length; length > 0 && s.Sample.Rounds > 0 {
		// Partitions of one time and of the same length follow each other.
		var folders float64
		for i := range s.Sample.Values {
			if i == 0 || s.Sample.Values[i] != nil {
				folders++
			}
		}
		spans := 1.0
		if t.Known {
			spans = 1 + math.Round(float64(t.Newest.Sub(t.Oldest))/float64(length))
		}
		p.PartitionsPerDay = max(1, folders/spans) * float64(24*time.Hour) / float64(length)
		p.ObjectsPerDay += p.PartitionsPerDay
		if s.Commit.Policy != "" {
			p.ObjectsPerDay += p.PartitionsPerDay
		}
	}
}

// logObjects is how many files a table's log has after n checkpoints with files: entries that are not archived yet (certificate and verdicts),
// and archives, of which join of one age become one.
func logObjects(n float64, segment, join int) float64 {
	if segment <= 0 || join <= 1 {
		return 2 * n
	}
	archives := int64(n) / int64(segment)
	total := 2 * math.Min(n, float64(segment))
	for ; archives > 0; archives /= int64(join) {
		total += float64(archives % int64(join))
	}
	return total
}

// delays are the longest waits.
func (p *Forecast) delays(f *Facts, s *Sink, src *Source) {
	p.Visible = p.Cycle + p.Commit
	p.AfterFailure = p.Visible + f.Settings.Timeout*time.Duration(f.Settings.Tolerable+1) + max(f.Settings.Restart.First, 0)
	if src.Sample != nil && src.Sample.PerSecond > 0 { // what was read since the last checkpoint is read again
		again := src.rate() * p.Cycle.Seconds() / (src.Sample.PerSecond * float64(max(1, f.Settings.Parallelism)))
		p.AfterFailure += time.Duration(again * float64(time.Second))
	}
	if s.Commit.Policy == "" || len(s.Keys) == 0 || !s.Commit.ByTime {
		return
	}
	if length := s.Sample.Times.Length; length > 0 && s.Commit.Delay >= length && src.Sample != nil && !src.Sample.Event.IsZero() {
		behind := max(0, src.Sample.NewestRecord.Sub(src.Sample.Event))
		if behind < day { // else old data is replayed, and its time passes faster than ours
			p.Complete = s.Commit.Delay - length + behind + p.Visible
		}
	}
}
