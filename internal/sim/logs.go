package sim

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/log"
)

// over reports whether a log of the job says that it has ended.
func (w *world) over() bool {
	for _, dir := range []string{jobs, otherJobs} {
		if slices.ContainsFunc(w.entries(dir+"/"+name+"/log"), func(e log.Entry) bool { return e.Kind == account.KindEnd }) {
			return true
		}
	}
	return false
}

// forks looks at new entries of the job's logs: each file is promised by one completed checkpoint. An entry that comes to stand below others was
// cleaned away before, and its process does not know: it counts for nothing (rule 1.4), and whoever acts on it is caught by what it does.
func (w *world) forks() error {
	for _, p := range w.placed {
		e, err := log.Decode(w.store.Content(p), p, log.Number(path.Base(p), ""))
		if err != nil || e.Kind != account.KindComplete {
			continue
		}
		var m checkpoint.Metadata
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return find(Engine, "%s: %v", p, err)
		}
		if slices.ContainsFunc(w.entries(path.Dir(p)), func(above log.Entry) bool { return above.N > e.N }) {
			continue
		}
		for _, t := range m.Tables {
			for _, f := range t.Files {
				if by, twice := w.promised[f.Final]; twice && by != e.Nonce {
					return find(Forked, "%s is promised by checkpoint %d in %s and by another one before", f.Final, m.ID, p)
				}
				w.promised[f.Final] = e.Nonce
			}
		}
	}
	w.placed = w.placed[:0]
	return nil
}

// checkpointOf is the id of the completed checkpoint, or of the one that the job went back to, in an entry of a job's log; or 0.
func checkpointOf(e log.Entry) account.CheckpointID {
	var c struct {
		ID     account.CheckpointID `json:"checkpoint"`
		Target struct {
			ID account.CheckpointID `json:"checkpoint"`
		} `json:"target"`
	}
	if e.Kind != account.KindComplete && e.Kind != account.KindRewind || json.Unmarshal(e.Body, &c) != nil {
		return 0
	}
	return max(c.ID, c.Target.ID)
}

// reopened reports whether the job went back after its end: whoever says only now that it has ended speaks of the past.
func (w *world) reopened(dir string) (yes bool) {
	for _, e := range w.entries(dir + "/" + name + "/log") {
		switch e.Kind {
		case account.KindEnd:
			yes = false
		case account.KindRewind:
			yes = true
		}
	}
	return yes
}

// unended gives the checkpoint directory of a job that went back after the end, or took a table over to do so and has not ended; "" if there is none.
func (w *world) unended() string {
	if w.reopened(w.endedIn) {
		return w.endedIn
	}
	for _, l := range w.o.tables {
		var last account.Claim
		for _, e := range w.entries(l.root + "/_staunch/" + name) {
			var err error
			switch e.Kind {
			case account.KindClaim:
				last = account.Claim{}
				err = json.Unmarshal(e.Body, &last)
			case account.KindSegment: // a late append may have filled the place of an archived claim: it is nobody's claim any more
				var g account.Segment
				err = json.Unmarshal(e.Body, &g)
				last = g.Claim
			}
			if err != nil {
				return ""
			}
		}
		if dir, ok := strings.CutSuffix(last.Log, "/"+name+"/log"); ok && dir == otherJobs && dir != w.endedIn && w.reopened(dir) {
			return dir
		}
	}
	return ""
}

// certified is a certificate as the oracle reads it.
type certified struct {
	account.Certificate
	hash string
	done *account.Done
}

// entries reads a log from outside, as far as it can be read.
func (w *world) entries(dir string) (out []log.Entry) {
	for _, f := range w.store.Files(dir) {
		n := max(log.Number(path.Base(f.Path), ""), log.Number(path.Base(f.Path), ".staunch"))
		if n == 0 {
			continue
		}
		if e, err := log.Decode(w.store.Content(f.Path), f.Path, n); err == nil {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b log.Entry) int { return int(a.N - b.N) })
	return out
}

// certificates are those of a table since its newest segment.
func (w *world) certificates(l *lake) (out []*certified) {
	for _, e := range w.entries(l.root + "/_staunch/" + name) {
		switch e.Kind {
		case account.KindSegment:
			out = nil
		case account.KindCertificate:
			c := &certified{hash: e.SHA256}
			if json.Unmarshal(e.Body, &c.Certificate) == nil {
				out = append(out, c)
			}
		case account.KindSupersede:
			var x account.Supersede
			if json.Unmarshal(e.Body, &x) == nil {
				out = slices.DeleteFunc(out, func(c *certified) bool { return slices.Contains(x.Certificates, c.hash) })
			}
		case account.KindDone:
			var d account.Done
			if json.Unmarshal(e.Body, &d) == nil {
				for _, c := range out {
					if c.hash == d.Certificate {
						c.done = &d
					}
				}
			}
		}
	}
	return out
}

// claimed reports whether an attempt of the job has claimed every table.
func (w *world) claimed() bool {
	for _, l := range w.o.tables {
		if !slices.ContainsFunc(w.entries(l.root+"/_staunch/"+name), func(e log.Entry) bool {
			return e.Kind == account.KindClaim || e.Kind == account.KindSegment
		}) {
			return false
		}
	}
	return true
}

// strange reports whether a start with another checkpoint directory, by mistake, has claimed a table. It may when the job has ended.
func (w *world) strange() bool {
	for _, l := range w.o.tables {
		for _, e := range w.entries(l.root + "/_staunch/" + name) {
			var c account.Claim
			if e.Kind == account.KindClaim && json.Unmarshal(e.Body, &c) == nil && strings.HasPrefix(c.Log, strangeJobs) {
				return true
			}
		}
	}
	return false
}

// fenced finds an attempt that was ended although it is the newest.
func (w *world) fenced(r *run) error {
	own := r.job.Epoch()
	if w.over() {
		return nil // then anybody may begin
	}
	if w.strange() {
		return find(Usurped, "attempt %d was ended by a start with another checkpoint directory and without --take-over", r.n)
	}
	for _, x := range w.procs {
		if x != r && x.role == ordinary && (x.dir != r.dir || x.job.Epoch() > own) {
			return nil
		}
	}
	for _, e := range w.entries(r.dir + "/" + name + "/log") {
		var by struct {
			Epoch account.Epoch `json:"epoch"`
		}
		if json.Unmarshal(e.Body, &by) == nil && (by.Epoch > own || e.Kind == account.KindBegin && account.Epoch(e.N) > own) {
			return nil
		}
	}
	return find(Usurped, "attempt %d, epoch %d, was ended in favour of nobody: %v", r.n, own, r.err)
}

// othersFirst: with a loss the checkpoint's other files are committed (PROTOCOL.md 5).
func (w *world) othersFirst() error {
	for _, l := range w.o.tables {
		for _, c := range w.certificates(l) {
			if !slices.ContainsFunc(c.Files, func(f account.File) bool { return w.o.lost[f.Final] }) {
				continue
			}
			for _, f := range c.Files {
				if !w.o.lost[f.Final] && !w.o.gone[f.Final] && w.store.Content(f.Final) == nil {
					return find(WrongReport, "a loss of checkpoint %d was reported before its file %s was committed", c.Checkpoint, f.Final)
				}
			}
		}
	}
	return nil
}
