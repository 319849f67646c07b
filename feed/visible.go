package feed

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/tegenaria/tegenaria/internal/columns"
)

// NoFieldsError is the failure to write an item that has no fields in JSON.
type NoFieldsError struct{ Type reflect.Type }

// Error names the type and says what to do.
func (e *NoFieldsError) Error() string {
	return fmt.Sprintf("feed: an item of type %v would be written as {}: none of its fields can be seen; begin their "+
		"names with a capital letter", e.Type)
}

// visible knows the types whose values are not empty in JSON.
type visible struct{ types sync.Map } // reflect.Type → bool

func (v *visible) check(item any) error {
	t := reflect.TypeOf(item)
	shown, known := v.types.Load(t)
	if !known {
		list, err := columns.Of(t)
		shown = err != nil || len(list) > 0
		v.types.Store(t, shown)
	}
	if shown.(bool) {
		return nil
	}
	return &NoFieldsError{t}
}

// ofJSON has a feed refuse items that would be empty in JSON.
func (f *Feed) ofJSON() *Feed {
	f.asJSON = true
	return f
}
