package foreign

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"staunch/env"
	"staunch/fs"
	"staunch/fs/local"
)

// pos is the position of one row; off -1 is NULL.
type pos struct {
	topic string
	part  int
	off   int64
}

// run gives the positions from <= o < to of one partition.
func run(part int, from, to int64) (out []pos) {
	for o := from; o < to; o++ {
		out = append(out, pos{"events", part, o})
	}
	return out
}

func and(lists ...[]pos) []pos { return slices.Concat(lists...) }

// table is a folder that a test fills as another tool would.
type table struct {
	t    testing.TB
	root string
}

func newTable(t testing.TB) *table {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &table{t, filepath.Join(root, "lake")}
}

func (x *table) write(name string, b []byte) {
	x.t.Helper()
	p := filepath.Join(x.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(p, b, 0o666); err != nil {
		x.t.Fatal(err)
	}
}

// audit audits the table by part and off, if opts says nothing else.
func (x *table) audit(opts Options) *Report {
	x.t.Helper()
	return x.auditOn(local.New(), opts)
}

func (x *table) auditOn(store fs.FS, opts Options) *Report {
	x.t.Helper()
	if opts.From == 0 { // tests say 0 by a negative number
		opts.From = -1
	} else if opts.From < 0 {
		opts.From = 0
	}
	if opts.Columns == (Columns{}) && !opts.Names {
		opts.Columns = Columns{Partition: "part", Offset: "off"}
	}
	real := &env.Real{}
	r, err := Table(context.Background(), real, store, x.root, opts)
	real.Join()
	if err != nil {
		x.t.Fatal(err)
	}
	if (r.Verdict == Clean) != (r.Count() == 0) {
		x.t.Errorf("verdict %s with %d problems", r.Verdict, r.Count())
	}
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		x.t.Fatal(err)
	}
	return r
}

