package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// check notes the faults of a value.
func (p *plan) check(v reflect.Value, path string, depth int, to *InvalidError) {
	if p.idle || len(to.Faults) >= mostFaults {
		return
	}
	if depth > maxDepth {
		to.add(path, "depth", "it is nested deeper than %d levels", maxDepth)
		return
	}
	switch p.kind {
	case reflect.Pointer:
		if !v.IsNil() {
			p.elem.check(v.Elem(), path, depth+1, to)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p.elem.check(v.Index(i), path+"["+strconv.Itoa(i)+"]", depth+1, to)
		}
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			p.elem.check(v.MapIndex(key), path+"["+nameOfKey(key)+"]", depth+1, to)
		}
	case reflect.Struct:
		for i := range p.fields {
			p.fields[i].check(v, path, depth, to)
		}
	}
}

// check notes the faults of a field of a struct.
func (f *planField) check(owner reflect.Value, path string, depth int, to *InvalidError) {
	v := owner.Field(f.index)
	switch {
	case f.name == "":
	case path == "":
		path = f.name
	default:
		path += "." + f.name
	}
	if f.optional && isEmpty(v) {
		return
	}
	if f.value != nil {
		f.value.check(v, path, depth+1, to)
	}
	if v = pointedTo(v); !v.IsValid() {
		return
	}
	for _, r := range f.rules {
		if text := r.check(v); text != "" {
			to.add(path, r.word, "%s", text)
		}
	}
	if len(f.each) == 0 {
		return
	}
	if v.Kind() == reflect.Map {
		for _, key := range sortedKeys(v) {
			f.checkElement(v.MapIndex(key), path+"["+nameOfKey(key)+"]", to)
		}
		return
	}
	for i := range v.Len() {
		f.checkElement(v.Index(i), path+"["+strconv.Itoa(i)+"]", to)
	}
}

func (f *planField) checkElement(v reflect.Value, path string, to *InvalidError) {
	if v = pointedTo(v); !v.IsValid() {
		return
	}
	for _, r := range f.each {
		if text := r.check(v); text != "" {
			to.add(path, r.word, "%s", text)
		}
	}
}

// pointedTo follows pointers; what a nil one leads to is not valid.
func pointedTo(v reflect.Value) reflect.Value {
	for range maxPointers {
		if v.Kind() != reflect.Pointer {
			break
		}
		v = v.Elem()
	}
	return v
}

// maxPointers is how many pointers may lead to a value.
const maxPointers = 8

// pointedToBy returns the type that a type of pointers leads to.
func pointedToBy(t reflect.Type) reflect.Type {
	for range maxPointers {
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	return t
}

// isEmpty reports whether JSON leaves a value out that may be left out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// sortedKeys returns the keys of a map in the order of their names, so that faults have an order.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		x, y := nameOfKey(a), nameOfKey(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return keys
}

// nameOfKey is a key of a map as paths have it.
func nameOfKey(key reflect.Value) string {
	if key.Kind() == reflect.String {
		s := key.String()
		return s[:min(len(s), mostValue)]
	}
	return fmt.Sprint(key.Interface())
}
