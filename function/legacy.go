package function

import (
	"fmt"
	"time"

	"staunch/function/datetime"
	"staunch/kernel"
	"staunch/types"
)

// legacyTime are the functions that follow java.text.SimpleDateFormat.
var legacyTime = []*Function{fromUnixtime(), unixTimestamp(), convertTZ()}

// legacyPatterns remembers the last pattern of a call.
type legacyPatterns struct {
	last *datetime.LegacyPattern
	text string
}

func (p *legacyPatterns) get(text []byte, name string) (*datetime.LegacyPattern, error) {
	if p.last == nil || string(text) != p.text {
		next, err := datetime.CompileLegacyPattern(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p.last, p.text = next, string(text)
	}
	return p.last, nil
}

// optional gives the pattern in argument k, nil if there is none.
func (p *legacyPatterns) optional(r *kernel.Row, k int, name string) (*datetime.LegacyPattern, error) {
	if r.Args() <= k {
		return nil, nil
	}
	return p.get(r.Bytes(k), name)
}

// formatText is DATE_FORMAT(text, pattern).
func formatText(s Session) Op {
	var known legacyPatterns
	zone := s.zone()
	return lift(func(r *kernel.Row) error {
		p, err := known.get(r.Bytes(1), "DATE_FORMAT")
		if err != nil {
			return err
		}
		if out, ok := datetime.AppendReformat(r.Buffer(), r.Bytes(0), p, zone); ok {
			r.End(out)
		}
		return nil
	})
}

// fromUnixtime is FROM_UNIXTIME(seconds[, pattern]).
func fromUnixtime() *Function {
	f := (&Function{Name: "FROM_UNIXTIME", CanFail: true}).signatures(sig{params: []family{integer, character}, opt: 1, ret: nullable(types.String_)})
	check := f.resolve
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		args, t, err := check(args)
		if err == nil {
			args = append([]Expr{cast(args[0], bigint)}, args[1:]...)
		}
		return args, t, err
	}
	f.op = func(_ *Call, s Session) (Op, error) {
		var known legacyPatterns
		zone := s.zone()
		return lift(func(r *kernel.Row) error {
			p, err := known.optional(r, 1, f.Name)
			if err != nil {
				return err
			}
			r.End(datetime.AppendFromUnixTime(r.Buffer(), r.Int(0), p, zone))
			return nil
		}), nil
	}
	return f
}

// unixTimestamp is UNIX_TIMESTAMP() and UNIX_TIMESTAMP(text[, pattern]).
func unixTimestamp() *Function {
	f := (&Function{Name: "UNIX_TIMESTAMP", CanFail: true}).signatures(
		sig{ret: strictly(bigint)}, sig{params: []family{character, character}, opt: 1, ret: strictly(bigint)})
	f.volatile = func(c *Call) bool { return len(c.Args) == 0 }
	f.op = func(c *Call, s Session) (Op, error) {
		if len(c.Args) == 0 {
			return clockOp(f.Name, bigint, s, func(now time.Time) int64 { return now.Unix() }), nil
		}
		var known legacyPatterns
		zone := s.zone()
		return lift(func(r *kernel.Row) error {
			p, err := known.optional(r, 1, f.Name)
			if err != nil {
				return err
			}
			r.PutInt(datetime.UnixTimestamp(r.Bytes(0), p, zone))
			return nil
		}), nil
	}
	return f
}

// convertTZ is CONVERT_TZ(text, from, to).
func convertTZ() *Function {
	f := (&Function{Name: "CONVERT_TZ"}).signatures(sig{params: []family{character, character, character}, ret: nullable(types.String_)})
	f.op = func(*Call, Session) (Op, error) {
		var from, to zoneOf
		return lift(func(r *kernel.Row) error {
			if out, ok := datetime.AppendConvertTZ(r.Buffer(), r.Bytes(0), from.get(r.Bytes(1)), to.get(r.Bytes(2))); ok {
				r.End(out)
			}
			return nil
		}), nil
	}
	return f
}

// zoneOf remembers the last zone.
type zoneOf struct {
	zone *datetime.Zone
	id   string
}

func (z *zoneOf) get(id []byte) *datetime.Zone {
	if z.zone == nil || string(id) != z.id {
		z.id = string(id)
		z.zone = datetime.LegacyZone(z.id)
	}
	return z.zone
}
