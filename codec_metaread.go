package tegenaria

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

// rawType stands for all named types when somebody only looks.
var rawType = reflect.TypeFor[json.RawMessage]()

// readAny reads what appendAny wrote.
func (c *codec) readAny(d *decoder, depth int) (any, error) {
	if len(d.data) > 0 && d.data[0] == metaNil {
		d.byte()
		return nil, nil
	}
	if depth > maxMetaDepth {
		return nil, errMalformed
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

func (c *codec) readType(d *decoder, depth int) (reflect.Type, error) {
	code := d.byte()
	if d.err != nil || depth > maxMetaType {
		return nil, errMalformed
	}
	switch code {
	case metaNamed:
		name := d.text()
		t, ok := c.metaTypes[name]
		if c.inspect {
			t, ok = rawType, true
		}
		if !ok && d.err == nil {
			return nil, fmt.Errorf("a value of Meta has the type %q, which is unknown; name it with EngineWithMetaType", name)
		}
		return t, d.err
	case metaAny:
		if depth == 0 {
			return nil, errMalformed // no value has it as its dynamic type
		}
		return anyType, nil
	case metaSlice, metaMap:
		elem, err := c.readType(d, depth+1)
		if err != nil {
			return nil, err
		}
		if code == metaSlice {
			return reflect.SliceOf(elem), nil
		}
		return reflect.MapOf(stringType, elem), nil
	}
	if i := int(code) - int(metaScalar); i >= 0 && i < len(metaScalars) {
		return metaScalars[i], nil
	}
	return nil, errMalformed
}

// readValue reads what appendValue wrote into v, which can be set.
func (c *codec) readValue(d *decoder, v reflect.Value, depth int) error {
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
		if n := d.uint(); n > 0 {
			v.SetBytes(slices.Clone(d.take(n - 1)))
		}
		return d.err
	case t == rawType:
		v.SetBytes(slices.Clone(d.bytes()))
		return d.err
	}
	if _, ok := c.metaName(t); ok {
		return json.Unmarshal(d.bytes(), v.Addr().Interface())
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.byte() != 0)
	case reflect.String:
		v.SetString(d.text())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(d.int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.uint())
	case reflect.Float32:
		if b := d.take(4); b != nil {
			*v.Addr().Interface().(*float32) = math.Float32frombits(binary.LittleEndian.Uint32(b))
		}
	case reflect.Float64:
		if b := d.take(8); b != nil {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case reflect.Slice, reflect.Map:
		return c.readElements(d, v, depth)
	default:
		return errMalformed
	}
	return d.err
}

// readElements reads what appendElements wrote.
func (c *codec) readElements(d *decoder, v reflect.Value, depth int) error {
	t := v.Type()
	n := d.uint()
	if n == 0 || d.err != nil {
		return d.err
	}
	n--
	if n > uint64(len(d.data)) || depth > maxMetaDepth {
		return errMalformed
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
	v.Set(reflect.MakeMapWithSize(t, int(min(n, uint64(len(d.data)/2)))))
	elem := reflect.New(t.Elem()).Elem()
	for range n {
		k := d.text()
		elem.SetZero()
		if err := c.readValue(d, elem, depth+1); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(k), elem)
	}
	return nil
}
