package parse

import (
	"fmt"
	"strings"

	"staunch/config"
	"staunch/fault"
	"staunch/sql/ast"
)

// Error is a refused text: where, what was expected and found, and what to write instead.
type Error struct {
	Pos  ast.Pos // first character of the offending token
	Stop ast.Pos // just after it
	Msg  string  // what was expected and what was found
	Hint string  // what to do; may be empty
}

// Error gives "line:col: message", and the hint in parentheses.
func (e *Error) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Msg)
	}
	return fmt.Sprintf("%d:%d: %s (%s)", e.Pos.Line, e.Pos.Col, e.Msg, e.Hint)
}

// As makes errors.As and fault.ClassOf see an error of class [fault.User].
func (e *Error) As(target any) bool {
	f, ok := target.(**fault.Error)
	if ok {
		*f = &fault.Error{Class: fault.User, Err: fmt.Errorf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Msg), Hint: e.Hint}
	}
	return ok
}

// Errors are the errors of a script, in the order of their places.
type Errors []*Error

// Error joins the errors with line feeds.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first [*Error].
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Render shows err for a person: the message, the source line with carets under the place, and the hint. name is the file's
// name, or empty. Any error is taken; what is no [*Error] or [Errors] is shown by its text alone.
func Render(err error, src, name string) string {
	switch e := err.(type) {
	case nil:
		return ""
	case *Error:
		return e.render(src, name)
	case Errors:
		parts := make([]string, len(e))
		for i, x := range e {
			parts[i] = x.render(src, name)
		}
		return strings.Join(parts, "\n")
	}
	return err.Error() + "\n"
}

// maxShown is the number of characters of a source line that are shown on each side of the place.
const maxShown = 100

func (e *Error) render(src, name string) string {
	var b strings.Builder
	if name != "" {
		b.WriteString(name + ":")
	}
	fmt.Fprintf(&b, "%d:%d: %s\n", e.Pos.Line, e.Pos.Col, e.Msg)
	line, caret := e.sourceLine(src)
	gutter := fmt.Sprintf("%5d | ", e.Pos.Line)
	b.WriteString(strings.TrimRight(gutter+line, " ") + "\n")
	b.WriteString(strings.Repeat(" ", len(gutter)-2) + "| " + caret + "\n")
	if e.Hint != "" {
		b.WriteString(strings.Repeat(" ", len(gutter)-2) + "= " + e.Hint + "\n")
	}
	return b.String()
}

// sourceLine gives the line of the place, cut to a readable length, and carets below the token. Tabs become one space, so
// that both lines stay aligned.
func (e *Error) sourceLine(src string) (line, caret string) {
	off := min(max(e.Pos.Offset, 0), len(src))
	from := strings.LastIndexByte(src[:off], '\n') + 1
	to := len(src)
	if n := strings.IndexByte(src[off:], '\n'); n >= 0 {
		to = off + n
	}
	before, after := []rune(shown(src[from:off])), []rune(shown(src[off:to]))
	width := 1
	if e.Stop.Line == e.Pos.Line && e.Stop.Offset > off {
		width = len([]rune(src[off:min(e.Stop.Offset, to)]))
	} else if e.Stop.Line > e.Pos.Line {
		width = len(after)
	}
	if len(before) > maxShown {
		before = append([]rune("..."), before[len(before)-maxShown:]...)
	}
	if len(after) > maxShown {
		after = append(after[:maxShown:maxShown], []rune("...")...)
	}
	width = max(1, min(width, len(after)))
	return string(before) + string(after), strings.Repeat(" ", len(before)) + strings.Repeat("^", width)
}

// shown makes text fit for one line of a terminal: valid UTF-8, no control characters.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// near gives the word of candidates that found was probably meant to be, or "".
func near(found string, candidates []string) string {
	found = strings.ToUpper(found)
	if len(found) < 3 {
		return ""
	}
	limit := 1
	if len(found) >= 5 {
		limit = 2
	}
	best, bestDist := "", limit+1
	for _, c := range candidates {
		if c == found || len(c) < 3 || len(c)-len(found) > limit || len(found)-len(c) > limit {
			continue
		}
		d := config.Distance(found, c)
		if d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}
