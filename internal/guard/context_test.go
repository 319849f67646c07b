package guard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// A Context does what context.WithCancelCause does, whether it is asked before it ends or after. It fails if Cancel keeps
// the second cause.
func TestContext(t *testing.T) {
	type key struct{}
	parent, stop := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	defer stop()
	first, second := errors.New("first"), errors.New("second")
	for _, asked := range []bool{false, true} {
		for _, cause := range []error{nil, context.Canceled, first} {
			life := &guard.Context{Parent: parent}
			if asked {
				if life.Value(key{}) != "value" {
					t.Error("the parent's value is lost")
				}
			}
			if life.Err() != nil {
				t.Fatal(life.Err())
			}
			life.Cancel(cause)
			life.Cancel(second)
			<-life.Done()
			want := cause
			if want == nil {
				want = context.Canceled
			}
			if got := context.Cause(life); life.Err() != context.Canceled || got != want {
				t.Errorf("asked %v, cause %v: %v, %v", asked, cause, life.Err(), got)
			}
		}
	}
	life := &guard.Context{Parent: parent}
	if stop(); life.Err() != context.Canceled {
		t.Error("the parent has ended")
	}
	if n := testing.AllocsPerRun(100, func() { // what a page costs that nobody asks
		one := guard.Context{Parent: parent}
		one.Cancel(context.Canceled)
	}); n > 1 {
		t.Errorf("%g allocations", n)
	}
}
