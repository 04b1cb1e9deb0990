package lint

import (
	"bufio"
	"fmt"
	"path"
	"strings"
)

// Rules is layers.txt, parsed.
type Rules struct {
	layers []layer
	edges  []edge
	parts  []string
	real   []string
	allow  map[string][]string // package pattern -> symbols
}

type layer struct {
	pattern string
	number  int
}

type edge struct{ from, to []string }

// ParseRules reads the text of layers.txt.
func ParseRules(text string) (*Rules, error) {
	r := &Rules{allow: map[string][]string{}}
	scan := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scan.Scan(); n++ {
		line, _, _ := strings.Cut(scan.Text(), "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if err := r.line(f); err != nil {
			return nil, fmt.Errorf("layers.txt:%d: %w", n, err)
		}
	}
	return r, scan.Err()
}

func (r *Rules) line(f []string) error {
	switch f[0] {
	case "layer":
		var n int
		if _, err := fmt.Sscan(strings.Join(f[1:2], ""), &n); err != nil {
			return fmt.Errorf("layer NUMBER PACKAGE... is expected")
		}
		for _, p := range f[2:] {
			r.layers = append(r.layers, layer{p, n})
		}
	case "edge":
		from, to, ok := strings.Cut(strings.Join(f[1:], " "), "->")
		if !ok {
			return fmt.Errorf("edge PACKAGE... -> PACKAGE... is expected")
		}
		r.edges = append(r.edges, edge{strings.Fields(from), strings.Fields(to)})
	case "parts":
		r.parts = append(r.parts, f[1:]...)
	case "real":
		r.real = append(r.real, f[1:]...)
	case "allow":
		if len(f) < 3 {
			return fmt.Errorf("allow PACKAGE SYMBOL... is expected")
		}
		r.allow[f[1]] = append(r.allow[f[1]], f[2:]...)
	default:
		return fmt.Errorf("%q is no rule", f[0])
	}
	return nil
}

// match reports whether pattern covers pkg, and how many of its letters are literal.
func match(pattern, pkg string) (ok bool, weight int) {
	if base, below := strings.CutSuffix(pattern, "/..."); below {
		return pkg == base || strings.HasPrefix(pkg, base+"/"), 2 * len(base)
	}
	return pattern == pkg, 2*len(pattern) + 1
}

func matchAny(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if ok, _ := match(p, pkg); ok {
			return true
		}
	}
	return false
}

// layerOf returns the layer of pkg; ok is false when no line names it.
func (r *Rules) layerOf(pkg string) (number int, ok bool) {
	best := -1
	for _, l := range r.layers {
		if m, w := match(l.pattern, pkg); m && w > best {
			number, best = l.number, w
		}
	}
	return number, best >= 0
}

// isReal reports whether pkg may meet the real world.
func (r *Rules) isReal(pkg string) bool { return matchAny(r.real, pkg) }

// allowed reports whether pkg may use the symbol ("time.Now").
func (r *Rules) allowed(pkg, symbol string) bool {
	for pattern, symbols := range r.allow {
		if ok, _ := match(pattern, pkg); !ok {
			continue
		}
		for _, s := range symbols {
			if s == symbol {
				return true
			}
		}
	}
	return false
}

// plugin returns the folder of the plug-in that pkg is or belongs to, or "".
func (r *Rules) plugin(pkg string) string {
	seg := strings.SplitN(pkg, "/", 3)
	if len(seg) < 2 {
		return ""
	}
	two := seg[0] + "/" + seg[1]
	for _, p := range r.parts {
		if ok, _ := path.Match(p, two); ok {
			return two
		}
	}
	return ""
}

// mayImport says why from must not import to; "" = it may.
func (r *Rules) mayImport(from, to string) string {
	a, okA := r.layerOf(from)
	b, okB := r.layerOf(to)
	switch {
	case !okA || !okB:
		return "" // reported once for the package itself
	case a > b:
		return ""
	case a < b:
		return fmt.Sprintf("layer %d must not import %s of layer %d", a, to, b)
	}
	if p := r.plugin(from); p != "" && p == r.plugin(to) {
		return ""
	}
	for _, e := range r.edges {
		if matchAny(e.from, from) && matchAny(e.to, to) {
			return ""
		}
	}
	return fmt.Sprintf("both are of layer %d and layers.txt has no edge to %s", a, to)
}
