package selector

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"
)

// DataField is a field that is written as data, and not as the field of a struct.
type DataField struct {
	Name  string
	Words Words
	Type  reflect.Type // what its value is; nil: what its conv makes, or else a string, with split a []string, with key and value a map[string]string
}

// Fields are the fields of items that are written as data: they are compiled and filled as those of a struct with the
// same words in its tags. They do not change, and may be used concurrently. Make them with [NewFields].
type Fields struct {
	plan  *plan
	names []string
}

// dataTypes are what conversions make of fields without a type.
var dataTypes = map[string]reflect.Type{
	"int": reflect.TypeFor[int64](), "float": reflect.TypeFor[float64](), "money": moneyType, "time": reflect.TypeFor[time.Time](),
	"bool": reflect.TypeFor[bool](), "exists": reflect.TypeFor[bool](), "split": reflect.TypeFor[[]string](),
}

// NewFields compiles fields. typeName stands for the name of a struct in errors and in the keys of a [FieldWatcher].
// The error joins all mistakes, each as a [*FieldError].
func NewFields(typeName string, list []DataField, own ...Conversion) (*Fields, error) {
	c := &compiler{name: typeName, prefix: typeName + ".", own: own}
	f := &Fields{plan: &plan{name: typeName}}
	known := make(map[string]bool)
	var members []reflect.StructField
	for i, one := range list {
		c.path = append(c.path[:0], one.Name)
		switch {
		case one.Name == "" || known[one.Name]:
			c.mistake("", fmt.Errorf("field %d has no name, or that of another field", i+1))
			continue
		case one.Words.place() == "":
			c.mistake("", errors.New("it says nothing of where its value is: add css, xpath, path or attr"))
			continue
		}
		known[one.Name] = true
		r, mistakes := compileRule(one.Words)
		for _, err := range mistakes {
			c.mistake(r.place, err)
		}
		if len(mistakes) > 0 {
			continue
		}
		t := one.Type
		if t == nil {
			t = typeOfData(r, own)
		}
		f.names = append(f.names, one.Name)
		made := field{rule: *r, index: len(members), name: one.Name, key: len(c.keys)}
		c.keys = append(c.keys, c.prefix+one.Name)
		var err error
		if made.target, err = c.target(t, &made.rule, r.path != ""); err == nil && made.fallback != nil {
			err = made.checkFallback(made.target)
		}
		if err != nil {
			c.mistake(r.place, err)
		}
		members = append(members, reflect.StructField{Name: "F" + strconv.Itoa(len(members)), Type: t})
		f.plan.fields = append(f.plan.fields, made)
	}
	if len(list) == 0 || len(list) > maxFields {
		c.path = nil
		c.mistake("", fmt.Errorf("%d fields", len(list)))
	}
	if len(c.wrong) > 0 {
		return nil, errors.Join(c.wrong...)
	}
	f.plan.t, f.plan.keys = reflect.StructOf(members), c.keys
	return f, nil
}

// typeOfData returns the type of a field by its words.
func typeOfData(r *rule, own []Conversion) reflect.Type {
	for i := range own {
		if own[i].name == r.conv {
			return own[i].t
		}
	}
	if t := dataTypes[r.conv]; t != nil {
		return t
	}
	if r.key != nil {
		return reflect.TypeFor[map[string]string]()
	}
	return reflect.TypeFor[string]()
}

// Get returns the values of the fields by their names, from the whole page or the first result: see
// [Selection.Unmarshal]. A field that is not there, and has no default, is left out, and so is one that failed; the
// error joins those.
func (f *Fields) Get(in Source) (map[string]any, error) {
	doc, at, err := in.place()
	if err != nil {
		return nil, err
	}
	x := extractions.Get().(*extraction)
	x.doc, x.plan = doc, f.plan
	item, err := f.run(x, at)
	x.release()
	return item, err
}

// Each returns an iterator over the results of a query, each as the values of the fields: see [Each] and [Fields.Get].
func (f *Fields) Each(in Source, query string) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		doc, places, err := in.places(query)
		if err != nil {
			yield(nil, err)
			return
		}
		x := extractions.Get().(*extraction)
		x.doc, x.plan = doc, f.plan
		for _, at := range places {
			if !yield(f.run(x, at)) {
				break
			}
		}
		x.release()
	}
}

// run returns the values of the fields in a place.
func (f *Fields) run(x *extraction, at place) (map[string]any, error) {
	dst := reflect.New(f.plan.t).Elem()
	err := x.run(at, dst)
	item := make(map[string]any, len(f.names))
	for i, name := range f.names {
		if n := &x.counts[f.plan.fields[i].key]; n.Missing == 0 && n.Failed == 0 {
			item[name] = dst.Field(i).Interface()
		}
	}
	return item, err
}
