package bind_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"staunch/function"
	"staunch/sql/bind"
	"staunch/sql/parse"
	"staunch/types"
)

// TestAssign holds the implicit casts of INSERT against Flink's answers.
func TestAssign(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectorDir, "assign.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	typeOf := func(text string) types.Type {
		name, err := parse.Type(text)
		if err != nil {
			t.Fatal(err)
		}
		typ, err := bind.ColumnType(name)
		if err != nil {
			t.Fatal(err)
		}
		return typ
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	for _, line := range lines {
		f := strings.Split(line, "\t")
		from, to := typeOf(f[0]), typeOf(f[1])
		x, ok := function.Assign(&function.ColumnRef{Name: "c", T: from}, to)
		if want := f[2] != "refused"; ok != want {
			t.Errorf("%s into %s: taken %v, in Flink %v", f[0], f[1], ok, want)
		}
		if ok && !x.Type().Same(to) {
			t.Errorf("%s into %s gives %s", f[0], f[1], x.Type())
		}
	}
	if len(lines) < 600 {
		t.Errorf("only %d pairs of types", len(lines))
	}
	// NULL fits everywhere.
	if x, ok := function.Assign(function.UntypedNull, types.New(types.Date)); !ok || x.Type().Kind != types.Date {
		t.Error("NULL is refused")
	}
}
