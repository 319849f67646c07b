package selector

import (
	"iter"
	"reflect"
)

// Source is a page, or a part of it: a [*Document] or a [*Selection].
type Source interface {
	place() (*Document, place, error)
	places(query string) (*Document, []place, error)
}

// Each returns an iterator over the results of a CSS selector in a page or a part of one, each as a new T, a struct or
// a pointer to one, that was filled from it: see [Selection.Unmarshal]. An item with an error is yielded with that
// error, and the loop goes on. Mistakes in the tags of a type are yielded once, with no item. In a page that was parsed
// with the option [JSON] the query is a path, and the results are the values that it selects. A wrong query is an
// error, a [*SyntaxError]. All items together may take four times the steps that one may take: a [*WorkError] with that
// limit is yielded last, with no item.
func Each[T any](in Source, query string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		t := reflect.TypeFor[T]()
		isPointer := t.Kind() == reflect.Pointer
		if isPointer {
			t = t.Elem()
		}
		var none T
		p, err := planOf(t)
		if err != nil {
			yield(none, err)
			return
		}
		doc, places, err := in.places(query)
		if err != nil {
			yield(none, err)
			return
		}
		x := extractions.Get().(*extraction)
		x.doc, x.plan = doc, p
		item := new(T)
		dst := reflect.ValueOf(item).Elem()
		steps := 0 // of all items
		for _, at := range places {
			*item = none
			to := dst
			if isPointer {
				to.Set(reflect.New(t))
				to = to.Elem()
			}
			err := x.run(at, to)
			if !yield(*item, err) {
				break
			}
			if steps += x.memory.steps(); steps > 0 && steps > eachTimes*x.memory.limit() {
				yield(none, &WorkError{Limit: eachTimes * x.memory.limit()})
				break
			}
		}
		x.release()
	}
}

// eachTimes is how many times the steps of one item all items of [Each] may take.
const eachTimes = 4

// places returns what a query for items selects.
func (d *Document) places(query string) (*Document, []place, error) {
	if err := d.Err(); err != nil {
		return d, nil, err
	}
	if d != nil && d.isJSON {
		list, err := (&Selection{doc: d, values: []string{d.json}}).results(nil, query)
		return d, list, err
	}
	q, err := Compile(query)
	if err != nil {
		return d, nil, err
	}
	list, err := selected(func() *Selection { return d.Select(q) })
	return d, list, err
}

// places returns what a query for items selects.
func (s *Selection) places(query string) (*Document, []place, error) {
	if s.Len() == 0 {
		return nil, nil, nil
	}
	if s.values != nil {
		list, err := s.results(nil, query)
		return s.doc, list, err
	}
	q, err := Compile(query)
	if err != nil {
		return s.doc, nil, err
	}
	list, err := s.results(q, query)
	return s.doc, list, err
}

// results returns what a selector selects, or, if it is nil, a path.
func (s *Selection) results(q *Query, path string) ([]place, error) {
	if q == nil {
		return selected(func() *Selection { return s.JSON(path) })
	}
	return selected(func() *Selection { return s.Select(q) })
}

// selected returns the results of a query as places. That the page is too large for it becomes an error.
func selected(query func() *Selection) (list []place, err error) {
	defer func() {
		if v := recover(); v != nil {
			if err = tooLarge(v); err == nil {
				panic(v)
			}
		}
	}()
	s := query()
	if s.Len() == 0 {
		return nil, nil
	}
	list = make([]place, 0, s.Len())
	for _, r := range s.refs {
		list = append(list, place{kind: isNode, ref: r})
	}
	for _, text := range s.values {
		list = append(list, place{kind: isJSON, text: text})
	}
	return list, nil
}
