package text

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n").Replace(s)
}

// measured calls f with the fields of each line of a file of results measured with Flink 2.3.0 on Java 17; the last field is the result.
func measured(t *testing.T, file string, f func(fields []string) (got string, skip bool)) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n, bad, skipped := 0, map[string]int{}, map[string]int{}
	for sc := bufio.NewScanner(in); sc.Scan(); {
		fields := strings.Split(sc.Text(), "\t")
		want := fields[len(fields)-1]
		fields = fields[:len(fields)-1]
		for i := range fields {
			fields[i] = unescape(fields[i])
		}
		switch {
		case want == `\N`:
			want = "NULL"
		case strings.HasPrefix(want, "ERR "):
			want = "ERR"
		default:
			want = unescape(want)
		}
		got, skip := f(fields)
		if skip {
			skipped[fields[0]]++
			continue
		}
		n++
		if got != want {
			if bad[fields[0]]++; bad[fields[0]] <= 12 {
				t.Errorf("%q: got %q, want %q", fields, got, want)
			}
		}
	}
	if n == 0 {
		t.Fatalf("%s: no line checked", file)
	}
	t.Logf("%s: %d checked, wrong %v, skipped %v", file, n, bad, skipped)
}

func orNull(s []byte, ok bool) (string, bool) {
	if !ok {
		return "NULL", false
	}
	return string(s), false
}

func TestTextMeasured(t *testing.T) {
	measured(t, "testdata/text.tsv", func(f []string) (string, bool) {
		if f[0] == "upper" {
			return string(AppendUpper(nil, []byte(f[1]))), false
		}
		if f[0] == "lower" {
			return string(AppendLower(nil, []byte(f[1]))), false
		}
		// The first letter of an argument is its Java type.
		s := []byte(f[1][1:])
		arg := func(i int) []byte { return []byte(f[i][1:]) }
		num := func(i int) int64 {
			n, err := strconv.ParseInt(f[i][1:], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		switch f[0] {
		case "like":
			return likeText(f)
		case "similar":
			return similarText(f)
		case "substringSQL":
			if len(f) == 3 {
				return string(Substring(s, num(2))), false
			}
			return orNull(SubstringFor(s, num(2), num(3)))
		case "lpad":
			return orNull(AppendLPad(nil, s, num(2), arg(3)))
		case "rpad":
			return orNull(AppendRPad(nil, s, num(2), arg(3)))
		case "overlay":
			if len(f) == 4 {
				return string(AppendOverlayAll(nil, s, arg(2), num(3))), false
			}
			return string(AppendOverlay(nil, s, arg(2), num(3), num(4))), false
		case "replace":
			return string(AppendReplace(nil, s, arg(2), arg(3))), hasPair(s) && f[2] == "s"
		case "splitIndex":
			return orNull(SplitIndex(s, arg(2), num(3)))
		case "position":
			if len(f) == 3 {
				return strconv.Itoa(Position(s, arg(2))), false
			}
			return strconv.Itoa(PositionFrom(s, arg(2), num(3))), false
		case "reverse":
			return string(AppendReverse(nil, s)), false
		case "repeat":
			return orNull(AppendRepeat(nil, s, num(2)))
		case "parseUrl":
			if len(f) == 4 {
				return orNull(ParseURLQuery(s, f[3][1:]))
			}
			return orNull(ParseURL(s, f[2][1:]))
		case "regexpReplace", "regexpExtract", "regExp":
			return regexpText(f)
		}
		t.Fatalf("unknown line %v", f)
		return "", false
	})
}

func hasPair(s []byte) bool { return strings.ContainsRune(string(s), '😀') }

func likeText(f []string) (string, bool) {
	l := CompileLike(f[2][1:])
	if len(f) == 4 {
		var err error
		if l, err = CompileLikeEscape(f[2][1:], f[3][1:]); err != nil {
			return "ERR", false
		}
	}
	return strconv.FormatBool(l.Match([]byte(f[1][1:]))), false
}

func similarText(f []string) (string, bool) {
	escape := ""
	if len(f) == 4 {
		escape = f[3][1:]
	}
	p, err := CompileSimilar(f[2][1:], escape)
	if err != nil {
		return "ERR", false
	}
	return strconv.FormatBool(p.Match([]byte(f[1][1:]))), false
}

func regexpText(f []string) (string, bool) {
	s, pattern := []byte(f[1][1:]), f[2][1:]
	r, err := CompileRegexp(pattern)
	if errors.Is(err, ErrUnsupported) || strings.Contains(pattern, `\b`) && !isASCII(s) {
		return "", true
	}
	if f[0] == "regExp" {
		return strconv.FormatBool(err == nil && pattern != "" && r.Match(s)), strings.Contains(pattern, "$") && strings.HasSuffix(f[1], "\n")
	}
	if err != nil {
		return "NULL", false
	}
	if f[0] == "regexpReplace" {
		return string(r.AppendReplace(nil, s, []byte(f[3][1:]))), strings.Contains(pattern, "$")
	}
	group, _ := strconv.ParseInt(f[3][1:], 10, 64)
	part, ok := r.Extract(s, group)
	if !ok {
		return "NULL", false
	}
	return string(part), strings.Contains(pattern, "$")
}
