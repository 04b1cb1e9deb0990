package ast

import "strings"

// QuoteName gives a name in back-ticks.
func QuoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// QuoteString gives a string literal in single quotes.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
