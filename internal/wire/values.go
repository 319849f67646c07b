package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

// The types of values. They are stored: none is ever used again for anything else.
const (
	typeNil byte = iota
	typeNamed
	typeAny
	typeSlice
	typeMap
	typeScalar // and up: a place in typeScalars
)

// typeScalars are stored by their place here: new ones go to the end.
var typeScalars = [...]reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](),
}

var (
	anyType    = reflect.TypeFor[any]()
	bytesType  = reflect.TypeFor[[]byte]()
	stringType = reflect.TypeFor[string]()
	timeType   = reflect.TypeFor[time.Time]()
)

const (
	maxTypeDepth = 8   // slices and maps in one type
	maxDepth     = 256 // values inside values
)

// Values writes and reads values of the types that can be restored exactly: a scalar, a slice or a string-keyed map of such
// types, any, or a type that has a name. The zero value knows no names.
type Values struct {
	// Types are the types with a name; their values are written as JSON. One type may have several names, of which
	// the smallest is written.
	Types map[string]reflect.Type

	// Raw has values of a type with a name read as json.RawMessage, whatever the name: for programs that only look at
	// stored requests.
	Raw bool
}

// UnfitError is the error of a value that cannot be written.
type UnfitError struct{ Reason string }

// Error gives the reason.
func (e *UnfitError) Error() string { return e.Reason }

// UnknownTypeError is the error of a value that has a type whose name is not in [Values].Types.
type UnknownTypeError struct{ Name string }

// Error gives the name.
func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("a value has the type %q, which is unknown", e.Name)
}

// Append appends a value, preceded by its type, to dst. The error is an [*UnfitError], or that of encoding/json.
func (c *Values) Append(dst []byte, value any) ([]byte, error) { return c.appendAny(dst, value, 0) }

// Read reads a value that Append wrote. The error is [ErrMalformed], an [*UnknownTypeError], or that of encoding/json.
func (c *Values) Read(d *Decoder) (any, error) { return c.readAny(d, 0) }

// appendAny writes a value with its dynamic type.
func (c *Values) appendAny(dst []byte, value any, depth int) ([]byte, error) {
	if value == nil {
		return append(dst, typeNil), nil
	}
	v := reflect.ValueOf(value)
	if depth > maxDepth {
		return dst, &UnfitError{"values are nested too deep, or in themselves"}
	}
	dst, err := c.appendType(dst, v.Type(), 0)
	if err != nil {
		return dst, err
	}
	return c.appendValue(dst, v, depth)
}

func (c *Values) appendType(dst []byte, t reflect.Type, depth int) ([]byte, error) {
	if i := slices.Index(typeScalars[:], t); i >= 0 {
		return append(dst, typeScalar+byte(i)), nil
	}
	if name, ok := c.nameOf(t); ok {
		return AppendText(append(dst, typeNamed), name), nil
	}
	switch {
	case t == anyType:
		return append(dst, typeAny), nil
	case depth == maxTypeDepth:
	case t.Name() == "" && t.Kind() == reflect.Slice:
		return c.appendType(append(dst, typeSlice), t.Elem(), depth+1)
	case t.Name() == "" && t.Kind() == reflect.Map && t.Key() == stringType:
		return c.appendType(append(dst, typeMap), t.Elem(), depth+1)
	}
	return dst, &UnfitError{fmt.Sprintf("a value of type %s would not come back as it was", t)}
}

// nameOf returns the smallest name of a type.
func (c *Values) nameOf(t reflect.Type) (name string, ok bool) {
	for n, named := range c.Types {
		if named == t && (!ok || n < name) {
			name, ok = n, true
		}
	}
	return name, ok
}

// appendValue writes a value whose type is known to the reader.
func (c *Values) appendValue(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	t := v.Type()
	switch {
	case t == timeType:
		at, err := v.Interface().(time.Time).MarshalBinary()
		if err != nil {
			return dst, err
		}
		return AppendText(dst, at), nil
	case t == anyType:
		return c.appendAny(dst, v.Interface(), depth+1)
	case t == bytesType:
		if v.IsNil() {
			return append(dst, 0), nil
		}
		return append(AppendUint(dst, uint64(v.Len())+1), v.Bytes()...), nil
	}
	if _, ok := c.nameOf(t); ok {
		data, err := json.Marshal(v.Interface())
		if err != nil {
			return dst, err
		}
		return AppendText(dst, data), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case reflect.String:
		return AppendText(dst, v.String()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(dst, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return AppendUint(dst, v.Uint()), nil
	case reflect.Float32:
		// Not by way of float64, which would quiet a signalling NaN.
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.Interface().(float32))), nil
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float())), nil
	case reflect.Slice, reflect.Map:
		return c.appendElements(dst, v, depth)
	}
	return dst, &UnfitError{fmt.Sprintf("a value of type %s would not come back as it was", t)}
}

// appendElements writes a slice or a map: 0 for nil, else the number of elements plus one, and these.
func (c *Values) appendElements(dst []byte, v reflect.Value, depth int) (_ []byte, err error) {
	if v.IsNil() {
		return append(dst, 0), nil
	}
	if depth > maxDepth {
		return dst, &UnfitError{"values are nested too deep, or in themselves"}
	}
	dst = AppendUint(dst, uint64(v.Len())+1)
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if dst, err = c.appendValue(dst, v.Index(i), depth+1); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	for _, k := range keys {
		dst = AppendText(dst, k.String())
		if dst, err = c.appendValue(dst, v.MapIndex(k), depth+1); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
