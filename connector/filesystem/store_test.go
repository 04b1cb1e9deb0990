package filesystem

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"staunch/account"
	"staunch/connector"
	"staunch/format"
	formatjson "staunch/format/json"
	"staunch/format/parquet"
	"staunch/fs"
	"staunch/fs/mem"
)

// remote resolves every path to one client of a store with a remote one's habits.
type remote struct{ *mem.Client }

func (r remote) Resolve(uri string) (fs.FS, string, error) { return r.Client, uri, nil }

// openRemote makes a sink on the client; formats are the real ones.
func openRemote(t testing.TB, c *mem.Client, name string, more ...string) *sink {
	t.Helper()
	table := tableOf(remote{c}, stringKeys("p"), append([]string{keyFormat, name}, more...)...)
	table.Formats = func(name string) (format.Factory, bool) {
		switch name {
		case "json":
			return formatjson.Factory, true
		case "parquet":
			return parquet.Factory, true
		}
		return format.Factory{}, false
	}
	s, err := Factory.Sink(table)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*sink)
}

// TestUnreliableStore runs checkpoints against a store that loses requests and answers before a file's first byte and carries out calls
// again later. Afterwards the power fails: what was handed over is there, byte for byte and row for row.
func TestUnreliableStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := mem.New()
		store.RenameMissingParent = rapid.Bool().Draw(rt, "rename2")
		chance := rapid.IntRange(0, 60).Draw(rt, "chance")
		dice := newDice(rt)
		store.Fault = func(_ string, op mem.Op) mem.Effect {
			switch op.Kind {
			case mem.Create, mem.Mkdir, mem.Stat, mem.SyncDir, mem.Rename:
				if dice.roll(100) < chance {
					return mem.Effect{Kind: []mem.EffectKind{mem.Fail, mem.Lost}[dice.roll(2)]}
				}
			case mem.Delete, mem.DeleteDir:
				if !strings.Contains(op.Path, "/probe-") { // a probe removes its own two files by exact name
					rt.Errorf("a writer called %s", op)
				}
			}
			return mem.Effect{}
		}
		clock := &clock{now: time.UnixMilli(1_700_000_000_000).UTC()}
		next := account.CheckpointID(1)
		ctx := connector.Context{Env: clock, Log: slog.New(slog.DiscardHandler), Job: "orders", Parallelism: 2, Epoch: 1,
			NextCheckpoint: func() account.CheckpointID { return next }}
		s := openRemote(t, store.Client("a"), "json", keyFileSize, rapid.SampledFrom([]string{"1 kb", "1 mb"}).Draw(rt, "size"))
		var writers []*writer
		for subtask := range 2 {
			ctx.Subtask = subtask
			w, err := s.NewWriter(ctx)
			if err != nil {
				rt.Fatal(err)
			}
			writers = append(writers, w.(*writer))
		}
		var files []*account.File
		b := &bench{t: t, sink: s}
		for offset := int64(0); next < 4; next++ {
			for _, w := range writers {
				for range rapid.IntRange(0, 3).Draw(rt, "batches") {
					n := rapid.Int64Range(1, 200).Draw(rt, "rows")
					batch := b.batch(w.subtask, span(offset, offset+n), func(o int64) []*string { return value(fmt.Sprint(o / 50 % 3)) })
					if err := w.Write(batch, splits); err != nil {
						rt.Fatal(err)
					}
					offset += n
				}
				out, durable, err := w.Prepare(next)
				if err != nil {
					rt.Fatal(err)
				}
				if durable != nil {
					if err := durable(); err != nil {
						rt.Fatal(err)
					}
				}
				for _, c := range out {
					files = append(files, c.File)
				}
			}
		}
		store.Fault = nil
		for range 20 {
			if n := store.LateCount(); n > 0 {
				_ = store.Repeat(dice.roll(n)) // whatever it answers, nobody hears it
			}
		}
		store.PowerCut(func() bool { return dice.roll(2) == 0 })
		checkFiles(rt, store.Client("after"), files)
	})
}

// dice draws one seed and goes on from it, so that the number of draws is no part of the example.
type dice struct{ state uint64 }

func newDice(t *rapid.T) *dice { return &dice{rapid.Uint64().Draw(t, "seed")} }

func (d *dice) roll(n int) int {
	d.state = d.state*6364136223846793005 + 1442695040888963407
	return int(d.state>>33) % n
}

