package commit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"staunch/account"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
	"staunch/log"
)

// Target is a state to which a job may go back, as one table sees it.
type Target struct {
	// Fresh: from nothing. The rest does not count then.
	Fresh      bool
	Checkpoint account.CheckpointID
	// Complete is the hash of the checkpoint's entry.
	Complete string
	LogID    string
	// Known: the state names this table; Expect is where the chain ended before the checkpoint, Empty that it promises nothing to the table.
	Known  bool
	Expect account.ChainEnd
	Empty  bool
	// Logs are identities of job logs that may have written behind a state that does not know the table.
	Logs []string
}

// Back says what stands between a target and the end of the chain.
type Back struct {
	account.Branch
	TargetLogID string
	// Newer are the certificates behind the target, the newest first.
	Newer []account.ChainEnd
	// Splits are those that the chain up to the target covers. It is filled only if something is newer.
	Splits []string
	// Mixed are the amends whose files hold rows of newer certificates and of others as well: those rows cannot be taken back.
	Mixed []Amended
	// Forked: the target is not in this chain, so that nothing can be told about what is newer. Empty: there is no chain at all.
	Forked, Empty bool
}

// Back finds the target in the table's chain. It reads archives as far as that needs. REQUIRES: Refresh or Claim.
func (t *Table) Back(x Target) (Back, error) {
	b := Back{Branch: account.Branch{Chain: t.state.Chain}, Empty: t.state.Chain.Certificate == ""}
	found := false
	splits := map[string]bool{}
	var left *account.ChainEnd // what lies behind belongs to a branch that the target does not descend from
	if k := t.state.Kept; k != nil && k.Left && !x.Known && x.Checkpoint > k.Chain.Checkpoint {
		left = &k.Target
	}
	foreign := false
	err := t.walk(func(c *Certified) (bool, error) {
		if !found && !x.Fresh && t.endsAt(c, x, left, len(b.Newer)) {
			found = true
			b.Target, b.TargetLogID = account.ChainEnd{Certificate: c.Hash, Checkpoint: c.Checkpoint}, c.LogID
			if len(b.Newer) == 0 {
				return false, nil
			}
		}
		if found {
			for _, r := range c.Ranges {
				splits[r.Split] = true
			}
			return true, nil
		}
		foreign = foreign || !slices.Contains(x.Logs, c.LogID)
		b.Newer = append(b.Newer, account.ChainEnd{Certificate: c.Hash, Checkpoint: c.Checkpoint})
		return true, nil
	})
	if err != nil {
		return b, err
	}
	b.Splits = slices.Sorted(maps.Keys(splits))
	if x.Known && !x.Empty && len(b.Newer) == 0 && t.state.Chain == x.Expect {
		if b.Forked, err = t.WasSuperseded(x.Complete); b.Forked || err != nil {
			return b, err
		}
	}
	if len(b.Newer) > 0 {
		if b.Mixed, err = t.mixed(b.Newer); err != nil {
			return b, err
		}
	}
	switch {
	case found || x.Fresh:
	case x.Known: // the chain begins behind the target, or never was
		b.Forked = x.Expect.Certificate != "" || !x.Empty && len(b.Newer) > 0
	default:
		b.Forked = foreign
	}
	return b, nil
}

// mixed finds the amends that took out files of the newer certificates together with others.
func (t *Table) mixed(newer []account.ChainEnd) ([]Amended, error) {
	m, err := ReadMended(t.env, t.store, t.root, t.owner.Job)
	if err != nil || len(m.Removed) == 0 {
		return nil, err
	}
	finals, left := map[string]bool{}, len(newer)
	err = t.walk(func(c *Certified) (bool, error) {
		for i := range c.Files {
			if f := c.Files[i].Final; m.Removed[f] > 0 {
				finals[f] = true
			}
		}
		left--
		return left > 0, nil
	})
	var out []Amended
	both := map[string]bool{}
	for _, a := range m.Amends {
		whole, there := a.of(finals), false
		some := slices.ContainsFunc(a.Removed, func(p string) bool { return finals[p] || both[p] })
		for i := range a.Added {
			if f := &a.Added[i]; whole {
				finals[f.Final] = true
			} else if some {
				both[f.Final] = true
				there = there || m.Added[f.Final].Sums == f.Sums
			}
		}
		if there {
			out = append(out, a)
		}
	}
	return out, err
}

