package function

import (
	"errors"
	"fmt"

	"staunch/function/text"
	"staunch/kernel"
	"staunch/types"
)

// regexFunctions are the functions of regular expressions. What a pattern that Java refuses gives differs from function to function; a pattern that
// only Staunch cannot run is an error, at planning if it is constant.
var regexFunctions = []*Function{
	regexFunction("REGEXP", strictly(booleanType), 2, 2,
		func(r *kernel.Row, re *text.Regexp) { r.PutBool(len(r.Bytes(1)) > 0 && re.Match(r.Bytes(0))) },
		func(r *kernel.Row) { r.PutBool(false) }),
	regexFunction("REGEXP_REPLACE", strictly(types.String_), 3, 3,
		func(r *kernel.Row, re *text.Regexp) { r.End(re.AppendReplace(r.Buffer(), r.Bytes(0), r.Bytes(2))) }, putNull),
	regexFunction("REGEXP_EXTRACT", nullable(types.String_), 2, 3, regexExtract, putNull),
	regexFunction("REGEXP_COUNT", nullable(integerType), 2, 2,
		func(r *kernel.Row, re *text.Regexp) { r.PutInt(int64(re.Count(r.Bytes(0)))) }, putNull),
	regexFunction("REGEXP_INSTR", nullable(integerType), 2, 2,
		func(r *kernel.Row, re *text.Regexp) { r.PutInt(int64(re.Instr(r.Bytes(0)))) }, putNull),
	regexFunction("REGEXP_SUBSTR", nullable(types.String_), 2, 2, func(r *kernel.Row, re *text.Regexp) {
		if part, ok := re.Substr(r.Bytes(0)); ok {
			r.PutBytes(part)
		}
	}, putNull),
	similarTo(),
}

func putNull(*kernel.Row) {}

func regexExtract(r *kernel.Row, re *text.Regexp) {
	group := int64(0)
	if r.Args() == 3 {
		group = r.Int(2)
	}
	if part, ok := re.Extract(r.Bytes(0), group); ok {
		r.PutBytes(part)
	}
}

// regexes remembers the last pattern of a call.
type regexes struct {
	last *text.Regexp
	text string
	err  error
}

func (x *regexes) get(pattern []byte) (*text.Regexp, error) {
	if x.last == nil && x.err == nil || string(pattern) != x.text {
		x.text = string(pattern)
		x.last, x.err = text.CompileRegexp(x.text)
	}
	return x.last, x.err
}

// regexFunction has the text first, then the pattern; bad is what a bad pattern gives.
func regexFunction(name string, ret returns, least, most int, match func(*kernel.Row, *text.Regexp), bad func(*kernel.Row)) *Function {
	params := []family{character, character, character}
	if name == "REGEXP_EXTRACT" {
		params[2] = integer
	}
	f := (&Function{Name: name, CanFail: true}).signatures(sig{params: params[:most], opt: most - least, ret: ret})
	f.op = func(c *Call, _ Session) (Op, error) {
		var known regexes
		if pattern, ok := constText(c.Args[1]); ok {
			if _, err := known.get([]byte(pattern)); errors.Is(err, text.ErrUnsupported) {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return lift(func(r *kernel.Row) error {
			re, err := known.get(r.Bytes(1))
			switch {
			case errors.Is(err, text.ErrUnsupported):
				return fmt.Errorf("%s: %w", name, err)
			case err != nil:
				bad(r)
			default:
				match(r, re)
			}
			return nil
		}), nil
	}
	return f
}

// similarTo is text SIMILAR TO pattern [ESCAPE c].
func similarTo() *Function {
	f := &Function{Name: "SIMILAR TO", CanFail: true, form: "<CHARACTER> SIMILAR TO <CHARACTER> [ESCAPE <CHARACTER>]"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) { return f.texts(args, booleanType) }
	f.op = func(c *Call, _ Session) (Op, error) {
		pattern, constant := constText(c.Args[1])
		escape := ""
		if len(c.Args) == 3 {
			e, ok := constText(c.Args[2])
			escape, constant = e, constant && ok
		}
		if constant {
			p, err := text.CompileSimilar(pattern, escape)
			if err != nil {
				return nil, err
			}
			return matchAll(p.Match), nil
		}
		return lift(func(r *kernel.Row) error {
			if r.Args() == 3 {
				escape = string(r.Bytes(2))
			}
			p, err := text.CompileSimilar(string(r.Bytes(1)), escape)
			if err != nil {
				return err
			}
			r.PutBool(p.Match(r.Bytes(0)))
			return nil
		}), nil
	}
	return f
}
