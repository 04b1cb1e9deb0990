package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"staunch/account"
	"staunch/fault"
	"staunch/log"
)

// Certified is a certificate as it stands in the log.
type Certified struct {
	account.Certificate
	// Hash is the SHA-256 of the entry, by which other entries name it.
	Hash string
	N    int64
	Done *account.Done
	// Accepted are the losses that a person took note of.
	Accepted []account.Accept
	// Committed partitions.
	Committed map[string]bool
}

// lost are the files that done calls lost.
func (c *Certified) lost() (out []account.File) {
	if c.Done == nil {
		return nil
	}
	for i, v := range c.Done.Verdicts {
		if v == account.Lost && i < len(c.Files) {
			out = append(out, c.Files[i])
		}
	}
	return out
}

// AcceptedLoss reports whether a person took note that the file with this final path is lost. An entry that names no files, of an earlier version,
// counts for what was lost when the certificate was done, and for nothing before that: other files may have gone since.
func (c *Certified) AcceptedLoss(final string) bool {
	return slices.ContainsFunc(c.Accepted, func(a account.Accept) bool { return a.Files == nil && c.Done != nil || slices.Contains(a.Files, final) })
}

// State is what a table's log says, folded from its entries.
type State struct {
	// Claim is the newest claim, nil before the first.
	Claim *account.Claim
	// Certificates since the newest segment, in order.
	Certificates []*Certified
	// Chain is the newest certificate, also one behind a segment.
	Chain account.ChainEnd
	// ChainDone reports whether it is done; ChainLogID whose it is.
	ChainDone  bool
	ChainLogID string
	// ChainComplete is the complete that it names; "" if that is not known.
	ChainComplete string
	// Splits are the source splits that the certificates cover.
	Splits map[string]bool
	// Greatest id of a checkpoint that any certificate names, superseded ones and those behind a segment too.
	Greatest account.CheckpointID
	// Kept is the newest keep of a rewind, as long as nothing was certified behind it.
	Kept *account.Keep
	// Superseding is the newest supersede, as long as it is not carried out.
	Superseding *Superseding
	// out has the complete entries whose certificates were superseded, as far as the entries since the newest segment tell.
	out map[string]bool
	// Others are the folders of other jobs' logs whose offsets may overlap with these.
	Others map[string]bool
	// Mended is what entries behind the newest segment say of repairs; files behind it have their verdicts.
	Mended Mended
	// Segment is the newest segment.
	Segment  *account.Segment
	SegmentN int64
	LastN    int64
	lastHash string // of the entry LastN, once it was folded
	kinds    []log.Head
	claims   map[string]*account.Claim // the newest of each job log, since the newest segment
	// broken: a certificate does not follow the one before it. It is a fault only if no segment comes behind: below one a cleaner may have left
	// any part of the entries.
	broken error
	// doneByID: see Variant.
	doneByID bool
}

// Superseding is a supersede entry as it stands in the log.
type Superseding struct {
	account.Supersede
	Hash string
	N    int64
	// found are the superseded certificates that stand in front of it, behind the newest segment.
	found []*Certified
}

func decode(e log.Entry, v any) error {
	if err := json.Unmarshal(e.Body, v); err != nil {
		return fault.New(fault.Damage, "entry %d (%s): %w", e.N, e.Kind, err)
	}
	return nil
}

// Find gives the certificate with this hash.
func (s *State) Find(hash string) *Certified {
	for _, c := range s.Certificates {
		if c.Hash == hash {
			return c
		}
	}
	return nil
}

// ApplyAll folds what was read. What lies below the newest segment is ignored: a cleaner may have removed any part of it.
func (s *State) ApplyAll(entries []log.Entry) error {
	newest := 0
	for i, e := range entries {
		if e.Kind == account.KindSegment {
			newest = i
		}
	}
	for i, e := range entries {
		if i < newest {
			s.kinds = append(s.kinds, log.Head{N: e.N, Kind: e.Kind})
			continue
		}
		if err := s.Apply(e); err != nil {
			return err
		}
	}
	return s.broken
}

