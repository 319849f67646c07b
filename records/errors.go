package records

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/xmlstream"
)

// Error is of a record, or of a document, that cannot be read. It names the page and the place.
type Error struct {
	URL    string // of the page, as in [Source]; "" if it is not known
	Record int    // the number of the record, from 1; 0: the error is outside of them
	Line   int64  // where the record begins, or where the document could not be read on; from 1, 0: not known
	Offset int64  // the same in bytes of the text, as UTF-8 and without compression
	Reason string // what is wrong
	Err    error  // the cause: a *LimitError, or the error of the reader; nil if Reason says all

	last bool
}

// Last reports whether nothing can be read behind the error: the document is not what it should be, breaks off, or is over one of its
// limits. After any other Error the iteration goes on with the next record.
func (e *Error) Last() bool { return e.last }

// Error says what is wrong, and where. Passwords in the URL are hidden.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("records: ")
	if e.URL != "" {
		b.WriteString(urlx.Redact(e.URL) + ": ")
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, "record %d, ", e.Record)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, ", e.Line)
	}
	fmt.Fprintf(&b, "byte %d: %s", e.Offset, e.Reason)
	if e.Err != nil {
		if e.Reason != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// LimitError is the cause of an [Error] of a document or a record that is larger than it may be.
type LimitError struct {
	What  string // "bytes", "bytes in a record", "levels", "fields in a row", "bytes in a tag"
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Limit, e.What) }

// cause makes the errors of package xmlstream those of this package: a reason, or an error to unwrap.
func cause(err error) (reason string, wrapped error) {
	var limit *xmlstream.LimitError
	var gzip *xmlstream.GzipError
	switch {
	case errors.As(err, &limit):
		return "", &LimitError{limit.What, limit.Limit}
	case errors.As(err, &gzip):
		return "broken gzip", gzip.Err
	case errors.Is(err, xmlstream.ErrEntities):
		return err.Error(), nil
	}
	return "", err
}
