package media

import (
	"fmt"
	"reflect"
	"strings"
)

// The kinds of files.
const (
	kindImage = "image"
	kindFile  = "file"
)

// field is a tagged field of a type of items.
type field struct {
	name     string
	kind     string
	from     []int // index of the field with URLs
	into     []int // index of the field for results
	required bool
}

var (
	resultType  = reflect.TypeFor[Result]()
	resultsType = reflect.TypeFor[[]Result]()
	stringType  = reflect.TypeFor[string]()
	stringsType = reflect.TypeFor[[]string]()
)

// fieldsOf returns the tagged fields of a struct. The error is a [*TagError].
func fieldsOf(t reflect.Type) ([]field, error) {
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("media")
		if !ok {
			continue
		}
		one, text := fieldOf(t, f, tag)
		if text != "" {
			return nil, &TagError{Type: t, Field: f.Name, Text: text}
		}
		fields = append(fields, one)
	}
	return fields, nil
}

// fieldOf reads one tag. text is what is wrong with it.
func fieldOf(t reflect.Type, f reflect.StructField, tag string) (one field, text string) {
	kind, rest, _ := strings.Cut(tag, ",")
	one = field{name: f.Name, kind: kind, from: f.Index}
	into := ""
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "required":
			one.required = true
		case "into":
			into = value
		case "":
		default:
			return one, fmt.Sprintf("the tag has %q", part)
		}
	}
	target, ok := t.FieldByName(into)
	switch {
	case kind != kindImage && kind != kindFile:
		return one, fmt.Sprintf("the tag begins with %q", kind)
	case into == "":
		return one, "the tag does not say which field gets the results"
	case !ok:
		return one, fmt.Sprintf("there is no field %s", into)
	case !f.IsExported() || !target.IsExported():
		return one, "the field and that of its results must be exported"
	case f.Type != stringType && f.Type != stringsType:
		return one, fmt.Sprintf("the field is a %s", f.Type)
	case target.Type != resultsType && (target.Type != resultType || f.Type == stringsType):
		return one, fmt.Sprintf("the results would go into %s, a %s: make it a media.Result, or for several URLs a "+
			"[]media.Result", into, target.Type)
	case throughPointer(t, f.Index) || throughPointer(t, target.Index):
		return one, "the field is one of an embedded pointer"
	}
	one.into = target.Index
	return one, ""
}

// throughPointer reports whether a field is reached by an embedded pointer, which may be nil.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// urls returns the URLs of a field, those that are not empty.
func (f *field) urls(item reflect.Value) []string {
	v := item.FieldByIndex(f.from)
	var found []string
	if v.Kind() == reflect.String {
		found = []string{v.String()}
	} else {
		found, _ = reflect.TypeAssert[[]string](v)
	}
	kept := make([]string, 0, len(found))
	for _, url := range found {
		if url = strings.TrimSpace(url); url != "" {
			kept = append(kept, url)
		}
	}
	return kept
}

// set puts the results where the tag says.
func (f *field) set(item reflect.Value, results []Result) {
	v := item.FieldByIndex(f.into)
	switch {
	case v.Type() == resultsType:
		v.Set(reflect.ValueOf(results))
	case len(results) > 0:
		v.Set(reflect.ValueOf(results[0]))
	default:
		v.SetZero()
	}
}
