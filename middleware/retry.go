package middleware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

// MetaMaxRetryTimes is a key of Request.Meta. Its value, an int, is the number of retries of this request, instead of
// RetryOptions.Times; 0 means none. With it, requests of any method are retried. The engine's
// Limits.Attempts (10) applies too.
const MetaMaxRetryTimes = "max_retry_times"

// RetryOptions say which failures [Retry] retries, and when.
type RetryOptions struct {
	Priority int // 0: the place in the package comment's table

	Times int // attempts beyond the first; 0: 3, negative: none

	// Unreachable is how often a request is tried again whose site could not be connected to, which may be an outage, or whose
	// downloader has failed, such as a browser on a machine that is short of memory; 0: 9, which takes two to four
	// minutes; negative: as Times, which also holds where it is more, or none. For start requests Times holds: a site that
	// nobody has seen yet may not exist.
	Unreachable int

	Codes []int // status codes that may be better next time; nil: 408 429 500 502 503 504 522 524

	// Backoff is how long the first retry waits at most, 0: 1 s. It doubles with each further one, up to
	// MaxBackoff, 0: 1 min. The wait is a random part of that, at least the half.
	Backoff, MaxBackoff time.Duration

	// MaxRetryAfter is the longest Retry-After that is waited for, 0: 1 h. A request whose server asks for more is
	// given up: sooner it must not be asked again.
	MaxRetryAfter time.Duration
}

// Retry retries requests after temporary failures: a status code of the list, a timeout, a failed look-up of the
// name, a connection that was refused or broke off, a proxy that refuses for a reason that may go away, a header or a
// body that was cut short, an error of a downloader whose method Temporary returns true, such as a browser that was
// lost. The request waits in the queue, not in a worker, until its back-off and the server's Retry-After (RFC 9110
// §10.2.3, seconds or date) are over. Where there was no connection at all the site may be away for a while: such a
// request is tried more often, see RetryOptions.Unreachable. After the last attempt it ends as gave-up, with a reason
// such as "status 503" or "timeout", and the ErrorHandlers are called.
//
// Failures that would occur again are not retried: a bad certificate, a private address, a body that is
// too large, an invalid request. Neither is a code that RequestWithAllowedStatusCode lets reach the parser. POST
// and other methods that are not idempotent (RFC 9110 §9.2.2) are retried only if the server certainly has not
// acted on them: there was no connection, the proxy made none, or the status was 429 or 503.
type Retry struct {
	part
	times   int
	away    int // of a request whose site could not be connected to
	codes   []int
	backoff time.Duration
	longest time.Duration
	patient time.Duration
}

var (
	_ tegenaria.MiddlewaresInterface = (*Retry)(nil)
	_ tegenaria.ErrorMiddleware      = (*Retry)(nil)
)

// NewRetry makes a Retry.
func NewRetry(o RetryOptions) *Retry {
	codes := slices.Clone(o.Codes)
	if o.Codes == nil {
		codes = []int{408, 429, 500, 502, 503, 504, 522, 524}
	}
	m := &Retry{
		part:    newPart("retry", o.Priority, priorityRetry),
		times:   max(orDefault(o.Times, 3), 0),
		codes:   codes,
		backoff: max(orDefault(o.Backoff, time.Second), 0),
		longest: max(orDefault(o.MaxBackoff, time.Minute), 0),
		patient: max(orDefault(o.MaxRetryAfter, time.Hour), 0),
	}
	if m.away = m.times; m.times > 0 {
		m.away = max(orDefault(o.Unreachable, 9), m.times)
	}
	return m
}

// ProcessError turns a temporary failure into [tegenaria.Retry] or [tegenaria.GiveUp].
func (m *Retry) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	var failure *tegenaria.HandleError
	var decided *tegenaria.RetryError // another middleware has
	if !errors.As(err, &failure) || errors.As(err, &decided) {
		return err
	}
	why := m.transient(failure)
	if why == nil {
		return err
	}
	times, own, bad := m.timesOf(ctx.Request, why)
	switch {
	case bad != nil:
		return errors.Join(bad, err)
	case times == 0, !own && !mayRepeat(ctx.Request.Method, why):
		return err
	case ctx.Request.Attempt >= times:
		return tegenaria.GiveUp(why)
	}
	wait := m.wait(ctx.Request.Attempt)
	if told := retryAfter(failure); told != "" {
		after, ok := httpx.RetryAfter(told, time.Now())
		if ok && after > m.patient {
			return tegenaria.GiveUp(&transientError{text: why.text + ", long Retry-After", err: why.err})
		}
		wait = max(wait, after)
	}
	return tegenaria.Retry(wait, why)
}

// retryAfter returns the Retry-After of the site's answer, or of its proxy's; "" without one.
func retryAfter(failure *tegenaria.HandleError) string {
	var proxy *tegenaria.ProxyError
	switch {
	case failure.Response != nil:
		return first(failure.Response.Header, "Retry-After")
	case errors.As(failure.Err, &proxy):
		return proxy.RetryAfter
	}
	return ""
}

