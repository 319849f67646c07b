package guard_test

import (
	"errors"
	"io"
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
		stack, err := guard.Protect(tt.code)
		var panicked *guard.PanicError
		if errors.As(err, &panicked) != tt.panicked || (stack != nil) != tt.panicked {
			t.Errorf("%s: %v, stack of %d bytes", name, err, len(stack))
		}
		if tt.panicked && (!strings.Contains(string(stack), "protect_test.go") || !strings.HasPrefix(err.Error(), "panic: ")) {
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
