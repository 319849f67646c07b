package tegenaria

import (
	"fmt"
	"reflect"
	"sync/atomic"
)

// typeCheck finds out whether a part that takes items of one type was given none of them in a whole run: as a
// rule somebody has sent pointers where values are taken, or the other way round.
type typeCheck struct {
	what    string       // "PipelineFunc[quotes.Quote]"
	want    reflect.Type // of the items that it takes
	matched atomic.Bool
	others  atomic.Int64
	first   atomic.Pointer[string] // the type of the first of them
}

func newTypeCheck[T any](what string) *typeCheck {
	want := reflect.TypeFor[T]()
	return &typeCheck{what: fmt.Sprintf("%s[%s]", what, want), want: want}
}

// saw notes whether an item had the type.
func (t *typeCheck) saw(item any, ok bool) {
	switch {
	case t.matched.Load():
	case ok:
		t.matched.Store(true)
	case t.others.Add(1) == 1:
		name := fmt.Sprintf("%T", item)
		t.first.Store(&name)
	}
}

// warning is empty unless there is something to tell.
func (t *typeCheck) warning() string {
	n, first := t.others.Load(), t.first.Load()
	if n == 0 || first == nil || t.matched.Load() {
		return ""
	}
	return fmt.Sprintf("%s saw %d items, none of them of the type %s (the first was a %s): does the parser send a pointer where a value is taken, or the other way round?",
		t.what, n, t.want, *first)
}

// typedPipeline is a pipeline that takes items of one type.
type typedPipeline interface {
	// forRun returns a copy for one run.
	forRun() (PipelinesInterface, *typeCheck)
}

// warnOfTypes logs what the type checks have found out.
func (c *crawl) warnOfTypes() {
	for _, t := range c.typeChecks {
		if text := t.warning(); text != "" {
			c.log.entry.Warn(text)
		}
	}
}
