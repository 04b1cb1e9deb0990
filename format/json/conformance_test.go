package json

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"staunch/changelog"
	"staunch/format/formattest"
)

func TestDecoderConformance(t *testing.T) {
	all := formattest.AtomicFields()
	p := params(all)
	// Records with every column: what the encoder writes.
	f, err := Factory.FileWriter(p)
	if err != nil {
		t.Fatal(err)
	}
	cols := formattest.Columns(all, 40, 7)
	var out bytes.Buffer
	w, err := f.Open(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(cols, 0, 40); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(nil); err != nil {
		t.Fatal(err)
	}
	good := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	good = append(good, []byte(`{ "c3_int" : 1 , "c15_string":"a\u00e9\ud83d\ude00" }`), []byte("\t{}\n"), []byte(`{"c3_int":"7","c15_string":12,"unknown":[{}, "x"]}`))
	bad := [][]byte{[]byte(`{`), []byte(`{"c3_int":1`), []byte(`{"c3_int":1,}`), []byte(`{"c3_int":tru}`), []byte(`[]`), []byte(`null`), []byte(` `),
		[]byte(`{"c3_int":1}x`), []byte(`{"c15_string":"a","c3_int":"x"}`), []byte("{\"c15_string\":\"\xc3\x28\"}"), []byte(`{"other":"\ud83"}`), []byte(`{"c3_int":99999999999}`)}
	formattest.RunDecoder(t, formattest.DecoderSuite{Factory: Factory, Params: p, Ignoring: params(all, "ignore-parse-errors=true"), Good: good, Bad: bad})
}

func TestWriterConformance(t *testing.T) {
	all := formattest.AtomicFields()
	for _, options := range [][]string{nil, {"timestamp-format.standard=ISO-8601", "encode.decimal-as-plain-number=true", "encode.ignore-null-fields=true"}} {
		p := params(all, options...)
		formattest.RunFileWriter(t, formattest.WriterSuite{Factory: Factory, Params: p, Read: func(t testing.TB, file []byte) []*changelog.Column {
			d, cols := newTestDecoder(t, p)
			for _, line := range bytes.Split(file, []byte("\n")) {
				if len(line) == 0 {
					continue
				}
				if !stdjson.Valid(line) {
					t.Fatalf("%q: the standard library does not take it for JSON", line)
				}
				if skip, err := d.Decode(line, cols); skip || err != nil {
					t.Fatalf("%q: skip %v, error %v", line, skip, err)
				}
			}
			for j, n := range d.Coerced() {
				if n != 0 {
					t.Errorf("column %s: %d values changed on the way", all[j].Name, n)
				}
			}
			return cols
		}})
	}
}
