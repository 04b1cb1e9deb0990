package namenode

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/fs"
	"staunch/fs/local"
)

var disk = fs.Resolvers{"": local.Resolver{FS: local.New()}}

func read(t *testing.T, paths ...string) *Logs {
	t.Helper()
	l, err := Read(disk, paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func sample(t *testing.T) string {
	t.Helper()
	p, err := filepath.Abs("testdata/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRealLines: every line of two real NameNodes is read, the two deletes of one folder among them.
func TestRealLines(t *testing.T) {
	l := read(t, sample(t))
	r := l.Reports[0]
	if r.Lines != 42 || len(l.Events)+r.Other+r.Broken != 42 || r.Broken != 0 || len(l.Events) < 40 {
		t.Fatalf("%+v, %d events", r, len(l.Events))
	}
	var deletes []string
	cmds := map[string]int{}
	for _, e := range l.Events {
		cmds[e.Cmd]++
		if e.Cmd == "delete" && strings.HasSuffix(e.Src, "task-2") {
			deletes = append(deletes, e.Time.Format("15:04:05.000")+" "+e.Who())
		}
		if e.Cmd == "rename" && e.Src == "/fo/src" && (!e.Overwrites() || e.Dst != "/fo/dst" || !e.Allowed) {
			t.Errorf("%+v", e)
		}
		if e.Cmd == "delete" && e.Dst != "" {
			t.Errorf("null is read as %q", e.Dst)
		}
	}
	if !slices.Equal(deletes, []string{"15:15:36.564 root@127.0.0.1", "15:15:37.722 root@127.0.0.1"}) {
		t.Errorf("deletes: %q of %v", deletes, cmds)
	}
}

func TestLines(t *testing.T) {
	const rest = "ugi=etl (auth:PROXY) via knox (auth:TOKEN)\tip=nn/10.1.2.3\tcmd=delete\tsrc=/a b=c/x\tdst=null\tperm=null"
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"an older version without proto": {"2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=true\t" + rest, "10:11:12.345 true etl 10.1.2.3 delete /a b=c/x "},
		"another appender":               {"2019-03-01T10:11:12.345 [IPC Server handler 3] org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit - allowed=false\t" + rest + "\tproto=webhdfs\tcallerContext=mr_1\r", "10:11:12.345 false etl 10.1.2.3 delete /a b=c/x mr_1"},
		"a zone":                         {"2019-03-01T12:11:12.345+02:00 INFO allowed=true\t" + rest, "10:11:12.345 true etl 10.1.2.3 delete /a b=c/x "},
		"blanks for tabs":                {"2019-03-01 10:11:12,345 INFO FSNamesystem.audit: " + strings.ReplaceAll("allowed=true\t"+rest, "\t", " "), "10:11:12.345 true etl 10.1.2.3 delete /a b=c/x "},
		"behind a syslog header":         {"Mar  1 11:11:13 nn1 hadoop[7]: 2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=true\t" + rest, "10:11:12.345 true etl 10.1.2.3 delete /a b=c/x "},
		"behind one with a zone":         {"<14>1 2019-03-01T11:11:13+01:00 nn1 hadoop - - 2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=true\t" + rest, "10:11:12.345 true etl 10.1.2.3 delete /a b=c/x "},
		"tabs as syslog escapes them":    {"2019-03-01 10:11:12,345 INFO FSNamesystem.audit: " + strings.ReplaceAll("allowed=true\t"+rest, "\t", "#011"), "10:11:12.345 true etl 10.1.2.3 delete /a b=c/x "},
		"no time":                        {"INFO FSNamesystem.audit: allowed=true\t" + rest, errTime.Error()},
		"cut":                            {"2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=true\tugi=etl (auth:SIM", errField.Error()},
		"no source":                      {"2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=true\tugi=etl\tip=/1.1.1.1\tcmd=delete", errField.Error()},
		"neither":                        {"2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=perhaps\t" + rest, errField.Error()},
		"another logger":                 {"2019-03-01 10:11:12,345 INFO BlockStateChange: BLOCK* allocate", errOther.Error()},
		"empty":                          {"", errOther.Error()},
	} {
		e, err := parse(c.line)
		got := fmt.Sprintf("%s %v %s %s %s %s %s", e.Time.Format("15:04:05.000"), e.Allowed, e.User, e.IP, e.Cmd, e.Src, e.Caller)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestBrokenLinesAreShown: what cannot be read is counted with an example; the rest of the log counts, also packed.
func TestBrokenLinesAreShown(t *testing.T) {
	whole, err := os.ReadFile(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines[3] = lines[3][:60] + "\n"
	lines[5] = "\x00\xff\n"
	lines[7] = strings.Repeat("x", maxLine+100_000) + "\n"
	text := strings.Join(lines, "")
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"a.log": []byte(text), "a.log.gz": packed.Bytes()} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l := read(t, p)
		r := l.Reports[0]
		if r.Broken != 2 || r.Other == 0 || len(l.Events)+r.Other+r.Broken != r.Lines || len(r.Examples) != 2 || r.Examples[0].Line != 4 {
			t.Errorf("%s: %+v with %d events", name, r, len(l.Events))
		}
	}
	if _, err := Read(disk, []string{filepath.Join(dir, "none")}, nil); err == nil {
		t.Error("a log that is not there is read")
	}
}

// TestClock: the difference of the clocks, zone and all, is found from what both wrote down, and one late call does not move it.
func TestClock(t *testing.T) {
	l := read(t, sample(t))
	shift := 3*time.Hour + 250*time.Millisecond
	var seen []Seen
	for i, e := range l.Events {
		if e.Cmd != "create" && e.Cmd != "mkdirs" && e.Cmd != "rename" {
			continue
		}
		s := Seen{Cmd: e.Cmd, Src: e.Src, Begin: e.Time.Add(-shift - time.Millisecond), Took: 2 * time.Millisecond}
		if i == 15 {
			s.Begin = s.Begin.Add(-time.Minute)
		}
		seen = append(seen, s)
	}
	before := l.Events[0].Time
	l.SetClocks(seen)
	c := l.Reports[0].Clock
	if c.Offset != shift || c.Matches < 4 {
		t.Errorf("%+v, want %v", c, shift)
	}
	if got := before.Sub(l.Events[0].Time); got != shift {
		t.Errorf("events were moved by %v", got)
	}
	l = read(t, sample(t))
	l.SetClocks(nil)
	if c := l.Reports[0].Clock; c != (Clock{}) {
		t.Errorf("without matches: %+v", c)
	}
}

func TestGaps(t *testing.T) {
	at := func(m int) time.Time { return time.Date(2026, 1, 1, 0, m, 0, 0, time.UTC) }
	one, two := Report{}, Report{}
	for m := range 60 {
		if m < 10 || m > 40 {
			one.cover(at(m))
		}
		if m > 12 && m < 20 {
			two.cover(at(m))
		}
	}
	l := &Logs{Reports: []Report{one, two}}
	if len(one.Covered) != 2 || !l.Covers(at(15)) || l.Covers(at(30)) || l.Covers(at(70)) {
		t.Errorf("%v", one.Covered)
	}
	got := l.Gaps(at(5), at(65))
	want := []Span{{at(9), at(13)}, {at(19), at(41)}, {at(59), at(65)}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("2019-03-01 10:11:12,345 INFO FSNamesystem.audit: allowed=true\tugi=etl\tip=/1.1.1.1\tcmd=delete\tsrc=/a\tdst=null\tperm=null")
	f.Add("allowed=cmd=\tugi=\tugi=\tsrc=")
	f.Fuzz(func(t *testing.T, line string) {
		e, err := parse(line)
		if err == nil && e.Cmd == "" {
			t.Errorf("%q is an event without a command", line)
		}
	})
}

// TestCut: of a packed log that is cut anywhere the whole lines before the cut are kept, and the cut is told; one that is not packed is refused.
func TestCut(t *testing.T) {
	whole, err := os.ReadFile(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(whole); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(t.TempDir(), "audit.log.gz")
	all, most := read(t, sample(t)), 0
	for n := range b.Len() {
		if err := os.WriteFile(p, b.Bytes()[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		l := read(t, p)
		r := l.Reports[0]
		if r.Cut == "" || r.Broken > 0 || r.Lines < most || len(l.Events) > len(all.Events) || r.Lines > 42 {
			t.Fatalf("%d bytes: %+v", n, r)
		}
		most = r.Lines
		for i, e := range l.Events {
			if e != all.Events[i] {
				t.Fatalf("%d bytes: %+v is not %+v", n, e, all.Events[i])
			}
		}
	}
	if most != 42 {
		t.Errorf("%d lines come before the check sum", most)
	}
	flipped := slices.Clone(b.Bytes())
	flipped[len(flipped)-6] ^= 1 // of the check sum
	if err := os.WriteFile(p, flipped, 0o666); err != nil {
		t.Fatal(err)
	}
	if l := read(t, p); l.Reports[0].Cut == "" {
		t.Error("a wrong check sum is not told")
	}
	if err := os.WriteFile(p, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(disk, []string{p}, nil); err == nil || !strings.Contains(err.Error(), "not packed by gzip") {
		t.Error(err)
	}
}

// TestDoubled: a file that is named twice is read once, and lines that a copy of a log has are there once, however much of it the copy has; a line that
// comes twice in one log stays.
func TestDoubled(t *testing.T) {
	whole, err := os.ReadFile(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines = append(lines[:4:4], lines[3:42]...) // one of them twice
	dir := t.TempDir()
	put := func(name string, lines []string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(strings.Join(lines, "")), 0o666); err != nil {
			t.Fatal(err)
		}
		return p
	}
	log := put("nn1.log", lines)
	for name, x := range map[string]struct {
		paths          []string
		again, doubled int
	}{
		"the same":          {[]string{log, log, filepath.Join(dir, ".", "nn1.log")}, 2, 0},
		"a copy":            {[]string{log, put("copy.log", lines)}, 0, 43},
		"a copy before":     {[]string{put("copy.log", lines), log}, 0, 43},
		"its first part":    {[]string{put("part.log", lines[:20]), log}, 0, 20},
		"its last part":     {[]string{log, put("last.log", lines[30:])}, 0, 13},
		"one of the twice":  {[]string{put("once.log", lines[:4]), log}, 0, 4},
		"three":             {[]string{put("a.log", lines[:9]), put("b.log", lines[5:]), log}, 0, 4 + 43},
		"two pieces":        {[]string{put("nn1.log.1", lines[:20]), put("nn1.log", lines[20:])}, 0, 0},
		"and whole again":   {[]string{put("nn1.log", lines)}, 0, 0},
		"copy of a packing": {[]string{log, put("nn1.log.2026-11-29", lines[7:9])}, 0, 2},
	} {
		put("nn1.log", lines)
		if name == "two pieces" {
			put("nn1.log", lines[20:])
		}
		l := read(t, x.paths...)
		l.SetClocks(nil)
		doubled := 0
		for i, r := range l.Reports {
			doubled += r.Doubled
			if !l.OneNode(0, i) {
				t.Errorf("%s: log %d is taken for another NameNode's", name, i)
			}
		}
		if len(l.Events) != 43 || doubled != x.doubled || len(l.Again) != x.again {
			t.Errorf("%s: %d events, %d doubled, again %q", name, len(l.Events), doubled, l.Again)
		}
	}
	l := read(t, put("nn1.log", lines), put("nn2.log", []string{strings.Replace(lines[0], "15:15:30,298", "15:15:30,299", 1)}))
	if l.SetClocks(nil); l.OneNode(0, 1) || len(l.Events) != 44 {
		t.Error("another NameNode's log is taken for the same")
	}
}
