package typecheck_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/internal/typecheck"
)

type base struct{ Name string }

type spider struct {
	*base
	Other *base
}

type heir struct{ spider }

type holder struct{ any }

type byValue struct{ base }

// It fails if a nil pointer is looked for in fields that are not embedded, or not in all that are.
func TestEmbedsNil(t *testing.T) {
	set := &base{}
	for name, tt := range map[string]struct {
		v    any
		want bool
	}{
		"nil": {nil, false}, "itself": {(*base)(nil), true}, "another nil": {(*spider)(nil), false}, "set": {set, false},
		"embedded":        {spider{}, true},
		"by its pointer":  {&spider{Other: set}, true},
		"a field":         {&spider{base: set}, false},
		"of the embedded": {&heir{}, true}, "of the embedded, set": {&heir{spider{base: set}}, false},
		"in an interface": {holder{&spider{}}, true}, "no pointer": {byValue{}, false}, "a number": {3, false},
	} {
		if got := typecheck.EmbedsNil[*base](tt.v); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