// WasSuperseded reports whether a checkpoint that the chain does not have was certified once, and superseded. Its files are out of the table: what it
// promises cannot be carried out again. [B goes back to 9, C chose 10 before that: 10's certificate is not in the chain, its predecessor is the end.]
func (t *Table) WasSuperseded(complete string) (bool, error) {
	if t.state.out[complete] {
		return true, nil
	}
	for _, a := range slices.Backward(t.archives()) {
		st, err := t.readArchive(a)
		if err != nil {
			return false, err
		}
		if st.out[complete] || slices.ContainsFunc(st.Certificates, func(c *Certified) bool { return c.Complete == complete }) {
			return true, nil
		}
	}
	return false, nil
}

// endsAt reports whether c is the newest certificate that the target descends from.
func (t *Table) endsAt(c *Certified, x Target, left *account.ChainEnd, newer int) bool {
	switch {
	case x.Known && c.Checkpoint == x.Checkpoint && c.Complete == x.Complete:
		return true
	case x.Known: // a promise that was not certified can be carried out only at the chain's end
		return c.Hash == x.Expect.Certificate && (x.Empty || newer == 0)
	case left != nil:
		return c.Hash == left.Certificate
	}
	return c.LogID == x.LogID && c.Checkpoint <= x.Checkpoint
}

// walk visits the chain's certificates from the newest to the oldest, those behind segments too, as long as visit says so. What was superseded
// is not in the chain.
func (t *Table) walk(visit func(*Certified) (bool, error)) error {
	want := t.state.Chain.Certificate
	some := func(certs []*Certified) (bool, error) {
		for _, c := range slices.Backward(certs) {
			if c.Hash != want {
				continue
			}
			if more, err := visit(c); err != nil || !more {
				return false, err
			}
			want = c.Previous
		}
		return want != "", nil
	}
	more, err := some(t.state.Certificates)
	if !more || err != nil {
		return err
	}
	for _, a := range slices.Backward(t.archives()) {
		st, err := t.readArchive(a)
		if err != nil {
			return err
		}
		if more, err = some(st.Certificates); !more || err != nil {
			return err
		}
	}
	return fault.New(fault.Damage, "log %s: certificate %s, which a later one follows, is in neither the log nor its archives", t.dir, account.Short(want)).
		WithHint("bring the folder's files back from a copy")
}

func (t *Table) archives() []account.Archive {
	if t.state.Segment == nil {
		return nil
	}
	return t.state.Segment.Archives
}

