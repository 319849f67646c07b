// Package fieldcount counts what becomes of the fields of items: how often a field was looked for on a page and not
// found, and how many items have it filled.
//
//	a page → Tally → (its request has ended) → Totals
//
// A [Tally] has the counts of one request. They reach the [Totals] of the run when the request has ended, and so a
// request that runs again counts once, also after a crash. For example:
//
//	var tally fieldcount.Tally
//	tally.Item(Book{Title: "Dune"})
//	totals.Add(&tally)
//	totals.Counts()["Book.title"].Filled // 1
//
// All of it is safe for concurrent use.
package fieldcount

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/columns"
)

// Counts are the counts of a field.
type Counts struct {
	Items, Filled                         int64 // items of its type, and those of them in which it is not empty
	LookedFor, Defaulted, Missing, Failed int64 // times
}

// MostKeys is how many fields are counted by their names.
const MostKeys = 1000

// Other is the key of all fields beyond MostKeys.
const Other = "other"

// Tally are the counts of one request. The zero value has counted nothing.
type Tally struct {
	mu    sync.Mutex // guards all
	types []typeTally
}

// typeTally are the counts of the fields of one type.
type typeTally struct {
	name   string
	keys   []string // a list that does not change
	counts []Counts
	items  int64
	filled map[string]int64 // of fields that are not in keys
}

// Extracted adds counts of fields. keys begin with the name of the type and a point, and are the same slice for the
// same type. add adds to the counts that it is given, in the order of keys.
func (t *Tally) Extracted(keys []string, add func(counts []Counts)) {
	if len(keys) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.types {
		if known := &t.types[i]; len(known.keys) == len(keys) && &known.keys[0] == &keys[0] {
			add(known.counts)
			return
		}
	}
	name, _, _ := strings.Cut(keys[0], ".")
	fresh := typeTally{name: name, keys: keys, counts: make([]Counts, len(keys))}
	add(fresh.counts)
	t.types = append(t.types, fresh)
}

// Item counts an item: its fields by the rules of encoding/json, or the members of the object that it becomes in JSON.
// A field is filled if it is not the zero value of its type, and no empty list or map. Items that become anything else
// are not counted.
func (t *Tally) Item(item any, typeName func(reflect.Type) string) {
	v := reflect.ValueOf(item)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer {
		return
	}
	known := columnsOf(v.Type(), typeName)
	var others map[string]bool
	if known.list == nil {
		if others = members(item, v); others == nil {
			return
		}
	}
	filled := make([]bool, len(known.list))
	for i := range known.list {
		field, ok := known.list[i].Value(v)
		filled[i] = ok && isFilled(field)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.types, func(one typeTally) bool { return one.name == known.name && one.filled != nil })
	if at < 0 {
		at = len(t.types)
		t.types = append(t.types, typeTally{name: known.name, filled: make(map[string]int64)})
	}
	of := &t.types[at]
	of.items++
	for i, is := range filled {
		of.filled[known.keys[i]] += one(is)
	}
	for name, is := range others {
		of.filled[known.name+"."+name] += one(is)
	}
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// known is what is known of a type.
type known struct {
	name string
	keys []string
	list []columns.Column // nil: it has no fixed ones
}

const mostTypes = 1000

// types keeps what is known of types: at most mostTypes.
var types struct {
	sync.RWMutex // guards known
	known        map[reflect.Type]*known
}

func columnsOf(t reflect.Type, typeName func(reflect.Type) string) *known {
	types.RLock()
	k := types.known[t]
	types.RUnlock()
	if k != nil {
		return k
	}
	k = &known{name: typeName(t)}
	k.list, _ = columns.Of(t) // else its JSON is looked at
	for i := range k.list {
		k.keys = append(k.keys, k.name+"."+k.list[i].Name)
	}
	types.Lock()
	defer types.Unlock()
	if types.known == nil || len(types.known) >= mostTypes {
		types.known = make(map[reflect.Type]*known)
	}
	types.known[t] = k
	return k
}

// isFilled reports whether a value is neither zero nor empty.
func isFilled(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil()
	}
	return !v.IsZero()
}

// members returns the members of the object that an item becomes in JSON, and whether they are filled; nil if it becomes none.
func members(item any, v reflect.Value) map[string]bool {
	list := make(map[string]bool)
	if v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String {
		for key, value := range v.Seq2() {
			for value.Kind() == reflect.Interface && !value.IsNil() {
				value = value.Elem()
			}
			list[key.String()] = isFilled(value)
		}
		return list
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	text, err := json.Marshal(item)
	if err != nil {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	for name, value := range object {
		switch string(value) {
		case "null", `""`, "0", "false", "[]", "{}":
			list[name] = false
		default:
			list[name] = true
		}
	}
	return list
}

// Totals are the counts of a run, of at most MostKeys fields, then of Other. The zero value has counted nothing.
type Totals struct {
	mu     sync.Mutex // guards all
	counts map[string]Counts
	items  map[string]int64 // by type
	ofItem map[string]bool  // keys of fields of items, which all items of their type have
}

// Add adds the counts of a request; nil adds nothing. The tally must not be used any more.
func (t *Totals) Add(tally *Tally) {
	if tally == nil {
		return
	}
	tally.mu.Lock()
	defer tally.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts, t.items, t.ofItem = make(map[string]Counts), make(map[string]int64), make(map[string]bool)
	}
	for i := range tally.types {
		of := &tally.types[i]
		for i, key := range of.keys {
			Merge(t.counts, key, of.counts[i])
		}
		if of.filled == nil {
			continue
		}
		if _, ok := t.items[of.name]; ok || len(t.items) < MostKeys {
			t.items[of.name] += of.items
		}
		for key, n := range of.filled {
			if _, ok := t.counts[key]; ok || hasRoom(t.counts) {
				t.ofItem[key] = true
				Merge(t.counts, key, Counts{Filled: n})
			} else {
				Merge(t.counts, Other, Counts{Items: of.items, Filled: n})
			}
		}
	}
}

// Merge adds the counts of a field to those of others, of which MostKeys have their names.
func Merge(counts map[string]Counts, key string, more Counts) {
	sum, ok := counts[key]
	if !ok && key != Other && !hasRoom(counts) {
		key = Other
		sum = counts[key]
	}
	sum.Items += more.Items
	sum.Filled += more.Filled
	sum.LookedFor += more.LookedFor
	sum.Defaulted += more.Defaulted
	sum.Missing += more.Missing
	sum.Failed += more.Failed
	counts[key] = sum
}

// hasRoom reports whether another field may be counted by its name. Other is one key more.
func hasRoom(counts map[string]Counts) bool {
	most := MostKeys
	if _, ok := counts[Other]; ok {
		most++
	}
	return len(counts) < most
}

// Counts returns the counts by field, nil if there are none.
func (t *Totals) Counts() map[string]Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts) == 0 {
		return nil
	}
	all := maps.Clone(t.counts)
	for key := range t.ofItem {
		c := all[key]
		name, _, _ := strings.Cut(key, ".")
		c.Items = t.items[name]
		all[key] = c
	}
	return all
}
