package tegenaria

import (
	"context"
	"sync/atomic"
	"time"
)

// lazyContext is what [context.WithCancelCause] makes, but it costs nothing until somebody asks for its
// Done or a Value: most pages come and go before anybody does. Its parent is set before the first use.
type lazyContext struct {
	parent context.Context
	state  atomic.Pointer[lazyState] // nil: neither made nor cancelled
}

// lazyState is what has become of a lazyContext.
type lazyState struct {
	made context.Context // nil: it was cancelled before anybody asked
	stop context.CancelCauseFunc
	why  error
}

// lazyEnd is the state of what has ended as it should.
var lazyEnd = &lazyState{why: context.Canceled}

// make returns the context behind the lazy one.
func (l *lazyContext) make() context.Context {
	old := l.state.Load()
	if old != nil && old.made != nil {
		return old.made
	}
	made, stop := context.WithCancelCause(l.parent)
	if old != nil {
		stop(old.why)
	}
	if l.state.CompareAndSwap(old, &lazyState{made: made, stop: stop}) {
		return made
	}
	stop(nil) // somebody else was faster
	return l.make()
}

// cancel is a [context.CancelCauseFunc].
func (l *lazyContext) cancel(cause error) {
	end := lazyEnd
	if cause != nil && cause != context.Canceled {
		end = &lazyState{why: cause}
	}
	if l.state.CompareAndSwap(nil, end) {
		return
	}
	if s := l.state.Load(); s.made != nil {
		s.stop(cause)
	}
}

func (l *lazyContext) Done() <-chan struct{} { return l.make().Done() }

// Value makes the context, because that is how package context finds a parent and its cause.
func (l *lazyContext) Value(key any) any { return l.make().Value(key) }

func (l *lazyContext) Deadline() (time.Time, bool) { return l.parent.Deadline() }

func (l *lazyContext) Err() error {
	switch s := l.state.Load(); {
	case s == nil:
		return l.parent.Err()
	case s.made != nil:
		return s.made.Err()
	}
	return context.Canceled
}
