package parquet

import (
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"golang.org/x/sys/unix"

	"staunch/changelog"
	"staunch/format"
	"staunch/types"
)

// lake are the columns of the benchmark's job b without its partition columns.
var lake = []format.Field{{Name: "user_id", Type: types.New(types.BigInt)}, {Name: "item_id", Type: types.New(types.BigInt)},
	{Name: "category_id", Type: types.New(types.Int)}, {Name: "action", Type: types.String_}, {Name: "amount", Type: types.NewDecimal(10, 2)},
	{Name: "ts", Type: types.NewTimestamp(3)}, {Name: "device", Type: types.String_}, {Name: "url", Type: types.String_},
	{Name: "part", Type: types.New(types.Int)}, {Name: "seq", Type: types.New(types.BigInt)}}

// lakeColumns makes rows as test/peer/gen_events does.
func lakeColumns(n int) []*changelog.Column {
	r := rand.New(rand.NewPCG(42, 0))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	cols := make([]*changelog.Column, len(lake))
	for i, f := range lake {
		cols[i] = changelog.NewColumn(f.Type)
	}
	for i := range n {
		item, cat := r.Int64N(50_000_000)+1, r.Int64N(9000)+1000
		cols[0].AppendInt64(r.Int64N(20_000_000) + 1)
		cols[1].AppendInt64(item)
		cols[2].AppendInt32(int32(cat))
		cols[3].AppendString(pick("page_view", "page_view", "page_view", "page_view", "click", "click", "add_to_cart", "favorite", "buy", "refund"))
		cols[4].AppendDecimal(decimal128.FromI64(r.Int64N(500_000)))
		cols[5].AppendInt64(1_767_225_600_000 + int64(i)*9 - r.Int64N(2000))
		cols[6].AppendString(pick("android", "ios", "web", "mini_program", "tablet"))
		cols[7].AppendString("https://shop.example.com/item/" + strconv.FormatInt(item, 10) + "?ref=" + pick("home", "search", "recommend", "campaign_spring", "cart") + "&c=" + strconv.FormatInt(cat, 10))
		cols[8].AppendInt32(3)
		cols[9].AppendInt64(int64(i))
	}
	return cols
}

// cpu is what the process has used in nanoseconds: on a busy machine the only figure that holds.
func cpu() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkWrite(b *testing.B) {
	const rows = 200_000
	cols := lakeColumns(rows)
	for _, options := range [][]string{{"compression=SNAPPY"}, {"compression=UNCOMPRESSED"}, {"compression=ZSTD", "compression.codec.zstd.level=1"},
		{"compression=SNAPPY", "utc-timezone=true", "write.int64.timestamp=true"}, {"compression=SNAPPY", "enable.dictionary=false"}} {
		b.Run(options[0]+strconv.Itoa(len(options)), func(b *testing.B) {
			f, err := Factory.FileWriter(params(lake, options...))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			began := cpu()
			written := 0
			var size int64
			for written < b.N {
				w, err := f.Open(io.Discard)
				if err != nil {
					b.Fatal(err)
				}
				for from := 0; from < rows && written < b.N; from += 1000 {
					if err := w.Write(cols, from, from+1000); err != nil {
						b.Fatal(err)
					}
					written += 1000
				}
				if err := w.Finish(nil); err != nil {
					b.Fatal(err)
				}
				size += w.Size()
			}
			b.SetBytes(size / int64(b.N))
			b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(size)/float64(written), "B/row")
		})
	}
}

// heap is what is alive.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
