package feed

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/internal/columns"
)

// shape is how items of one struct type become cells.
type shape struct {
	id      uint64
	columns []columns.Column
	names   []string
	cells   []appendCell
	mistake error // it has none of the columns that are wanted
}

// appendCell appends the text of a value.
type appendCell func(dst []byte, v reflect.Value) ([]byte, error)

// shapeOf returns the shape of a struct type, or of what a pointer type points to.
func (f *csvFormat) shapeOf(t reflect.Type) (*shape, error) {
	f.mu.RLock()
	s := f.shapes[t]
	f.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	list, err := columns.Of(t)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.shapes[t]; s != nil {
		return s, nil
	}
	s = &shape{id: uint64(len(f.byID)), columns: list}
	for i := range list {
		s.names = append(s.names, f.nameOf(&list[i]))
		s.cells = append(s.cells, cellOf(list[i].Type, f.safe))
	}
	if f.fixed != nil && !slices.ContainsFunc(s.names, func(name string) bool { return slices.Contains(f.fixed, name) }) {
		s.mistake = &NoColumnsError{t, f.fixed, s.names}
	}
	if f.shapes == nil {
		f.shapes = make(map[reflect.Type]*shape)
	}
	f.shapes[t] = s
	f.byID = append(f.byID, s)
	return s, nil
}

// nameOf returns the column of a field: the name in JSON, unless Columns has the name in Go in its place.
func (f *csvFormat) nameOf(c *columns.Column) string {
	if slices.Contains(f.fixed, c.Field) && !slices.Contains(f.fixed, c.Name) {
		return c.Field
	}
	return c.Name
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

// cellOfJSON is the text of a value in JSON: a string is its text, null is empty, and lists and objects stay as they are.
func cellOfJSON(value json.RawMessage, safe bool) ([]byte, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] == '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return nil, err
		}
		return appendText(nil, s, safe), nil
	}
	return value, nil
}

// cellOf returns how values of a type become cells.
func cellOf(t reflect.Type, safe bool) appendCell {
	if t == timeType {
		return timeCell
	}
	if t.Implements(jsonMarshaler) || t.Implements(textMarshaler) ||
		reflect.PointerTo(t).Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(textMarshaler) {
		return cellByJSON(safe)
	}
	switch t.Kind() {
	case reflect.String:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendText(dst, v.String(), safe), nil }
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(dst, v.Uint(), 10), nil }
	case reflect.Float32:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendFloat(dst, v.Float(), 32) }
	case reflect.Float64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendFloat(dst, v.Float(), 64) }
	case reflect.Pointer:
		inner := cellOf(t.Elem(), safe)
		return func(dst []byte, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				return dst, nil
			}
			return inner(dst, v.Elem())
		}
	}
	return cellByJSON(safe)
}

func cellByJSON(safe bool) appendCell {
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		at := len(dst)
		dst, err := appendJSON(dst, v.Interface())
		if err != nil || dst[at] == '{' || dst[at] == '[' {
			return dst, err
		}
		cell, err := cellOfJSON(bytes.Clone(dst[at:]), safe)
		return append(dst[:at], cell...), err
	}
}

var timeType = reflect.TypeFor[time.Time]()

// timeCell appends a time as JSON has it.
func timeCell(dst []byte, v reflect.Value) ([]byte, error) {
	t := new(time.Time)
	if v.CanAddr() {
		t = v.Addr().Interface().(*time.Time)
	} else {
		*t = v.Interface().(time.Time)
	}
	return t.AppendText(dst)
}

// appendText appends a text. One that a spreadsheet would take for a formula begins with ' if it has to be safe. Bytes that are not
// UTF-8 become U+FFFD, as in JSON.
func appendText(dst []byte, s string, safe bool) []byte {
	if safe && isFormula(s) {
		dst = append(dst, '\'')
	}
	if utf8.ValidString(s) {
		return append(dst, s...)
	}
	return append(dst, strings.ToValidUTF8(s, "\uFFFD")...)
}

// isFormula reports whether a spreadsheet would take a text for a formula.
func isFormula(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", c)
}

// appendFloat appends a number as JSON has it.
func appendFloat(dst []byte, v float64, bits int) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, fmt.Errorf("%v is no number that can be written", v)
	}
	form := byte('f')
	if size := math.Abs(v); size != 0 && (bits == 64 && (size < 1e-6 || size >= 1e21) || bits == 32 && (float32(size) < 1e-6 || float32(size) >= 1e21)) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, v, form, -1, bits), nil
}
