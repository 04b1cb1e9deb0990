package filesystem

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
	"staunch/fs"
	"staunch/types"
)

func TestNamesAndCommittable(t *testing.T) {
	b := newBench(t, stringKeys("dt", "hour"))
	w := b.writer()
	dt, hour := "2026-11-29", "14"
	b.write(w, b.batch(1, span(100, 110), func(int64) []*string { return []*string{&dt, &hour} }))
	files := b.prepare(w)
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	f := files[0]
	name := `part-` + Job8("orders") + `-2-7-3-0-[0-9a-f]{24}\.rows`
	if !regexp.MustCompile(`^/data/lake/_DUMP_TEMPORARY/cp-7/task-2/` + name + `\.pending$`).MatchString(f.Pending) {
		t.Error("pending:", f.Pending)
	}
	if !regexp.MustCompile(`^/data/lake/dt=2026-11-29/hour=14/` + name + `$`).MatchString(f.Final) {
		t.Error("final:", f.Final)
	}
	if pend, final := f.Pending[strings.LastIndex(f.Pending, "/"):], f.Final[strings.LastIndex(f.Final, "/"):]; pend != final+".pending" {
		t.Error("names differ:", pend, final)
	}
	content := b.store.files[f.Pending].b.Bytes()
	if f.Length != int64(len(content)) || f.Sums != account.SumsOf(content) || f.Rows != 10 || f.Attempt != "3.1" {
		t.Errorf("%+v", f)
	}
	if f.Partition != "dt=2026-11-29/hour=14" || *f.PartitionValues[0] != dt || *f.PartitionValues[1] != hour {
		t.Error("partition:", f.Partition, f.PartitionValues)
	}
	lines, footer := b.text(f)
	if lines[0] != "100|1-100" || len(lines) != 10 {
		t.Error("partition columns must not be in the file:", lines[0])
	}
	want := map[string]string{"staunch.job": "orders", "staunch.checkpoint": "7", "staunch.epoch": "3", "staunch.subtask": "2", "staunch.rows": "10",
		"staunch.table-schema": `{"columns":[{"name":"id","type":"BIGINT"},{"name":"v","type":"STRING"},{"name":"dt","type":"STRING"},` +
			`{"name":"hour","type":"STRING"}],"partition_keys":["dt","hour"]}`}
	for k, v := range want {
		if footer[k] != v {
			t.Errorf("footer %s = %q, expected %q", k, footer[k], v)
		}
	}
	var set account.Set
	if err := set.UnmarshalText([]byte(footer["staunch.offsets.events-1"])); err != nil || set.String() != "100..109" {
		t.Error("footer's offsets:", set, err)
	}
	if len(f.Offsets) != 1 || f.Offsets[0].Split != "events-1" || f.Offsets[0].Set.String() != "100..109" {
		t.Error("offsets:", f.Offsets)
	}
	if out, durable, err := w.Prepare(8); out != nil || durable != nil || err != nil {
		t.Error("an empty checkpoint has", out, err)
	}
}

// TestChecksum: SHA-256 is there when the table wants it; TestReplace holds replacements to the same.
func TestChecksum(t *testing.T) {
	b := newBench(t, nil, keyChecksum, checksumSHA256)
	w := b.writer()
	b.write(w, b.batch(0, span(0, 10), func(int64) []*string { return nil }))
	f := b.prepare(w)[0]
	sum := account.NewSummer(true)
	sum.Write(b.store.files[f.Pending].b.Bytes())
	if f.Sums != sum.Sums() || len(f.SHA256) != 64 {
		t.Errorf("%+v, not %+v", f.Sums, sum.Sums())
	}
	table := tableOf(b.store, nil, keyChecksum, "md5")
	if _, err := Factory.Sink(table); err == nil || !strings.Contains(err.Error(), "md5") {
		t.Error(err)
	}
}

