package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
)

// names is a set of paths, kept as 16 bytes of their hashes.
type names map[[16]byte]struct{}

func nameOf(p string) (k [16]byte) {
	sum := sha256.Sum256([]byte(p))
	copy(k[:], sum[:])
	return k
}

// add reports whether p is new.
func (n names) add(p string) bool {
	k := nameOf(p)
	if _, ok := n[k]; ok {
		return false
	}
	n[k] = struct{}{}
	return true
}

func (n names) has(p string) bool { _, ok := n[nameOf(p)]; return ok }

// files checks data files against what certificates say of them.
type files struct {
	ctx   context.Context
	store fs.FS
	root  string
	opts  Options
	buf   []byte
	// exts are the extensions of the files that certificates name.
	exts map[string]bool
	// moved is where the table stood when files were written, if that was elsewhere.
	moved string
	// waiting are the files that stood in the temporary folder when the audit began.
	waiting map[string]bool
	// export collects the files of one partition, nil if nobody asked for them.
	export *exporter
}

// inside gives the place of one of f's paths below the table's root. A table that was moved or copied as a whole is read where it is now.
func (x *files) inside(f *account.File, p string) (string, bool) {
	if path.Clean(p) != p {
		return "", false
	}
	if strings.HasPrefix(p, x.root+"/") {
		return p, true
	}
	was := f.Stood()
	if was == "" || !strings.HasPrefix(p, was+"/") {
		return "", false
	}
	x.moved = was
	return x.root + p[len(was):], true
}

// now is the path at which a file of the table stands now, if the table was moved since.
func (x *files) now(p string) string {
	if x.moved != "" {
		if rel, ok := strings.CutPrefix(p, x.moved+"/"); ok {
			return path.Join(x.root, rel)
		}
	}
	return p
}

// check judges one file of a certificate. v is its verdict, "" as long as it has none: then it may be in either place. Where the file was lost a
// replacement may stand for it.
func (x *files) check(j *judge, c *certificate, f *account.File, v account.Verdict) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	final, ok := x.inside(f, f.Final)
	if !ok {
		return nil // reported when the certificate was read
	}
	x.exts[path.Ext(final)] = true
	if n := j.past.mended.Removed[f.Final]; n > 0 {
		return x.amended(j, c, f, final, v, n)
	}
	e := j.expect(c, f)
	at, s, err := final, seen{}, error(nil)
	if v == "" {
		at, s, err = x.either(e, final)
	} else {
		s, err = x.look(e, final)
	}
	if err != nil {
		return err
	}
	if at == "" || v == account.Lost && s.missing() {
		x.lost(j, c, f, final)
		return nil
	}
	if p := s.problem; p != nil {
		p.Path, p.Offsets = at, offsetsOf(f.Offsets)
		if v == account.Lost {
			p.What = "the file was lost, and what stands in its place is neither it nor a replacement: " + p.What
		}
		j.found(c, *p)
		if p.Kind == FileMissing {
			return nil
		}
	}
	if at != final {
		j.rep.Pending++
		return nil
	}
	j.repaired(c, f, final, s.repair)
	if err := x.leftOver(j, f, v); err != nil {
		return err
	}
	if v == account.Lost && s.repair == nil && s.problem == nil {
		j.rep.note(fmt.Sprintf("%s was lost at checkpoint %d, and is there again as it was written", final, c.Checkpoint))
	}
	x.export.file(j, c, f, final, s)
	j.rep.Files++
	j.rep.Bytes += s.length(f)
	j.rep.Rows += f.Rows
	return nil
}

// leftOver counts a pending file that stands beside its visible one, behind *done*: a power cut left it, or a create that arrived late. No reader sees it.
func (x *files) leftOver(j *judge, f *account.File, v account.Verdict) error {
	pending, ok := x.inside(f, f.Pending)
	if !ok || v == "" || !x.waiting[pending] {
		return nil
	}
	_, err := x.store.Stat(pending)
	switch {
	case err == nil:
		j.rep.Left++
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for %s: %w", pending, err)
	}
	return nil
}

// maxWaiting bounds the files of the temporary folder that are remembered.
const maxWaiting = 100_000

// wait lists the temporary folder.
func (x *files) wait(dir string) error {
	infos, err := x.store.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, i := range infos {
		p := path.Join(dir, i.Name)
		switch {
		case i.Dir && !i.Symlink:
			if err := x.wait(p); err != nil {
				return err
			}
		case len(x.waiting) < maxWaiting:
			x.waiting[p] = true
		}
	}
	return nil
}

// either finds and compares a file without verdict; at is "" if it is in neither place. A job may be renaming it right now. A source that is
// not as it was written does not matter once the target is there: a store may carry out the creation of a file late, again and in vain.
func (x *files) either(e expected, final string) (at string, s seen, err error) {
	for range 10 {
		if at, err = x.find(e.file, final); at == "" || err != nil {
			return at, seen{}, err
		}
		if at == final {
			s, err = x.look(e, final)
		} else {
			s.sums, s.problem, err = x.compare(e.file, at)
		}
		if err != nil || s.problem == nil {
			return at, s, err
		}
		if at != final {
			if q, err := x.look(e, final); err != nil || !q.missing() {
				return final, q, err
			}
		}
		if !s.missing() {
			break
		}
	}
	return at, s, err
}

// find looks for a file at the source first, since it leaves that place once only, and twice before it is called lost.
func (x *files) find(f *account.File, final string) (string, error) {
	pending, ok := x.inside(f, f.Pending)
	for range 2 {
		for _, p := range []string{pending, final} {
			if p == pending && !ok {
				continue
			}
			_, err := x.store.Stat(p)
			if err == nil {
				return p, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("look for %s: %w", p, err)
			}
		}
	}
	return "", nil
}

