package browser

import (
	"cmp"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// NotInstalledError is the failure of [Open] if there is no Chromium.
type NotInstalledError struct {
	Path string // that of Options; "" if the usual names were tried
	Err  error
}

// Error says what to install.
func (e *NotInstalledError) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("browser: %s cannot be run: %v; set Options.Path to the program of Chromium or Chrome, or leave "+
			"it empty to have it looked for", e.Path, e.Err)
	}
	return "browser: found no Chromium; install it (Debian: apt-get install chromium-headless-shell), or set Options.Path to the program"
}

// Unwrap returns the error of the look-up.
func (e *NotInstalledError) Unwrap() error { return e.Err }

// RootError is the failure of [Open] in a program that runs as root: Chromium's sandbox does not work there.
type RootError struct{}

// Error says what to do.
func (*RootError) Error() string {
	return "browser: Chromium's sandbox does not work for root; run the program as another user, or, if all pages are " +
		"your own, set Options.DangerouslyWithoutSandbox"
}

// StartError is the failure of a request for which Chromium could not be started.
type StartError struct {
	Path string
	Err  error // with what Chromium has printed
}

// Error names program and cause.
func (e *StartError) Error() string { return fmt.Sprintf("browser: starting %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Temporary says that another attempt may succeed, which middleware.Retry makes.
func (*StartError) Temporary() bool { return true }

// UnguardedError is the failure of [Connect] without Options.DangerouslyWithoutGuard.
type UnguardedError struct{}

// Error says what is at stake, and what to do.
func (*UnguardedError) Error() string {
	return "browser: a Chromium that runs elsewhere dials by itself, so its pages may reach private addresses there; use " +
		"Open, or set Options.DangerouslyWithoutGuard if it runs where that does no harm"
}

// ConnectError is the failure of [Connect], or of a request for which Chromium could not be reached.
type ConnectError struct {
	Address string // the host and port of the URL; what else that has may be secret
	Err     error
}

// Error names address, cause and remedy.
func (e *ConnectError) Error() string {
	return fmt.Sprintf("browser: connecting to Chromium at %q: %v; start it with --remote-debugging-port, and give "+
		"Connect the URL of that port", e.Address, e.Err)
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// InUseError is the failure of a second run that has the same [Browser], while the first one is on.
type InUseError struct{}

// Error says what to do.
func (*InUseError) Error() string {
	return "browser: another run uses this browser; open one for each engine"
}

// NoRunError is the failure of a download outside a run.
type NoRunError struct{}

// Error says what to do.
func (*NoRunError) Error() string {
	return "browser: a browser downloads in the run of an engine only; give it to RegisterDownloader"
}

// LostError is the failure of a request whose Chromium has ended, or has stopped to answer, while the page was being made. The next
// request starts another one. If the site was not yet asked for the document, the page was tried with two of them.
type LostError struct {
	URL    string
	Reason string

	greedy bool // the page took too much memory: no other page is to blame, nor the machine
	killed bool // somebody else has killed the process of the page, or Chromium, as a kernel without memory does
}

// Error names page and reason.
func (e *LostError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *LostError) WithoutURL(shown string) string {
	return fmt.Sprintf("browser: Chromium was lost%s: %s", errtext.At(" while it made ", e.URL, shown), e.Reason)
}

// Temporary says that another attempt may succeed, which middleware.Retry makes, unless the page was ended for its memory.
func (e *LostError) Temporary() bool { return !e.greedy }

// NavigationError is the failure of a document that Chromium could not get.
type NavigationError struct {
	URL    string
	Reason string // Chromium's, such as net::ERR_CERT_DATE_INVALID
	Err    error  // that of the connection to the site, such as a *tegenaria.PrivateAddressError; nil if there is none
}

// Error names page and cause.
func (e *NavigationError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *NavigationError) WithoutURL(shown string) string {
	document := cmp.Or(errtext.At("", e.URL, shown), "the document")
	return fmt.Sprintf("browser: getting %s: %s", document, e.Reason) + errtext.Because(e.Err, shown)
}

// Temporary says that another attempt may succeed, which middleware.Retry makes: Chromium has broken off the request, and not because of
// the site or the connection to it.
func (e *NavigationError) Temporary() bool { return e.Err == nil && e.Reason == "net::ERR_ABORTED" }

// Unwrap returns the error of the connection.
func (e *NavigationError) Unwrap() error { return e.Err }

// NotReadyError is the failure of a request whose page has not become what [ReadyWhen] or [ReadyWhenTrue] says.
type NotReadyError struct {
	URL       string
	Condition string // the selector or the expression
	Err       error  // why it did not hold at the end, such as an exception
}

// Error names page, condition and remedy.
func (e *NotReadyError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *NotReadyError) WithoutURL(shown string) string {
	return fmt.Sprintf("browser: %s has not become ready by %q: %s; correct the condition, or raise Options.Settle",
		cmp.Or(errtext.At("", e.URL, shown), "the page"), e.Condition, errtext.Beside(e.Err, shown))
}

// Unwrap returns the cause.
func (e *NotReadyError) Unwrap() error { return e.Err }

// ActionError is the failure of a request by one of its actions, see [Do].
type ActionError struct {
	URL      string // of the page
	Action   string // its name, such as Click
	Number   int    // its place among the actions, from 1
	Selector string // "" if it has none
	Err      error  // context.DeadlineExceeded in the end, for example, or an exception of the page
}

// Error names page, action and cause.
func (e *ActionError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *ActionError) WithoutURL(shown string) string {
	name := e.Action
	if e.Selector != "" {
		name = fmt.Sprintf("%s(%q)", name, e.Selector)
	}
	return fmt.Sprintf("browser: action %d, %s%s: %s", e.Number, name, errtext.At(", on ", e.URL, shown), errtext.Beside(e.Err, shown))
}

// Unwrap returns the cause.
func (e *ActionError) Unwrap() error { return e.Err }

// ResultError is the error of [Result].
type ResultError struct {
	URL, Name string
	Err       error
}

// Error names page, result and cause.
func (e *ResultError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *ResultError) WithoutURL(shown string) string {
	return fmt.Sprintf("browser: result %q%s: %s", e.Name, errtext.At(" of ", e.URL, shown), errtext.Beside(e.Err, shown))
}

// Unwrap returns the cause.
func (e *ResultError) Unwrap() error { return e.Err }

// CaptureError is why an [Exchange] lacks its answer, or a body.
type CaptureError struct {
	URL string // of the request
	Err error
}

// Error names request and cause.
func (e *CaptureError) Error() string {
	return fmt.Sprintf("browser: the exchange with %s is not complete: %v", urlx.Redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *CaptureError) Unwrap() error { return e.Err }

// NavigationRefusedError is the cause of an [*ActionError] whose action leads to a document that must not be loaded, or
// to a window without one, and of a [*NavigationError] if the page sends a form there by itself.
type NavigationRefusedError struct {
	URL string // of the document
	Err error
}

// Error names document and cause.
func (e *NavigationRefusedError) Error() string {
	return fmt.Sprintf("it leads to %s: %v", urlx.Redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *NavigationRefusedError) Unwrap() error { return e.Err }
