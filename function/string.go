package function

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"

	"staunch/changelog"
	"staunch/kernel"
	"staunch/types"
)

// stringFunctions are the functions of texts and bytes.
var stringFunctions = []*Function{
	concatOp(), concat(), concatWS(), likeOp(),
	digest("MD5", md5.New), digest("SHA1", sha1.New), digest("SHA224", sha256.New224), digest("SHA256", sha256.New),
	digest("SHA384", sha512.New384), digest("SHA512", sha512.New), sha2(), toBase64(), fromBase64(),
}

// row makes a function of signatures and of the computation of one row.
func row(name string, f func(r *kernel.Row) error, sigs ...sig) *Function {
	fn := (&Function{Name: name}).signatures(sigs...)
	fn.op = func(*Call, Session) (Op, error) { return lift(f), nil }
	return fn
}

// concatOp is ||; its type adds the lengths, CHAR stays CHAR.
func concatOp() *Function {
	f := &Function{Name: "||", format: infix, form: "<STRING> || <STRING>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		a, b := args[0].Type(), args[1].Type()
		if a.Kind == types.Null || b.Kind == types.Null {
			return nil, a, fmt.Errorf("illegal use of NULL: write CAST(NULL AS STRING)")
		}
		var t types.Type
		switch {
		case a.IsString() && b.IsString():
			t.Kind = types.Varchar
			if a.Kind == types.Char && b.Kind == types.Char {
				t.Kind = types.Char
			}
		case a.IsBinary() && b.IsBinary():
			t.Kind = types.Varbinary
			if a.Kind == types.Binary && b.Kind == types.Binary {
				t.Kind = types.Binary
			}
		default:
			return nil, a, &ArgError{Func: f, Args: typesOf(args)}
		}
		t.Length = min(a.Length+b.Length, types.MaxLength)
		return args, t.WithNotNull(allNotNull(args)), nil
	}
	f.op = func(*Call, Session) (Op, error) { return concatenate, nil }
	return f
}

// concatenate joins all arguments; NULL if one is.
func concatenate(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
	kernel.Make(dst, n)
	dst.N = n
	kernel.Strict(dst, n, args...)
	off, data := append(dst.Off[:0], 0), dst.Data[:0]
	for i := range n {
		if !dst.IsNull(i) {
			for _, a := range args {
				data = append(data, a.Col.Bytes(a.Index(i))...)
			}
		}
		off = append(off, int32(len(data)))
	}
	dst.Off, dst.Data = off, data
	return nil
}

func concat() *Function {
	f := (&Function{Name: "CONCAT"}).signatures(sig{params: []family{character}, more: true, ret: strictly(types.String_)},
		sig{params: []family{binary}, more: true, ret: strictly(types.Bytes)})
	f.op = func(*Call, Session) (Op, error) { return concatenate, nil }
	return f
}

// concatWS joins the values that are not NULL.
func concatWS() *Function {
	f := (&Function{Name: "CONCAT_WS"}).signatures(sig{params: []family{character, character}, more: true, ret: nullable(types.String_)})
	f.op = func(*Call, Session) (Op, error) {
		return liftNullable(func(r *kernel.Row) error {
			if r.Null(0) {
				return nil
			}
			b := r.Buffer()
			first := true
			for k := 1; k < r.Args(); k++ {
				if r.Null(k) {
					continue
				}
				if !first {
					b = append(b, r.Bytes(0)...)
				}
				b = append(b, r.Bytes(k)...)
				first = false
			}
			r.End(b)
			return nil
		}), nil
	}
	return f
}

// digest is a hash as lower-case hex digits.
func digest(name string, newHash func() hash.Hash) *Function {
	size := newHash().Size()
	f := (&Function{Name: name}).signatures(sig{params: []family{character}, ret: strictly(types.NewChar(2 * size))},
		sig{params: []family{binary}, ret: strictly(types.NewChar(2 * size))})
	f.op = func(*Call, Session) (Op, error) {
		h := newHash()
		var sum []byte
		return lift(func(r *kernel.Row) error {
			h.Reset()
			h.Write(r.Bytes(0))
			sum = h.Sum(sum[:0])
			r.End(hex.AppendEncode(r.Buffer(), sum))
			return nil
		}), nil
	}
	return f
}

// sha2 is SHA2(text, bits).
func sha2() *Function {
	hashes := map[int64]func() hash.Hash{224: sha256.New224, 256: sha256.New, 384: sha512.New384, 512: sha512.New}
	f := (&Function{Name: "SHA2", CanFail: true}).signatures(sig{params: []family{character, integer}, ret: strictly(types.NewVarchar(128))})
	f.op = func(c *Call, _ Session) (Op, error) {
		if bits, ok := constInt(c.Args[1]); ok && hashes[bits] == nil {
			return nil, fmt.Errorf("SHA2 has the lengths 224, 256, 384 and 512, not %d", bits)
		}
		var sum []byte
		return lift(func(r *kernel.Row) error {
			newHash := hashes[r.Int(1)]
			if newHash == nil {
				return fmt.Errorf("SHA2 has the lengths 224, 256, 384 and 512, not %d", r.Int(1))
			}
			h := newHash()
			h.Write(r.Bytes(0))
			sum = h.Sum(sum[:0])
			r.End(hex.AppendEncode(r.Buffer(), sum))
			return nil
		}), nil
	}
	return f
}

func toBase64() *Function {
	return row("TO_BASE64", func(r *kernel.Row) error {
		r.End(base64.StdEncoding.AppendEncode(r.Buffer(), r.Bytes(0)))
		return nil
	}, sig{params: []family{character}, ret: strictly(types.String_)})
}

func fromBase64() *Function {
	f := row("FROM_BASE64", func(r *kernel.Row) error {
		in := r.Bytes(0)
		enc := base64.StdEncoding
		if len(in)%4 != 0 { // Java's decoder takes text without padding
			enc = base64.RawStdEncoding
		}
		out, err := enc.AppendDecode(nil, in)
		if err != nil {
			return fmt.Errorf("FROM_BASE64: '%s': %w", clip(in), err)
		}
		r.End(appendValidUTF8(r.Buffer(), out))
		return nil
	}, sig{params: []family{character}, ret: strictly(types.String_)})
	f.CanFail = true
	return f
}
