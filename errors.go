package tegenaria

import (
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/remedy"
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

// ErrIgnoreRequest, returned by a middleware, ends the request as filtered: it is not a failure, and no ErrorHandler is
// called.
var ErrIgnoreRequest = errtext.New("request ignored")

// ErrOutputClosed is returned by the methods of [Output] when the handler has returned or the crawl
// is over: nothing was sent.
var ErrOutputClosed = errtext.New("output closed: the handler has returned or the crawl is over")

// errLeft keeps an item that the loop of Crawl did not take from being counted.
var errLeft = errors.New("the loop was left")

// HandleError is a failure of a request or an item, with the request, the response and the stage. It is an error:
// errors.Is and errors.As reach Err.
//
// Request and Response are those of the failed code. For an abandoned callback that has not returned when the failure
// is reported, and may still be writing to them, Request is a copy of the request as it was accepted, and Response is
// nil.
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
	e := &HandleError{CtxId: ctxId, Err: err, Stack: guard.Stack(err)}
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
func (e *HandleError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown, and without "tegenaria: ".
func (e *HandleError) WithoutURL(shown string) string {
	if e.Request == nil {
		return report.Failed(string(e.Stage), "", errtext.Beside(e.Err, shown))
	}
	url := e.Request.Url
	if status, ok := e.Err.(*StatusError); ok && e.Stage == StageStatus && status.URL == url {
		return status.WithoutURL(shown)
	}
	url = urlx.Redact(url)
	text := errtext.Beside(e.Err, url)
	switch {
	case url != shown:
		return report.Failed(string(e.Stage), url, text)
	case e.Stage == StageAccept || e.Stage == StageRobots || e.Stage == StageStatus: // they are about the URL, not about code
		return text
	}
	return report.Failed(string(e.Stage), "", text)
}

// Unwrap returns Err.
func (e *HandleError) Unwrap() error { return e.Err }

// PanicError is a panic of user code, turned into an error: Value is the value of the panic, which Unwrap returns if it
// is an error. The stack is in HandleError.Stack.
type PanicError = guard.PanicError

// CallbackTimeoutError is the cause of the cancellation of a callback's context when the callback exceeds
// Limits.Callback.
type CallbackTimeoutError struct {
	Stage Stage
	Limit time.Duration
}

// Error names the code and the limit.
func (e *CallbackTimeoutError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *CallbackTimeoutError) WithoutURL(string) string {
	return fmt.Sprintf("%s ran longer than %s = %s", report.Code(string(e.Stage)), remedy.Callback.Name(), e.Limit)
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
func (e *RequestError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown, and without "tegenaria: ".
func (e *RequestError) WithoutURL(shown string) string {
	return (*fetch.RequestError)(e).WithoutURL(shown)
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// isA reports whether an error is an E, or has one as its cause.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// BlockedError is an answer with which a site refuses its client: it is no page. The middleware Blocks of package middleware makes
// it by rules; middlewares that choose proxies or identities find it in their ProcessError, by errors.As, and choose others. The
// request ends as gave-up if it is blocked in its last attempt, with the reason "blocked: " and the rule.
type BlockedError struct {
	URL      string
	Rule     string // that has recognised it: "status 403", "text: are you a robot"
	Evidence string // what was found: the beginning of the text, a header, the target of a redirect
	HostLost bool   // nothing but blocks has come from the host for so long that no further request to it is sent in this run
}

// Error names URL, rule and evidence.
func (e *BlockedError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown, and without "tegenaria: ".
func (e *BlockedError) WithoutURL(shown string) string {
	text := "blocked by " + e.Rule
	if url := urlx.Redact(e.URL); url != shown {
		text = url + " is " + text
	}
	if e.Evidence != "" {
		text += fmt.Sprintf(" (%q)", e.Evidence)
	}
	return text
}

// Reason is what such requests are counted as: "blocked: status 403".
func (e *BlockedError) Reason() string { return "blocked: " + e.Rule }

// The verbs steer the engine from user code: they are returned as errors, alone or wrapped.

type dropItemError struct{ reason error }

func (e *dropItemError) Error() string { return errtext.Module + e.WithoutURL("") }
func (e *dropItemError) Unwrap() error { return e.reason }
func (e *dropItemError) WithoutURL(shown string) string {
	return "item dropped" + errtext.Because(e.reason, shown)
}

// DropItem returns an error with which a pipeline ends an item without a failure: the item is counted as
// dropped, the event ItemDropped gets the reason, and no ErrorHandler is called. The reason is logged, and counted in
// Stats.ItemReasons by its text, in which each number is a #, or by what its method Reason() string returns, if it has
// one.
func DropItem(reason error) error { return &dropItemError{reason} }

// RetryError is the error that [Retry] returns. An [ErrorMiddleware] finds it with errors.As in an error that is not a
// failure yet: the request will run again, unless its attempts are used up.
type RetryError struct {
	After time.Duration // the request does not run before this has passed; 0: at once
	Err   error         // the reason; nil if Retry was given none
}

// Error says when and why.
func (e *RetryError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ", and its reason without this URL, beside which the text is shown.
func (e *RetryError) WithoutURL(shown string) string {
	return fmt.Sprintf("retry after %s%s", e.After, errtext.Because(e.Err, shown))
}

// Unwrap returns the reason.
func (e *RetryError) Unwrap() error { return e.Err }

// Retry returns an error with which a parser or a middleware runs the request again, not earlier than after from now.
// The request waits in the queue as it was accepted, with its Attempt incremented. Requests that this attempt has sent
// are kept; its items are discarded by committers such as feeds. Above Limits.Attempts the request ends as gave-up.
func Retry(after time.Duration, reason error) error {
	return &RetryError{max(after, 0), reason}
}

type giveUpError struct{ reason error }

func (e *giveUpError) Error() string { return errtext.Module + e.WithoutURL("") }
func (e *giveUpError) Unwrap() error { return e.reason }
func (e *giveUpError) WithoutURL(shown string) string {
	return "gave up" + errtext.Because(e.reason, shown)
}

// GiveUp returns an error with which a parser or a middleware gives a request up: after the ErrorHandlers were called,
// the request ends as gave-up, with the text of reason. The text becomes a key of Stats.Reasons: keep it short and
// without the URL, or give the error a method Reason() string that returns such a text.
func GiveUp(reason error) error { return &giveUpError{reason} }

func asGiveUp(err error) *giveUpError {
	e, _ := errors.AsType[*giveUpError](err)
	return e
}

// ignoreError is ErrIgnoreRequest with a reason.
type ignoreError struct{ reason string }

func (e *ignoreError) Error() string            { return errtext.Module + e.WithoutURL("") }
func (e *ignoreError) WithoutURL(string) string { return "request ignored: " + e.reason }
func (e *ignoreError) Is(target error) bool     { return target == ErrIgnoreRequest }

// IgnoreRequest is [ErrIgnoreRequest] with a reason: the request ends as filtered, with this reason. The reason becomes
// a key of Stats.Reasons: keep it short and without the URL. If an error wraps it and has a method Notice() string,
// that text is written to the log as a warning.
func IgnoreRequest(reason string) error { return &ignoreError{reason} }

// ignoreReason returns the reason of an error that is ErrIgnoreRequest.
func ignoreReason(err error) string {
	if e, ok := errors.AsType[*ignoreError](err); ok && e.reason != "" {
		return e.reason
	}
	return "ignored"
}

func asRetry(err error) *RetryError {
	e, _ := errors.AsType[*RetryError](err)
	return e
}

type closeSpiderError struct{ reason string }

func (e *closeSpiderError) Error() string            { return errtext.Module + e.WithoutURL("") }
func (e *closeSpiderError) WithoutURL(string) string { return "spider closed: " + e.reason }

// CloseSpider returns an error that stops the crawl gracefully. Any callback may return it: work in hand finishes, and
// Run returns a [*StoppedError] with this reason, even if nothing was left to do. A durable job can be resumed
// afterwards: its next run goes on with the requests that wait, and requests again the page whose middleware or parser
// has returned the error, unless that had sent an item or a request before.
func CloseSpider(reason string) error { return &closeSpiderError{reason} }

func asCloseSpider(err error) (string, bool) {
	if e, ok := errors.AsType[*closeSpiderError](err); ok {
		return e.reason, true
	}
	return "", false
}

func reasonOf(err error) string {
	var short interface{ Reason() string }
	switch {
	case err == nil:
		return "retry"
	case errors.As(err, &short):
		return short.Reason()
	}
	return err.Error()
}

// reasonFor returns the error that a request was given up for, without what decided that.
func reasonFor(herr *HandleError) error {
	err := rootCause(herr)
	if retry := asRetry(err); retry != nil && retry.Err != nil {
		err = retry.Err
	} else if gaveUp := asGiveUp(err); gaveUp != nil && gaveUp.reason != nil {
		err = gaveUp.reason
	}
	return err
}

// rootCause returns the error that a request was given up for, which other failures of it may hold.
func rootCause(err error) error {
	for inner := (*HandleError)(nil); errors.As(err, &inner) && inner.Err != nil; {
		err = inner.Err
	}
	return err
}
