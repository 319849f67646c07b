package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria"
)

// againAfter is how long Run waits before it begins anew.
const againAfter = time.Second

// Run opens a job, has crawl use it, and closes it. It begins anew if the run was fenced, the database was away for
// longer than [Options].Patience, a callback has waited in vain for a host of a server without workers, or the worker
// is to work on another server of the job, until crawl returns without such an error or ctx ends. crawl makes an engine
// with the cache and runs it; it is called again with another cache, and what it opens it has to have closed. The error
// is that of crawl, of [Open] or of [Cache.Close].
func Run(ctx context.Context, dsn, job string, o Options, crawl func(ctx context.Context, cache *Cache) error) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		err := runOnce(ctx, dsn, job, o, crawl)
		var fenced *FencedError
		var failure *Error
		var alone *AloneError
		var stopped *tegenaria.StoppedError
		again := errors.As(err, &alone) || errors.As(err, &fenced) || errors.As(err, &failure) && failure.Away > 0 || errors.As(err, &stopped) && stopped.Reason == movedAway
		if !again || ctx.Err() != nil {
			return err
		}
		pause.Reset(againAfter)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return err
		}
	}
}

func runOnce(ctx context.Context, dsn, job string, o Options, crawl func(ctx context.Context, cache *Cache) error) error {
	cache, err := Open(ctx, dsn, job, o)
	if err != nil {
		return err
	}
	err = crawl(ctx, cache)
	return errors.Join(err, cache.Close())
}
