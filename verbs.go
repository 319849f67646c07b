package tegenaria

import (
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/report"
)

// The verbs steer the engine from user code: they are returned as errors, alone or wrapped.

type dropItemError struct{ reason error }

func (e *dropItemError) Error() string { return "tegenaria: item dropped" + report.Because(e.reason) }
func (e *dropItemError) Unwrap() error { return e.reason }

// DropItem returns an error with which a pipeline ends an item without a failure: the item is counted as
// dropped, the event ItemDropped gets the reason, and no ErrorHandler is called.
func DropItem(reason error) error { return &dropItemError{reason} }

// RetryError is the error that [Retry] returns. An [ErrorMiddleware] finds it with errors.As in an error that is not a failure
// yet: the request will run again, unless its attempts are used up.
type RetryError struct {
	After time.Duration // the request does not run before this has passed; 0: at once
	Err   error         // the reason; nil if Retry was given none
}

// Error says when and why.
func (e *RetryError) Error() string {
	return fmt.Sprintf("tegenaria: retry after %s%s", e.After, report.Because(e.Err))
}

// Unwrap returns the reason.
func (e *RetryError) Unwrap() error { return e.Err }

// Retry returns an error with which a parser or a middleware runs the request again, not earlier than after from now. The
// request waits in the queue as it was accepted, with its Attempt incremented. Requests that this
// attempt has sent are kept; its items are discarded by committers such as feeds. Above
// Limits.Attempts the request ends as gave-up.
func Retry(after time.Duration, reason error) error {
	return &RetryError{max(after, 0), reason}
}

type giveUpError struct{ reason error }

func (e *giveUpError) Error() string { return "tegenaria: gave up" + report.Because(e.reason) }
func (e *giveUpError) Unwrap() error { return e.reason }

// GiveUp returns an error with which a parser or a middleware gives a request up: after the ErrorHandlers were called, the
// request ends as gave-up, with the text of reason. The text becomes a key of Stats.Reasons: keep
// it short and without the URL, or give the error a method Reason() string that returns such a text.
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

// IgnoreRequest is [ErrIgnoreRequest] with a reason: the request ends as filtered, with this reason. The reason becomes a
// key of Stats.Reasons: keep it short and without the URL. If an error wraps it and has a method Notice() string, that
// text is written to the log as a warning.
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

type closeSpiderError struct{ reason string }

func (e *closeSpiderError) Error() string { return "tegenaria: spider closed: " + e.reason }

// CloseSpider returns an error that stops the crawl gracefully. Any callback may return it: work in
// hand finishes, and Run returns a [*StoppedError] with this reason, even if nothing was left to do. A durable job can be resumed
// afterwards: its next run goes on with the requests that wait, and requests again the page whose middleware or parser has
// returned the error, unless that had sent an item or a request before.
func CloseSpider(reason string) error { return &closeSpiderError{reason} }

func asCloseSpider(err error) (string, bool) {
	var e *closeSpiderError
	if err != nil && errors.As(err, &e) {
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
