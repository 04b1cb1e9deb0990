package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

const (
	ownPrefix   = "staunch."
	tablePrefix = "staunch.table."
)

// layer says where a setting comes from; a later one goes before an earlier one.
type layer uint8

const (
	layerFile    layer = iota // config.yaml or flink-conf.yaml
	layerSet                  // SET in the SQL file
	layerDynamic              // -D
	layerCount
)

// setting is one accepted key of one layer.
type setting struct {
	value string
	at    Position
	older string // the spelling that was written, where it is an older one
	idle  bool   // known to Flink, without effect here
}

// Job is the configuration of one job, in layers: defaults, file, SET, -D. It is not safe for concurrent use; [Job.Clone] a copy
// at each INSERT, since a later SET holds for later statements only.
type Job struct {
	layers [layerCount]map[string]setting
}

// NewJob returns a configuration in which every key has its default.
func NewJob() *Job {
	j := &Job{}
	for i := range j.layers {
		j.layers[i] = map[string]setting{}
	}
	return j
}

// Clone returns a copy that later settings do not change.
func (j *Job) Clone() *Job {
	c := &Job{}
	for i := range j.layers {
		c.layers[i] = maps.Clone(j.layers[i])
	}
	return c
}

// LoadFile reads a configuration file: name decides the syntax (flink-conf.yaml is Flink 1.x's, all else is YAML as in Flink 2.x's
// config.yaml, nested or flat) and stands in messages; data is the file's content. All wrong keys are reported at once, and
// then nothing of the file is taken.
func (j *Job) LoadFile(name string, data []byte) error {
	entries, err := parseFile(name, data)
	if err != nil {
		return err
	}
	next := j.Clone()
	var errs []error
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.key] {
			errs = append(errs, &Error{Key: e.key, Position: e.at, Problem: "given twice", Hint: "leave one out"})
			continue
		}
		seen[e.key] = true
		errs = append(errs, next.put(layerFile, e.key, e.value, e.at))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*j = *next
	return nil
}

// Set takes one SET statement; at is the place of the key.
func (j *Job) Set(key, value string, at Position) error { return j.put(layerSet, key, value, at) }

// Reset takes back what SET has set for key; "" takes back all. What the file or -D say holds again. An unknown key is an error.
func (j *Job) Reset(key string, at Position) error {
	if key == "" {
		clear(j.layers[layerSet])
		return nil
	}
	_, name, err := j.resolve(key, at)
	if err == nil {
		delete(j.layers[layerSet], name)
	}
	return err
}

// Dynamic takes the argument of one -D: key=value.
func (j *Job) Dynamic(arg string) error {
	key, value, ok := strings.Cut(arg, "=")
	if !ok || strings.TrimSpace(key) == "" {
		return fmt.Errorf("-D %s: accepted is -D key=value", Redact(arg, arg))
	}
	return j.put(layerDynamic, strings.TrimSpace(key), strings.TrimSpace(value), Position{File: "-D"})
}

// put checks and stores one setting. An older spelling does not replace the present one in the same layer.
func (j *Job) put(l layer, key, value string, at Position) error {
	opt, name, err := j.resolve(key, at)
	if err != nil {
		return err
	}
	v := NewValues("", map[string]string{key: value}, map[string]Position{key: at})
	s := setting{value: value, at: at}
	if opt != nil {
		if err := v.checkOne(key, opt); err != nil {
			return err
		}
		s.idle = opt.Ignored != ""
	}
	if key != name {
		s.older = key
		if old, ok := j.layers[l][name]; ok && old.older == "" {
			return nil
		}
	}
	j.layers[l][name] = s
	return nil
}

// resolve finds the option of key and its present name, or says why the key is refused. Options of single tables have no option
// here (nil): their owners check them.
func (j *Job) resolve(key string, at Position) (opt *Option, name string, err error) {
	if o, _ := Find(jobOptions(), key); o != nil {
		return o, o.Key, nil
	}
	if rest, ok := strings.CutPrefix(key, tablePrefix); ok && strings.Contains(strings.Trim(rest, "."), ".") {
		return nil, key, nil
	}
	if strings.HasPrefix(key, ownPrefix) {
		return nil, "", unknownJobKey(key, at, ownKeys(), "known are "+strings.Join(ownKeys(), ", ")+" and staunch.table.<table>.<option>")
	}
	if o, older := flink().jobOption(key); o != nil {
		return idleOption(o), presentName(o, key, older), nil
	}
	if o := mapOption(key); o != nil {
		return &Option{Key: key, Ignored: "without meaning on one machine", Refused: refusedJob[o.Key]}, key, nil
	}
	if isGoneOrFamily(key) {
		return &Option{Key: key, Ignored: "without meaning on one machine"}, key, nil
	}
	return nil, "", unknownJobKey(key, at, allJobKeys(), "see docs/reference for the known keys")
}

