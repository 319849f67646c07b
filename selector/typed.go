package selector

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// FieldError says what is wrong with a field of a struct: a mistake in its tag, or a value that does not fit.
// [Selection.Unmarshal] joins those of all fields.
type FieldError struct {
	Type  string // of the struct that was to be filled, without its package
	Field string // "Offers[2].Price"; "" for the type as a whole
	Query string // where the value was looked for, as in the tag: `css "h1"`
	Value string // the text that does not fit, or its beginning; "" if there is none
	Err   error  // [ErrRequired], the error of a conversion, a [*SyntaxError] …
}

// Error names the field, the query and the value.
func (e *FieldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "selector: %s", e.Type)
	if e.Field != "" {
		fmt.Fprintf(&b, ".%s", e.Field)
	}
	if e.Query != "" {
		fmt.Fprintf(&b, " (%s)", e.Query)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, ": %q", e.Value)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns what is wrong.
func (e *FieldError) Unwrap() error { return e.Err }

// ErrRequired is the cause of a [*FieldError]: a field with required:"true" was found nowhere, or is empty.
var ErrRequired = errors.New("required, and the page does not have it")

// Check returns all mistakes in the tags of a struct type, joined, each as a [*FieldError]: words, queries, expressions
// and conversions that do not exist, types that no conversion makes, structs that contain themselves.
// [Selection.Unmarshal] returns the same error for such a type. Call it in a test.
func Check[T any]() error {
	_, err := planOf(reflect.TypeFor[T]())
	return err
}

// plan is a struct type at one place: at the top, or in a field. It does not change.
type plan struct {
	t      reflect.Type
	name   string // of the type at the top
	narrow *field // of the field _; nil: there is none
	fields []field
	keys   []string // at the top: the names of the fields, and of those of the structs in them, as in FieldWatcher
}

// field is a field that has words, or a struct with such fields.
type field struct {
	rule
	index  int
	name   string
	target target
	key    int // its number in the keys; -1: it has none
}

// shape is what a target is.
type shape uint8

const (
	scalar shape = iota + 1
	presence
	pointer
	list
	array
	dict
	nested
	custom
)

// target is how a value of a type is filled.
type target struct {
	shape shape
	t     reflect.Type
	set   setter  // of a scalar
	elem  *target // of pointers, lists, arrays and maps
	key   setter  // of maps
	plan  *plan   // of structs
}

// Bounds of types.
const (
	maxPlans  = 1024
	maxFields = 10_000
)

// plans are the types that were compiled, with their mistakes.
var plans struct {
	sync.RWMutex // guards known
	known        map[reflect.Type]compiledPlan
}

type compiledPlan struct {
	plan *plan
	err  error
}

// planOf returns the plan of a struct type, or all mistakes in it, joined.
func planOf(t reflect.Type) (*plan, error) {
	plans.RLock()
	c, ok := plans.known[t]
	plans.RUnlock()
	if ok {
		return c.plan, c.err
	}
	c.plan, c.err = compilePlan(t)
	plans.Lock()
	defer plans.Unlock()
	if plans.known == nil || len(plans.known) >= maxPlans {
		plans.known = make(map[reflect.Type]compiledPlan)
	}
	plans.known[t] = c
	return c.plan, c.err
}

// compiler compiles a type.
type compiler struct {
	name   string         // of the type at the top
	path   []string       // of the field that is compiled
	within []reflect.Type // the structs around it
	own    []Conversion
	keys   []string
	prefix string // of keys
	fields int
	wrong  []error
}

func compilePlan(t reflect.Type) (*plan, error) {
	c := &compiler{name: TypeName(t)}
	if t.Kind() != reflect.Struct {
		return nil, &FieldError{Type: c.name, Err: fmt.Errorf("%s is no struct; use Each for several items", t)}
	}
	c.prefix = c.name + "."
	p := c.plan(t, false)
	if p != nil && len(p.fields) == 0 && len(c.wrong) == 0 {
		c.mistake("", errors.New("no field has a tag that says where its value is, such as css:\"h1\""))
	}
	if len(c.wrong) > 0 {
		return nil, errors.Join(c.wrong...)
	}
	p.keys = c.keys
	return p, nil
}

