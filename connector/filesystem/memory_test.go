package filesystem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/format"
	"staunch/fs"
	"staunch/types"
)

// memory is a store in memory that logs its calls, knows what is durable, and fails on request.
type memory struct {
	mu      sync.Mutex
	files   map[string]*memoryFile
	dirs    map[string]bool
	links   map[string]bool
	calls   []string
	synced  map[string]bool // folders
	handles int
	most    int
	// fail is asked before each call.
	fail func(op, path string) error
	// overwrites makes Rename overwrite; maxName is the longest element, 0 = any.
	overwrites bool
}

type memoryFile struct {
	m      *memory
	path   string
	b      bytes.Buffer
	synced bool
	closed bool
}

func newMemory() *memory {
	return &memory{files: map[string]*memoryFile{}, dirs: map[string]bool{"/": true}, links: map[string]bool{}, synced: map[string]bool{}}
}

func (m *memory) call(op, p string) error {
	m.calls = append(m.calls, op+" "+p)
	if m.fail != nil {
		return m.fail(op, p)
	}
	return nil
}

func (m *memory) Create(p string) (fs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("create", p); err != nil {
		return nil, err
	}
	if !m.dirs[path.Dir(p)] {
		return nil, fmt.Errorf("%s: %w", p, fs.ErrNotExist)
	}
	if m.files[p] != nil || m.dirs[p] {
		return nil, fmt.Errorf("%s: %w", p, fs.ErrExist)
	}
	f := &memoryFile{m: m, path: p}
	m.files[p] = f
	m.synced[path.Dir(p)] = false
	m.handles++
	m.most = max(m.most, m.handles)
	return f, nil
}

func (f *memoryFile) Write(b []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, errors.New("write after close")
	}
	if err := f.m.call("write", f.path); err != nil {
		return 0, err
	}
	f.synced = false
	return f.b.Write(b)
}

func (f *memoryFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return errors.New("sync after close")
	}
	if err := f.m.call("sync", f.path); err != nil {
		return err
	}
	f.synced = true
	return nil
}

func (f *memoryFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.m.handles--
	}
	return f.m.call("close", f.path)
}

func (m *memory) Rename(src, dst string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("rename", src+" "+dst); err != nil {
		return err
	}
	if m.files[src] == nil {
		return fs.ErrNotExist
	}
	if m.files[dst] != nil && !m.overwrites {
		return fs.ErrExist
	}
	m.files[dst] = m.files[src]
	delete(m.files, src)
	return nil
}

func (m *memory) Stat(p string) (fs.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("stat", p); err != nil {
		return fs.Info{}, err
	}
	switch {
	case m.links[p]:
		return fs.Info{Name: path.Base(p), Symlink: true}, nil
	case m.dirs[p]:
		return fs.Info{Name: path.Base(p), Dir: true}, nil
	case m.files[p] != nil:
		return fs.Info{Name: path.Base(p), Size: int64(m.files[p].b.Len())}, nil
	}
	return fs.Info{}, fmt.Errorf("%s: %w", p, fs.ErrNotExist)
}

func (m *memory) Open(p string) (fs.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[p]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return memoryReader{bytes.NewReader(f.b.Bytes())}, nil
}

type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error  { return nil }
func (r memoryReader) Size() int64 { return r.Reader.Size() }

func (m *memory) List(dir string) ([]fs.Info, error) { return nil, errors.New("not needed") }

func (m *memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("mkdir", dir); err != nil {
		return err
	}
	for ; !m.dirs[dir]; dir = path.Dir(dir) {
		m.dirs[dir] = true
		m.synced[path.Dir(dir)] = false
	}
	return nil
}

func (m *memory) Delete(p string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("delete", p); err != nil {
		return err
	}
	if m.files[p] == nil {
		return fs.ErrNotExist
	}
	delete(m.files, p)
	return nil
}

func (m *memory) DeleteDir(p string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.call("deletedir", p)
}

func (m *memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("syncdir", dir); err != nil {
		return err
	}
	m.synced[dir] = true
	return nil
}

