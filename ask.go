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

// asking is what a downloader that is not the engine's own is asked with. It may write to its Context when
// nobody waits for the result any more.
type asking struct {
	Context
	life lazyContext
}

// ask calls a downloader and waits for its one result, which may come after Download has returned. The
// request's timeout bounds both.
func (c *crawl) ask(j *job, d *downloaderModule, ctx *Context, started time.Time) (got *Context, stack []byte, err error) {
	own, asked := ctx.Ctx, ctx
	var theirs *asking
	if c.http == nil || d.Downloader != Downloader(c.http) {
		theirs = &asking{Context: *ctx}
		theirs.life.parent, theirs.Ctx, asked = own, &theirs.life, &theirs.Context
		if ctx.Request.timeout >= 0 {
			c.watch.bound(&j.call, &theirs.life, ctx.Request.Url, started, ctx.Request.timeoutOrDefault())
		}
	}
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	stack, err = protect(func() error { d.Download(asked, result); return nil })
	if err == nil {
		got, err = awaitResult(own, result, started, ctx.Request.timeoutOrDefault()+farewell)
	}
	if theirs != nil {
		theirs.life.cancel(nil)
	}
	return got, stack, err
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
