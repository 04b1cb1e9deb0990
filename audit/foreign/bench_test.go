package foreign

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// BenchmarkRead reads the positions of one million rows in memory, format by format.
func BenchmarkRead(b *testing.B) {
	const n = 1_000_000
	rows := and(run(0, 0, n/4), run(1, 0, n/4), run(2, 0, n/4), run(3, 0, n/4))
	var js, cs bytes.Buffer
	for i, r := range rows {
		fmt.Fprintf(&js, `{"user_id":%d,"action":"view","amount":%d.25,"ts":"2026-01-01 00:00:00.123","part":%d,"off":%d}`+"\n", i*7919%1000003, i%1000, r.part, r.off)
		fmt.Fprintf(&cs, "%d,view,%d.25,2026-01-01 00:00:00.123,%d,%d\n", i*7919%1000003, i%1000, r.part, r.off)
	}
	named := Columns{Partition: "part", Offset: "off"}
	for _, c := range []struct {
		name  string
		bytes []byte
		cols  Columns
		read  func(r text, c *columns, rows *fileRows) error
	}{
		{"parquet", parquetBytes(b, rows, shape{codec: compress.Codecs.Snappy, rowGroup: n}), named, func(r text, c *columns, rows *fileRows) error {
			return parquetRows(context.Background(), r, c, rows, nil)
		}},
		{"json", js.Bytes(), named, func(r text, c *columns, rows *fileRows) error { return jsonRows(context.Background(), r, c, rows) }},
		{"csv", cs.Bytes(), Columns{Partition: "5", Offset: "6"}, func(r text, c *columns, rows *fileRows) error {
			return csvRows(context.Background(), r, c, CSV{}, rows)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got := newFileRows()
				cols, err := c.cols.at("/t", "/t/f", got)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.read(text{newReader(c.bytes)}, cols, got); err != nil || got.rows != n {
					b.Fatal(got.rows, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
