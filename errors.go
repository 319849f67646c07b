package tegenaria

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// HandleError is a failure of a request or an item, with its circumstances. It is an error:
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

// WriterBusyError is the failure of a request whose ResponseWriter still has not returned from a Write of an earlier
// request, which was given up meanwhile: no two shall write to it at once.
type WriterBusyError struct{ URL string }

// Error names URL and remedy.
func (e *WriterBusyError) Error() string {
	return fmt.Sprintf("the ResponseWriter of %s has not returned from a Write of a request that was given up; use another one", urlx.Redact(e.URL))
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

// StoppedError is the error of Run when a crawl was ended before its work was done: by Stop, a limit, a full
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

// StopError is the error of Stop when the crawl has not ended although its grace is over: most likely because
// it waits for the callback that Stop was called in.
type StopError struct{ Waited time.Duration }

// Error names the remedy.
func (e *StopError) Error() string {
	return fmt.Sprintf("tegenaria: the crawl has not ended within %s; if Stop was called in a callback, the crawl waits for that one: return CloseSpider instead, or call \"go e.Stop(ctx)\"", e.Waited)
}

// RunError is the error of Run when a crawl could not be started or its store failed.
type RunError struct {
	Op  string // "wiring", "start", "store"
	Err error  // joined if there are several
}

// Error names the step that failed and the cause.
func (e *RunError) Error() string { return fmt.Sprintf("tegenaria: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// AbandonedError says how many callbacks were given up because they did not return in time. The
// goroutines they run in are theirs until they return.
type AbandonedError struct{ Stages map[Stage]int }

// Error lists stages and counts.
func (e *AbandonedError) Error() string {
	return "tegenaria: callbacks that did not return were abandoned: " + countsByStage(e.Stages)
}

// countsByStage prints counts in the order of their stages' names.
func countsByStage(counts map[Stage]int) string {
	parts := make([]string, 0, len(counts))
	for s, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", s, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
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

// The verbs steer the engine from user code: they are returned as errors, alone or wrapped.

type dropItemError struct{ reason error }

func (e *dropItemError) Error() string { return fmt.Sprintf("tegenaria: item dropped: %v", e.reason) }
func (e *dropItemError) Unwrap() error { return e.reason }

// DropItem is returned by a pipeline to end an item without calling it a failure: it is counted as
// dropped, the ItemDropped event sees the reason, and no ErrorHandler is called.
func DropItem(reason error) error { return &dropItemError{reason} }

type closeSpiderError struct{ reason string }

func (e *closeSpiderError) Error() string { return "tegenaria: spider closed: " + e.reason }

// CloseSpider is returned from any callback that returns an error, to stop the crawl gracefully: work in
// hand finishes, and Run returns a [*StoppedError] with this reason, unless nothing was left to do.
func CloseSpider(reason string) error { return &closeSpiderError{reason} }

// RetryError is the error that [Retry] returns. An [ErrorMiddleware] finds it by errors.As in an error that is no failure yet: the
// request is going to run again, unless its attempts are used up.
type RetryError struct {
	After time.Duration // the request does not run before this has passed; 0: at once
	Err   error         // the reason; nil if Retry was given none
}

// Error says when and why.
func (e *RetryError) Error() string {
	return fmt.Sprintf("tegenaria: retry after %s: %v", e.After, e.Err)
}

// Unwrap returns the reason.
func (e *RetryError) Unwrap() error { return e.Err }

// Retry is returned by a parser or a middleware to run the request again, not before after has
// passed. It waits in the cache as it was accepted, with its Attempt one higher; requests that this
// attempt has sent are kept, what committers staged of its items is discarded. Above
// Limits.Attempts the request settles as gave-up.
func Retry(after time.Duration, reason error) error {
	return &RetryError{max(after, 0), reason}
}

type giveUpError struct{ reason error }

func (e *giveUpError) Error() string { return fmt.Sprintf("tegenaria: gave up: %v", e.reason) }
func (e *giveUpError) Unwrap() error { return e.reason }

// GiveUp is returned by a parser or a middleware that has tried often enough: the request settles as gave-up,
// with the reason's text, after the ErrorHandlers were told. The text becomes a key of Stats.Reasons: keep
// it short and without the URL.
func GiveUp(reason error) error { return &giveUpError{reason} }

func asGiveUp(err error) *giveUpError {
	var e *giveUpError
	if err != nil && errors.As(err, &e) {
		return e
	}
	return nil
}

// ignoreError is ErrIgnoreRequest with a reason.
type ignoreError struct{ reason string }

func (e *ignoreError) Error() string        { return "tegenaria: request ignored: " + e.reason }
func (e *ignoreError) Is(target error) bool { return target == ErrIgnoreRequest }

// IgnoreRequest is [ErrIgnoreRequest] with a reason: the request settles as filtered(reason). The reason becomes a
// key of Stats.Reasons: keep it short and without the URL. An error that wraps it and has a method Notice() string is
// written to the log as a warning, with that text.
func IgnoreRequest(reason string) error { return &ignoreError{reason} }

// ignoreReason returns the reason of an error that is ErrIgnoreRequest.
func ignoreReason(err error) string {
	var e *ignoreError
	if errors.As(err, &e) && e.reason != "" {
		return e.reason
	}
	return "ignored"
}

func asRetry(err error) *RetryError {
	var e *RetryError
	if err != nil && errors.As(err, &e) {
		return e
	}
	return nil
}

func asCloseSpider(err error) (string, bool) {
	var e *closeSpiderError
	if err != nil && errors.As(err, &e) {
		return e.reason, true
	}
	return "", false
}
