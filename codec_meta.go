package tegenaria

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
)

// A value of Meta is preceded by its type, so that it comes back as what it was: a scalar, a slice or a
// string-keyed map of such types, any, or a type named by EngineWithMetaType.
const (
	metaNil byte = iota
	metaNamed
	metaAny
	metaSlice
	metaMap
	metaScalar // and up: a place in metaScalars
)

// metaScalars are stored by their place here: new ones go to the end.
var metaScalars = [...]reflect.Type{
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
	maxMetaType  = 8   // slices and maps in one type
	maxMetaDepth = 256 // values inside values
)

// metaError tells which type does not come back.
type metaError struct{ reason string }

func (e *metaError) Error() string { return e.reason }

// meta writes those values of Meta that can be encoded; the others ride in the live part.
func (e *encoder) meta() error {
	meta := e.request.Meta
	if meta == nil {
		return nil
	}
	start := len(e.buf)
	e.count(tagMeta, len(meta))
	written := 0
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		before := len(e.buf)
		e.buf = appendText(e.buf, k)
		buf, err := e.codec.appendAny(e.buf, meta[k], 0)
		if err == nil {
			e.buf = buf
			written++
			continue
		}
		e.buf = e.buf[:before]
		if err := e.ride("Meta["+k+"]", err, "name its type with EngineWithMetaType, or use the memory cache"); err != nil {
			return err
		}
		if e.live.meta == nil {
			e.live.meta = make(map[string]any)
		}
		e.live.meta[k] = meta[k]
	}
	if written < len(meta) {
		e.recount(start, len(meta), written)
	}
	return nil
}

// recount corrects the number of values written at start.
func (e *encoder) recount(start, was, is int) {
	values := start + 1 + len(appendUint(nil, uint64(was)))
	rest := slices.Clone(e.buf[values:])
	e.buf = append(appendUint(e.buf[:start+1], uint64(is)), rest...)
}

func (d *decoder) meta(c *codec, r *Request) error {
	n := d.count(2)
	r.Meta = make(map[string]any, n)
	for range n {
		k := d.text()
		v, err := c.readAny(d, 0)
		if err != nil {
			return err
		}
		r.Meta[k] = v
	}
	return d.err
}

// appendAny writes a value with its dynamic type.
func (c *codec) appendAny(dst []byte, value any, depth int) ([]byte, error) {
	if value == nil {
		return append(dst, metaNil), nil
	}
	v := reflect.ValueOf(value)
	if depth > maxMetaDepth {
		return dst, &metaError{"values are nested too deep, or in themselves"}
	}
	dst, err := c.appendType(dst, v.Type(), 0)
	if err != nil {
		return dst, err
	}
	return c.appendValue(dst, v, depth)
}

func (c *codec) appendType(dst []byte, t reflect.Type, depth int) ([]byte, error) {
	if i := slices.Index(metaScalars[:], t); i >= 0 {
		return append(dst, metaScalar+byte(i)), nil
	}
	if name, ok := c.metaName(t); ok {
		return appendText(append(dst, metaNamed), name), nil
	}
	switch {
	case t == anyType:
		return append(dst, metaAny), nil
	case depth == maxMetaType:
	case t.Name() == "" && t.Kind() == reflect.Slice:
		return c.appendType(append(dst, metaSlice), t.Elem(), depth+1)
	case t.Name() == "" && t.Kind() == reflect.Map && t.Key() == stringType:
		return c.appendType(append(dst, metaMap), t.Elem(), depth+1)
	}
	return dst, &metaError{fmt.Sprintf("a value of type %s would not come back as it was", t)}
}

// metaName returns the smallest name that EngineWithMetaType gave to the type.
func (c *codec) metaName(t reflect.Type) (name string, ok bool) {
	for n, named := range c.metaTypes {
		if named == t && (!ok || n < name) {
			name, ok = n, true
		}
	}
	return name, ok
}

// appendValue writes a value whose type is known to the reader.
func (c *codec) appendValue(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	t := v.Type()
	switch {
	case t == timeType:
		at, err := v.Interface().(time.Time).MarshalBinary()
		if err != nil {
			return dst, err
		}
		return appendText(dst, at), nil
	case t == anyType:
		return c.appendAny(dst, v.Interface(), depth+1)
	case t == bytesType:
		if v.IsNil() {
			return append(dst, 0), nil
		}
		return append(appendUint(dst, uint64(v.Len())+1), v.Bytes()...), nil
	}
	if _, ok := c.metaName(t); ok {
		data, err := json.Marshal(v.Interface())
		if err != nil {
			return dst, err
		}
		return appendText(dst, data), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case reflect.String:
		return appendText(dst, v.String()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(dst, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return appendUint(dst, v.Uint()), nil
	case reflect.Float32:
		// Not by way of float64, which would quiet a signalling NaN.
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.Interface().(float32))), nil
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float())), nil
	case reflect.Slice, reflect.Map:
		return c.appendElements(dst, v, depth)
	}
	return dst, &metaError{fmt.Sprintf("a value of type %s would not come back as it was", t)}
}

// appendElements writes a slice or a map: 0 for nil, else the number of elements plus one, and these.
func (c *codec) appendElements(dst []byte, v reflect.Value, depth int) (_ []byte, err error) {
	if v.IsNil() {
		return append(dst, 0), nil
	}
	if depth > maxMetaDepth {
		return dst, &metaError{"values are nested too deep, or in themselves"}
	}
	dst = appendUint(dst, uint64(v.Len())+1)
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
		dst = appendText(dst, k.String())
		if dst, err = c.appendValue(dst, v.MapIndex(k), depth+1); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
