package ast

import "reflect"

// Inspect calls f for n and, as long as f gives true, for every node inside it, in the order of the fields. It goes by
// reflection: right for the planner's few walks over a statement, not for work per row.
func Inspect(n Node, f func(Node) bool) {
	if n != nil {
		inspect(reflect.ValueOf(n), f)
	}
}

var nodeType = reflect.TypeFor[Node]()

func inspect(v reflect.Value, f func(Node) bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer && v.Type().Implements(nodeType) {
			if !f(v.Interface().(Node)) {
				return
			}
			fields(v.Elem(), f)
			return
		}
		inspect(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			inspect(v.Index(i), f)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Span]() || v.Type() == reflect.TypeFor[Pos]() {
			return
		}
		if v.Type().Implements(nodeType) && !f(v.Interface().(Node)) {
			return
		}
		fields(v, f)
	}
}

func fields(v reflect.Value, f func(Node) bool) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		inspect(v.Field(i), f)
	}
}

// Equal tells whether two trees are the same apart from places.
func Equal(a, b Node) bool {
	return equal(reflect.ValueOf(a), reflect.ValueOf(b))
}

func equal(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[Pos]() {
			return true
		}
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Interface() == b.Interface()
}
