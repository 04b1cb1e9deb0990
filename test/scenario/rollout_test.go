package scenario

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"staunch/account"
)

// cleanup is the statement that sets temporary-cleanup of the table lake.
func cleanup(value string) string {
	return "SET 'staunch.table.lake.temporary-cleanup' = '" + value + "';\n"
}

// TestRollOutSettings: before-write and never, one after the other in either order over the same checkpoints, killed by SIGKILL wherever files are
// left in the folder that the next attempt writes to. Each row is there once.
func TestRollOutSettings(t *testing.T) {
	for _, order := range [][2]string{{"before-write", "never"}, {"never", "before-write"}} {
		t.Run(strings.Join(order[:], " then "), func(t *testing.T) {
			t.Parallel()
			s := three(t)
			sql, err := os.ReadFile(s.file)
			if err != nil {
				t.Fatal(err)
			}
			deleted := 0
			for i, point := range []string{"done.after:2", "write.closed:2", "ack.all", "prepare.durable", "certificate.after:2", "write.closed", "rename.after:2", "ack.all:2"} {
				s.write(s.file, cleanup(order[i%2])+string(sql))
				p := s.start("STAUNCH_FAILPOINT=" + point)
				p.killed()
				n := strings.Count(p.text(), "files of ended attempts were deleted before the first write")
				if n > 0 && order[i%2] == "never" {
					t.Errorf("deleted with the setting never:\n%s", p.shown())
				}
				deleted += n
				p.silent("level=WARN msg=\"could not clean up")
			}
			if deleted == 0 {
				t.Error("before-write deleted nothing: no leftover was met")
			}
			if len(pending(t, s.path("lake"))) == 0 {
				t.Error("nothing was left for the last run")
			}
			s.ends()
			wantIDs(t, s.path("lake"), span(1, last))
			s.audited(s.path("lake"))
		})
	}
}

// TestCleanupOption: a value that is none is refused, and check says that before-write is not needed.
func TestCleanupOption(t *testing.T) {
	t.Parallel()
	s := three(t)
	sql, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.file, cleanup("always")+string(sql))
	s.start().exits(2).says("temporary-cleanup", "never", "before-write")
	s.write(s.file, strings.Replace(cleanup("never"), "cleanup", "clean-up", 1)+string(sql))
	s.start().exits(2).says("temporary-clean-up", "temporary-cleanup")
	s.write(s.file, cleanup("before-write")+string(sql))
	s.program("check", s.file).exits(0).says("temporary-cleanup = before-write is not needed")
	s.write(s.file, cleanup("never")+string(sql))
	s.program("check", s.file).exits(0).silent("is not needed")
}

// older turns the newest checkpoint, whose commit has not begun, into one of a version that records folders instead of files: the files get that
// version's names, in their partitions' folders below their task's, and the entry names the folders, which are given.
func (s *script) older() (folders []string) {
	s.t.Helper()
	file := newest(s.t, s.path("checkpoints", "job", "log"), "", account.KindComplete)
	b, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	line, body, _ := bytes.Cut(b, []byte("\n"))
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		s.t.Fatal(err)
	}
	table := m["tables"].(map[string]any)[s.path("lake")].(map[string]any)
	for i, x := range table["files"].([]any) {
		f := x.(map[string]any)
		from := f["pending"].(string)
		dir := filepath.Dir(from)
		if !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
		part, _ := f["partition"].(string)
		if err := os.MkdirAll(filepath.Join(dir, part), 0o777); err != nil {
			s.t.Fatal(err)
		}
		move(s.t, from, filepath.Join(dir, part, fmt.Sprintf("task_dorado_111111111_%s_%v.17%d.json", strings.TrimPrefix(filepath.Base(dir), "task-"), m["checkpoint"], i)))
	}
	delete(table, "files")
	delete(table, "ranges")
	table["directories"] = folders
	if body, err = json.Marshal(m); err != nil {
		s.t.Fatal(err)
	}
	words := strings.Fields(string(line))
	s.write(file, fmt.Sprintf("%s %s %s %s %x\n%s\n", words[0], words[1], words[2], words[3], sha256.Sum256(body), body))
	return folders
}