// timesOf returns how often a request is tried again, and whether it says so itself.
func (m *Retry) timesOf(r *tegenaria.Request, why *transientError) (times int, own bool, err error) {
	value, ok := r.Meta[MetaMaxRetryTimes]
	switch {
	case !ok && why.away && r.Depth > 0:
		return m.away, false, nil
	case !ok:
		return m.times, false, nil
	}
	times, ok = value.(int)
	if !ok {
		return 0, true, fmt.Errorf("middleware: Meta[%q] is a %T; it must be an int", MetaMaxRetryTimes, value)
	}
	return max(times, 0), true, nil
}

// wait returns the back-off before the next attempt: exponential, with jitter so that requests that failed together
// do not come back together.
func (m *Retry) wait(attempt int) time.Duration {
	limit := m.backoff
	for range attempt {
		if limit *= 2; limit >= m.longest {
			break
		}
	}
	limit = min(limit, m.longest)
	return limit/2 + time.Duration(rand.Float64()*float64(limit-limit/2))
}

// transientError is a failure that may go away: a short text for statistics over the failure itself.
type transientError struct {
	text   string
	err    error
	unsent bool // the server has not acted on the request
	away   bool // there was no connection to it, or nothing to download with
}

// Error is the short text. That of a proxy names it: there may be many of them.
func (e *transientError) Error() string {
	var proxy *tegenaria.ProxyError
	if errors.As(e.err, &proxy) {
		return e.text + ": " + proxy.Error()
	}
	return e.text
}

// Reason is the text for statistics.
func (e *transientError) Reason() string { return e.text }

func (e *transientError) Unwrap() error { return e.err }

// transient returns why a failure may go away, nil if it will not.
func (m *Retry) transient(failure *tegenaria.HandleError) *transientError {
	switch failure.Stage {
	case tegenaria.StageStatus, tegenaria.StageResponse:
		status, ok := failure.Err.(*tegenaria.StatusError)
		if !ok || !slices.Contains(m.codes, status.Status) {
			return nil
		}
		unsent := status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable
		return &transientError{"status " + strconv.Itoa(status.Status), failure, unsent, false}
	case tegenaria.StageDownload, tegenaria.StageRobots:
		text, unsent := transientText(failure.Err)
		if text == "" {
			return nil
		}
		return &transientError{text, failure, unsent, text == temporary || isAway(failure.Err)}
	}
	return nil
}

// temporary names the failure of a downloader that may be able to work in a minute.
const temporary = "temporary failure"

// transientText names the failure of a network, "" for others.
func transientText(err error) (text string, unsent bool) {
	var (
		lookup  *net.DNSError
		op      *net.OpError
		timeout interface{ Timeout() bool }
		cut     *tegenaria.TruncatedBodyError
		cutHead *tegenaria.TruncatedHeaderError
		silent  *tegenaria.NoResultError
		private *tegenaria.PrivateAddressError
		proxy   *tegenaria.ProxyError
		other   interface{ Temporary() bool }
	)
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &private):
		return "", false
	case errors.As(err, &proxy) && proxy.Refused():
		if proxy.Temporary() {
			return refusal(proxy), true
		}
		return "", false
	case errors.As(err, &lookup):
		return "name lookup", true
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", true
	case errors.As(err, &op) && op.Op == "dial":
		return "connect", true
	case errors.As(err, &timeout) && timeout.Timeout(), errors.As(err, &silent):
		return "timeout", false
	case errors.As(err, &cut):
		return "body cut short", false
	case errors.As(err, &cutHead):
		return "header cut short", false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection broken", proxy != nil
	case op != nil && (op.Op == "read" || op.Op == "write"):
		return "connection broken", false
	case errors.As(err, &other) && other.Temporary(): // of a downloader of its own, such as a browser
		return temporary, false
	}
	message := err.Error() // net/http has no types for these
	for _, known := range [...]string{"server closed idle connection", "server sent GOAWAY", "stream error: ", "connection error: ", "client connection lost", "transport connection broken"} {
		if strings.Contains(message, known) {
			return "connection broken", false
		}
	}
	return "", false
}

// isAway reports whether there was no connection to the site, though there may be one in a minute.
func isAway(err error) bool {
	var lookup *net.DNSError
	var op *net.OpError
	var proxy *tegenaria.ProxyError
	switch {
	case errors.As(err, &proxy):
		return false
	case errors.As(err, &lookup):
		return !lookup.IsNotFound
	}
	return errors.As(err, &op) && op.Op == "dial"
}

// refusal names how a proxy has refused to connect to a site.
func refusal(proxy *tegenaria.ProxyError) string {
	if proxy.Status != 0 {
		return "proxy status " + strconv.Itoa(proxy.Status)
	}
	return "proxy reply " + strconv.Itoa(proxy.Reply)
}

// mayRepeat reports whether a request of this method may be sent again.
func mayRepeat(method string, why *transientError) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return why.unsent
}
