package tegenaria

import (
	"errors"
	"runtime/debug"
)

// protect runs user code and turns a panic into an error with its stack. An error that cannot be asked for its
// text or its causes without a panic, such as a nil pointer of the user's type, is a panic too.
func protect(f func() error) (stack []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err, stack = &PanicError{v}, debug.Stack()
		}
	}()
	err = f()
	sound(err, 0)
	return nil, err
}

// errGoexit is the failure of user code that has ended its goroutine.
var errGoexit = errors.New("it ended its goroutine by runtime.Goexit, as FailNow and Fatal of a test do")

// maxCauses is how long a chain of causes may be.
const maxCauses = 100

// sound asks an error for all that the engine will ask it for.
func sound(err error, depth int) {
	if err == nil {
		return
	}
	if depth > maxCauses {
		panic("an error whose causes do not end")
	}
	_ = err.Error()
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		sound(e.Unwrap(), depth+1)
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			sound(cause, depth+1)
		}
	}
	if depth == 0 {
		_ = errors.Is(err, ErrIgnoreRequest)
		_ = asRetry(err)
	}
}