// problems lists kinds with what they are about, paths without the table's: "gap partition 0:3..4".
func (x *table) problems(r *Report) (out []string) {
	for _, p := range r.Problems {
		s := string(p.Kind)
		if p.Path != "" {
			s += " " + strings.TrimPrefix(strings.TrimPrefix(p.Path, x.root), "/")
		}
		for _, f := range p.Files {
			s += " " + strings.TrimPrefix(f, x.root+"/")
		}
		for _, o := range p.Offsets {
			s += fmt.Sprintf(" %s:%s", o.Split, o.Offsets)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func (x *table) want(r *Report, want ...string) {
	x.t.Helper()
	slices.Sort(want)
	if got := x.problems(r); !slices.Equal(got, want) {
		x.t.Errorf("problems\n  %s\nexpected\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// shape is how a Parquet file is written.
type shape struct {
	// text columns instead of numbers; wide: the partition is BIGINT; required columns have no levels.
	text, wide, required bool
	nested               bool
	codec                compress.Compression
	v2, delta, noDict    bool
	rowGroup             int64
}

// parquetBytes writes positions as a Parquet file with other columns around them.
func parquetBytes(t testing.TB, rows []pos, s shape) []byte {
	t.Helper()
	var partType, offType arrow.DataType = arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	if s.wide {
		partType = arrow.PrimitiveTypes.Int64
	}
	if s.text {
		partType, offType = arrow.BinaryTypes.String, arrow.BinaryTypes.String
	}
	null := !s.required
	position := []arrow.Field{{Name: "topic", Type: arrow.BinaryTypes.String, Nullable: null}, {Name: "part", Type: partType, Nullable: null}, {Name: "off", Type: offType, Nullable: null}}
	fields := append([]arrow.Field{{Name: "amount", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}, position...)
	if s.nested {
		fields = []arrow.Field{{Name: "meta", Type: arrow.StructOf(position...), Nullable: true}, {Name: "amount", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	var topic, part, off array.Builder
	if s.nested {
		st := b.Field(0).(*array.StructBuilder)
		topic, part, off = st.FieldBuilder(0), st.FieldBuilder(1), st.FieldBuilder(2)
	} else {
		topic, part, off = b.Field(1), b.Field(2), b.Field(3)
	}
	put := func(to array.Builder, v int64) {
		switch c := to.(type) {
		case *array.Int32Builder:
			c.Append(int32(v))
		case *array.Int64Builder:
			c.Append(v)
		case *array.StringBuilder:
			c.Append(fmt.Sprint(v))
		}
	}
	for i, r := range rows {
		if s.nested {
			b.Field(0).(*array.StructBuilder).Append(true)
			b.Field(1).(*array.Float64Builder).Append(float64(i))
		} else {
			b.Field(0).(*array.Float64Builder).Append(float64(i))
		}
		topic.(*array.StringBuilder).Append(r.topic)
		put(part, int64(r.part))
		if r.off == -1 {
			off.AppendNull()
		} else {
			put(off, r.off)
		}
	}
	rec := b.NewRecordBatch()
	props := []pq.WriterProperty{pq.WithCompression(s.codec), pq.WithDictionaryDefault(!s.noDict), pq.WithStats(true), pq.WithDataPageSize(2000), pq.WithBatchSize(64)}
	if s.rowGroup > 0 {
		props = append(props, pq.WithMaxRowGroupLength(s.rowGroup))
	}
	if s.v2 {
		props = append(props, pq.WithDataPageVersion(pq.DataPageV2))
	}
	if s.delta {
		props = append(props, pq.WithDictionaryDefault(false), pq.WithEncodingFor("off", pq.Encodings.DeltaBinaryPacked))
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, pq.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (x *table) parquet(name string, rows []pos, s ...shape) {
	x.t.Helper()
	x.write(name, parquetBytes(x.t, rows, append(s, shape{})[0]))
}

func (x *table) json(name string, rows []pos) {
	x.t.Helper()
	var b bytes.Buffer
	for i, r := range rows {
		fmt.Fprintf(&b, `{"id":%d,"note":"a \"off\":1, b","meta":{"off":-1,"list":[1,{"off":2}]},"part":%d,"off":%d,"topic":%q}`+"\n", i, r.part, r.off, r.topic)
	}
	x.write(name, b.Bytes())
}

func (x *table) csv(name string, rows []pos) {
	x.t.Helper()
	var b bytes.Buffer
	for i, r := range rows {
		fmt.Fprintf(&b, "%d,\"a,b\"\"c\nd\",%d,%d,%s\n", i, r.part, r.off, r.topic)
	}
	x.write(name, b.Bytes())
}

// TestHiddenColumn: the partitions of a column whose name begins with _ or a dot are read.
func TestHiddenColumn(t *testing.T) {
	x := newTable(t)
	x.json("_day=1/part-0-0.json", run(0, 0, 10))
	x.json("_day=2/.hour=1/part-0-1.json", run(0, 20, 30))
	x.json("_temporary/part-0-2.json", run(0, 10, 20))
	x.json("_day=2/_part=3.json", run(0, 10, 20))
	r := x.audit(Options{})
	x.want(r, "gap partition 0:10..19")
	if r.Files != 2 || r.Hidden != 2 {
		t.Errorf("%+v", r)
	}
}

// TestCleanTables: each format, as Flink lays it out: files with and without an extension, in folders, hidden names beside them.
func TestCleanTables(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(*table)
		opts Options
	}{
		{"parquet", func(x *table) {
			x.parquet("dt=1/part-a-0-0", and(run(0, 0, 700), run(1, 0, 10)))
			x.parquet("dt=2/part-a-1-0", and(run(1, 10, 30_000), run(0, 700, 900)))
			x.parquet("dt=2/.part-a-1-1.inprogress.uuid", run(0, 5, 9))
			x.parquet("_temporary/part-x", run(0, 5, 9))
			x.write("dt=2/_SUCCESS", nil)
		}, Options{}},
		{"parquet text columns", func(x *table) {
			x.parquet("a.parquet", and(run(0, 0, 900), run(1, 0, 30_000)), shape{text: true})
		}, Options{}},
		{"json", func(x *table) {
			x.json("part-0-0", and(run(0, 0, 900), run(1, 0, 10)))
			x.json("part-1-0", run(1, 10, 30_000))
		}, Options{}},
		{"csv", func(x *table) {
			x.csv("part-0-0", and(run(0, 0, 900), run(1, 0, 10)))
			x.csv("part-1-0", run(1, 10, 30_000))
		}, Options{Format: CSVText, Columns: Columns{Partition: "3", Offset: "4"}}},
		{"csv with a header", func(x *table) {
			x.write("a.csv", []byte("id;part;\"off\"\r\n1;0;0\r\n2;0;1\r\n"))
			x.csv("b.csv", nil)
		}, Options{Format: CSVText, CSV: CSV{Header: true, Delimiter: ';'}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newTable(t)
			c.fill(x)
			r := x.audit(c.opts)
			x.want(r)
			if c.name == "csv with a header" {
				if r.Rows != 2 || r.Empty != 1 {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.Rows != 30_900 || len(r.Splits) != 2 || *r.Splits[0] != (Split{Split: "partition 0", Last: 899, Rows: 900, Files: r.Splits[0].Files}) ||
				*r.Splits[1] != (Split{Split: "partition 1", First: 0, Last: 29_999, Rows: 30_000, Files: r.Splits[1].Files}) {
				t.Errorf("%+v %+v", r, r.Splits)
			}
			if c.name == "parquet" && (r.Hidden != 3 || r.Files != 2) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestParquetShapes: however a Parquet file is written, its positions are the same.
func TestParquetShapes(t *testing.T) {
	rows := and(run(0, 5, 4000), run(3, 0, 500), []pos{{"events", 0, 4001}}, run(0, 4002, 9000))
	for name, s := range map[string]shape{
		"snappy": {codec: compress.Codecs.Snappy}, "gzip": {codec: compress.Codecs.Gzip}, "zstd": {codec: compress.Codecs.Zstd}, "brotli": {codec: compress.Codecs.Brotli},
		"lz4": {codec: compress.Codecs.Lz4Raw}, "no dictionary": {noDict: true}, "required": {required: true, noDict: true}, "pages of version 2": {v2: true, codec: compress.Codecs.Snappy},
		"delta": {delta: true, v2: true}, "row groups": {rowGroup: 100}, "wide": {wide: true}, "text": {text: true}, "text, no dictionary": {text: true, noDict: true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			x.parquet("f", rows, s)
			r := x.audit(Options{})
			x.want(r, "gap partition 0:4000")
			if r.Rows != int64(len(rows)) || r.Splits[0].First != 5 || r.Splits[0].Last != 8999 || r.Splits[1].Rows != 500 {
				t.Errorf("%+v %+v", r, r.Splits)
			}
		})
	}
	for name, typ := range map[string]arrow.DataType{"date": arrow.FixedWidthTypes.Date32, "timestamp": arrow.FixedWidthTypes.Timestamp_ms, "double": arrow.PrimitiveTypes.Float64} {
		x := newTable(t)
		var out bytes.Buffer
		w, err := pqarrow.NewFileWriter(arrow.NewSchema([]arrow.Field{{Name: "part", Type: arrow.PrimitiveTypes.Int32}, {Name: "off", Type: typ}}, nil), &out, nil, pqarrow.DefaultWriterProps())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		x.write("f", out.Bytes())
		if r := x.audit(Options{}); r.Counts[ColumnMissing] != 1 || !strings.Contains(r.Problems[0].What, `column "off" is `) {
			t.Errorf("%s: %+v", name, r.Problems)
		}
	}
	x := newTable(t)
	x.parquet("f", rows, shape{nested: true})
	x.want(x.audit(Options{Columns: Columns{Partition: "meta.part", Offset: "meta.off", Topic: "meta.topic"}}), "gap events-0:4000")
}

// TestGaps: what is missing is named exactly, whatever file it is missing from.
func TestGaps(t *testing.T) {
	x := newTable(t)
	x.parquet("a", and(run(0, 100, 200), run(1, 0, 50)))
	x.parquet("b", run(0, 300, 400))
	x.json("c.json", and(run(1, 51, 60), run(1, 70, 80)))
	r := x.audit(Options{})
	x.want(r, "gap partition 0:200..299", "gap partition 1:50 60..69")
	var beside []string
	for _, p := range r.Problems {
		for _, n := range p.Neighbours {
			beside = append(beside, fmt.Sprintf("%s %d %s", n.Split, n.Offset, filepath.Base(n.Path)))
			if i, err := os.Stat(n.Path); err != nil || !i.ModTime().Equal(n.Time) {
				t.Errorf("%+v: %v", n, err)
			}
		}
	}
	if want := []string{"partition 0 199 a", "partition 0 300 b", "partition 1 49 a", "partition 1 51 c.json", "partition 1 59 c.json", "partition 1 70 c.json"}; !slices.Equal(beside, want) {
		t.Errorf("beside the gaps: %q", beside)
	}
	x.want(x.audit(Options{From: -1}), "gap partition 0:0..99 200..299", "gap partition 1:50 60..69")
	x.want(x.audit(Options{From: 98}), "gap partition 0:98..99 200..299", "gap partition 1:50 60..69", "offset-before partition 1:0..49 51..59 70..79")
	if s := r.Splits[1]; s.Missing != 11 || s.Gaps != 2 || s.Doubled != 0 {
		t.Errorf("%+v", s)
	}
}

// TestDoubles: offsets that are there twice are named with all files that hold them.
func TestDoubles(t *testing.T) {
	x := newTable(t)
	x.parquet("a", and(run(0, 0, 1000), run(1, 0, 10)), shape{rowGroup: 100})
	x.parquet("b", and(run(0, 900, 2000), run(1, 10, 20)), shape{rowGroup: 100})
	x.parquet("c", run(0, 950, 960))
	x.json("d", and(run(1, 20, 30), run(1, 25, 27)))
	x.parquet("copy", and(run(1, 0, 5), run(1, 5, 10)))
	x.parquet("e", run(2, 0, 100))
	r := x.audit(Options{})
	x.want(r, "offsets-twice a b partition 0:900..949 960..999", "offsets-twice a b c partition 0:950..959", "offsets-twice d partition 1:25..26",
		"offsets-twice a copy partition 1:0..9")
	if s := r.Splits[0]; s.Doubled != 100 || s.Extra != 110 || s.Missing != 0 {
		t.Errorf("%+v", s)
	}
	for _, p := range r.Problems {
		if strings.Contains(p.What, "no other rows are in ") != (slices.ContainsFunc(p.Files, func(f string) bool { return strings.HasSuffix(f, "/copy") || strings.HasSuffix(f, "/c") })) {
			t.Errorf("%v: %s", p.Files, p.What)
		}
	}
}

// TestTopics: rows of several topics are kept apart.
func TestTopics(t *testing.T) {
	x := newTable(t)
	x.parquet("a", and(run(0, 0, 10), []pos{{"orders", 0, 3}, {"orders", 0, 4}, {"events", 0, 10}, {"orders", 0, 6}}))
	x.json("b", []pos{{"orders", 1, 0}, {"events", 1, 7}})
	r := x.audit(Options{Columns: Columns{Partition: "part", Offset: "off", Topic: "topic"}})
	x.want(r, "gap orders-0:5")
	if len(r.Splits) != 4 || r.Splits[0].Split != "events-0" || r.Splits[0].Rows != 11 {
		t.Errorf("%+v", r.Splits)
	}
}

// TestFolderColumns: Kafka Connect and Hive put the partition into a folder's name.
func TestFolderColumns(t *testing.T) {
	x := newTable(t)
	x.json("topic=a%3Ab/partition=0/f1.json", run(9, 0, 5))
	x.json("topic=a%3Ab/partition=1/f2.json", run(9, 0, 5))
	x.parquet("topic=a%3Ab/partition=1/f3.parquet", run(9, 6, 7))
	r := x.audit(Options{Columns: Columns{Partition: "partition", Offset: "off", Topic: "topic"}})
	x.want(r, "gap a:b-1:5")
	x.json("topic=a%3Ab/partition=x/f4.json", run(9, 6, 7))
	x.want(x.audit(Options{Columns: Columns{Partition: "partition", Offset: "off"}}), "gap partition 1:5", "column-missing topic=a%3Ab/partition=x/f4.json")
}

// TestBadFiles: a file that is not what it should be is a finding with its name, and the others are judged.
func TestBadFiles(t *testing.T) {
	whole := parquetBytes(t, run(0, 10, 3000), shape{})
	broken := func(f func(b []byte) []byte) []byte { return f(slices.Clone(whole)) }
	for name, c := range map[string]struct {
		bytes []byte
		file  string
		kind  Kind
	}{
		"no Parquet":          {[]byte("PAR0 something else that is long enough"), "f.parquet", FileDamaged},
		"empty":               {nil, "f.parquet", FileDamaged},
		"empty, of no format": {nil, "part-0-0", FileUnknown},
		"unknown":             {[]byte("\x00\x01\x02"), "part-0-0", FileUnknown},
		"truncated":           {whole[:len(whole)-100], "f.parquet", FileDamaged},
		"only the magic":      {[]byte("PAR1"), "part-0-0", FileDamaged},
		"half of it":          {whole[:len(whole)/2], "part-0-0", FileDamaged},
		"footer too long":     {broken(func(b []byte) []byte { b[len(b)-5] = 0x7f; return b }), "part-0-0", FileDamaged},
		"footer of zeroes":    {broken(func(b []byte) []byte { clear(b[len(b)-300 : len(b)-8]); return b }), "part-0-0", FileDamaged},
		"last page of zeroes": {broken(func(b []byte) []byte {
			footer := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
			clear(b[footer-900 : footer])
			return b
		}), "part-0-0", FileDamaged},
		"beginning cut off":     {append([]byte("PAR1"), whole[len(whole)-2000:]...), "part-0-0", FileDamaged},
		"JSON in half":          {[]byte("{\"part\":0,\"off\":10}\n{\"part\":0,\"of"), "f.json", FileDamaged},
		"JSON with a bad line":  {[]byte("{\"part\":0,\"off\":10}\n[1]\n"), "f.json", FileDamaged},
		"gzip in half":          {[]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x01"), "f.json.gz", FileDamaged},
		"JSON without columns":  {[]byte("{\"partition\":0}\n"), "f.json", PositionMissing},
		"JSON with null":        {[]byte("{\"part\":0,\"off\":null}\n"), "f.json", PositionMissing},
		"JSON with a bad value": {[]byte("{\"part\":0,\"off\":-3}\n"), "f.json", PositionBad},
		"JSON with a fraction":  {[]byte("{\"part\":0,\"off\":1.5}\n"), "f.json", PositionBad},
		"JSON with a list":      {[]byte("{\"part\":0,\"off\":[1]}\n"), "f.json", PositionBad},
		"NULL":                  {parquetBytes(t, []pos{{"events", 0, -1}}, shape{}), "part-0-0", PositionMissing},
		"negative":              {parquetBytes(t, []pos{{"events", 0, -7}}, shape{}), "part-0-0", PositionBad},
		"text, no number":       {parquetBytes(t, []pos{{"events", 0, -7}}, shape{text: true}), "part-0-0", PositionBad},
		"too great":             {parquetBytes(t, []pos{{"events", 0, math.MaxInt64}}, shape{}), "part-0-0", PositionBad},
		"JSON, too great":       {[]byte("{\"part\":0,\"off\":9223372036854775807}\n"), "f.json", PositionBad},
		"UINT64":                {unsignedBytes(t, 2, []uint64{1<<64 - 1, 1<<64 - 1}), "part-0-0", PositionBad},
		"UINT64 without NULL":   {unsignedBytes(t, 1, []uint64{1 << 63, 1<<64 - 2}), "part-0-0", PositionBad},
		"the same name twice":   {twiceBytes(t), "part-0-0", ColumnMissing},
		"other columns":         {parquetBytes(t, nil, shape{nested: true}), "part-0-0", ColumnMissing},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			x.parquet("good", run(0, 0, 10))
			x.write(c.file, c.bytes)
			r := x.audit(Options{})
			if len(r.Problems) != 1 || r.Problems[0].Kind != c.kind || r.Problems[0].Path != filepath.Join(x.root, c.file) || r.Splits[0].Rows != 10 {
				t.Errorf("%s: %+v", x.problems(r), r.Problems)
			}
		})
	}
}

// unsignedBytes writes a Parquet file whose offsets are UINT64, or UINT32 in 4 bytes with values below 2^32.
func unsignedBytes(t *testing.T, kind int, offs []uint64) []byte {
	t.Helper()
	var typ arrow.DataType = arrow.PrimitiveTypes.Uint64
	if kind == 4 {
		typ = arrow.PrimitiveTypes.Uint32
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "part", Type: arrow.PrimitiveTypes.Uint32}, {Name: "off", Type: typ, Nullable: kind == 2}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for _, o := range offs {
		b.Field(0).(*array.Uint32Builder).Append(0)
		switch c := b.Field(1).(type) {
		case *array.Uint64Builder:
			c.Append(o)
		case *array.Uint32Builder:
			c.Append(uint32(o))
		}
	}
	return fileBytes(t, schema, b.NewRecordBatch())
}

// twiceBytes writes a Parquet file with two columns of one name.
func twiceBytes(t *testing.T) []byte {
	t.Helper()
	field := func(name string) arrow.Field { return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64} }
	schema := arrow.NewSchema([]arrow.Field{field("part"), field("off"), field("off")}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for i := range 3 {
		b.Field(i).(*array.Int64Builder).Append(0)
	}
	return fileBytes(t, schema, b.NewRecordBatch())
}

func fileBytes(t *testing.T, schema *arrow.Schema, rec arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, pq.NewWriterProperties(pq.WithStats(true)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestUnsigned: an unsigned number is not taken for a negative one, and is compared with the statistics as what it is.
func TestUnsigned(t *testing.T) {
	x := newTable(t)
	x.write("a", unsignedBytes(t, 4, []uint64{1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<31 + 3}))
	x.write("b", unsignedBytes(t, 4, []uint64{1<<31 + 1}))
	x.write("c", unsignedBytes(t, 1, []uint64{1<<31 + 4}))
	x.want(x.audit(Options{}), "gap partition 0:2147483650", "offsets-twice a b partition 0:2147483649")
}

// TestGreatestOffsets: offsets at the end of what an int64 holds are judged as all others, and take no more memory.
func TestGreatestOffsets(t *testing.T) {
	const last = math.MaxInt64 - 1
	x := newTable(t)
	var rows []pos
	for o := int64(last); o > last-100_000; o-- {
		if o != last-1 && o != last-65_534 {
			rows = append(rows, pos{"events", 0, o})
		}
	}
	slices.Reverse(rows)
	x.parquet("a", rows)
	x.json("b", []pos{{"events", 0, last}})
	r := x.audit(Options{})
	x.want(r, fmt.Sprintf("gap partition 0:%d %d", last-65_534, last-1), fmt.Sprintf("offsets-twice a b partition 0:%d", last))
	if r.Splits[0].Last != last || r.Splits[0].Missing != 2 {
		t.Errorf("%+v", r.Splits[0])
	}
	y := newTable(t)
	y.json("a", []pos{{"events", 0, last}, {"events", 1, 0}})
	if r := y.audit(Options{From: -1}); r.Count() != 1 || r.Splits[0].Missing != last {
		t.Errorf("%+v", r)
	}
	z := newTable(t)
	z.write(fmt.Sprintf("events+0+%d+%d.json", int64(last-70_000), int64(last)), []byte("{}"))
	z.want(z.audit(Options{Names: true}))
}

// TestFrom: every partition must begin at that offset, not behind it and not in front of it.
func TestFrom(t *testing.T) {
	x := newTable(t)
	x.parquet("a", and(run(0, 0, 100), run(1, 20, 30), run(2, 23, 30), run(3, 5, 8), run(3, 22, 25)))
	r := x.audit(Options{From: 20})
	x.want(r, "offset-before partition 0:0..19", "gap partition 2:20..22", "offset-before partition 3:5..7", "gap partition 3:8..21")
}

// TestEmptyRowGroup: pyarrow writes a table without rows as a row group of none, whose chunks begin at byte 0.
func TestEmptyRowGroup(t *testing.T) {
	empty, err := os.ReadFile("testdata/pyarrow-empty.parquet")
	if err != nil {
		t.Fatal(err)
	}
	x := newTable(t)
	x.parquet("a", run(0, 0, 10))
	x.write("b.parquet", empty)
	r := x.audit(Options{})
	x.want(r)
	if r.Empty != 1 || r.Files != 2 {
		t.Errorf("%+v", r)
	}
}

// TestWrongTopicColumn: where nearly each row has a topic of its own, no gap can show.
func TestWrongTopicColumn(t *testing.T) {
	for _, c := range []struct {
		topics, partitions, offsets int
		note, problem               bool
	}{{1001, 1, 1, false, true}, {2000, 3, 1, false, true}, {1000, 1, 1, true, false}, {63, 1, 1, false, false}, {1500, 1, 2, false, false}} {
		x := newTable(t)
		var rows []pos
		for n := range c.topics {
			for p := range c.partitions {
				for o := range c.offsets {
					rows = append(rows, pos{fmt.Sprint("t", n), p, int64(n + o)})
				}
			}
		}
		x.parquet("f", rows)
		r := x.audit(Options{Columns: Columns{Partition: "part", Offset: "off", Topic: "topic"}})
		if problem := r.Counts[ColumnMissing] == 1; problem != c.problem || (r.Verdict == Clean) == c.problem {
			t.Errorf("%+v: %s %+v", c, r.Verdict, r.Problems)
		}
		if note := strings.Contains(strings.Join(r.Notes, ""), "column of the topic"); note != c.note {
			t.Errorf("%+v: %q", c, r.Notes)
		}
	}
}

// TestAnyByte changes single bytes of a Parquet file: it never ends the audit, and rows that differ are never called clean in silence.
func TestAnyByte(t *testing.T) {
	whole := parquetBytes(t, and(run(0, 0, 300), run(1, 0, 300)), shape{codec: compress.Codecs.Snappy})
	x := newTable(t)
	for i := 0; i < len(whole); i += 23 {
		for _, flip := range []byte{0x01, 0xff} {
			b := slices.Clone(whole)
			b[i] ^= flip
			x.write("f.parquet", b)
			r := x.audit(Options{Readers: 1})
			if r.Verdict == Clean && (r.Rows != 600 || r.Splits[0].Rows != 300 || r.Splits[1].Rows != 300) {
				t.Errorf("byte %d ^ %x: clean with %d rows", i, flip, r.Rows)
			}
		}
	}
}

func TestCSVFaults(t *testing.T) {
	for text, kind := range map[string]Kind{
		"1,2,0,5":                      FileDamaged, // no line end: it may be half of a number
		"1,\"2,0,5\n":                  FileDamaged,
		"1,\"2\"x,0,5\n":               FileDamaged,
		"1,2,0,x\n":                    PositionBad,
		"1,2,0,\n":                     PositionMissing,
		"1,2,0\n":                      PositionMissing,
		"1,2,0,99999999999999999999\n": PositionBad,
	} {
		x := newTable(t)
		x.write("f.csv", []byte(text))
		if r := x.audit(Options{Format: CSVText, Columns: Columns{Partition: "3", Offset: "4"}}); r.Counts[kind] != 1 || r.Count() != 1 {
			t.Errorf("%q: %s", text, x.problems(r))
		}
	}
	for text, kind := range map[string]Kind{"part,off,part\n0,1,5\n": ColumnMissing, "off,part,off\n0,1,5\n": ColumnMissing, "x,part,x,off\n9,0,9,1\n": ""} {
		x := newTable(t)
		x.write("f.csv", []byte(text))
		r := x.audit(Options{Format: CSVText, CSV: CSV{Header: true}})
		if r.Counts[kind] != r.Count() || (kind != "") != (r.Count() == 1) || kind != "" && !strings.Contains(r.Problems[0].What, "is ambiguous") {
			t.Errorf("%q: %+v", text, r.Problems)
		}
	}
	x := newTable(t)
	x.write("f.csv", []byte("a,b\n"))
	if r := x.audit(Options{Format: CSVText}); r.Counts[ColumnMissing] != 1 || !strings.Contains(r.Problems[0].What, "--csv-header") {
		t.Errorf("%+v", r.Problems)
	}
	if r := x.audit(Options{Format: CSVText, CSV: CSV{Header: true}}); r.Counts[ColumnMissing] != 1 || !strings.Contains(r.Problems[0].What, "a, b") {
		t.Errorf("%+v", r.Problems)
	}
}

// TestNothing: what proves nothing is not clean.
func TestNothing(t *testing.T) {
	x := newTable(t)
	x.want(x.audit(Options{}), "no-rows ")
	x.write("_SUCCESS", nil)
	x.want(x.audit(Options{}), "no-rows ")
	x.json("f.json", nil)
	x.want(x.audit(Options{}), "no-rows ")
	y := &table{t, filepath.Join(x.root, "f.json")}
	y.want(y.audit(Options{}), "no-rows ")
}

// TestWrongColumn: a column that is no partition is told from one that is.
func TestWrongColumn(t *testing.T) {
	x := newTable(t)
	var rows []pos
	for i := range maxSplits + 1 {
		rows = append(rows, pos{"events", i, 0})
	}
	x.parquet("f", rows)
	x.want(x.audit(Options{}), "column-missing f")
	x.parquet("f", rows[:maxSplits/2+1])
	x.parquet("g", rows[maxSplits/2:])
	if r := x.audit(Options{}); r.Counts[ColumnMissing] != 1 {
		t.Errorf("%v", r.Counts)
	}
}

// TestSwappedColumns: partition and offset the other way round look as if no offset were missing, in very many partitions.
func TestSwappedColumns(t *testing.T) {
	for _, c := range []struct {
		partitions, offsets, skip int
		note, problem             bool
	}{{2000, 4, 0, false, true}, {100, 4, 0, true, false}, {100, 7, 0, false, false}, {2000, 4, 500, false, false}, {32, 1, 0, false, false}} {
		x := newTable(t)
		var rows []pos
		for p := range c.partitions {
			rows = append(rows, run(p, int64(c.skip), int64(c.skip+c.offsets))...)
		}
		x.parquet("f", rows)
		r := x.audit(Options{})
		if problem := r.Counts[ColumnMissing] == 1; problem != c.problem || (r.Verdict == Clean) == c.problem {
			t.Errorf("%+v: %s %+v", c, r.Verdict, r.Problems)
		}
		if note := strings.Contains(strings.Join(r.Notes, ""), "partition first"); note != c.note {
			t.Errorf("%+v: %q", c, r.Notes)
		}
	}
}

func TestConnectNames(t *testing.T) {
	x := newTable(t)
	for _, n := range []string{"year=2026/events+0+0000000000+0000000099.parquet", "events+0+0000000100+0000000199.avro", "events+0+0000000250+0000000299.json.gz",
		"events+1+0000000007+0000000007.parquet", "events+1+0000000008+0000000020.parquet", "events+1+0000000015+0000000030.parquet", "+tmp/events/x_tmp.parquet"} {
		x.write(n, []byte("as many bytes as any file has"))
	}
	r := x.audit(Options{Names: true})
	x.want(r, "gap events-0:200..249", "offsets-twice events+1+0000000008+0000000020.parquet events+1+0000000015+0000000030.parquet events-1:15..20")
	if r.Hidden != 1 || r.Rows != 280 {
		t.Errorf("%+v", r)
	}
	var b bytes.Buffer
	if err := r.Text(&b); err != nil || !r.Names || !strings.Contains(b.String(), "problems, by names only: no file was opened\n") {
		t.Error(err, b.String())
	}
	for _, n := range []string{"part-0-0", "events+0+9223372036854775806+9223372036854775807.json", "events+0+0000000100.avro", "events+x+1+2.avro", "events+0+5+4.avro", "+0+1+2.avro", "events+0+1+2+3.avro", "events+5000000000+1+2.a", "events+0+1+99999999999999999999.a"} {
		y := newTable(t)
		y.write("events+0+0000000000+0000000099.parquet", []byte("PAR1........PAR1"))
		y.write(n, nil)
		y.want(y.audit(Options{Names: true}), "name-unknown "+n)
	}
}

// TestConnectSizes: a file that is too short for any row does not have the offsets in its name.
func TestConnectSizes(t *testing.T) {
	for name, size := range map[string]int{"events+0+0000000100+0000000199.parquet": 0, "events+0+0000000100+0000000199.Parquet": 11, "events+0+0000000100+0000000199.avro": 0,
		"events+0+0000000100+0000000199.json": 0, "events+0+0000000100+0000000199.json.gz": 17} {
		x := newTable(t)
		x.write("events+0+0000000000+0000000099.json", []byte("{}"))
		x.write(name, make([]byte, size))
		x.write("events+0+0000000200+0000000299.json", []byte("{}"))
		x.want(x.audit(Options{Names: true}), "file-damaged "+name, "gap events-0:100..199")
	}
	x := newTable(t)
	x.write("other/a", nil)
	x.write("lake/events+0+0000000000+0000000099.json", []byte("{}"))
	if err := os.Symlink(filepath.Join(x.root, "other/a"), filepath.Join(x.root, "lake/events+0+0000000100+0000000199.json")); err != nil {
		t.Fatal(err)
	}
	x.root = filepath.Join(x.root, "lake")
	x.want(x.audit(Options{Names: true}), "file-damaged events+0+0000000100+0000000199.json")
}
