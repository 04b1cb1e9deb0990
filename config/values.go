package config

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Values are the options of one table (its WITH clause) or of a job, with an option table that gives types and defaults. The
// zero value has no options. Values are read only and may be shared.
//
// The getters return the option's default where the key is not set, and the zero value where it has none; [Values.Has] tells the
// difference. After a successful [Values.Check] a getter of the option's own type cannot fail; its error is there for keys
// that were never declared.
type Values struct {
	owner   string
	raw     map[string]string
	at      map[string]Position
	options []Option
}

// NewValues wraps raw key-value pairs. owner is used in error messages ("table lake"); at may be nil or lack keys.
func NewValues(owner string, raw map[string]string, at map[string]Position) Values {
	return Values{owner: owner, raw: raw, at: at}
}

// Check returns the values bound to options, older spellings replaced by the present ones, or an error that joins one [Error]
// for each wrong, unknown, repeated or missing key. warnings has a line for each older spelling and one line that names all the
// keys that are accepted without effect.
//
// A key that options lacks but that Flink knows for this connector or format is refused with that said, since ignoring it
// could change results.
func (v Values) Check(options []Option) (checked Values, warnings []string, err error) {
	checked = Values{owner: v.owner, raw: map[string]string{}, at: map[string]Position{}, options: options}
	var errs []error
	var idle []string
	for _, key := range v.Keys() {
		opt, alias := Find(options, key)
		if opt == nil {
			errs = append(errs, v.unknown(key, options))
			continue
		}
		name := key
		if alias {
			name = opt.Key
			warnings = append(warnings, fmt.Sprintf("%s: option '%s' is an older spelling of '%s'", v.owner, key, name))
		}
		if _, both := checked.raw[name]; both || (alias && v.Has(name)) {
			errs = append(errs, v.problem(key, fmt.Sprintf("given together with '%s', which means the same", name), "leave one out"))
			continue
		}
		if e := v.checkOne(key, opt); e != nil {
			errs = append(errs, e)
			continue
		}
		if opt.Ignored != "" {
			idle = append(idle, fmt.Sprintf("%s (%s)", key, opt.Ignored))
		}
		checked.raw[name], checked.at[name] = v.raw[key], v.at[key]
	}
	for i := range options {
		if o := &options[i]; o.Required && !checked.Has(o.Key) && !v.Has(o.Key) && !v.hasAny(o.Aliases) {
			errs = append(errs, &Error{Owner: v.owner, Key: o.Key, Problem: "is required and missing", Hint: "accepted is " + o.accepts()})
		}
	}
	if len(idle) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: accepted without effect: %s", v.owner, strings.Join(idle, ", ")))
	}
	return checked, warnings, errors.Join(errs...)
}

// checkOne checks the value of one present key against its option.
func (v Values) checkOne(key string, opt *Option) error {
	if err := opt.checkValue(v.raw[key]); err != nil {
		return v.wrong(key, err)
	}
	if opt.Refused != "" && !sameValue(opt, v.raw[key], opt.Default) {
		return v.wrong(key, fmt.Errorf("known to Flink and not available here: %s", opt.Refused))
	}
	return nil
}

// sameValue compares two values of an option by meaning: 1 h and 60 min are the same.
func sameValue(o *Option, a, b string) bool {
	switch o.Type {
	case TypeDuration:
		x, e1 := ParseDuration(a)
		y, e2 := ParseDuration(b)
		return e1 == nil && e2 == nil && x == y
	case TypeMemorySize:
		x, e1 := ParseMemorySize(a)
		y, e2 := ParseMemorySize(b)
		return e1 == nil && e2 == nil && x == y
	case TypeBool, TypeEnum:
		return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
	}
	return strings.TrimSpace(a) == strings.TrimSpace(b)
}

func (v Values) hasAny(keys []string) bool {
	for _, k := range keys {
		if v.Has(k) {
			return true
		}
	}
	return false
}

// unknown explains a key that no option describes.
func (v Values) unknown(key string, options []Option) error {
	known := make([]string, 0, len(options))
	for i := range options {
		if !isPattern(options[i].Key) {
			known = append(known, options[i].Key)
		}
	}
	hint := "known are " + strings.Join(sorted(known), ", ")
	if near, ok := Nearest(key, known); ok {
		hint = "did you mean '" + near + "'?"
	}
	problem := "unknown"
	if flinkKnowsTableKey(v.raw["connector"], key) {
		problem, hint = "known to Flink and not available here yet", "remove it, or run this file on Flink"
	}
	return v.problem(key, problem, hint)
}

