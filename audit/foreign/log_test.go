package foreign

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/env"
	"staunch/fs"
	"staunch/fs/local"
)

// sink writes a batch of Spark's log: the files that are there, "-name" for one that was deleted, and any other lines.
func (x *table) sink(batch string, lines ...string) {
	x.t.Helper()
	text := "v1"
	for _, l := range lines {
		if !strings.HasPrefix(l, "{") {
			name, gone := strings.CutPrefix(l, "-")
			action, size := "add", int64(0)
			if gone {
				action = "delete"
			} else if i, err := os.Stat(filepath.Join(x.root, name)); err != nil {
				x.t.Fatal(err)
			} else {
				size = i.Size()
			}
			l = x.entry("file:"+x.root+"/"+strings.ReplaceAll(name, "%", "%25"), size, action)
		}
		text += "\n" + l
	}
	x.write("_spark_metadata/"+batch, []byte(text))
}

func (x *table) entry(path string, size int64, action string) string {
	return fmt.Sprintf(`{"path":%q,"size":%d,"isDir":false,"modificationTime":1617125637480,"blockReplication":1,"blockSize":33554432,"action":%q}`, path, size, action)
}

func (x *table) remove(name string) {
	x.t.Helper()
	if err := os.Remove(filepath.Join(x.root, name)); err != nil {
		x.t.Fatal(err)
	}
}

// emptied removes all batches of the log.
func (x *table) emptied() {
	x.t.Helper()
	for _, batch := range []string{"3", "9.compact", "10", "11"} {
		x.remove("_spark_metadata/" + batch)
	}
}

// age sets a file's time.
func (x *table) age(name string, ago time.Duration) {
	x.t.Helper()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(filepath.Join(x.root, name), at, at); err != nil {
		x.t.Fatal(err)
	}
}

// TestSparkLog: of a table of Spark's streaming sink those files are judged that its log names, as Spark's readers do, and where log and folder differ is a finding.
func TestSparkLog(t *testing.T) {
	// Where the log cannot be followed the whole folder is judged, with a file that was deleted by the log and has come back.
	whole := []string{"log-damaged _spark_metadata", "offsets-twice part-0.json part-7.json partition 0:0..9"}
	back := func(x *table) { x.json("part-7.json", run(0, 0, 10)) }
	for name, c := range map[string]struct {
		change func(x *table)
		want   []string
		note   string
		files  int64
	}{
		"as Spark wrote it": {func(x *table) {}, nil, "of batches up to 11, says which files are the table's: 3 files", 3},
		"a file that the log does not name": {func(x *table) {
			x.json("part-9.json", run(0, 20, 30))
			x.age("part-9.json", time.Minute)
			x.json("day=a%3Ab/part-8.json", run(0, 40, 50))
			x.age("day=a%3Ab/part-8.json", time.Minute)
		}, []string{"file-unlisted day=a%3Ab/part-8.json part-9.json"}, "", 3},
		"one of a batch that is under way": {func(x *table) {
			x.age("_spark_metadata/11", 2*time.Minute)
			x.json("part-9.json", run(0, 20, 30))
			x.age("part-9.json", time.Minute)
		}, nil, "1 file came later than that and not looked at", 3},
		"one of a batch that never ended": {func(x *table) {
			x.age("_spark_metadata/11", 4*time.Hour)
			x.json("part-9.json", run(0, 30, 40))
			x.age("part-9.json", 3*time.Hour)
		}, []string{"file-unlisted part-9.json"}, "", 3},
		"a log that was emptied": {func(x *table) {
			x.emptied()
			x.age("part-0.json", 2*time.Hour)
			x.age("part-2.json", 2*time.Hour)
		}, []string{"file-unlisted part-0.json part-2.json"}, "has no batch: Spark's readers see no file; 1 file came later", 0},
		"the first batch is under way": {func(x *table) { x.emptied() }, []string{"no-rows "}, "has no batch: Spark's readers see no file; 3 files came later", 0},
		"a batch that was forgotten": {func(x *table) { // its file is there, and no reader of Spark's sees it
			x.sink("9.compact", "part-0.json")
			x.age("day=a%3Ab/part-1.json", time.Minute)
		}, []string{"file-unlisted day=a%3Ab/part-1.json", "gap partition 0:10..19"}, "", 2},
		"a file that was removed":       {func(x *table) { x.remove("day=a%3Ab/part-1.json") }, []string{"file-missing day=a%3Ab/part-1.json", "gap partition 0:10..19"}, "", 2},
		"a file that was cut":           {func(x *table) { x.json("part-2.json", run(0, 20, 29)) }, []string{"file-changed part-2.json"}, "", 3},
		"a batch of the log is missing": {func(x *table) { x.remove("_spark_metadata/10"); back(x) }, whole, "", 4},
		"another version":               {func(x *table) { x.write("_spark_metadata/10", []byte("v2\n{}")); back(x) }, whole, "", 4},
		"an empty batch file":           {func(x *table) { x.write("_spark_metadata/10", nil); back(x) }, whole, "", 4},
		"a line that is none":           {func(x *table) { x.sink("10", "{"); back(x) }, whole, "", 4},
		"a line of another kind":        {func(x *table) { x.sink("10", `{"path":"`+x.root+`/a","action":"move"}`); back(x) }, whole, "", 4},
		"a line without end": {func(x *table) { x.write("_spark_metadata/10", []byte("v1\n"+strings.Repeat("x", 1<<20))); back(x) },
			whole, "", 4},
		"a file elsewhere": {func(x *table) { x.sink("10", x.entry("hdfs://ns/other/part-5", 7, "add")) }, []string{"log-elsewhere _spark_metadata"}, "", 3},
		"a table that was copied": {func(x *table) {
			x.sink("9.compact", x.entry("hdfs://ns/other/part-5", 7, "add"))
			x.sink("11")
		}, []string{"log-elsewhere _spark_metadata"}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			x.json("part-0.json", run(0, 0, 10))
			x.json("day=a%3Ab/part-1.json", run(0, 10, 20))
			x.json("part-2.json", run(0, 20, 30))
			x.sink("3", "part-0.json") // older than the newest compact one
			x.sink("9.compact", "part-0.json", "day=a%3Ab/part-1.json")
			x.sink("10")
			x.sink("11", "part-2.json", "-part-7.json")
			x.write("_spark_metadata/.11.crc", []byte("x"))
			c.change(x)
			r := x.audit(Options{})
			x.want(r, c.want...)
			if notes := strings.Join(r.Notes, "\n"); r.Files != c.files || !strings.Contains(notes, c.note) {
				t.Errorf("%d files, want %d; notes:\n%s", r.Files, c.files, notes)
			}
		})
	}
}

