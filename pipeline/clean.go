package pipeline

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// CleanOptions say where a [Clean] stands, and what it leaves as it is.
type CleanOptions struct {
	// Priority is its place (0: CleanPriority).
	Priority int
	// KeepSpace leaves white space as it is, inside of texts and at their ends.
	KeepSpace bool
	// KeepControl leaves control characters and byte order marks.
	KeepControl bool
	// KeepForm leaves the form of Unicode; by default it becomes NFC.
	KeepForm bool
	// KeepLines leaves line breaks, see CleanLines. A field does so by its tag clean:"lines".
	KeepLines bool
}

// cleanWords are the words of the tag clean.
var cleanWords = []string{"lines", "off"}

// Clean makes a pipeline that cleans all texts of items of type T: those of fields, lists, maps, pointers and values of
// interface types, to a depth of 100 levels; deeper ones stay as they are. Keys of maps stay. See [CleanText] for what
// is done to a text.
//
// A field whose tag is clean:"lines" keeps its line breaks, as [CleanLines] says, and one whose tag is clean:"off"
// stays as it is. Types that read or write themselves, such as time.Time and url.URL, stay too, and so does a []byte.
// What is changed is changed in a copy.
//
// Another word in such a tag is a [*TagError] and an error of Run before the first request, and so is a type without any text.
func Clean[T any](o CleanOptions) tegenaria.PipelinesInterface {
	priority := o.Priority
	if priority == 0 {
		priority = CleanPriority
	}
	t := reflect.TypeFor[T]()
	c, err := cleanerOf(t)
	if err == nil && c == nil {
		err = fmt.Errorf("pipeline: Clean[%s]: it has no text", t)
	}
	if err != nil {
		return mistaken{priority, err}
	}
	return tegenaria.PipelineFunc(priority, func(_ context.Context, item T) (T, error) {
		v := reflect.ValueOf(&item).Elem()
		if cleaned, changed := c.clean(v, o.mode(), 0); changed {
			v.Set(cleaned)
		}
		return item, nil
	})
}

func (o CleanOptions) mode() mode {
	return mode{control: !o.KeepControl, nfc: !o.KeepForm, collapse: !o.KeepSpace, trim: !o.KeepSpace, lines: o.KeepLines}
}

// cleaner is how values of a type are cleaned.
type cleaner struct {
	t      reflect.Type
	elem   *cleaner
	fields []cleanField
	busy   bool // there may be a text in it
}

type cleanField struct {
	index int
	lines bool
	value *cleaner
}

// cleanTypes makes cleaners, and remembers those of the types that it has seen.
type cleanTypes struct {
	item string
	made map[reflect.Type]*cleaner
	errs []error
}

// cleanerOf returns the cleaner of a type, nil if there is no text in it, or the mistakes in its tags.
func cleanerOf(t reflect.Type) (*cleaner, error) {
	types := &cleanTypes{item: pointedToBy(t).String(), made: make(map[reflect.Type]*cleaner)}
	c := types.of(t, "")
	types.settle()
	if err := errors.Join(types.errs...); err != nil || !c.busy {
		return nil, err
	}
	return c, nil
}

var ownTypes = []reflect.Type{
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
}

// isOwn reports whether a type knows itself what its text is.
func isOwn(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	return t == reflect.TypeFor[url.URL]() || slices.ContainsFunc(ownTypes, func(i reflect.Type) bool {
		return t.Implements(i) || reflect.PointerTo(t).Implements(i)
	})
}

func (m *cleanTypes) of(t reflect.Type, path string) *cleaner {
	if c, ok := m.made[t]; ok {
		return c
	}
	c := &cleaner{t: t}
	m.made[t] = c
	if isOwn(t) {
		return c
	}
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		c.busy = true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		c.elem = m.of(t.Elem(), path)
	case reflect.Struct:
		for i := range t.NumField() {
			m.field(c, t.Field(i), i, path)
		}
	}
	return c
}

func (m *cleanTypes) field(c *cleaner, f reflect.StructField, i int, path string) {
	goPath := strings.TrimPrefix(path+"."+f.Name, ".")
	word, has := f.Tag.Lookup("clean")
	pairs, err := pairsOf(f.Tag)
	if err != nil {
		m.errs = append(m.errs, &TagError{m.item, goPath, string(f.Tag), err})
	}
	for _, pair := range pairs {
		if like, ok := likeOneOf(pair.key, []string{"clean"}); ok {
			m.errs = append(m.errs, &TagError{m.item, goPath, pair.String(), wordsHint(like)})
		}
	}
	switch {
	case has && !slices.Contains(cleanWords, word):
		m.errs = append(m.errs, &TagError{m.item, goPath, tagPair{"clean", word}.String(), fmt.Errorf("%q is none of %s", word, strings.Join(cleanWords, ", "))})
	case has && !f.IsExported():
		m.errs = append(m.errs, &TagError{m.item, goPath, tagPair{"clean", word}.String(), errors.New("the field is not " +
			"exported, so nobody sees it")})
	case f.IsExported() && word != "off":
		c.fields = append(c.fields, cleanField{i, word == "lines", m.of(f.Type, goPath)})
	case f.Anonymous && f.Type.Kind() == reflect.Struct: // its exported fields are those of the item
		c.fields = append(c.fields, cleanField{i, word == "lines", m.of(f.Type, goPath)})
	}
}

