package kafka

import (
	"testing"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/format"
	"staunch/types"
)

// rawFormat decodes a value into one STRING column; "bad" does not parse, "skip" is left out.
var rawFormat = format.Factory{Name: "plain", Decoder: func(p format.Params) (format.Decoder, error) { return plainDecoder{}, nil }}

type plainDecoder struct{}

func (plainDecoder) Decode(value []byte, cols []*changelog.Column) (bool, error) {
	switch string(value) {
	case "bad":
		return false, &format.RecordError{Column: "v", At: 1, Msg: "is bad"}
	case "skip":
		return true, nil
	}
	for _, c := range cols {
		c.AppendBytes(value)
	}
	return false, nil
}

func (plainDecoder) Coerced() []int64 { return nil }

// nothingFormat decodes nothing, to measure what is around it.
var nothingFormat = format.Factory{Name: "nothing", Decoder: func(p format.Params) (format.Decoder, error) { return nothingDecoder{}, nil }}

type nothingDecoder struct{}

func (nothingDecoder) Decode(value []byte, cols []*changelog.Column) (bool, error) { return false, nil }
func (nothingDecoder) Coerced() []int64                                            { return nil }

func formats(name string) (format.Factory, bool) {
	for _, f := range []format.Factory{rawFormat, nothingFormat} {
		if f.Name == name {
			return f, true
		}
	}
	return format.Factory{}, false
}

var valueColumn = connector.Column{Name: "v", Type: types.String_}

// newTable makes a table with options as key, value pairs.
func newTable(t testing.TB, columns []connector.Column, kv ...string) connector.Table {
	t.Helper()
	raw := map[string]string{"connector": "kafka", "format": "plain", "scan.startup.mode": "earliest-offset"}
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i+1] == "" {
			delete(raw, kv[i])
			continue
		}
		raw[kv[i]] = kv[i+1]
	}
	o, _, err := config.NewValues("table src", raw, nil).Check(Factory.Options)
	if err != nil {
		t.Fatal(err)
	}
	return connector.Table{Name: "src", Columns: columns, AllColumns: []connector.Column{valueColumn}, Options: o, Zone: time.UTC, Formats: formats}
}

func newTestSource(t testing.TB, columns []connector.Column, kv ...string) *source {
	t.Helper()
	s, err := Factory.Source(newTable(t, columns, kv...))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*source)
}

func schemaOf(columns []connector.Column) changelog.Schema {
	var s changelog.Schema
	for _, c := range columns {
		s = append(s, changelog.Field{Name: c.Name, Type: c.Type})
	}
	return s
}
