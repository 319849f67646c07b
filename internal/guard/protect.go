package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of user code, turned into an error.
type PanicError struct {
	Value any
	stack []byte // of the panic
}

// Error gives the value that was panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Stack returns the stack of the panic that is among the causes of an error, nil if there is none.
func Stack(err error) []byte {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return p.stack
	}
	return nil
}

// Protect runs user code and turns a panic into a [*PanicError] with its stack. An error that cannot be asked for its text or
// its causes without a panic, such as a nil pointer of the user's type, is a panic too.
func Protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, stack: debug.Stack()}
		}
	}()
	err = f()
	Sound(err)
	return err
}

// ErrGoexit is the failure of user code that has ended its goroutine.
var ErrGoexit = errors.New("it ended its goroutine by runtime.Goexit, as FailNow and Fatal of a test do")

// maxCauses is how long a chain of causes may be.
const maxCauses = 100

// probe is no user's error: looking for one asks all errors of a chain whether they are it.
type probe struct{ error }

var anyProbe = &probe{errors.New("probe")}

// Sound calls the methods of an error and of its causes that errors.Is, errors.As and the log call. It panics if one of them does, or
// if the causes do not end.
func Sound(err error) {
	if err == nil {
		return
	}
	texts(err, 0)
	_ = errors.Is(err, anyProbe)
	var p *probe
	_ = errors.As(err, &p)
}

// texts asks an error and its causes for their text.
func texts(err error, depth int) {
	if err == nil {
		return
	}
	if depth > maxCauses {
		panic("an error whose causes do not end")
	}
	_ = err.Error()
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		texts(e.Unwrap(), depth+1)
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			texts(cause, depth+1)
		}
	}
}

// Both joins two funcs that are called one after the other: the second also if the first panics. If one is nil, the
// other is returned as it is.
func Both[A any](f, g func(A)) func(A) {
	return unlessNil(f, g, f == nil, g == nil, func(a A) { defer g(a); f(a) })
}

// BothPlain is [Both] for funcs without parameters.
func BothPlain(f, g func()) func() {
	return unlessNil(f, g, f == nil, g == nil, func() { defer g(); f() })
}

// BothOfTwo is [Both] for funcs of two parameters.
func BothOfTwo[A, B any](f, g func(A, B)) func(A, B) {
	return unlessNil(f, g, f == nil, g == nil, func(a A, b B) { defer g(a, b); f(a, b) })
}

// BothOfThree is [Both] for funcs of three parameters.
func BothOfThree[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	return unlessNil(f, g, f == nil, g == nil, func(a A, b B, c C) { defer g(a, b, c); f(a, b, c) })
}

// unlessNil returns both, unless one of its parts is nil: then it returns the other part.
func unlessNil[F any](f, g F, noF, noG bool, both F) F {
	switch {
	case noF:
		return g
	case noG:
		return f
	}
	return both
}