// settle finds the types that have texts in them.
func (m *cleanTypes) settle() {
	for changed := true; changed; {
		changed = false
		for _, c := range m.made {
			busy := c.elem != nil && c.elem.busy || slices.ContainsFunc(c.fields, func(f cleanField) bool { return f.value.busy })
			if busy && !c.busy {
				c.busy, changed = true, true
			}
		}
	}
	for _, c := range m.made {
		c.fields = slices.DeleteFunc(c.fields, func(f cleanField) bool { return !f.value.busy })
	}
}

// clean returns a value with clean texts, and whether it is another one. The value itself stays as it is.
func (c *cleaner) clean(v reflect.Value, m mode, depth int) (reflect.Value, bool) {
	if !c.busy || depth > maxDepth {
		return v, false
	}
	switch c.t.Kind() {
	case reflect.String:
		s := v.String()
		cleaned := m.clean(s)
		if cleaned == s {
			return v, false
		}
		out := reflect.New(c.t).Elem()
		out.SetString(cleaned)
		return out, true
	case reflect.Interface:
		return c.cleanAny(v, m, depth)
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		cleaned, changed := c.elem.clean(v.Elem(), m, depth+1)
		if !changed {
			return v, false
		}
		out := reflect.New(c.t.Elem())
		out.Elem().Set(cleaned)
		return out.Convert(c.t), true
	case reflect.Slice, reflect.Array:
		return c.cleanList(v, m, depth)
	case reflect.Map:
		return c.cleanMap(v, m, depth)
	}
	return c.cleanStruct(v, m, depth)
}

func (c *cleaner) cleanList(v reflect.Value, m mode, depth int) (reflect.Value, bool) {
	out, changed := v, false
	for i := range v.Len() {
		cleaned, other := c.elem.clean(v.Index(i), m, depth+1)
		if !other {
			continue
		}
		if !changed {
			changed = true
			if v.Kind() == reflect.Slice {
				out = reflect.MakeSlice(c.t, v.Len(), v.Len())
				reflect.Copy(out, v)
			} else {
				out = reflect.New(c.t).Elem()
				out.Set(v)
			}
		}
		out.Index(i).Set(cleaned)
	}
	return out, changed
}

func (c *cleaner) cleanMap(v reflect.Value, m mode, depth int) (reflect.Value, bool) {
	out, changed := v, false
	for each := v.MapRange(); each.Next(); {
		cleaned, other := c.elem.clean(each.Value(), m, depth+1)
		if !other {
			continue
		}
		if !changed {
			changed = true
			out = reflect.MakeMapWithSize(c.t, v.Len())
			for all := v.MapRange(); all.Next(); {
				out.SetMapIndex(all.Key(), all.Value())
			}
		}
		out.SetMapIndex(each.Key(), cleaned)
	}
	return out, changed
}

func (c *cleaner) cleanStruct(v reflect.Value, m mode, depth int) (reflect.Value, bool) {
	out, changed := v, false
	for _, f := range c.fields {
		mode := m
		mode.lines = mode.lines || f.lines
		if embedded := c.t.Field(f.index); !embedded.IsExported() { // cannot be set as a whole, its fields can
			copied := v
			if !changed {
				copied = reflect.New(c.t).Elem()
				copied.Set(v)
			} else {
				copied = out
			}
			if f.value.cleanInPlace(copied.Field(f.index), mode, depth+1) {
				out, changed = copied, true
			}
			continue
		}
		cleaned, other := f.value.clean(v.Field(f.index), mode, depth+1)
		if !other {
			continue
		}
		if !changed {
			changed = true
			out = reflect.New(c.t).Elem()
			out.Set(v)
		}
		out.Field(f.index).Set(cleaned)
	}
	return out, changed
}

// cleanInPlace cleans the fields of a struct that is part of a copy, and reports whether any was changed.
func (c *cleaner) cleanInPlace(v reflect.Value, m mode, depth int) (changed bool) {
	for _, f := range c.fields {
		mode := m
		mode.lines = mode.lines || f.lines
		if !c.t.Field(f.index).IsExported() {
			changed = f.value.cleanInPlace(v.Field(f.index), mode, depth+1) || changed
			continue
		}
		if cleaned, other := f.value.clean(v.Field(f.index), mode, depth+1); other {
			v.Field(f.index).Set(cleaned)
			changed = true
		}
	}
	return changed
}

// cleanAny cleans what an interface holds: texts, and lists and maps such as encoding/json makes. Values of other types stay.
func (c *cleaner) cleanAny(v reflect.Value, m mode, depth int) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	switch held := v.Interface().(type) {
	case string:
		if cleaned := m.clean(held); cleaned != held {
			return reflect.ValueOf(cleaned), true
		}
	case []any:
		return listOfAny.clean(v.Elem(), m, depth+1)
	case map[string]any:
		return mapOfAny.clean(v.Elem(), m, depth+1)
	case []string:
		return listOfTexts.clean(v.Elem(), m, depth+1)
	case map[string]string:
		return mapOfTexts.clean(v.Elem(), m, depth+1)
	}
	return v, false
}

// The types that are cleaned where an interface holds them.
var (
	text        = &cleaner{t: reflect.TypeFor[string](), busy: true}
	anything    = &cleaner{t: reflect.TypeFor[any](), busy: true}
	listOfAny   = &cleaner{t: reflect.TypeFor[[]any](), elem: anything, busy: true}
	mapOfAny    = &cleaner{t: reflect.TypeFor[map[string]any](), elem: anything, busy: true}
	listOfTexts = &cleaner{t: reflect.TypeFor[[]string](), elem: text, busy: true}
	mapOfTexts  = &cleaner{t: reflect.TypeFor[map[string]string](), elem: text, busy: true}
)
