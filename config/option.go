package config

import (
	"fmt"
	"strings"
)

// Type is the type of an option's value, as Flink names it.
type Type uint8

const (
	TypeString     Type = iota // any text
	TypeBool                   // true or false, any case
	TypeInt                    // 32 bit signed
	TypeLong                   // 64 bit signed
	TypeDouble                 // 64 bit floating point
	TypeDuration               // 5 s, 10 min, 1 h, 1d; without a unit milliseconds; ISO-8601 (PT5S) too
	TypeMemorySize             // 128MB, 64 kb, 1 gb; without a unit bytes; factors of 1024
	TypeEnum                   // one of Option.Enum, any case
	TypeList                   // parts separated by ';'
	TypeMap                    // k:v pairs separated by ',', or one key per entry under the prefix "<key>."
)

// String returns the type's name in Flink's documentation.
func (t Type) String() string {
	names := [...]string{"String", "Boolean", "Integer", "Long", "Double", "Duration", "MemorySize", "Enum", "List<String>", "Map"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Type(%d)", t)
}

// Option describes one key: of a connector, of a format, or of the job.
//
// Key may be a pattern: a trailing "*" stands for any non-empty rest ("properties.*"), a segment "#" for any non-empty text
// between the dots around it, such as a column name ("fields.#.kind"). An exact key is preferred to a pattern.
type Option struct {
	Key      string
	Type     Type
	Default  string   // in the spelling of the type; "" = none
	Required bool     // a table without it is refused
	Aliases  []string // older spellings, accepted with a warning
	Doc      string   // one or two sentences for the reference page
	Enum     []string // the accepted values of a TypeEnum, in Flink's spelling

	// Ignored is set for a key which Flink knows and which has no meaning here: the reason, in a few words. The key is accepted
	// and a warning names it. Its value is still parsed.
	Ignored string
	// Refused is set for a key which Flink knows, which would change results, and which is not there yet: what to do instead. The
	// key is accepted only with its default value.
	Refused string
	// Validate is an optional further check of a value that has parsed; its error says what is accepted.
	Validate func(value string) error
}

// Prefixed returns the options with prefix put before each key and alias, e.g. "value." for the options of a value format.
func Prefixed(prefix string, options []Option) []Option {
	out := make([]Option, len(options))
	for i, o := range options {
		o.Key = prefix + o.Key
		aliases := make([]string, len(o.Aliases))
		for j, a := range o.Aliases {
			aliases[j] = prefix + a
		}
		o.Aliases = aliases
		out[i] = o
	}
	return out
}

// Find returns the option that describes key, and whether key is one of its older spellings.
func Find(options []Option, key string) (opt *Option, alias bool) {
	for i := range options {
		if options[i].Key == key {
			return &options[i], false
		}
	}
	for i := range options {
		for _, a := range options[i].Aliases {
			if a == key {
				return &options[i], true
			}
		}
	}
	for i := range options {
		if matchPattern(options[i].Key, key) {
			return &options[i], false
		}
	}
	return nil, false
}

// isPattern reports whether key stands for more than one key.
func isPattern(key string) bool {
	return strings.HasSuffix(key, "*") || strings.Contains(key, "#") || strings.Contains(key, "<name>")
}

// matchPattern reports whether key is one of those that pattern stands for.
func matchPattern(pattern, key string) bool {
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return len(key) > len(rest) && strings.HasPrefix(key, rest)
	}
	mark := "#"
	if strings.Contains(pattern, "<name>") {
		mark = "<name>"
	}
	before, after, ok := strings.Cut(pattern, mark)
	if !ok {
		return false
	}
	return len(key) > len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

// accepts says in words what values the option takes.
func (o *Option) accepts() string {
	switch o.Type {
	case TypeBool:
		return "true or false"
	case TypeInt:
		return "a whole number from -2147483648 to 2147483647"
	case TypeLong:
		return "a whole number of 64 bits"
	case TypeDouble:
		return "a number such as 1.5"
	case TypeDuration:
		return acceptsDuration
	case TypeMemorySize:
		return acceptsMemorySize
	case TypeEnum:
		return "one of " + strings.Join(o.Enum, ", ")
	case TypeList:
		return "values separated by ';'"
	case TypeMap:
		return "pairs such as k1:v1,k2:v2"
	}
	return "text"
}

// checkValue parses value by the option's type and returns why it is not accepted.
func (o *Option) checkValue(value string) error {
	var err error
	switch o.Type {
	case TypeBool:
		_, err = parseBool(value)
	case TypeInt:
		_, err = parseInt(value, 32)
	case TypeLong:
		_, err = parseInt(value, 64)
	case TypeDouble:
		_, err = parseDouble(value)
	case TypeDuration:
		_, err = ParseDuration(value)
	case TypeMemorySize:
		_, err = ParseMemorySize(value)
	case TypeEnum:
		_, err = parseEnum(value, o.Enum)
	case TypeMap:
		_, err = parseMap(value)
	}
	if err == nil && o.Validate != nil {
		err = o.Validate(value)
	}
	return err
}
