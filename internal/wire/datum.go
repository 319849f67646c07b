package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// Datum is a value of a type that has a name, as JSON. It is never changed, so that requests may share it.
type Datum struct {
	Type string // by TypeName
	JSON []byte
}

// NewDatum encodes a value. T is its type, also where the value is in an interface. The error is that of encoding/json.
func NewDatum[T any](value T) (*Datum, error) {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Interface && t.NumMethod() > 0 {
		return nil, fmt.Errorf("%s is an interface with methods, which JSON cannot be read back into: send a value of a "+
			"concrete type", TypeName[T]())
	}
	if hides(reflect.TypeOf(value)) {
		return nil, fmt.Errorf("%s has no exported field: begin their names with capital letters", TypeName[T]())
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return &Datum{Type: TypeName[T](), JSON: data}, nil
}

// hides reports whether a type is a struct whose fields JSON does not show, or is made of such structs.
func hides(t reflect.Type) bool {
	for t != nil && t.Name() == "" && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || t.NumField() == 0 {
		return false
	}
	for _, marshaler := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if reflect.PointerTo(t).Implements(marshaler) {
			return false
		}
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() || f.Anonymous {
			return false
		}
	}
	return true
}

// Decode decodes the value. Whether T is the type that has the name is for the caller to check.
func Decode[T any](d *Datum) (value T, err error) {
	err = json.Unmarshal(d.JSON, &value)
	return value, err
}

// TypeName returns the name of a type: with the import path of its package if it is a declared type ("example.com/shop.Product"), else
// as Go prints it ("[]shop.Product").
func TypeName[T any]() string {
	t := reflect.TypeFor[T]()
	if t.Name() == "" || t.PkgPath() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}