// TestTableFormats: a folder whose files are a table's by a log that is not read here is never clean.
func TestTableFormats(t *testing.T) {
	for at, name := range map[string]string{"_delta_log/00000000000000000000.json": "Delta Lake", ".hoodie/hoodie.properties": "Hudi", "metadata/00000-a.metadata.json": "Iceberg"} {
		x := newTable(t)
		x.json("data/part-0.json", run(0, 0, 10))
		x.write(at, []byte("{}"))
		r := x.audit(Options{})
		if r.Verdict == Clean || r.Problems[0].Kind != TableFormat && r.Counts[TableFormat] != 1 || !slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.What, name) }) {
			t.Errorf("%s: %+v", name, r.Problems)
		}
	}
	x := newTable(t)
	x.json("metadata/part-0.json", run(0, 0, 10))
	x.want(x.audit(Options{}))
}

// quiet is a store that does not answer the first time that a folder of metadata is listed.
type quiet struct {
	*local.FS
	asked bool
}

func (s *quiet) EachEntry(dir string, visit func(fs.Info) error) error {
	if path.Base(dir) == "metadata" && !s.asked {
		s.asked = true
		return &fs.Error{Op: "list", Path: dir, Kind: fs.ErrUnavailable}
	}
	return s.FS.EachEntry(dir, visit)
}

// TestTableFormatUnknown: where the store does not say whether it is a table of Iceberg, there is no verdict.
func TestTableFormatUnknown(t *testing.T) {
	x := newTable(t)
	x.json("data/part-0.json", run(0, 0, 10))
	if err := os.MkdirAll(filepath.Join(x.root, "metadata"), 0o777); err != nil {
		t.Fatal(err)
	}
	real := &env.Real{}
	defer real.Join()
	r, err := Table(t.Context(), real, &quiet{FS: local.New()}, x.root, Options{Columns: Columns{Partition: "part", Offset: "off"}})
	if !errors.Is(err, fs.ErrUnavailable) {
		t.Errorf("%v, %+v", err, r)
	}
}
