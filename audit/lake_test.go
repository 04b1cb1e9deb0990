package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/commit"
	"staunch/config"
	"staunch/connector"
	"staunch/connector/filesystem"
	"staunch/env/envtest"
	"staunch/format"
	jsonformat "staunch/format/json"
	"staunch/format/parquet"
	"staunch/fs"
	"staunch/fs/local"
	"staunch/types"
)

// lazy is the local disk, but makes nothing durable: no test here cuts the power.
type lazy struct{ *local.FS }

type lazyFile struct{ fs.File }

func (lazyFile) Sync() error          { return nil }
func (lazy) SyncDir(dir string) error { return nil }

func (d lazy) Create(path string) (fs.File, error) {
	f, err := d.FS.Create(path)
	return lazyFile{f}, err
}

func (d lazy) Resolve(uri string) (fs.FS, string, error) {
	_, path, err := local.Resolver{FS: d.FS}.Resolve(uri)
	return d, path, err
}

// lake is a table that the real sink and the real committer write, checkpoint by checkpoint, from two splits.
type lake struct {
	t      *testing.T
	root   string
	job    string
	sink   connector.Sink
	table  *commit.Table
	owner  commit.Owner
	every  int
	join   int
	close  bool
	id     account.CheckpointID
	expect account.ChainEnd
	next   [2]int64
	// places are what was damaged: files, or entries by the path of their file. Both programs must name each.
	places []string
	// verified is what the verifier said last.
	verified verified
}

var splits = []connector.Split{{ID: "events-0"}, {ID: "events-1"}}

// newLake makes an empty table. every is the number of certificates a segment.
func newLake(t *testing.T, format string, every int) *lake {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return openLake(t, filepath.Join(root, "lake"), "orders", format, every)
}

func openLake(t *testing.T, root, job, ff string, every int) *lake {
	t.Helper()
	options := map[string]string{"connector": "filesystem", "path": root, "format": ff, "sink.partition-commit.policy.kind": "success-file"}
	cols := []connector.Column{{Name: "id", Type: types.New(types.BigInt)}, {Name: "v", Type: types.String_}, {Name: "dt", Type: types.String_}}
	table := connector.Table{Name: "lake", Columns: cols, AllColumns: cols, PartitionKeys: []string{"dt"}, Zone: time.UTC,
		Options: config.NewValues("table lake", options, nil), Staunch: config.NewValues("table lake", nil, nil), Stores: lazy{local.New()},
		Formats: func(name string) (format.Factory, bool) {
			f, ok := map[string]format.Factory{"json": jsonformat.Factory, "parquet": parquet.Factory}[name]
			return f, ok
		}}
	sink, err := filesystem.Factory.Sink(table)
	if err != nil {
		t.Fatal(err)
	}
	l := &lake{t: t, root: root, job: job, sink: sink, every: every, close: true, next: [2]int64{1000, 0}}
	l.begin(1)
	return l
}

// begin starts an epoch: a claim.
func (l *lake) begin(epoch account.Epoch) {
	l.t.Helper()
	l.owner = commit.Owner{Job: l.job, LogID: "11aa22bb" + l.job, LogPath: "/checkpoints/" + l.job, Epoch: epoch, Host: "host", PID: 42}
	l.open()
	if err := l.table.Claim(nil); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lake) open() {
	l.table = commit.Open(&envtest.Quick{}, lazy{local.New()}, l.root, l.owner, commit.Variant{SegmentEvery: l.every, JoinArchives: l.join}, slog.New(slog.DiscardHandler))
	if err := l.table.Refresh(); err != nil {
		l.t.Fatal(err)
	}
}

