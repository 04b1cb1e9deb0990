package observe

import (
	"errors"
	"slices"
	"time"

	"staunch/connector"
	"staunch/dataflow"
	"staunch/forecast"
	"staunch/fs"
)

// few and many bound the rounds of a sample: few are enough where a round has many records.
const (
	few, many = 8, 60
	// plenty are enough records to average over.
	plenty = 1000
)

// enough records make a rate.
const enough = 1000

// windows are the times over which rates are taken: the shortest that has enough records.
var windows = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour}

// ahead is how far the records' times may be ahead of this machine's.
const ahead = time.Minute

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// survey asks a source how much comes in, and prepares the rounds of a sample; nil without one.
func (l *Looker) survey(src *dataflow.Source, s *forecast.Source, set forecast.Settings) (*run, error) {
	asked, ok := src.Source.(connector.Surveyor)
	if !ok || s.Away {
		return nil, nil
	}
	v, err := asked.Survey(l.context(0, set.Parallelism, func() {}))
	if err != nil {
		return nil, err
	}
	r := &run{l: l, src: src, out: s, survey: v, set: set}
	if err := r.look(); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return r, nil
}

// look fills in what the source says, rates among it, and plans the rounds.
func (r *run) look() error {
	x, err := r.survey.Look()
	if err != nil {
		return err
	}
	s := r.out
	s.Surveyed, s.Group, s.Members, s.StartMode, s.Reset = true, x.Group, max(0, x.Members), x.StartMode, x.Reset
	s.ReadCommitted, s.Discovery, s.FetchBytes = x.ReadCommitted, x.Discovery, x.FetchBytes
	for _, t := range x.Topics {
		s.Topics = append(s.Topics, forecast.Topic{Name: t.Name, Cleanup: t.Cleanup, Replicas: t.Replicas, MinInSync: t.MinInSync, Unclean: t.Unclean})
	}
	now := r.l.Env.Now()
	var newest time.Time
	var all []time.Time
	for _, p := range x.Splits {
		s.Splits = append(s.Splits, forecast.Split{ID: p.ID, Subtask: p.Subtask(max(1, r.set.Parallelism)), Records: p.End - p.Start, Newest: p.Newest, Stuck: p.Stuck})
		if p.Newest.IsZero() {
			continue
		}
		all = append(all, p.Newest)
		if p.Newest.After(newest) {
			newest = p.Newest
		}
	}
	// Producers whose clocks are ahead, all but some of them: then their clock counts.
	slices.SortFunc(all, time.Time.Compare)
	if n := len(all); n > 0 && all[n/2].After(now.Add(ahead)) {
		now = all[n/2]
	}
	r.splits = x.Splits
	if len(x.Splits) == 0 {
		return nil
	}
	if !r.set.Bounded { // a bounded read goes as fast as it can, not as fast as records come
		if err := r.rates(now); err != nil {
			return err
		}
	}
	if r.l.Options.Records <= 0 {
		return nil
	}
	return r.plan(now, newest)
}

// rates takes the records a second of each split.
func (r *run) rates(now time.Time) error {
	var times []time.Time
	for _, w := range windows {
		times = append(times, now.Add(-w))
	}
	marks, err := r.survey.Since(times)
	if err != nil {
		return err
	}
	s := r.out
	for k := range windows {
		total := int64(0)
		begin := now
		inside := true // every split begins in the window
		for i, p := range r.splits {
			total += p.End - marks[k][i].Offset
			inside = inside && marks[k][i].Offset == p.Start
			if at := marks[k][i].Time; !at.IsZero() && at.Before(begin) {
				begin = at
			}
		}
		if total == 0 || total < enough && k < len(windows)-1 {
			continue
		}
		if !inside || begin.Before(times[k]) {
			begin = times[k]
		}
		s.RateOver = max(now.Sub(begin), time.Second)
		for i, p := range r.splits {
			s.Splits[i].Rate = float64(p.End-marks[k][i].Offset) / s.RateOver.Seconds()
		}
		break
	}
	if s.RateOver == 0 {
		s.RateOver = windows[len(windows)-1]
	}
	r.measured = sum(s.Splits)
	given := r.l.Options.Rate
	if given <= 0 {
		return nil
	}
	filled := 0
	for _, p := range s.Splits {
		if p.Records > 0 {
			filled++
		}
	}
	for i := range s.Splits {
		switch {
		case r.measured > 0:
			s.Splits[i].Rate *= given / r.measured
		case filled == 0 || s.Splits[i].Records > 0:
			s.Splits[i].Rate = given / float64(max(1, filled+map[bool]int{true: len(s.Splits)}[filled == 0]))
		}
	}
	return nil
}

