package setting

import (
	"iter"
	"reflect"
)

// Fill sets the fields of the struct that v points to which are zero to what they are in defaults.
func Fill[T any](v *T, defaults T) {
	to, from := reflect.ValueOf(v).Elem(), reflect.ValueOf(defaults)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// LeftOut returns the names of the fields that are set in before, and not in after, each behind the prefix.
func LeftOut[T any](prefix string, before, after T) (names []string) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range b.NumField() {
		if !b.Field(i).IsZero() && a.Field(i).IsZero() {
			names = append(names, prefix+b.Type().Field(i).Name)
		}
	}
	return names
}

// Negative yields those of the named fields of a struct that are less than zero: the JSON name behind the prefix, and the value. All of
// them are signed integers.
func Negative(v any, prefix string, names ...string) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, name := range names {
			field, _ := reflect.TypeOf(v).FieldByName(name)
			n := reflect.ValueOf(v).FieldByName(name).Int()
			if n < 0 && !yield(prefix+field.Tag.Get("json"), n) {
				return
			}
		}
	}
}
