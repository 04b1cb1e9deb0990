package bind

import (
	"strings"
	"testing"

	"staunch/function"
)

// TestNamesAreFlinks: a function that Flink does not have would make a file that does not run there.
func TestNamesAreFlinks(t *testing.T) {
	operators := set("AND", "OR", "NOT", "IN", "CASE", "LIKE", "SIMILAR TO")
	for _, name := range function.Names() {
		internal := strings.HasPrefix(name, "IS ") || strings.HasSuffix(name, " TO") || name == "MINUS DATES"
		if !flinkOnly[name] && !operators[name] && !internal {
			t.Errorf("%s is no function of Flink", name)
		}
	}
}
