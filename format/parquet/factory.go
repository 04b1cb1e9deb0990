package parquet

import (
	"fmt"
	"strings"
	"time"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"staunch/config"
	"staunch/format"
)

// Factory makes the file writers of the format parquet.
var Factory = format.Factory{
	Name:       "parquet",
	Extension:  "parquet",
	Options:    optionTable,
	FileWriter: openFileFormat,
}

// createdBy is the writer's name in the footer, in the form that readers parse ("<name> version <version>").
const createdBy = "staunch version 0.1.0"

// optionTable has Flink's and parquet-hadoop's option names without "parquet.".
var optionTable = []config.Option{
	{Key: "utc-timezone", Type: config.TypeBool, Default: "false",
		Doc: "Whether timestamps are stored as they are (UTC) or shifted from the session's time zone, as Hive and Flink do by default."},
	{Key: "write.int64.timestamp", Type: config.TypeBool, Default: "false",
		Doc: "Whether timestamps are INT64 with a unit; otherwise INT96, which old readers expect."},
	{Key: "timestamp.time.unit", Type: config.TypeEnum, Default: "micros", Enum: []string{"nanos", "micros", "millis"},
		Doc: "Unit of INT64 timestamps; finer digits are cut off."},
	{Key: "compression", Type: config.TypeEnum, Default: "SNAPPY", Enum: []string{"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW", "LZ4", "LZO", "BROTLI"},
		Validate: checkCompression, Doc: "Compression of pages."},
	{Key: "compression.codec.zstd.level", Type: config.TypeInt, Default: "3", Doc: "Level of ZSTD, 1 (fast) to 22 (small)."},
	{Key: "block.size", Type: config.TypeMemorySize, Default: "8mb",
		Doc: "Compressed bytes of a row group, which is about the memory of an open file. Flink's default is 128 MB."},
	{Key: "page.size", Type: config.TypeMemorySize, Default: "1mb", Doc: "Uncompressed bytes of a page at most, apart from single larger values."},
	{Key: "page.row.count.limit", Type: config.TypeInt, Default: "8192", Doc: "Rows of a page at most: few enough that a column's values stay in a core's cache until they are compressed."},
	{Key: "enable.dictionary", Type: config.TypeBool, Default: "true",
		Doc: "Whether columns whose values repeat are written with a dictionary. Which those are is seen from the data."},
	{Key: "dictionary.page.size", Type: config.TypeMemorySize, Default: "1mb", Doc: "Bytes of a column's dictionary at most."},
	{Key: "writer.version", Type: config.TypeString, Default: "v1", Refused: "pages are written in version 1 only, which all readers know"},
	{Key: "bloom.filter.enabled", Type: config.TypeBool, Default: "false", Refused: "Bloom filters are not written"},
	{Key: "batch-size", Type: config.TypeInt, Default: "2048", Ignored: "it is about reading"},
}

func checkCompression(name string) error {
	switch strings.ToUpper(strings.TrimSpace(name)) {
	case "LZ4":
		return fmt.Errorf("LZ4 in Hadoop's framing is not available; LZ4_RAW is its successor")
	case "LZO":
		return fmt.Errorf("LZO is not available; accepted is one of UNCOMPRESSED, SNAPPY, GZIP, ZSTD, LZ4_RAW, BROTLI")
	}
	return nil
}

// options are the parsed options.
type options struct {
	utc, int64Timestamps bool
	unit                 schema.TimeUnitType
	unitsPerSecond       int64
	codec                compress.Compression
	level                int
	rowGroup             int64
	pageBytes, pageRows  int
	dictionary           bool
	dictionaryBytes      int
	zone                 *time.Location
}

func parseOptions(p format.Params) (*options, error) {
	v, _, err := p.Options.Check(optionTable)
	if err != nil {
		return nil, err
	}
	// After Check the getters of an option's own type cannot fail.
	o := &options{zone: p.Zone}
	if o.zone == nil {
		o.zone = time.UTC
	}
	o.utc, _ = v.Bool("utc-timezone")
	o.int64Timestamps, _ = v.Bool("write.int64.timestamp")
	o.dictionary, _ = v.Bool("enable.dictionary")
	switch unit, _ := v.Enum("timestamp.time.unit"); unit {
	case "nanos":
		o.unit, o.unitsPerSecond = schema.TimeUnitNanos, 1e9
	case "millis":
		o.unit, o.unitsPerSecond = schema.TimeUnitMillis, 1e3
	default:
		o.unit, o.unitsPerSecond = schema.TimeUnitMicros, 1e6
	}
	codec, _ := v.Enum("compression")
	o.codec = map[string]compress.Compression{"UNCOMPRESSED": compress.Codecs.Uncompressed, "SNAPPY": compress.Codecs.Snappy,
		"GZIP": compress.Codecs.Gzip, "ZSTD": compress.Codecs.Zstd, "LZ4_RAW": compress.Codecs.Lz4Raw, "BROTLI": compress.Codecs.Brotli}[codec]
	o.level = compress.DefaultCompressionLevel
	if o.codec == compress.Codecs.Zstd {
		o.level, _ = v.Int("compression.codec.zstd.level")
	}
	block, _ := v.MemorySize("block.size")
	page, _ := v.MemorySize("page.size")
	dict, _ := v.MemorySize("dictionary.page.size")
	rows, _ := v.Int("page.row.count.limit")
	for _, check := range []struct {
		key       string
		n, lo, hi int64
	}{{"block.size", block, 64 << 10, 4 << 30}, {"page.size", page, 1 << 10, 256 << 20}, {"dictionary.page.size", dict, 1 << 10, 64 << 20},
		{"page.row.count.limit", int64(rows), 1, 1 << 20}} {
		if check.n < check.lo || check.n > check.hi {
			return nil, v.Errorf(check.key, "must be from %d to %d", check.lo, check.hi)
		}
	}
	o.rowGroup, o.pageBytes, o.dictionaryBytes, o.pageRows = block, int(page), int(dict), rows
	return o, nil
}

func openFileFormat(p format.Params) (format.FileFormat, error) {
	o, err := parseOptions(p)
	if err != nil {
		return nil, err
	}
	f := &fileFormat{options: o}
	var nodes schema.FieldList
	for _, at := range p.Wanted {
		field, node, err := newField(p.All[at], o)
		if err != nil {
			return nil, err
		}
		f.fields = append(f.fields, field)
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("format parquet: a file needs at least one column that is not a partition column")
	}
	root, err := schema.NewGroupNode("staunch_schema", pq.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, fmt.Errorf("format parquet: %w", err)
	}
	f.schema = schema.NewSchema(root)
	props := []pq.WriterProperty{pq.WithVersion(pq.V1_0), pq.WithCreatedBy(createdBy), pq.WithCompression(o.codec), pq.WithStats(true)}
	f.plain = pq.NewWriterProperties(append(props, pq.WithDictionaryDefault(false))...)
	if o.codec != compress.Codecs.Uncompressed {
		if f.codec, err = compress.GetCodec(o.codec); err != nil {
			return nil, fmt.Errorf("format parquet: %w", err)
		}
	}
	return f, nil
}
