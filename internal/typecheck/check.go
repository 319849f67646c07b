// Package typecheck finds mistakes in the parts of a crawl by their types: parts that take items of one type and were
// given none of it, that embed a nil pointer, or that were registered twice.
//
//	check := typecheck.New[Book]("PipelineFunc")
//	book, ok := item.(Book)
//	check.Saw(item, ok)
//	if text := check.Warning(); text != "" {
//		log.Print(text)
//	}
package typecheck

import (
	"fmt"
	"reflect"
	"sync/atomic"
)

// Check finds out whether a part that takes items of one type was given none of them in a whole run: as a
// rule the program sends pointers where values are taken, or the other way round.
type Check struct {
	what    string       // "PipelineFunc[quotes.Quote]"
	want    reflect.Type // of the items that it takes
	matched atomic.Bool
	others  atomic.Int64
	first   atomic.Pointer[reflect.Type] // of the first of them
}

// New makes the Check of a part that takes items of type T; what names the part.
func New[T any](what string) *Check {
	want := reflect.TypeFor[T]()
	return &Check{what: fmt.Sprintf("%s[%s]", what, want), want: want}
}

// Saw notes whether an item had the type.
func (c *Check) Saw(item any, ok bool) {
	switch {
	case c.matched.Load():
	case ok:
		c.matched.Store(true)
	case c.others.Add(1) == 1:
		got := reflect.TypeOf(item)
		c.first.Store(&got)
	}
}

// Warning is empty unless there is something to report.
func (c *Check) Warning() string {
	n, first := c.others.Load(), c.first.Load()
	if n == 0 || first == nil || c.matched.Load() {
		return ""
	}
	got := "nil"
	if *first != nil {
		got = (*first).String()
	}
	saw := fmt.Sprintf("%d items, none of them of the type %s (the first was a %s)", n, c.want, got)
	if n == 1 {
		saw = fmt.Sprintf("1 item, which was a %s and not a %s", got, c.want)
	}
	remedy := "write the type that the parser sends, which is that of its Output, in the place of " + c.want.String()
	if *first != nil && (*first == reflect.PointerTo(c.want) || c.want == reflect.PointerTo(*first)) {
		remedy = "does the parser send a pointer where a value is taken, or the other way round?"
	}
	return c.what + " saw " + saw + ": " + remedy
}
