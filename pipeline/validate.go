package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tegenaria/tegenaria"
)

// ValidateOptions say where a [Validate] stands, and what becomes of items that are not valid.
type ValidateOptions struct {
	// Priority is its place (0: ValidatePriority).
	Priority int
	// Drop drops items that are not valid. By default they fail: the ErrorHandlers are called, and Stats counts them in ItemFailed.
	Drop bool
}

// maxDepth is how deep the values of an item may be nested.
const maxDepth = 100

// Validate makes a pipeline that checks items of type T by the tags of its fields:
//
//	min, max   the least and the greatest: of numbers, durations ("90s") and times ("2026-05-03", or RFC 3339) their values, of
//	           texts the characters, of lists and maps the elements, of a []byte the bytes
//	len        the exact size of a text, a list or a map
//	match      a regular expression of Go that a text matches; ^ and $ for all of it
//	oneof      "new|used|like new": the texts, or whole numbers, that are allowed
//	url        "true": an absolute URL of http or https; "http", "https": of this scheme
//
// The bounds of a [selector.Money] are amounts, "0.01", or amounts of one currency, "0.01 EUR"; those of other
// currencies, and the zero value, are then in no range. min and max also compare values of a type that has
// UnmarshalText, and Compare or Cmp with another one. match, oneof and url of a list or a map are for each of its
// elements. Structs are checked to any depth, in lists, maps and pointers too, but not in values of an interface type.
//
// A value that is not there is not checked: a nil pointer, and the zero value of a field that JSON leaves out (omitempty, omitzero).
// The error of an item is an [*InvalidError] with all its faults. An item whose values are nested deeper than 100 levels is not valid.
//
// A mistake in a tag is a [*TagError] and an error of Run before the first request, together with all others: a value
// that is no bound, a wrong regular expression, a min greater than its max, a word that the type of the field does not
// go with, a tag that is malformed, and a key such as Min or mtach that is only a slip away from a word above. T is a
// struct, or a pointer to one.
func Validate[T any](o ValidateOptions) tegenaria.PipelinesInterface {
	priority := o.Priority
	if priority == 0 {
		priority = ValidatePriority
	}
	t := reflect.TypeFor[T]()
	p, err := planOf(t)
	if err != nil {
		return mistaken{priority, err}
	}
	return tegenaria.PipelineFunc(priority, func(_ context.Context, item T) (T, error) {
		invalid := InvalidError{Type: t.String()}
		p.check(reflect.ValueOf(&item).Elem(), "", 0, &invalid)
		switch {
		case len(invalid.Faults) == 0:
			return item, nil
		case o.Drop:
			return item, tegenaria.DropItem(&invalid)
		}
		return item, &invalid
	})
}

// CheckTags returns the mistakes in the tags of a type that [Validate] and [Clean] would report, for tests. It is nil if there are none.
func CheckTags[T any]() error {
	_, err := planOf(reflect.TypeFor[T]())
	_, cleanErr := cleanerOf(reflect.TypeFor[T]())
	return errors.Join(err, cleanErr)
}

// plan is how the values of a type are checked. A plan without rules and parts checks nothing.
type plan struct {
	kind   reflect.Kind
	fields []planField // of a struct
	elem   *plan       // of a pointer, a list or a map
	idle   bool        // nothing in it is checked
}

// planField is a field of a struct.
type planField struct {
	index    int
	name     string // in JSON; "" for an embedded struct
	optional bool   // JSON leaves its zero value out
	rules    []rule
	each     []rule // for its elements
	value    *plan
}

// planner makes the plans of a type and of all types in it.
type planner struct {
	item  string // the item's type
	plans map[reflect.Type]*plan
	errs  []error
}

