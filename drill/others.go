package drill

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/commit"
	"staunch/env"
	"staunch/fs"
	"staunch/log"
)

// The kinds of exhibits: what can explain a change depends on them.
const (
	ofTable       = "table"
	ofCheckpoints = "checkpoints"
	ofTopic       = "topic"
)

// Others are jobs that went on during a drill: their logs have entries from that time. What such a job does by its protocol explains changes.
type Others struct {
	// running has the ids of jobs whose own logs went on.
	running map[string]bool
	// writers are those whose logs in a table went on, by the table's URI and the log's folder in it.
	writers map[string]map[string]*writer
	// last is the greatest entry of a job's own log.
	last map[string]int64
}

// writer is a job that writes a table, as its log there says.
type writer struct {
	job8  string
	epoch account.Epoch
	last  int64
	// removed are the final paths of files that were taken out on purpose; root is the table's path.
	removed map[string]int64
	root    string
}

// FindOthers finds them in what was seen before and after. The two have the same order.
func FindOthers(ctx context.Context, stores fs.Resolver, before, after []Exhibit) (*Others, error) {
	o := &Others{running: map[string]bool{}, writers: map[string]map[string]*writer{}, last: map[string]int64{}}
	for i := range after {
		x := &after[i]
		switch x.kind {
		case ofCheckpoints:
			if n, grew := x.grown(before[i], "log/"); grew {
				o.running[x.job], o.last[x.job] = true, n
			}
		case ofTable:
			if err := o.table(ctx, stores, before[i], x); err != nil {
				return nil, fmt.Errorf("%s: %w", x.What, err)
			}
		}
	}
	return o, nil
}

// grown reports whether a log has entries that it did not have, and its greatest one.
func (x *Exhibit) grown(before Exhibit, dir string) (greatest int64, grew bool) {
	for name := range x.Values {
		n := entryOf(name, dir)
		if _, had := before.Values[name]; n > 0 && !had {
			grew = true
		}
		greatest = max(greatest, n)
	}
	return greatest, grew
}

// entryOf is the number of the entry of a log that has this name, 0 if it is none.
func entryOf(name, dir string) int64 {
	rest, ok := strings.CutPrefix(name, dir)
	digits, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || strings.Contains(rest, "/") {
		return 0
	}
	return n
}

// table reads the claims of the logs in a table that went on.
func (o *Others) table(ctx context.Context, stores fs.Resolver, before Exhibit, x *Exhibit) error {
	o.writers[x.uri] = map[string]*writer{}
	for name := range x.Values {
		dir, ok := strings.CutPrefix(name, "_staunch/")
		if dir, _ = strings.CutSuffix(dir, "/"); !ok || dir == "" || strings.Contains(dir, "/") {
			continue
		}
		n, grew := x.grown(before, name)
		if !grew {
			continue
		}
		store, root, err := stores.Resolve(x.uri)
		if err != nil {
			return err
		}
		st, err := commit.Read(&env.Real{}, store, path.Join(root, name))
		if err != nil {
			return err
		}
		if c := st.Claim; c != nil && commit.Escape(c.Job) == dir {
			o.writers[x.uri][dir] = &writer{job8: account.Job8(c.Job), epoch: c.Epoch, last: n, removed: st.Mended.Removed, root: root}
		}
	}
	return ctx.Err()
}

// explains reports whether what became of one name is what a job that runs does; was and is are "" where it is not there. That records come to a
// topic is explained in any case: the drill has no means to produce any.
func (o *Others) explains(x *Exhibit, name, was, is string) bool {
	switch {
	case o == nil:
		return false
	case x.kind == ofTopic:
		a, err1 := strconv.ParseInt(was, 10, 64)
		b, err2 := strconv.ParseInt(is, 10, 64)
		forward := is != "" && err2 == nil && (was == "" || err1 == nil && b > a)
		if strings.HasPrefix(name, endOf) {
			return forward
		}
		for _, job := range x.readers {
			if forward && o.running[job] {
				return true
			}
		}
	case x.kind == ofCheckpoints && o.running[x.job]:
		return strings.HasPrefix(name, "trace/") || logMay(name, "log/", was, is, o.last[x.job])
	case x.kind == ofTable:
		for dir, w := range o.writers[x.uri] {
			if w.may(x, name, dir, was, is) {
				return true
			}
		}
	}
	return false
}

// logMay reports whether a job does this to a file of its log: it appends entries, and removes those behind which it has newer ones. None is changed.
func logMay(name, dir, was, is string, last int64) bool {
	if !strings.HasPrefix(name, dir) {
		return false
	}
	if n := entryOf(name, dir); n > 0 {
		return was == "" || is == "" && n < last
	}
	return was == "" || is == "" || log.Staged(path.Base(name))
}

// may reports whether the writer does this to a file or folder of its table.
func (w *writer) may(x *Exhibit, name, dir, was, is string) bool {
	base := path.Base(name)
	own := func(job8 string, epoch account.Epoch) bool { return job8 == w.job8 && epoch <= w.epoch }
	part, isPart := account.ParseFileName(strings.TrimSuffix(base, account.PendingSuffix))
	probe, epoch, isProbe := account.ParseProbeName(base)
	repair, _, isRepair := account.ParseRepairName(base)
	temporary := strings.HasPrefix(name, account.Temporary+"/")
	switch {
	case logMay(name, "_staunch/"+dir+"/", was, is, w.last):
		return true
	case strings.HasSuffix(name, "/"): // of partitions, checkpoints and superseded files
		return was == "" || temporary
	case temporary:
		return isPart && own(part.Job8, part.Epoch) || isProbe && own(probe, epoch) || isRepair && repair == w.job8
	case base == x.success:
		return is != ""
	case isPart && own(part.Job8, part.Epoch) && was == "":
		return true
	case isPart && own(part.Job8, part.Epoch) && is == "": // by an order that the log has
		return w.removed[path.Join(w.root, name)] > 0 || x.superseded(base)
	}
	return false
}

// superseded reports whether a file of this name lies among those that going back has moved out of the table.
func (x *Exhibit) superseded(base string) bool {
	for name := range x.Values {
		if strings.HasPrefix(name, commit.SupersededDir+"/") && path.Base(name) == base {
			return true
		}
	}
	return false
}