// readArchive folds the entries of one archive. Certificates and Mended have all that stands in it, also what stands before a segment or a supersede of its own.
func (t *Table) readArchive(a account.Archive) (*State, error) {
	st := &State{}
	var all []*Certified
	var mended Mended
	err := t.archived(a, func(e log.Entry) error {
		if err := mended.Entry(e); err != nil {
			return err
		}
		if err := st.Apply(e); err != nil {
			return err
		}
		if e.Kind == account.KindCertificate {
			all = append(all, st.Certificates[len(st.Certificates)-1])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	st.Certificates, st.Mended = all, mended
	return st, st.broken
}

// archived visits the entries of one archive.
func (t *Table) archived(a account.Archive, visit func(log.Entry) error) error {
	p := path.Join(t.dir, a.Name)
	var b []byte
	err := t.patient(func() (err error) { b, err = fs.ReadFile(t.store, p); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Damage, "archive of the log: %w", err).WithHint("bring the file back from a copy")
	}
	if err != nil {
		return fmt.Errorf("archive %s: %w", p, err)
	}
	bad := func(why string) error {
		return fault.New(fault.Damage, "archive %s: %s", p, why).WithHint("bring the file back from a copy")
	}
	if sum := sha256.Sum256(b); int64(len(b)) != a.Length || hex.EncodeToString(sum[:]) != a.SHA256 {
		return bad("its length or hash is not the one that the log names")
	}
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		first, second, ok2 := bytes.Cut(line, []byte(" "))
		n, err1 := strconv.ParseInt(string(first), 10, 64)
		length, err2 := strconv.ParseInt(string(second), 10, 64)
		if !ok || !ok2 || err1 != nil || err2 != nil || length < 0 || length > int64(len(rest)) {
			return bad("its index makes no sense")
		}
		e, err := log.Decode(rest[:length], p, n)
		if err == nil {
			err = visit(e)
		}
		if err != nil {
			return fmt.Errorf("archive %s, entry %d: %w", p, n, err)
		}
		b = rest[length:]
	}
	return nil
}

// FinishNewest carries out the newest certificate if it is not done: what stays in the chain is whole.
func (t *Table) FinishNewest() (Result, error) {
	c := t.state.Find(t.state.Chain.Certificate)
	if c == nil || c.Done != nil {
		return Result{Already: true, Certificate: t.state.Chain}, nil
	}
	return t.Commit(c.Certificate, t.state.Chain)
}

// ErrMovedOn: a table's chain has gone on since the state of the job's log.
var ErrMovedOn = errors.New("the table has gone on")

// Settled reports whether the table is as a rewind of the job's log (its hash, and what it says of this table) wants it: complete and id are the
// target's. ErrMovedOn, wrapped: that log is an older copy. REQUIRES: claimed.
func (t *Table) Settled(rewind string, b account.Branch, complete string, id account.CheckpointID) (bool, error) {
	st := &t.state
	last := st.Find(st.Chain.Certificate)
	switch {
	case st.Superseding != nil:
		return false, nil
	case st.Kept != nil && st.Kept.Rewind == rewind, st.Chain == b.Target:
		return true, nil
	case st.Chain == b.Chain:
		return false, nil
	case last != nil && last.Complete == complete, complete != "" && st.archived(id, complete):
		return true, nil // what the target promises was certified since
	}
	return false, fault.Userf("table %s: its chain ends with checkpoint %d (%s), which is neither where the job went back to (%d, %s) nor where it came from (%d, %s): %w",
		t.root, st.Chain.Checkpoint, account.Short(st.Chain.Certificate), b.Target.Checkpoint, account.Short(b.Target.Certificate), b.Chain.Checkpoint, account.Short(b.Chain.Certificate), ErrMovedOn).
		WithHint("nothing was changed. The job's log or the table's folder is an older copy: restore the newest one, or go on from this state with --on-newer-output keep or rewind")
}

// Keep records that what is newer than the target of a rewind stays.
func (t *Table) Keep(rewind string, b account.Branch) error {
	if t.variant.NoKeep {
		return nil
	}
	k := account.Keep{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Rewind: rewind, Branch: b, Time: t.env.Now().UTC()}
	if err := t.append(account.KindKeep, k, t.stillOurs, log.Fenced); err != nil {
		return err
	}
	failpoint.Hit(failpoint.KeepAfter)
	return nil
}

// Supersede ends the chain at the target of a rewind. What it takes out is moved by Withdraw. back is Back's answer; it is asked for again, since
// the process that ordered the rewind may be gone.
func (t *Table) Supersede(rewind string, back Back) error {
	x := account.Supersede{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Rewind: rewind, Branch: back.Branch, TargetLogID: back.TargetLogID, Splits: back.Splits,
		Time: t.env.Now().UTC()}
	for _, n := range back.Newer {
		x.Certificates = append(x.Certificates, n.Certificate)
	}
	if t.variant.NoSupersede {
		t.state.supersede(&Superseding{Supersede: x, Hash: "none", N: t.state.LastN})
		return nil
	}
	if err := t.append(account.KindSupersede, x, t.stillOurs, log.Fenced); err != nil {
		return err
	}
	failpoint.Hit(failpoint.RewindTable)
	return nil
}
