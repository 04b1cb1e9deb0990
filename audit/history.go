package audit

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

const ext = ".staunch"

// maxEntry bounds the length of one entry in an archive whose index may be damaged.
const maxEntry = 1 << 30

// item is one number of a log, or a stretch of numbers that cannot be read.
type item struct {
	n, to int64
	path  string
	entry *log.Entry
	// kind and what say what is wrong with it, if entry is nil.
	kind Kind
	what string
	// whole: an archive cannot be opened, so that none of its entries is visited.
	whole bool
}

// history reads a table's log from its first entry on, through the archives that segments have made, without following or changing it.
type history struct {
	ctx   context.Context
	store fs.FS
	dir   string
	visit func(item)
	// last is the greatest number that was visited.
	last int64
	// limit, if not 0, is the number behind which nothing is visited.
	limit int64
	// segment is the number of the newest segment that was listed.
	segment int64
	// looked: a gap was seen and the folder listed again, since the listing of a folder that changes need not be one moment's.
	looked bool
}

// read visits everything behind the last number visited, in order. What cannot be read is visited as such; an error is the store's.
func (h *history) read() error {
	for try := 0; ; try++ {
		err := h.once()
		if err != errMoved {
			return err
		}
		if try == 100 {
			return fmt.Errorf("read log %s: it is cleaned faster than it can be read", h.dir)
		}
	}
}

// errMoved: an entry went away between listing and reading, since a segment replaced it. What was visited stays visited.
var errMoved = errors.New("the log is being cleaned")

func (h *history) once() error {
	numbers, folders, archives, err := h.list()
	if err != nil {
		return err
	}
	// The newest segment is where the log begins; what lies below it and is not in its archives counts for nothing (PROTOCOL.md 1).
	begin, segment, err := h.newestSegment(numbers)
	if err != nil {
		return err
	}
	h.segment = begin
	switch {
	case segment != nil:
		for _, a := range segment.Archives {
			if err := h.archive(a); err != nil {
				return err
			}
		}
		if h.last < begin-1 {
			h.hole(begin)
		}
	case begin > 0: // the segment is damaged: its archives are found by their names
		for _, a := range h.guess(archives, begin) {
			if err := h.archive(a); err != nil {
				return err
			}
		}
		h.hole(begin)
	}
	for _, n := range numbers {
		if n <= h.last || n < begin || h.beyond(n) {
			continue
		}
		if n > h.last+1 && !h.looked {
			h.looked = true
			return errMoved
		}
		h.hole(n)
		it := item{n: n, to: n, path: h.path(n)}
		if folders[n] {
			it.kind, it.what = EntryDamaged, "a folder stands in the place of an entry"
			h.show(it)
			continue
		}
		e, err := log.ReadFile(h.store, it.path, n)
		switch {
		case err == nil:
			it.entry = &e
		case errors.Is(err, log.ErrVersion):
			it.kind, it.what = EntryUnknown, err.Error()
		case fault.ClassOf(err) == fault.Damage:
			it.kind, it.what = EntryDamaged, err.Error()
		case errors.Is(err, fs.ErrNotExist):
			return errMoved
		case errors.Is(err, fs.ErrUnavailable):
			return fmt.Errorf("read log %s: %w", h.dir, err)
		default:
			it.kind, it.what = EntryDamaged, "it cannot be read: "+err.Error()
		}
		h.show(it)
	}
	return nil
}

func (h *history) show(it item) {
	if h.beyond(it.n) {
		return
	}
	h.visit(it)
	h.last = it.to
}

func (h *history) beyond(n int64) bool { return h.limit > 0 && n > h.limit }

// hole reports the numbers between the last one visited and n.
func (h *history) hole(n int64) {
	if h.limit > 0 {
		n = min(n, h.limit+1)
	}
	if h.last >= n-1 {
		return
	}
	what := fmt.Sprintf("entry %d is missing", n-1)
	if h.last < n-2 {
		what = fmt.Sprintf("entries %d to %d are missing", h.last+1, n-1)
	}
	h.show(item{n: h.last + 1, to: n - 1, path: h.path(h.last + 1), kind: EntryMissing, what: what})
}

