package pipeline

import (
	"fmt"
	"reflect"
)

// place is where a pipeline writes a value of type M into items: a field of this type, or of a pointer to it, or a key of a map.
type place[M any] struct {
	t       reflect.Type // of items
	index   []int
	pointer bool
	key     string // of items that are maps
}

// placeOf finds the place in items of a type. key is that of items that are maps of text to any; who is the pipeline, for the message.
func placeOf[M any](t reflect.Type, key, who string) (p place[M], err error) {
	p = place[M]{t: t}
	if t == reflect.TypeFor[map[string]any]() {
		p.key = key
		return p, nil
	}
	inner, want := t, reflect.TypeFor[M]()
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if inner.Kind() != reflect.Struct {
		return p, fmt.Errorf("pipeline: %s[%s]: items must be structs with a field of type *%s, or of type map[string]any", who, t, want)
	}
	var found []string
	for _, f := range reflect.VisibleFields(inner) {
		if !f.IsExported() || f.Type != want && f.Type != reflect.PointerTo(want) || throughPointer(inner, f.Index) {
			continue
		}
		found = append(found, f.Name)
		p.index, p.pointer = f.Index, f.Type != want
	}
	switch len(found) {
	case 0:
		return p, fmt.Errorf("pipeline: %s[%s]: it has no exported field of type *%s to write to; add one", who, t, want)
	case 1:
		return p, nil
	}
	return p, fmt.Errorf("pipeline: %s[%s]: the fields %v are all of type %s; one is enough", who, t, found, want)
}

// throughPointer reports whether a field belongs to a struct that is embedded by a pointer.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Pointer {
			return true
		}
		t = f.Type
	}
	return false
}

// put returns a copy of an item with this value. ok is false if the item is of another type.
func (p *place[M]) put(item any, value M) (out any, ok bool) {
	if m, isMap := item.(map[string]any); isMap && p.key != "" {
		copied := make(map[string]any, len(m)+1)
		for k, v := range m {
			copied[k] = v
		}
		copied[p.key] = value
		return copied, true
	}
	v := reflect.ValueOf(item)
	isPointer := v.Kind() == reflect.Pointer
	if isPointer {
		if v.IsNil() {
			return item, false
		}
		v = v.Elem()
	}
	if p.index == nil || v.Type() != p.t && reflect.PointerTo(v.Type()) != p.t {
		return item, false
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	field := copied.Elem().FieldByIndex(p.index)
	if p.pointer {
		field.Set(reflect.ValueOf(&value))
	} else {
		field.Set(reflect.ValueOf(value))
	}
	if isPointer {
		return copied.Interface(), true
	}
	return copied.Elem().Interface(), true
}

// itemOf returns the item as a T: it is one, or T is no pointer and it is a pointer to one.
func itemOf[T any](item any) (t T, ok bool) {
	if t, ok = item.(T); ok {
		return t, true
	}
	if p, isPointer := item.(*T); isPointer && p != nil {
		return *p, true
	}
	return t, false
}
