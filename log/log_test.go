package log

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/fstest"
	"staunch/fs/local"
)

// texts gives number, kind and body of entries.
func texts(list []Entry) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%d %s %s\n", e.N, e.Kind, e.Body)
	}
	return b.String()
}

func appendTo(t *testing.T, l *Log, kind, body string) Entry {
	t.Helper()
	e, err := l.Append(Append{Kind: kind, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t *testing.T, l *Log) []Entry {
	t.Helper()
	list, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAppendAndRead(t *testing.T) {
	for _, ext := range []string{"", ".staunch"} {
		dir := t.TempDir() + "/job/log"
		a, b := Open(&env.Real{}, local.New(), dir, ext), Open(&env.Real{}, local.New(), dir, ext)
		if list := read(t, a); len(list) != 0 {
			t.Fatalf("a log that does not exist holds %v", list)
		}
		e := appendTo(t, a, "begin", `{"host":"x"}`)
		if e.N != 1 || e.Kind != "begin" || string(e.Body) != `{"host":"x"}` || len(e.Nonce) != 24 || len(e.SHA256) != 64 {
			t.Errorf("%+v", e)
		}
		appendTo(t, a, "complete", "line\nline\n")
		appendTo(t, a, "complete", "")
		if list := read(t, a); len(list) != 0 {
			t.Errorf("its own entries are read again: %v", list)
		}
		list := read(t, b)
		if got := texts(list); got != "1 begin {\"host\":\"x\"}\n2 complete line\nline\n\n3 complete \n" {
			t.Errorf("read\n%s", got)
		}
		if list[0].SHA256 != e.SHA256 || list[0].Nonce != e.Nonce {
			t.Errorf("read %+v, appended %+v", list[0], e)
		}
		appendTo(t, b, "end", "")
		if got := texts(read(t, a)); got != "4 end \n" {
			t.Errorf("read\n%s", got)
		}
		infos, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range infos {
			if number(i.Name(), ext) == 0 {
				t.Errorf("left behind: %s", i.Name())
			}
		}
	}
}

func TestTaken(t *testing.T) {
	dir := t.TempDir()
	a, b := Open(&env.Real{}, local.New(), dir, ""), Open(&env.Real{}, local.New(), dir, "")
	appendTo(t, a, "begin", "a")
	appendTo(t, a, "complete", "1")
	var seen []Entry
	e, err := b.Append(Append{Kind: "begin", Body: []byte("b"), OnTaken: func(e Entry) error { seen = append(seen, e); return nil }})
	if err != nil || e.N != 3 {
		t.Fatalf("%+v, %v", e, err)
	}
	if got := texts(seen); got != "1 begin a\n2 complete 1\n" {
		t.Errorf("shown\n%s", got)
	}
	if list := read(t, b); len(list) != 0 {
		t.Errorf("what was shown is read again: %v", list)
	}
	_, err = a.Append(Append{Kind: "complete", OnTaken: func(e Entry) error {
		return fault.New(fault.Fenced, "a newer attempt began at %d", e.N)
	}})
	if fault.ClassOf(err) != fault.Fenced || errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if got := texts(read(t, a)); got != "3 begin b\n" {
		t.Errorf("read\n%s", got)
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	a := Open(&env.Real{}, local.New(), dir, "")
	for i := range 4 {
		appendTo(t, a, "complete", fmt.Sprint(i))
	}
	for _, n := range []int64{1, 2, 2, 9} {
		if err := a.Remove(n); err != nil {
			t.Error(err)
		}
	}
	appendTo(t, a, "complete", "4")
	if got := texts(read(t, Open(&env.Real{}, local.New(), dir, ""))); got != "3 complete 2\n4 complete 3\n5 complete 4\n" {
		t.Errorf("read\n%s", got)
	}
}

func TestForeignNames(t *testing.T) {
	dir, s := t.TempDir(), local.New()
	appendTo(t, Open(&env.Real{}, s, dir, ".staunch"), "claim", "")
	for _, n := range []string{"2", "02.staunch", "+2.staunch", "2.staunch.bak", ".staunch", "-1.staunch", "0.staunch", "staged-abc", "README", "99999999999999999999.staunch", "2.STAUNCH"} {
		fstest.Put(t, s, dir+"/"+n, "x")
	}
	l := Open(&env.Real{}, s, dir, ".staunch")
	if got := texts(read(t, l)); got != "1 claim \n" {
		t.Errorf("read\n%s", got)
	}
	if e := appendTo(t, l, "certificate", ""); e.N != 2 {
		t.Errorf("%+v", e)
	}
}

// put writes an entry's file by hand.
func put(t *testing.T, s fs.FS, dir string, n int64, kind, body string) {
	t.Helper()
	b, _ := encode(kind, fmt.Sprintf("%024d", n), []byte(body))
	fstest.Put(t, s, fmt.Sprintf("%s/%d", dir, n), string(b))
}

// TestNoFile: what is no plain file is damage, too: no restart makes it one.
func TestNoFile(t *testing.T) {
	for _, to := range []string{"/dev/zero", "3"} { // endless, and a loop
		dir, s := t.TempDir(), local.New()
		put(t, s, dir, 1, "begin", "b")
		put(t, s, dir, 2, "complete", "c")
		if err := os.Symlink(to, dir+"/3"); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(&env.Real{}, s, dir, "").Read(); fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir+"/3") {
			t.Errorf("link to %s: %v", to, err)
		}
	}
}

func TestDamage(t *testing.T) {
	good, _ := encode("complete", "abc", []byte(`{"id":7}`))
	for name, c := range map[string]struct{ content, reason string }{
		"empty":       {"", "the file is empty"},
		"truncated":   {string(good[:len(good)-1]), "truncated"},
		"half":        {string(good[:len(good)-5]), "truncated"},
		"header only": {string(good[:30]), "first line is incomplete"},
		"longer":      {string(good) + "\n", "truncated or altered"},
		"altered":     {strings.Replace(string(good), "7", "8", 1), "first line is incomplete or altered"},
		"altered id":  {strings.Replace(string(good), `"id":7`, `"id":8`, 1), "truncated or altered"},
		"foreign":     {"PAR1\x00\x00 something else", "not a log entry of Staunch"},
		"foreign big": {strings.Repeat("x", 10000), "not a log entry of Staunch"},
		"newer":       {strings.Replace(string(good), "staunch-log 1", "staunch-log 2", 1), `version "2" is not known`},
		"kind":        {strings.Replace(string(good), "complete", "Complete", 1), "first line is incomplete or altered"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "altered" {
				c.content = strings.Replace(string(good), "abc ", "abc  ", 1)
			}
			dir, s := t.TempDir(), local.New()
			put(t, s, dir, 1, "begin", "b")
			put(t, s, dir, 2, "complete", "c")
			fstest.Put(t, s, dir+"/3", c.content)
			put(t, s, dir, 4, "begin", "d")
			l := Open(&env.Real{}, s, dir, "")
			list, err := l.Read()
			if fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir+"/3") || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v", err)
			}
			if got := texts(list); got != "1 begin b\n2 complete c\n" {
				t.Errorf("before the damage:\n%s", got)
			}
			if _, err := l.Append(Append{Kind: "begin"}); fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir+"/3") {
				t.Errorf("append: %v", err)
			}
			// Below a newer beginning nothing of it is needed.
			put(t, s, dir, 5, "complete", "e")
			if got := texts(read(t, Open(&env.Real{}, s, dir, ""))); got != "1 begin b\n2 complete c\n4 begin d\n5 complete e\n" {
				t.Errorf("with a newer complete:\n%s", got)
			}
		})
	}
}