func (h *history) path(n int64) string { return path.Join(h.dir, strconv.FormatInt(n, 10)+ext) }

// list gives the numbers of entries, ascending, those that are folders, and the archives by their names.
func (h *history) list() (numbers []int64, folders map[int64]bool, archives []account.Archive, err error) {
	if err := h.ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	infos, err := h.store.List(h.dir)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list %s: %w", h.dir, err)
	}
	folders = map[int64]bool{}
	for _, i := range infos {
		if n := log.Number(i.Name, ext); n > 0 {
			numbers = append(numbers, n)
			folders[n] = i.Dir
			continue
		}
		f := strings.Split(i.Name, "-")
		if len(f) != 4 || f[0] != "archive" {
			continue
		}
		from, err1 := strconv.ParseInt(f[1], 10, 64)
		to, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 == nil && err2 == nil && 0 < from && from <= to {
			archives = append(archives, account.Archive{Name: i.Name, From: from, To: to, Length: i.Size})
		}
	}
	slices.Sort(numbers)
	return numbers, folders, archives, nil
}

// newestSegment gives the greatest number whose entry is a segment, 0 if there is none; segment is nil if it is damaged.
func (h *history) newestSegment(numbers []int64) (at int64, segment *account.Segment, err error) {
	for i := len(numbers) - 1; i >= 0; i-- {
		kind, err := h.kind(numbers[i])
		if err != nil {
			return 0, nil, err
		}
		if kind != account.KindSegment {
			continue
		}
		e, err := log.ReadFile(h.store, h.path(numbers[i]), numbers[i])
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil, errMoved
		}
		if errors.Is(err, fs.ErrUnavailable) {
			return 0, nil, fmt.Errorf("read log %s: %w", h.dir, err)
		}
		var g account.Segment
		if err != nil || json.Unmarshal(e.Body, &g) != nil {
			return numbers[i], nil, nil
		}
		return numbers[i], &g, nil
	}
	return 0, nil, nil
}

// newer reports whether the log has another newest segment than the one whose archives are being read: a running job joins archives, and removes
// those that it joined.
func (h *history) newer() (bool, error) {
	numbers, _, _, err := h.list()
	if err != nil {
		return false, err
	}
	at, _, err := h.newestSegment(numbers)
	if err != nil {
		return false, err
	}
	return at != h.segment, nil
}

// kind reads an entry's first line only; "" if it has none.
func (h *history) kind(n int64) (string, error) {
	r, err := h.store.Open(h.path(n))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errMoved
	case errors.Is(err, fs.ErrUnavailable):
		return "", fmt.Errorf("read log %s: %w", h.dir, err)
	case err != nil:
		return "", nil // it is judged when its turn comes
	}
	head := make([]byte, min(r.Size(), 128))
	_, rerr := r.ReadAt(head, 0)
	if cerr := r.Close(); rerr != nil && rerr != io.EOF || cerr != nil {
		return "", nil
	}
	if f := strings.SplitN(string(head), " ", 4); len(f) == 4 && f[0] == "staunch-log" {
		return f[2], nil
	}
	return "", nil
}

// guess picks the archives that join from entry 1 on, the longest first, below the entry begin. Of those that begin at one entry a whole one is
// preferred: a process that died while it wrote one leaves half of it.
func (h *history) guess(archives []account.Archive, begin int64) (out []account.Archive) {
	next := int64(1)
	slices.SortFunc(archives, func(a, b account.Archive) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To)) })
	for len(archives) > 0 {
		from := archives[0].From
		same := archives[:1]
		for len(same) < len(archives) && archives[len(same)].From == from {
			same = archives[:len(same)+1]
		}
		archives = archives[len(same):]
		if from != next {
			continue
		}
		same = slices.DeleteFunc(slices.Clone(same), func(a account.Archive) bool { return a.To >= begin })
		if len(same) == 0 {
			continue
		}
		pick := same[0]
		if i := slices.IndexFunc(same, h.whole); i > 0 {
			pick = same[i]
		}
		out = append(out, pick)
		next = pick.To + 1
	}
	return out
}

