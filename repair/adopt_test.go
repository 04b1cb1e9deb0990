package repair

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"staunch/account"
	"staunch/audit"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs/local"
)

// old is a table of JSON lines that something else wrote before a job did.
type old struct {
	t     *testing.T
	root  string
	table *commit.Table
	end   account.ChainEnd
	id    account.CheckpointID
	// earlier: files are recorded as builds before XXH128 did, by SHA-256 alone.
	earlier bool
}

func newOld(t *testing.T) *old {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &old{t: t, root: filepath.Join(dir, "lake")}
	o.write("dt=2026-01-01/part-0c5f-0-0", "{\"id\":1}\n{\"id\":2}\n") // as Flink names its files
	o.write("dt=2026-01-01/part-0c5f-0-1", "{\"id\":3}\n")
	o.write("dt=2026-01-01/_SUCCESS", "")
	o.write("dt=2026-01-02/00000_0.json", "{\"id\":4}\n")
	o.table = commit.Open(&env.Real{}, local.New(), o.root, commit.Owner{Job: "orders", LogID: "l", LogPath: "/ck/orders", Epoch: 1}, commit.Variant{SegmentEvery: 3},
		slog.New(slog.DiscardHandler))
	o.must(o.table.Claim(nil))
	o.commit()
	return o
}

func (o *old) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *old) write(name, text string) string {
	o.t.Helper()
	p := filepath.Join(o.root, name)
	o.must(os.MkdirAll(filepath.Dir(p), 0o777))
	o.must(os.WriteFile(p, []byte(text), 0o666))
	return p
}

// commit is one checkpoint of the job, with one file of two rows.
func (o *old) commit() account.File {
	o.t.Helper()
	f := o.next()
	run := f.Offsets[0].Set.Runs[0]
	res, err := o.table.Commit(account.Certificate{LogID: "l", Job: "orders", Epoch: 1, Checkpoint: o.id, Complete: fmt.Sprint(o.id), Files: []account.File{f}, AccountsClose: true,
		Ranges: []account.Range{{Split: "e-0", Insert: "1", From: run.From, To: run.To}}}, o.end)
	o.must(err)
	o.end = res.Certificate
	return f
}

// next is the file of the next checkpoint, which is pending.
func (o *old) next() account.File {
	o.t.Helper()
	from := int64(o.id) * 2
	o.id++
	text := fmt.Sprintf("{\"id\":%d}\n{\"id\":%d}\n", 100+from, 101+from)
	name := account.FileName{Job8: account.Job8("orders"), Checkpoint: o.id, Epoch: 1, Rand: fmt.Sprintf("%024x", o.id), Ext: "json"}.String()
	f := account.File{Final: filepath.Join(o.root, "dt=2026-01-02", name), Partition: "dt=2026-01-02", Length: int64(len(text)), Sums: account.SumsOf([]byte(text)), Rows: 2, Attempt: "1.0",
		Insert: "1", Offsets: []account.Offsets{{Split: "e-0", Set: account.Set{Runs: []account.Run{{From: from, To: from + 2}}}}}}
	if o.earlier {
		f.Sums = account.Sums{SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
	}
	f.Pending = o.write(fmt.Sprintf("_DUMP_TEMPORARY/cp-%d/task-0/%s.pending", o.id, name), text)
	return f
}

// audit looks by both programs.
func (o *old) audit() (*audit.Report, map[audit.Kind]int) {
	o.t.Helper()
	r, err := audit.Table(context.Background(), &env.Real{}, local.New(), o.root, audit.Options{})
	o.must(err)
	found := map[audit.Kind]int{}
	for _, p := range r.Problems {
		found[p.Kind]++
	}
	for _, p := range r.Jobs[0].Problems {
		found[p.Kind]++
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return r, found // the tests of package audit insist on it
	}
	out, err := exec.Command(python, "../test/verifier/verify.py", o.root).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.t.Fatal(err)
	}
	var v struct{ Problems []struct{ Kind audit.Kind } }
	o.must(json.Unmarshal(out, &v))
	theirs := map[audit.Kind]int{}
	for _, p := range v.Problems {
		theirs[p.Kind]++
	}
	if fmt.Sprint(theirs) != fmt.Sprint(found) {
		o.t.Errorf("the verifier found %v, the audit %v", theirs, found)
	}
	return r, found
}

func (o *old) adopt(w Adoption) (*Adopted, error) {
	w.Who, w.Host = "operator", "host"
	return Adopt(context.Background(), &env.Real{}, local.New(), o.root, w, slog.New(slog.DiscardHandler))
}

