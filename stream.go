package tegenaria

import (
	"errors"
	"fmt"
	"io"
	"reflect"
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
	j.turn = &turn{all: &j.crawl.writers, own: r.ResponseWriter, url: r.Url}
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

// stream copies the body to the request's ResponseWriter.
func (x *exchange) stream(resp *Response) (err error) {
	scratch, _ := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(scratch)
	written := 0
	for err == nil {
		var n int
		n, err = x.Read(scratch[:])
		if n == 0 {
			continue
		}
		m, failed := x.write(scratch[:n])
		if written += max(m, 0); failed == nil && m != n {
			failed = io.ErrShortWrite
		}
		if failed != nil {
			x.broken, err = nil, fmt.Errorf("writing the body to the ResponseWriter: %w", failed)
		}
	}
	resp.SetBody(nil)
	resp.ContentLength = written
	return endOfBody(err)
}

// write writes to the request's ResponseWriter. It is user code: when it takes longer than is left of the request's
// time, or than Limits.Callback, the request is given up.
func (x *exchange) write(p []byte) (int, error) {
	j := x.ctx.job
	if j == nil || j.turn == nil {
		return x.r.ResponseWriter.Write(p)
	}
	limit, late := x.clock.left()
	if callback := x.down.limits.Callback; callback > 0 && (limit == 0 || callback < limit) {
		limit, late = callback, &CallbackTimeoutError{Stage: StageDownload, Limit: callback}
	}
	if limit > 0 {
		watch := j.crawl.watch
		watch.Limited(&j.call, limit, late)
		defer watch.Limited(&j.call, 0, nil)
	}
	return j.turn.Write(p)
}

// left returns what is left of the whole exchange's time, and the error when it is over; 0 is no limit.
func (c *clock) left() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all.IsZero() {
		return 0, nil
	}
	return max(time.Until(c.all), 1), &TimeoutError{URL: c.url, Limit: c.limits.all}
}