// checkFiles reads the pending files as JSON and compares length, checksum and rows with what was recorded.
func checkFiles(t *rapid.T, store fs.FS, files []*account.File) {
	var held [3]account.Set
	for _, f := range files {
		content, err := fs.ReadFile(store, f.Pending)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(content)) != f.Length || account.SumsOf(content) != f.Sums {
			t.Fatalf("%s: %d bytes of %d", f.Pending, len(content), f.Length)
		}
		var rows account.Set
		n := int64(0)
		for line := range strings.Lines(string(content)) {
			var row struct {
				ID int64   `json:"id"`
				P  *string `json:"p"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil || row.P != nil {
				t.Fatalf("%s: %v", line, err)
			}
			rows.Add(row.ID)
			n++
		}
		if n != f.Rows || len(f.Offsets) != 1 || !slices.Equal(rows.Runs, f.Offsets[0].Set.Runs) {
			t.Fatalf("%s: holds %v, recorded %v", f.Pending, rows, f.Offsets)
		}
		split := slices.IndexFunc(splits, func(s connector.Split) bool { return s.ID == f.Offsets[0].Split })
		if r, twice := held[split].Overlap(rows); twice {
			t.Fatalf("offset %d twice", r.From)
		}
		held[split].Union(rows)
	}
}

// TestParquetFooter: the footer tells by itself what the file holds, and only data files end in .parquet.
func TestParquetFooter(t *testing.T) {
	store := mem.New()
	s := openRemote(t, store.Client("a"), "parquet")
	ctx := connector.Context{Env: &clock{now: time.UnixMilli(1_700_000_000_000).UTC()}, Job: "orders", Parallelism: 1, Epoch: 1,
		NextCheckpoint: func() account.CheckpointID { return 5 }}
	opened, err := s.NewWriter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, sink: s}
	if err := opened.Write(b.batch(0, span(0, 20_000), func(o int64) []*string { return value(fmt.Sprint(o % 2)) }), splits); err != nil {
		t.Fatal(err)
	}
	out, durable, err := opened.Prepare(5)
	if err != nil || len(out) != 2 {
		t.Fatal(len(out), err)
	}
	if err := durable(); err != nil {
		t.Fatal(err)
	}
	for _, c := range out {
		if s.Extension() != "parquet" || !strings.HasSuffix(c.File.Final, ".parquet") || strings.HasSuffix(c.File.Final, "..parquet") {
			t.Error(s.Extension(), c.File.Final)
		}
		content, err := fs.ReadFile(store.Client("b"), c.File.Pending)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.File.Offsets[0].Set.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"PAR1", "staunch.job", "orders", "staunch.offsets.events-0", string(text), "staunch.table-schema"} {
			if !strings.Contains(string(content), want) {
				t.Errorf("no %q in the file", want)
			}
		}
	}
	for _, line := range store.Tree() {
		if strings.HasSuffix(line, ".parquet") {
			t.Error("a reader of **/*.parquet would take", line)
		}
	}
}

// BenchmarkFormats writes batches of one partition through the real formats.
func BenchmarkFormats(bm *testing.B) {
	for _, name := range []string{"json", "parquet"} {
		bm.Run(name, func(bm *testing.B) {
			store := mem.New()
			s := openRemote(bm, store.Client("a"), name, keyFileSize, "1 gb")
			next := account.CheckpointID(1)
			ctx := connector.Context{Env: &clock{now: time.UnixMilli(1_700_000_000_000).UTC()}, Job: "orders", Parallelism: 1, Epoch: 1,
				NextCheckpoint: func() account.CheckpointID { return next }}
			opened, err := s.NewWriter(ctx)
			if err != nil {
				bm.Fatal(err)
			}
			b := &bench{t: bm, sink: s}
			batch := b.batch(0, span(0, 4096), func(int64) []*string { return value("x") })
			bm.ReportAllocs()
			for bm.Loop() {
				if err := opened.Write(batch, splits); err != nil {
					bm.Fatal(err)
				}
				for i := range batch.Offsets {
					batch.Offsets[i] += 4096
				}
				if batch.Offsets[0]%(1<<20) == 0 {
					if _, _, err := opened.Prepare(next); err != nil {
						bm.Fatal(err)
					}
					store = mem.New()
				}
			}
			bm.ReportMetric(float64(bm.Elapsed().Nanoseconds())/float64(bm.N*4096), "ns/row")
		})
	}
}
