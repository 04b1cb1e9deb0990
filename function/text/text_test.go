package text

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Rows of expressions.tsv and columns/expressions.tsv.
func TestRows(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	maybe := func(s []byte, ok bool) string {
		if !ok {
			return "NULL"
		}
		return string(s)
	}
	for _, c := range []struct{ name, got, want string }{
		{"UPPER straße", string(AppendUpper(nil, b("straße"))), "STRASSE"}, {"LOWER", string(AppendLower(nil, b("ÀÉ"))), "àé"},
		{"UPPER cut", string(Truncate(AppendUpper(nil, b("straße")), 6)), "STRASS"},
		{"INITCAP", string(AppendInitCap(nil, b("hello wORLD foo-bar 1st"))), "Hello World Foo-Bar 1st"},
		{"INITCAP of other scripts", string(AppendInitCap(nil, b("日本語 😀 a_b%c"))), "日本語 😀 A_B%C"},
		{"TRIM", string(Trim(b("  a  "), Space, true, true)), "a"}, {"TRIM LEADING", string(Trim(b("xxaxx"), b("x"), true, false)), "axx"},
		{"TRIM TRAILING", string(Trim(b("xxaxx"), b("x"), false, true)), "xxa"}, {"TRIM BOTH", string(Trim(b("xyaxy"), b("xy"), true, true)), "a"},
		{"RTRIM", string(TrimRight(b("abcba"), b("ab"))), "abc"},
		{"SUBSTRING", string(Substring(b("日本語テキスト"), 2)), "本語テキスト"}, {"SUBSTRING FOR", maybe(SubstringFor(b("日本語テキスト"), 2, 3)), "本語テ"},
		{"SUBSTRING 0", maybe(SubstringFor(b("hello"), 0, 2)), "he"}, {"SUBSTRING -2", maybe(SubstringFor(b("hello"), -2, 5)), "lo"},
		{"SUBSTRING -1 long", maybe(SubstringFor(b("hello"), 2, -1)), "NULL"}, {"SUBSTRING past", string(Substring(b("hello"), 10)), ""},
		{"LEFT", string(Left(b("日本語 😀"), 2)), "日本"}, {"LEFT -1", string(Left(b("hello"), -1)), ""}, {"RIGHT", string(Right(b("a_b%c"), 2)), "%c"},
		{"RIGHT all", string(Right(b("ab"), 9)), "ab"}, {"LPAD", maybe(AppendLPad(nil, b("日本語 😀 a_b%c"), 13, b("*"))), "*日本語 😀 a_b%c"},
		{"CHAR", string(AppendPadTo(nil, b("日本語 😀 a_b%c"), 5)), "日本語 😀"}, {"CHAR short", string(AppendPadTo(nil, b("a"), 3)), "a  "},
		{"TRANSLATE", string(AppendTranslate(nil, b("hello"), b("el"), b("ip"))), "hippo"}, {"TRANSLATE short", string(AppendTranslate(nil, b("hello"), b("elo"), b("i"))), "hi"},
		{"TRANSLATE empty", string(AppendTranslate(nil, b("hello"), b("l"), nil)), "heo"},
		{"CONCAT_WS", string(AppendConcatWS(nil, b("~"), b("AA"), nil, b("BB"), b(""), b("CC"))), "AA~BB~~CC"}, {"CONCAT_WS NULL", string(AppendConcatWS(nil, b(","), nil)), ""},
		{"ELT", maybe(Elt(2, b("a"), b("b"), b("c"))), "b"}, {"ELT 0", maybe(Elt(0, b("a"))), "NULL"}, {"ELT 5", maybe(Elt(5, b("a"))), "NULL"},
		{"CHR", string(AppendChr(nil, 353)), "a"}, {"CHR -1", string(AppendChr(nil, -1)), ""}, {"CHR 256", string(AppendChr(nil, 256)), "\x00"},
		{"HEX", string(AppendHex(nil, b("hello,world"))), "68656C6C6F2C776F726C64"}, {"HEX 20", string(AppendHexInt(nil, 20)), "14"},
		{"HEX -1", string(AppendHexInt(nil, -1)), "FFFFFFFFFFFFFFFF"}, {"HEX 255", string(AppendHexInt(nil, 255)), "FF"}, {"HEX 0", string(AppendHexInt(nil, 0)), "0"},
		{"UNHEX", maybe(AppendUnhex(nil, b("466C696E6B"))), "Flink"}, {"UNHEX F", maybe(AppendUnhex(nil, b("F"))), "\x00"}, {"UNHEX GG", maybe(AppendUnhex(nil, b("GG"))), "NULL"},
		{"BIN", string(AppendBin(nil, -1)), strings.Repeat("1", 64)}, {"BIN 4", string(AppendBin(nil, 4)), "100"}, {"BIN 0", string(AppendBin(nil, 0)), "0"},
		{"TO_BASE64", string(AppendBase64(nil, b("hello world"))), "aGVsbG8gd29ybGQ="},
		{"URL_ENCODE", string(AppendURLEncode(nil, b("a b&c=é/"))), "a+b%26c%3D%C3%A9%2F"}, {"URL_DECODE", maybe(AppendURLDecode(nil, b("a+b%26c%3D%C3%A9"))), "a b&c=é"},
		{"URL_DECODE bad", maybe(AppendURLDecode(nil, b("%zz"))), "NULL"}, {"MD5", string(AppendMD5(nil, b("Hello World"))), "b10a8db164e0754105b7a99be72e3fe5"},
		{"SHA1", string(AppendSHA1(nil, b("abc"))), "a9993e364706816aba3e25717850c26c9cd0d89d"}, {"INET_NTOA", maybe(AppendInetNtoa(nil, 2130706433)), "127.0.0.1"},
		{"ENCODE", fmt.Sprintf("%x", AppendEncode(nil, b("hi"), UTF16)), "feff00680069"}, {"ENCODE ASCII", fmt.Sprintf("%x", AppendEncode(nil, b("é"), USASCII)), "3f"},
		{"DECODE", string(AppendDecode(nil, []byte{0xd8, 0x3d, 0xde, 0x00, 0, 'a'}, UTF16BE)), "😀a"}, {"ASCII", fmt.Sprint(ASCII(b("é")), ASCII(nil), ASCII(b("abc"))), "-61 0 97"},
		{"POSITION FROM", fmt.Sprint(PositionFrom(b("o"), b("hello world"), 6)), "8"}, {"LOCATE", fmt.Sprint(PositionFrom(b("l"), b("hello"), 5)), "0"},
		{"CHAR_LENGTH", fmt.Sprint(CharLength(b("日本語")), CharLength(b("😀"))), "3 1"}, {"IS_ALPHA", fmt.Sprint(IsAlpha(b("abc")), IsAlpha(b("ab1")), IsAlpha(nil)), "true false false"},
		{"IS_DIGIT", fmt.Sprint(IsDigit(b("123")), IsDigit(b("12.3"))), "true false"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	for in, want := range map[string]int64{"127.0.0.1": 2130706433, "127.1": 2130706433, "300.0.0.1": -1, "1.2.3.4.5": -1, "": -1, "1..2": -1} {
		got, ok := InetAton(b(in))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("INET_ATON %s: got %d", in, got)
		}
	}
	if out, err := AppendFromBase64(nil, b("aGVsbG8gd29ybGQ=")); err != nil || string(out) != "hello world" {
		t.Error(out, err)
	}
	if _, err := AppendFromBase64(nil, b("###")); err == nil {
		t.Error("### is no base64")
	}
	if _, err := AppendSHA2(nil, b("abc"), 0); err == nil {
		t.Error("SHA2 of length 0")
	}
	if d, err := AppendSHA2(nil, b("abc"), 224); err != nil || string(d) != "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7" {
		t.Error(string(d), err)
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[[2]string]string{{"a,b,,c", ","}: "a|b||c|", {"abc", ""}: "a|b|c|", {"", ","}: ""} {
		got := ""
		Split([]byte(in[0]), []byte(in[1]), func(p []byte) bool { got += string(p) + "|"; return true })
		if got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestRegexpFunctions(t *testing.T) {
	re := func(p string) *Regexp {
		r, err := CompileRegexp(p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if n := re(`\d+`).Count([]byte("a1b22c333")); n != 3 {
		t.Error(n)
	}
	if n := re(`\d`).Instr([]byte("abc123")); n != 4 {
		t.Error(n)
	}
	if s, ok := re(`\d+`).Substr([]byte("abc123def")); string(s) != "123" || !ok {
		t.Error(string(s))
	}
	got := ""
	if ok := re(`([a-z])(\d+)`).ExtractAll([]byte("a1b22"), 2, func(p []byte) { got += string(p) + "|" }); !ok || got != "1|22|" {
		t.Error(got)
	}
	if s, ok := re("foo(.*?)(bar)").Extract([]byte("foothebar"), 2); string(s) != "bar" || !ok {
		t.Error(string(s))
	}
	for pattern, unsupported := range map[string]bool{"(?=a)": true, `(a)\1`: true, "a++": true, "[a&&[b]]": true, "(": false, "[": false, "a{2": false} {
		if _, err := CompileRegexp(pattern); err == nil || errors.Is(err, ErrUnsupported) != unsupported {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("日本語 😀 a_b%c"), "a%_!%", "[a-c]+(x|y)*", int64(3))
	f.Add([]byte("http://u@h:8/p?a=b#c"), "%", `\p{Alpha}\Qx\E\u0041{2,3}`, int64(-2))
	f.Add([]byte{0xff, 0xc3, 'a', 0xf0, 0x9f}, "_", "(?i)[^a]", int64(1))
	f.Fuzz(func(t *testing.T, s []byte, like, pattern string, n int64) {
		pad := []byte(like)
		l := CompileLike(like)
		if utf8.Valid(s) && utf8.ValidString(like) {
			q := strings.NewReplacer("%", "(?s:.*)", "_", "(?s:.)").Replace(regexp.QuoteMeta(like))
			if re, err := regexp.Compile("^(?:" + q + `)\z`); err == nil && re.Match(s) != l.Match(s) {
				t.Fatalf("%q LIKE %q: %v", s, like, l.Match(s))
			}
		} else {
			l.Match(s)
		}
		if l, err := CompileLikeEscape(like, "!"); err == nil {
			l.Match(s)
		}
		if p, err := CompileSimilar(pattern, "!"); err == nil {
			p.Match(s)
		}
		if r, err := CompileRegexp(pattern); err == nil {
			r.Match(s)
			r.AppendReplace(nil, s, pad)
			r.Extract(s, n)
			r.Count(s)
		}
		small := n % 1000
		AppendUpper(nil, s)
		AppendLower(nil, s)
		AppendInitCap(nil, s)
		if !utf8.Valid(s) || string(AppendReverse(nil, AppendReverse(nil, s))) != string(s) && utf8.Valid(s) {
			AppendReverse(nil, s)
		}
		SubstringFor(s, n, small)
		Left(s, n)
		Right(s, n)
		AppendLPad(nil, s, small, pad)
		AppendRPad(nil, s, small, pad)
		AppendOverlay(nil, s, pad, n, small)
		AppendOverlay(nil, s, pad, small, n)
		AppendReplace(nil, s, pad, []byte("x"))
		PositionFrom(pad, s, n)
		SplitIndex(s, pad, small%8)
		Split(s, pad, func([]byte) bool { return true })
		AppendTranslate(nil, s, pad, []byte(pattern))
		Trim(s, pad, true, true)
		ParseURL(s, "FILE")
		ParseURLQuery(s, like)
		InetAton(s)
		AppendURLDecode(nil, s)
		if out, ok := AppendUnhex(nil, AppendHex(nil, s)); !ok || string(out) != string(s) {
			t.Fatal("HEX does not read back")
		}
		if out, err := AppendFromBase64(nil, AppendBase64(nil, s)); err != nil || string(out) != string(s) {
			t.Fatal("base64 does not read back")
		}
		for c := UTF8; c <= UTF16LE; c++ {
			AppendDecode(nil, s, c)
			if out := AppendDecode(nil, AppendEncode(nil, s, c), c); utf8.Valid(s) && c != USASCII && c != Latin1 && c != UTF16 && string(out) != string(s) {
				t.Fatalf("character set %d does not read back", c)
			}
		}
	})
}

func BenchmarkLike(b *testing.B) {
	s := []byte("https://www.example.com/catalog/item?id=4711&ref=start")
	for _, p := range []string{"https://%", "%id=4711%", "https://%/item%ref=_tart"} {
		l := CompileLike(p)
		b.Run(p, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !l.Match(s) {
					b.Fatal(p)
				}
			}
		})
	}
}

func BenchmarkUpper(b *testing.B) {
	s := []byte("The quick brown fox jumps over the lazy dog")
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendUpper(buf[:0], s)
	}
}

func BenchmarkSubstring(b *testing.B) {
	s := []byte("The quick brown fox jumps over the lazy dog")
	b.ReportAllocs()
	for b.Loop() {
		SubstringFor(s, 5, 11)
	}
}
