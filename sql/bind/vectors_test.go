package bind_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"staunch/changelog"
	"staunch/function"
	"staunch/function/datetime"
	"staunch/sql/ast"
	"staunch/sql/bind"
	"staunch/sql/parse"
	"staunch/types"
)

var rewrite = flag.Bool("rewrite", false, "write the list of lines that agree with Flink anew")

const vectorDir = "../../test/vectors/flink"

// vector is a measured expression: its values on each row (one row for constants), or an error.
type vector struct {
	file, expr, status, typ string
	values                  []string
}

func (v vector) name() string { return v.file + "\t" + v.expr }

func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorDir, file))
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		f := strings.Split(line, "\t")
		if i == 0 || len(f) < 4 {
			continue
		}
		out = append(out, vector{file, f[0], f[1], f[2], f[3:]})
	}
	return out
}

// typeText is a type as the files spell it.
func typeText(t types.Type) string {
	s := t.Nullable().String()
	switch t.Kind {
	case types.Varchar:
		s = fmt.Sprintf("VARCHAR(%d)", t.Length)
	case types.Varbinary:
		s = fmt.Sprintf("VARBINARY(%d)", t.Length)
	case types.TimestampLTZ:
		s = fmt.Sprintf("TIMESTAMP(%d) WITH LOCAL TIME ZONE", t.Precision)
	}
	if t.NotNull {
		s += " NOT NULL"
	}
	return s
}

func valueText(c *changelog.Column, i int, zone *datetime.Zone) string {
	if c.IsNull(i) {
		return `\N`
	}
	var b strings.Builder
	for _, r := range function.FormatValue(c, i, zone) {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 32:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var session = function.Session{Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC) }, Database: "default_database"}

// check computes v.expr over in and gives what is not as measured, or "".
func check(v vector, schema changelog.Schema, in *changelog.Batch) string {
	s := session
	if strings.HasSuffix(v.file, "shanghai.tsv") {
		s.Zone = datetime.LegacyZone("Asia/Shanghai")
	}
	col, typ, err := compute(v.expr, schema, in, s)
	if err != nil && strings.Contains(err.Error(), "not supported yet") {
		return err.Error()
	}
	failed := v.status != "OK" && v.status != "NULL_IN_NOT_NULL"
	switch {
	case failed && err == nil:
		return fmt.Sprintf("no error, but %s %q", typ, valueText(col, 0, s.Zone))
	case failed:
		return ""
	case err != nil:
		return "error: " + err.Error()
	case typeText(typ) != v.typ:
		return fmt.Sprintf("type %s instead of %s", typeText(typ), v.typ)
	}
	for i, want := range v.values {
		if got := valueText(col, i, s.Zone); got != want {
			return fmt.Sprintf("row %d: %q instead of %q", i+1, got, want)
		}
	}
	return ""
}

func compute(text string, schema changelog.Schema, in *changelog.Batch, s function.Session) (*changelog.Column, types.Type, error) {
	e, err := parse.Expression(text)
	if err != nil {
		return nil, types.Type{}, err
	}
	x, err := bind.Expr(e, bind.Scope{Schema: schema})
	if err != nil {
		return nil, types.Type{}, err
	}
	p, err := function.Compile([]function.Expr{x}, s)
	if err != nil {
		return nil, x.Type(), err
	}
	out := make([]*changelog.Column, 1)
	err = p.Eval(in, out)
	return out[0], x.Type(), err
}

