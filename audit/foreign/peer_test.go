//go:build peer

package foreign

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOtherWriters: files of writers that are not ours, in every shape that they know, are read: the same 20,000 positions in each.
func TestOtherWriters(t *testing.T) {
	python := os.Getenv("TESTBED_PYTHON")
	if python == "" {
		t.Fatal("TESTBED_PYTHON is not set: run `make peers`")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, filepath.Join("testdata", "writers.py"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folders, err := os.ReadDir(dir)
	if err != nil || len(folders) != 39 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	for _, f := range folders {
		t.Run(f.Name(), func(t *testing.T) {
			x := &table{t, filepath.Join(dir, f.Name())}
			o := Options{From: -1, CSV: CSV{Header: true}}
			if f.Name() == "nested" {
				o.Columns = Columns{Partition: "m.part", Offset: "m.off"}
			}
			r := x.audit(o)
			x.want(r)
			if r.Rows != 20_000 || len(r.Splits) != 4 {
				t.Errorf("%+v", r)
			}
		})
	}
}
