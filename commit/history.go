package commit

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strconv"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// Recorded is a certificate with all that later entries say of it.
type Recorded struct {
	Certified
	// Superseded is the number of the entry that took it out of the chain, 0 if none did: its files lie in `_superseded/<number>`.
	Superseded int64
	mended     *Mended
}

// Repairs are the repairs of the file with this final path.
func (c *Recorded) Repairs(final string) []Repairing { return c.mended.Repairs(c.Hash, final) }

// Amended is the number of the amend that took the file with this final path out of the table on purpose, 0 if none did.
func (c *Recorded) Amended(final string) int64 { return c.mended.Removed[final] }

// Mended is what the whole log says of files other than certificates'.
func (c *Recorded) Mended() *Mended { return c.mended }

// History visits the certificates of a job in the table at root from the oldest to the newest, those behind segments and superseded ones too, and
// gives the claims. It is for those who look: nothing is judged, and nothing is written. An error of class Damage comes behind what could be read.
func History(e env.Env, store fs.FS, root, job string, visit func(*Recorded) error) (claims []account.Claim, err error) {
	h := &history{store: store, dir: Dir(root, job), visit: visit}
	if err := h.open(e); err != nil {
		return nil, err
	}
	if err := h.each(h.mended.Entry); err != nil {
		return nil, err
	}
	err = h.each(h.entry)
	if err == nil {
		err = h.flush()
	}
	return h.claims, errors.Join(err, h.trouble())
}

type history struct {
	env      env.Env
	store    fs.FS
	dir      string
	archives []account.Archive
	live     []log.Entry
	// segment is the newest segment's number.
	segment int64
	mended  Mended
	visit   func(*Recorded) error
	claims  []account.Claim
	// recent are the newest certificate and those before it that may still get entries.
	recent []*Recorded
	// damage is what could not be read of the archives, unread what could not of the entries.
	damage, unread error
}

// open reads the entries behind the newest segment, and where the others are.
func (h *history) open(e env.Env) error {
	var live []log.Entry
	live, h.unread = log.Open(e, h.store, h.dir, ".staunch").Read()
	h.env, h.live, h.archives, h.segment = e, live, nil, 0
	for i, x := range live {
		if x.Kind == account.KindSegment {
			var g account.Segment
			if err := decode(x, &g); err != nil {
				return err
			}
			h.archives, h.segment, h.live = g.Archives, x.N, live[i:]
		}
	}
	return nil
}

// trouble is what could not be read.
func (h *history) trouble() error { return errors.Join(h.damage, h.unread) }

// each gives all entries, archived ones first. An archive that cannot be read is left out from there on, and kept in damage.
func (h *history) each(f func(log.Entry) error) error {
	h.damage = nil
	last := int64(0)
	some := func(x log.Entry) error {
		if x.N <= last {
			return nil
		}
		last = x.N
		return f(x)
	}
	for i := 0; i < len(h.archives); i++ {
		if h.archives[i].To <= last {
			continue
		}
		p := path.Join(h.dir, h.archives[i].Name)
		b, err := fs.ReadFile(h.store, p)
		if errors.Is(err, fs.ErrNotExist) {
			old := h.segment
			if err := h.open(h.env); err != nil {
				return err
			}
			if h.segment > old { // a running job has joined archives meanwhile
				i = -1
				continue
			}
			h.damage = errors.Join(h.damage, fault.New(fault.Damage, "archive %s: %w", p, err))
			continue
		}
		if err != nil {
			return fmt.Errorf("archive %s: %w", p, err)
		}
		for len(b) > 0 {
			x, rest, err := archived(b, p)
			if err != nil {
				h.damage = errors.Join(h.damage, err)
				break
			}
			if err := some(x); err != nil {
				return err
			}
			b = rest
		}
	}
	for _, x := range h.live {
		if err := some(x); err != nil {
			return err
		}
	}
	return nil
}

// archived reads the first entry of what is left of an archive.
func archived(b []byte, p string) (x log.Entry, rest []byte, err error) {
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	first, second, ok2 := bytes.Cut(line, []byte(" "))
	n, err1 := strconv.ParseInt(string(first), 10, 64)
	length, err2 := strconv.ParseInt(string(second), 10, 64)
	if !ok || !ok2 || err1 != nil || err2 != nil || length < 0 || length > int64(len(rest)) {
		return x, nil, fault.New(fault.Damage, "archive %s: its index makes no sense", p)
	}
	x, err = log.Decode(rest[:length], p, n)
	return x, rest[length:], err
}

// still is how many certificates back an entry may speak of one: a *partition* or an *accept* may come behind the next certificate.
const still = 4

// entry takes one entry in.
func (h *history) entry(e log.Entry) error {
	switch e.Kind {
	case account.KindClaim:
		var c account.Claim
		if err := decode(e, &c); err != nil {
			return err
		}
		h.claims = append(h.claims, c)
	case account.KindSegment:
		var g account.Segment
		if err := decode(e, &g); err != nil {
			return err
		}
		if len(h.claims) == 0 {
			h.claims = append(h.claims, g.Claim)
		}
	case account.KindCertificate:
		c := &Recorded{Certified: Certified{Hash: e.SHA256, N: e.N, Committed: map[string]bool{}}, Superseded: h.mended.Superseded[e.SHA256],
			mended: &h.mended}
		if err := decode(e, &c.Certificate); err != nil {
			return err
		}
		h.recent = append(h.recent, c)
		if len(h.recent) > still {
			first := h.recent[0]
			h.recent = h.recent[1:]
			return h.visit(first)
		}
	default:
		_, err := speaksOf(e, h.find)
		return err
	}
	return nil
}

func (h *history) find(hash string) *Certified {
	for _, c := range h.recent {
		if c.Hash == hash {
			return &c.Certified
		}
	}
	return nil
}

// flush visits what is left.
func (h *history) flush() error {
	for _, c := range h.recent {
		if err := h.visit(c); err != nil {
			return err
		}
	}
	return nil
}
