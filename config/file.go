package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileNodes bounds what a configuration file may expand to: YAML aliases can multiply.
const maxFileNodes = 10_000

// entry is one key of a configuration file. A key without a value is left out: it sets nothing.
type entry struct {
	key, value string
	at         Position
}

// parseFile reads the keys of a configuration file in the order of the file.
func parseFile(name string, data []byte) ([]entry, error) {
	base := name[strings.LastIndexByte(name, '/')+1:]
	if base == "flink-conf.yaml" {
		return parseOldFile(name, string(data))
	}
	return parseYAML(name, data)
}

// parseOldFile reads Flink 1.x's own syntax: one "key: value" a line, "#" at the line's start or after a blank begins a comment,
// and nothing is quoted.
func parseOldFile(name, text string) ([]entry, error) {
	var out []entry
	for i, line := range strings.Split(text, "\n") {
		if c := commentStart(line); c >= 0 {
			line = line[:c]
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line+" ", ": ")
		if !ok {
			return nil, fmt.Errorf("%s:%d: accepted is 'key: value' with a blank after the colon", name, i+1)
		}
		if value = strings.TrimSpace(value); value != "" {
			out = append(out, entry{key: strings.TrimSpace(key), value: value, at: Position{File: name, Line: i + 1}})
		}
	}
	return out, nil
}

func commentStart(line string) int {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return -1
}

// parseYAML reads Flink 2.x's config.yaml: mappings nest by dots, and keys may have dots of their own. Sequences of plain values
// become one value with ';' between.
func parseYAML(name string, data []byte) ([]entry, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	f := &flattener{name: name}
	if err := f.walk("", doc.Content[0], 0); err != nil {
		return nil, err
	}
	return f.out, nil
}

type flattener struct {
	name  string
	out   []entry
	nodes int // keys visited, with those that aliases repeat
}

func (f *flattener) fail(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %s", Position{f.name, n.Line, n.Column}, fmt.Sprintf(format, args...))
}

func (f *flattener) walk(prefix string, n *yaml.Node, depth int) error {
	if depth > 50 {
		return f.fail(n, "nested too deep")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return f.walk(prefix, n.Alias, depth+1)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				return f.fail(k, "a key must be plain text")
			}
			key := k.Value
			if prefix != "" {
				key = prefix + "." + key
			}
			if err := f.value(key, k, n.Content[i+1], depth); err != nil {
				return err
			}
		}
		return nil
	case yaml.ScalarNode:
		if prefix == "" && n.Tag == "!!null" {
			return nil
		}
	}
	return f.fail(n, "expected are keys and values")
}

// value takes what stands behind one key.
func (f *flattener) value(key string, k, v *yaml.Node, depth int) error {
	if f.nodes++; f.nodes > maxFileNodes {
		return f.fail(k, "more than %d keys", maxFileNodes)
	}
	for v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	at := Position{f.name, k.Line, k.Column}
	switch v.Kind {
	case yaml.ScalarNode:
		if v.Tag != "!!null" {
			f.out = append(f.out, entry{key: key, value: v.Value, at: at})
		}
		return nil
	case yaml.SequenceNode:
		var parts []string
		for _, e := range v.Content {
			if e.Kind != yaml.ScalarNode {
				return f.fail(e, "option '%s': a list may have plain values only", key)
			}
			parts = append(parts, e.Value)
		}
		f.out = append(f.out, entry{key: key, value: strings.Join(parts, ";"), at: at})
		return nil
	}
	return f.walk(key, v, depth+1)
}
