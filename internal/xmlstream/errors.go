package xmlstream

import "fmt"

// LimitError is of a document that is larger than it may be.
type LimitError struct {
	What  string
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Limit, e.What) }

// GzipError is of a document whose compression is broken.
type GzipError struct{ Err error }

// Error says so.
func (e *GzipError) Error() string { return "broken gzip: " + e.Err.Error() }

// Unwrap returns Err.
func (e *GzipError) Unwrap() error { return e.Err }
