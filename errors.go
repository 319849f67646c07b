package tegenaria

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Stage is the part of the engine in which an error or event occurred.
type Stage string

// The stages, in the order in which a request passes them.
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

// ErrIgnoreRequest, returned by a middleware, ends the request as filtered: it is not a failure, and no ErrorHandler is called.
var ErrIgnoreRequest = errors.New("tegenaria: request ignored")

// ErrOutputClosed is returned by the methods of [Output] when the handler has returned or the crawl
// is over: nothing was sent.
var ErrOutputClosed = errors.New("tegenaria: output closed: the handler has returned or the crawl is over")

// HandleError is a failure of a request or an item, with the request, the response and the stage. It is an error:
// errors.Is and errors.As reach Err.
//
// Request and Response are those of the failed code. For an abandoned callback that has not returned when the failure is reported, and
// may still be writing to them, Request is a copy of the request as it was accepted, and Response is nil.
type HandleError struct {
	CtxId    string
	Err      error
	Request  *Request
	Response *Response // nil if none came, or the callback that has it has not returned
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

// ErrorWithStage sets the stage.
func ErrorWithStage(stage Stage) ErrorOption { return func(e *HandleError) { e.Stage = stage } }

// NewError makes a HandleError of an error. If an option is nil, an error that says so is joined to it.
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

// Error names the code that failed, the URL and the cause; for a status code only the code, the URL and the remedy.
func (e *HandleError) Error() string {
	if e.Request == nil {
		return report.Failed(string(e.Stage), "", fmt.Sprint(e.Err))
	}
	url := e.Request.Url
	if status, ok := e.Err.(*StatusError); ok && e.Stage == StageStatus && status.URL == url {
		return "tegenaria: " + status.Error()
	}
	return report.Failed(string(e.Stage), urlx.Redact(url), fmt.Sprint(e.Err))
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

// PanicError is a panic of user code, turned into an error: Value is the value of the panic, which Unwrap returns if it is an
// error. The stack is in HandleError.Stack.
type PanicError = guard.PanicError

// NoResultError is the failure of a downloader that sent no result in time.
type NoResultError struct{ Waited time.Duration }

// Error says how long the engine waited.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("the downloader sent no result within %s; Download must send one", report.Duration(e.Waited))
}

// WriterBusyError is the failure of a request whose ResponseWriter has not yet returned from a Write of an earlier,
// abandoned request: two requests must not write to it at once.
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
	return fmt.Sprintf("status %d of %s (to parse such a page, use RequestWithAllowedStatusCode)", e.Status, urlx.Redact(e.URL))
}

// StoppedError is the error of Run when a crawl was stopped before its work was done: by Stop, a signal, a limit, a full
// queue, CloseSpider, or because nothing was left but callbacks that had not returned.
type StoppedError struct {
	Reason string // "stopped", "limit: pages", "queue full", "abandoned", CloseSpider's reason …
	Err    error  // the cause, if there is a typed one
}

// Error says the reason.
func (e *StoppedError) Error() string {
	var interrupted *InterruptedError
	switch {
	case errors.As(e.Err, &interrupted):
		return "tegenaria: " + interrupted.Error()
	case e.Err != nil:
		return fmt.Sprintf("tegenaria: crawl stopped: %s: %v", e.Reason, e.Err)
	}
	return "tegenaria: crawl stopped: " + e.Reason
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// StopError is the error of Stop when the crawl outlasts the grace, most likely because it waits for the caller of Stop.
type StopError struct{ Waited time.Duration }

// Error names the remedy.
func (e *StopError) Error() string {
	return fmt.Sprintf("tegenaria: the crawl has not ended within %s; if Stop was called in a callback, the crawl waits for that one: return CloseSpider instead, or call \"go e.Stop(ctx)\"", e.Waited)
}

// RunError is the error of Run when a crawl could not be started or its store failed.
type RunError struct {
	Op  string // "wiring" (the configuration), "start", "store"
	Err error  // joined if there are several
}

// Error names the step that failed and the cause.
func (e *RunError) Error() string {
	if _, opening := e.Err.(*report.OpeningError); opening {
		return fmt.Sprintf("tegenaria: %v", e.Err)
	}
	step := e.Op
	switch step {
	case "wiring":
		step = "configuration"
	case "store":
		step = "storing requests or items failed"
	}
	return fmt.Sprintf("tegenaria: %s: %v", step, e.Err)
}

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// AbandonedError says how many callbacks were abandoned because they did not return in time. Their
// goroutines run on until they return. The request of such a callback fails when it returns. If it has not returned when nothing else
// is left to do, Run also returns a [*StoppedError] with the reason "abandoned": in a durable job the request runs again, as a retry;
// otherwise it has failed, without its ErrorHandlers.
type AbandonedError struct{ Stages map[Stage]int }

// Error lists the stages, each with its number of callbacks.
func (e *AbandonedError) Error() string {
	parts := make([]string, 0, len(e.Stages))
	for s, n := range e.Stages {
		parts = append(parts, fmt.Sprintf("%s (%d)", report.Code(string(s)), n))
	}
	slices.Sort(parts)
	return "tegenaria: code that did not return in time was left behind: " + strings.Join(parts, ", ")
}

// abandonedBy is the error of one callback that was given up, because of a limit of its own unless tooLate is nil.
func abandonedBy(at Stage, tooLate error) error {
	abandoned := &AbandonedError{map[Stage]int{at: 1}}
	if tooLate != nil {
		return fmt.Errorf("%w; %w", tooLate, abandoned)
	}
	return abandoned
}

// CallbackTimeoutError is the cause of the cancellation of a callback's context when the callback exceeds Limits.Callback.
type CallbackTimeoutError struct {
	Stage Stage
	Limit time.Duration
}

// Error names the code and the limit.
func (e *CallbackTimeoutError) Error() string {
	return fmt.Sprintf("tegenaria: %s ran longer than Limits.Callback = %s", report.Code(string(e.Stage)), e.Limit)
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

// InterruptedError is the cause of a [*StoppedError] when a signal, such as that of Ctrl-C, has stopped the crawl.
type InterruptedError struct {
	Waiting int64 // requests that were not crawled
	Durable bool  // they are stored: the next run of the job goes on with them
}

// Error says how to go on.
func (e *InterruptedError) Error() string {
	if e.Durable {
		return fmt.Sprintf("interrupted: run the same command to go on (%s waiting)", report.Count(e.Waiting, "request"))
	}
	return fmt.Sprintf("interrupted: what waited in memory is lost (%s); with a queue on disk, EngineWithCache and cache/disk, the same command goes on", report.Count(e.Waiting, "request"))
}
