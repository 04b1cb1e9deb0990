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
	fs    fs.FS
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
	retained []*Restored // what the log can go back to, the newest last; a copy by a rewind as well
	anchors  []int64     // numbers of the entries at which the log may begin
	// newestRewind: nothing was completed behind it.
	newestRewind *RewindEntry
	last         *BeginEntry // the attempt of the newest complete or rewind, nil if it is not known
	lastBy       account.Epoch
	past         bool // see OpenPast
	undone       []Damaged
	noFence      bool
	variant      Variant
	frozen       bool // RestoreFirst: before was chosen
	before       *Restored
}

// Damaged is an entry that was read over: see OpenPast.
type Damaged = log.Damaged

// BeginEntry is a begin with its number, the epoch.
type BeginEntry struct {
	account.Begin
	Epoch account.Epoch
}

// Restored is a completed checkpoint as it stands in the log.
type Restored struct {
	Metadata
	// N and Hash are the entry's number and SHA-256. Of a copy they are those of the original.
	N    int64
	Hash string
	// Rewind is the entry by which the job went back to this checkpoint, nil if it was completed here.
	Rewind *RewindEntry
}

// Variant takes rules away; only the simulator sets others than the zero value.
type Variant struct {
	NoFence bool
	// BelowFences ends a begin that came to lie below the log's beginning, instead of appending it again.
	BelowFences bool
	// CleanNewest removes the newest complete as well.
	CleanNewest bool
	// Older restores the retained checkpoint before the newest one.
	Older bool
	// RestoreFirst chooses what is restored before the attempt's begin stands.
	RestoreFirst bool
	// NoCopy restores the target of a rewind from its own entry, not from the rewind's copy.
	NoCopy bool
	// PastDamage reads over what cannot be read, as if it were ordered to go back.
	PastDamage bool
	Log        logp.Variant
}

// Dir is the folder of a job's log below the checkpoint directory; escaped is the job's id as a folder name.
func Dir(checkpoints, escaped string) string { return path.Join(checkpoints, escaped, "log") }

// Open prepares the log in dir; it does no I/O.
func Open(e env.Env, store fs.FS, dir string, v Variant, l *slog.Logger) *Store {
	lg := log.Open(e, store, dir, "")
	lg.Variant = v.Log
	s := &Store{env: e, fs: store, dir: dir, log: lg, slog: l, noFence: v.NoFence, variant: v}
	s.past, s.log.PastDamage = v.PastDamage, v.PastDamage
	return s
}

// OpenPast is Open for a job that is ordered to go back: entries that are missing or cannot be read are read over, and appended behind.
func OpenPast(e env.Env, store fs.FS, dir string, v Variant, l *slog.Logger) *Store {
	s := Open(e, store, dir, v, l)
	s.past, s.log.PastDamage = true, true
	return s
}

// Dir is the log's folder.
func (s *Store) Dir() string { return s.dir }

// Load reads what is new in the log. A damaged newest complete is not an error yet: see Newest.
func (s *Store) Load() error {
	entries, err := s.log.Read()
	for _, e := range entries {
		aerr := s.apply(e)
		var torn *unreadable
		if s.past && errors.As(aerr, &torn) {
			s.undone = append(s.undone, Damaged{N: e.N, To: e.N, Err: aerr})
			continue
		}
		if aerr != nil {
			return aerr
		}
	}
	s.undone, s.log.Damaged = append(s.undone, s.log.Damaged...), nil // readOver forgot those below the newest beginning
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
		return fault.New(fault.Damage, "%s: entry %d (%s) cannot be read: %w", s.dir, e.N, e.Kind, &unreadable{err})
	}
	switch e.Kind {
	case account.KindBegin:
		var b account.Begin
		if err := json.Unmarshal(e.Body, &b); err != nil {
			return damaged(err)
		}
		s.begins = append(s.begins, BeginEntry{b, account.Epoch(e.N)})
		if s.logID == "" || b.Renewed {
			s.logID = b.LogID
		}
		s.ended = nil
	case account.KindComplete:
		r := &Restored{N: e.N, Hash: e.SHA256}
		if err := json.Unmarshal(e.Body, &r.Metadata); err != nil {
			return damaged(err)
		}
		if err := known(r.Version, fmt.Sprintf("%s: entry %d", s.dir, e.N)); err != nil {
			return err
		}
		s.newest, s.newestRewind, s.greatest = r, nil, max(s.greatest, r.ID)
		s.retained = append(s.retained, r)
		s.anchor(e.N, r.Epoch, r.By)
		s.logID = r.LogID // a begin before it may be a ghost in a cleaned slot, with an identity of its own
	case account.KindRewind:
		r := &RewindEntry{N: e.N, Hash: e.SHA256}
		if err := json.Unmarshal(e.Body, &r.Rewind); err != nil {
			return damaged(err)
		}
		if err := known(r.Version, fmt.Sprintf("%s: entry %d", s.dir, e.N)); err != nil {
			return err
		}
		s.rewound(r)
	case account.KindEnd:
		var n account.End
		if err := json.Unmarshal(e.Body, &n); err != nil {
			return damaged(err)
		}
		s.ended = &n
	default:
		return fault.New(fault.Damage, "%s: entry %d is of the unknown kind %q: %w", s.dir, e.N, e.Kind, log.ErrVersion).
			WithHint("it was written by a newer version of Staunch: use that one")
	}
	return nil
}

// unreadable is what an entry holds that is none.
type unreadable struct{ error }

func (u *unreadable) Unwrap() error { return u.error }

