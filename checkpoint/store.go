package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
	"staunch/log"
	logp "staunch/log/protocol"
)

// Store is a job's log.
type Store struct {
	env   env.Env
	dir   string
	log   *log.Log
	slog  *slog.Logger
	heads []log.Head

	logID    string
	epoch    account.Epoch
	newest   *Restored     // the newest complete
	damage   error         // the newest complete could not be decoded
	begins   []BeginEntry  // all that are still there
	own      account.Begin // this attempt's
	ended    *account.End  // an end behind the newest begin
	greatest account.CheckpointID
	complete []int64 // numbers of complete entries
	noFence  bool
}

// BeginEntry is a begin with its number, the epoch.
type BeginEntry struct {
	account.Begin
	Epoch account.Epoch
}

// Restored is a completed checkpoint as it stands in the log.
type Restored struct {
	Metadata
	// N and Hash are the entry's number and SHA-256.
	N    int64
	Hash string
}

// Variant takes rules away; only the simulator sets others than the zero value.
type Variant struct {
	NoFence bool
	Log     logp.Variant
}

// Dir is the folder of a job's log below the checkpoint directory; escaped is the job's id as a folder name.
func Dir(checkpoints, escaped string) string { return path.Join(checkpoints, escaped, "log") }

// Open prepares the log in dir; it does no I/O.
func Open(e env.Env, store fs.FS, dir string, v Variant, l *slog.Logger) *Store {
	lg := log.Open(e, store, dir, "")
	lg.Variant = v.Log
	return &Store{env: e, dir: dir, log: lg, slog: l, noFence: v.NoFence}
}

// Dir is the log's folder.
func (s *Store) Dir() string { return s.dir }

// Load reads what is new in the log. A damaged newest complete is not an error yet: see Newest.
func (s *Store) Load() error {
	entries, err := s.log.Read()
	for _, e := range entries {
		if err := s.apply(e); err != nil {
			return err
		}
	}
	if err != nil {
		good := ""
		if s.newest != nil {
			good = fmt.Sprintf("; the newest checkpoint before it that can be read is %d", s.newest.ID)
		}
		return fmt.Errorf("log of the job in %s: %w%s", s.dir, err, good)
	}
	return nil
}

func (s *Store) apply(e log.Entry) error {
	s.heads = append(s.heads, log.Head{N: e.N, Kind: e.Kind})
	damaged := func(err error) error {
		return fault.New(fault.Damage, "%s: entry %d (%s) cannot be read: %w", s.dir, e.N, e.Kind, err)
	}
	switch e.Kind {
	case account.KindBegin:
		var b account.Begin
		if err := json.Unmarshal(e.Body, &b); err != nil {
			return damaged(err)
		}
		s.begins = append(s.begins, BeginEntry{b, account.Epoch(e.N)})
		if s.logID == "" {
			s.logID = b.LogID
		}
		s.ended = nil
	case account.KindComplete:
		r := &Restored{N: e.N, Hash: e.SHA256}
		if err := json.Unmarshal(e.Body, &r.Metadata); err != nil {
			return damaged(err)
		}
		if r.Version > Version {
			return damaged(fmt.Errorf("it has format %d, this version of staunch reads up to %d", r.Version, Version))
		}
		s.newest, s.greatest = r, max(s.greatest, r.ID)
		s.complete = append(s.complete, e.N)
		s.logID = r.LogID // a begin before it may be a ghost in a cleaned slot, with an identity of its own
	case account.KindEnd:
		var n account.End
		if err := json.Unmarshal(e.Body, &n); err != nil {
			return damaged(err)
		}
		s.ended = &n
	default:
		return damaged(errors.New("unknown kind; the log was written by a newer version"))
	}
	return nil
}

// LogID is the log's random identity, empty before the first begin.
func (s *Store) LogID() string { return s.logID }

// Epoch is this attempt's number, 0 before Begin.
func (s *Store) Epoch() account.Epoch { return s.epoch }

// Newest is the newest completed checkpoint, or nil.
func (s *Store) Newest() *Restored { return s.newest }

// Greatest is the greatest id of a completed checkpoint seen.
func (s *Store) Greatest() account.CheckpointID { return s.greatest }

// LastBegin is the newest run attempt that the log knows of, or nil. A long-lived attempt's own entry has been cleaned away: its completes
// speak for it.
func (s *Store) LastBegin() *BeginEntry {
	var last *BeginEntry
	if n := s.newest; n != nil && n.By != nil {
		last = &BeginEntry{*n.By, n.Epoch}
	}
	if n := len(s.begins); n > 0 && (last == nil || s.begins[n-1].Epoch > last.Epoch) {
		last = &s.begins[n-1]
	}
	return last
}