func TestFolderInSlot(t *testing.T) {
	dir, s := t.TempDir(), local.New()
	if err := s.MkdirAll(dir + "/1"); err != nil {
		t.Fatal(err)
	}
	l := Open(&env.Real{}, s, dir, "")
	if _, err := l.Read(); fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir+"/1") {
		t.Errorf("got %v", err)
	}
}

func TestGap(t *testing.T) {
	dir, s := t.TempDir(), local.New()
	for _, n := range []int64{3, 5, 6} {
		put(t, s, dir, n, "begin", "")
	}
	_, err := Open(&env.Real{}, s, dir, "").Read()
	if fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir+"/4 is missing") {
		t.Errorf("got %v", err)
	}
	put(t, s, dir, 7, "complete", "")
	l := Open(&env.Real{}, s, dir, "")
	if got := texts(read(t, l)); got != "5 begin \n6 begin \n7 complete \n" {
		t.Errorf("read\n%s", got)
	}
	put(t, s, dir, 11, "begin", "")
	if _, err := l.Read(); fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir+"/8 to "+dir+"/10 are missing") {
		t.Errorf("got %v", err)
	}
	put(t, s, dir, 12, "complete", "")
	if got := texts(read(t, l)); got != "11 begin \n12 complete \n" {
		t.Errorf("read\n%s", got)
	}
}

func TestFolderRemoved(t *testing.T) {
	dir, s := t.TempDir(), local.New()
	for _, again := range []bool{false, true} {
		l := Open(&env.Real{}, s, dir, "")
		read(t, l)
		appendTo(t, l, "begin", "")
		appendTo(t, l, "complete", "")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := s.MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Append(Append{Kind: "complete"}); fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), dir) {
			t.Errorf("folder made again %v: append: %v", again, err)
		}
		if again {
			os.RemoveAll(dir)
		}
		if _, err := l.Read(); fault.ClassOf(err) != fault.Damage {
			t.Errorf("folder made again %v: read: %v", again, err)
		}
	}
}

// TestFormat holds the format of an entry's file still: other programs read it.
func TestFormat(t *testing.T) {
	got, sum := encode("begin", "00112233445566778899aabb", []byte(`{"host":"x"}`))
	want := "staunch-log 1 begin 00112233445566778899aabb d186b916bc85007f58bcd392ca94ca180da36a71dc0cb9c0826291750e711466\n{\"host\":\"x\"}\n"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if sum != "7774c9c818427b123aff73fda24eff9699a4d8d7355a5ba81a0789f1a64c2216" { // sha256sum of the file
		t.Errorf("hash %q", sum)
	}
}
