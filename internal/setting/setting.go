package setting

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Leaf is a field with its value.
type Leaf struct {
	Key   string // the dotted JSON name
	Text  string // the value as Parse reads it; "true" or "false" for a struct that may be missing
	Type  string // see TypeName
	Fixed bool   // it cannot be set by text
}

// UnknownError is a name that no field has.
type UnknownError struct {
	Key  string
	Near string // the most similar name, "" if none is similar
}

// Error names the similar one.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no setting %q", e.Key)
	if e.Near != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return text
}

// Split takes a dotted name apart. A key of a map may have dots itself: it is what stands between the first two parts and the last one.
func Split(key string) []string {
	parts := strings.Split(key, ".")
	if len(parts) <= 4 {
		return parts
	}
	middle := strings.Join(parts[2:len(parts)-1], ".")
	return []string{parts[0], parts[1], middle, parts[len(parts)-1]}
}

// List returns the fields of the struct that v points to, in their order, without those of structs that are missing.
func List(v any) []Leaf {
	var leaves []Leaf
	walk(reflect.ValueOf(v).Elem(), "", func(key string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			leaves = append(leaves, Leaf{Key: key, Text: fmt.Sprint(!v.IsNil()), Type: TypeName(reflect.TypeFor[bool]())})
		default:
			leaves = append(leaves, Leaf{key, Text(v), TypeName(v.Type()), !Parsable(v.Type())})
		}
	})
	return leaves
}

// walk calls leaf for each field that is no struct. A pointer to a struct is a leaf itself, before those of the struct.
func walk(v reflect.Value, prefix string, leaf func(key string, v reflect.Value)) {
	for i := range v.NumField() {
		name, ok := nameOf(v.Type().Field(i))
		if !ok {
			continue
		}
		key, field := prefix+name, v.Field(i)
		switch {
		case isNested(field.Type()):
			walk(field, key+".", leaf)
		case field.Kind() == reflect.Pointer:
			leaf(key, field)
			if !field.IsNil() {
				walk(field.Elem(), key+".", leaf)
			}
		case field.Kind() == reflect.Map:
			keys := field.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
			for _, k := range keys {
				walk(field.MapIndex(k), key+"."+k.String()+".", leaf)
			}
		default:
			leaf(key, field)
		}
	}
}

// nameOf returns the JSON name of a field; ok is false if it has none.
func nameOf(f reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	return name, f.IsExported() && name != "" && name != "-"
}

func isNested(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != timeType && !isText(t)
}

// Names returns the names that Set knows, those of maps with a star in the place of the key.
func Names(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := nameOf(f)
		if !ok {
			continue
		}
		below := func(prefix string, t reflect.Type) {
			for _, inner := range Names(t) {
				names = append(names, prefix+"."+inner)
			}
		}
		switch {
		case isNested(f.Type):
			below(name, f.Type)
		case f.Type.Kind() == reflect.Pointer:
			names = append(names, name)
			below(name, f.Type.Elem())
		case f.Type.Kind() == reflect.Map:
			below(name+".*", f.Type.Elem())
		default:
			names = append(names, name)
		}
	}
	return names
}

