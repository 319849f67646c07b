package guard_test

import (
	"context"
	"errors"
	"testing"
	"time"

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

// A Joint ends with either of its contexts, for the reason of that one, and has the values of both.
func TestContextWith(t *testing.T) {
	type key string
	own, theirs := errors.New("own"), errors.New("theirs")
	for _, want := range []error{own, theirs} {
		life := &guard.Context{Parent: context.WithValue(t.Context(), key("parent"), 1)}
		user, cancel := context.WithCancelCause(context.WithValue(t.Context(), key("user"), 2))
		at := time.Now().Add(time.Hour)
		user, stop := context.WithDeadline(user, at)
		defer stop()
		both := life.With(user)
		if both.Value(key("parent")) != 1 || both.Value(key("user")) != 2 || both.Value(key("none")) != nil {
			t.Error("a value is lost")
		}
		if deadline, ok := both.Deadline(); !ok || !deadline.Equal(at) || both.Err() != nil {
			t.Errorf("deadline %s, %v", deadline, both.Err())
		}
		if want == own {
			life.Cancel(own)
		} else {
			cancel(theirs)
		}
		<-both.Done()
		if got := context.Cause(both); got != want {
			t.Errorf("the cause is %v, want %v", got, want)
		}
		cancel(nil)
	}
}
