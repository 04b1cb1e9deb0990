package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/env/envtest"
	"staunch/fs"
)

// many is a store with one table of very many small files, which are made when they are read: what is measured is the audit, not the store.
type many struct {
	certificates, each int
	hashes             []string
	// peak is what was alive at most when one of every openings was looked at.
	peak, opened, every uint64
}

const (
	manyLine = "{}\n"
	manyLog  = "/t/_staunch/j"
)

func newMany(certificates, each int) *many {
	m := &many{certificates: certificates, each: each, every: 100_000}
	for i := range certificates {
		m.hashes = append(m.hashes, hashOf(string(m.entry(int64(2+2*i)))))
	}
	return m
}

func (m *many) name(c, i int) string {
	return fmt.Sprintf("/t/d=%d/part-00000000-0-%d-1-%d-%024x.json", c%100, c+1, i, c*m.each+i)
}

// entry makes entry n: the claim, then certificate and done by turns.
func (m *many) entry(n int64) []byte {
	wrap := func(kind string, body any) []byte {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		return fmt.Appendf(nil, "staunch-log 1 %s %024d %s\n%s\n", kind, n, hashOf(string(b)), b)
	}
	if n == 1 {
		return wrap(account.KindClaim, account.Claim{LogID: "l", Job: "j", Epoch: 1})
	}
	c := int(n-2) / 2
	if n%2 == 1 {
		d := account.Done{LogID: "l", Epoch: 1, Checkpoint: account.CheckpointID(c + 1), Certificate: m.hashes[c]}
		for range m.each {
			d.Verdicts = append(d.Verdicts, account.Renamed)
		}
		d.Counters = account.Counters{Created: int64(m.each), Renamed: int64(m.each)}
		return wrap(account.KindDone, d)
	}
	x := account.Certificate{LogID: "l", Job: "j", Epoch: 1, Checkpoint: account.CheckpointID(c + 1), Plan: "p", AccountsClose: true}
	if c > 0 {
		x.Previous = m.hashes[c-1]
	}
	from := int64(c * m.each)
	for i := range m.each {
		o := from + int64(i)
		f := m.name(c, i)
		x.Files = append(x.Files, account.File{Insert: "1", Final: f, Pending: strings.Replace(f, "/t/", "/t/_DUMP_TEMPORARY/", 1) + ".pending", Length: int64(len(manyLine)), Sums: account.SumsOf([]byte(manyLine)), Rows: 1,
			Attempt: "1.0", Offsets: []account.Offsets{{Split: "e-0", Set: account.Set{Runs: []account.Run{{From: o, To: o + 1}}}}}})
	}
	x.Ranges = []account.Range{{Split: "e-0", Insert: "1", From: from, To: from + int64(m.each)}}
	return wrap(account.KindCertificate, x)
}

func (m *many) content(p string) ([]byte, bool) {
	if dir, name := path.Split(p); dir == manyLog+"/" {
		n, err := strconv.ParseInt(strings.TrimSuffix(name, ext), 10, 64)
		return m.entry(n), err == nil && n <= int64(1+2*m.certificates)
	}
	return []byte(manyLine), true
}

func (m *many) List(dir string) (out []fs.Info, err error) {
	switch {
	case dir == "/t":
		for d := range 100 {
			out = append(out, fs.Info{Name: fmt.Sprint("d=", d), Dir: true})
		}
	case dir == "/t/_staunch":
		out = append(out, fs.Info{Name: "j", Dir: true})
	case dir == manyLog:
		for n := range 1 + 2*m.certificates {
			out = append(out, fs.Info{Name: fmt.Sprint(n+1, ext), Size: 1})
		}
	default:
		d, _ := strconv.Atoi(strings.TrimPrefix(path.Base(dir), "d="))
		for c := d; c < m.certificates; c += 100 {
			for i := range m.each {
				out = append(out, fs.Info{Name: path.Base(m.name(c, i)), Size: int64(len(manyLine))})
			}
		}
	}
	return out, nil
}

func (m *many) Stat(p string) (fs.Info, error) {
	if b, ok := m.content(p); ok {
		return fs.Info{Name: path.Base(p), Size: int64(len(b))}, nil
	}
	return fs.Info{}, fs.ErrNotExist
}

func (m *many) Open(p string) (fs.Reader, error) {
	b, ok := m.content(p)
	if !ok {
		return nil, fs.ErrNotExist
	}
	if m.opened++; m.opened%m.every == 0 {
		m.heap()
	}
	return &manyReader{bytes.NewReader(b)}, nil
}

// heap notes what is alive.
func (m *many) heap() {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	m.peak = max(m.peak, s.HeapAlloc)
}

type manyReader struct{ *bytes.Reader }

func (r *manyReader) Size() int64 { return r.Reader.Size() }
func (r *manyReader) Close() error {
	return nil
}

func (m *many) Create(string) (fs.File, error) { return nil, io.ErrClosedPipe }
func (m *many) Rename(string, string) error    { return io.ErrClosedPipe }
func (m *many) MkdirAll(string) error          { return io.ErrClosedPipe }
func (m *many) Delete(string) error            { return io.ErrClosedPipe }
func (m *many) DeleteDir(string) error         { return io.ErrClosedPipe }
func (m *many) SyncDir(string) error           { return io.ErrClosedPipe }

func auditMany(t testing.TB, m *many) *Report {
	t.Helper()
	r, err := Table(context.Background(), &envtest.Quick{}, m, "/t", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(m.certificates * m.each); r.Verdict != Clean || r.Jobs[0].Files != n || r.Jobs[0].Rows != n {
		t.Fatal(text(r))
	}
	return r
}

// TestManyFiles: memory is some ten bytes for each file, and one certificate.
func TestManyFiles(t *testing.T) {
	m := newMany(100, 500)
	m.heap()
	before := m.peak
	m.every = 5_000
	auditMany(t, m)
	if m.opened < 50_000 {
		t.Fatalf("%d openings", m.opened)
	}
	if grown := int64(m.peak) - int64(before); grown > 50_000*120+8<<20 {
		t.Errorf("%d bytes more are alive", grown)
	}
}

// BenchmarkMillionFiles audits a table of a million files.
func BenchmarkMillionFiles(b *testing.B) {
	for b.Loop() {
		m := newMany(2000, 500)
		begin := time.Now()
		auditMany(b, m)
		b.ReportMetric(float64(m.peak)/1e6, "MB-alive")
		b.ReportMetric(time.Since(begin).Seconds(), "s/audit")
	}
}
