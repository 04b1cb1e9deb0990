package config

import (
	_ "embed"
	"strings"
	"sync"
)

// optionsTSV lists the keys that Flink 2.3.0 knows: scope, name, key, type, default, required, older keys. It was printed from
// the option objects of its jars (Kafka connector 5.0.0-2.2, JDBC core 4.0.0-2.0, Hive 3.0.0-1.20).
//
//go:embed options.tsv
var optionsTSV string

// flinkTable is options.tsv, parsed once.
type flinkTable struct {
	job    map[string]*Option            // by key; with the older spellings as aliases
	table  map[string]map[string]*Option // by connector or format name, then key
	shapes []*Option                     // job options whose key is a pattern
	older  map[string]*Option            // older spelling -> job option; a present key is never in here
}

var flink = sync.OnceValue(func() *flinkTable {
	t := &flinkTable{job: map[string]*Option{}, table: map[string]map[string]*Option{}, older: map[string]*Option{}}
	lines := strings.Split(strings.TrimRight(optionsTSV, "\n"), "\n")
	for _, line := range lines[1:] {
		t.add(strings.Split(line, "\t"))
	}
	for _, o := range t.job {
		for _, a := range o.Aliases {
			if _, present := t.job[a]; !present {
				t.older[a] = o
			}
		}
	}
	return t
})

func (t *flinkTable) add(f []string) {
	scope, name := f[0], f[1]
	o := &Option{Key: f[2], Default: f[4], Required: f[5] == "yes"}
	o.Type, o.Enum = flinkType(f[3])
	if o.Default == "(none)" || o.Default == "''" || o.Default == "{}" {
		o.Default = ""
	}
	for _, a := range strings.Split(f[6], ",") {
		a, kind, _ := strings.Cut(a, "(")
		// a fallback of the job's configuration is a key in its own right (jobmanager.rpc.address), no older spelling
		if a != "" && (scope != "config" || kind == "deprecated)") {
			o.Aliases = append(o.Aliases, a)
		}
	}
	if scope != "config" {
		if t.table[name] == nil {
			t.table[name] = map[string]*Option{}
		}
		t.table[name][o.Key] = o
		return
	}
	t.job[o.Key] = o
	if isPattern(o.Key) {
		t.shapes = append(t.shapes, o)
	}
}

// flinkType maps the type column. A list of enumerated values is kept as a plain list: none of them has effect here.
func flinkType(text string) (Type, []string) {
	if values, ok := strings.CutPrefix(text, "Enum["); ok {
		return TypeEnum, strings.Split(strings.TrimSuffix(values, "]"), "|")
	}
	switch text {
	case "Boolean":
		return TypeBool, nil
	case "Integer":
		return TypeInt, nil
	case "Long":
		return TypeLong, nil
	case "Double", "Float":
		return TypeDouble, nil
	case "Duration":
		return TypeDuration, nil
	case "MemorySize":
		return TypeMemorySize, nil
	case "Map":
		return TypeMap, nil
	}
	if strings.HasPrefix(text, "List<") {
		return TypeList, nil
	}
	return TypeString, nil
}

// jobOption returns the option of Flink's job and cluster configuration that key names, and whether by an older spelling.
func (t *flinkTable) jobOption(key string) (o *Option, older bool) {
	if o := t.job[key]; o != nil {
		return o, false
	}
	if o := t.older[key]; o != nil {
		return o, true
	}
	for _, o := range t.shapes {
		if matchPattern(o.Key, key) {
			return o, false
		}
	}
	return nil, false
}

// flinkKnowsTableKey reports whether Flink's connector, or any of its formats, has key.
func flinkKnowsTableKey(connector, key string) bool {
	t := flink()
	for name, options := range t.table {
		isFormat := false
		for k := range options {
			isFormat = isFormat || strings.HasPrefix(k, name+".")
		}
		if name != connector && !isFormat {
			continue
		}
		for _, prefix := range []string{"", "key.", "value."} {
			k, ok := strings.CutPrefix(key, prefix)
			if !ok || (prefix != "" && !isFormat) {
				continue
			}
			for pattern, o := range options {
				if pattern == k || (isPattern(pattern) && matchPattern(pattern, k)) || indexOf(o.Aliases, k) >= 0 {
					return true
				}
			}
		}
	}
	return false
}