// olderCommits does with a folder what that version does: n files go to their places; without any left the folder is removed.
func (s *script) olderCommits(folder string, n int) {
	s.t.Helper()
	left := 0
	err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "task_dorado_") {
			return err
		}
		if n--; n < 0 {
			left++
			return nil
		}
		to := s.path("lake", strings.TrimPrefix(p, folder+"/"))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.Rename(p, to))
	})
	if err == nil && left == 0 {
		err = os.RemoveAll(folder)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestFromDirectories: a checkpoint of the directory-based protocol, of whose files that version had committed none, some or all, with dirty files of
// its next checkpoint: the job goes on from it, killed on the way, and each row is there once.
func TestFromDirectories(t *testing.T) {
	for _, x := range []struct {
		name     string
		moved    int
		killedAt string
	}{
		{"none moved", 0, ""},
		{"some moved", 1, "certificate.before"},
		{"some moved, certified", 2, "certificate.after"},
		{"killed between renames", 1, "rename.after"},
		{"killed before done", 0, "rename.synced"},
		{"all moved", 3, ""},
		{"all moved, killed", 3, "certificate.after"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := three(t)
			s.start("STAUNCH_FAILPOINT=write.closed:2").killed() // dirty files of this version, in the same folder
			s.start("STAUNCH_FAILPOINT=certificate.before").killed()
			folders := s.older()
			if len(folders) != 1 {
				t.Fatalf("folders %v", folders)
			}
			s.olderCommits(folders[0], x.moved)
			dirty := s.path("lake", "_DUMP_TEMPORARY", "cp-99", "task-0", "task_dorado_111111111_0_99.1700")
			if err := os.MkdirAll(filepath.Dir(dirty), 0o777); err != nil {
				t.Fatal(err)
			}
			s.write(dirty, `{"id": 1}`)
			if x.killedAt != "" {
				s.start("STAUNCH_FAILPOINT=" + x.killedAt).killed()
			}
			p := s.ends()
			switch told := x.moved == 3 && x.killedAt == ""; {
			case told:
				p.says("level=WARN", "a folder that the checkpoint names is not there", folders[0], "3 visible files", "missing=1")
			case x.moved < 3:
				p.silent("is not there")
			}
			wantIDs(t, s.path("lake"), span(1, last))
			if _, err := os.Stat(dirty); err != nil {
				t.Error(err)
			}
			s.program("audit", s.path("lake")).exits(0).says("by a version that recorded no files")
			r := s.cleaned(0, "--older-than", "0s")
			if removed, left := counts(r); removed["pending file"] == 0 && x.moved < 3 || left["not known to be Staunch's"] != 1 {
				t.Errorf("removed %v, left %v", removed, left)
			}
		})
	}
}

// TestFromDirectoriesLost: a folder that is neither there nor seen to be committed is told, and counted in the certificate; the job goes on.
func TestFromDirectoriesLost(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=certificate.before").killed()
	folders := s.older()
	if err := os.RemoveAll(folders[0]); err != nil {
		t.Fatal(err)
	}
	s.ends().says("level=WARN", "a folder that the checkpoint names is not there", folders[0], "no visible file's name tells of it")
	if n := len(ids(t, s.path("lake"))); n == last || n == 0 {
		t.Errorf("%d rows", n)
	}
	s.program("audit", s.path("lake")).exits(0).says("1 of the 1 folders of checkpoint")
}

// TestFromDirectoriesElsewhere: folders outside the table are refused, and nothing is touched.
func TestFromDirectoriesElsewhere(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=certificate.before").killed()
	folders := s.older()
	file := newest(t, s.path("checkpoints", "job", "log"), "", account.KindComplete)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line, body, _ := bytes.Cut(b, []byte("\n"))
	body = bytes.ReplaceAll(bytes.TrimSuffix(body, []byte("\n")), []byte(folders[0]), []byte(s.path("checkpoints")))
	words := strings.Fields(string(line))
	s.write(file, fmt.Sprintf("%s %s %s %s %x\n%s\n", words[0], words[1], words[2], words[3], sha256.Sum256(body), body))
	before := snapshot(t, s.path("lake", "_DUMP_TEMPORARY"))
	s.start().exits(1).says("names the folder "+s.path("checkpoints"), "no folder of a task")
	unchanged(t, s.path("lake", "_DUMP_TEMPORARY"), before)
}
