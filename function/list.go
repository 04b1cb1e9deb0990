package function

import "sort"

// families are the tables of all functions and operators.
var families = [][]*Function{arithmetic, comparison, logic, conditional, mathFunctions, stringFunctions, textFunctions, regexFunctions,
	encodings, timeFunctions, legacyTime, sessionFunctions}

var byName map[string]*Function

func init() {
	byName = map[string]*Function{}
	for _, family := range families {
		for _, f := range family {
			if _, dup := byName[f.Name]; !dup {
				byName[f.Name] = f
			}
		}
	}
	for alias, name := range aliases {
		byName[alias] = byName[name]
	}
}

// Lookup gives the function or binary operator called name (in upper case), or nil.
func Lookup(name string) *Function { return byName[name] }

// Negation is the prefix minus.
func Negation() *Function { return arithmetic[len(arithmetic)-1] }

// Names gives the names of all functions, sorted.
func Names() []string {
	var out []string
	for name := range byName {
		if isName(name) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// aliases are second names.
var aliases = map[string]string{"CEILING": "CEIL", "CHARACTER_LENGTH": "CHAR_LENGTH", "TRANSLATE3": "TRANSLATE"}
