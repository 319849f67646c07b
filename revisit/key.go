package revisit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// KeyError is the failure of an item that has no key.
type KeyError struct {
	Field string // of the item; "" if Options.Key is to give the key
	Type  string // of the item
}

// Error names field and remedy.
func (e *KeyError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("revisit: Options.Key gives an item of type %s the key \"\": each item needs one, which stays the same from run to run", e.Type)
	}
	return fmt.Sprintf("revisit: an item of type %s has nothing in the field %q, which is its key: fill it, or choose another field", e.Type, e.Field)
}

// keyOf returns the key of an item whose JSON is text; "" if it has the one of its page.
func (o *Options) keyOf(item any, text []byte) (key string, err error) {
	field := o.KeyField
	switch {
	case o.Key != nil:
		if key = o.Key(item); key == "" {
			err = &KeyError{Type: fmt.Sprintf("%T", item)}
		}
		return key, err
	case field == "":
		if field = taggedField(reflect.TypeOf(item)); field == "" {
			return "", nil
		}
	}
	fields, _ := fieldsOf(text)
	value := fields[field]
	if err := json.Unmarshal(value, &key); err != nil { // it is no string
		key = string(value)
	}
	if key == "" || key == "null" {
		return "", &KeyError{Field: field, Type: fmt.Sprintf("%T", item)}
	}
	return key, nil
}

// tagged are the names in JSON of the fields with the tag key:"true", by type; "" if there is none.
var tagged sync.Map

// taggedField returns the name of the field of a struct that has the tag key:"true"; "" if none has.
func taggedField(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	if name, known := tagged.Load(t); known {
		return name.(string)
	}
	name := ""
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && f.Tag.Get("key") == "true" {
			if name, _, _ = strings.Cut(f.Tag.Get("json"), ","); name == "" {
				name = f.Name
			}
			break
		}
	}
	tagged.Store(t, name)
	return name
}
