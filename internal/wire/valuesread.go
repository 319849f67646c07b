package wire

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"time"
)

// rawType stands for all types with a name where Values.Raw is set.
var rawType = reflect.TypeFor[json.RawMessage]()

// readAny reads a value that appendAny wrote.
func (c *Values) readAny(d *Decoder, depth int) (any, error) {
	if len(d.Rest) > 0 && d.Rest[0] == typeNil {
		d.Byte()
		return nil, nil
	}
	if depth > maxDepth {
		return nil, ErrMalformed
	}
	t, err := c.readType(d, 0)
	if err != nil {
		return nil, err
	}
	v := reflect.New(t).Elem()
	if err := c.readValue(d, v, depth); err != nil {
		return nil, err
	}
	return v.Interface(), nil
}

func (c *Values) readType(d *Decoder, depth int) (reflect.Type, error) {
	code := d.Byte()
	if d.err != nil || depth > maxTypeDepth {
		return nil, ErrMalformed
	}
	switch code {
	case typeNamed:
		name := d.Text()
		t, ok := c.Types[name]
		if c.Raw {
			t, ok = rawType, true
		}
		if !ok && d.err == nil {
			return nil, &UnknownTypeError{name}
		}
		return t, d.err
	case typeAny:
		if depth == 0 {
			return nil, ErrMalformed // no value has it as its dynamic type
		}
		return anyType, nil
	case typeSlice, typeMap:
		elem, err := c.readType(d, depth+1)
		if err != nil {
			return nil, err
		}
		if code == typeSlice {
			return reflect.SliceOf(elem), nil
		}
		return reflect.MapOf(stringType, elem), nil
	}
	if i := int(code) - int(typeScalar); i >= 0 && i < len(typeScalars) {
		return typeScalars[i], nil
	}
	return nil, ErrMalformed
}

// readValue reads a value that appendValue wrote into v, which can be set.
func (c *Values) readValue(d *Decoder, v reflect.Value, depth int) error {
	t := v.Type()
	switch {
	case t == timeType:
		return v.Addr().Interface().(*time.Time).UnmarshalBinary(d.bytes())
	case t == anyType:
		value, err := c.readAny(d, depth+1)
		if err == nil && value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	case t == bytesType:
		if n := d.Uint(); n > 0 {
			v.SetBytes(slices.Clone(d.Take(n - 1)))
		}
		return d.err
	case t == rawType:
		v.SetBytes(slices.Clone(d.bytes()))
		return d.err
	}
	if _, ok := c.nameOf(t); ok {
		return json.Unmarshal(d.bytes(), v.Addr().Interface())
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.Byte() != 0)
	case reflect.String:
		v.SetString(d.Text())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(d.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.Uint())
	case reflect.Float32:
		if b := d.Take(4); b != nil {
			*v.Addr().Interface().(*float32) = math.Float32frombits(binary.LittleEndian.Uint32(b))
		}
	case reflect.Float64:
		if b := d.Take(8); b != nil {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case reflect.Slice, reflect.Map:
		return c.readElements(d, v, depth)
	default:
		return ErrMalformed
	}
	return d.err
}

// readElements reads the elements that appendElements wrote.
func (c *Values) readElements(d *Decoder, v reflect.Value, depth int) error {
	t := v.Type()
	n := d.Uint()
	if n == 0 || d.err != nil {
		return d.err
	}
	n--
	if n > uint64(len(d.Rest)) || depth > maxDepth {
		return ErrMalformed
	}
	if t.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(t, 0, int(min(n, 64))))
		for i := range int(n) {
			v.Grow(1)
			v.SetLen(i + 1)
			if err := c.readValue(d, v.Index(i), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	v.Set(reflect.MakeMapWithSize(t, int(min(n, uint64(len(d.Rest)/2)))))
	elem := reflect.New(t.Elem()).Elem()
	for range n {
		k := d.Text()
		elem.SetZero()
		if err := c.readValue(d, elem, depth+1); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(k), elem)
	}
	return nil
}
