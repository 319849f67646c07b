package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// WriterBusyError is the failure of a request whose ResponseWriter still has not returned from a Write of an earlier
// request, which was given up meanwhile: no two shall write to it at once.
type WriterBusyError struct{ URL string }

// Error names URL and remedy.
func (e *WriterBusyError) Error() string {
	return fmt.Sprintf("the ResponseWriter of %s has not returned from a Write of a request that was given up; use another one", urlx.Redact(e.URL))
}

// newWriters lends the ResponseWriters of requests to their downloads.
func newWriters() *guard.Writers {
	over := errors.New("the request has ended: nothing more may be written to its ResponseWriter")
	return guard.NewWriters(over, func(url string) error { return &WriterBusyError{URL: url} })
}

// lendWriter gives the job's download the right to write, if its request has a ResponseWriter.
func lendWriter(j *job) {
	if r := j.ctx.Request; r.ResponseWriter != nil {
		j.loan = j.crawl.fetcher.writers.Lend(r.ResponseWriter, r.Url)
	}
}

// rewind prepares the request's ResponseWriter for another attempt. It returns false if a part of the body was written
// and cannot be taken back.
func rewind(j *job) bool {
	if j.loan.Written() == 0 {
		return true
	}
	w, ok := j.ctx.Request.ResponseWriter.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok || w.Truncate(0) != nil {
		return false
	}
	_, err := w.Seek(0, io.SeekStart)
	return err == nil
}

// bodyWriter is the ResponseWriter of a request that the engine's own downloader asks for.
type bodyWriter struct {
	down *httpDownloader
	ctx  *Context
}

// Takes reports whether the body of a response with this status goes to the ResponseWriter.
func (w *bodyWriter) Takes(status int) bool {
	code := uint64(max(status, 0))
	return w.down.CheckStatus(code, w.down.allowStatus) || slices.Contains(w.ctx.Request.allowStatus, code)
}

// WriteWithin writes to the ResponseWriter. It is user code: when it takes longer than is left of the request's time, or than
// Limits.Callback, the request is given up.
func (w *bodyWriter) WriteWithin(p []byte, left time.Duration, late error) (int, error) {
	j := w.ctx.job
	if j == nil || j.loan == nil {
		return w.ctx.Request.ResponseWriter.Write(p)
	}
	if callback := w.down.limits.Callback; callback > 0 && (left == 0 || callback < left) {
		left, late = callback, &CallbackTimeoutError{Stage: StageDownload, Limit: callback}
	}
	if left > 0 {
		watch := j.crawl.watch
		watch.Limited(&j.call, left, late)
		defer watch.Limited(&j.call, 0, nil)
	}
	return j.loan.Write(p)
}

// asking is the Context given to a downloader that is not the engine's own, or that writes to a ResponseWriter. The downloader
// may write to it when the engine does not wait for the result any more.
type asking struct {
	Context
	url    string
	life   guard.Context
	result chan *Context

	dropped chan struct{} // closed when it was given up; nil unless apart waits for that

	mu       sync.Mutex    // guards the fields below
	returned bool          // Download has
	gone     chan struct{} // closed when Download has returned; nil unless LetGo waits for that
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
