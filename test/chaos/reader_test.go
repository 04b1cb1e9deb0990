//go:build peer

package chaos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheReaderSeesDamage: what watches the crash runs must see each kind of damage, and nothing where there is none.
func TestTheReaderSeesDamage(t *testing.T) {
	const row0, row1 = `{"part":0,"off":0}` + "\n", `{"part":0,"off":1}` + "\n"
	for name, c := range map[string]struct {
		files, later map[string]string // later: after the reader has seen files; no text removes
		want         watched
	}{
		"good":           {files: map[string]string{"dt=1/a": row0, "dt=2/b": row1}, want: watched{Rows: 2, Files: 2}},
		"grows":          {files: map[string]string{"a": row0}, later: map[string]string{"b": row1}, want: watched{Rows: 2, Files: 2}},
		"doubled":        {files: map[string]string{"a": row0 + row1, "b": row1}, want: watched{Rows: 2, Files: 2, Doubled: 1}},
		"doubled inside": {files: map[string]string{"a": row0 + row0}, want: watched{Rows: 1, Files: 1, Doubled: 1}},
		"torn":           {files: map[string]string{"a": row0 + `{"part":0,"of`}, want: watched{Files: 1, Torn: 1}},
		"empty":          {files: map[string]string{"a": ""}, want: watched{Files: 1, Torn: 1}},
		"changed":        {files: map[string]string{"a": row0}, later: map[string]string{"a": row1}, want: watched{Rows: 1, Files: 1, Torn: 1}},
		"vanished":       {files: map[string]string{"a": row0, "b": row1}, later: map[string]string{"b": ""}, want: watched{Rows: 2, Files: 1, Gone: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			k := &table{t: t, dir: dir, lake: filepath.Join(dir, "lake"), format: "json"}
			put(t, k.lake, c.files, false)
			w := k.watch()
			w.hasRead(t)
			put(t, k.lake, c.later, true)
			if err := os.WriteFile(w.stop, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			failed := w.cmd.Wait() != nil
			var got watched
			if err := json.Unmarshal(w.out.Bytes(), &got); err != nil {
				t.Fatalf("%v: %q", err, &w.out)
			}
			if bad := c.want.Doubled+c.want.Torn+c.want.Gone > 0; bad != failed || bad != (len(got.Problems) > 0) {
				t.Errorf("failed: %v, problems %q", failed, got.Problems)
			}
			// a file that stays torn is met again at each look
			if got.Rows != c.want.Rows || got.Files != c.want.Files || got.Doubled != c.want.Doubled || got.Torn < c.want.Torn || (got.Torn > 0) != (c.want.Torn > 0) || got.Gone != c.want.Gone {
				t.Errorf("%s\nwant %+v", &w.out, c.want)
			}
		})
	}
}

func put(t *testing.T, dir string, files map[string]string, remove bool) {
	t.Helper()
	for f, text := range files {
		f = filepath.Join(dir, f+".json")
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if remove && text == "" {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// hasRead waits for the reader's first look at the whole table.
func (w *watcher) hasRead(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		if b, err := os.ReadFile(w.stop + ".reads"); err == nil && strings.TrimSpace(string(b)) != "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the reader reads nothing")
		}
	}
}