func TestUnpartitioned(t *testing.T) {
	b := newBench(t, nil)
	w := b.writer()
	b.write(w, b.batch(0, span(0, 3), nil))
	b.write(w, b.batch(1, span(5, 7), nil))
	files := b.prepare(w)
	if len(files) != 1 || files[0].Partition != "" || files[0].PartitionValues != nil || len(files[0].Offsets) != 2 ||
		!strings.HasPrefix(files[0].Final, "/data/lake/part-") {
		t.Fatalf("%+v", files)
	}
}

func TestRowsWithoutPositions(t *testing.T) {
	b := newBench(t, nil)
	w := b.writer()
	batch := b.batch(0, span(0, 3), nil)
	batch.Split, batch.Offsets = changelog.NoSplit, nil
	b.write(w, batch)
	if f := b.prepare(w)[0]; f.Rows != 3 || f.Offsets != nil {
		t.Errorf("%+v", f)
	}
}

func TestUpdatesAreRefused(t *testing.T) {
	b := newBench(t, nil)
	batch := b.batch(0, span(0, 3), nil)
	batch.Kinds = []changelog.RowKind{changelog.Insert, changelog.Insert, changelog.Delete}
	if err := b.writer().Write(batch, splits); fault.ClassOf(err) != fault.User {
		t.Error(err)
	}
}

// TestRolling moves a clock past each limit.
func TestRolling(t *testing.T) {
	open := func(w *writer) int { return len(w.open) }
	t.Run("file-size", func(t *testing.T) {
		b := newBench(t, stringKeys("p"), keyFileSize, "100 b")
		w := b.writer()
		key := func(int64) []*string { return value("a") }
		b.write(w, b.batch(0, span(0, 5), key)) // 5 rows of 6 bytes
		if open(w) != 1 {
			t.Fatal("closed too early")
		}
		b.write(w, b.batch(0, span(5, 40), key))
		if open(w) != 0 || len(w.done) != 1 {
			t.Fatal("not closed by size")
		}
		b.write(w, b.batch(0, span(40, 41), key))
		if files := b.prepare(w); len(files) != 2 || files[0].Rows != 40 || files[1].Rows != 1 || files[0].Final == files[1].Final {
			t.Errorf("%+v", files)
		}
	})
	interval := func(name string, opts []string, step time.Duration, steps int) {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, stringKeys("p"), opts...)
			w := b.writer()
			for i := range steps {
				b.write(w, b.batch(0, span(int64(i), int64(i)+1), func(int64) []*string { return value("a") }))
				b.clock.advance(step)
				if err := w.Tick(b.clock.now); err != nil {
					t.Fatal(err)
				}
				if want := 1; i < steps-1 && open(w) != want {
					t.Fatalf("step %d: %d files open", i, open(w))
				}
			}
			if open(w) != 0 {
				t.Error("still open")
			}
		})
	}
	interval("rollover-interval", []string{keyRollover, "10 s", keyInactivity, "5 s", keyCheck, "1 s"}, 2*time.Second, 5)
	interval("inactivity-interval", []string{keyRollover, "1 h", keyInactivity, "5 s", keyCheck, "1 s"}, 5*time.Second, 1)
	interval("check-interval", []string{keyRollover, "1 s", keyInactivity, "1 s", keyCheck, "10 s"}, 2*time.Second, 5)
	t.Run("age alone", func(t *testing.T) {
		b := newBench(t, nil)
		w := b.writer()
		b.write(w, b.batch(0, span(0, 1), nil))
		if err := w.Tick(b.clock.now.Add(29 * time.Minute)); err != nil || open(w) != 1 {
			t.Error("closed before its time", err)
		}
	})
}