// Set sets the field of the struct that v points to whose name has these parts. A struct that may be missing is made when one of its
// fields is set, and by the text "true"; "false" takes it away. An entry of a map is made. The error is an [*UnknownError] if there is
// no such field; it names the field in any case, and then nothing has changed.
func Set(v any, path []string, text string) error {
	key := strings.Join(path, ".")
	if len(path) == 0 {
		return &UnknownError{}
	}
	err := set(reflect.ValueOf(v).Elem(), path, text)
	switch {
	case errors.Is(err, errUnknown):
		return &UnknownError{key, near(key, path, Names(reflect.TypeOf(v).Elem()))}
	case errors.Is(err, errGroup):
		return fmt.Errorf("%s is a group of settings; name one of them, such as %s", key, firstBelow(key, path, Names(reflect.TypeOf(v).Elem())))
	case err != nil:
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

var (
	errUnknown = errors.New("unknown")
	errGroup   = errors.New("group")
)

func set(v reflect.Value, path []string, text string) error {
	for i := range v.NumField() {
		if name, ok := nameOf(v.Type().Field(i)); ok && name == path[0] {
			return setField(v.Field(i), path[1:], text)
		}
	}
	return errUnknown
}

func setField(field reflect.Value, path []string, text string) error {
	switch {
	case isNested(field.Type()):
		if len(path) == 0 {
			return errGroup
		}
		return set(field, path, text)
	case field.Kind() == reflect.Pointer:
		return setPointer(field, path, text)
	case field.Kind() == reflect.Map:
		if len(path) < 2 {
			return errGroup
		}
		entry := reflect.New(field.Type().Elem()).Elem()
		if old := field.MapIndex(reflect.ValueOf(path[0])); old.IsValid() {
			entry.Set(old)
		}
		if err := set(entry, path[1:], text); err != nil {
			return err
		}
		changed := reflect.MakeMap(field.Type())
		for it := field.MapRange(); it.Next(); {
			changed.SetMapIndex(it.Key(), it.Value())
		}
		changed.SetMapIndex(reflect.ValueOf(path[0]), entry)
		field.Set(changed)
		return nil
	case len(path) > 0:
		return errUnknown
	case field.Kind() == reflect.Func:
		return errors.New("it is a func, and is set in code")
	}
	return Parse(field, text)
}

func setPointer(field reflect.Value, path []string, text string) error {
	made := reflect.New(field.Type().Elem())
	if !field.IsNil() {
		made.Elem().Set(field.Elem())
	}
	if len(path) > 0 {
		if err := set(made.Elem(), path, text); err != nil {
			return err
		}
		field.Set(made)
		return nil
	}
	on := reflect.New(reflect.TypeFor[bool]()).Elem()
	if err := Parse(on, text); err != nil {
		return err
	}
	if !on.Bool() {
		made = reflect.Zero(field.Type())
	}
	field.Set(made)
	return nil
}

// near finds the most similar name. The key of a map is kept as it was given.
func near(key string, path, names []string) string {
	if len(path) > 2 {
		starred := slices.Clone(path)
		starred[2] = "*"
		if found := Nearest(strings.Join(starred, "."), names); strings.Contains(found, "*") {
			return strings.Replace(found, "*", path[2], 1)
		}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "*") })
	if found := Nearest(key, names); found != "" {
		return found
	}
	for _, name := range names { // a plain "delay" is meant for "politeness.delay"
		if _, last, ok := strings.Cut(name, "."); ok && last == key {
			return name
		}
	}
	return ""
}

func firstBelow(key string, path, names []string) string {
	for _, name := range names {
		if strings.HasPrefix(name, key+".") {
			return strings.Replace(name, "*", "www.example.com", 1)
		}
	}
	for _, name := range names {
		if prefix := path[0] + "." + path[min(1, len(path)-1)] + ".*."; len(path) > 2 && strings.HasPrefix(name, prefix) {
			return strings.Replace(name, "*", path[2], 1)
		}
	}
	return key
}

// JSON writes the struct that v points to as JSON: durations, times and other values that read themselves as texts, funcs by their names.
func JSON(v any) ([]byte, error) { return json.Marshal(tree(reflect.ValueOf(v).Elem())) }

func tree(v reflect.Value) any {
	switch {
	case isNested(v.Type()):
		fields := make(map[string]any)
		for i := range v.NumField() {
			if name, ok := nameOf(v.Type().Field(i)); ok {
				fields[name] = tree(v.Field(i))
			}
		}
		return fields
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return tree(v.Elem())
	case v.Kind() == reflect.Map:
		entries := make(map[string]any)
		for it := v.MapRange(); it.Next(); {
			entries[it.Key().String()] = tree(it.Value())
		}
		return entries
	case v.Type() == durationType, isText(v.Type()), v.Kind() == reflect.Func:
		return Text(v)
	case v.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = tree(v.Index(i))
		}
		return list
	}
	return v.Interface()
}
