package sitemap

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/xmlstream"
)

// URLError describes an entry whose URL is invalid. The other entries are not affected.
type URLError struct {
	URL string // as written
	Err error
}

// Error names the URL.
func (e *URLError) Error() string { return fmt.Sprintf("sitemap: entry %.200q: %v", e.URL, e.Err) }

// Unwrap returns Err.
func (e *URLError) Unwrap() error { return e.Err }

// FormatError says that a document is not a sitemap, or is incomplete.
type FormatError struct {
	Reason string
	Err    error // of the reader, if that is why; otherwise nil
}

// Error says what is wrong.
func (e *FormatError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("sitemap: %s: %v", e.Reason, e.Err)
	}
	return "sitemap: " + e.Reason
}

// Unwrap returns Err.
func (e *FormatError) Unwrap() error { return e.Err }

// LimitError says that a sitemap exceeds a limit.
type LimitError struct {
	What  string // "bytes", "URLs", "bytes in a tag", "levels of elements"
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("sitemap: more than %d %s", e.Limit, e.What)
}

// ownError makes an error of package xmlstream one of this package.
func ownError(err error) error {
	var limit *xmlstream.LimitError
	var broken *xmlstream.GzipError
	switch {
	case errors.As(err, &limit):
		return &LimitError{What: limit.What, Limit: limit.Limit}
	case errors.As(err, &broken):
		return &FormatError{"broken gzip", broken.Err}
	case errors.Is(err, xmlstream.ErrEntities):
		return &FormatError{Reason: err.Error()}
	}
	return err
}