func TestFlushLargest(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	w := b.writer()
	b.write(w, b.batch(0, span(0, 10), func(int64) []*string { return value("small") }))
	b.write(w, b.batch(0, span(10, 2000), func(int64) []*string { return value("large") }))
	before := w.SizeBytes()
	for _, want := range []string{"p=large", "p=small"} {
		if ok, err := w.FlushLargest(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if got := w.done[len(w.done)-1].File.Partition; got != want {
			t.Errorf("closed %s, expected %s", got, want)
		}
	}
	if ok, err := w.FlushLargest(); ok || err != nil {
		t.Error("nothing is open", err)
	}
	if after := w.SizeBytes(); after >= before {
		t.Errorf("memory went from %d to %d", before, after)
	}
	b.write(w, b.batch(0, span(2000, 2001), func(int64) []*string { return value("large") }))
	if files := b.prepare(w); len(files) != 3 {
		t.Errorf("%d files", len(files))
	}
}

// TestExactSets checks, for any rows in any partitions with any gaps and any rolling, that the files of a checkpoint hold exactly the offsets
// that were written, once each, and that each file holds the rows that its set names.
func TestExactSets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, stringKeys("p"), keyFileSize, rapid.SampledFrom([]string{"30 b", "500 b", "1 mb"}).Draw(rt, "size"))
		w := b.writer()
		kinds := rapid.IntRange(1, 6).Draw(rt, "partitions")
		burst := rapid.Int64Range(1, 20).Draw(rt, "burst")
		next := [3]int64{0, 1000, 1 << 40}
		for range rapid.IntRange(1, 3).Draw(rt, "checkpoints") {
			var written [3]account.Set
			var total int64
			for range rapid.IntRange(0, 8).Draw(rt, "batches") {
				split := rapid.IntRange(0, 2).Draw(rt, "split")
				var offsets []int64
				for range rapid.IntRange(0, 60).Draw(rt, "rows") {
					next[split] += rapid.SampledFrom([]int64{1, 1, 1, 1, 2, 50}).Draw(rt, "step")
					offsets = append(offsets, next[split])
				}
				b.write(w, b.batch(split, offsets, func(o int64) []*string {
					if k := o / burst % int64(kinds); k > 0 {
						return value(fmt.Sprint("p", k))
					}
					return []*string{nil}
				}))
				written[split].AddAll(offsets)
				total += int64(len(offsets))
				if rapid.Bool().Draw(rt, "flush") {
					if _, err := w.FlushLargest(); err != nil {
						rt.Fatal(err)
					}
				}
			}
			checkSets(rt, b, b.prepare(w), written, total)
		}
	})
}

func checkSets(t *rapid.T, b *bench, files []*account.File, written [3]account.Set, total int64) {
	var held [3]account.Set
	for _, f := range files {
		lines, _ := b.text(f)
		var expect []string
		for _, o := range f.Offsets {
			split := slices.IndexFunc(splits, func(s connector.Split) bool { return s.ID == o.Split })
			if r, twice := held[split].Overlap(o.Set); twice {
				t.Fatalf("offset %d is in two files", r.From)
			}
			held[split].Union(o.Set)
			for _, r := range o.Set.Runs {
				for off := r.From; off < r.To; off++ {
					expect = append(expect, fmt.Sprintf("%d|%d-%d", off, split, off))
				}
			}
		}
		got := slices.Clone(lines)
		slices.Sort(got)
		slices.Sort(expect)
		if !slices.Equal(got, expect) || int64(len(got)) != f.Rows {
			t.Fatalf("%s: rows %d of %d are not its offsets'", f.Final, len(got), f.Rows)
		}
		total -= f.Rows
	}
	for i := range held {
		if held[i].String() != written[i].String() {
			t.Fatalf("split %d: files hold %s, written were %s", i, held[i], written[i])
		}
	}
	if total != 0 {
		t.Fatalf("rows differ by %d", total)
	}
}