// known refuses metadata of a newer format.
func known(version int, what string) error {
	if version > Version {
		return fault.New(fault.Damage, "%s has format %d, this version of staunch reads up to %d: %w", what, version, Version, log.ErrVersion).
			WithHint("it was written by a newer version of Staunch: use that one")
	}
	return nil
}

// anchor takes note of an entry at which the log may begin, and of the attempt that wrote it.
func (s *Store) anchor(n int64, by account.Epoch, begin *account.Begin) {
	s.anchors, s.undone = append(s.anchors, n), nil // what cannot be read below is not needed
	s.lastBy, s.last = by, nil
	if begin != nil {
		s.last = &BeginEntry{*begin, by}
	}
}

// LogID is the log's random identity, empty before the first begin.
func (s *Store) LogID() string { return s.logID }

// Epoch is this attempt's number, 0 before Begin.
func (s *Store) Epoch() account.Epoch { return s.epoch }

// Newest is the newest completed checkpoint, or nil.
func (s *Store) Newest() *Restored {
	if s.frozen {
		return s.before
	}
	if n := len(s.retained); s.variant.Older && n > 1 {
		return s.retained[n-2]
	}
	return s.newest
}

// Greatest is the greatest id of a completed checkpoint seen.
func (s *Store) Greatest() account.CheckpointID { return s.greatest }

// LastBegin is the newest run attempt that the log knows of, or nil. A long-lived attempt's own entry has been cleaned away: its completes
// speak for it.
func (s *Store) LastBegin() *BeginEntry {
	last := s.last
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
	if s.epoch > 0 && s.lastBy > s.epoch && !s.noFence {
		return fault.New(fault.Fenced, "the log %s goes on with epoch %d (checkpoint %d); this is epoch %d", s.dir, s.lastBy, s.greatest, s.epoch)
	}
	if b := s.LastBegin(); b != nil && s.epoch > 0 && b.Epoch > s.epoch && !s.noFence {
		return fault.New(fault.Fenced, "job %q was started again (epoch %d, host %s, pid %d); this is epoch %d", b.Job, b.Epoch, b.Host, b.PID, s.epoch)
	}
	return nil
}

// append appends an entry; with untilEnd an end of the job's stops it.
func (s *Store) append(kind string, body any, below log.Below, untilEnd bool) (log.Entry, error) {
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
			if untilEnd && e.Kind == account.KindEnd {
				return ErrEnded
			}
			return s.fenced()
		},
		Below: func(own int64, all []log.Head) log.Below {
			// Below a complete or rewind of somebody else a slot had been cleaned away and counts for nothing. The newest one decides: older
			// ones may be ghosts in cleaned slots themselves.
			if log.BelowBeginning(own, all) {
				return below
			}
			return log.Fine
		},
	})
	if err != nil {
		return e, fmt.Errorf("append %s to %s: %w", kind, s.dir, err)
	}
	return e, s.apply(e)
}

// ErrEnded: another attempt has written the job's end.
var ErrEnded = errors.New("the job has ended")

// Begin appends the attempt's begin. What stands before it is what the attempt restores. With untilEnd it is ErrEnded, and nothing is begun, if the
// job ends at this moment: a begin behind the end would open the log again.
// REQUIRES: Load.
func (s *Store) Begin(b account.Begin, untilEnd bool) error {
	failpoint.Hit(failpoint.BeginBefore)
	s.frozen, s.before = s.variant.RestoreFirst, s.newest
	if s.logID == "" || b.Renewed {
		b.LogID = env.RandomHex(s.env, 16)
	} else {
		b.LogID = s.logID
	}
	below := log.Again
	if s.variant.BelowFences {
		below = log.Fenced
	}
	e, err := s.append(account.KindBegin, b, below, untilEnd)
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
	if _, err := s.append(account.KindComplete, m, log.Fenced, false); err != nil {
		return nil, err
	}
	s.frozen = false
	failpoint.Hit(failpoint.CompleteAfter)
	return s.newest, nil
}

// End appends the job's end.
func (s *Store) End(id account.CheckpointID) error {
	if err := s.fenced(); err != nil {
		return err
	}
	failpoint.Hit(failpoint.EndBefore)
	_, err := s.append(account.KindEnd, account.End{LogID: s.logID, Epoch: s.epoch, Checkpoint: id, Time: s.env.Now().UTC()}, log.Fenced, false)
	return err
}

// Clean removes what lies before the oldest of the newest retain checkpoints, by exact number, oldest first. REQUIRES: the newest complete is
// done in every table.
func (s *Store) Clean(retain int) {
	if s.variant.CleanNewest {
		s.cleanAll()
		return
	}
	if len(s.anchors) <= retain || retain < 1 {
		return
	}
	failpoint.Hit(failpoint.CleanBefore)
	oldest := s.anchors[len(s.anchors)-retain]
	for len(s.heads) > 0 && s.heads[0].N < oldest {
		if err := s.log.Remove(s.heads[0].N); err != nil {
			s.slog.Warn("could not remove an old log entry; it does no harm", "log", s.dir, "entry", s.heads[0].N, "error", err)
			return
		}
		s.heads = s.heads[1:]
	}
	s.anchors = slices.DeleteFunc(s.anchors, func(n int64) bool { return n < oldest })
	s.retained = slices.DeleteFunc(s.retained, func(r *Restored) bool { return r.at() < oldest })
	s.begins = slices.DeleteFunc(s.begins, func(b BeginEntry) bool { return int64(b.Epoch) < oldest && b.Epoch != s.epoch })
}

// cleanAll is the variant CleanNewest.
func (s *Store) cleanAll() {
	for _, h := range s.heads {
		_ = s.log.Remove(h.N) // one that stays does no harm
	}
	s.heads, s.anchors, s.retained = nil, nil, nil
}