// idleOption is Flink's option as it is taken here: refused, or accepted without effect.
func idleOption(o *Option) *Option {
	c := *o
	if c.Refused = refusedJob[c.Key]; c.Refused == "" {
		c.Ignored = "without meaning on one machine"
	}
	return &c
}

func presentName(o *Option, key string, older bool) string {
	if older {
		return o.Key
	}
	return key
}

// mapOption returns Flink's option of type Map of which key is one entry (pipeline.global-job-parameters.a).
func mapOption(key string) *Option {
	for name := key; ; {
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return nil
		}
		name = name[:i]
		if o := flink().job[name]; o != nil && o.Type == TypeMap {
			return o
		}
	}
}

// isGoneOrFamily reports whether key is one that Flink takes though options.tsv lacks it. A slip of one or two letters in a key
// with effect is not taken for such a key.
func isGoneOrFamily(key string) bool {
	if slices.Contains(gone, key) {
		return true
	}
	for _, o := range jobOptions() {
		if abs(len(o.Key)-len(key)) <= 2 && Distance(o.Key, key) <= 2 {
			return false
		}
	}
	return slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(key, f) })
}

func unknownJobKey(key string, at Position, known []string, hint string) error {
	if near, ok := Nearest(key, known); ok {
		hint = "did you mean '" + near + "'?"
	}
	return &Error{Key: key, Position: at, Problem: "unknown", Hint: hint}
}

func ownKeys() []string {
	var out []string
	for _, o := range jobOptions() {
		if strings.HasPrefix(o.Key, ownPrefix) {
			out = append(out, o.Key)
		}
	}
	return out
}

func allJobKeys() []string {
	var out []string
	for _, o := range jobOptions() {
		out = append(append(out, o.Key), o.Aliases...)
	}
	for k := range flink().job {
		if !isPattern(k) {
			out = append(out, k)
		}
	}
	return out
}

// Values returns the settings that have effect, with the defaults of all others.
func (j *Job) Values() Values {
	v := Values{raw: map[string]string{}, at: map[string]Position{}, options: jobOptions()}
	for _, l := range j.layers {
		for k, s := range l {
			if !s.idle {
				v.raw[k], v.at[k] = s.value, s.at
			}
		}
	}
	return v
}

// TableOptions returns the options 'staunch.table.<table>.<option>' of one table, by <option>. table is the name as used in SET, usually
// the plain table name. The table's owner checks them with its own option table.
func (j *Job) TableOptions(table string) Values {
	v := j.Values().Sub(tablePrefix + table + ".")
	v.owner = "table " + table
	return v
}

// CheckTables refuses options of tables that are not among tables.
func (j *Job) CheckTables(tables []string) error {
	var errs []error
	v := j.Values()
	for _, key := range v.Keys() {
		rest, ok := strings.CutPrefix(key, tablePrefix)
		if !ok || slices.ContainsFunc(tables, func(t string) bool { return strings.HasPrefix(rest, t+".") }) {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		hint := "tables are " + strings.Join(sorted(tables), ", ")
		if near, ok := Nearest(name, tables); ok {
			hint = "did you mean '" + near + "'?"
		}
		errs = append(errs, &Error{Key: key, Position: v.At(key), Problem: "no table named '" + name + "'", Hint: hint})
	}
	return errors.Join(errs...)
}

// Warnings returns what the user should be told about accepted settings: one line for older spellings, one line that names the
// keys without effect, and one for each value that runs as another.
func (j *Job) Warnings() []string {
	var older, idle, out []string
	for _, l := range j.layers {
		for k, s := range l {
			if s.older != "" {
				older = append(older, fmt.Sprintf("%s (now %s)", s.older, k))
			}
			if s.idle {
				idle = append(idle, k)
			}
		}
	}
	if len(older) > 0 {
		sort.Strings(older)
		out = append(out, "older spellings: "+strings.Join(slices.Compact(older), ", "))
	}
	if len(idle) > 0 {
		sort.Strings(idle)
		out = append(out, "known to Flink and without effect here: "+strings.Join(slices.Compact(idle), ", "))
	}
	if n, err := j.Values().Int("execution.checkpointing.max-concurrent-checkpoints"); err == nil && n > 1 {
		out = append(out, "execution.checkpointing.max-concurrent-checkpoints runs as 1: the next checkpoint begins when the one before is committed")
	}
	return out
}
