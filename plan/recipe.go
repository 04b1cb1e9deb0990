package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"staunch/changelog"
	"staunch/function"
)

// recipeVersion counts what the SQL does not show: it grows by one with every change of this program by which a function, a cast, a format's reader
// or a file's writer gives other values or other bytes than before, by a library of theirs too.
const recipeVersion = 1

// recipe is what a branch's rows and the bytes of its files follow from, besides its expressions: types, formats and their options, the session's
// zone. A lost file can be made again only if all of it is what it was. What only says where records come from, when files end and by what certificates
// name them (servers, start-up modes, rolling, checksums) is left out: it may change.
func (p *planner) recipe(br branch, t *Table, source changelog.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, " recipe %d, zone %s", recipeVersion, p.zone())
	for _, f := range source {
		fmt.Fprintf(&b, ", %s %s", f.Name, f.Type)
	}
	for _, c := range t.Columns {
		if c.MetadataKey != "" {
			fmt.Fprintf(&b, ", %s from %s", c.Name, c.MetadataKey)
		}
	}
	p.settings(&b, t, "scan.", "properties.", "topic", "sink.")
	s := br.sink.Table
	if s == nil { // a query
		return b.String()
	}
	fmt.Fprintf(&b, " into %s by %s, NULL %v drop %v", columns(s.sinkColumns()), strings.Join(s.Keys, "/"), br.notNull, br.drop)
	p.settings(&b, s, "sink.", "scan.", "properties.", "path", "temporary-", "checksum", "auto-compaction", "compaction.", "source.")
	return b.String()
}

// settings writes the options of a table but those that begin with one of the prefixes.
func (p *planner) settings(b *strings.Builder, t *Table, but ...string) {
	left := func(k string) bool {
		return slices.ContainsFunc(but, func(x string) bool { return strings.HasPrefix(k, x) })
	}
	for _, k := range slices.Sorted(maps.Keys(t.Options)) {
		if !left(k) {
			fmt.Fprintf(b, ", %s=%q", k, t.Options[k])
		}
	}
	own := p.staunch(t)
	for _, k := range own.Keys() {
		if !left(k) {
			fmt.Fprintf(b, ", staunch.%s=%q", k, own.String(k))
		}
	}
}

func columns(cols []Column) string {
	var out []string
	for _, c := range cols {
		out = append(out, c.Name+" "+c.Type.String())
	}
	return strings.Join(out, ", ")
}

// volatile is the text of the first expression of a branch whose value does not follow from the record alone; "" if there is none.
func volatile(where function.Expr, exprs []function.Expr) string {
	if where != nil && !where.Deterministic() {
		return where.String()
	}
	for _, e := range exprs {
		if !e.Deterministic() {
			return e.String()
		}
	}
	return ""
}
