package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// NoResultError is the failure of a downloader that sent no result in time.
type NoResultError struct{ Waited time.Duration }

// Error says how long the engine waited.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("the downloader sent no result within %s", e.Waited)
}

// asking is what a downloader is asked with that is not the engine's own, or that writes to a ResponseWriter. It may
// write to its Context when nobody waits for the result any more.
type asking struct {
	Context
	url    string
	life   guard.Context
	result chan *Context

	dropped chan struct{} // closed when it was given up; nil where nobody waits for that

	mu       sync.Mutex    // guards what follows
	returned bool          // Download has
	gone     chan struct{} // closed then, if somebody waits for it
}

// ask calls a downloader and waits for its one result, which may come after Download has returned. The
// request's timeout bounds both.
func (c *crawl) ask(j *job, d *downloaderModule, ctx *Context, started time.Time) (got *Context, stack []byte, err error) {
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	var theirs *asking
	own, asked := ctx.Ctx, ctx
	ours := c.http != nil && d.Downloader == Downloader(c.http)
	if !ours || j.turn != nil { // somebody else's code runs in it
		theirs = &asking{Context: *ctx, url: ctx.Request.Url, result: result}
		theirs.life.Parent, theirs.Ctx, asked = own, &theirs.life, &theirs.Context
		if j.caller != nil {
			theirs.dropped = make(chan struct{})
		}
		limit := time.Duration(0) // the engine's own has a clock
		if !ours {
			theirs.writeTo(j.turn)
			if ctx.Request.timeout >= 0 {
				limit = ctx.Request.timeoutOrDefault()
			}
		}
		c.watch.Bound(&j.call, theirs, started, limit)
	}
	switch {
	case theirs == nil:
		stack, err = guard.Protect(func() error { d.Download(asked, result); return nil })
	case j.caller == nil:
		defer theirs.end()
		stack, err = guard.Protect(func() error { d.Download(asked, result); return nil })
	default:
		stack, err = theirs.apart(d)
	}
	if theirs != nil {
		defer theirs.life.Cancel(nil)
	}
	if err == nil {
		got, err = awaitResult(own, result, started, ctx.Request.timeoutOrDefault()+farewell)
	}
	return got, stack, err
}

// writeTo puts the attempt's turn, if there is one, in the place of the request's ResponseWriter.
func (a *asking) writeTo(t *turn) {
	if t == nil {
		return
	}
	r := *a.Request
	r.ResponseWriter, a.Request = t, &r
}

// apart downloads in a goroutine of its own: the caller of Fetch must go on when the download is given up.
func (a *asking) apart(d Downloader) (stack []byte, err error) {
	var panicked []byte // belongs to the downloader until it has returned
	var failed error
	download := guard.Go(func() {
		defer a.end()
		panicked, failed = guard.Protect(func() error { d.Download(&a.Context, a.result); return nil })
	})
	select {
	case <-download.Done():
		if !download.Returned() {
			return nil, guard.ErrGoexit
		}
		return panicked, failed
	case <-a.dropped:
		return nil, ErrOutputClosed
	}
}

// TooLate is the error of a download that takes longer than its request may.
func (a *asking) TooLate(limit time.Duration) error { return &TimeoutError{URL: a.url, Limit: limit} }

// Cancel tells the downloader to return.
func (a *asking) Cancel(cause error) { a.life.Cancel(cause) }

// end notes that Download has returned.
func (a *asking) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.returned = true
	if a.gone != nil {
		close(a.gone)
	}
}

// LetGo is told that the downloader was given up. Should it send more results than it may, it shall not wait for
// ever.
func (a *asking) LetGo() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone != nil {
		return
	}
	if a.dropped != nil {
		close(a.dropped)
	}
	if a.returned {
		return
	}
	a.gone = make(chan struct{})
	guard.Go(func() { // until Download returns
		for {
			select {
			case <-a.result:
			case <-a.gone:
				return
			}
		}
	})
}

// awaitResult waits for the result of a downloader.
func awaitResult(own context.Context, result <-chan *Context, started time.Time, wait time.Duration) (*Context, error) {
	var got *Context
	select {
	case got = <-result:
	default:
		timer := time.NewTimer(time.Until(started.Add(wait)))
		defer timer.Stop()
		select {
		case got = <-result:
		case <-own.Done():
			return nil, context.Cause(own)
		case <-timer.C:
			return nil, &NoResultError{wait}
		}
	}
	if got == nil {
		return nil, errors.New("the downloader sent a nil Context")
	}
	return got, nil
}

func (r *Request) timeoutOrDefault() time.Duration {
	switch {
	case r.timeout == 0:
		return DefaultTimeout
	case r.timeout < 0:
		return 1<<62 - farewell
	}
	return r.timeout
}
