package fs

import (
	"slices"
	"strings"

	"staunch/fault"
)

// Scheme gives the scheme of a path as users write it, in lower case, or "" if it has none. A colon behind the first slash belongs to a name
// (`./a:b`).
func Scheme(uri string) string {
	head, _, found := strings.Cut(uri, ":")
	if !found || head == "" {
		return ""
	}
	for i := range len(head) {
		c := head[i] | 0x20
		if c >= 'a' && c <= 'z' || i > 0 && (head[i] >= '0' && head[i] <= '9' || strings.IndexByte("+-.", head[i]) >= 0) {
			continue
		}
		return ""
	}
	return strings.ToLower(head)
}

// Resolvers is a Resolver that leaves each path to the Resolver of its scheme; "" and "file" are usually the local disk.
type Resolvers map[string]Resolver

// Resolve implements Resolver. A scheme that nobody has is a User error which names the known ones.
func (r Resolvers) Resolve(uri string) (FS, string, error) {
	scheme := Scheme(uri)
	if s, ok := r[scheme]; ok {
		return s.Resolve(uri)
	}
	var known []string
	for name := range r {
		if name != "" {
			known = append(known, name+"://")
		}
	}
	slices.Sort(known)
	return nil, "", NoScheme(uri, known...)
}

// NoScheme is the answer of a resolver that does not know the scheme of uri.
func NoScheme(uri string, known ...string) error {
	return fault.Userf("%s:// is not supported yet (path %q)", Scheme(uri), uri).WithHint("supported: %s and plain paths; a name with a colon is written ./name",
		strings.Join(known, ", "))
}
