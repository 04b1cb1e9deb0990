package json

import (
	"staunch/config"
	"staunch/format"
)

// Factory makes the decoders and encoders of the format json.
var Factory = format.Factory{
	Name:       "json",
	Extension:  "json",
	Options:    optionTable,
	Decoder:    openDecoder,
	FileWriter: openFileFormat,
}

// optionTable has Flink's option names without "json.".
var optionTable = []config.Option{
	{Key: "fail-on-missing-field", Type: config.TypeBool, Default: "false",
		Doc: "Whether a record without one of the columns is an error; otherwise the column is NULL. Not together with ignore-parse-errors."},
	{Key: "ignore-parse-errors", Type: config.TypeBool, Default: "false",
		Doc: "Records that are not JSON are left out and counted, fields that do not convert become NULL and are counted; otherwise the job stops at them."},
	{Key: "timestamp-format.standard", Type: config.TypeEnum, Default: "SQL", Enum: []string{"SQL", "ISO-8601"},
		Doc: "Text of timestamps: SQL is 'yyyy-MM-dd HH:mm:ss.f', ISO-8601 has a T between date and time. TIMESTAMP_LTZ ends in Z in both."},
	{Key: "map-null-key.mode", Type: config.TypeEnum, Default: "FAIL", Enum: []string{"FAIL", "DROP", "LITERAL"},
		Doc: "What the encoder does with a NULL key of a MAP."},
	{Key: "map-null-key.literal", Type: config.TypeString, Default: "null", Doc: "The key written for NULL when map-null-key.mode is LITERAL."},
	{Key: "encode.decimal-as-plain-number", Type: config.TypeBool, Default: "false",
		Doc: "Whether decimals are written without an exponent: 100 instead of 1E+2."},
	{Key: "encode.ignore-null-fields", Type: config.TypeBool, Default: "false", Doc: "Whether fields that are NULL are left out of the output."},
	{Key: "decode.json-parser.enabled", Type: config.TypeBool, Default: "true",
		Ignored: "there is one decoder, and it does not build a tree"},
}

func openDecoder(p format.Params) (format.Decoder, error) {
	o, err := parseOptions(p)
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(p, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func openFileFormat(p format.Params) (format.FileFormat, error) {
	o, err := parseOptions(p)
	if err != nil {
		return nil, err
	}
	f, err := newFileFormat(p, o)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func parseOptions(p format.Params) (o options, err error) {
	v, _, err := p.Options.Check(optionTable)
	if err != nil {
		return o, err
	}
	// After Check the getters of an option's own type cannot fail.
	o.failOnMissing, _ = v.Bool("fail-on-missing-field")
	o.ignore, _ = v.Bool("ignore-parse-errors")
	standard, _ := v.Enum("timestamp-format.standard")
	o.iso = standard == "ISO-8601"
	o.plainDecimal, _ = v.Bool("encode.decimal-as-plain-number")
	o.ignoreNulls, _ = v.Bool("encode.ignore-null-fields")
	if o.failOnMissing && o.ignore {
		return o, v.Errorf("fail-on-missing-field", "cannot be true together with ignore-parse-errors: leave one of them out")
	}
	for _, key := range []string{"json.coercion", "staunch.json.coercion"} {
		switch text := p.Staunch.String(key); text {
		case "", "flink":
		case "fail":
			o.strictTypes = true
		default:
			return o, p.Staunch.Errorf(key, "accepted is flink or fail")
		}
	}
	return o, nil
}
