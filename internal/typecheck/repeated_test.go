package typecheck_test

import (
	"reflect"
	"testing"

	"github.com/tegenaria/tegenaria/internal/typecheck"
)

type (
	empty      struct{}
	uncompared []int
)

// Parts are the same by their name, or else by what they are, and words are in the order in which the first of each came.
func TestRepeated(t *testing.T) {
	one, other := &base{"a"}, &base{"a"}
	for name, tt := range map[string]struct {
		parts []any
		named string
		want  []string
	}{
		"none":           {},
		"of one name":    {[]any{one, other}, "retry", []string{`"retry" (*typecheck_test.base, 2 times)`}},
		"of two types":   {[]any{one, spider{}}, "retry", []string{`"retry" (*typecheck_test.base and typecheck_test.spider)`}},
		"equal, not one": {[]any{one, other}, "", nil},
		"one of two":     {[]any{other, one, one, one}, "", []string{"*typecheck_test.base, 3 times"}},
		"no size":        {[]any{new(empty), new(empty)}, "", []string{"*typecheck_test.empty, 2 times"}},
		"not comparable": {[]any{uncompared{}, uncompared{}}, "", nil},
		"in order":       {[]any{empty{}, one, one, empty{}}, "", []string{"typecheck_test.empty, 2 times", "*typecheck_test.base, 2 times"}},
	} {
		var twice typecheck.Repeated
		for _, part := range tt.parts {
			twice.Add(tt.named, part)
		}
		if got := twice.Words(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
