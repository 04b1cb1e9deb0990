package config

import "maps"

// With returns v with one key set to another value, or unset if value is empty. Options, defaults and places stay as they are; nothing is checked.
func (v Values) With(key, value string) Values {
	v.raw = maps.Clone(v.raw)
	if v.raw == nil {
		v.raw = map[string]string{}
	}
	if value == "" {
		delete(v.raw, key)
	} else {
		v.raw[key] = value
	}
	return v
}
