package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs/local"
)

const exported = "dt=2026-11-02"

// export gives the certificate of a partition, and a copy of its folder.
func (l *lake) export(partition string) (cert []byte, copy string) {
	l.t.Helper()
	_, c, err := Export(context.Background(), &envtest.Quick{}, local.New(), l.root, partition, Options{})
	l.must(err)
	var out bytes.Buffer
	l.must(c.Write(&out))
	copy = filepath.Join(filepath.Dir(l.root), "copy")
	l.must(os.CopyFS(copy, os.DirFS(filepath.Join(l.root, partition))))
	return out.Bytes(), copy
}

// check holds a copy against a certificate, by both programs.
func (l *lake) check(cert []byte, copy string) (found []Kind, r *CopyReport) {
	l.t.Helper()
	c, err := ReadCertificate(cert)
	if err != nil {
		if fault.ClassOf(err) != fault.Damage {
			l.t.Fatal(err)
		}
		found = []Kind{CertificateDamaged}
	} else {
		r, err = Copy(context.Background(), &envtest.Quick{}, local.New(), copy, c, Options{})
		l.must(err)
		for _, p := range r.Problems {
			found = append(found, p.Kind)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	file := filepath.Join(filepath.Dir(copy), "certificate.json")
	l.must(os.WriteFile(file, cert, 0o666))
	python, ok := findPython(l.t)
	if !ok {
		return found, r
	}
	out, err := exec.Command(python, verifier, "--certificate", file, copy).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	var v struct {
		Verdict  Verdict
		Files    int64
		Rows     int64
		Lengths  int64 `json:"without_checksum"`
		Problems []verifiedProblem
	}
	l.parse(string(out), &v)
	var theirs []Kind
	for _, p := range v.Problems {
		theirs = append(theirs, p.Kind)
	}
	slices.Sort(theirs)
	if theirs = slices.Compact(theirs); !slices.Equal(theirs, found) || r != nil && (v.Files != r.Files || v.Rows != r.Rows || v.Lengths != r.Lengths || v.Verdict != r.Verdict) {
		l.t.Errorf("the verifier found %+v, the audit %v: %+v", v, found, r)
	}
	return found, r
}

// sign gives a changed certificate a fitting hash.
func sign(t *testing.T, cert []byte, f func(*Exported)) []byte {
	t.Helper()
	c, err := ReadCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	f(c)
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// signed makes a certificate of any body.
func signed(body string) []byte {
	sum := sha256.Sum256([]byte(body))
	return fmt.Appendf(nil, envelope+"%s}\n", CertificateVersion, hex.EncodeToString(sum[:]), body)
}

// TestExportedSums: whatever the table's certificates have, an exported one has both checksums, a copy with one letter changed is found by either, and files
// from folders, which have none, are counted.
func TestExportedSums(t *testing.T) {
	l := standard(t, "json", 0)
	l.earlier(1)
	l.amend(l.file(2, 1), "rewritten.json")
	cert, copy := l.export(exported)
	c, err := ReadCertificate(cert)
	l.must(err)
	for _, f := range c.Files {
		b, err := os.ReadFile(filepath.Join(copy, f.Name))
		l.must(err)
		if f.Sums != bothSums(b) {
			t.Errorf("%+v, not %+v", f, bothSums(b))
		}
	}
	if found, r := l.check(cert, copy); len(found) > 0 || r.Lengths != 0 {
		t.Errorf("%v %+v", found, r)
	}
	l.edit(filepath.Join(copy, c.Files[0].Name), flip)
	for name, leave := range map[string]func(s account.Sums) account.Sums{
		"both":           func(s account.Sums) account.Sums { return s },
		"XXH128":         func(s account.Sums) account.Sums { return account.Sums{XXH128: s.XXH128} },
		"SHA-256":        func(s account.Sums) account.Sums { return account.Sums{SHA256: s.SHA256} },
		"a wrong XXH128": func(s account.Sums) account.Sums { return account.Sums{XXH128: "x", SHA256: s.SHA256} },
	} {
		other := sign(t, cert, func(x *Exported) { x.Files[0].Sums = leave(x.Files[0].Sums) })
		if found, _ := l.check(other, copy); !slices.Equal(found, []Kind{FileChanged}) {
			t.Errorf("%s: %v", name, found)
		}
	}

	for name, change := range map[string]string{"no checksum": `"xxh3":"$1"`, "one that is no text": `"xxh128":5`} {
		body := regexp.MustCompile(`"xxh128": "([0-9a-f]+)",\s+"sha256": "[0-9a-f]+"`).ReplaceAllString(string(cert[bytes.Index(cert, []byte(bodyMark))+len(bodyMark):len(cert)-2]), change)
		if found, _ := l.check(signed(body), copy); !slices.Equal(found, []Kind{CertificateDamaged}) {
			t.Errorf("%s: %v", name, found)
		}
	}

	l = newLake(t, "json", 0)
	l.settle(l.older(40, none))
	l.checkpoints(1)
	cert, copy = l.export(".")
	l.must(os.RemoveAll(filepath.Join(copy, "_staunch")))
	if found, r := l.check(cert, copy); len(found) > 0 || r.Lengths == 0 || r.Lengths == r.Files {
		t.Errorf("%v %+v", found, r)
	}
}

// TestExportOfEscapedJob: files are of the job whose accounts the certificate has, also if its log's folder is not called as the job.
func TestExportOfEscapedJob(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := openLake(t, filepath.Join(root, "lake"), "a b/c", "json", 0)
	l.checkpoints(2)
	cert, copy := l.export(exported)
	c, err := ReadCertificate(cert)
	l.must(err)
	if c.Jobs[0].Job != "a b/c" || c.Files[0].Job != "a b/c" {
		t.Errorf("job %q, file of %q", c.Jobs[0].Job, c.Files[0].Job)
	}
	found, _ := l.check(sign(t, cert, func(c *Exported) {
		for i := range c.Files[1:] {
			if f := &c.Files[i+1]; f.Offsets[0].Split == c.Files[0].Offsets[0].Split {
				f.Offsets = c.Files[0].Offsets
			}
		}
	}), copy)
	if !slices.Contains(found, OffsetsTwice) {
		t.Errorf("%v", found)
	}
}

func TestExport(t *testing.T) {
	for _, format := range []string{"json", "parquet"} {
		for _, c := range []struct {
			name string
			do   func(l *lake, cert []byte, copy string) []byte
			want []Kind
		}{
			{name: "as it was"},
			{name: "file removed", do: func(l *lake, cert []byte, copy string) []byte { l.remove(l.first(copy)); return cert }, want: []Kind{FileMissing}},
			{name: "file changed", do: func(l *lake, cert []byte, copy string) []byte { l.edit(l.first(copy), flip); return cert }, want: []Kind{FileChanged}},
			{name: "file cut", do: func(l *lake, cert []byte, copy string) []byte {
				l.edit(l.first(copy), func(b []byte) []byte { return b[:len(b)/2] })
				return cert
			}, want: []Kind{FileChanged}},
			{name: "file more", do: func(l *lake, cert []byte, copy string) []byte {
				l.copy(l.first(copy), filepath.Join(copy, "more"+filepath.Ext(l.first(copy))))
				return cert
			}, want: []Kind{FileForeign}},
			{name: "no copy", do: func(l *lake, cert []byte, copy string) []byte { l.remove(copy); return cert }, want: []Kind{FileMissing}},
			{name: "certificate changed", do: func(l *lake, cert []byte, copy string) []byte { return flip(cert) }, want: []Kind{CertificateDamaged}},
			{name: "certificate cut", do: func(l *lake, cert []byte, copy string) []byte { return cert[:len(cert)/2] }, want: []Kind{CertificateDamaged}},
			{name: "certificate of a newer version", do: func(l *lake, cert []byte, copy string) []byte {
				return bytes.Replace(cert, []byte(`"version":1`), []byte(`"version":2`), 1)
			}, want: []Kind{CertificateDamaged}},
			{name: "no body", do: func(l *lake, cert []byte, copy string) []byte { return signed("null") }, want: []Kind{CertificateDamaged}},
			{name: "empty body", do: func(l *lake, cert []byte, copy string) []byte { return signed("{}") }, want: []Kind{CertificateDamaged}},
			{name: "null job", do: func(l *lake, cert []byte, copy string) []byte {
				return sign(l.t, cert, func(c *Exported) { c.Jobs = append(c.Jobs, nil) })
			}, want: []Kind{CertificateDamaged}},
			{name: "no table", do: func(l *lake, cert []byte, copy string) []byte {
				return sign(l.t, cert, func(c *Exported) { c.Table = "" })
			}, want: []Kind{CertificateDamaged}},
			{name: "no files", do: func(l *lake, cert []byte, copy string) []byte {
				l.remove(copy)
				l.must(os.Mkdir(copy, 0o777))
				return sign(l.t, cert, func(c *Exported) { c.Files, c.Lost = nil, nil })
			}, want: []Kind{CertificateDamaged}},
			{name: "all was lost, and no copy", do: func(l *lake, cert []byte, copy string) []byte {
				l.remove(copy)
				return sign(l.t, cert, func(c *Exported) { c.Files, c.Lost = []ExportedFile{}, c.Files })
			}, want: []Kind{FileMissing}},
			{name: "a file for the copy", do: func(l *lake, cert []byte, copy string) []byte {
				l.remove(copy)
				l.create(copy, []byte("x"))
				return sign(l.t, cert, func(c *Exported) { c.Files, c.Lost = []ExportedFile{}, c.Files })
			}, want: []Kind{FileMissing}},
			{name: "hostile name", do: func(l *lake, cert []byte, copy string) []byte {
				return sign(l.t, cert, func(c *Exported) { c.Files[0].Name = "../../" + c.Files[0].Name })
			}, want: []Kind{CertificateDamaged}},
			{name: "offsets twice, and forged", do: func(l *lake, cert []byte, copy string) []byte {
				return sign(l.t, cert, func(c *Exported) {
					for i := range c.Files[1:] {
						if f := &c.Files[i+1]; f.Offsets[0].Split == c.Files[0].Offsets[0].Split {
							f.Offsets, f.Rows = c.Files[0].Offsets, c.Files[0].Rows
							return
						}
					}
				})
			}, want: []Kind{FileFooter, OffsetsTwice}},
		} {
			t.Run(c.name+"/"+format, func(t *testing.T) {
				t.Parallel()
				l := standard(t, format, 2)
				cert, copy := l.export(exported)
				if c.do != nil {
					cert = c.do(l, cert, copy)
				}
				found, r := l.check(cert, copy)
				if format == "json" && strings.HasPrefix(c.name, "offsets twice") && len(found) == 1 { // two files of equally many rows
					c.want = []Kind{OffsetsTwice}
				}
				if !slices.Equal(found, c.want) {
					t.Errorf("found %v, expected %v\n%+v", found, c.want, r)
				}
			})
		}
	}
}

// first is a data file of a copy.
func (l *lake) first(copy string) string {
	l.t.Helper()
	list, err := filepath.Glob(filepath.Join(copy, "part-*"))
	l.must(err)
	if len(list) == 0 {
		l.t.Fatal("the copy has no files")
	}
	return list[0]
}

// TestExportSays: the certificate has exactly the partition's visible files, with the sets of the table's certificates, what was lost, and the chain.
func TestExportSays(t *testing.T) {
	l := standard(t, "json", 2)
	lost := l.lose(true)
	part := lost.Partition
	cert, _ := l.export(part)
	var x struct{ Body Exported }
	l.parse(string(cert), &x)
	want := map[string]account.File{}
	links := []string{}
	l.history(func(hash string, c account.Certificate) {
		links = append(links, hash)
		for _, f := range c.Files {
			if f.Partition == part && f.Final != lost.Final {
				want[filepath.Base(f.Final)] = f
			}
		}
	})
	if len(x.Body.Files) != len(want) || len(x.Body.Lost) != 1 || x.Body.Lost[0].Name != filepath.Base(lost.Final) || !strings.HasPrefix(x.Body.Lost[0].Accepted, "operator ") {
		t.Errorf("%d files of %d, lost %+v", len(x.Body.Files), len(want), x.Body.Lost)
	}
	for _, f := range x.Body.Files {
		w := want[f.Name]
		if f.XXH128 != w.XXH128 || len(f.SHA256) != 64 || f.Length != w.Length || f.Rows != w.Rows || fmt.Sprint(f.Offsets) != fmt.Sprint(w.Offsets) {
			t.Errorf("%+v, expected %+v", f, w)
		}
	}
	got := []string{}
	for _, c := range x.Body.Jobs[0].Certificates {
		got = append(got, c.Certificate)
	}
	if !slices.Equal(got, links) || x.Body.Jobs[0].Chain.Certificate != links[len(links)-1] {
		t.Errorf("certificates %v, expected %v", got, links)
	}
	if whole, _ := ReadCertificate(first(l.export("."))); len(whole.Files) != 35 || whole.Committed {
		t.Errorf("the whole table: %d files, committed %v", len(whole.Files), whole.Committed)
	}
}

func first(cert []byte, _ string) []byte { return cert }

// history visits all certificates.
func (l *lake) history(visit func(hash string, c account.Certificate)) {
	l.t.Helper()
	h := &history{ctx: context.Background(), store: local.New(), dir: l.logDir(), visit: func(it item) {
		if it.entry != nil && it.entry.Kind == account.KindCertificate {
			var c account.Certificate
			l.must(json.Unmarshal(it.entry.Body, &c))
			visit(it.entry.SHA256, c)
		}
	}}
	l.must(h.read())
}

// TestExportRefused: a partition that a problem concerns gets no certificate; a problem elsewhere is none of its.
func TestExportRefused(t *testing.T) {
	l := standard(t, "json", 0)
	elsewhere := l.file(0, 0).Final
	if strings.Contains(elsewhere, exported) {
		elsewhere = l.file(0, 1).Final
	}
	l.edit(elsewhere, flip)
	export := func(partition string) error {
		_, c, err := Export(context.Background(), &envtest.Quick{}, local.New(), l.root, partition, Options{})
		if (c == nil) != (err != nil) {
			t.Errorf("%v with a certificate: %v", err, c != nil)
		}
		return err
	}
	if err := export(exported); err != nil {
		t.Error(err)
	}
	for _, p := range []string{".", "..", "../x", "dt=none", filepath.Base(filepath.Dir(elsewhere))} {
		if err := export(p); fault.ClassOf(err) != fault.User {
			t.Errorf("%s: %v", p, err)
		}
	}
	l.edit(l.entry(l.nth("done", 0)), flip)
	if err := export(exported); fault.ClassOf(err) != fault.User {
		t.Errorf("with a damaged log: %v", err)
	}
}

// TestNoCertificate: what is no certificate is said in the words of the file, with what it should be.
func TestNoCertificate(t *testing.T) {
	for text, says := range map[string]string{
		"[]": "it is a JSON array", "1": "it is a JSON number", `"x"`: "it is a JSON string", "": "it is no JSON", "{": "it is no JSON", "null": "its format is \"\"", "{}": "its format is \"\"",
		`{"format":[]}`: `its "format" is a JSON array`, `{"version":"1"}`: `its "version" is a JSON string`, string(signed(`[]`)): "its body has a JSON array", string(signed(`{"files":3}`)): `a JSON number at "files"`,
		string(signed(`{"time":"now"}`)): "its body",
	} {
		_, err := ReadCertificate([]byte(text))
		if err == nil || fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v, expected %s", text, err, says)
		}
		if err != nil && !strings.Contains(says, "format is \"\"") && !strings.Contains(err.Error(), "staunch audit TABLE --export PARTITION") {
			t.Errorf("%s: does not say what it should be: %v", text, err)
		}
		if python, ok := findPython(t); ok {
			file := filepath.Join(t.TempDir(), "c.json")
			if werr := os.WriteFile(file, []byte(text), 0o666); werr != nil {
				t.Fatal(werr)
			}
			out, perr := exec.Command(python, verifier, "--certificate", file, filepath.Dir(file)).Output()
			if perr == nil || !strings.Contains(string(out), string(CertificateDamaged)) {
				t.Errorf("%s: the verifier says %v %s", text, perr, out)
			}
		} else if needPython {
			t.Fatal("python3 is missing: install it")
		}
	}
}
