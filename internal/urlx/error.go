package urlx

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// MaxSlow is the length in bytes of the longest input, base included, that the slow path takes.
// Its time grows with the square of the length, so a page could otherwise stall its reader with
// one href. The fast path, which takes all ordinary URLs, has no limit of its own.
const MaxSlow = 8 << 10

// ErrTooLong says that an unusual URL is longer than [MaxSlow].
var ErrTooLong = errors.New("unusual URL is too long")

// ErrNotHTTP says that a URL has no host to fetch over http or https.
var ErrNotHTTP = errors.New("not an http or https URL")

// Error is what every function of this package returns on failure.
type Error struct {
	// Op is what was done: "parsing" or "resolving".
	Op string
	// URL is the URL as given; the base when resolving.
	URL string
	// Ref is the reference that was resolved, "" unless resolving.
	Ref string
	// Err is the cause: [ErrTooLong], [ErrNotHTTP] or the standard's name for the fault.
	Err error
}

// Error returns the message. Inputs are quoted, and cut when long.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("urlx: ")
	b.WriteString(e.Op)
	b.WriteByte(' ')
	if e.Op == opResolving {
		b.WriteString(quote(e.Ref))
		b.WriteString(" against ")
	}
	b.WriteString(quote(e.URL))
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const (
	opParsing   = "parsing"
	opResolving = "resolving"
)

// quote quotes s for a message. Hrefs come from strangers: no control character and no megabyte
// may reach a log line.
func quote(s string) string {
	const limit = 200
	if len(s) > limit {
		return strconv.Quote(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}

// Cause returns what is wrong with a URL without the URL itself, where err is an [*Error] or a [*url.Error]: how a URL is
// printed is up to [Redact]. Any other error is returned as it is.
func Cause(err error) error {
	var ours *Error
	var theirs *url.Error
	switch {
	case errors.As(err, &ours):
		return ours.Err
	case errors.As(err, &theirs):
		return theirs.Err
	}
	return err
}
