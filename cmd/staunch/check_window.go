package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"staunch/checkpoint"
	"staunch/config"
	"staunch/connector"
	"staunch/fs"
	"staunch/guard"
	"staunch/plan"
)

// loss asks how much time is left until something that no completed checkpoint has is removed.
type loss struct {
	alarms guard.Alarms
	needs  guard.Needs
	// newest is the checkpoint that the job would go on from, nil: none.
	newest *checkpoint.Restored
	r      *jobReport
}

// windowReport is a loss window for programs. Until is missing where nothing leaves by itself.
type windowReport struct {
	Table string     `json:"table"`
	Topic string     `json:"topic,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// LeftSeconds until then, and KeepsSeconds that the place keeps what comes now.
	LeftSeconds  *float64 `json:"left_seconds,omitempty"`
	KeepsSeconds *float64 `json:"keeps_seconds,omitempty"`
	// Measured: it rests on rates.
	Measured bool  `json:"measured,omitempty"`
	Behind   int64 `json:"uncommitted_offsets"`
	// Gone is lost already, To excluded.
	Gone    []goneReport `json:"gone,omitempty"`
	Unknown string       `json:"unknown,omitempty"`
}

type goneReport struct {
	Split string `json:"split"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
}

func newWindowReport(w *guard.Window, now time.Time) windowReport {
	out := windowReport{Table: w.Table, Topic: w.Topic, Measured: w.Measured, Behind: w.Behind, Unknown: w.Unknown}
	if !w.Until.IsZero() {
		until, left, keeps := w.Until.UTC(), w.Left(now).Seconds(), w.Keeps.Seconds()
		out.Until, out.LeftSeconds, out.KeepsSeconds = &until, &left, &keeps
	}
	for _, g := range w.Gone {
		out.Gone = append(out.Gone, goneReport{g.Split, g.From, g.To})
	}
	return out
}

// newLoss reads what the job needs. log has the job's checkpoints, nil if there are none.
func newLoss(j *plan.Job, ck config.Checkpointing, log *checkpoint.Store, r *jobReport) (*loss, error) {
	l := &loss{r: r, needs: guard.Needs{Interval: ck.Interval, Timeout: ck.Timeout}}
	if log != nil {
		l.newest = log.Newest()
	}
	rs, err := j.Conf.Restart()
	if err != nil {
		return nil, err
	}
	switch rs.Strategy {
	case config.RestartFixed:
		l.needs.Restart = rs.FixedDelay
	case config.RestartExponential:
		l.needs.Restart = rs.MaxBackoff
	}
	_, l.alarms.Part, err = j.Conf.LossWindow()
	return l, err
}

// source adds a line for each topic of a source table, which name describes.
func (l *loss) source(table, name string, s connector.Source, splits []connector.Split, ctx connector.Context) {
	x, ok := s.(connector.Expiring)
	if !ok || len(splits) == 0 {
		return
	}
	what := "loss window of " + name
	e, err := x.Expiry(ctx)
	if err != nil {
		l.away(what, err)
		return
	}
	look, err := e.Look(splits)
	if err = errors.Join(err, e.Close()); err != nil {
		l.away(what, err)
		return
	}
	watch := guard.Watch{Table: table}
	now := time.Now()
	windows := watch.Add(now, look)
	for i := range windows {
		w := &windows[i]
		if len(windows) > 1 {
			what = fmt.Sprintf("loss window of %s, topic %s", name, w.Topic)
		}
		l.judge(what, w, now)
	}
}

func (l *loss) judge(what string, w *guard.Window, now time.Time) {
	v := l.alarms.Judge(w, l.needs, now)
	code := "loss-window"
	if w.Kind == guard.Files {
		code = "temporary-window"
	}
	l.r.Findings = append(l.r.Findings, finding{Verdict: map[guard.Level]verdict{guard.Pass: pass, guard.Warn: warn, guard.Fail: fail}[v.Level], What: what, Why: v.Why,
		Code: code, Change: v.Change})
	l.r.Windows = append(l.r.Windows, newWindowReport(w, now))
}

// away says why nothing is known.
func (l *loss) away(what string, err error) {
	l.r.Findings = append(l.r.Findings, finding{Verdict: warn, What: what, Why: err.Error()})
}

// positions gives the splits from where the job would read on: those of the newest checkpoint, and what was found besides.
func (l *loss) positions(table string, found []connector.Split) []connector.Split {
	if l.newest == nil {
		return found
	}
	st, ok := l.newest.Sources[table]
	if !ok {
		return found
	}
	out := slices.Clone(st.Splits)
	for _, f := range found {
		if !slices.ContainsFunc(out, func(s connector.Split) bool { return s.ID == f.ID }) {
			out = append(out, f)
		}
	}
	return out
}

// tables adds a line for each table whose temporary files somebody else removes.
func (l *loss) tables(j *plan.Job) {
	seen := map[string]bool{}
	for _, s := range j.Sinks {
		p, ok := s.Sink.(connector.Perishable)
		t, file := s.Sink.(connector.FileTable)
		if !ok || !file || p.TemporaryTTL() == 0 || seen[s.Key] {
			continue
		}
		seen[s.Key] = true
		what := "temporary files of " + s.Table.Name
		now := time.Now()
		name, since, err := l.oldest(t, s.Key, now)
		if err != nil {
			l.away(what, err)
			continue
		}
		w := guard.OfFiles(s.Table.Name, name, since, p.TemporaryTTL())
		l.judge(what, &w, now)
	}
}

// oldest finds the oldest file that the newest checkpoint promises and that is not visible yet; without one, nothing is older than now. Each folder
// is listed once, so that all of them can be looked at, however many they are.
func (l *loss) oldest(t connector.FileTable, key string, now time.Time) (name string, since time.Time, err error) {
	since = now
	if l.newest == nil {
		return "", since, nil
	}
	folders := map[string]map[string]time.Time{}
	for _, f := range l.newest.Tables[key].Files {
		dir := path.Dir(f.Pending)
		times, listed := folders[dir]
		if !listed {
			if times, err = timesIn(t.Store(), dir); err != nil {
				return "", since, err
			}
			folders[dir] = times
		}
		if at, there := times[path.Base(f.Pending)]; there && at.Before(since) { // else visible, or lost: audit tells
			name, since = fs.URI(t.Store(), f.Pending), at
		}
	}
	return name, since, nil
}

// timesIn gives the times of the files in a folder by name. A folder that is not there has none.
func timesIn(store fs.FS, dir string) (map[string]time.Time, error) {
	infos, err := store.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	times := map[string]time.Time{}
	for _, i := range infos {
		if !i.Dir {
			times[i.Name] = i.ModTime
		}
	}
	return times, nil
}
