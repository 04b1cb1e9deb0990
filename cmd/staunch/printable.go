package main

import (
	"io"
	"reflect"

	"staunch/account"
)

// printable is v with the texts in it as a report for people may show them, see account.Printable; v itself stays as it is. Reports have names of files and
// words of people in many fields: so none is forgotten.
func printable[T any](v T) T {
	if x := reflect.ValueOf(&v).Elem(); harmful(x) {
		return cleaned(x).Interface().(T)
	}
	return v
}

// harmful reports whether there is a text in v that is to be changed.
func harmful(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return account.Printable(v.String()) != v.String()
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && harmful(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && harmful(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k < reflect.Array { // numbers
			return false
		}
		for i := range v.Len() {
			if harmful(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if harmful(i.Key()) || harmful(i.Value()) {
				return true
			}
		}
	}
	return false
}

// cleaned copies v where something is to be changed. Fields that are not exported are shared.
func cleaned(v reflect.Value) reflect.Value {
	if !harmful(v) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(account.Printable(v.String()))
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(cleaned(v.Elem()))
	case reflect.Interface:
		out.Set(cleaned(v.Elem()))
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cleaned(v.Field(i)))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(cleaned(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for i := v.MapRange(); i.Next(); {
			out.SetMapIndex(cleaned(i.Key()), cleaned(i.Value()))
		}
	}
	return out
}

// texter is a report for people.
type texter interface {
	Text(out io.Writer) error
}

// writeText writes a report for people.
func writeText[T texter](out io.Writer, r T) error { return printable(r).Text(out) }
