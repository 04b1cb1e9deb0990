package function

import "strings"

// Forms are the arguments that calls of f may have, in the words of error messages, such as NAME(<CHARACTER>, <INTEGER>); nil for functions
// with a syntax of their own.
func (f *Function) Forms() []string {
	if f.form == "" || f.Name == "" || !isName(f.Name) {
		return nil
	}
	var out []string
	for _, form := range strings.Split(f.form, " | ") {
		if !strings.Contains(form, " "+f.Name+" ") { // else it is an operator, written out
			form = f.Name + "(" + form + ")"
		}
		out = append(out, form)
	}
	return out
}
