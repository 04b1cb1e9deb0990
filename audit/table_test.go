package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"staunch/env/envtest"
	"staunch/fs"
	"staunch/fs/local"
)

func TestClean(t *testing.T) {
	for _, format := range []string{"json", "parquet"} {
		for _, every := range []int{0, 2, 1} {
			t.Run(fmt.Sprint(format, every), func(t *testing.T) {
				l := standard(t, format, every)
				for _, fast := range []bool{false, true} {
					r := l.audit(Options{Fast: fast})
					if r.Verdict != Clean || r.Count() != 0 || len(r.Jobs) != 1 {
						t.Fatal(text(r))
					}
					j := r.Jobs[0]
					if j.Certificates != 5 || j.First != 1 || j.Last != 5 || j.Files != 30 || j.Partitions != 1 || j.Counters.Renamed != 30 || !j.AccountsClose {
						t.Errorf("%+v", j)
					}
					s := j.Splits[0]
					if s.Split != "events-0" || s.From != 1000 || s.To != 1200 || s.To-s.From != s.Rows+s.Filtered+s.Null+s.Gaps || s.Files != 15 || j.Rows != s.Rows+j.Splits[1].Rows {
						t.Errorf("%+v", s)
					}
				}
			})
		}
	}
}

// busy is a store in which a job goes on while it is read: before each opening of a file whose name begins with one of the prefixes.
type busy struct {
	fs.FS
	prefix []string
	left   int
	goes   func()
}

func (b *busy) Open(p string) (fs.Reader, error) {
	for _, x := range b.prefix {
		if strings.HasPrefix(filepath.Base(p), x) && b.left > 0 {
			b.left--
			b.goes()
			break
		}
	}
	return b.FS.Open(p)
}

// TestWhileWritten: a table is clean while its job commits, segments its log and joins archives, whatever is being read at that moment.
func TestWhileWritten(t *testing.T) {
	for _, prefix := range [][]string{{"archive-"}, {"part-"}, {"archive-", "part-"}} {
		t.Run(fmt.Sprint(prefix), func(t *testing.T) {
			t.Parallel()
			l := newLake(t, "json", 2)
			l.join = 2
			l.open()
			l.checkpoints(9)
			b := &busy{FS: local.New(), prefix: prefix, left: 12, goes: func() { l.commit(l.write(8)) }}
			r, err := Table(context.Background(), &envtest.Quick{}, b, l.root, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != Clean && r.Verdict != Committing || r.Jobs[0].Certificates < 9 || b.left == 12 {
				t.Errorf("%d left\n%s", b.left, text(r))
			}
			l.audit(Options{})
		})
	}
}

// TestWhileRewound: superseded files may be anywhere as long as their rewind is not carried out.
func TestWhileRewound(t *testing.T) {
	l := standard(t, "json", 0)
	ended := false
	b := &busy{FS: local.New(), prefix: []string{"part-"}, left: 1, goes: func() {
		l.rewind(3)
		ended = true
	}}
	r, err := Table(context.Background(), &envtest.Quick{}, b, l.root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !ended || r.Verdict != Clean || r.Jobs[0].Superseded != 1 {
		t.Error(text(r))
	}
	if r := l.audit(Options{}); r.Verdict != Clean {
		t.Error(text(r))
	}
}

// TestLeftPending: a pending file beside its visible one is told, and is no fault: no reader sees it.
func TestLeftPending(t *testing.T) {
	l := standard(t, "json", 2)
	for i, f := range []string{l.file(0, 0).Pending, l.file(0, 1).Pending} {
		l.create(f, make([]byte, i))
	}
	r := l.audit(Options{})
	if r.Verdict != Clean || r.Jobs[0].Left != 2 || !strings.Contains(text(r), "although they are visible: 2 files") {
		t.Error(text(r))
	}
	if v, ok := l.verify(false); ok && (len(v.Jobs) != 1 || v.Jobs[0].Left != 2) {
		t.Errorf("%+v", v)
	}
}

// locked is a store that does not let one file be read.
type locked struct {
	fs.FS
	path string
}

func (x *locked) Open(p string) (fs.Reader, error) {
	if p == x.path {
		return nil, fmt.Errorf("open %s: %w", p, os.ErrPermission)
	}
	return x.FS.Open(p)
}

// TestPermission: what may not be read is a finding at its place, never clean. Tests may run as a user who may read everything, so both programs are
// told that they may not.
func TestPermission(t *testing.T) {
	l := standard(t, "parquet", 2)
	for path, want := range map[string]Kind{l.file(0, 1).Final: FileUnreadable, l.entry(l.nth("done", -1)): EntryDamaged, l.archives()[0]: ArchiveDamaged} {
		r, err := Table(context.Background(), &envtest.Quick{}, &locked{local.New(), path}, l.root, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(r); r.Verdict != Wrong || !slices.Contains(got, want) || !strings.Contains(text(r), "file "+path) {
			t.Errorf("%s: found %v, expected %v\n%s", path, got, want, text(r))
		}
		python, ok := findPython(t)
		if !ok {
			continue
		}
		const refuse = "import builtins, sys\nsys.path.insert(0, sys.argv[1])\nimport verify\nreal = builtins.open\n" +
			"def refuse(p, *a, **k):\n    if p == sys.argv[3]:\n        raise PermissionError(13, 'Permission denied', p)\n    return real(p, *a, **k)\n" +
			"builtins.open = refuse\nsys.exit(verify.main([sys.argv[2]]))"
		out, err := exec.Command(python, "-c", refuse, filepath.Dir(verifier), l.root, path).Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
		var v verified
		l.parse(string(out), &v)
		if !slices.ContainsFunc(v.Problems, func(p verifiedProblem) bool { return p.Kind == want && tells(path, p.Path, p.What, p.Entry) }) {
			t.Errorf("%s: the verifier found %+v", path, v.Problems)
		}
	}
}
