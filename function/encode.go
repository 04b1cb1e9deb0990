package function

import (
	"fmt"

	"staunch/function/text"
	"staunch/kernel"
	"staunch/types"
)

// encodings are digests, encodings of bytes and numbers as text, URLs and addresses.
var encodings = []*Function{
	digest("MD5", 32, text.AppendMD5), digest("SHA1", 40, text.AppendSHA1), digest("SHA224", 56, sha(224)), digest("SHA256", 64, sha(256)),
	digest("SHA384", 96, sha(384)), digest("SHA512", 128, sha(512)), sha2(),
	row("TO_BASE64", func(r *kernel.Row) error { r.End(text.AppendBase64(r.Buffer(), r.Bytes(0))); return nil },
		sig{params: []family{character}, ret: strictly(types.String_)}, sig{params: []family{binary}, ret: strictly(types.String_)}),
	fromBase64(),
	row("BIN", func(r *kernel.Row) error { r.End(text.AppendBin(r.Buffer(), r.Int(0))); return nil },
		sig{params: []family{integer}, ret: strictly(types.String_)}),
	row("HEX", func(r *kernel.Row) error {
		if r.Type(0).IsString() {
			r.End(text.AppendHex(r.Buffer(), r.Bytes(0)))
		} else {
			r.End(text.AppendHexInt(r.Buffer(), r.Int(0)))
		}
		return nil
	}, sig{params: []family{integer}, ret: strictly(types.String_)}, sig{params: []family{character}, ret: strictly(types.String_)}),
	mayBeNull("UNHEX", text.AppendUnhex, types.Bytes),
	row("URL_ENCODE", func(r *kernel.Row) error { r.End(text.AppendURLEncode(r.Buffer(), r.Bytes(0))); return nil },
		sig{params: []family{character}, ret: nullable(types.String_)}),
	mayBeNull("URL_DECODE", text.AppendURLDecode, types.String_),
	charset("ENCODE", text.AppendEncode, character, types.Bytes), charset("DECODE", text.AppendDecode, binary, types.String_),
	row("PARSE_URL", parseURL, sig{params: []family{character, character, character}, opt: 1, ret: nullable(types.String_)}),
	row("INET_ATON", func(r *kernel.Row) error {
		if v, ok := text.InetAton(r.Bytes(0)); ok {
			r.PutInt(v)
		}
		return nil
	}, sig{params: []family{character}, ret: nullable(bigint)}),
	row("INET_NTOA", func(r *kernel.Row) error {
		if out, ok := text.AppendInetNtoa(r.Buffer(), r.Int(0)); ok {
			r.End(out)
		}
		return nil
	}, sig{params: []family{integer}, ret: nullable(types.String_)}),
}

// digest is a hash as lower-case hexadecimal digits.
func digest(name string, digits int, f func(dst, s []byte) []byte) *Function {
	t := strictly(types.NewChar(digits))
	return row(name, func(r *kernel.Row) error { r.End(f(r.Buffer(), r.Bytes(0))); return nil },
		sig{params: []family{character}, ret: t}, sig{params: []family{binary}, ret: t})
}

// sha is a hash of the SHA-2 family of a length that it has.
func sha(bits int64) func(dst, s []byte) []byte {
	return func(dst, s []byte) []byte {
		out, _ := text.AppendSHA2(dst, s, bits)
		return out
	}
}

// sha2 is SHA2(text, bits).
func sha2() *Function {
	f := (&Function{Name: "SHA2", CanFail: true}).signatures(sig{params: []family{character, integer}, ret: strictly(types.NewVarchar(128))})
	f.op = func(c *Call, _ Session) (Op, error) {
		if bits, ok := constInt(c.Args[1]); ok {
			if _, err := text.AppendSHA2(nil, nil, bits); err != nil {
				return nil, err
			}
		}
		return lift(func(r *kernel.Row) error {
			out, err := text.AppendSHA2(r.Buffer(), r.Bytes(0), r.Int(1))
			if err != nil {
				return err
			}
			r.End(out)
			return nil
		}), nil
	}
	return f
}

func fromBase64() *Function {
	f := &Function{Name: "FROM_BASE64", CanFail: true}
	f.signatures(sig{params: []family{character}, ret: strictly(types.String_)}, sig{params: []family{binary}, ret: strictly(types.String_)})
	f.op = func(*Call, Session) (Op, error) {
		var decoded []byte
		return lift(func(r *kernel.Row) error {
			var err error
			if decoded, err = text.AppendFromBase64(decoded[:0], r.Bytes(0)); err != nil {
				return fmt.Errorf("FROM_BASE64: %w", err)
			}
			r.End(appendValidUTF8(r.Buffer(), decoded))
			return nil
		}), nil
	}
	return f
}

// mayBeNull is a function of one text that is NULL for texts that are none of its kind.
func mayBeNull(name string, f func(dst, s []byte) ([]byte, bool), t types.Type) *Function {
	return row(name, func(r *kernel.Row) error {
		if out, ok := f(r.Buffer(), r.Bytes(0)); ok {
			r.End(out)
		}
		return nil
	}, sig{params: []family{character}, ret: nullable(t)})
}

// charset converts between text and bytes of a character set that is named by the second argument.
func charset(name string, f func(dst, s []byte, c text.Charset) []byte, from family, t types.Type) *Function {
	fn := row(name, func(r *kernel.Row) error {
		c, err := text.ParseCharset(r.String(1))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.End(f(r.Buffer(), r.Bytes(0), c))
		return nil
	}, sig{params: []family{from, character}, ret: strictly(t)})
	fn.CanFail = true
	return fn
}

func parseURL(r *kernel.Row) error {
	var part []byte
	var ok bool
	switch {
	case r.Args() == 2:
		part, ok = text.ParseURL(r.Bytes(0), r.String(1))
	case r.String(1) == "QUERY":
		part, ok = text.ParseURLQuery(r.Bytes(0), r.String(2))
	}
	if ok {
		r.PutBytes(part)
	}
	return nil
}
