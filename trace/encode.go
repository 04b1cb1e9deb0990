package trace

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"staunch/account"
)

// Records are lines of JSON, appended without reflection. Against a binary form with varints and a table of folders they take twice the bytes (291
// against 144) and three times the time (1.1 against 0.4 microseconds a rename, BenchmarkRecord); a thousand operations a second are a thousandth of
// a core, and any tool reads them.

// appendRecord encodes x as one line.
func appendRecord(b []byte, x *Record) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, x.Time, 10)
	b = text(b, "op", string(x.Op))
	b = text(b, "p", x.Path)
	b = text(b, "to", x.To)
	b = number(b, "cp", int64(x.Checkpoint))
	if x.Task != NoTask {
		b = append(b, `,"task":`...)
		b = strconv.AppendInt(b, int64(x.Task), 10)
	}
	b = number(b, "at", int64(x.Attempt))
	b = number(b, "us", x.Took.Microseconds())
	b = number(b, "n", x.Bytes)
	b = number(b, "files", x.Files)
	b = text(b, "r", string(x.Outcome))
	b = text(b, "e", x.Error)
	b = text(b, "note", x.Note)
	return append(b, "}\n"...)
}

// number adds a number that is not 0.
func number(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, n, 10)
}

// text adds a text that is not empty.
func text(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":"`...)
	b = quoted(b, s)
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"

// quoted adds s as it stands in a JSON string; bytes that are no UTF-8 become U+FFFD.
func quoted(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
			i++
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
		}
		from = i
	}
	return append(b, s[from:]...)
}

// line is what a line of a file holds.
type line struct {
	T     *int64  `json:"t"`
	Op    Op      `json:"op"`
	P     string  `json:"p"`
	To    string  `json:"to"`
	Cp    int64   `json:"cp"`
	Task  *int    `json:"task"`
	At    int     `json:"at"`
	Us    int64   `json:"us"`
	N     int64   `json:"n"`
	Files int64   `json:"files"`
	R     Outcome `json:"r"`
	E     string  `json:"e"`
	Note  string  `json:"note"`
}

// decodeRecord reads what appendRecord wrote. Fields that it does not know are a later version's, and left out.
func decodeRecord(b []byte) (Record, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return Record{}, err
	}
	if l.T == nil || l.Op == "" {
		return Record{}, errors.New("a record without time or operation")
	}
	x := Record{Time: *l.T, Took: time.Duration(l.Us) * time.Microsecond, Op: l.Op, Path: l.P, To: l.To, Checkpoint: account.CheckpointID(l.Cp),
		Task: NoTask, Attempt: l.At, Bytes: l.N, Files: l.Files, Outcome: l.R, Error: l.E, Note: l.Note}
	if l.Task != nil {
		x.Task = *l.Task
	}
	return x, nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
