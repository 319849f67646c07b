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
		return fmt.Sprintf("revisit: Options.Key gives an item of type %s the key \"\": each item needs one, which stays "+
			"the same from run to run", e.Type)
	}
	return fmt.Sprintf("revisit: an item of type %s has nothing in the field %q, which is its key: fill it, or choose "+
		"another field", e.Type, e.Field)
}

// KeysError is the failure to begin a run whose items have other keys than those of the history: each would be new, and each of the
// history removed.
type KeysError struct {
	Folder string
	Stored string // what gives the keys of the history, in words
	Now    string // what gives those of this run
}

// Error names the folder and the remedy.
func (e *KeysError) Error() string {
	return fmt.Sprintf("revisit: in the history %s the key of an item comes from %s, and in this run from %s: choose the key as before, "+
		"or begin a history in another folder", e.Folder, e.Stored, e.Now)
}

// keys says in words what gives the keys of items.
func (o *Options) keys() string {
	switch {
	case o.Key != nil:
		return "the func Options.Key"
	case o.KeyField != "":
		return fmt.Sprintf("the field %q", o.KeyField)
	}
	return "its struct or its page"
}

// checkKeys returns an error if the options of this run give other keys than those of the runs before.
func (h *History) checkKeys() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.options.keys(); h.meta.Keys != "" && h.meta.Keys != now {
		return &KeysError{h.folder, h.meta.Keys, now}
	}
	return nil
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
