package typecheck

import "reflect"

// EmbedsNil reports whether a value is a nil P, which is a pointer type, or a struct that embeds one, or that embeds a struct
// which does. The methods promoted from it panic.
func EmbedsNil[P any](v any) bool { return embedsNil(reflect.ValueOf(v), reflect.TypeFor[P]()) }

func embedsNil(v reflect.Value, pointer reflect.Type) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v.Type() == pointer
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return false
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous && embedsNil(v.Field(i), pointer) {
			return true
		}
	}
	return false
}
