package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"staunch/account"
)

// needPython is set with the tag peer: then a machine without Python is a failure.
var needPython bool

const verifier = "../test/verifier/verify.py"

// verified is what the independent verifier says.
type verified struct {
	code     int
	Verdict  Verdict           `json:"verdict"`
	Problems []verifiedProblem `json:"problems"`
	Jobs     []struct {
		Certificates int64  `json:"certificates"`
		Files        int64  `json:"files"`
		Pending      int64  `json:"pending"`
		Left         int64  `json:"pending_left"`
		Chain        string `json:"chain"`
		Losses       []any  `json:"losses"`
		Splits       []struct {
			Split string `json:"split"`
			From  int64  `json:"from"`
			To    int64  `json:"to"`
			Rows  int64  `json:"rows"`
		} `json:"splits"`
	} `json:"jobs"`
}

// verifiedProblem is one finding of the verifier.
type verifiedProblem struct {
	Kind  Kind   `json:"kind"`
	What  string `json:"what"`
	Path  string `json:"path"`
	Entry int64  `json:"entry"`
}

// findPython finds the program; ok is false on a machine without it that need not have it.
func findPython(t *testing.T) (python string, ok bool) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil && needPython {
		t.Fatal("python3 is missing: install it")
	}
	return python, err == nil
}

// verify lets the independent verifier look at the table; ok is false on a machine without Python.
func (l *lake) verify(fast bool) (v verified, ok bool) {
	l.t.Helper()
	python, ok := findPython(l.t)
	if !ok {
		return v, false
	}
	args := []string{verifier}
	if fast {
		args = append(args, "--fast")
	}
	cmd := exec.Command(python, append(args, l.root)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(out, &v); err != nil {
		l.t.Fatalf("%v\n%s", err, out)
	}
	v.code = cmd.ProcessState.ExitCode()
	return v, true
}

// agree lets the independent verifier look at the table too: it must find the same kinds of problems, and count the same.
func (l *lake) agree(r *Report) {
	l.t.Helper()
	v, ok := l.verify(r.Fast)
	l.verified = v
	if !ok {
		return
	}
	var kind []Kind
	for _, p := range v.Problems {
		kind = append(kind, p.Kind)
	}
	slices.Sort(kind)
	kind = slices.Compact(kind)
	if want := kinds(r); !slices.Equal(kind, want) || v.Verdict != r.Verdict || (v.code == 1) != (r.Verdict == Wrong) {
		l.t.Errorf("the verifier says %q (exit code %d) and found %v, the audit says %q and found %v\n%+v\n%s", v.Verdict, v.code, kind, r.Verdict,
			want, v.Problems, text(r))
	}
	for i, j := range v.Jobs {
		o := r.Jobs[i]
		if j.Certificates != o.Certificates || j.Files != o.Files && r.Verdict != Wrong || j.Pending != o.Pending || j.Chain != o.Chain || len(j.Losses) != len(o.Losses) ||
			len(j.Splits) != len(o.Splits) {
			l.t.Errorf("the verifier has %+v, the audit %+v", j, o)
		}
		for k, s := range j.Splits {
			if x := o.Splits[min(k, len(o.Splits)-1)]; s.Split != x.Split || s.From != x.From || s.To != x.To || r.Verdict != Wrong && s.Rows != x.Rows {
				l.t.Errorf("the verifier has %+v, the audit %+v", s, x)
			}
		}
	}
}

// TestXXH128 holds the verifier's own XXH128 against the library's, at all lengths where its ways part.
func TestXXH128(t *testing.T) {
	python, ok := findPython(t)
	if !ok {
		return
	}
	all := make([]byte, 70000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range all {
		all[i] = byte(r.Uint32())
	}
	p := filepath.Join(t.TempDir(), "bytes")
	if err := os.WriteFile(p, all, 0o666); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys
sys.path.insert(0, sys.argv[1])
import xxh128
b = open(sys.argv[2], 'rb').read()
for n in list(range(300)) + [1023, 1024, 1025, 1087, 1088, 1089, 2048, 2049, 3000, len(b)]:
    h = xxh128.Hasher()
    for at in range(0, n, 701):
        h.update(b[at:min(at + 701, n)])
    print(n, h.hexdigest())
`
	out, err := exec.Command(python, "-c", script, filepath.Dir(verifier), p).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 310 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var n int
		var sum string
		if _, err := fmt.Sscan(line, &n, &sum); err != nil {
			t.Fatal(err)
		}
		if want := account.SumsOf(all[:n]).XXH128; sum != want {
			t.Errorf("%d bytes: the verifier has %s, the library %s", n, sum, want)
		}
	}
}

func TestVerifierUsage(t *testing.T) {
	python, ok := findPython(t)
	if !ok {
		return
	}
	for _, args := range [][]string{{}, {"a", "b"}, {"--what"}} {
		cmd := exec.Command(python, append([]string{verifier}, args...)...)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%q: %v", args, err)
		}
	}
}