func sum(splits []forecast.Split) (n float64) {
	for _, p := range splits {
		n += p.Rate
	}
	return n
}

// plan cuts recent records into rounds: each as many as come between two checkpoints, or as the bound allows.
func (r *run) plan(now, newest time.Time) error {
	every := max(r.set.Interval, r.set.MinPause, time.Millisecond)
	limit, rate := float64(r.l.Options.Records), sum(r.out.Splits)
	cycle := rate * every.Seconds() // records
	if r.measured == 0 || rate == 0 {
		r.byOffset(cycle, every)
		return nil
	}
	end := now
	if !newest.IsZero() && newest.Before(now) {
		end = newest.Add(time.Millisecond)
	}
	length := time.Duration(float64(every) * rate / r.measured) // of a round, in the topic's time
	most := r.out.RateOver - now.Sub(end)                       // of the topic's time, that there are records of
	n := min(max(few, min(many, int(plenty/max(cycle, 1)))), int(limit/max(cycle, 1)), int(most/max(length, 1)))
	var times []time.Time
	if n >= 1 {
		r.whole, r.share, r.length = true, 1, every
		for k := n; k >= 1; k-- {
			times = append(times, end.Add(-time.Duration(k)*length))
		}
	} else if most <= 0 { // younger than what a look takes
		r.byOffset(cycle, every)
		return nil
	} else { // a quarter and three quarters of what there may be, so that what grows with the rows can be told from what does not
		part := min(limit/max(cycle, 1), float64(most)/float64(length), 1)
		span := time.Duration(part * float64(length))
		r.share = part / 2
		r.length = time.Duration(r.share * float64(every))
		times = []time.Time{end.Add(-span), end.Add(-span * 3 / 4)}
	}
	marks, err := r.survey.Since(times)
	if err != nil {
		return err
	}
	for k := range times {
		var parts []connector.Part
		for i, p := range r.splits {
			to := p.End
			if k+1 < len(times) {
				to = marks[k+1][i].Offset
			}
			if from := max(marks[k][i].Offset, p.Start); from < to {
				parts = append(parts, connector.Part{Split: i, From: from, To: to})
			}
		}
		r.rounds = append(r.rounds, parts)
	}
	return nil
}

// byOffset takes the newest records where their times do not say how fast they come.
func (r *run) byOffset(cycle float64, every time.Duration) {
	var filled []int
	for i, p := range r.splits {
		if p.End > p.Start {
			filled = append(filled, i)
		}
	}
	if len(filled) == 0 {
		return
	}
	limit := float64(r.l.Options.Records)
	n, part := 1, 1.0
	r.whole, r.share, r.length = true, 1, every
	size := limit / float64(len(filled)) // records of a round and split
	switch {
	case cycle > 0 && cycle <= limit:
		n, size = min(few, int(limit/cycle)), cycle/float64(len(filled))
	case cycle > 0:
		part = limit / cycle
		r.whole, r.share = false, part
		r.length = time.Duration(part * float64(every))
	}
	for k := n; k >= 1; k-- {
		var parts []connector.Part
		for _, i := range filled {
			p := r.splits[i]
			from, to := p.End-int64(float64(k)*size), p.End-int64(float64(k-1)*size)
			if from = max(from, p.Start); from < to {
				parts = append(parts, connector.Part{Split: i, From: from, To: to})
			}
		}
		if len(parts) > 0 {
			r.rounds = append(r.rounds, parts)
		}
	}
	slices.SortFunc(r.rounds, func(a, b []connector.Part) int { return int(a[0].From - b[0].From) })
}