func (v Values) problem(key, problem, hint string) error {
	return &Error{Owner: v.owner, Key: key, Position: v.at[key], Problem: problem, Hint: hint}
}

func (v Values) wrong(key string, err error) error {
	return &Error{Owner: v.owner, Key: key, Value: Redact(key, v.raw[key]), HasValue: true, Position: v.at[key], Problem: err.Error()}
}

// Errorf returns an error about key with its value and place, for checks that only the owner can make.
func (v Values) Errorf(key, format string, args ...any) error {
	e := &Error{Owner: v.owner, Key: key, Position: v.at[key], Problem: fmt.Sprintf(format, args...)}
	if raw, ok := v.raw[key]; ok {
		e.Value, e.HasValue = Redact(key, raw), true
	}
	return e
}

// Owner returns what the values belong to, as named in messages.
func (v Values) Owner() string { return v.owner }

// Has reports whether key was written (a default does not count).
func (v Values) Has(key string) bool { _, ok := v.raw[key]; return ok }

// Keys returns the written keys in alphabetical order.
func (v Values) Keys() []string {
	keys := make([]string, 0, len(v.raw))
	for k := range v.raw {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// At returns where key was written; the zero Position when unknown.
func (v Values) At(key string) Position { return v.at[key] }

// String returns the text of key, its default, or "".
func (v Values) String(key string) string {
	if s, ok := v.raw[key]; ok {
		return s
	}
	if o, _ := Find(v.options, key); o != nil {
		return o.Default
	}
	return ""
}

// get parses the text of key; an option that is not set and has no default gives the zero value.
func get[T any](v Values, key string, parse func(string) (T, error)) (T, error) {
	var zero T
	text := v.String(key)
	if text == "" && !v.Has(key) {
		return zero, nil
	}
	t, err := parse(text)
	if err != nil {
		return zero, v.wrong(key, err)
	}
	return t, nil
}

// Int returns a 32 bit number.
func (v Values) Int(key string) (int, error) {
	n, err := get(v, key, func(s string) (int64, error) { return parseInt(s, 32) })
	return int(n), err
}

// Int64 returns a 64 bit number.
func (v Values) Int64(key string) (int64, error) {
	return get(v, key, func(s string) (int64, error) { return parseInt(s, 64) })
}

// Double returns a floating point number.
func (v Values) Double(key string) (float64, error) { return get(v, key, parseDouble) }

// Bool returns a truth value.
func (v Values) Bool(key string) (bool, error) { return get(v, key, parseBool) }

// Duration returns a span of time.
func (v Values) Duration(key string) (time.Duration, error) { return get(v, key, ParseDuration) }

// MemorySize returns a number of bytes.
func (v Values) MemorySize(key string) (int64, error) { return get(v, key, ParseMemorySize) }

// Enum returns the accepted value in the spelling of the option table.
func (v Values) Enum(key string) (string, error) {
	o, _ := Find(v.options, key)
	return get(v, key, func(s string) (string, error) {
		if o == nil {
			return s, nil
		}
		return parseEnum(s, o.Enum)
	})
}

// List returns the parts of a value that are separated by ';'.
func (v Values) List(key string) []string { return parseList(v.String(key)) }

// Map returns the written keys that begin with prefix, without it: Map("properties.") of properties.group.id has group.id.
func (v Values) Map(prefix string) map[string]string {
	m := map[string]string{}
	for k, s := range v.raw {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			m[rest] = s
		}
	}
	return m
}

// Sub returns the values whose keys begin with prefix, without it, as values of their own; places are kept. owner stays.
func (v Values) Sub(prefix string) Values {
	out := Values{owner: v.owner, raw: map[string]string{}, at: map[string]Position{}}
	for k, s := range v.raw {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			out.raw[rest], out.at[rest] = s, v.at[k]
		}
	}
	return out
}

func sorted(in []string) []string {
	out := append([]string(nil), in...)
	sort.Strings(out)
	return out
}