// speaksOf notes at its certificate what a *done*, *partition* or *accept* says of it; done is set if it was a done. Other kinds say nothing.
func speaksOf(e log.Entry, find func(hash string) *Certified) (done *account.Done, err error) {
	switch e.Kind {
	case account.KindDone:
		done = &account.Done{}
		if err := decode(e, done); err != nil {
			return nil, err
		}
		if c := find(done.Certificate); c != nil && c.Done == nil {
			c.Done = done
		}
	case account.KindPartition:
		var p account.Partition
		if err := decode(e, &p); err != nil {
			return nil, err
		}
		if c := find(p.Certificate); c != nil {
			for _, name := range p.Partitions {
				c.Committed[name] = true
			}
		}
	case account.KindAccept:
		var a account.Accept
		if err := decode(e, &a); err != nil {
			return nil, err
		}
		if c := find(a.Certificate); c != nil {
			c.Accepted = append(c.Accepted, a)
		}
	}
	return done, nil
}

// Apply folds one more entry into the state. Kinds that are not known yet are an error: an older version must not judge a newer log. The entry
// that was folded last may come once more: an append that ended at it has shown it, and the next one meets it again. [A segment gives way to a
// *repair*, and the archive of the next one has the *repair* twice: nobody can read what lies behind.]
func (s *State) Apply(e log.Entry) error {
	if e.N == s.LastN && e.SHA256 == s.lastHash && s.lastHash != "" {
		return nil
	}
	s.lastHash = ""
	if err := s.apply(e); err != nil {
		return err
	}
	s.lastHash = e.SHA256
	return nil
}

func (s *State) apply(e log.Entry) error {
	s.LastN = e.N
	s.kinds = append(s.kinds, log.Head{N: e.N, Kind: e.Kind})
	switch e.Kind {
	case account.KindClaim:
		var c account.Claim
		if err := decode(e, &c); err != nil {
			return err
		}
		s.Claim = &c
		if s.claims == nil {
			s.claims = map[string]*account.Claim{}
		}
		s.claims[c.LogID] = &c
	case account.KindCertificate:
		c := &Certified{Hash: e.SHA256, N: e.N, Committed: map[string]bool{}}
		if err := decode(e, &c.Certificate); err != nil {
			return err
		}
		if c.Previous != s.Chain.Certificate && s.broken == nil {
			s.broken = fault.New(fault.Damage, "entry %d: certificate of checkpoint %d follows certificate %s, but the one before it is %s",
				e.N, c.Checkpoint, account.Short(c.Previous), account.Short(s.Chain.Certificate))
		}
		s.Certificates = append(s.Certificates, c)
		s.Chain, s.ChainDone = account.ChainEnd{Certificate: c.Hash, Checkpoint: c.Checkpoint}, false
		s.ChainLogID, s.ChainComplete = c.LogID, c.Complete
		s.Greatest, s.Kept = max(s.Greatest, c.Checkpoint), nil
		for _, r := range c.Ranges {
			s.covers(r.Split)
		}
	case account.KindDone, account.KindPartition, account.KindAccept:
		d, err := speaksOf(e, s.Find)
		if err != nil {
			return err
		}
		if d == nil {
			break
		}
		if s.doneByID {
			for _, c := range s.Certificates {
				if c.Checkpoint == d.Checkpoint && c.Done == nil {
					c.Done = d
				}
			}
		}
		if d.Certificate == s.Chain.Certificate {
			s.ChainDone = true
		}
	case account.KindSegment:
		var g account.Segment
		if err := decode(e, &g); err != nil {
			return err
		}
		s.Segment, s.SegmentN, s.broken = &g, e.N, nil
		claim := g.Claim
		s.Claim = &claim
		s.Certificates, s.Mended = nil, Mended{}
		s.Superseding = nil // carried out, else there were no segment; its *rewound* may be in the archive
		s.Chain, s.ChainDone, s.ChainLogID, s.ChainComplete = g.Chain, true, g.ChainLogID, g.Complete
		s.Greatest = max(s.Greatest, g.Chain.Checkpoint, g.Greatest)
		s.excuse(g.Others)
		for _, sp := range g.Splits {
			s.covers(sp)
		}
	case account.KindKeep:
		var k account.Keep
		if err := decode(e, &k); err != nil {
			return err
		}
		if k.Rewind != "" {
			s.Kept = &k
		}
		s.excuse(k.Others)
	case account.KindSupersede:
		x := &Superseding{Hash: e.SHA256, N: e.N}
		if err := decode(e, &x.Supersede); err != nil {
			return err
		}
		s.supersede(x)
	case account.KindRewound:
		var r account.Rewound
		if err := decode(e, &r); err != nil {
			return err
		}
		if s.Superseding != nil && s.Superseding.Hash == r.Supersede {
			s.Superseding = nil
		}
	case account.KindRepair, account.KindAmend: // an operator's: it fences nobody
		return s.Mended.Entry(e)
	default:
		return fault.New(fault.Damage, "entry %d is of the unknown kind %q; the log was written by a newer version", e.N, e.Kind)
	}
	return nil
}