// TestNothingIsDeletedOrReopened: a new attempt finds the files of a former one and does not touch them, and in all its life a writer makes no
// delete, and each path is created once (case 01).
func TestNothingIsDeletedOrReopened(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	former := b.writer()
	b.write(former, b.batch(0, span(0, 20_000), func(o int64) []*string { return value(fmt.Sprint(o / 10_000)) }))
	var dirty []string
	for p, f := range b.store.files {
		if strings.HasSuffix(p, ".pending") {
			dirty = append(dirty, p)
			f.b.WriteString("half a row")
		}
	}
	if len(dirty) != 2 {
		t.Fatalf("%d files were begun", len(dirty))
	}
	content := map[string]string{}
	for _, p := range dirty {
		content[p] = b.store.files[p].b.String()
	}
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	b.ctx.Epoch++
	w := b.writer()
	b.write(w, b.batch(0, span(0, 20_000), func(o int64) []*string { return value(fmt.Sprint(o / 10_000)) }))
	files := b.prepare(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	for _, p := range dirty {
		if b.store.files[p].b.String() != content[p] {
			t.Error("changed:", p)
		}
		if slices.ContainsFunc(files, func(f *account.File) bool { return f.Pending == p }) {
			t.Error("taken over:", p)
		}
	}
	created := map[string]bool{}
	for _, c := range b.store.calls {
		op, p, _ := strings.Cut(c, " ")
		switch {
		case strings.HasPrefix(op, "delete") && !strings.Contains(p, "/probe-"): // a probe removes its own two files by exact name
			t.Error("a writer called", c)
		case op == "rename" && !strings.Contains(p, "/probe-"):
			t.Error("a writer called", c)
		case op == "create" && created[p]:
			t.Error("created twice:", p)
		case op == "create":
			created[p] = true
		}
	}
}

func TestAbandonedWriterClosesHandles(t *testing.T) {
	b := newBench(t, stringKeys("p"), keyFileSize, "1 kb")
	w := b.writer()
	b.write(w, b.batch(0, span(0, 20_000), func(o int64) []*string { return value(fmt.Sprint(o / 9_000)) }))
	if b.store.handles == 0 {
		t.Fatal("nothing is open")
	}
	if err := w.Close(); err != nil || b.store.handles != 0 {
		t.Error("open:", b.store.handles, err)
	}
}

// TestManyPartitions has 5,000 partitions in one checkpoint, in turn, and looks at memory and handles (case 23, many files).
func TestManyPartitions(t *testing.T) {
	const n = 5000
	b := newBench(t, stringKeys("dt"))
	w := b.writer()
	most := int64(0)
	for round := range int64(4) {
		b.write(w, b.batch(0, span(round*n, (round+1)*n), func(o int64) []*string { return value(fmt.Sprint("day-", o%n)) }))
		most = max(most, w.SizeBytes())
	}
	if len(w.open) != n {
		t.Errorf("%d partitions are open", len(w.open))
	}
	if most > 20<<20 {
		t.Errorf("%d bytes for %d small files", most, n)
	}
	files := b.prepare(w)
	if len(files) != n {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		if f.Rows != 4 {
			t.Fatalf("%s has %d rows", f.Final, f.Rows)
		}
	}
	if b.store.most > maxHandles+maxUnsynced {
		t.Errorf("%d handles at once", b.store.most)
	}
	if len(w.parts.byKey) != 0 || len(w.open) != 0 {
		t.Error("partitions are kept after the checkpoint")
	}
}

// TestHandlesAreBounded writes so much into each of many partitions that all have a file in the store.
func TestHandlesAreBounded(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	w := b.writer()
	long := strings.Repeat("x", bufferSize)
	for p := range int64(maxHandles + 100) {
		batch := changelog.NewBatch(changelog.Schema{{Type: types.New(types.BigInt)}, {Type: types.String_}, {Type: types.String_}})
		batch.Split, batch.Rows, batch.Offsets = 0, 1, []int64{p}
		batch.Cols[0].AppendInt64(p)
		batch.Cols[1].AppendString(long)
		batch.Cols[2].AppendString(fmt.Sprint(p))
		b.write(w, batch)
	}
	if w.handles > maxHandles || len(w.done) != 100 {
		t.Errorf("%d handles, %d closed", w.handles, len(w.done))
	}
	if files := b.prepare(w); len(files) != maxHandles+100 {
		t.Errorf("%d files", len(files))
	}
}

func TestOutageBeforeFirstByteIsWaitedFor(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	w := b.writer()
	failing := 30
	b.store.fail = func(op, p string) error {
		if (op == "create" || op == "mkdir" || op == "stat") && failing > 0 {
			failing--
			return fs.ErrUnavailable
		}
		return nil
	}
	b.write(w, b.batch(0, span(0, 30_000), func(int64) []*string { return value("a") }))
	if failing != 0 {
		t.Error("the outage was not met")
	}
	if files := b.prepare(w); len(files) != 1 || files[0].Rows != 30_000 {
		t.Errorf("%+v", files)
	}
}

func TestOutageThatLasts(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		b := newBench(t, stringKeys("p"))
		b.ctx.Stopped = func() bool { return stopped }
		w := b.writer()
		start := b.clock.now
		b.store.fail = func(op, p string) error {
			if op == "create" {
				return fs.ErrUnavailable
			}
			return nil
		}
		err := w.Write(b.batch(0, span(0, 30_000), func(int64) []*string { return value("a") }), splits)
		if fault.ClassOf(err) != fault.Outage || !errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if waited := b.clock.now.Sub(start); stopped && waited > maxPause || !stopped && (waited < maxWait || waited > maxWait+maxPause) {
			t.Errorf("stopped %v: waited %v", stopped, waited)
		}
	}
}

