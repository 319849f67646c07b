// Package columns says which columns the items of a Go type have: the fields of a struct, by the names and in the order in which
// encoding/json writes them. Every output that has columns uses it, so that a field has one name everywhere.
//
//	type → Of → columns → Column.Of(item) → the value of a field
//
// A short example:
//
//	list, err := columns.Of(reflect.TypeFor[Book]())
//	for _, c := range list {
//		if v, ok := c.Value(reflect.ValueOf(book)); ok {
//			fmt.Println(c.Name, v)
//		}
//	}
//
// All of it is safe for concurrent use.
package columns

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Column is a field of a struct, or of one that is embedded in it.
type Column struct {
	Name      string
	Field     string // its name in Go
	Type      reflect.Type
	Tag       reflect.StructTag
	OmitEmpty bool // its zero value, or an empty one, is left out
	OmitZero  bool // its zero value is left out
	Quoted    bool // numbers and booleans are written as strings
	index     []int
	tagged    bool
}

// NotStructError is the failure to find the columns of a type that has no fixed ones: it is no struct, or writes its own JSON.
type NotStructError struct{ Type reflect.Type }

// Error names the type.
func (e *NotStructError) Error() string {
	return fmt.Sprintf("type %s has no fixed columns: it is no struct, or writes its own JSON", e.Type)
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// Of returns the columns of a struct type, or of what a pointer type points to. The rules are those of encoding/json: fields
// that are exported, under the names of their json tags; those of embedded structs as if they were its own, unless a
// shallower or a tagged one has their name. The error is a [*NotStructError].
func Of(t reflect.Type) ([]Column, error) {
	for t != nil && t.Kind() == reflect.Pointer {
		if isMarshaler(t) {
			return nil, &NotStructError{t}
		}
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || isMarshaler(t) || isMarshaler(reflect.PointerTo(t)) {
		return nil, &NotStructError{t}
	}
	return dominant(fieldsOf(t)), nil
}

func isMarshaler(t reflect.Type) bool {
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

// level is a struct whose fields are to be looked at, and the way to it.
type level struct {
	t     reflect.Type
	index []int
}

// fieldsOf returns all fields that count, those of embedded structs among them, the shallowest first.
func fieldsOf(t reflect.Type) (all []Column) {
	next, seen := []level{{t: t}}, map[reflect.Type]bool{}
	for len(next) > 0 {
		current, twice := next, map[reflect.Type]int{}
		next = nil
		for _, l := range current {
			twice[l.t]++
		}
		for _, l := range current {
			if seen[l.t] {
				continue
			}
			seen[l.t] = true
			for i := range l.t.NumField() {
				f := l.t.Field(i)
				index := append(slices.Clone(l.index), i)
				column, embedded, ok := columnOf(f, index)
				switch {
				case !ok:
				case embedded != nil:
					next = append(next, level{embedded, index})
				default:
					all = append(all, column)
					if twice[l.t] > 1 { // the same struct twice at one depth: its fields hide each other
						all = append(all, column)
					}
				}
			}
		}
	}
	return all
}

// columnOf returns the column of a field, or the struct that is embedded there.
func columnOf(f reflect.StructField, index []int) (column Column, embedded reflect.Type, ok bool) {
	inner := f.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if f.Anonymous {
		if !f.IsExported() && inner.Kind() != reflect.Struct {
			return column, nil, false
		}
	} else if !f.IsExported() {
		return column, nil, false
	}
	tag := f.Tag.Get("json")
	if tag == "-" {
		return column, nil, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !isName(name) {
		name = ""
	}
	if name == "" && f.Anonymous && inner.Kind() == reflect.Struct {
		return column, inner, true
	}
	column = Column{Name: cmp.Or(name, f.Name), Field: f.Name, Type: f.Type, Tag: f.Tag, index: index, tagged: name != ""}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			column.OmitEmpty = true
		case "omitzero":
			column.OmitZero = true
		case "string":
			column.Quoted = isScalar(inner.Kind())
		}
	}
	return column, nil, f.IsExported()
}

func isScalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// isName reports whether encoding/json takes a name from a tag.
func isName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return s != ""
}

// dominant returns of the fields of each name the one that Go would choose, in the order of the struct: the shallowest, of several
// such the tagged one; none if there are two.
func dominant(all []Column) []Column {
	byName := make(map[string][]Column)
	for _, c := range all {
		byName[c.Name] = append(byName[c.Name], c)
	}
	var list []Column
	for _, same := range byName {
		slices.SortStableFunc(same, func(a, b Column) int {
			return cmp.Or(cmp.Compare(len(a.index), len(b.index)), compareBool(b.tagged, a.tagged))
		})
		if len(same) > 1 && len(same[0].index) == len(same[1].index) && same[0].tagged == same[1].tagged {
			continue
		}
		list = append(list, same[0])
	}
	slices.SortFunc(list, func(a, b Column) int { return slices.Compare(a.index, b.index) })
	return list
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Value returns the field of an item of the type, or of a pointer to one. It is false where there is none: a pointer on the way is
// nil, or the column leaves such values out.
func (c *Column) Value(item reflect.Value) (reflect.Value, bool) {
	for item.Kind() == reflect.Pointer {
		if item.IsNil() {
			return reflect.Value{}, false
		}
		item = item.Elem()
	}
	for _, i := range c.index {
		if item.Kind() == reflect.Pointer {
			if item.IsNil() {
				return reflect.Value{}, false
			}
			item = item.Elem()
		}
		item = item.Field(i)
	}
	if c.OmitEmpty && isEmpty(item) || c.OmitZero && isZero(item) {
		return reflect.Value{}, false
	}
	return item, true
}

// MayBeAbsent reports whether Value may be false for items of the struct type t, of which the column is: it leaves out some values, or
// the way to it leads through a pointer.
func (c *Column) MayBeAbsent(t reflect.Type) bool {
	if c.OmitEmpty || c.OmitZero {
		return true
	}
	for _, i := range c.index[:len(c.index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// isEmpty is the rule of omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero is the rule of omitzero.
func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return true
		}
		return z.IsZero()
	}
	return v.IsZero()
}
