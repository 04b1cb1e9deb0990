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
}

// History visits the certificates of a job in the table at root from the oldest to the newest, those behind segments and superseded ones too, and
// gives the claims. It is for those who look: nothing is judged, and nothing is written. An error of class Damage comes behind what could be read.
func History(e env.Env, store fs.FS, root, job string, visit func(*Recorded) error) (claims []account.Claim, err error) {
	h := &history{store: store, dir: Dir(root, job), gone: map[string]int64{}}
	live, readErr := log.Open(e, store, h.dir, ".staunch").Read()
	for i, x := range live {
		if x.Kind == account.KindSegment {
			var g account.Segment
			if err := decode(x, &g); err != nil {
				return nil, err
			}
			h.archives, h.live = g.Archives, live[i:]
		}
	}
	if h.live == nil {
		h.live = live
	}
	if err := h.each(h.supersedes); err != nil {
		return nil, err
	}
	h.visit = visit
	err = h.each(h.entry)
	if err == nil {
		err = h.flush()
	}
	return h.claims, errors.Join(err, h.damage, readErr)
}

type history struct {
	store    fs.FS
	dir      string
	archives []account.Archive
	live     []log.Entry
	// gone are the superseded certificates, by hash.
	gone   map[string]int64
	visit  func(*Recorded) error
	claims []account.Claim
	// open are the newest certificate and those before it that may still get entries.
	open []*Recorded
	// damage is what could not be read.
	damage error
}

// each gives all entries, archived ones first. An archive that cannot be read is left out from there on, and kept in damage.
func (h *history) each(f func(log.Entry) error) error {
	h.damage = nil
	for _, a := range h.archives {
		p := path.Join(h.dir, a.Name)
		b, err := fs.ReadFile(h.store, p)
		if errors.Is(err, fs.ErrNotExist) {
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
			if err := f(x); err != nil {
				return err
			}
			b = rest
		}
	}
	for _, x := range h.live {
		if err := f(x); err != nil {
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

func (h *history) supersedes(e log.Entry) error {
	if e.Kind != account.KindSupersede {
		return nil
	}
	var x account.Supersede
	if err := decode(e, &x); err != nil {
		return err
	}
	for _, c := range x.Certificates {
		h.gone[c] = e.N
	}
	return nil
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
		c := &Recorded{Certified: Certified{Hash: e.SHA256, N: e.N, Committed: map[string]bool{}}, Superseded: h.gone[e.SHA256]}
		if err := decode(e, &c.Certificate); err != nil {
			return err
		}
		h.open = append(h.open, c)
		if len(h.open) > still {
			first := h.open[0]
			h.open = h.open[1:]
			return h.visit(first)
		}
	default:
		_, err := speaksOf(e, h.find)
		return err
	}
	return nil
}

func (h *history) find(hash string) *Certified {
	for _, c := range h.open {
		if c.Hash == hash {
			return &c.Certified
		}
	}
	return nil
}

// flush visits what is left.
func (h *history) flush() error {
	for _, c := range h.open {
		if err := h.visit(c); err != nil {
			return err
		}
	}
	return nil
}
