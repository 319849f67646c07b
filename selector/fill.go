package selector

import (
	"errors"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"
)

// fill fills a struct from a place. It returns whether a field was found.
func (x *extraction) fill(p *plan, at place, dst reflect.Value) (found bool) {
	if p.narrow != nil {
		base := len(x.places)
		x.trail = append(x.trail, step{p.narrow, -1})
		from, to := x.find(&p.narrow.rule, at, true)
		at = place{}
		if from < to {
			at = x.places[from]
		} else if p.narrow.required {
			x.fail(p.narrow, "", ErrRequired)
		}
		x.places, x.trail = x.places[:base], x.trail[:len(x.trail)-1]
	}
	for i := range p.fields {
		f := &p.fields[i]
		x.trail = append(x.trail, step{f, -1})
		if x.field(f, at, dst.Field(f.index)) {
			found = true
		}
		x.trail = x.trail[:len(x.trail)-1]
	}
	return found
}

// field fills a field. It returns whether it was found.
func (x *extraction) field(f *field, at place, dst reflect.Value) bool {
	if f.key < 0 { // a struct in the same node
		return x.same(f, at, dst)
	}
	count := &x.counts[f.key]
	count.LookedFor++
	if f.query != nil && at.kind > isNode {
		count.Failed++
		dst.SetZero()
		x.fail(f, "", errNotPage)
		return false
	}
	base := len(x.places)
	found, err := x.target(f, &f.target, at, dst)
	x.places = x.places[:base]
	switch {
	case err:
		count.Failed++
		return true
	case found:
		return true
	}
	if f.target.shape != nested { // its fields are zero
		dst.SetZero()
	}
	if f.fallback != nil {
		count.Defaulted++
		x.fallback(f, dst)
		return false
	}
	if f.target.shape == presence {
		return false
	}
	count.Missing++
	if f.required {
		x.fail(f, "", ErrRequired)
	}
	return false
}

var errNotPage = errors.New("its struct is filled from JSON, where only path finds something")

// same fills a struct without words from the node of the struct around it. A pointer to one stays nil if none of its fields is there.
func (x *extraction) same(f *field, at place, dst reflect.Value) bool {
	if f.target.shape == nested {
		return x.fill(f.target.plan, at, dst)
	}
	p := reflect.New(f.target.elem.t)
	found := x.fill(f.target.elem.plan, at, p.Elem())
	if dst.SetZero(); found {
		dst.Set(p)
	}
	return found
}

// fallback gives a field its default, whose parts are the elements of a list. A field whose default cannot be converted stays zero.
func (x *extraction) fallback(f *field, dst reflect.Value) {
	texts := f.defaults()
	to, t := alloc(&f.target, dst), pointee(&f.target)
	value := func(int) reflect.Value { return to }
	switch t.shape {
	case list:
		to.Set(reflect.MakeSlice(t.t, len(texts), len(texts)))
		value = to.Index
	case array:
		texts = texts[:min(len(texts), to.Len())]
		value = to.Index
	}
	if t.elem != nil {
		t = t.elem
	}
	for i, text := range texts {
		if err := pointee(t).set(x, alloc(t, value(i)), text, false); err != nil {
			x.fail(f, text, err)
			dst.SetZero()
			return
		}
	}
}

// target fills a value of any shape. failed says that a text could not be converted, which is noted.
func (x *extraction) target(f *field, t *target, at place, dst reflect.Value) (found, failed bool) {
	switch t.shape {
	case scalar:
		return x.scalar(f, t, at, dst)
	case pointer:
		p := reflect.New(t.elem.t)
		found, failed = x.target(f, t.elem, at, p.Elem())
		if found {
			dst.Set(p)
		}
		return found, failed
	case presence:
		from, to := x.find(&f.rule, at, true)
		dst.SetBool(from < to)
		return from < to, false
	case nested:
		from, to := x.find(&f.rule, at, true)
		if from == to {
			x.clear(t.plan, dst)
			return false, false
		}
		x.fill(t.plan, x.places[from], dst)
		return true, false
	case list, array:
		return x.list(f, t, at, dst)
	case dict:
		return x.dict(f, t, at, dst)
	}
	from, to := x.find(&f.rule, at, false)
	if from == to {
		return false, false
	}
	return true, x.custom(f, from, to, dst)
}