// TypeName returns the name of a type as in the keys of field counts: without its package, "Page[Book]"; "struct" for a
// type without a name.
func TypeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	name := t.Name()
	if name == "" {
		return t.Kind().String()
	}
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(strings.NewReplacer("[", " [ ", "]", " ] ", ",", " , ").Replace(name), unicode.IsSpace) {
		if at := strings.LastIndexAny(word, "/."); at >= 0 {
			word = word[strings.LastIndexByte(word, '.')+1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// mistake notes a mistake in the field that is compiled.
func (c *compiler) mistake(place string, err error) {
	c.wrong = append(c.wrong, &FieldError{Type: c.name, Field: strings.Join(c.path, "."), Query: place, Err: err})
}

// plan compiles a struct. inJSON says that it is always filled from JSON, where queries have nothing to look in.
func (c *compiler) plan(t reflect.Type, inJSON bool) *plan {
	if slices.Contains(c.within, t) {
		c.mistake("", fmt.Errorf("the type %s contains itself; leave the tag out, and fill the field by hand", t))
		return nil
	}
	c.within = append(c.within, t)
	own := c.own
	if reflect.PointerTo(t).Implements(converterType) {
		c.own = append(slices.Clone(reflect.New(t).Interface().(Converter).Conversions()), own...)
	}
	defer func() { c.within, c.own = c.within[:len(c.within)-1], own }()
	p := &plan{t: t, name: c.name}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Name == "_" {
			c.narrow(p, &sf, inJSON)
			inJSON = inJSON || p.narrow != nil && p.narrow.path != ""
		}
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Name == "_" || !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct) {
			continue
		}
		if c.fields++; c.fields > maxFields {
			if c.fields == maxFields+1 {
				c.mistake("", fmt.Errorf("more than %d fields", maxFields))
			}
			return p
		}
		c.path = append(c.path, sf.Name)
		if f := c.field(i, &sf, inJSON); f != nil {
			p.fields = append(p.fields, *f)
		}
		c.path = c.path[:len(c.path)-1]
	}
	return p
}

// narrow compiles the field _.
func (c *compiler) narrow(p *plan, sf *reflect.StructField, inJSON bool) {
	c.path = append(c.path, sf.Name)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	r := c.rule(sf, inJSON)
	switch {
	case r == nil:
		return
	case p.narrow != nil:
		c.mistake(r.place, errors.New("a second field _"))
	case r.attr != "" || r.markup || r.reText != "" || r.conv != "" || r.fallback != nil || r.key != nil:
		c.mistake(r.place, errors.New("_ narrows a struct down to a node: it takes css, xpath, path and required alone"))
	default:
		p.narrow = &field{rule: *r, name: sf.Name, key: -1}
	}
}

// rule compiles the words of a field, nil if it has none or a mistake.
func (c *compiler) rule(sf *reflect.StructField, inJSON bool) *rule {
	words, mistakes := wordsOf(string(sf.Tag))
	if words == nil {
		for _, err := range mistakes {
			c.mistake("", err)
		}
		return nil
	}
	r, mistakes := compileRule(words)
	if inJSON && (r.query != nil || r.attr != "" || r.markup) {
		mistakes = append(mistakes, errors.New("the struct is filled from JSON, where only path finds something"))
	}
	for _, err := range mistakes {
		c.mistake(r.place, err)
	}
	if len(mistakes) > 0 {
		return nil
	}
	return r
}

// field compiles a field, nil if it is left alone.
func (c *compiler) field(index int, sf *reflect.StructField, inJSON bool) *field {
	before := len(c.wrong)
	r := c.rule(sf, inJSON)
	if len(c.wrong) > before {
		return nil
	}
	key, flat := jsonName(sf)
	f := &field{index: index, name: sf.Name, key: -1}
	prefix := c.prefix
	defer func() { c.prefix = prefix }()
	if r == nil {
		// A struct without words is filled from the same node, if any of its fields has some.
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct || isLeaf(inner) || slices.Contains(c.within, inner) || !hasWords(inner, nil) {
			return nil
		}
		if inner != sf.Type && !sf.IsExported() {
			return nil
		}
		if !flat {
			c.prefix += key + "."
		}
		p := c.plan(inner, inJSON)
		f.target = target{shape: nested, t: inner, plan: p}
		if inner != sf.Type {
			elem := f.target
			f.target = target{shape: pointer, t: sf.Type, elem: &elem}
		}
		return f
	}
	if !sf.IsExported() {
		return nil
	}
	f.rule = *r
	f.key = len(c.keys)
	c.keys = append(c.keys, c.prefix+key)
	c.prefix += key + "."
	t, err := c.target(sf.Type, &f.rule, inJSON || r.path != "")
	if err == nil && f.fallback != nil {
		err = f.checkFallback(t)
	}
	if err != nil {
		c.mistake(r.place, err)
	}
	f.target = t
	return f
}

// jsonName returns the name of a field in JSON. flat says that the fields of an embedded struct stand in the place of it.
func jsonName(sf *reflect.StructField) (name string, flat bool) {
	name, _, _ = strings.Cut(sf.Tag.Get("json"), ",")
	if name == "" || name == "-" {
		return sf.Name, name == "" && sf.Anonymous
	}
	return name, false
}

// isLeaf reports whether a struct is one value.
func isLeaf(t reflect.Type) bool {
	return t == timeType || t == urlType || t == moneyType ||
		reflect.PointerTo(t).Implements(textUnmarshalerType) || reflect.PointerTo(t).Implements(unmarshalerType)
}

// hasWords reports whether a field of a struct, or of a struct in it, has words.
func hasWords(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) || len(within) > 100 {
		return false
	}
	within = append(within, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		if words, mistakes := wordsOf(string(sf.Tag)); (words != nil || mistakes != nil) && (sf.IsExported() || sf.Name == "_") {
			return true
		}
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if (sf.IsExported() || sf.Anonymous) && inner.Kind() == reflect.Struct && !isLeaf(inner) && hasWords(inner, within) {
			return true
		}
	}
	return false
}

