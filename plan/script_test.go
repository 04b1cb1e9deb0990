package plan

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/format"
	"staunch/fs"
	"staunch/function"
	"staunch/operator"
	"staunch/sql/parse"
	"staunch/types"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew from what the code gives; read the diff")

// fakes stand for the plug-ins: they take the options and give the metadata of real ones, and note what they are asked for.
type fakes struct{ asked []string }

// fakeSource and fakeSink are never run.
type fakeSource struct {
	connector.Source
	columns []connector.Column
	bounded bool
}

func (s fakeSource) Bounded() bool    { return s.bounded }
func (s fakeSource) Replayable() bool { return true }

type fakeSink struct {
	connector.Sink
	columns []connector.Column
	keys    []string
}

// fakeFile is the sink of files.
type fakeFile struct {
	fakeSink
	connector.FileTable
	path string
}

func (f fakeFile) Root() string { return f.path }
func (f fakeFile) Store() fs.FS { return nil }
func (f fakeFile) NewWriter(ctx connector.Context) (connector.Writer, error) {
	return nil, errors.New("never run")
}

func (f *fakes) source(name string) func(connector.Table) (connector.Source, error) {
	return func(t connector.Table) (connector.Source, error) {
		if t.Options.String("topic") == "impossible" {
			return nil, &fault.Error{Class: fault.User, Err: errors.New("the topic is impossible")}
		}
		f.asked = append(f.asked, "source "+name+" "+t.Name+columnText(t.Columns))
		ends := t.Options.Has("number-of-rows")
		return fakeSource{columns: t.Columns, bounded: ends || t.Options.String("scan.bounded.mode") == "latest-offset"}, nil
	}
}

func (f *fakes) sink(name string) func(connector.Table) (connector.Sink, error) {
	return func(t connector.Table) (connector.Sink, error) {
		keys := ""
		if len(t.PartitionKeys) > 0 {
			keys = " by " + strings.Join(t.PartitionKeys, ", ")
		}
		f.asked = append(f.asked, "sink "+name+" "+t.Name+columnText(t.Columns)+keys)
		s := fakeSink{columns: t.Columns, keys: t.PartitionKeys}
		if name == "filesystem" {
			return fakeFile{fakeSink: s, path: t.Options.String("path")}, nil
		}
		return s, nil
	}
}

func columnText(cols []connector.Column) string {
	var out []string
	for _, c := range cols {
		s := c.Name + " " + c.Type.String()
		if c.Metadata != "" {
			s += " FROM '" + c.Metadata + "'"
		}
		out = append(out, s)
	}
	return "(" + strings.Join(out, ", ") + ")"
}

func (f *fakes) registry() *Registry {
	key := func(k string) config.Option { return config.Option{Key: k} }
	need := func(k string) config.Option { return config.Option{Key: k, Required: true} }
	return &Registry{
		Connectors: []connector.Factory{
			{Name: "kafka", Options: []config.Option{need("topic"), need("properties.bootstrap.servers"), key("properties.*"), key("format"), key("value.format"),
				key("scan.startup.mode"), key("scan.bounded.mode"), {Key: "scan.watermark.idle-timeout", Type: config.TypeDuration}},
				Metadata: map[string]types.Type{"partition": types.New(types.Int).WithNotNull(true), "offset": types.New(types.BigInt).WithNotNull(true),
					"timestamp": types.NewTimestampLTZ(3).WithNotNull(true)},
				Source: f.source("kafka")},
			{Name: "datagen", Options: []config.Option{key("rows-per-second"), {Key: "number-of-rows", Type: config.TypeLong}}, Source: f.source("datagen")},
			{Name: "filesystem", Options: []config.Option{need("path"), key("format"), key("sink.partition-commit.*"), key("partition.time-extractor.timestamp-pattern"),
				{Key: "sink.rolling-policy.check-interval", Type: config.TypeDuration}}, Sink: f.sink("filesystem")},
			{Name: "print", Sink: f.sink("print")},
			{Name: "blackhole", Sink: f.sink("blackhole")},
		},
		Formats: []format.Factory{{Name: "json", Options: []config.Option{{Key: "ignore-parse-errors", Type: config.TypeBool}}}, {Name: "parquet", Options: []config.Option{{Key: "utc-timezone", Type: config.TypeBool}, {Key: "write.int64.timestamp", Type: config.TypeBool}}}},
		NewCalc: func(where function.Expr, exprs []function.Expr, names []string, notNull []int, drop bool, s function.Session) (operator.Operator, error) {
			text := "calc"
			for i, e := range exprs {
				text += fmt.Sprintf("\n    %s %s = %s", names[i], e.Type(), e)
			}
			if where != nil {
				text += "\n    where " + where.String()
			}
			if len(notNull) > 0 {
				text += fmt.Sprintf("\n    not null %v, drop %v", notNull, drop)
			}
			f.asked = append(f.asked, text)
			return nil, nil
		},
		NewWatermarker: func(e function.Expr, _ function.Session) (operator.Watermarker, error) {
			f.asked = append(f.asked, "watermark "+e.String())
			return nil, nil
		},
		Collect: func(s changelog.Schema) connector.Sink { return fakeSink{} },
	}
}

