package typecheck

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Repeated finds parts that have one name, or are one. The zero value has none.
type Repeated struct {
	keys  []any // in the order of Add
	types map[any][]string
}

// Add adds a part. Parts without a name are told apart by what they are, if they can be compared.
func (r *Repeated) Add(name string, part any) {
	key := any(name)
	if name == "" {
		if !reflect.ValueOf(part).Comparable() {
			return
		}
		key = part
		if t := reflect.TypeOf(part); t.Kind() == reflect.Pointer && t.Elem().Size() == 0 { // such pointers may be equal or not
			key = t
		}
	}
	if r.types == nil {
		r.types = make(map[any][]string)
	}
	if r.types[key] == nil {
		r.keys = append(r.keys, key)
	}
	r.types[key] = append(r.types[key], fmt.Sprintf("%T", part))
}

// Words names the parts that were added more than once, with their types.
func (r *Repeated) Words() (parts []string) {
	for _, key := range r.keys {
		types := r.types[key]
		if len(types) < 2 {
			continue
		}
		text := strings.Join(types, " and ")
		if all := slices.Compact(slices.Clone(types)); len(all) == 1 {
			text = fmt.Sprintf("%s, %d times", all[0], len(types))
		}
		if name, ok := key.(string); ok {
			text = fmt.Sprintf("%q (%s)", name, text)
		}
		parts = append(parts, text)
	}
	return parts
}