// target compiles a type that a rule fills.
func (c *compiler) target(t reflect.Type, r *rule, inJSON bool) (target, error) {
	if t.Kind() == reflect.Map {
		return c.dict(t, r, inJSON)
	}
	if r.key != nil {
		return target{}, fmt.Errorf("key and value are for maps, and %s is none", t)
	}
	if r.conv == "exists" {
		if t.Kind() != reflect.Bool || len(r.args) > 0 || r.required || r.fallback != nil {
			return target{}, errors.New("conv exists makes a bool, and takes nothing behind its name, no default and no required")
		}
		return target{shape: presence, t: t}, nil
	}
	if r.conv == "split" {
		if len(r.args) != 1 || r.args[0] == "" {
			return target{}, errors.New("conv split takes the text to split at: conv:\"split,;\"")
		}
		if k := t.Kind(); k != reflect.Slice && k != reflect.Array {
			return target{}, fmt.Errorf("conv split makes lists, and %s is none", t)
		}
		r.split = r.args[0]
	}
	return c.value(t, r, inJSON, true)
}

// value compiles a type that is not a map. lists says that it may be a list.
func (c *compiler) value(t reflect.Type, r *rule, inJSON, lists bool) (target, error) {
	isOwn := slices.ContainsFunc(c.own, func(own Conversion) bool { return own.name == r.conv && own.t == t })
	switch k := t.Kind(); {
	case k == reflect.Pointer && !isOwn:
		elem, err := c.value(t.Elem(), r, inJSON, lists)
		return target{shape: pointer, t: t, elem: &elem}, err
	case reflect.PointerTo(t).Implements(unmarshalerType) && r.conv == "":
		if r.attr != "" || r.markup || r.reText != "" || r.fallback != nil {
			return target{}, fmt.Errorf("%s reads what the query has found by itself: leave attr, html, re and default out", t)
		}
		return target{shape: custom, t: t}, nil
	case (k == reflect.Slice || k == reflect.Array) && lists && !isOwn && !reflect.PointerTo(t).Implements(textUnmarshalerType) &&
		(k == reflect.Array || t.Elem().Kind() != reflect.Uint8 || r.split != ""):
		elem, err := c.value(t.Elem(), r, inJSON, false)
		s := list
		if k == reflect.Array {
			s = array
		}
		return target{shape: s, t: t, elem: &elem}, err
	case k == reflect.Struct && !isOwn && !isLeaf(t):
		if r.attr != "" || r.markup || r.reText != "" || r.conv != "" || r.fallback != nil {
			return target{}, fmt.Errorf("%s is a struct of several fields: it takes css, xpath, path and required alone", t)
		}
		before := len(c.wrong)
		p := c.plan(t, inJSON)
		if p != nil && len(p.fields) == 0 && len(c.wrong) == before {
			return target{}, fmt.Errorf("no field of %s says where its value is", t)
		}
		return target{shape: nested, t: t, plan: p}, nil
	}
	r.urls = r.urls || t == urlType
	set, err := setterFor(t, r, c.own)
	if err == nil && set == nil {
		err = fmt.Errorf("no text becomes %s; give it an UnmarshalText or UnmarshalSelection, or use conv", t)
	}
	return target{shape: scalar, t: t, set: set}, err
}

