package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	modulePrefix = "staunch/"
	maxTextBytes = 1 << 20 // larger files are data, not text that somebody wrote
)

// Finding is one broken rule at one place.
type Finding struct {
	Path string
	Line int
	Text string
}

// String is path:line: text.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// file is one parsed Go file.
type file struct {
	path, pkg string
	test      bool
	peer      bool // built with tag peer only
	ast       *ast.File
	imported  map[string]string // local name -> import path
}

func (f *file) importsPath(p string) (*ast.ImportSpec, bool) {
	for _, s := range f.ast.Imports {
		if u, err := strconv.Unquote(s.Path.Value); err == nil && u == p {
			return s, true
		}
	}
	return nil, false
}

func (f *file) importPos(p string) token.Pos {
	if s, ok := f.importsPath(p); ok {
		return s.Pos()
	}
	return f.ast.Pos()
}

type word struct {
	re   *regexp.Regexp
	hint string
}

type linter struct {
	rules    *Rules
	words    []word
	fset     *token.FileSet
	findings []Finding
	packages map[string]bool // package folder -> has a doc.go with a package comment
}

// Run reads the tree and returns what breaks a rule, by path and line. layers and words are the texts of the two rule files.
func Run(tree fs.FS, layers, words string) ([]Finding, error) {
	rules, err := ParseRules(layers)
	if err != nil {
		return nil, err
	}
	l := &linter{rules: rules, fset: token.NewFileSet(), packages: map[string]bool{}}
	if l.words, err = parseWords(words); err != nil {
		return nil, err
	}
	err = fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipDir(p, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || p == ".git": // in a linked worktree .git is a file
			return nil
		}
		data, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		l.text(p, data)
		if strings.HasSuffix(p, ".go") && !strings.Contains("/"+p, "/testdata/") {
			l.goFile(p, data)
		}
		return nil
	})
	l.docs()
	l.architecture(tree)
	sort.Slice(l.findings, func(i, j int) bool {
		a, b := l.findings[i], l.findings[j]
		return a.Path < b.Path || (a.Path == b.Path && a.Line < b.Line)
	})
	return l.findings, err
}

// skipDir reports whether a folder is not part of the source tree.
func skipDir(p, name string) bool {
	return p != "." && (p == "bin" || p == "staunch-demo" || name == "__pycache__" || (strings.HasPrefix(name, ".") && name != ".ci"))
}

func parseWords(text string) ([]word, error) {
	var out []word
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		expr, hint, _ := strings.Cut(line, "\t")
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("words.txt:%d: %w", n+1, err)
		}
		out = append(out, word{re, hint})
	}
	return out, nil
}

func (l *linter) report(f *file, pos token.Pos, format string, args ...any) {
	l.findings = append(l.findings, Finding{f.path, l.fset.Position(pos).Line, fmt.Sprintf(format, args...)})
}

// text looks for forbidden words, line by line.
func (l *linter) text(p string, data []byte) {
	if strings.HasPrefix(p, "internal/lint/") || len(data) > maxTextBytes || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) || p == "go.sum" {
		return
	}
	for _, w := range l.words {
		if !w.re.Match(data) {
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if m := w.re.Find(line); m != nil {
				l.findings = append(l.findings, Finding{p, i + 1, fmt.Sprintf("%q is %s", strings.TrimSpace(string(m)), w.hint)})
			}
		}
	}
}

// goFile parses one file and applies the rules for it.
func (l *linter) goFile(p string, data []byte) {
	a, err := parser.ParseFile(l.fset, p, data, parser.ParseComments)
	if err != nil {
		l.findings = append(l.findings, Finding{p, 1, "does not parse: " + err.Error()})
		return
	}
	f := &file{path: p, pkg: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), ast: a, imported: imports(a)}
	f.peer = bytes.HasPrefix(data, []byte("//go:build")) && bytes.Contains(data[:bytes.IndexByte(data, '\n')], []byte("peer"))
	if formatted, err := format.Source(data); err == nil && !bytes.Equal(formatted, data) {
		l.findings = append(l.findings, Finding{p, 1, "gofmt would change it"})
	}
	if f.test {
		l.tests(f)
		return
	}
	l.packages[f.pkg] = l.packages[f.pkg] || (path.Base(p) == "doc.go" && a.Doc != nil && strings.TrimSpace(a.Doc.Text()) != "")
	l.imports(f)
	if !l.rules.isReal(f.pkg) {
		l.calls(f)
	}
	if path.Base(f.pkg) == "protocol" {
		l.pure(f)
	}
}

// imports applies the layers.
func (l *linter) imports(f *file) {
	for _, p := range f.imported {
		if to, own := strings.CutPrefix(p, modulePrefix); own {
			if why := l.rules.mayImport(f.pkg, to); why != "" {
				l.report(f, f.importPos(p), "%s: %s", f.pkg, why)
			}
		}
	}
}

// mapRow is a line of ARCHITECTURE.md's map: | `folder/` | what |.
var mapRow = regexp.MustCompile("(?m)^\\| `([a-z]+)/` \\|")

// architecture compares the map in ARCHITECTURE.md with the top-level folders that hold packages.
func (l *linter) architecture(tree fs.FS) {
	const page = "ARCHITECTURE.md"
	text, err := fs.ReadFile(tree, page)
	if err != nil {
		return // a tree of a test; that the page is there is checked on the repository
	}
	mapped := map[string]bool{}
	for _, m := range mapRow.FindAllSubmatch(text, -1) {
		name := string(m[1])
		mapped[name] = true
		if _, err := fs.Stat(tree, name); err != nil {
			l.findings = append(l.findings, Finding{page, 0, "names the folder " + name + "/, which is not there"})
		}
	}
	missing := map[string]bool{}
	for pkg := range l.packages {
		if top, _, _ := strings.Cut(pkg, "/"); !mapped[top] && !missing[top] {
			missing[top] = true
			l.findings = append(l.findings, Finding{page, 0, "does not name the folder " + top + "/"})
		}
	}
}

// docs reports packages without a comment in doc.go, and packages that no layer names.
func (l *linter) docs() {
	for pkg, documented := range l.packages {
		if !documented {
			l.findings = append(l.findings, Finding{pkg, 0, "has no doc.go with a package comment: what for, what before and after, invariants"})
		}
		if _, ok := l.rules.layerOf(pkg); !ok {
			l.findings = append(l.findings, Finding{pkg, 0, "is in no layer of internal/lint/layers.txt"})
		}
	}
}
