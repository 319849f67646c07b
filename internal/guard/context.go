package guard

import (
	"context"
	"sync/atomic"
	"time"
)

// Context is a context that can be cancelled, as [context.WithCancelCause] makes one. It costs next to nothing until
// its Done or a Value is asked for, which most pages never do. It must not be copied.
type Context struct {
	Parent context.Context              // set before the first use
	state  atomic.Pointer[contextState] // nil: neither made nor cancelled
}

// contextState is the state of a Context that was made or cancelled.
type contextState struct {
	made context.Context // nil: it was cancelled before it was asked for
	stop context.CancelCauseFunc
	why  error
}

// endedWell is the state of a Context that was cancelled because its work is done.
var endedWell = &contextState{why: context.Canceled}

// make returns the context behind the lazy one.
func (l *Context) make() context.Context {
	old := l.state.Load()
	if old != nil && old.made != nil {
		return old.made
	}
	made, stop := context.WithCancelCause(l.Parent)
	if old != nil {
		stop(old.why)
	}
	if l.state.CompareAndSwap(old, &contextState{made: made, stop: stop}) {
		return made
	}
	stop(nil) // another goroutine was faster
	return l.make()
}

// Cancel ends the context and those derived from it, as a [context.CancelCauseFunc] does.
func (l *Context) Cancel(cause error) {
	end := endedWell
	if cause != nil && cause != context.Canceled {
		end = &contextState{why: cause}
	}
	if l.state.CompareAndSwap(nil, end) {
		return
	}
	if s := l.state.Load(); s.made != nil {
		s.stop(cause)
	}
}

// Done returns the channel that is closed when the context ends.
func (l *Context) Done() <-chan struct{} { return l.make().Done() }

// Value makes the context, because that is how package context finds a parent and its cause.
func (l *Context) Value(key any) any { return l.make().Value(key) }

// Deadline returns the parent's.
func (l *Context) Deadline() (time.Time, bool) { return l.Parent.Deadline() }

// Err returns why the context has ended, nil while it has not.
func (l *Context) Err() error {
	switch s := l.state.Load(); {
	case s == nil:
		return l.Parent.Err()
	case s.made != nil:
		return s.made.Err()
	}
	return context.Canceled
}

// Joint is a [Context] that a user's context bounds, too. Make one with [Context.With].
type Joint struct {
	context.Context
	User context.Context
}

// With returns a context that ends with this one, which the end of the user's context cancels. It has the values of both, and the
// user's deadline.
func (l *Context) With(user context.Context) *Joint {
	both := &Joint{l, user}
	stop := context.AfterFunc(user, func() { l.Cancel(context.Cause(user)) })
	context.AfterFunc(both, func() { stop() })
	return both
}

// Deadline returns the user's.
func (j *Joint) Deadline() (time.Time, bool) { return j.User.Deadline() }

// Value looks key up in the Context, then in the user's.
func (j *Joint) Value(key any) any {
	if v := j.Context.Value(key); v != nil {
		return v
	}
	return j.User.Value(key)
}
