package tegenaria

import (
	"errors"
	"fmt"
	"time"
)

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

// RetryError is what [Retry] returns. An [ErrorMiddleware] finds it by errors.As in an error that is no failure yet: the
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