// clear sets the fields of a struct to zero that have words.
func (x *extraction) clear(p *plan, dst reflect.Value) {
	for i := range p.fields {
		f := &p.fields[i]
		if f.target.shape == nested {
			x.clear(f.target.plan, dst.Field(f.index))
			continue
		}
		dst.Field(f.index).SetZero()
	}
}

// scalar fills a value with the first text that is one.
func (x *extraction) scalar(f *field, t *target, at place, dst reflect.Value) (found, failed bool) {
	from, to := x.find(&f.rule, at, true)
	if from == to {
		return false, false
	}
	text, plain, ok := x.text(&f.rule, x.places[from])
	if !ok && f.path == "" && f.query != nil { // it has nothing to say: do others?
		x.places = x.places[:from]
		from, to = x.find(&f.rule, at, false)
		for from++; from < to && !ok; from++ {
			text, plain, ok = x.text(&f.rule, x.places[from])
		}
	} else if !ok {
		for from++; from < to && !ok; from++ {
			text, plain, ok = x.text(&f.rule, x.places[from])
		}
	}
	if !ok {
		return false, false
	}
	return true, x.set(f, t, dst, text, plain)
}

// set converts a text, and notes its error.
func (x *extraction) set(f *field, t *target, dst reflect.Value, text string, plain bool) (failed bool) {
	x.keep(len(text))
	if err := t.set(x, dst, text, plain); err != nil {
		x.fail(f, text, err)
		return true
	}
	return false
}

// list fills a slice or an array.
func (x *extraction) list(f *field, t *target, at place, dst reflect.Value) (found, failed bool) {
	from, to := x.find(&f.rule, at, false)
	if from == to {
		return false, false
	}
	n, last := 0, len(x.trail)-1
	next := func() (reflect.Value, bool) {
		x.trail[last].index = n
		if t.shape == array {
			if n >= dst.Len() {
				return reflect.Value{}, false
			}
			n++
			e := dst.Index(n - 1)
			e.SetZero()
			return e, true
		}
		if n == 0 {
			dst.SetZero()
			dst.Grow(to - from)
		}
		if n == dst.Len() {
			x.keep(int(t.t.Elem().Size()))
			if n == dst.Cap() {
				dst.Grow(1)
			}
			dst.SetLen(n + 1)
			dst.Index(n).SetZero()
		}
		n++
		return dst.Index(n - 1), true
	}
	elem := t.elem
	for i := from; i < to && !failed; i++ {
		if inner := pointee(elem); inner.shape != scalar {
			e, ok := next()
			if !ok {
				break
			}
			failed = x.inner(f, elem, i, e)
			continue
		}
		failed = x.texts(&f.rule, x.places[i], func(text string, plain bool) (bool, bool) {
			e, ok := next()
			if !ok {
				return false, false
			}
			return true, x.set(f, pointee(elem), alloc(elem, e), text, plain)
		})
	}
	x.trail[last].index = -1
	if t.shape == array {
		for i := n; i < dst.Len(); i++ {
			dst.Index(i).SetZero()
		}
	}
	return n > 0, failed
}

// pointee returns what a target points to, itself if it is no pointer.
func pointee(t *target) *target {
	for t.shape == pointer {
		t = t.elem
	}
	return t
}

// alloc returns the value that a pointer value points to after it was made to point to a new one.
func alloc(t *target, dst reflect.Value) reflect.Value {
	for ; t.shape == pointer; t = t.elem {
		dst.Set(reflect.New(t.elem.t))
		dst = dst.Elem()
	}
	return dst
}

