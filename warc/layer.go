package warc

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria"
)

// layer records the downloads that pass through it.
type layer struct {
	tegenaria.Downloader // the next one
	archive              *Archive
}

var (
	_ tegenaria.Downloader = (*layer)(nil)
	_ tegenaria.Committer  = (*layer)(nil)
	_ tegenaria.Closer     = (*layer)(nil)
)

// Download passes a request on, and records what came of it before it passes the result back.
func (l *layer) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	x := l.archive.begin()
	ctx.CopyWire(&x.body)
	own := make(chan *tegenaria.Context, 2) // a second result is discarded
	l.Downloader.Download(ctx, own)
	var got *tegenaria.Context
	select {
	case got = <-own:
	case <-ctx.Done():
		select {
		case got = <-own:
		default: // it was given up, and may still write to x
			x.giveUp(ctx)
			return
		}
	}
	if err := x.record(ctx, got); err != nil {
		l.archive.fail(err)
	}
	result <- got
}

// giveUp records the failure of a download that has no result in time. x is not used again: the downloader may have it.
func (x *exchange) giveUp(ctx *tegenaria.Context) {
	_, _ = x.body.stop()
	err := x.failure(ctx, context.Cause(ctx))
	if err = errors.Join(err, x.body.close()); err != nil {
		x.archive.fail(err)
	}
}

// CommitKey is part of tegenaria.Committer.
func (l *layer) CommitKey() string { return "warc:" + l.archive.template.path }

// Restore is part of tegenaria.Committer.
func (l *layer) Restore(ctx context.Context, checkpoint []byte) error {
	return l.archive.restore(ctx, checkpoint)
}

// Prepare is part of tegenaria.Committer.
func (l *layer) Prepare(_ context.Context, ids []string) ([]byte, error) {
	return l.archive.prepare(ids)
}

// Discard is part of tegenaria.Committer.
func (l *layer) Discard(id string) { l.archive.discard(id) }

// Close is part of tegenaria.Closer.
func (l *layer) Close(ctx context.Context, _ string) error {
	return l.archive.close(tegenaria.Complete(ctx))
}

// begin takes an exchange that is not in use.
func (a *Archive) begin() *exchange {
	x := a.exchanges.Get().(*exchange)
	x.body.reset(x.sum)
	x.began = time.Now()
	return x
}