// whole reports whether an archive has all its entries, by its index.
func (h *history) whole(a account.Archive) bool {
	r, err := h.store.Open(path.Join(h.dir, a.Name))
	if err != nil {
		return false // it is reported if it is picked all the same
	}
	defer func() { _ = r.Close() }() // nothing was written
	in := bufio.NewReaderSize(r, 1<<20)
	for at := a.From - 1; at < a.To; {
		n, length, err := indexLine(in)
		if err != nil || n <= at || n > a.To {
			return false
		}
		if got, err := in.Discard(int(length)); err != nil || int64(got) != length {
			return false
		}
		at = n
	}
	return true
}

// indexLine reads the line before an entry in an archive.
func indexLine(in *bufio.Reader) (n, length int64, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	first, second, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	n, err1 := strconv.ParseInt(first, 10, 64)
	length, err2 := strconv.ParseInt(second, 10, 64)
	if err1 != nil || err2 != nil || length < 0 || length > maxEntry {
		return 0, 0, errIndex
	}
	return n, length, nil
}

var errIndex = errors.New("the index makes no sense")

// archive visits the entries of one archive. Its hash is checked while they are read; entries that are whole are judged even if it is wrong.
func (h *history) archive(a account.Archive) error {
	if a.To <= h.last || h.beyond(a.From) {
		return nil
	}
	h.hole(a.From)
	p := path.Join(h.dir, a.Name)
	bad := func(whole bool, format string, args ...any) {
		h.visit(item{n: a.From, to: a.To, path: p, kind: ArchiveDamaged, whole: whole, what: fmt.Sprintf("the archive of entries %d to %d ", a.From, a.To) +
			fmt.Sprintf(format, args...)})
	}
	if strings.Contains(a.Name, "/") {
		bad(true, "has a name that leads elsewhere")
		h.last = a.To
		return nil
	}
	r, err := h.store.Open(p)
	if errors.Is(err, fs.ErrUnavailable) {
		return fmt.Errorf("read %s: %w", p, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if newer, err := h.newer(); newer || err != nil {
			return cmp.Or(err, errMoved)
		}
	}
	if err != nil {
		bad(true, "cannot be read: %v", err)
		h.last = a.To
		return nil
	}
	sum, size := sha256.New(), r.Size()
	in := bufio.NewReaderSize(io.TeeReader(r, sum), 1<<20)
	broken := h.entries(in, a)
	_, err = io.Copy(io.Discard, in)
	if err = errors.Join(err, r.Close(), h.ctx.Err()); err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	switch {
	case a.Length != size:
		bad(false, "is %d bytes long, its segment says %d", size, a.Length)
	case a.SHA256 != "" && hex.EncodeToString(sum.Sum(nil)) != a.SHA256:
		bad(false, "was altered: its hash is not the one that its segment names")
	case broken != "":
		bad(false, "%s", broken)
	}
	if h.last < a.To {
		h.hole(a.To + 1)
	}
	return nil
}

// entries visits what is in an archive, up to the first thing that makes no sense.
func (h *history) entries(in *bufio.Reader, a account.Archive) string {
	for at := a.From - 1; at < a.To; {
		n, length, err := indexLine(in)
		switch {
		case err == io.EOF:
			return fmt.Sprintf("ends behind entry %d", at)
		case err != nil || n <= at || n > a.To:
			return fmt.Sprintf("has a damaged index behind entry %d", at)
		}
		at = n
		body, err := io.ReadAll(io.LimitReader(in, length))
		if err != nil || int64(len(body)) < length {
			return fmt.Sprintf("ends inside entry %d", n)
		}
		if n <= h.last {
			continue
		}
		h.hole(n)
		it := item{n: n, to: n, path: path.Join(h.dir, a.Name)}
		e, err := log.Decode(body, it.path, n)
		switch {
		case errors.Is(err, log.ErrVersion):
			it.kind, it.what = EntryUnknown, fmt.Sprintf("in archive %s: %v", a.Name, err)
		case err != nil:
			it.kind, it.what = EntryDamaged, fmt.Sprintf("in archive %s: %v", a.Name, err)
		default:
			it.entry = &e
		}
		h.show(it)
	}
	return ""
}
