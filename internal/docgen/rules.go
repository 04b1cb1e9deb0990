package main

import (
	"fmt"
	"strings"

	"staunch/forecast"
)

// rules is the page of what `staunch check` looks for.
func rules() string {
	var b strings.Builder
	b.WriteString(head + `# Rules of ` + "`staunch check`" + `

What the forecasts of ` + "`staunch check FILE.sql`" + ` look for, by the code that stands behind each finding (` + "`code`" + ` in ` + "`--output json`" + `). How to read them:
[check](../operations/check.md).

| code | found when |
|---|---|
`)
	for _, r := range forecast.Rules {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Code, r.Says)
	}
	return b.String()
}
