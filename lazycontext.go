package tegenaria

import (
	"context"
	"sync"
	"time"
)

// lazyContext is what [context.WithCancelCause] makes, but it costs nothing until somebody asks for its
// Done or a Value: most pages come and go before anybody does. Its parent is set before the first use.
type lazyContext struct {
	parent context.Context

	mu   sync.Mutex      // guards what follows
	made context.Context // nil until somebody asks
	stop context.CancelCauseFunc
	over bool  // cancel was called
	why  error // with this cause
}

// make returns the context behind the lazy one.
func (l *lazyContext) make() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made, l.stop = context.WithCancelCause(l.parent)
		if l.over {
			l.stop(l.why)
		}
	}
	return l.made
}

// cancel is a [context.CancelCauseFunc].
func (l *lazyContext) cancel(cause error) {
	l.mu.Lock()
	stop := l.stop
	if !l.over {
		l.over, l.why = true, cause
	}
	l.mu.Unlock()
	if stop != nil {
		stop(cause)
	}
}

func (l *lazyContext) Done() <-chan struct{} { return l.make().Done() }

// Value makes the context, because that is how package context finds a parent and its cause.
func (l *lazyContext) Value(key any) any { return l.make().Value(key) }

func (l *lazyContext) Deadline() (time.Time, bool) { return l.parent.Deadline() }

func (l *lazyContext) Err() error {
	l.mu.Lock()
	made, over := l.made, l.over
	l.mu.Unlock()
	switch {
	case made != nil:
		return made.Err()
	case over:
		return context.Canceled
	}
	return l.parent.Err()
}
