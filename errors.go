package tegenaria

import (
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Stage names the part of the way of a request in which something happened.
type Stage string

// The stages, in the order of the way.
const (
	StageStart    Stage = "start"    // StartRequest or Start
	StageAccept   Stage = "accept"   // scope filters, identity, cache
	StageRobots   Stage = "robots"   // robots.txt of the request's origin
	StageRequest  Stage = "request"  // middlewares' ProcessRequest
	StageDownload Stage = "download" // the downloader
	StageResponse Stage = "response" // middlewares' ProcessResponse
	StageStatus   Stage = "status"   // the response's status code is not allowed
	StageRedirect Stage = "redirect" // a redirect that cannot be followed
	StageParse    Stage = "parse"    // the request's parser
	StagePipeline Stage = "pipeline" // an item's pipelines
	StageError    Stage = "error"    // ErrorHandler or an ErrorMiddleware
	StageEvent    Stage = "event"    // a func of Events
	StageSettle   Stage = "settle"   // committers and the cache
	StageOpen     Stage = "open"     // Open, and what the cache does before the first request
	StageClose    Stage = "close"    // Close
)

// ErrIgnoreRequest is returned by ProcessRequest, AcceptRequest or ProcessResponse to give the request
// up without calling it a failure: it settles as filtered, and no ErrorHandler is called.
var ErrIgnoreRequest = errors.New("tegenaria: request ignored")

// ErrOutputClosed is returned by the methods of [Output] when the handler has returned or the crawl
// is over: nothing was sent.
var ErrOutputClosed = errors.New("tegenaria: output closed: the handler has returned or the crawl is over")

// HandleError is a failure of a request or an item, with what is known of it. It is an error:
// errors.Is and errors.As reach Err.
//
// Request and Response are those that the failed code had. Of a callback that was given up, which may still be writing to
// its own, Request is a copy of the request as it was accepted, and Response is nil.
type HandleError struct {
	CtxId    string
	Err      error
	Request  *Request
	Response *Response // nil if none came, or the callback that has it was given up
	Item     *ItemMeta
	Stage    Stage
	Stack    []byte // where a panic came from, nil otherwise
}

// ErrorOption adds to a [HandleError].
type ErrorOption func(e *HandleError)

// ErrorWithRequest names the request that failed.
func ErrorWithRequest(r *Request) ErrorOption { return func(e *HandleError) { e.Request = r } }

// ErrorWithResponse adds the response, if there was one.
func ErrorWithResponse(r *Response) ErrorOption { return func(e *HandleError) { e.Response = r } }

// ErrorWithItem adds the item that failed.
func ErrorWithItem(item *ItemMeta) ErrorOption { return func(e *HandleError) { e.Item = item } }

// ErrorWithStage says where it happened.
func ErrorWithStage(stage Stage) ErrorOption { return func(e *HandleError) { e.Stage = stage } }

// NewError makes a HandleError of an error. That an option is nil is joined to the error.
func NewError(ctxId string, err error, opts ...ErrorOption) *HandleError {
	e := &HandleError{CtxId: ctxId, Err: err}
	for i, opt := range opts {
		if opt == nil {
			e.Err = errors.Join(e.Err, fmt.Errorf("NewError: ErrorOption %d is nil; leave it out", i+1))
			continue
		}
		opt(e)
	}
	return e
}

// Error says stage, URL and cause.
func (e *HandleError) Error() string {
	if e.Request == nil {
		return fmt.Sprintf("tegenaria: %s: %v", e.Stage, e.Err)
	}
	return fmt.Sprintf("tegenaria: %s of %s: %v", e.Stage, urlx.Redact(e.Request.Url), e.Err)
}

// Unwrap returns Err.
func (e *HandleError) Unwrap() error { return e.Err }

// stackError is an error that knows the stack of the panic it came from.
type stackError struct {
	error
	stack []byte
}

func (e *stackError) Unwrap() error { return e.error }

// unstack puts the stack that the cause brings along where users look for it.
func (e *HandleError) unstack() *HandleError {
	var stacked *stackError
	if !errors.As(e.Err, &stacked) {
		return e
	}
	if e.Stack == nil {
		e.Stack = stacked.stack
	}
	if e.Err == error(stacked) {
		e.Err = stacked.error
	}
	return e
}

// PanicError is a panic of user code, turned into an error: Value is what it panicked with, and Unwrap returns that if it is an
// error. The stack is in HandleError.Stack.
type PanicError = guard.PanicError

// NoResultError is the failure of a downloader that sent no result in time.
type NoResultError struct{ Waited time.Duration }

// Error says how long the engine waited.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("the downloader sent no result within %s", e.Waited)
}

// StatusError is the failure of a response whose status code is 400 or more and not allowed.
type StatusError struct {
	Status int
	URL    string
}

// Error names code, URL and remedy.
func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d of %s (RequestWithAllowedStatusCode lets it reach the parser)", e.Status, urlx.Redact(e.URL))
}

// StoppedError is what Run returns when a crawl was ended before its work was done: by Stop, a limit, a full
// queue, or CloseSpider.
type StoppedError struct {
	Reason string // "stopped", "limit: pages", "queue full", CloseSpider's reason …
	Err    error  // the cause, if there is a typed one
}

