package tegenaria

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// WriterBusyError is the failure of a request whose ResponseWriter still has not returned from a Write of an earlier
// request, which was given up meanwhile: no two shall write to it at once.
type WriterBusyError struct{ URL string }

// Error names URL and remedy.
func (e *WriterBusyError) Error() string {
	return fmt.Sprintf("the ResponseWriter of %s has not returned from a Write of a request that was given up; use another one", urlx.Redact(e.URL))
}

// errTurnOver is told to who writes for a request that has ended.
var errTurnOver = errors.New("the request has ended: nothing more may be written to its ResponseWriter")

// writers knows the ResponseWriters that somebody writes to whose request has ended.
type writers struct {
	mu   sync.Mutex  // guards what follows, and all turns
	left map[any]int // how many such Writes, by writer
}

// turn is the right of one attempt at a request to write to its ResponseWriter.
type turn struct {
	all    *writers
	own    io.Writer
	key    any // own, if it can be told from others: a func cannot
	url    string
	n      int64 // bytes that were written
	inside bool  // a Write has not returned
	over   bool
}

// takeTurn gives the job's next attempt the right to write, if its request has a ResponseWriter.
func (j *job) takeTurn() {
	r := j.ctx.Request
	if j.turn = nil; r.ResponseWriter == nil {
		return
	}
	j.turn = &turn{all: &j.crawl.fetcher.writers, own: r.ResponseWriter, url: r.Url}
	if reflect.ValueOf(r.ResponseWriter).Comparable() {
		j.turn.key = r.ResponseWriter
	}
}

// endTurn takes the right away, and counts what was written.
func (j *job) endTurn() {
	if j.turn != nil {
		j.written += j.turn.end()
	}
}

// Write writes while the attempt lasts.
func (t *turn) Write(p []byte) (n int, err error) {
	if err := t.enter(); err != nil {
		return 0, err
	}
	defer func() { t.leave(n) }()
	return t.own.Write(p)
}

func (t *turn) enter() error {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	switch {
	case t.over:
		return errTurnOver
	case t.key != nil && t.all.left[t.key] > 0:
		return &WriterBusyError{URL: t.url}
	}
	t.inside = true
	return nil
}

func (t *turn) leave(n int) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.inside = false
	t.n += int64(n)
	if !t.over || t.key == nil {
		return
	}
	if t.all.left[t.key]--; t.all.left[t.key] == 0 {
		delete(t.all.left, t.key)
	}
}

// end takes the right away and returns how much was written. Nobody else writes until a Write that is under way
// returns.
func (t *turn) end() (written int64) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if !t.over && t.inside && t.key != nil {
		if t.all.left == nil {
			t.all.left = make(map[any]int)
		}
		t.all.left[t.key]++
	}
	t.over = true
	return t.n
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
	if j == nil || j.turn == nil {
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
	return j.turn.Write(p)
}