// supersede ends the chain at the target again.
func (s *State) supersede(x *Superseding) {
	gone := map[string]bool{}
	for _, h := range x.Certificates {
		gone[h] = true
	}
	rest := s.Certificates[:0:0]
	for _, c := range s.Certificates {
		if gone[c.Hash] {
			x.found = append(x.found, c)
			if s.out == nil {
				s.out = map[string]bool{}
			}
			s.out[c.Complete] = true
		} else {
			rest = append(rest, c)
		}
	}
	s.Certificates, s.Superseding, s.Kept = rest, x, nil
	s.Chain, s.ChainLogID = x.Target, x.TargetLogID
	last := s.Find(x.Target.Certificate)
	s.ChainComplete = ""
	if last != nil {
		s.ChainComplete = last.Complete
	} else if g := s.Segment; g != nil && g.Chain == x.Target {
		s.ChainComplete = g.Complete
	}
	s.ChainDone = x.Target.Certificate != "" && (last == nil || last.Done != nil) // behind a segment all is done
	s.Splits = nil
	for _, split := range x.Splits {
		s.covers(split)
	}
}

// archived reports whether the chain ends, behind a segment, at what checkpoint id of this complete promised: then it is done. Another log's
// checkpoint of the same id is another one. [A completes 4 and is fenced; B, by another log, certifies its own 4, which a segment archives; A's log
// is started again and takes its 4 for done.]
func (s *State) archived(id account.CheckpointID, complete string) bool {
	return s.ChainDone && s.Chain.Checkpoint == id && s.Find(s.Chain.Certificate) == nil &&
		(s.ChainComplete == complete || s.ChainComplete == "" || s.doneByID)
}

func (s *State) excuse(others []string) {
	for _, o := range others {
		if s.Others == nil {
			s.Others = map[string]bool{}
		}
		s.Others[o] = true
	}
}

func (s *State) covers(split string) {
	if s.Splits == nil {
		s.Splits = map[string]bool{}
	}
	s.Splits[split] = true
}

// LossID is what a person names with --accept-lost: the checkpoint and the first digits of a hash over the certificate and the final paths of the
// lost files, so that it accepts these and no others that are found to be lost later.
func LossID(c account.CheckpointID, certificate string, lost []account.File) string {
	h := sha256.New()
	for _, s := range append([]string{certificate}, finals(lost)...) {
		h.Write([]byte(s + "\n"))
	}
	return fmt.Sprintf("%d-%s", c, account.Short(hex.EncodeToString(h.Sum(nil))))
}

// doneSplits are the splits of certificates that are done; those behind a segment are.
func (s *State) doneSplits() map[string]bool {
	out := map[string]bool{}
	if s.Segment != nil {
		for _, sp := range s.Segment.Splits {
			out[sp] = true
		}
	}
	for _, c := range s.Certificates {
		if c.Done != nil {
			for _, r := range c.Ranges {
				out[r.Split] = true
			}
		}
	}
	return out
}

// Begun reports whether a certificate of this log was ever done.
func (s *State) Begun() bool {
	return s.Segment != nil && len(s.Segment.Splits) > 0 ||
		slices.ContainsFunc(s.Certificates, func(c *Certified) bool { return c.Done != nil && len(c.Ranges) > 0 })
}
