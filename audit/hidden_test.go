package audit

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestHiddenColumn: readers see the partitions of a column whose name begins with _ or a dot, so both programs look into them, and into no other hidden folder.
func TestHiddenColumn(t *testing.T) {
	for _, format := range []string{"json", "parquet"} {
		l := standard(t, format, 2)
		f := l.file(0, 0).Final
		name := "again" + filepath.Ext(f)
		for _, dir := range []string{"_temporary", "dt=2026-11-01/.staging"} {
			l.copy(f, filepath.Join(l.root, dir, name))
		}
		l.copy(f, filepath.Join(l.root, "dt=2026-11-01", "_x=1"+filepath.Ext(f)))
		l.at()
		if r := l.audit(Options{}); r.Verdict != Clean {
			t.Error(text(r))
		}
		for n, dir := range []string{"_day=1", ".day=1", "dt=2026-11-01/_hour=2"} {
			at := filepath.Join(l.root, dir, name)
			l.copy(f, at)
			r := l.audit(Options{})
			if !slices.Equal(kinds(r), []Kind{FileForeign}) || len(r.Problems) != n+1 || !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == at }) {
				t.Errorf("%s: %s", dir, text(r))
			}
		}
	}
}

// TestHiddenColumnOfCopy: the same for the copy of a partition.
func TestHiddenColumnOfCopy(t *testing.T) {
	l := standard(t, "json", 2)
	cert, copy := l.export(exported)
	l.copy(l.first(copy), filepath.Join(copy, "_old", "more.json"))
	if found, r := l.check(cert, copy); len(found) != 0 {
		t.Errorf("%v\n%+v", found, r)
	}
	l.copy(l.first(copy), filepath.Join(copy, "_hour=1", "more.json"))
	if found, r := l.check(cert, copy); !slices.Equal(found, []Kind{FileForeign}) {
		t.Errorf("%v\n%+v", found, r)
	}
}
