package feed

import (
	"fmt"
	"reflect"

	"github.com/tegenaria/tegenaria/feed/internal/filename"
	"github.com/tegenaria/tegenaria/internal/columns"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// template is a path with fields in braces: "out/{spider}/{start}-{part}.jsonl".
type template struct{ filename.Template }

// NameError is the failure to name a file, because a value cannot be part of a path.
type NameError struct {
	Path  string // with its fields
	Field string // "item.category"
	Value string
}

// Error says what is wrong with the value.
func (e *NameError) Error() string {
	return fmt.Sprintf("feed: {%s} of %s is %q, which cannot be part of the name of a file", e.Field, e.Path, e.Value)
}

// valuesOf returns the values of an item's fields, fit for a path. The error is a [*NameError].
func (t *template) valuesOf(path string, item any) (values []string, err error) {
	for _, name := range t.ItemFields() {
		value, err := fieldText(item, name)
		if err != nil {
			return nil, err
		}
		clean, ok := filename.Clean(value)
		if !ok {
			return nil, &NameError{Path: path, Field: filename.ItemField + name, Value: value}
		}
		values = append(values, clean)
	}
	return values, nil
}

// fieldText returns a field of an item as text: by its name in JSON, or its name in Go.
func fieldText(item any, name string) (string, error) {
	v := reflect.ValueOf(item)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			if e := v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key())); e.IsValid() {
				return fmt.Sprint(e.Interface()), nil
			}
		}
	case reflect.Struct:
		list, err := columns.Of(v.Type())
		if err != nil {
			return "", err
		}
		for i := range list {
			if list[i].Name == name {
				if field, ok := list[i].Value(v); ok {
					return fmt.Sprint(field.Interface()), nil
				}
				return "", nil
			}
		}
		if field := v.FieldByName(name); field.IsValid() && field.CanInterface() {
			return fmt.Sprint(field.Interface()), nil
		}
	}
	return "", fmt.Errorf("feed: an item of type %T has no field %q, by which its file is named", item, name)
}

// mistakes returns what is wrong with a template for a feed that rotates, or does not.
func (t *template) mistakes(path string, rotates, isSent bool) error {
	switch {
	case isSent && t.IsPlain():
		return fmt.Errorf("feed: %s is sent when it is finished, and the next job would overwrite it: put {start} or {part} into its name", path)
	case rotates && !t.Has(outfile.Part):
		return fmt.Errorf("feed: the files of %s would all have one name: put {part} into it", path)
	case len(t.ItemFields()) > 0 && !t.Has(outfile.Part):
		return fmt.Errorf("feed: the path %s has {item.NAME}, and needs {part} too: where there are many values, a file is "+
			"finished before the next item of its value comes", path)
	}
	return nil
}
