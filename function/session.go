package function

import (
	"errors"
	"strings"
	"time"

	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/kernel"
	"staunch/types"
)

// sessionFunctions give the time and the session's settings; and TYPEOF.
var sessionFunctions = []*Function{
	current("CURRENT_TIMESTAMP", types.NewTimestampLTZ(3)), current("NOW", types.NewTimestampLTZ(3)),
	current("CURRENT_ROW_TIMESTAMP", types.NewTimestampLTZ(3)), current("LOCALTIMESTAMP", types.NewTimestamp(3)),
	current("CURRENT_DATE", types.New(types.Date)), current("CURRENT_TIME", types.NewTime(0)), current("LOCALTIME", types.NewTime(0)),
	currentDatabase(), typeOf(),
}

// current is the time when the batch is computed, in the session's zone where the type has none.
func current(name string, t types.Type) *Function {
	f := (&Function{Name: name, Volatile: true}).signatures(sig{ret: strictly(t)})
	f.op = func(_ *Call, s Session) (Op, error) {
		zone := s.zone()
		return clockOp(name, t, s, func(now time.Time) int64 {
			v := now.UnixMilli()
			if t.Kind != types.TimestampLTZ {
				v, _ = zone.InstantToLocal(v, 1000)
			}
			switch t.Kind {
			case types.Date:
				return int64(datetime.TimestampToDate(v, 1000))
			case types.Time:
				return truncTime(int64(datetime.TimestampToTime(v, 1000)), t.Precision)
			}
			return v
		}), nil
	}
	return f
}

// clockOp gives what value makes of the time of the batch.
func clockOp(name string, t types.Type, s Session, value func(now time.Time) int64) Op {
	return func(dst *changelog.Column, _ []kernel.Vec, n int, _ kernel.Mask) error {
		if s.Now == nil {
			return &RowError{Err: errors.New(name + ": the session has no clock")}
		}
		kernel.Broadcast(dst, NewInt(t, value(s.Now())).Value, n)
		return nil
	}
}

func currentDatabase() *Function {
	f := (&Function{Name: "CURRENT_DATABASE"}).signatures(sig{ret: strictly(types.String_)})
	f.op = func(_ *Call, s Session) (Op, error) {
		return func(dst *changelog.Column, _ []kernel.Vec, n int, _ kernel.Mask) error {
			for range n {
				dst.AppendString(s.Database)
			}
			return nil
		}, nil
	}
	return f
}

// typeOf is the text of a type; the argument is computed all the same, as in Flink.
func typeOf() *Function {
	f := &Function{Name: "TYPEOF", form: "<ANY> | <ANY>, <BOOLEAN>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if len(args) == 0 || len(args) > 2 || len(args) == 2 && !boolean.has(args[1].Type()) {
			return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
		}
		return args, types.String_, nil
	}
	f.op = func(c *Call, _ Session) (Op, error) {
		t := c.Args[0].Type()
		text := t.String()
		if t.Kind == types.Null {
			text = "NULL"
		}
		text = strings.TrimSpace(text)
		return func(dst *changelog.Column, _ []kernel.Vec, n int, _ kernel.Mask) error {
			for range n {
				dst.AppendString(text)
			}
			return nil
		}, nil
	}
	return f
}