// lost reports a file in neither place.
func (x *files) lost(j *judge, c *certificate, f *account.File, final string) {
	l := Loss{Path: final, Checkpoint: c.Checkpoint, Rows: f.Rows, Offsets: offsetsOf(f.Offsets)}
	for _, a := range c.accepted {
		if (a.Files != nil || c.done == nil) && !slices.Contains(a.Files, f.Final) {
			continue // this one was not accepted, or an earlier version's order did not say which were
		}
		l.Accepted = by(a.Who, a.Time)
	}
	l.Repairing = j.repairing(c, f)
	for _, o := range f.Offsets {
		if s := j.splits[key{o.Split, f.Insert}]; s != nil {
			s.Lost += o.Set.Count()
		}
	}
	if len(j.rep.Losses) < maxListed {
		j.rep.Losses = append(j.rep.Losses, l)
	} else {
		j.rep.More++
	}
	x.export.lost(j, c, f, final, l.Accepted)
	if l.Accepted == "" {
		c.lost = append(c.lost, *f)
		c.losses = append(c.losses, l)
	}
}

// rowsOf is the number of a file's rows for a message.
func rowsOf(f *account.File) string {
	if !f.Recorded() {
		return "rows whose number is not recorded are"
	}
	return fmt.Sprintf("its %d rows are", f.Rows)
}

// compare holds the file at p against the certificate's f, and gives the checksums of what it read. The problem's place is filled in by the caller.
func (x *files) compare(f *account.File, p string) (account.Sums, *Problem, error) {
	none := account.Sums{}
	unreadable := func(err error) (account.Sums, *Problem, error) {
		if errors.Is(err, fs.ErrNotExist) {
			return none, &Problem{Kind: FileMissing, What: "the file was committed and is gone; it held " + strings.TrimPrefix(strings.TrimSuffix(rowsOf(f), " are"), "its "),
				ToDo: "find out who removed or moved it, and bring it back from a copy"}, nil
		}
		if errors.Is(err, fs.ErrUnavailable) {
			return none, nil, fmt.Errorf("read %s: %w", p, err)
		}
		return none, &Problem{Kind: FileUnreadable, What: fmt.Sprintf("the file cannot be read: %v", err), ToDo: "make it readable for the one who audits, and audit again"}, nil
	}
	info, err := x.store.Stat(p)
	switch {
	case err != nil:
		return unreadable(err)
	case info.Dir || info.Symlink:
		return none, &Problem{Kind: FileChanged, What: "something that is no plain file stands in the place of a committed file", ToDo: changedAdvice}, nil
	case info.Size != f.Length:
		return none, &Problem{Kind: FileChanged, What: fmt.Sprintf("the file is %d bytes long, and was written with %d", info.Size, f.Length), ToDo: changedAdvice}, nil
	}
	r, err := x.store.Open(p)
	if err != nil {
		return unreadable(err)
	}
	sums, problem, err := x.content(f, r, p)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return unreadable(err)
	}
	return sums, problem, nil
}

const changedAdvice = "somebody changed or replaced the file after it was committed: bring it back from a copy"

// content compares hash, rows and offsets.
func (x *files) content(f *account.File, r fs.Reader, p string) (sums account.Sums, problem *Problem, err error) {
	recorded := f.Recorded() // not by a version that recorded no files
	if !x.opts.Fast && recorded {
		var lines int64
		sums, lines, err = x.hash(r, isLines(p), f.SHA256 != "" || x.export.has(p))
		switch other := sums.Contradicts(f.Sums); {
		case err != nil:
			return sums, nil, err
		case other != "":
			return sums, &Problem{Kind: FileChanged, What: "the file has the right length, but its content is not what was written (another " + other + ")", ToDo: changedAdvice}, nil
		case isLines(p) && lines != f.Rows:
			return sums, &Problem{Kind: FileFooter, What: fmt.Sprintf("the file has %d lines, and its certificate says %d rows", lines, f.Rows), ToDo: doctored}, nil
		}
	}
	if !isParquet(p) {
		return sums, nil, nil
	}
	foot, err := readFooter(r)
	if err != nil {
		if fault.ClassOf(err) != fault.Damage {
			return sums, nil, err
		}
		return sums, &Problem{Kind: FileFooter, What: "the file is no readable Parquet file: " + err.Error(), ToDo: changedAdvice}, nil
	}
	if what := foot.differs(f); recorded && what != "" {
		return sums, &Problem{Kind: FileFooter, What: "the file's own footer contradicts its certificate: " + what, ToDo: doctored}, nil
	}
	return sums, nil, nil
}

// hash reads the file once: its checksums, SHA-256 only if sha is set, and, if count is set, its line ends.
func (x *files) hash(r fs.Reader, count, sha bool) (sums account.Sums, lines int64, err error) {
	if x.buf == nil {
		x.buf = make([]byte, 1<<20)
	}
	summer := account.NewSummer(sha)
	for {
		n, err := r.Read(x.buf)
		summer.Write(x.buf[:n])
		if count {
			lines += int64(bytes.Count(x.buf[:n], []byte{'\n'}))
		}
		if err == io.EOF {
			return summer.Sums(), lines, nil
		}
		if err != nil {
			return sums, 0, err
		}
		if err := x.ctx.Err(); err != nil {
			return sums, 0, err
		}
	}
}

func isLines(p string) bool {
	return strings.HasSuffix(p, ".json") || strings.HasSuffix(p, ".json.pending")
}
func isParquet(p string) bool {
	return strings.HasSuffix(p, ".parquet") || strings.HasSuffix(p, ".parquet.pending")
}
