package json

import (
	"io"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"staunch/format"
	"staunch/types"
)

// events are the ten columns of the benchmark's records.
var events = []format.Field{{Name: "user_id", Type: types.New(types.BigInt)}, {Name: "item_id", Type: types.New(types.BigInt)},
	{Name: "category_id", Type: types.New(types.Int)}, {Name: "action", Type: types.String_}, {Name: "amount", Type: types.NewDecimal(10, 2)},
	{Name: "ts", Type: types.NewTimestamp(3)}, {Name: "device", Type: types.String_}, {Name: "url", Type: types.String_},
	{Name: "part", Type: types.New(types.Int)}, {Name: "seq", Type: types.New(types.BigInt)}}

// eventRecords makes records like those of test/peer/gen_events.
func eventRecords(n int) [][]byte {
	r := rand.New(rand.NewPCG(42, 0))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	out := make([][]byte, n)
	for i := range out {
		item, cat := strconv.Itoa(r.IntN(50_000_000)+1), strconv.Itoa(r.IntN(9000)+1000)
		out[i] = []byte(`{"user_id":` + strconv.Itoa(r.IntN(20_000_000)+1) + `,"item_id":` + item + `,"category_id":` + cat +
			`,"action":"` + pick("page_view", "page_view", "click", "add_to_cart", "favorite", "buy") + `","amount":` +
			strconv.Itoa(r.IntN(5000)) + "." + strconv.Itoa(r.IntN(90)+10) + `,"ts":"` + at.Format("2006-01-02 15:04:05.000") +
			`","device":"` + pick("android", "ios", "web", "mini_program", "tablet") + `","url":"https://shop.example.com/item/` + item +
			"?ref=" + pick("home", "search", "recommend", "campaign_spring") + "&c=" + cat + `","part":` + strconv.Itoa(i&3) + `,"seq":` + strconv.Itoa(i) + `}`)
		at = at.Add(9 * time.Millisecond)
	}
	return out
}

// cpu is what the process has used in nanoseconds: on a busy machine the only figure that holds.
func cpu() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkDecode(b *testing.B) {
	records := eventRecords(40_000)
	run := func(b *testing.B, p format.Params) {
		d, cols := newTestDecoder(b, p)
		size := 0
		b.ReportAllocs()
		began := cpu()
		for i := range b.N {
			if i%8192 == 0 {
				for _, c := range cols {
					c.Reset()
				}
			}
			record := records[i%len(records)]
			size += len(record)
			if skip, err := d.Decode(record, cols); skip || err != nil {
				b.Fatal(skip, err)
			}
		}
		b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
		b.SetBytes(int64(size / b.N))
	}
	b.Run("all", func(b *testing.B) { run(b, params(events)) })
	b.Run("three", func(b *testing.B) {
		p := params(events)
		p.Wanted = []int{0, 5, 9}
		run(b, p)
	})
}

func BenchmarkEncode(b *testing.B) {
	p := params(events)
	d, cols := newTestDecoder(b, p)
	const rows = 8192
	for _, r := range eventRecords(rows) {
		if _, err := d.Decode(r, cols); err != nil {
			b.Fatal(err)
		}
	}
	f, err := Factory.FileWriter(p)
	if err != nil {
		b.Fatal(err)
	}
	w, _ := f.Open(io.Discard)
	b.ReportAllocs()
	began := cpu()
	for i := range b.N {
		if err := w.Write(cols, i%rows, i%rows+1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
	b.SetBytes(w.Size() / int64(b.N))
}