// write reads n offsets of each split into files and gives the certificate of the checkpoint: one of seven offsets is filtered, one of eleven
// null, one of thirteen a gap.
func (l *lake) write(n int64) account.Certificate {
	l.t.Helper()
	l.id++
	c := account.Certificate{LogID: l.owner.LogID, Job: l.owner.Job, Epoch: l.owner.Epoch, Checkpoint: l.id, Complete: fmt.Sprintf("complete-%d", l.id),
		Time: time.Now().UTC(), Plan: "plan", SQL: "INSERT INTO lake SELECT ...", AccountsClose: l.close}
	for i := range splits {
		w, err := l.sink.NewWriter(connector.Context{Env: &envtest.Quick{}, Log: slog.New(slog.DiscardHandler), Job: l.owner.Job, Subtask: i, Parallelism: 2, Epoch: l.owner.Epoch,
			NextCheckpoint: func() account.CheckpointID { return l.id }})
		if err != nil {
			l.t.Fatal(err)
		}
		r := account.Range{Split: splits[i].ID, Insert: "1", From: l.next[i], To: l.next[i] + n}
		b := changelog.NewBatch(changelog.Schema{{Name: "id", Type: types.New(types.BigInt)}, {Name: "v", Type: types.String_}, {Name: "dt", Type: types.String_}})
		b.Split = i
		for o := r.From; o < r.To; o++ {
			switch {
			case o%7 == 3:
				r.Filtered++
				continue
			case o%11 == 5:
				r.Null++
				continue
			case o%13 == 8:
				r.Gaps++
				continue
			}
			b.Cols[0].AppendInt64(o)
			b.Cols[1].AppendString(fmt.Sprint("value ", o))
			b.Cols[2].AppendString(fmt.Sprintf("2026-11-%02d", 1+o/8%3))
			b.Offsets = append(b.Offsets, o)
			b.Rows++
		}
		l.next[i] = r.To
		c.Ranges = append(c.Ranges, r)
		if err := w.Write(b, splits); err != nil {
			l.t.Fatal(err)
		}
		out, durable, err := w.Prepare(l.id)
		if err != nil {
			l.t.Fatal(err)
		}
		if durable != nil {
			if err := durable(); err != nil {
				l.t.Fatal(err)
			}
		}
		for _, x := range out {
			x.File.Insert = "1"
			c.Files = append(c.Files, *x.File)
		}
		if err := w.Close(); err != nil {
			l.t.Fatal(err)
		}
	}
	return c
}

func (l *lake) commit(c account.Certificate) commit.Result {
	l.t.Helper()
	res, err := l.table.Commit(c, l.expect)
	if err != nil {
		l.t.Fatal(err)
	}
	l.expect = res.Certificate
	return res
}

// checkpoints commits n checkpoints of 40 offsets a split; the last one commits a partition.
func (l *lake) checkpoints(n int) {
	l.t.Helper()
	for i := range n {
		c := l.write(40)
		last := i == n-1
		if last {
			c.Partitions = []string{"dt=2026-11-02"}
		}
		res := l.commit(c)
		if last {
			if err := l.sink.(connector.FileTable).PartitionCommit().Commit("dt=2026-11-02", nil); err != nil {
				l.t.Fatal(err)
			}
			if err := l.table.PartitionsCommitted(res.Certificate, []string{"dt=2026-11-02"}); err != nil {
				l.t.Fatal(err)
			}
		}
	}
}

// standard is the table that damages are done to: two epochs, five checkpoints.
func standard(t *testing.T, format string, every int) *lake {
	l := newLake(t, format, every)
	l.checkpoints(3)
	l.begin(4)
	l.checkpoints(2)
	return l
}

func (l *lake) audit(o Options) *Report {
	l.t.Helper()
	r, err := Table(context.Background(), &envtest.Quick{}, local.New(), l.root, o)
	if err != nil {
		l.t.Fatal(err)
	}
	if o.Success == "" || o.Success == "_SUCCESS" {
		l.agree(r)
	}
	return r
}

