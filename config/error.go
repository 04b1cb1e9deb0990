package config

import (
	"fmt"
	"strings"

	"staunch/fault"
)

// Position is where a key was written. Line and Column count from 1; 0 = unknown.
type Position struct {
	File   string // "" for the command line
	Line   int
	Column int
}

// String returns file:line:column with what is known.
func (p Position) String() string {
	var s []string
	if p.File != "" {
		s = append(s, p.File)
	}
	if p.Line > 0 {
		s = append(s, fmt.Sprint(p.Line))
		if p.Column > 0 {
			s = append(s, fmt.Sprint(p.Column))
		}
	}
	return strings.Join(s, ":")
}

// Error is a wrong key or value. The caller that has the source text can point at Position.
type Error struct {
	Owner    string // what the key belongs to: "table lake", "job"
	Key      string
	Value    string // already redacted where the key looks secret; "" when the key itself is wrong
	HasValue bool
	Position Position
	Problem  string // what is wrong
	Hint     string // what is accepted or what to do; may be empty
}

// Error writes one line: place, owner, key, value, problem, hint.
func (e *Error) Error() string {
	var b strings.Builder
	if p := e.Position.String(); p != "" {
		b.WriteString(p + ": ")
	}
	if e.Owner != "" {
		b.WriteString(e.Owner + ": ")
	}
	b.WriteString("option '" + e.Key + "'")
	if e.HasValue {
		fmt.Fprintf(&b, " = '%s'", e.Value)
	}
	b.WriteString(": " + e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// As makes the error one of class User for [fault.ClassOf]: a restart does not heal it.
func (e *Error) As(target any) bool {
	f, ok := target.(**fault.Error)
	if ok {
		*f = &fault.Error{Class: fault.User, Err: e}
	}
	return ok
}

// secretParts are the parts of a key after which its value is never printed: Flink's own list.
var secretParts = []string{"password", "secret", "fs.azure.account.key", "apikey", "api-key", "auth-params", "service-key", "token",
	"basic-auth", "jaas.config", "http-headers"}

// IsSecret reports whether the value of key must not be shown.
func IsSecret(key string) bool {
	key = strings.ToLower(key)
	for _, p := range secretParts {
		if strings.Contains(key, p) {
			return true
		}
	}
	return false
}

// Redact returns value, or a mask of fixed length when key looks secret. Long values are cut.
func Redact(key, value string) string {
	if IsSecret(key) {
		return "******"
	}
	if len(value) > 200 {
		return strings.ToValidUTF8(value[:200], "") + "..."
	}
	return value
}