var noon = func() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// run plans a text and prints what comes of it.
func run(src string) string {
	f := &fakes{}
	conf := config.NewJob()
	if err := conf.Set("table.local-time-zone", "UTC", config.Position{}); err != nil {
		return err.Error()
	}
	if err := conf.Reset("table.local-time-zone", config.Position{}); err != nil {
		return err.Error()
	}
	s, err := Plan(src, conf, "file", noon, f.registry())
	if err != nil {
		class := ""
		if fault.ClassOf(err) != fault.User {
			class = fmt.Sprintf("class %v!\n", fault.ClassOf(err))
		}
		return class + strings.TrimRight(parse.Render(err, src, ""), "\n") + "\n"
	}
	var b strings.Builder
	for _, i := range s.Items {
		if i.Job == nil {
			b.WriteString(i.Text)
			continue
		}
		j := i.Job
		fmt.Fprintf(&b, "job %s, parallelism %d", j.Name, j.Graph.Parallelism)
		if j.Bounded {
			b.WriteString(", bounded")
		}
		fmt.Fprintf(&b, "; reads %s; writes %s\n", strings.Join(j.Sources, ", "), strings.Join(j.Targets, ", "))
		for _, src := range j.Graph.Sources {
			fmt.Fprintf(&b, "  chain of %s", src.Describe)
			if src.IdleTimeout > 0 {
				fmt.Fprintf(&b, ", idle after %v", src.IdleTimeout)
			}
			b.WriteString("\n")
			for _, br := range src.Branches {
				fmt.Fprintf(&b, "    insert %s into %s\n", br.Insert, br.Table)
			}
			if src.NewWatermarker != nil {
				if _, err := src.NewWatermarker(); err != nil {
					return err.Error()
				}
			}
		}
	}
	for _, a := range f.asked {
		b.WriteString("  " + a + "\n")
	}
	for _, w := range s.Warnings {
		b.WriteString("warning: " + w + "\n")
	}
	if b.Len() == 0 {
		return "ok\n"
	}
	return b.String()
}

// TestScripts plans the texts of testdata/*.txt. A file begins with a part that stands before each of its texts; a text ends at a line
// of ----, and what comes of it at the next line with ###.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(string(data), "\n### ")
			out := []string{strings.TrimRight(parts[0], "\n") + "\n"}
			before := strings.TrimRight(parts[0], "\n")
			if before != "" {
				before += "\n"
			}
			for _, p := range parts[1:] {
				title, body, _ := strings.Cut(p, "\n")
				text, want, _ := strings.Cut(strings.TrimRight(body, "\n")+"\n", "----\n")
				t.Run(strings.TrimSpace(title), func(t *testing.T) {
					got := run(before + text)
					if strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") && !*rewrite {
						t.Errorf("%sgives\n%swant\n%s", text, got, want)
					}
					want = got
				})
				out = append(out, title+"\n"+text+"----\n"+strings.TrimRight(want, "\n")+"\n")
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(strings.Join(out, "\n### ")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// What a text is planned to must not depend on the order of maps.
func TestPlanIsStable(t *testing.T) {
	data, err := os.ReadFile("testdata/explain/orders.sql")
	if err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(string(data), "EXPLAIN INSERT", "INSERT", 1)
	var hashes []string
	for range 20 {
		s, err := Plan(src, config.NewJob(), "orders", noon, (&fakes{}).registry())
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, s.Jobs()[0].Hash)
	}
	if got := slices.Compact(hashes); len(got) != 1 {
		t.Errorf("hashes %v", got)
	}
}