// table reads the table of the expressions over columns. Nested columns are all NULL.
func table(t testing.TB) (changelog.Schema, *changelog.Batch) {
	t.Helper()
	ddl, err := os.ReadFile(filepath.Join(vectorDir, "columns/table.sql"))
	if err != nil {
		t.Fatal(err)
	}
	stmt, err := parse.Statement(string(ddl))
	if err != nil {
		t.Fatal(err)
	}
	var schema changelog.Schema
	for _, el := range stmt.(*ast.CreateTable).Elements {
		c := el.(*ast.Column)
		typ, err := bind.ColumnType(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		schema = append(schema, changelog.Field{Name: c.Name.Text, Type: typ})
	}
	b := changelog.NewBatch(schema)
	rows, err := os.ReadFile(filepath.Join(vectorDir, "columns/rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		for i, f := range schema {
			putJSON(t, b.Cols[i], row[f.Name])
		}
		b.Rows++
	}
	return schema, b
}

// putJSON casts the text of a JSON value to the column's type.
func putJSON(t testing.TB, c *changelog.Column, v any) {
	t.Helper()
	if v == nil || c.Type.IsNested() {
		c.AppendNull()
		return
	}
	text := fmt.Sprint(v)
	if c.Type.IsString() { // not padded, as in Flink's JSON format
		c.AppendString(text)
		return
	}
	if c.Type.Kind == types.TimestampLTZ {
		text = strings.TrimSuffix(text, "Z")
	}
	cast, err := function.NewCast(function.NewText(types.String_, text), c.Type, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := function.Compile([]function.Expr{cast}, session)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*changelog.Column, 1)
	if err := p.Eval(&changelog.Batch{Rows: 1}, out); err != nil {
		t.Fatal(err)
	}
	c.AppendFrom(out[0], 0)
}

// TestVectors holds all measured expressions against Flink's results. agreed.txt lists those that agree ("=" lines, which must go on agreeing)
// and those where Staunch is different on purpose ("!" lines, with the reason).
func TestVectors(t *testing.T) {
	listed, differ := readAgreed(t)
	var agree []string
	total := 0
	run := func(v vector, schema changelog.Schema, in *changelog.Batch) {
		total++
		why := check(v, schema, in)
		switch {
		case why == "":
			agree = append(agree, v.name())
			if reason, ok := differ[v.name()]; ok {
				t.Errorf("%s agrees although it should differ: %s", v.name(), reason)
			}
		case listed[v.name()] && !*rewrite:
			t.Errorf("%s: %s", v.name(), why)
		case differ[v.name()] == "":
			t.Logf("not yet: %s: %s", v.name(), why)
		}
		delete(listed, v.name())
	}
	for _, v := range readVectors(t, "expressions.tsv") {
		run(v, nil, &changelog.Batch{Rows: 1})
	}
	constants := len(agree)
	schema, in := table(t)
	for _, file := range []string{"columns/expressions.tsv", "columns/more.tsv", "columns/shanghai.tsv"} {
		for _, v := range readVectors(t, file) {
			run(v, schema, in)
		}
	}
	t.Logf("%d of %d expressions agree: %d over constants, %d over columns; %d differ on purpose",
		len(agree), total, constants, len(agree)-constants, len(differ))
	if *rewrite {
		writeAgreed(t, agree, differ)
		return
	}
	for name := range listed {
		t.Errorf("agreed.txt names %q, which is not measured", name)
	}
}

func readAgreed(t *testing.T) (agreed map[string]bool, differ map[string]string) {
	t.Helper()
	agreed, differ = map[string]bool{}, map[string]string{}
	f, err := os.Open(filepath.Join(vectorDir, "agreed.txt"))
	if os.IsNotExist(err) && *rewrite {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		parts := strings.Split(sc.Text(), "\t")
		switch {
		case parts[0] == "=" && len(parts) == 3:
			agreed[parts[1]+"\t"+parts[2]] = true
		case parts[0] == "!" && len(parts) == 4:
			differ[parts[1]+"\t"+parts[2]] = parts[3]
		case !strings.HasPrefix(sc.Text(), "#"):
			t.Fatalf("agreed.txt: %q", sc.Text())
		}
	}
	return
}

func writeAgreed(t *testing.T, agree []string, differ map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Lines of expressions.tsv and columns/expressions.tsv: '=' must agree with Flink (go test ./sql/bind -run TestVectors -rewrite\n")
	b.WriteString("# writes these); '!' differ on purpose, with the reason (written by hand).\n")
	var lines []string
	for name, reason := range differ {
		lines = append(lines, "!\t"+name+"\t"+reason+"\n")
	}
	sort.Strings(lines)
	for _, name := range agree {
		lines = append(lines, "=\t"+name+"\n")
	}
	for _, l := range lines {
		b.WriteString(l)
	}
	if err := os.WriteFile(filepath.Join(vectorDir, "agreed.txt"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
