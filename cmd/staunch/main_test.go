package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefused: an option that would have no effect, or a value that is none, is refused before anything is read, with what to do, and exit code 2.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "ck", "orders", "log"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"audit DIR --bootstrap-server a:1", "--bootstrap-server goes with --against-broker"},
		{"audit DIR --kafka-property a=b", "--kafka-property goes with --against-broker"},
		{"audit DIR --certificate c.json --kafka-property a=b", "--kafka-property goes with --against-broker"},
		{"audit DIR --names connect --format json", "--format goes with --columns"},
		{"audit DIR --names connect --topic-column t", "--topic-column goes with --columns"},
		{"audit DIR --names connect --csv-header", "--csv-header goes with --columns"},
		{"audit DIR --names connect --topic t", "--topic goes with --columns"},
		{"audit DIR --columns p,o --format json --csv-delimiter ;", "how CSV is written"},
		{"audit DIR --log-format xml", "--log-format is text or json"},
		{"audit DIR -D a.b=c", "settings of a statement file"},
		{"audit DIR --config none.yaml", "settings of a statement file"},
		{"audit DIR --columns p,o -D a.b=c", "settings of a statement file"},
		{"trace DIR -D a.b=c", "settings of a statement file"},
		{"trace DIR --log-format xml", "--log-format is text or json"},
		{"trace DIR --task -4", "from 0 on"},
		{"trace DIR --since 1h --until 2h", "is before --since"},
		{"trace DIR --checkpoint abc", `--checkpoint takes a whole number, not "abc"`},
		{"trace DIR/ck --checkpoint 3", "name DIR/ck/orders"},
		{"amend DIR --younger --removed a --why x", "--younger goes with --adopt"},
		{"check none.sql --rate NaN", "numbers from 0 on"},
		{"check none.sql --rate Inf", "numbers from 0 on"},
		{"check none.sql --rate -1", "numbers from 0 on"},
		{"check none.sql --rate abc", `--rate takes a number, not "abc"`},
		{"check none.sql --sample 1e5", `--sample takes a whole number, not "1e5"`},
		{"drill none.sql --parallel 0", "--parallel is at least 1"},
		{"drill none.sql --for -5s", "from 0 on"},
		{"drill none.sql --for soon", `--for takes a time such as 90s, 5m or 2h, not "soon"`},
		{"explain none.sql --log-format xml", "--log-format is text or json"},
	} {
		cmd := rootCmd()
		var args []string
		for _, a := range strings.Fields(c.line) {
			args = append(args, strings.ReplaceAll(a, "DIR", dir))
		}
		cmd.SetArgs(args)
		err := cmd.Execute()
		var x *exitError
		if want := strings.ReplaceAll(c.want, "DIR", dir); !errors.As(err, &x) || x.code != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.line, err, want)
		}
	}
}
