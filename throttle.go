package tegenaria

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// answer is what came of a download, as politeness sees it.
type answer struct {
	status   int           // 0: no response came
	latency  time.Duration // to its header; 0: unknown
	overload bool          // there is no response because the host did not answer, or hung up
	after    time.Duration // Retry-After of 429 and 503; 0: none
}

// answerOf looks at what a download came to.
func answerOf(ctx *Context, herr *HandleError) (a answer) {
	if herr == nil && ctx.DownloadResult != nil {
		herr = ctx.DownloadResult.Error
	}
	resp := ctx.Response()
	if resp == nil {
		a.overload = herr != nil && isOverload(herr.Err)
		return a
	}
	a.status = resp.Status
	if resp.transfer != nil {
		a.latency = max(time.Duration(resp.Delay*float64(time.Second))-resp.transfer.Body, 0)
	}
	if a.refused() {
		a.after, _ = httpx.RetryAfter(firstHeader(resp.Header, "Retry-After"), time.Now())
	}
	return a
}

// refused reports whether the host says that it has too much to do (RFC 6585 §4, RFC 9110 §15.6.4).
func (a answer) refused() bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
}

// isOverload reports whether a failure looks like that of a host that has too much to do: it is silent, or hangs up. A
// name that cannot be looked up, a bad certificate, a body that is too large and the like say nothing about that.
func isOverload(err error) bool {
	var (
		lookup  *net.DNSError
		timeout interface{ Timeout() bool }
		op      *net.OpError
		silent  *NoResultError
	)
	switch {
	case err == nil, errors.As(err, &lookup):
		return false
	case errors.As(err, &silent), errors.As(err, &timeout) && timeout.Timeout():
		return true
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "read" || op.Op == "write"):
		return true
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

// answered is told what came of a grant, and takes it back.
func (s *scheduler) answered(grant *slots.Grant, a answer, started time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := a.refused() || a.overload && s.throttled
	if refused || a.status > 0 && (s.throttled || grant.Slot.Learnt()) {
		now := s.now()
		if a.latency == 0 && a.status > 0 {
			a.latency = max(now.Sub(started), 1)
		}
		s.slots.Answered(grant, now, slots.Answer{
			Latency: a.latency, OK: a.status == http.StatusOK, Refused: refused,
			RetryAfter: min(a.after, s.maxRetryAfter), Spread: rand.Float64(),
		})
		s.answeredBlock(grant.Slot.Name(), a, refused, now)
	}
	if refused {
		s.keep(grant.Slot.Name())
	}
	s.slots.Release(grant)
	s.signal()
}
