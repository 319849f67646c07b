// Package table is what feeds into databases share: which columns the items of a struct type have, what is in them, and how the rows of
// a batch of requests get into a table once.
//
//	item → Sink.ProcessItem → Database.Encode → staged → Sink.Prepare → Database.Write → checkpoint: the number of the batch
//	                                └→ refused: a line of the reject file
//
// A batch of rows is written in one transaction, which also writes the number of the batch. After a crash the cache knows the last
// batch or the one before it; in the latter case the database takes the last one back before the crawl goes on.
package table

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/internal/columns"
)

// Kind says what the values of a column are.
type Kind uint8

// The kinds of columns.
const (
	Bool Kind = iota
	Int
	Uint
	Float
	Text
	Bytes
	Time
	JSON // lists, objects, and what writes its own JSON
)

var kindNames = [...]string{"bool", "int", "uint", "float", "text", "bytes", "time", "json"}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// Column is a column of a table, and the field of a struct that it is made of.
type Column struct {
	Name     string
	Kind     Kind
	Bits     int // of numbers
	field    columns.Column
	depth    int  // of pointers to the value
	marshals bool // it writes itself as a text
}

// Of returns the columns of a struct type: its fields, by the rules and names of encoding/json.
func Of(t reflect.Type) ([]Column, error) {
	fields, err := columns.Of(t)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("type %s has no fields that JSON would hold", t)
	}
	list := make([]Column, len(fields))
	for i, f := range fields {
		list[i] = columnOf(f)
		t := f.Type
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch k := t.Kind(); k {
		case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
			if !isMarshaler(t) {
				return nil, fmt.Errorf("there is no column for the field %s, which is a %s: give it the tag json:\"-\"", f.Name, k)
			}
		}
	}
	return list, nil
}

func isMarshaler(t reflect.Type) bool {
	t = reflect.PointerTo(t)
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

func namesOf(list []Column) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// KeyOf returns the indexes of the columns of a key.
func KeyOf(list []Column, key []string) ([]int, error) {
	var indexes []int
	for i, name := range key {
		at := slices.IndexFunc(list, func(c Column) bool { return c.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the option Upsert names the column %q, which is no field: the fields are %q", name, namesOf(list))
		}
		if slices.Contains(key[:i], name) {
			return nil, fmt.Errorf("the option Upsert names the column %q twice: name it once", name)
		}
		indexes = append(indexes, at)
	}
	return indexes, nil
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func columnOf(f columns.Column) Column {
	c := Column{Name: f.Name, field: f}
	t := f.Type
	for t.Kind() == reflect.Pointer {
		t, c.depth = t.Elem(), c.depth+1
	}
	switch {
	case t == timeType:
		c.Kind = Time
		return c
	case reflect.PointerTo(t).Implements(jsonMarshaler):
		c.Kind = JSON
		return c
	case reflect.PointerTo(t).Implements(textMarshaler):
		c.Kind, c.marshals = Text, true
		return c
	}
	switch k := t.Kind(); k {
	case reflect.Bool:
		c.Kind = Bool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.Kind, c.Bits = Int, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		c.Kind, c.Bits = Uint, t.Bits()
	case reflect.Float32, reflect.Float64:
		c.Kind, c.Bits = Float, t.Bits()
	case reflect.String:
		c.Kind = Text
	default:
		c.Kind = JSON
		if k == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !reflect.PointerTo(t.Elem()).Implements(jsonMarshaler) && !reflect.PointerTo(t.Elem()).Implements(textMarshaler) {
			c.Kind = Bytes
		}
	}
	return c
}

// Cell is a value of a column. What is in it depends on the column's kind.
type Cell struct {
	Null  bool
	Bool  bool
	Int   int64
	Uint  uint64
	Float float64
	Text  string // valid UTF-8, also of JSON
	Bytes []byte
	Time  time.Time
}

// Fill sets a cell to the value of an item. An error is that of a value that no JSON can hold.
func (c *Column) Fill(cell *Cell, item reflect.Value) error {
	*cell = Cell{}
	v, ok := c.field.Value(item)
	for range c.depth {
		if !ok || v.IsNil() {
			cell.Null = true
			return nil
		}
		v = v.Elem()
	}
	if !ok {
		cell.Null = true
		return nil
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			cell.Null = true
			return nil
		}
	}
	switch c.Kind {
	case Bool:
		cell.Bool = v.Bool()
	case Int:
		cell.Int = v.Int()
	case Uint:
		cell.Uint = v.Uint()
	case Float:
		cell.Float = v.Float()
	case Bytes:
		cell.Bytes = v.Bytes()
	case Time:
		if v.CanAddr() { // which saves a copy in the heap
			cell.Time = *v.Addr().Interface().(*time.Time)
		} else {
			cell.Time = v.Interface().(time.Time)
		}
	case Text:
		return c.fillText(cell, v)
	case JSON:
		text, err := json.Marshal(pointerTo(v))
		if err != nil {
			return fmt.Errorf("field %s: %w", c.Name, err)
		}
		if string(text) == "null" {
			cell.Null = true
		}
		cell.Text = string(text)
	}
	return nil
}

// pointerTo returns a pointer to a value, which has all methods of its type.
func pointerTo(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface()
}

func (c *Column) fillText(cell *Cell, v reflect.Value) error {
	if !c.marshals {
		cell.Text = validText(v.String())
		return nil
	}
	text, err := pointerTo(v).(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return fmt.Errorf("field %s: %w", c.Name, err)
	}
	cell.Text = validText(string(text))
	return nil
}

// validText replaces what is not UTF-8, as JSON does.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Quote writes a name as SQL has it.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteAll writes names as SQL has them, with commas between.
func QuoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = Quote(name)
	}
	return strings.Join(quoted, ", ")
}