func TestOutageInsideFile(t *testing.T) {
	b := newBench(t, nil)
	w := b.writer()
	b.write(w, b.batch(0, span(0, 30_000), nil))
	b.store.fail = func(op, p string) error {
		if op == "write" {
			return fs.ErrUnavailable
		}
		return nil
	}
	start := b.clock.now
	err := w.Write(b.batch(0, span(30_000, 60_000), nil), splits)
	if fault.ClassOf(err) != fault.Outage || b.clock.now != start {
		t.Errorf("%v after %v", err, b.clock.now.Sub(start))
	}
	// The failure is final for the file.
	b.store.fail = nil
	if _, _, err := w.Prepare(7); fault.ClassOf(err) != fault.Outage {
		t.Error("the file with a hole was handed over:", err)
	}
}

// TestLostReplies: the store makes the file and the answer is lost; another name is taken and no row is doubled.
func TestLostReplies(t *testing.T) {
	b := newBench(t, nil)
	w := b.writer()
	lost := 0
	b.store.fail = func(op, p string) error {
		if op == "create" && lost < 2 {
			lost++
			b.store.files[p] = &memoryFile{m: b.store, path: p}
			return []error{errors.New("connection reset"), fs.ErrUnavailable}[lost-1]
		}
		return nil
	}
	b.write(w, b.batch(0, span(0, 10), nil))
	files := b.prepare(w)
	if lost != 2 || len(files) != 1 {
		t.Fatal(lost, files)
	}
	if lines, _ := b.text(files[0]); len(lines) != 10 {
		t.Error(lines)
	}
}