// planOf returns the plan of a type, or all mistakes in its tags.
func planOf(t reflect.Type) (*plan, error) {
	inner := t
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if inner.Kind() != reflect.Struct {
		return nil, fmt.Errorf("pipeline: Validate[%s]: it is no struct, and has no tags; pipeline/schema checks items of other types", t)
	}
	m := planner{item: inner.String(), plans: make(map[reflect.Type]*plan)}
	p := m.of(t, "")
	if err := errors.Join(m.errs...); err != nil {
		return nil, err
	}
	m.settle()
	if p.idle {
		return nil, fmt.Errorf("pipeline: Validate[%s]: no field of it has one of the tags %v", t, ruleWords)
	}
	return p, nil
}

// of returns the plan of a type that stands in this field.
func (m *planner) of(t reflect.Type, path string) *plan {
	if p, ok := m.plans[t]; ok {
		return p
	}
	p := &plan{kind: t.Kind()}
	m.plans[t] = p
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		p.elem = m.of(t.Elem(), path)
	case reflect.Struct:
		if t == timeType {
			return p
		}
		for i := range t.NumField() {
			p.fields = append(p.fields, m.field(t.Field(i), i, path))
		}
	}
	return p
}

// settle finds the plans that check nothing.
func (m *planner) settle() {
	for _, p := range m.plans {
		p.idle = true
	}
	for changed := true; changed; {
		changed = false
		for _, p := range m.plans {
			busy := p.elem != nil && !p.elem.idle || slices.ContainsFunc(p.fields, func(f planField) bool {
				return len(f.rules)+len(f.each) > 0 || f.value != nil && !f.value.idle
			})
			if busy && p.idle {
				p.idle, changed = false, true
			}
		}
	}
	for _, p := range m.plans {
		p.fields = slices.DeleteFunc(p.fields, func(f planField) bool {
			return len(f.rules)+len(f.each) == 0 && (f.value == nil || f.value.idle)
		})
	}
}

// field returns the plan of a field; what is wrong with its tags is noted.
func (m *planner) field(f reflect.StructField, i int, path string) planField {
	goPath := f.Name
	if path != "" {
		goPath = path + "." + f.Name
	}
	note := func(tag string, err error) {
		m.errs = append(m.errs, &TagError{m.item, goPath, tag, err})
	}
	out := planField{index: i}
	out.name, out.optional = jsonName(f)
	inner := pointedToBy(f.Type)
	if f.Anonymous && inner.Kind() == reflect.Struct && f.Tag.Get("json") == "" {
		out.name = ""
	}
	pairs, err := pairsOf(f.Tag)
	if err != nil {
		note(string(f.Tag), err)
	}
	var b bounds
	seen := make(map[string]bool)
	for _, pair := range pairs {
		if word, ok := likeOneOf(pair.key, ruleWords); ok {
			note(pair.String(), wordsHint(word))
			continue
		}
		if !slices.Contains(ruleWords, pair.key) {
			continue
		}
		if !f.IsExported() {
			note(pair.String(), errors.New("the field is not exported, so nobody sees it"))
			continue
		}
		if seen[pair.key] {
			note(pair.String(), errors.New("the word stands there twice"))
			continue
		}
		seen[pair.key] = true
		made, each, err := ruleOf(pair, inner, &b)
		if err != nil {
			note(pair.String(), err)
			continue
		}
		if each {
			out.each = append(out.each, made)
		} else {
			out.rules = append(out.rules, made)
		}
	}
	if f.IsExported() || f.Anonymous && inner.Kind() == reflect.Struct {
		out.value = m.of(f.Type, goPath)
	}
	return out
}

// ruleOf makes the rule of a tag; each says that it is for the elements of the field.
func ruleOf(pair tagPair, t reflect.Type, b *bounds) (r rule, each bool, err error) {
	switch pair.key {
	case "min", "max", "len":
		r, err = boundRule(pair.key, pair.value, t, b)
		return r, false, err
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		each = true
		t = pointedToBy(t.Elem())
	}
	r, err = textRule(pair.key, pair.value, t)
	return r, each, err
}
