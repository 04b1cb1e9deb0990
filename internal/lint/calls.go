package lint

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// banned are the functions by which code meets time, disk and network behind the back of env and fs; "*" is the whole package.
var banned = map[string][]string{
	"time":                       {"Now", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"},
	"context":                    {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
	"math/rand":                  {"*"},
	"math/rand/v2":               {"*"},
	"crypto/rand":                {"*"},
	"io/ioutil":                  {"*"},
	"os/exec":                    {"*"},
	"os/signal":                  {"*"},
	"syscall":                    {"*"},
	"golang.org/x/sys/unix":      {"*"},
	"golang.org/x/sync/errgroup": {"*"},
	"os": {"Open", "OpenFile", "OpenInRoot", "OpenRoot", "Create", "CreateTemp", "Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Link", "Symlink",
		"Readlink", "Truncate", "ReadFile", "WriteFile", "ReadDir", "Stat", "Lstat", "Chmod", "Chtimes", "Chown", "Chdir", "CopyFS", "DirFS", "Exit", "Getenv", "LookupEnv",
		"Environ", "Setenv", "Stdout", "Stderr", "Stdin", "Getpid", "Hostname"},
	"path/filepath": {"Walk", "WalkDir", "Glob", "EvalSymlinks", "Abs"},
	"net": {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "DialIP", "Dialer", "Listen", "ListenTCP", "ListenUDP", "ListenUnix", "ListenPacket", "ListenConfig",
		"LookupHost", "LookupIP", "LookupAddr", "Resolver"},
	"net/http": {"*"},
	"log":      {"*"},
}

// protocolImports are all that a pure state machine may import, besides packages of layer 0.
var protocolImports = map[string]bool{"bytes": true, "cmp": true, "errors": true, "fmt": true, "iter": true, "maps": true, "math": true, "math/bits": true, "slices": true,
	"sort": true, "strconv": true, "strings": true, "time": true, "unicode/utf8": true, "encoding/binary": true, "encoding/hex": true, "encoding/json": true,
	"crypto/sha256": true, "hash": true, "hash/crc32": true, "hash/fnv": true}

// protocolTime are the names of package time that carry values and ask no clock.
var protocolTime = map[string]bool{"Duration": true, "Time": true, "Nanosecond": true, "Microsecond": true, "Millisecond": true, "Second": true, "Minute": true, "Hour": true,
	"Unix": true, "UnixMilli": true, "UnixMicro": true, "UTC": true, "RFC3339": true, "RFC3339Nano": true, "Month": true, "Weekday": true}

// imports maps the local name of each import of f to its path.
func imports(f *ast.File) map[string]string {
	m := map[string]string{}
	for _, s := range f.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if strings.HasPrefix(name, "v") && len(name) > 1 && name[1] >= '0' && name[1] <= '9' {
			name = path.Base(path.Dir(p))
		}
		if s.Name != nil {
			name = s.Name.Name
		}
		m[name] = p
	}
	return m
}

// selector returns the import path and the name of pkg.Name when n is one, told from a local variable of the same name.
func selector(n ast.Node, imported map[string]string) (pkg, name string, ok bool) {
	s, isSel := n.(*ast.SelectorExpr)
	if !isSel {
		return "", "", false
	}
	x, isIdent := s.X.(*ast.Ident)
	if !isIdent || x.Obj != nil {
		return "", "", false
	}
	pkg, ok = imported[x.Name]
	return pkg, s.Sel.Name, ok
}

// calls reports what a file of an engine, contract or plug-in must not do by itself.
func (l *linter) calls(f *file) {
	for name, p := range f.imported {
		if symbols := banned[p]; len(symbols) == 1 && symbols[0] == "*" && !l.rules.allowed(f.pkg, p) {
			l.report(f, f.importPos(p), "imports %s: time, chance, goroutines, disk and network only through env and fs", p)
		}
		if name == "." {
			l.report(f, f.importPos(p), "imports %s by a dot, which hides where names come from", p)
		}
	}
	usesGroup := false
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok && !l.rules.allowed(f.pkg, "go") {
			l.report(f, g.Pos(), "bare go statement: activities are started by env.Go, so that the simulation owns them")
		}
		p, name, ok := selector(n, f.imported)
		if !ok {
			return true
		}
		usesGroup = usesGroup || (p == "sync" && name == "WaitGroup")
		for _, b := range banned[p] {
			if b == name && !l.rules.allowed(f.pkg, path.Base(p)+"."+name) {
				l.report(f, n.Pos(), "%s.%s: time, chance, goroutines, disk and network only through env and fs", path.Base(p), name)
			}
		}
		return true
	})
	if usesGroup {
		l.report(f, f.ast.Pos(), "sync.WaitGroup: activities are started by env.Go, so that the simulation owns them")
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && l.rules.plugin(f.pkg) != "" {
			l.report(f, fn.Pos(), "func init in a plug-in: nothing registers itself, package all lists the factories")
		}
	}
}

// pure reports what a state machine must not have.
func (l *linter) pure(f *file) {
	for _, p := range f.imported {
		own, isOwn := strings.CutPrefix(p, modulePrefix)
		layer, _ := l.rules.layerOf(own)
		if (isOwn && (layer > 0 || own == "env" || own == "metric" || own == "fault/failpoint")) || (!isOwn && !protocolImports[p]) {
			l.report(f, f.importPos(p), "a protocol package is pure and may not import %s", p)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "a goroutine"
		case *ast.ChanType:
			what = "a channel"
		case *ast.SelectStmt:
			what = "select"
		case *ast.SendStmt:
			what = "a channel"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				what = "a channel"
			}
		}
		if p, name, ok := selector(n, f.imported); ok && p == "time" && !protocolTime[name] {
			what = "time." + name
		}
		if what != "" {
			l.report(f, n.Pos(), "a protocol package is pure and may not have %s", what)
		}
		return true
	})
	for _, d := range f.ast.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			l.variables(f, g)
		}
	}
}

// variables reports package variables of a protocol package but for errors and blank ones (interface checks), which never change.
func (l *linter) variables(f *file, g *ast.GenDecl) {
	for _, s := range g.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, n := range v.Names {
			if n.Name != "_" && !strings.HasPrefix(strings.ToLower(n.Name), "err") && !isTable(v) {
				l.report(f, n.Pos(), "package variable %s: a protocol package has no state of its own", n.Name)
			}
		}
	}
}

// isTable reports whether v is a literal table of constants, such as the names of an enumeration.
func isTable(v *ast.ValueSpec) bool {
	if len(v.Values) != 1 {
		return false
	}
	_, ok := v.Values[0].(*ast.CompositeLit)
	return ok
}

// tests reports what a test must not do. A benchmark may skip: it is run by hand, for a topic of one's own.
func (l *linter) tests(f *file) {
	top := strings.SplitN(f.pkg, "/", 2)[0]
	_, fake := f.importsPath("testing/synctest")
	for _, d := range f.ast.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		benchmark := isFunc && strings.HasPrefix(fn.Name.Name, "Benchmark")
		ast.Inspect(d, func(n ast.Node) bool {
			p, name, ok := selector(n, f.imported)
			if ok && p == "time" && name == "Sleep" && !fake && top != "test" && top != "bench" {
				l.report(f, n.Pos(), "a test never sleeps: wait for an event, or use testing/synctest")
			}
			if s, isSel := n.(*ast.SelectorExpr); isSel && f.peer && !benchmark && (s.Sel.Name == "Skip" || s.Sel.Name == "Skipf" || s.Sel.Name == "SkipNow") {
				l.report(f, n.Pos(), "a test against real servers never skips")
			}
			return true
		})
	}
}