func TestFolderRemovedBetween(t *testing.T) {
	b := newBench(t, nil)
	w := b.writer()
	b.write(w, b.batch(0, span(0, 3), nil))
	b.prepare(w)
	clear(b.store.dirs)
	b.store.dirs["/"] = true
	b.write(w, b.batch(0, span(3, 6), nil))
	b.prepare(w) // checks that all folders above are durable again
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		op    string
		class fault.Class
		text  []string
	}{
		{"no space at write", fs.ErrNoSpace, "write", fault.Transient, []string{"/data/lake/_DUMP_TEMPORARY/cp-7/", "no space", "make room"}},
		{"no space at create", fs.ErrNoSpace, "create", fault.Transient, []string{"create /data/lake", "no space"}},
		{"permission", iofs.ErrPermission, "create", fault.Transient, []string{"create /data/lake", "permission"}},
		{"unknown at create", errors.New("strange answer"), "create", fault.Transient, []string{"strange answer"}},
		{"folder", iofs.ErrPermission, "mkdir", fault.Transient, []string{"make folder /data/lake/_DUMP_TEMPORARY/cp-7/task-2", "permission"}},
		{"name", fs.ErrNameTooLong, "create", fault.User, []string{"bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			w := b.writer()
			calls := 0
			b.store.fail = func(op, p string) error {
				if calls++; calls > 50 {
					t.Fatal("it loops")
				}
				if op == c.op {
					return c.err
				}
				return nil
			}
			err := w.Write(b.batch(0, span(0, 30_000), nil), splits)
			if fault.ClassOf(err) != c.class || !errors.Is(err, c.err) {
				t.Fatalf("class %v: %v", fault.ClassOf(err), err)
			}
			for _, want := range c.text {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
	for _, op := range []string{"sync", "close", "syncdir"} {
		t.Run("durable "+op, func(t *testing.T) {
			b := newBench(t, nil)
			w := b.writer()
			b.write(w, b.batch(0, span(0, 10), nil))
			b.store.fail = func(o, p string) error {
				if o == op {
					return fs.ErrNoSpace
				}
				return nil
			}
			_, durable, err := w.Prepare(7)
			if err != nil {
				t.Fatal(err)
			}
			if err := durable(); fault.ClassOf(err) != fault.Transient || !errors.Is(err, fs.ErrNoSpace) || b.store.handles != 0 {
				t.Error(err, b.store.handles)
			}
		})
	}
}

// TestManyDurableAtOnce: files are made durable side by side; each of them is, and after an error in one no handle is left.
func TestManyDurableAtOnce(t *testing.T) {
	for _, failing := range []int32{-1, 1, 20, 60} {
		b := newBench(t, stringKeys("p"))
		w := b.writer()
		b.write(w, b.batch(0, span(0, 60), func(i int64) []*string { return value(fmt.Sprint("v", i)) }))
		var syncs atomic.Int32
		b.store.fail = func(op, _ string) error {
			if op == "sync" && syncs.Add(1) == failing {
				return fs.ErrUnavailable
			}
			return nil
		}
		out, durable, err := w.Prepare(7)
		if err != nil || len(out) != 60 {
			t.Fatal(len(out), err)
		}
		err = durable()
		if failing < 0 && (err != nil || syncs.Load() != 60) || failing > 0 && (fault.ClassOf(err) != fault.Outage || !errors.Is(err, fs.ErrUnavailable)) {
			t.Errorf("failure at %d: %v after %d", failing, err, syncs.Load())
		}
		if b.store.handles != 0 {
			t.Errorf("failure at %d: %d handles are open", failing, b.store.handles)
		}
	}
}

func TestValueTooLong(t *testing.T) {
	long := strings.Repeat("n", 300)
	check := func(t *testing.T, err error) {
		t.Helper()
		if fault.ClassOf(err) != fault.User || !errors.Is(err, fs.ErrNameTooLong) {
			t.Fatalf("%v", err)
		}
		for _, want := range []string{"'p'", "nnnnnnn", "300 bytes", "/data/lake", "SUBSTRING"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in: %v", want, err)
			}
		}
		if strings.Contains(err.Error(), long) {
			t.Error("the whole value is in the message")
		}
	}
	t.Run("by rule", func(t *testing.T) {
		b := newBench(t, stringKeys("p"))
		check(t, b.writer().Write(b.batch(0, span(0, 1), func(int64) []*string { return value(long) }), splits))
	})
	t.Run("by the store", func(t *testing.T) {
		b := newBench(t, stringKeys("q", "p"))
		b.store.fail = func(op, p string) error {
			if op == "stat" && strings.Contains(p, "/p=") {
				return fs.ErrNameTooLong
			}
			return nil
		}
		short := strings.Repeat("n", 200)
		err := b.writer().Write(b.batch(0, span(0, 1), func(int64) []*string { return []*string{&short, &short} }), splits)
		if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "'p' has the value") || !strings.Contains(err.Error(), "200 bytes") {
			t.Errorf("%v", err)
		}
	})
	t.Run("the path", func(t *testing.T) {
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("k", i))
		}
		b := newBench(t, stringKeys(names...))
		v := strings.Repeat("n", 240)
		err := b.writer().Write(b.batch(0, span(0, 1), func(int64) []*string {
			return slices.Repeat([]*string{&v}, 20)
		}), splits)
		if fault.ClassOf(err) != fault.User || !errors.Is(err, fs.ErrNameTooLong) {
			t.Errorf("%v", err)
		}
	})
}