// text is the report as people see it.
func text(r *Report) string {
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

func kinds(r *Report) []Kind {
	var out []Kind
	for _, p := range r.Problems {
		out = append(out, p.Kind)
	}
	for _, j := range r.Jobs {
		for _, p := range j.Problems {
			out = append(out, p.Kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// logDir is the folder of the log.
func (l *lake) logDir() string { return filepath.Join(l.root, "_staunch", l.job) }

func (l *lake) entry(n int64) string { return filepath.Join(l.logDir(), fmt.Sprintf("%d.staunch", n)) }

// numbers are the entries that stand in the folder.
func (l *lake) numbers() []int64 {
	l.t.Helper()
	dir, err := os.ReadDir(l.logDir())
	if err != nil {
		l.t.Fatal(err)
	}
	var out []int64
	for _, d := range dir {
		if n, err := strconv.ParseInt(strings.TrimSuffix(d.Name(), ".staunch"), 10, 64); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// kind and body of an entry, by hand.
func (l *lake) read(n int64) (kind, body string) {
	l.t.Helper()
	b, err := os.ReadFile(l.entry(n))
	if err != nil {
		l.t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(b), "\n")
	return strings.Fields(head)[2], strings.TrimSuffix(rest, "\n")
}

// nth gives the number of the i-th entry of a kind, from 0; negative counts from the end.
func (l *lake) nth(kind string, i int) int64 {
	l.t.Helper()
	var all []int64
	for _, n := range l.numbers() {
		if k, _ := l.read(n); k == kind {
			all = append(all, n)
		}
	}
	if i < 0 {
		i += len(all)
	}
	if i < 0 || i >= len(all) {
		l.t.Fatalf("no entry %d of kind %s among %d", i, kind, len(all))
	}
	return all[i]
}

// put writes entry n with a header that fits its body, and gives its hash.
func (l *lake) put(n int64, kind, body string) string {
	l.t.Helper()
	sum := sha256.Sum256([]byte(body))
	text := fmt.Sprintf("staunch-log 1 %s %024d %x\n%s\n", kind, n, sum, body)
	if err := os.WriteFile(l.entry(n), []byte(text), 0o666); err != nil {
		l.t.Fatal(err)
	}
	l.at(append(l.places, l.entry(n))...)
	return hashOf(text)
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// change rewrites entry n with a fitting header, as one who knows the format would, but leaves the other entries as they are.
func (l *lake) change(n int64, f func(body string) string) (before, after string) {
	l.t.Helper()
	old, err := os.ReadFile(l.entry(n))
	if err != nil {
		l.t.Fatal(err)
	}
	kind, body := l.read(n)
	next := f(body)
	if next == body {
		l.t.Fatalf("entry %d is not changed by this", n)
	}
	return hashOf(string(old)), l.put(n, kind, next)
}

// forge rewrites a certificate and then every later entry, so that all hashes fit again.
func (l *lake) forge(n int64, f func(c *account.Certificate)) {
	l.t.Helper()
	defer l.at(append(l.places, l.entry(n))...)
	swap := map[string]string{}
	for _, m := range l.numbers() {
		if m < n {
			continue
		}
		_, body := l.read(m)
		next := body
		if m == n {
			var c account.Certificate
			l.parse(body, &c)
			f(&c)
			next = l.encode(&c)
		}
		for a, b := range swap {
			next = strings.ReplaceAll(next, a, b)
		}
		if next != body {
			before, after := l.change(m, func(string) string { return next })
			swap[before] = after
		}
	}
}

// earlier makes the i-th certificate one of a build before XXH128: files have SHA-256 alone.
func (l *lake) earlier(i int) {
	l.t.Helper()
	l.forge(l.nth(account.KindCertificate, i), func(c *account.Certificate) {
		for i := range c.Files {
			b, err := os.ReadFile(c.Files[i].Final)
			l.must(err)
			c.Files[i].Sums = account.Sums{SHA256: bothSums(b).SHA256}
		}
	})
}

func bothSums(b []byte) account.Sums {
	s := account.NewSummer(true)
	s.Write(b)
	return s.Sums()
}

func (l *lake) parse(body string, v any) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lake) encode(v any) string {
	l.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

// certificate reads the i-th certificate in the folder.
func (l *lake) certificate(i int) (n int64, c account.Certificate) {
	l.t.Helper()
	n = l.nth(account.KindCertificate, i)
	_, body := l.read(n)
	l.parse(body, &c)
	return n, c
}
