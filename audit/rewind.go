package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"staunch/account"
	"staunch/commit"
	"staunch/fs"
	"staunch/log"
)

// rewinds is what a log says of going back, and of repairs. It is read before anything is judged, since a certificate that a later entry supersedes is out of
// every account.
type rewinds struct {
	// of names the supersede of each superseded certificate, done are the supersedes that were carried out.
	of   map[string]string
	done map[string]bool
	// mended is what it says of certificates that were superseded, of repairs and amends.
	mended commit.Mended
}

// superseded reports whether the certificate with this hash is out of the chain.
func (r *rewinds) superseded(hash string) bool {
	_, ok := r.mended.Superseded[hash]
	return ok
}

func (r *rewinds) visit(it item) {
	if it.entry == nil {
		return // judged in its turn
	}
	_ = r.mended.Entry(*it.entry) // the same
	switch it.entry.Kind {
	case account.KindSupersede:
		var x account.Supersede
		if json.Unmarshal(it.entry.Body, &x) == nil {
			for _, c := range x.Certificates {
				r.of[c] = it.entry.SHA256
			}
		}
	case account.KindRewound:
		var d account.Rewound
		if json.Unmarshal(it.entry.Body, &d) == nil {
			r.done[d.Supersede] = true
		}
	}
}

// anew says where the next account of a split may begin after the job went back.
type anew uint8

const (
	before   anew = 1 + iota // at or before the end of the one before
	anywhere                 // the job began anew
)

// ends makes a certificate the end of the chain.
func (j *judge) ends(c *certificate) {
	j.chain, j.logID, j.torn = account.ChainEnd{Certificate: c.hash, Checkpoint: c.Checkpoint}, c.LogID, false
}

// takenBack judges a superseded certificate: it is in the chain up to the entry that supersedes it, and none of its files is in the table.
func (j *judge) takenBack(c *certificate) error {
	j.ends(c)
	j.newest = c
	j.rep.Superseded++
	for _, p := range c.Partitions {
		j.parts[p] = j.parts[p]
	}
	finished := j.past.done[j.past.of[c.hash]]
	for i := range c.Files {
		f := &c.Files[i]
		j.place(c, f)
		j.back(f.Final, finished)
		for _, p := range append([]string{f.Pending, f.Final}, j.staged(c, f)...) {
			at, ok := j.files.inside(f, p)
			if !ok {
				continue // reported by place
			}
			info, err := j.files.store.Stat(at)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return fmt.Errorf("look for %s: %w", at, err)
			case p != f.Final && info.Size == 0 && f.Length > 0: // not that file: a create that arrived once more, late, makes an empty one
			case finished:
				j.found(c, Problem{Kind: FileSuperseded, What: fmt.Sprintf("a file of checkpoint %d stands here, which a rewind took back: its rows may be there twice", c.Checkpoint),
					Path: at, Offsets: offsetsOf(f.Offsets), ToDo: "find out who put it there, and move it out of the table"})
			}
		}
	}
	return nil
}

func (j *judge) mine(e *log.Entry, logID string, epoch account.Epoch) {
	j.owned(e, logID, j.claim != nil && j.claim.LogID == logID && j.claim.Epoch == epoch)
}

// keep excuses that offsets come again.
func (j *judge) keep(e *log.Entry, k *account.Keep) {
	j.mine(e, k.LogID, k.Epoch)
	for _, o := range k.Others {
		j.others[o] = true
	}
	if k.Rewind == "" {
		return
	}
	if k.Chain != j.chain && !j.torn {
		j.at(e, ChainBroken, doctored, "the chain is kept at checkpoint %d (%s), but ends at checkpoint %d (%s)", k.Chain.Checkpoint, account.Short(k.Chain.Certificate),
			j.chain.Checkpoint, account.Short(j.chain.Certificate))
	}
	if j.newest != nil && !j.torn {
		j.at(e, Order, doctored, "the chain is kept before checkpoint %d is done", j.newest.Checkpoint)
	}
	how := before
	if k.Target.Certificate == "" {
		how = anywhere
	}
	for key := range j.splits {
		j.again[key] = how
	}
	if k.Left {
		j.rep.note(fmt.Sprintf("entry %d: the job went back to %s; the table was not in its file then and keeps its output up to checkpoint %d", e.N, place(k.Target), k.Chain.Checkpoint))
	} else {
		j.rep.note(fmt.Sprintf("entry %d: the job went back to %s and kept its output up to checkpoint %d: rows since then may be there twice, by order", e.N, place(k.Target),
			k.Chain.Checkpoint))
	}
}

// place names the end of a chain for people.
func place(end account.ChainEnd) string {
	if end.Certificate == "" {
		return "its beginning"
	}
	return fmt.Sprint("checkpoint ", end.Checkpoint)
}

// supersede ends the chain at the target again.
func (j *judge) supersede(e *log.Entry, x *account.Supersede) {
	j.mine(e, x.LogID, x.Epoch)
	at := slices.Index(j.line, x.Target)
	took := j.line[at+1:]
	same := at >= 0 || x.Target == account.ChainEnd{}
	same = same && len(took) == len(x.Certificates)
	for i, c := range x.Certificates {
		same = same && took[len(took)-1-i].Certificate == c
	}
	if !same && !j.torn {
		j.at(e, ChainBroken, doctored, "the entry supersedes %d certificates back to checkpoint %d (%s), but those are not the ones behind it in the chain", len(x.Certificates),
			x.Target.Checkpoint, account.Short(x.Target.Certificate))
	}
	if same {
		j.line = j.line[:at+1]
	}
	j.chain, j.logID, j.newest, j.rewinding = x.Target, x.TargetLogID, nil, e.SHA256
	j.rep.Last, j.rep.Chain = x.Target.Checkpoint, x.Target.Certificate
	j.rep.note(fmt.Sprintf("entry %d: the job went back to %s; %s superseded, files under _superseded/%d", e.N, place(x.Target),
		account.Plural(int64(len(x.Certificates)), "checkpoint was", "checkpoints were"), e.N))
}

// rewound ends a supersede.
func (j *judge) rewound(e *log.Entry, r *account.Rewound) {
	j.mine(e, r.LogID, r.Epoch)
	if r.Supersede != j.rewinding && !j.torn {
		j.at(e, ChainBroken, doctored, "the entry ends a rewind (%s) that does not stand before it", account.Short(r.Supersede))
	}
	j.rewinding = ""
	for _, f := range r.Gone {
		j.rep.note(fmt.Sprintf("entry %d: %s was in no place when its checkpoint was taken back", e.N, f))
	}
}
