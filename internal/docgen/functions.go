package main

import (
	"fmt"
	"strings"

	"staunch/function"
)

// ownSyntax are operators and functions that are not written as a name with arguments; empty for those that no one writes.
var ownSyntax = map[string]string{
	"AND": "a AND b", "OR": "a OR b", "NOT": "NOT a",
	"CASE":        "CASE [x] WHEN y THEN z [...] [ELSE z] END",
	"CEIL TO":     "CEIL(time TO unit), CEILING(time TO unit)",
	"FLOOR TO":    "FLOOR(time TO unit)",
	"EXTRACT":     "EXTRACT(unit FROM time)",
	"IN":          "x [NOT] IN (y, ...)",
	"LIKE":        "x [NOT] LIKE pattern [ESCAPE c]",
	"SIMILAR TO":  "x [NOT] SIMILAR TO pattern [ESCAPE c]",
	"IS NULL":     "x IS NULL",
	"IS NOT NULL": "x IS NOT NULL",
	"IS TRUE":     "a IS TRUE", "IS NOT TRUE": "a IS NOT TRUE", "IS FALSE": "a IS FALSE", "IS NOT FALSE": "a IS NOT FALSE",
	"IS DISTINCT FROM": "x IS DISTINCT FROM y", "IS NOT DISTINCT FROM": "x IS NOT DISTINCT FROM y",
	"MINUS DATES": "",
}

// written are forms that the parser has besides those of the table.
var written = map[string]string{
	"POSITION":  "POSITION(x IN y)",
	"TRIM":      "TRIM([BOTH, LEADING or TRAILING] [y FROM] x)",
	"SUBSTRING": "SUBSTRING(x FROM n [FOR n])",
	"OVERLAY":   "OVERLAY(x PLACING y FROM n [FOR n])",
}

// functions is the page of functions and operators.
func functions() string {
	var b strings.Builder
	b.WriteString(head + `# Functions

Types of results and values are those of Flink 2.3.0; where they differ on purpose: [differences](differences.md). A function of Flink that is
not here is refused by name.

## Operators

` + "- `+ - * / %`, `||`, `= <> < <= > >=`\n- `x [NOT] BETWEEN [SYMMETRIC] y AND z`, `(a, b) OVERLAPS (c, d)`\n- `CAST(x AS type)`, `TRY_CAST(x AS type)`\n")
	for _, name := range function.Names() {
		if s := ownSyntax[name]; s != "" {
			b.WriteString("- `" + s + "`\n")
		}
	}
	b.WriteString("\n## By name\n\n`<COMMON>` and `<COMPARABLE>` are arguments that have one common type; `...` more of the same.\n\n| function | arguments |\n|---|---|\n")
	for _, name := range function.Names() {
		if _, operator := ownSyntax[name]; operator {
			continue
		}
		f := function.Lookup(name)
		var forms []string
		for _, form := range f.Forms() {
			forms = append(forms, "`"+name+strings.TrimPrefix(form, f.Name)+"`")
		}
		if s := written[name]; s != "" {
			forms = append(forms, "`"+s+"`")
		}
		if len(forms) == 0 {
			forms = []string{"none"}
		}
		if f.Volatile {
			forms = append(forms, "its value depends on when a row is read")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.Join(forms, ", "))
	}
	return b.String()
}