// Error says the reason.
func (e *StoppedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("tegenaria: crawl stopped: %s: %v", e.Reason, e.Err)
	}
	return "tegenaria: crawl stopped: " + e.Reason
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// StopError is what Stop returns when the crawl has not ended although its grace is over: most likely because
// it waits for the callback that Stop was called in.
type StopError struct{ Waited time.Duration }

// Error names the remedy.
func (e *StopError) Error() string {
	return fmt.Sprintf("tegenaria: the crawl has not ended within %s; if Stop was called in a callback, the crawl waits for that one: return CloseSpider instead, or call \"go e.Stop(ctx)\"", e.Waited)
}

// RunError is what Run returns when a crawl could not be started or its store failed.
type RunError struct {
	Op  string // "wiring", "start", "store"
	Err error  // joined if there are several
}

// Error says what failed and why.
func (e *RunError) Error() string { return fmt.Sprintf("tegenaria: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// AbandonedError tells how many callbacks were given up because they did not return in time. The
// goroutines they run in are theirs until they return.
type AbandonedError struct{ Stages map[Stage]int }

// Error lists stages and counts.
func (e *AbandonedError) Error() string {
	return "tegenaria: callbacks that did not return were abandoned: " + countsByStage(e.Stages)
}

// abandonedBy is the error of one callback that was given up, because of a limit of its own unless tooLate is nil.
func abandonedBy(at Stage, tooLate error) error {
	abandoned := &AbandonedError{map[Stage]int{at: 1}}
	if tooLate != nil {
		return fmt.Errorf("%w; %w", tooLate, abandoned)
	}
	return abandoned
}

// CallbackTimeoutError is the cause given to a callback's context when it overruns Limits.Callback.
type CallbackTimeoutError struct {
	Stage Stage
	Limit time.Duration
}

// Error names stage and limit.
func (e *CallbackTimeoutError) Error() string {
	return fmt.Sprintf("tegenaria: callback of stage %s ran longer than Limits.Callback = %s", e.Stage, e.Limit)
}

// RequestError is a request that cannot be accepted: a bad URL, an unknown scheme, a part that a
// durable cache cannot store.
type RequestError struct {
	URL    string
	Field  string // the part at fault: "Url", "ResponseWriter", "Meta[x]" …
	Remedy string // what to do, may be empty
	Err    error
}

// Error names URL, field, cause and remedy.
func (e *RequestError) Error() string {
	s := fmt.Sprintf("tegenaria: request %q: %s: %v", urlx.Redact(e.URL), e.Field, urlx.Cause(e.Err))
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// TooManyRedirectsError is the failure of a chain of redirects longer than MaxRedirects.
type TooManyRedirectsError struct {
	URL   string
	Limit int
}

// Error names the limit.
func (e *TooManyRedirectsError) Error() string {
	return fmt.Sprintf("maximum number of redirects (%d) reached at %s", e.Limit, urlx.Redact(e.URL))
}

// RedirectLoopError is the failure of a redirect to an URL of its own chain.
type RedirectLoopError struct{ URL string }

// Error names the URL.
func (e *RedirectLoopError) Error() string { return "redirect loop at " + urlx.Redact(e.URL) }

// RobotsError is the failure of a Fetch that robots.txt forbids, or whose robots.txt cannot be read.
type RobotsError struct {
	URL         string
	Unreachable bool
}

// Error names the URL.
func (e *RobotsError) Error() string {
	if e.Unreachable {
		return "robots.txt for " + urlx.Redact(e.URL) + " is unreachable"
	}
	return "robots.txt forbids " + urlx.Redact(e.URL)
}

// RobotsUnreachableError is the failure of a request whose robots.txt could not be asked for because of the
// network, as that of a dead host: until it is known, nothing of that origin may be fetched (RFC 9309
// §2.3.1.4).
type RobotsUnreachableError struct {
	Origin string // "https://example.com"
	Err    error  // how the host failed
}

// Error names origin, cause and remedy.
func (e *RobotsUnreachableError) Error() string {
	return fmt.Sprintf("%s could not be asked for its robots.txt, so nothing of it is fetched: %v", e.Origin, e.Err)
}

// Unwrap returns the cause.
func (e *RobotsUnreachableError) Unwrap() error { return e.Err }

// RobotsAnswerError is the failure of a request whose robots.txt a middleware has answered, or changed, so that nothing
// of it is left: that would allow everything, and the site has not said so. See [InternalMiddleware].
type RobotsAnswerError struct {
	URL        string // of robots.txt
	Middleware string // its name
	Missing    string // "body", or "Location" of a redirect
}

// Error names middleware, URL and remedy.
func (e *RobotsAnswerError) Error() string {
	if e.Missing == "Location" {
		return fmt.Sprintf("the middleware %q answered %s by a redirect without Location; store the header of a response with its status, or do not answer", e.Middleware, urlx.Redact(e.URL))
	}
	return fmt.Sprintf("the middleware %q left %s without a body, which would allow everything; hand on the body that ProcessResponse saw, "+
		"or say that there are no rules by the status 404 or the header Content-Length: 0", e.Middleware, urlx.Redact(e.URL))
}

// MissedErrorsError arrives on an ErrorChan whose reader was too slow: that many errors were not
// delivered before the next one.
type MissedErrorsError struct{ Count int64 }

// Error says how many.
func (e *MissedErrorsError) Error() string {
	return fmt.Sprintf("tegenaria: %d errors were not delivered: the reader of ErrorChan was too slow", e.Count)
}