// durable reports whether a power cut would leave the file where it is.
func (m *memory) durable(p string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[p]; f == nil || !f.synced || !f.closed {
		return fmt.Errorf("%s: not there, not synced or not closed", p)
	}
	for p != "/" {
		if p = path.Dir(p); !m.synced[p] {
			if known, ok := m.synced[p]; ok && !known {
				return fmt.Errorf("folder %s has entries that were not synced", p)
			}
		}
	}
	return nil
}

func (m *memory) Resolve(uri string) (fs.FS, string, error) { return m, uri, nil }

// rowFormat writes rows as lines "a|b", NULL as \N, and the footer's pairs as lines "#key=value".
type rowFormat struct{}

type rowWriter struct {
	w    io.Writer
	buf  []byte
	size int64
}

func (rowFormat) Open(w io.Writer) (format.FileWriter, error) { return &rowWriter{w: w}, nil }

func (r *rowWriter) Write(cols []*changelog.Column, from, to int) error {
	for i := from; i < to; i++ {
		start := len(r.buf)
		for j, c := range cols {
			if j > 0 {
				r.buf = append(r.buf, '|')
			}
			switch {
			case c.IsNull(i):
				r.buf = append(r.buf, `\N`...)
			case c.Type.Physical() == types.PhysInt64:
				r.buf = strconv.AppendInt(r.buf, c.I64[i], 10)
			case c.Type.Physical() == types.PhysInt32:
				r.buf = strconv.AppendInt(r.buf, int64(c.I32[i]), 10)
			default:
				r.buf = append(r.buf, c.Bytes(i)...)
			}
		}
		r.buf = append(r.buf, '\n')
		r.size += int64(len(r.buf) - start)
	}
	if len(r.buf) > 4096 {
		return r.flush()
	}
	return nil
}

func (r *rowWriter) flush() error {
	_, err := r.w.Write(r.buf)
	r.buf = r.buf[:0]
	return err
}

func (r *rowWriter) Size() int64     { return r.size }
func (r *rowWriter) Buffered() int64 { return int64(cap(r.buf)) }

func (r *rowWriter) Finish(meta map[string]string) error {
	keys := make([]string, 0, len(meta))
	for k := range meta {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		r.buf = fmt.Appendf(r.buf, "#%s=%s\n", k, meta[k])
	}
	return r.flush()
}

var rows = format.Factory{Name: "rows", Extension: "rows", FileWriter: func(format.Params) (format.FileFormat, error) { return rowFormat{}, nil }}

// clock is a world whose time stands still until it is moved; waiting moves it.
type clock struct {
	env.Real
	now  time.Time
	seed uint64
}

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) NewSignal() env.Signal   { return tick{c, make(chan struct{}, 1)} }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }
func (c *clock) Rand(b []byte) {
	c.seed++
	clear(b)
	binary.LittleEndian.PutUint64(b, c.seed)
}

// tick waits in the clock's time for as long as it is told, and else until it is raised.
type tick struct {
	c      *clock
	raised chan struct{}
}

func (t tick) Notify() {
	select {
	case t.raised <- struct{}{}:
	default:
	}
}

func (t tick) Wait(d time.Duration) bool {
	if d < 0 {
		<-t.raised
		return true
	}
	t.c.advance(d)
	return false
}

// bench is a sink with its store, clock and one writer's context.
type bench struct {
	t     testing.TB
	store *memory
	clock *clock
	sink  *sink
	ctx   connector.Context
	next  account.CheckpointID
}

// newBench makes a table `id BIGINT, v STRING, <keys>` with more options given as key, value.
func newBench(t testing.TB, keys []connector.Column, more ...string) *bench {
	t.Helper()
	b := &bench{t: t, store: newMemory(), clock: &clock{now: time.UnixMilli(1_700_000_000_000).UTC()}, next: 7}
	b.ctx = connector.Context{Env: b.clock, Log: slog.New(slog.DiscardHandler), Job: "orders", Subtask: 2, Parallelism: 4, Epoch: 3, Attempt: 1,
		NextCheckpoint: func() account.CheckpointID { return b.next }}
	s, err := Factory.Sink(tableOf(b.store, keys, more...))
	if err != nil {
		t.Fatal(err)
	}
	b.sink = s.(*sink)
	return b
}

