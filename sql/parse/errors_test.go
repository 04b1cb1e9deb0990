package parse

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the expected results of testdata/*.txt anew")

// TestErrorTexts checks what a person sees. A file has cases of the form
//
//	=== statement
//	the SQL text
//	---
//	the rendered error, or "ok"
//
// where the first line names the entry point: statement, script, expression or type.
func TestErrorTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, c := range strings.Split("\n"+strings.TrimRight(string(data), "\n"), "\n=== ")[1:] {
			kind, rest, _ := strings.Cut(c, "\n")
			src, want, _ := strings.Cut(rest, "\n---\n")
			got := strings.TrimRight(errorText(t, kind, src), "\n")
			if got != strings.TrimRight(want, "\n") && !*rewrite {
				t.Errorf("%s: %s\n%s\ngot:\n%s\nwant:\n%s", file, kind, src, got, want)
			}
			out.WriteString("=== " + kind + "\n" + src + "\n---\n" + got + "\n")
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func errorText(t *testing.T, kind, src string) string {
	var err error
	switch kind {
	case "statement":
		_, err = Statement(src)
	case "script":
		_, err = Script(src)
	case "expression":
		_, err = Expression(src)
	case "type":
		_, err = Type(src)
	default:
		t.Fatalf("unknown kind %q", kind)
	}
	if err == nil {
		return "ok"
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%q: error is %T", src, err)
	}
	return Render(err, src, "job.sql")
}
