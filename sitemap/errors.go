package sitemap

import "fmt"

// URLError is of an entry whose URL cannot be understood. The other entries count.
type URLError struct {
	URL string // as written
	Err error
}

// Error names the URL.
func (e *URLError) Error() string { return fmt.Sprintf("sitemap: entry %.200q: %v", e.URL, e.Err) }

// Unwrap returns Err.
func (e *URLError) Unwrap() error { return e.Err }

// FormatError is of a document that is no sitemap, or not a whole one.
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

// LimitError is of a sitemap that is larger than it may be.
type LimitError struct {
	What  string // "bytes", "URLs", "bytes in a tag", "levels of elements"
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("sitemap: more than %d %s", e.Limit, e.What)
}