func tableOf(store fs.Resolver, keys []connector.Column, more ...string) connector.Table {
	raw := map[string]string{"connector": "filesystem", "path": "/data/lake", "format": "rows"}
	staunch := map[string]string{}
	for i := 0; i+1 < len(more); i += 2 {
		if slices.ContainsFunc(StaunchOptions, func(o config.Option) bool { return o.Key == more[i] }) {
			staunch[more[i]] = more[i+1]
		} else {
			raw[more[i]] = more[i+1]
		}
	}
	table := connector.Table{Name: "lake", Options: config.NewValues("table lake", raw, nil), Staunch: config.NewValues("table lake", staunch, nil),
		Zone: time.UTC, Stores: store, Formats: func(name string) (format.Factory, bool) { return rows, name == "rows" },
		Columns: []connector.Column{{Name: "id", Type: types.New(types.BigInt)}, {Name: "v", Type: types.String_}}}
	for _, k := range keys {
		table.Columns = append(table.Columns, k)
		table.PartitionKeys = append(table.PartitionKeys, k.Name)
	}
	table.AllColumns = table.Columns
	return table
}

func stringKeys(names ...string) (keys []connector.Column) {
	for _, n := range names {
		keys = append(keys, connector.Column{Name: n, Type: types.String_})
	}
	return keys
}

func (b *bench) writer() *writer {
	b.t.Helper()
	w, err := b.sink.NewWriter(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return w.(*writer)
}

var splits = []connector.Split{{ID: "events-0"}, {ID: "events-1"}, {ID: "events-2"}}

// batch makes rows of split with these offsets; key gives the partition values of an offset, nil = NULL.
func (b *bench) batch(split int, offsets []int64, key func(o int64) []*string) *changelog.Batch {
	s := changelog.Schema{{Name: "id", Type: types.New(types.BigInt)}, {Name: "v", Type: types.String_}}
	for _, k := range b.sink.layout.keys {
		s = append(s, changelog.Field{Name: k.name, Type: k.typ})
	}
	batch := changelog.NewBatch(s)
	batch.Split = split
	for _, o := range offsets {
		batch.Cols[0].AppendInt64(o)
		batch.Cols[1].AppendString(fmt.Sprintf("%d-%d", split, o))
		for i := range b.sink.layout.keys {
			if v := key(o)[i]; v == nil {
				batch.Cols[2+i].AppendNull()
			} else {
				batch.Cols[2+i].AppendString(*v)
			}
		}
		batch.Offsets = append(batch.Offsets, o)
		batch.Rows++
	}
	return batch
}

func (b *bench) write(w *writer, batch *changelog.Batch) {
	b.t.Helper()
	if err := w.Write(batch, splits); err != nil {
		b.t.Fatal(err)
	}
}

// prepare hands over and makes durable, checks that, and gives the files.
func (b *bench) prepare(w *writer) []*account.File {
	b.t.Helper()
	out, durable, err := w.Prepare(b.next)
	if err != nil {
		b.t.Fatal(err)
	}
	if durable != nil {
		if err := durable(); err != nil {
			b.t.Fatal(err)
		}
	}
	b.next++
	var files []*account.File
	for _, c := range out {
		if err := b.store.durable(c.File.Pending); err != nil {
			b.t.Error(err)
		}
		files = append(files, c.File)
	}
	if len(w.open) != 0 || b.store.handles != 0 {
		b.t.Errorf("%d files and %d handles are open after Prepare", len(w.open), b.store.handles)
	}
	return files
}

// text is the content of a pending file without its footer; footer its pairs.
func (b *bench) text(f *account.File) (lines []string, footer map[string]string) {
	b.t.Helper()
	mf := b.store.files[f.Pending]
	if mf == nil {
		b.t.Fatalf("%s is not there", f.Pending)
	}
	footer = map[string]string{}
	for line := range strings.Lines(mf.b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if k, v, ok := strings.Cut(line, "="); ok && strings.HasPrefix(k, "#") {
			footer[k[1:]] = v
		} else {
			lines = append(lines, line)
		}
	}
	return lines, footer
}

func span(from, to int64) (out []int64) {
	for o := from; o < to; o++ {
		out = append(out, o)
	}
	return out
}

func value(s string) []*string { return []*string{&s} }