// Ended is the end entry behind which nothing began, or nil.
func (s *Store) Ended() *account.End { return s.ended }

// Fenced reports a newer attempt among the entries read so far.
func (s *Store) Fenced() error { return s.fenced() }

func (s *Store) fenced() error {
	// The newer attempt's begin may have been cleaned away already, behind its complete.
	if s.newest != nil && s.epoch > 0 && s.newest.Epoch > s.epoch && !s.noFence {
		return fault.New(fault.Fenced, "job %q has checkpoint %d of epoch %d; this is epoch %d", s.newest.Job, s.newest.ID, s.newest.Epoch, s.epoch)
	}
	if b := s.LastBegin(); b != nil && s.epoch > 0 && b.Epoch > s.epoch && !s.noFence {
		return fault.New(fault.Fenced, "job %q was started again (epoch %d, host %s, pid %d); this is epoch %d", b.Job, b.Epoch, b.Host, b.PID, s.epoch)
	}
	return nil
}

func (s *Store) append(kind string, body any, below log.Below) (log.Entry, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return log.Entry{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	e, err := s.log.Append(log.Append{
		Kind: kind, Body: b,
		OnTaken: func(e log.Entry) error {
			if err := s.apply(e); err != nil {
				return err
			}
			return s.fenced()
		},
		Below: func(own int64, all []log.Head) log.Below {
			// Below a complete of somebody else a slot had been cleaned away and counts for nothing. The newest one decides: older ones may be
			// ghosts in cleaned slots themselves.
			for _, h := range all {
				if h.Kind == account.KindComplete && h.N > own {
					return below
				}
			}
			return log.Fine
		},
	})
	if err != nil {
		return e, fmt.Errorf("append %s to %s: %w", kind, s.dir, err)
	}
	return e, s.apply(e)
}

// Begin appends the attempt's begin. What stands before it is what the attempt restores.
// REQUIRES: Load. check is asked about every entry that came between.
func (s *Store) Begin(b account.Begin) error {
	failpoint.Hit(failpoint.BeginBefore)
	if s.logID == "" {
		b.LogID = env.RandomHex(s.env, 16)
	} else {
		b.LogID = s.logID
	}
	e, err := s.append(account.KindBegin, b, log.Again)
	if err != nil {
		return err
	}
	// Another process may have made the log's first entry meanwhile: its identity is the log's. This begin carries its own, which nobody reads.
	s.epoch, s.own = account.Epoch(e.N), b
	failpoint.Hit(failpoint.BeginAfter)
	return nil
}

// Complete appends a completed checkpoint. It returns fault.Fenced if a newer attempt has begun.
func (s *Store) Complete(m Metadata) (*Restored, error) {
	if err := s.fenced(); err != nil {
		return nil, err
	}
	if s.newest != nil {
		m.Previous = s.newest.Hash
	}
	m.Version, m.LogID, m.Epoch, m.By = Version, s.logID, s.epoch, &s.own
	if _, err := s.append(account.KindComplete, m, log.Fenced); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.CompleteAfter)
	return s.newest, nil
}

// End appends the job's end.
func (s *Store) End(id account.CheckpointID) error {
	if err := s.fenced(); err != nil {
		return err
	}
	failpoint.Hit(failpoint.EndBefore)
	_, err := s.append(account.KindEnd, account.End{LogID: s.logID, Epoch: s.epoch, Checkpoint: id, Time: s.env.Now().UTC()}, log.Fenced)
	return err
}

// Clean removes what lies before the oldest of the newest retain completes, by exact number, oldest first. REQUIRES: the newest complete is
// done in every table.
func (s *Store) Clean(retain int) {
	if len(s.complete) <= retain || retain < 1 {
		return
	}
	failpoint.Hit(failpoint.CleanBefore)
	oldest := s.complete[len(s.complete)-retain]
	for len(s.heads) > 0 && s.heads[0].N < oldest {
		if err := s.log.Remove(s.heads[0].N); err != nil {
			s.slog.Warn("could not remove an old log entry; it does no harm", "log", s.dir, "entry", s.heads[0].N, "error", err)
			return
		}
		s.heads = s.heads[1:]
	}
	s.complete = slices.DeleteFunc(s.complete, func(n int64) bool { return n < oldest })
	s.begins = slices.DeleteFunc(s.begins, func(b BeginEntry) bool { return int64(b.Epoch) < oldest && b.Epoch != s.epoch })
}
