package guard_test

import (
	"errors"
	"io"
	"slices"
	"strings"
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
		err := guard.Protect(tt.code)
		stack := guard.Stack(err)
		var panicked *guard.PanicError
		if errors.As(err, &panicked) != tt.panicked || (stack != nil) != tt.panicked {
			t.Errorf("%s: %v, stack of %d bytes", name, err, len(stack))
		}
		if tt.panicked && (!strings.Contains(string(stack), "protect_test.go") || !strings.HasPrefix(err.Error(), "panic: ")) {
			t.Errorf("%s: %v\n%s", name, err, stack)
		}
	}
	if err := guard.Protect(func() error { panic(io.EOF) }); !errors.Is(err, io.EOF) {
		t.Errorf("%v is not the error that it panicked with", err)
	}
}

// pair is an error with several causes whose own text is sound.
type pair struct {
	error
	causes []error
}

func (p *pair) Unwrap() []error { return p.causes }

// Joined funcs are called in order and with all arguments, the second in spite of a panic of the first; nothing is joined to nil.
func TestBoth(t *testing.T) {
	var calls []int
	note := func(n ...int) { calls = append(calls, n...) }
	fail := func(int) { panic("first") }
	guard.BothPlain(func() { note(1) }, func() { note(2) })()
	guard.Both(func(a int) { note(a) }, func(a int) { note(-a) })(3)
	guard.BothOfTwo(func(a, b int) { note(a, b) }, func(a, b int) { note(b, a) })(4, 5)
	guard.BothOfThree(func(a, b, c int) { note(a, b, c) }, func(a, b, c int) { note(c, b, a) })(6, 7, 8)
	if err := guard.Protect(func() error { guard.Both(fail, func(a int) { note(a) })(9); return nil }); err == nil {
		t.Error("the panic is lost")
	}
	if want := []int{1, 2, 3, -3, 4, 5, 5, 4, 6, 7, 8, 8, 7, 6, 9}; !slices.Equal(calls, want) {
		t.Errorf("%v, want %v", calls, want)
	}
	calls = nil
	guard.Both(nil, func(a int) { note(a) })(1)
	guard.Both(func(a int) { note(a) }, nil)(2)
	if !slices.Equal(calls, []int{1, 2}) || guard.BothPlain(nil, nil) != nil || guard.BothOfTwo[int, int](nil, nil) != nil || guard.BothOfThree[int, int, int](nil, nil) != nil {
		t.Errorf("joined to nil: %v", calls)
	}
}