func TestPlaceOfPartitionIsTaken(t *testing.T) {
	for name, make := range map[string]func(*memory){
		"symbolic link": func(m *memory) { m.links["/data/lake/p=evil"] = true },
		"a file":        func(m *memory) { m.files["/data/lake/p=evil"] = &memoryFile{m: m} },
	} {
		b := newBench(t, stringKeys("p", "q"))
		make(b.store)
		err := b.writer().Write(b.batch(0, span(0, 1), func(int64) []*string { return append(value("evil"), value("x")...) }), splits)
		if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "/data/lake/p=evil") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParallelism(t *testing.T) {
	b := newBench(t, nil, keyParallelism, "4")
	b.writer()
	b = newBench(t, nil, keyParallelism, "2")
	if _, err := b.sink.NewWriter(b.ctx); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "parallelism 4") {
		t.Error(err)
	}
}

func BenchmarkWrite(bm *testing.B) {
	b := newBench(bm, stringKeys("dt", "hour"), keyFileSize, "1 gb")
	w := b.writer()
	dt, hour := "2026-11-29", "14"
	batch := b.batch(0, span(0, 4096), func(int64) []*string { return []*string{&dt, &hour} })
	bm.ReportAllocs()
	for bm.Loop() {
		b.write(w, batch)
		for i := range batch.Offsets {
			batch.Offsets[i] += 4096
		}
		if len(b.store.files) > 0 {
			for _, f := range b.store.files {
				f.b.Reset()
			}
		}
		b.store.calls = b.store.calls[:0]
	}
	bm.ReportMetric(float64(bm.Elapsed().Nanoseconds())/float64(bm.N*4096), "ns/row")
}

// BenchmarkRuns is the cost of finding runs and partitions alone, with long runs and with two alternating partitions.
func BenchmarkRuns(bm *testing.B) {
	for _, length := range []int64{4096, 1} {
		bm.Run(fmt.Sprint("length ", length), func(bm *testing.B) {
			b := newBench(bm, stringKeys("dt", "hour"))
			dt := "2026-11-29"
			batch := b.batch(0, span(0, 4096), func(o int64) []*string {
				hour := fmt.Sprint(10 + o/length%2)
				return []*string{&dt, &hour}
			})
			k := newLookup(&b.sink.layout)
			var found runs
			bm.ReportAllocs()
			for bm.Loop() {
				found.reset(&b.sink.layout)
				for from := 0; from < batch.Rows; {
					to := found.end(&b.sink.layout, batch.Cols, from, batch.Rows)
					k.find(batch.Cols, from)
					from = to
				}
			}
			bm.ReportMetric(float64(bm.Elapsed().Nanoseconds())/float64(bm.N*4096), "ns/row")
		})
	}
}

func BenchmarkHash(bm *testing.B) {
	sum, chunk := account.NewSummer(false), make([]byte, bufferSize)
	bm.SetBytes(bufferSize)
	for bm.Loop() {
		sum.Write(chunk)
	}
}

// TestDurableRunsBesideTheWriter: the writer goes on with the next checkpoint while the former is made durable (run with -race).
func TestDurableRunsBesideTheWriter(t *testing.T) {
	b := newBench(t, stringKeys("p"), keyFileSize, "1 kb")
	w := b.writer()
	key := func(o int64) []*string { return value(fmt.Sprint(o % 7)) }
	done := make(chan error)
	running := 0
	total := int64(0)
	for round := range int64(5) {
		b.write(w, b.batch(0, span(round*1000, (round+1)*1000), key))
		out, durable, err := w.Prepare(b.next)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out {
			total += c.File.Rows
		}
		b.next++
		running++
		go func() { done <- durable() }()
	}
	for range running {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if total != 5000 || b.store.handles != 0 {
		t.Errorf("%d rows, %d handles", total, b.store.handles)
	}
}