// inner fills an element that is a struct, or reads itself, from the place with that number.
func (x *extraction) inner(f *field, t *target, i int, dst reflect.Value) (failed bool) {
	dst = alloc(t, dst)
	if t = pointee(t); t.shape == custom {
		return x.custom(f, i, i+1, dst)
	}
	x.fill(t.plan, x.places[i], dst)
	return false
}

// custom has a value read itself from some places.
func (x *extraction) custom(f *field, from, to int, dst reflect.Value) (failed bool) {
	s := &Selection{doc: x.doc}
	for _, p := range x.places[from:to] {
		if p.kind == isNode {
			s.refs = append(s.refs, p.ref)
		} else {
			s.values = append(s.values, strings.Clone(p.text))
		}
	}
	if err := dst.Addr().Interface().(Unmarshaler).UnmarshalSelection(s); err != nil {
		x.fail(f, "", err)
		return true
	}
	return false
}

// dict fills a map: with pairs of key and value, or with the members of a JSON object.
func (x *extraction) dict(f *field, t *target, at place, dst reflect.Value) (found, failed bool) {
	if dst.SetZero(); f.rule.key != nil {
		return x.pairs(f, t, at, dst)
	}
	from, to := x.find(&f.rule, at, true)
	if from == to || !gjsonObject(x.places[from].text) {
		return false, false
	}
	gjson.Parse(x.places[from].text).ForEach(func(key, v gjson.Result) bool {
		base := len(x.places)
		defer func() { x.places = x.places[:base] }()
		if v.Type == gjson.Null {
			return true
		}
		x.places = append(x.places, jsonPlace(v))
		k, e := reflect.New(t.t.Key()).Elem(), reflect.New(t.elem.t).Elem()
		if failed = x.entry(f, t, key.Str, base, k, e); failed {
			return false
		}
		x.put(t, dst, k, e)
		found = true
		return true
	})
	return found, failed
}

// entry fills a key, and a value from the place with that number.
func (x *extraction) entry(f *field, t *target, key string, i int, k, e reflect.Value) (failed bool) {
	if err := t.key(x, k, key, false); err != nil {
		x.fail(f, key, err)
		return true
	}
	x.keep(len(key))
	if inner := pointee(t.elem); inner.shape == scalar {
		x.texts(&f.rule, x.places[i], func(text string, plain bool) (bool, bool) {
			failed = x.set(f, inner, alloc(t.elem, e), text, plain)
			return false, failed
		})
		return failed
	}
	return x.inner(f, t.elem, i, e)
}

// put puts an entry into a map, which is made for the first one.
func (x *extraction) put(t *target, dst, k, e reflect.Value) {
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(t.t))
	}
	x.keep(int(k.Type().Size()+e.Type().Size()) + 16)
	dst.SetMapIndex(k, e)
}

// pairs fills a map with the keys and values in each node.
func (x *extraction) pairs(f *field, t *target, at place, dst reflect.Value) (found, failed bool) {
	from, to := x.find(&f.rule, at, false)
	for i := from; i < to && !failed; i++ {
		base := len(x.places)
		here := x.places[i]
		kFrom, kTo := x.query(f.rule.key, here, false)
		vFrom, vTo := x.query(f.value, here, false)
		for ; kFrom < kTo && vFrom < vTo && !failed; kFrom, vFrom = kFrom+1, vFrom+1 {
			name, _, ok := x.text(f.rule.key, x.places[kFrom])
			if !ok {
				continue
			}
			k, e := reflect.New(t.t.Key()).Elem(), reflect.New(t.elem.t).Elem()
			if failed = x.entry(f, t, strings.Clone(name), vFrom, k, e); !failed {
				x.put(t, dst, k, e)
				found = true
			}
		}
		x.places = x.places[:base]
	}
	return found, failed
}
