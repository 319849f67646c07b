package guard_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/guard"
)

type nilPointer struct{ text string }

func (e *nilPointer) Error() string { return e.text }

type endless struct{}

func (endless) Error() string { return "endless" }
func (endless) Unwrap() error { return endless{} }

type panicsInIs struct{ error }

func (panicsInIs) Is(error) bool { panic("in Is") }

type panicsInAs struct{ error }

func (panicsInAs) As(any) bool { panic("in As") }

// Whatever user code returns or panics with, the engine gets an error that it can ask for everything. It fails if Sound does
// not ask the causes.
func TestProtect(t *testing.T) {
	for name, tt := range map[string]struct {
		code     func() error
		panicked bool
	}{
		"nil":            {func() error { return nil }, false},
		"error":          {func() error { return io.EOF }, false},
		"panic":          {func() error { panic("oh") }, true},
		"nil pointer":    {func() error { return (*nilPointer)(nil) }, true},
		"as a cause":     {func() error { return &pair{io.EOF, []error{(*nilPointer)(nil)}} }, true},
		"endless causes": {func() error { return endless{} }, true},
		"panic in Is":    {func() error { return panicsInIs{io.EOF} }, true},
		"panic in As":    {func() error { return errors.Join(io.EOF, panicsInAs{io.EOF}) }, true},
	} {
		stack, err := guard.Protect(tt.code)
		var panicked *guard.PanicError
		if errors.As(err, &panicked) != tt.panicked || (stack != nil) != tt.panicked {
			t.Errorf("%s: %v, stack of %d bytes", name, err, len(stack))
		}
		if tt.panicked && (!strings.Contains(string(stack), "guard_test.go") || !strings.HasPrefix(err.Error(), "panic: ")) {
			t.Errorf("%s: %v\n%s", name, err, stack)
		}
	}
	if _, err := guard.Protect(func() error { panic(io.EOF) }); !errors.Is(err, io.EOF) {
		t.Errorf("%v is not the error that it panicked with", err)
	}
}

// pair is an error with several causes whose own text is sound.
type pair struct {
	error
	causes []error
}

func (p *pair) Unwrap() []error { return p.causes }

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

// A closed door waits for those who are inside and lets nobody in. It fails if Close does not count itself.
func TestDoor(t *testing.T) {
	for range 200 {
		door := guard.NewDoor()
		var inside, all sync.WaitGroup
		inside.Add(4)
		for range 4 {
			all.Go(func() {
				if !door.Enter() {
					t.Error("the door is open")
				}
				inside.Done()
				inside.Wait()
				if door.Enter() { // it may be closed already
					door.Leave()
				}
				door.Leave()
			})
		}
		inside.Wait()
		empty := door.Close()
		<-empty
		if door.Enter() {
			t.Fatal("the door is closed")
		}
		all.Wait()
	}
}
