package commit

import (
	"slices"

	"staunch/account"
	"staunch/env"
	"staunch/fs"
	"staunch/log"
)

// Mended is what the entries of a table's log say of files other than their certificates: what was superseded, repaired and amended. It is few
// entries, whatever the size of the log.
type Mended struct {
	// Superseded certificates, by hash, with the number of the entry that took each out of the chain.
	Superseded map[string]int64
	// Amends in order, with the number of each.
	Amends []Amended
	// Removed are final paths that an amend took out of the table, with its number; what certificates and repairs say of them does not count any more.
	Removed map[string]int64
	// Added are the files that amends put there and no later one took out, by final path: it may be that of a removed one.
	Added map[string]account.File

	repairs map[fileOf][]Repairing
	// under are the superseded certificates of each supersede that is not carried out yet, by its hash.
	under map[string][]string
}

// Amended is an amend entry as it stands in the log.
type Amended struct {
	account.Amend
	N int64
}

// Repairing is a repair entry as it stands in the log. Its file may be staged still, or in its place.
type Repairing struct {
	account.Repair
	N int64
}

// fileOf names a file of one certificate: a repair counts for that one alone.
type fileOf struct{ certificate, final string }

// Repairs are the repairs of the file that the certificate with this hash names by this final path, in the order of the log.
func (m *Mended) Repairs(certificate, final string) []Repairing {
	return m.repairs[fileOf{certificate, final}]
}

// Rewinding reports whether the certificate with this hash is superseded and its files are still being moved.
func (m *Mended) Rewinding(certificate string) bool {
	for _, list := range m.under {
		if slices.Contains(list, certificate) {
			return true
		}
	}
	return false
}

// Each is a sequence of all repairs; those of one file come in the order of the log.
func (m *Mended) Each(yield func(Repairing) bool) {
	for _, list := range m.repairs {
		for _, r := range list {
			if !yield(r) {
				return
			}
		}
	}
}

// Entry takes one entry in. Kinds that say nothing of this are passed over.
func (m *Mended) Entry(e log.Entry) error {
	switch e.Kind {
	case account.KindSupersede:
		var x account.Supersede
		if err := decode(e, &x); err != nil {
			return err
		}
		for _, c := range x.Certificates {
			if m.Superseded == nil {
				m.Superseded = map[string]int64{}
			}
			m.Superseded[c] = e.N
		}
		if m.under == nil {
			m.under = map[string][]string{}
		}
		m.under[e.SHA256] = x.Certificates
	case account.KindRewound:
		var r account.Rewound
		if err := decode(e, &r); err != nil {
			return err
		}
		delete(m.under, r.Supersede)
	case account.KindRepair:
		r := Repairing{N: e.N}
		if err := decode(e, &r.Repair); err != nil {
			return err
		}
		if m.repairs == nil {
			m.repairs = map[fileOf][]Repairing{}
		}
		k := fileOf{r.Certificate, r.Final}
		m.repairs[k] = append(m.repairs[k], r)
	case account.KindAmend:
		a := Amended{N: e.N}
		if err := decode(e, &a.Amend); err != nil {
			return err
		}
		m.Amends = append(m.Amends, a)
		for _, p := range a.Removed {
			if m.Removed == nil {
				m.Removed = map[string]int64{}
			}
			m.Removed[p] = a.N
			delete(m.Added, p)
		}
		for _, f := range a.Added {
			if m.Added == nil {
				m.Added = map[string]account.File{}
			}
			m.Added[f.Final] = f
		}
	}
	return nil
}

// ReadMended reads the whole log of a job in the table at root, archives too. An error of class Damage comes with what could be read.
func ReadMended(e env.Env, store fs.FS, root, job string) (*Mended, error) {
	h := &history{store: store, dir: Dir(root, job)}
	if err := h.open(e); err != nil {
		return nil, err
	}
	m := &Mended{}
	if err := h.each(m.Entry); err != nil {
		return nil, err
	}
	return m, h.trouble()
}