// dict compiles a map.
func (c *compiler) dict(t reflect.Type, r *rule, inJSON bool) (target, error) {
	if r.key == nil && r.path == "" {
		return target{}, errors.New("a map needs key and value, or the path of a JSON object")
	}
	key, err := plainSetter(t.Key())
	if err != nil || key == nil {
		return target{}, fmt.Errorf("no text becomes %s, the key of the map", t.Key())
	}
	inner := t.Elem()
	for inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if k := inner.Kind(); k == reflect.Map || k == reflect.Array || k == reflect.Slice && inner.Elem().Kind() != reflect.Uint8 {
		if r.conv == "" && !reflect.PointerTo(inner).Implements(textUnmarshalerType) && !reflect.PointerTo(inner).Implements(unmarshalerType) {
			return target{}, fmt.Errorf("the values of a map are no lists and maps, as %s is; use a struct, or a type with "+
				"UnmarshalSelection", t.Elem())
		}
	}
	elem, err := c.value(t.Elem(), r, inJSON, false)
	return target{shape: dict, t: t, key: key, elem: &elem}, err
}

// checkFallback converts the default, so that a wrong one is found before there is a page.
func (f *field) checkFallback(t target) error {
	for t.shape == pointer || t.shape == list || t.shape == array {
		t = *t.elem
	}
	if t.shape != scalar || t.set == nil {
		return errors.New("default is for a text that becomes one value")
	}
	if f.conv == "url" || t.t == urlType || f.conv == "time" {
		return nil // these need a page
	}
	x := &extraction{}
	for _, text := range f.defaults() {
		if text == "" && t.t.Kind() == reflect.String {
			continue
		}
		if err := t.set(x, reflect.New(t.t).Elem(), text, false); err != nil {
			return fmt.Errorf("the default %q: %w", text, err)
		}
	}
	return nil
}

// defaults returns the texts of the default: its parts if texts are split, or else itself.
func (r *rule) defaults() (texts []string) {
	r.parts(*r.fallback, false, func(part string, _ bool) (more, failed bool) {
		texts = append(texts, part)
		return true, false
	})
	return texts
}

// clip returns the beginning of a text, for errors.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return strings.Clone(text)
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end]) + "…"
}