// TestAdopt: files from before are foreign until they are adopted; then they are expected as they are, and damage to one is found.
func TestAdopt(t *testing.T) {
	o := newOld(t)
	if _, found := o.audit(); found[audit.FileForeign] != 3 || found[audit.SuccessForeign] != 1 {
		t.Errorf("before: %v", found)
	}
	if a, err := o.adopt(Adoption{Why: "from Flink", DryRun: true}); err != nil || a.Files != 3 || a.Rows != 4 || len(a.Entries) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, found := o.audit(); found[audit.FileForeign] != 3 {
		t.Errorf("a dry run has adopted: %v", found)
	}
	a, err := o.adopt(Adoption{Why: "from Flink"})
	if err != nil || a.Files != 3 || a.Rows != 4 || len(a.Entries) != 1 || a.Job != "orders" {
		t.Fatalf("%+v, %v", a, err)
	}
	r, found := o.audit()
	if j := r.Jobs[0]; len(found) > 0 || r.Verdict != audit.Clean || j.Adopted != 3 || j.AdoptedRows != 4 || j.Rows != 6 || j.Files != 4 {
		t.Errorf("%v %+v", found, j)
	}
	if a, err = o.adopt(Adoption{Why: "again"}); err != nil || a.Files != 0 || len(a.Entries) != 0 {
		t.Errorf("adopted twice: %+v, %v", a, err)
	}
	for range 8 { // through segments
		o.commit()
	}
	if r, found = o.audit(); len(found) > 0 || r.Jobs[0].Adopted != 3 {
		t.Errorf("behind segments: %v", found)
	}
	o.write("dt=2026-01-01/part-0c5f-0-0", "{\"id\":1}\n{\"id\":5}\n")
	o.must(os.Remove(filepath.Join(o.root, "dt=2026-01-02/00000_0.json")))
	if _, found := o.audit(); found[audit.FileChanged] != 1 || found[audit.FileMissing] != 1 || len(found) != 2 {
		t.Errorf("damaged: %v", found)
	}
}

func TestAdoptRefused(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(o *old)
		w    Adoption
		says string
	}{
		"no reason": {w: Adoption{}, says: "reason"},
		"no job":    {w: Adoption{Why: "x", Job: "other"}, says: "has not written"},
		"a copy under another name": {do: func(o *old) {
			f := o.commit()
			b, err := os.ReadFile(f.Final)
			o.must(err)
			o.write("dt=2026-01-01/copy.json", string(b))
		}, says: "a copy of"},
		"a copy of a file by SHA-256 alone": {do: func(o *old) {
			o.earlier = true
			o.write("dt=2026-01-01/copy.json", o.bytes(o.commit().Final))
		}, says: "a copy of"},
		"a copy of an adopted one": {do: func(o *old) {
			_, err := o.adopt(Adoption{Why: "first"})
			o.must(err)
			o.write("dt=2026-01-01/copy", "{\"id\":3}\n")
		}, says: "a copy of"},
		"a name of ours": {do: func(o *old) {
			f := o.commit()
			o.must(os.Rename(f.Final, strings.Replace(f.Final, "-0-0000", "-1-0000", 1)))
		}, says: "a name that Staunch gives"},
		"a link":     {do: func(o *old) { o.must(os.Symlink("/etc/hosts", filepath.Join(o.root, "x.json"))) }, says: "symbolic link"},
		"no Parquet": {do: func(o *old) { o.write("dt=2026-01-01/x.parquet", "no") }, says: "is no Parquet file"},
		"no log":     {do: func(o *old) { o.must(os.RemoveAll(filepath.Join(o.root, "_staunch"))) }, says: "start the job first"},
		"damaged log": {do: func(o *old) {
			o.commit()
			o.must(os.WriteFile(filepath.Join(o.root, "_staunch/orders/4.staunch"), []byte("x"), 0o666))
		}, says: "not a log entry"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOld(t)
			if c.do != nil {
				c.do(o)
			}
			if c.w.Why == "" && name != "no reason" {
				c.w.Why = "from before"
			}
			before := o.entries()
			_, err := o.adopt(c.w)
			if class := fault.ClassOf(err); class != fault.User && class != fault.Damage || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v", err)
			}
			if now := o.entries(); now != before {
				t.Errorf("%d entries, %d before", now, before)
			}
		})
	}
}

func (o *old) entries() int {
	list, err := filepath.Glob(filepath.Join(o.root, "_staunch/*/*.staunch"))
	o.must(err)
	return len(list)
}

// TestAdoptManyFiles: one entry lists a thousand.
func TestAdoptManyFiles(t *testing.T) {
	o := newOld(t)
	for i := range adoptedEach + 5 {
		o.write(fmt.Sprintf("dt=2025-01-01/%04d.json", i), "{}\n")
	}
	a, err := o.adopt(Adoption{Why: "many"})
	if err != nil || a.Files != adoptedEach+8 || len(a.Entries) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	if r, found := o.audit(); len(found) > 0 || r.Jobs[0].Adopted != adoptedEach+8 {
		t.Error(found)
	}
}
