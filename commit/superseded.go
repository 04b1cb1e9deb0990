package commit

import (
	"errors"
	"log/slog"
	"path"
	"time"

	"staunch/account"
	"staunch/env"
	"staunch/fs"
	"staunch/log"
)

// SupersededDir is the folder, below a table's root, of the files that rewinds took out of it: each in one by the number of its entry.
const SupersededDir = "_superseded"

// TakenOut is a rewind that was carried out in a table.
type TakenOut struct {
	// N is the number of its supersede entry, which names the folder.
	N int64
	// Time is when it was over, by the clock of the host that carried it out.
	Time time.Time
	// Files are what it took out, as partition and name of the visible file; of replacements, the staged file's without its suffix.
	Files map[string]bool
}

// ReadTakenOut reads from a table's log and its archives, for looking only, which rewinds were carried out and what they took out. One that is
// under way is not among them.
func ReadTakenOut(e env.Env, store fs.FS, root, job string) ([]TakenOut, error) {
	for segment := int64(-1); ; {
		out, at, err := readTakenOut(e, store, root, job)
		if !errors.Is(err, fs.ErrNotExist) || at == segment {
			return out, err
		}
		segment = at // a running job may have joined archives between the two reads
	}
}

// readTakenOut also gives the number of the newest segment.
func readTakenOut(e env.Env, store fs.FS, root, job string) (out []TakenOut, segment int64, err error) {
	t := Open(e, store, root, Owner{Job: job}, Variant{}, slog.New(slog.DiscardHandler))
	entries, err := t.log.Read()
	if err != nil {
		return nil, t.state.SegmentN, err
	}
	if err := t.state.ApplyAll(entries); err != nil {
		return nil, t.state.SegmentN, err
	}
	r := takenOut{files: map[string][]account.File{}, begun: map[string]*Superseding{}}
	for _, a := range t.archives() {
		if err := t.archived(a, r.visit); err != nil {
			return nil, t.state.SegmentN, err
		}
	}
	for _, x := range entries {
		if x.N < t.state.SegmentN {
			continue // in an archive, or a ghost
		}
		if err := r.visit(x); err != nil {
			return nil, t.state.SegmentN, err
		}
	}
	return r.out, t.state.SegmentN, nil
}

// takenOut is one reading under way.
type takenOut struct {
	files  map[string][]account.File // of certificates by their hash
	mended Mended
	begun  map[string]*Superseding
	out    []TakenOut
}

func (r *takenOut) visit(e log.Entry) error {
	if err := r.mended.Entry(e); err != nil {
		return err
	}
	switch e.Kind {
	case account.KindCertificate:
		var c account.Certificate
		if err := decode(e, &c); err != nil {
			return err
		}
		r.files[e.SHA256] = c.Files
	case account.KindSupersede:
		x := &Superseding{Hash: e.SHA256, N: e.N}
		if err := decode(e, &x.Supersede); err != nil {
			return err
		}
		r.begun[x.Hash] = x
	case account.KindRewound:
		var w account.Rewound
		if err := decode(e, &w); err != nil {
			return err
		}
		x := r.begun[w.Supersede]
		if x == nil {
			return nil
		}
		out := TakenOut{N: x.N, Time: w.Time, Files: map[string]bool{}}
		finals := map[string]bool{}
		for _, h := range x.Certificates {
			for i := range r.files[h] {
				f := &r.files[h][i]
				out.Files[path.Join(f.Partition, path.Base(f.Final))], finals[f.Final] = true, true
				for _, p := range r.mended.Repairs(h, f.Final) { // a replacement is taken out under a name of its own
					out.Files[path.Join(f.Partition, replacementStem(p.Staged))] = true
				}
			}
		}
		for i := range r.mended.Amends {
			if a := &r.mended.Amends[i]; a.N < x.N && a.of(finals) {
				for _, f := range a.Added {
					out.Files[path.Join(f.Partition, path.Base(f.Final))], finals[f.Final] = true, true
				}
			}
		}
		r.out = append(r.out, out)
	}
	return nil
}
