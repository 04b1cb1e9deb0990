package checkpoint

import (
	"fmt"
	"slices"
	"time"

	"staunch/account"
	"staunch/fault/failpoint"
	"staunch/log"
)

// The modes of a rewind: what becomes of output that is newer than the target.
const (
	// Keep leaves it where it is.
	Keep = "keep"
	// TakeBack moves it out of the tables, to `_superseded`.
	TakeBack = "rewind"
)

// Rewind says that the job goes back to an older checkpoint, or to one of another log. It holds the target itself, so that nothing that becomes
// of the original, and no cleaner of an older attempt, can take it away. The log may begin with it.
type Rewind struct {
	Version int            `json:"version"`
	LogID   string         `json:"log_id"`
	Job     string         `json:"job"`
	Epoch   account.Epoch  `json:"epoch"`
	By      *account.Begin `json:"by,omitempty"`
	Mode    string         `json:"mode"`
	Target  *Metadata      `json:"target,omitempty"` // nil: from nothing
	// TargetN and TargetHash are the number and SHA-256 of the target's own entry; of a state that was made from the tables, 0 and the hash that
	// their newest certificates name.
	TargetN    int64  `json:"target_entry,omitempty"`
	TargetHash string `json:"target_hash,omitempty"`
	// From says, for people, where the target was found.
	From string `json:"from"`
	// Superseded are the completed checkpoints of this log that no longer count.
	Superseded []account.CheckpointID `json:"superseded,omitempty"`
	// Greatest is the greatest id of a completed checkpoint that is known of.
	Greatest account.CheckpointID `json:"greatest,omitempty"`
	// Tables by key: every table that the target, a superseded checkpoint or the statement file names.
	Tables map[string]account.Branch `json:"tables,omitempty"`
	Who    string                    `json:"who"`
	Time   time.Time                 `json:"time"`
}

// RewindEntry is a rewind as it stands in the log.
type RewindEntry struct {
	Rewind
	N    int64
	Hash string
}

// Restored gives the target as the newest checkpoint of the log, nil if the job begins anew.
func (r *RewindEntry) Restored() *Restored {
	if r.Target == nil {
		return nil
	}
	return &Restored{Metadata: *r.Target, N: r.TargetN, Hash: r.TargetHash, Rewind: r}
}

// at is the number of the entry of this log that holds it.
func (r *Restored) at() int64 {
	if r.Rewind != nil {
		return r.Rewind.N
	}
	return r.N
}

// rewound folds a rewind: the target's copy is the newest checkpoint, and what was completed behind the target is none any more.
func (s *Store) rewound(r *RewindEntry) {
	s.newest, s.newestRewind = r.Restored(), r
	at := slices.IndexFunc(s.retained, func(x *Restored) bool { return x.Hash == r.TargetHash })
	if at < 0 && s.variant.NoCopy {
		s.newest = nil
	}
	s.retained = s.retained[:at+1]
	if s.newest != nil {
		s.retained = append(s.retained, s.newest)
		s.greatest = max(s.greatest, s.newest.ID)
	}
	s.greatest = max(s.greatest, r.Greatest)
	s.ended = nil
	s.logID = r.LogID
	s.anchor(r.N, r.Epoch, r.By)
}

// LastRewind is the rewind behind which nothing was completed, or nil.
func (s *Store) LastRewind() *RewindEntry { return s.newestRewind }

// Rewind appends r. It returns fault.Fenced if a newer attempt has begun.
func (s *Store) Rewind(r Rewind) (*RewindEntry, error) {
	if err := s.fenced(); err != nil {
		return nil, err
	}
	r.Version, r.LogID, r.Epoch, r.By = Version, s.logID, s.epoch, &s.own
	failpoint.Hit(failpoint.RewindBefore)
	if _, err := s.append(account.KindRewind, r, log.Fenced, false); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.RewindJob)
	return s.newestRewind, nil
}

// Retained are the checkpoints that the log can go back to, the oldest first.
func (s *Store) Retained() []*Restored { return s.retained }

// Behind are the retained checkpoints that were completed behind the target, the newest first; all if it is none of this log's.
func (s *Store) Behind(target *Restored) (out []*Restored) {
	for i := len(s.retained) - 1; i >= 0; i-- {
		if target != nil && s.retained[i].Hash == target.Hash {
			break
		}
		out = append(out, s.retained[i])
	}
	return out
}

// Damage is what was read over behind the newest entry at which the log may begin (see OpenPast).
func (s *Store) Damage() []Damaged { return s.undone }

// Newer reports whether a claim of this log's identity comes from a later history of it: this log is an older copy.
func (s *Store) Newer(c *account.Claim) bool {
	return c != nil && c.LogID == s.logID && int64(c.Epoch) > s.log.Last()
}

func (r *Restored) String() string {
	return fmt.Sprintf("checkpoint %d of %s", r.ID, r.Time.UTC().Format("2006-01-02 15:04:05Z"))
}

// Next is the number of the entry that comes next, as far as is known.
func (s *Store) Next() account.Epoch { return account.Epoch(s.log.Last() + 1) }
