//go:build peer

package parquet

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"staunch/changelog"
	"staunch/format/formattest"
	"staunch/types"
)

// TestOtherReaders writes every atomic type and compares what DuckDB and pyarrow read, cell by cell. TESTBED_PYTHON is the interpreter of
// test/peer that has both.
func TestOtherReaders(t *testing.T) {
	python := os.Getenv("TESTBED_PYTHON")
	if python == "" {
		t.Fatal("TESTBED_PYTHON is not set: it must name a Python with duckdb and pyarrow (test/peer/install.sh python)")
	}
	fields := formattest.AtomicFields()
	for i, f := range fields {
		if f.Type.IsTimestamp() && f.Type.Precision > 6 {
			fields[i].Type.Precision = 6 // the readers' own values end at microseconds
		}
	}
	// Neither reader takes a string with NUL or of half a surrogate amiss; all texts are UTF-8.
	for i, options := range [][]string{nil, {"utc-timezone=true"}, int64Options, append([]string{"compression=GZIP"}, int64Options...),
		append([]string{"compression=ZSTD", "block.size=64kb"}, int64Options...), append([]string{"compression=LZ4_RAW", "page.row.count.limit=100"}, int64Options...),
		append([]string{"compression=UNCOMPRESSED", "enable.dictionary=false"}, int64Options...)} {
		cols := formattest.Columns(fields, 12_000, uint64(i)+100)
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, writeFile(t, params(fields, options...), cols, map[string]string{"k": "v"}, 700, 1), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []string{"duckdb", "pyarrow"} {
			out, err := exec.Command(python, "testdata/read.py", reader, path).CombinedOutput()
			if err != nil {
				t.Fatalf("%v %s: %v\n%s", options, reader, err, out)
			}
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(lines) != cols[0].N {
				t.Fatalf("%v %s: %d rows, want %d", options, reader, len(lines), cols[0].N)
			}
			for row, line := range lines {
				for j, got := range strings.Split(line, "\t") {
					if want := cell(cols[j], row); got != want {
						t.Fatalf("%v %s: row %d %s: got %s, want %s", options, reader, row, fields[j].Name, got, want)
					}
				}
			}
		}
	}
}

// cell prints a value as read.py does.
func cell(c *changelog.Column, i int) string {
	if c.IsNull(i) {
		return "null"
	}
	switch c.Type.Kind {
	case types.Boolean:
		return strconv.FormatBool(c.B[i])
	case types.Float:
		return pythonHex(float64(c.F32[i]))
	case types.Double:
		return pythonHex(c.F64[i])
	case types.Decimal:
		return c.Dec[i].ToString(int32(c.Type.Scale))
	case types.Char, types.Varchar:
		return "s" + hex.EncodeToString(c.Bytes(i))
	case types.Binary, types.Varbinary:
		return "x" + hex.EncodeToString(c.Bytes(i))
	case types.Timestamp, types.TimestampLTZ:
		return fmt.Sprint(c.I64[i] * (1_000_000 / c.Type.UnitsPerSecond()))
	case types.BigInt:
		return fmt.Sprint(c.I64[i])
	}
	return fmt.Sprint(c.I32[i])
}

// pythonHex is float.hex().
func pythonHex(f float64) string {
	switch {
	case f > 1.7976931348623157e308:
		return "inf"
	case f < -1.7976931348623157e308:
		return "-inf"
	case f == 0:
		return "0x0.0p+0"
	}
	text := strconv.FormatFloat(f, 'x', 13, 64)
	mantissa, exp, _ := strings.Cut(text, "p")
	n, _ := strconv.Atoi(exp)
	if abs := max(f, -f); abs < 2.2250738585072014e-308 {
		// Python keeps the exponent of subnormal numbers at the least of normal ones.
		bits := strconv.FormatUint(uint64(abs/5e-324), 16)
		sign := ""
		if f < 0 {
			sign = "-"
		}
		return sign + "0x0." + strings.Repeat("0", 13-len(bits)) + bits + "p-1022"
	}
	return mantissa + "p" + fmt.Sprintf("%+d", n)
}
