package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// NoResultError is the failure of a downloader that sent no result in time.
type NoResultError struct{ Waited time.Duration }

// Error says how long the engine waited.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("the downloader sent no result within %s", e.Waited)
}

// ask calls a downloader and waits for its one result, which may come after Download has returned. The
// request's timeout bounds both.
func (c *crawl) ask(j *job, d *downloaderModule, ctx *Context, started time.Time) (got *Context, stack []byte, err error) {
	own, asked, stop := ctx.Ctx, ctx, func() {}
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	if c.http == nil || d.Downloader != Downloader(c.http) {
		// It may write to its Context when nobody waits for the result any more.
		theirs := *ctx
		asked = &theirs
		stop = c.keepTime(j, asked, result)
	}
	stack, err = protect(func() error { d.Download(asked, result); return nil })
	if err == nil {
		got, err = awaitResult(own, result, started, ctx.Request.timeoutOrDefault()+farewell)
	}
	stop()
	return got, stack, err
}

// keepTime cancels ctx for the downloader when the request's timeout is over, and abandons what has not come
// back soon after; should it block because it sends more results than it may, it is let go. The engine's own
// downloader keeps the time by itself.
func (c *crawl) keepTime(j *job, ctx *Context, result <-chan *Context) (stop func()) {
	returned := make(chan struct{})
	drain := func() {
		for {
			select {
			case <-result:
			case <-returned:
				return
			}
		}
	}
	if ctx.Request.timeout < 0 {
		off := context.AfterFunc(ctx.Ctx, drain)
		return func() {
			off()
			close(returned)
		}
	}
	limit, url, entered := ctx.Request.timeoutOrDefault(), ctx.Request.Url, j.call.start
	timed := &lazyContext{parent: ctx.Ctx}
	ctx.Ctx = timed
	clock := time.AfterFunc(limit, func() {
		timed.cancel(&TimeoutError{URL: url, Limit: limit})
		time.AfterFunc(2*farewell, func() {
			c.watch.overdue(&j.call, entered)
			drain()
		})
	})
	return func() {
		clock.Stop()
		timed.cancel(nil)
		close(returned)
	}
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
