package fs_test

import (
	"testing"

	"staunch/fs"
)

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		info fs.Info
		want bool
	}{
		{fs.Info{Name: "part-0.json"}, false},
		{fs.Info{Name: "dt=1", Dir: true}, false},
		{fs.Info{Name: "_staunch", Dir: true}, true},
		{fs.Info{Name: "_DUMP_TEMPORARY", Dir: true}, true},
		{fs.Info{Name: ".staging", Dir: true}, true},
		{fs.Info{Name: "_SUCCESS"}, true},
		{fs.Info{Name: ".part-0.inprogress"}, true},
		{fs.Info{Name: "_day=1", Dir: true}, false},
		{fs.Info{Name: ".day=1", Dir: true}, false},
		{fs.Info{Name: "_day=", Dir: true}, false},
		{fs.Info{Name: "_day=1", Symlink: true}, false},
		{fs.Info{Name: "_day=1"}, true},
	} {
		if got := fs.Hidden(c.info); got != c.want {
			t.Errorf("%+v: hidden is %v", c.info, got)
		}
	}
}
