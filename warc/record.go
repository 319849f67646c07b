package warc

import (
	"io"
	"strings"
	"time"
)

// Record is one WARC record. Its Block is read from the archive, and can be read until the next record is requested.
type Record struct {
	Version string // "1.1"
	Header  Header
	Block   io.Reader
	Offset  int64 // of the record in the file, or of what it is packed together with
	Length  int64 // bytes that it takes in the file, packed; known when the next record is asked for, 0 before; 0 if it is packed together with others

	inner int64 // where it begins in what it is packed together with
	ends  int64 // the line ends behind it, in a file that is not packed
}

// Type returns what the record is: "response", "request", "revisit" and so on.
func (r *Record) Type() string { return r.Header.Get("WARC-Type") }

// URL returns the URL that the record is about, "" if it is about none. Old writers put it in angle brackets, which are removed.
func (r *Record) URL() string {
	url := r.Header.Get("WARC-Target-URI")
	if inside, ok := strings.CutPrefix(url, "<"); ok {
		return strings.TrimSuffix(inside, ">")
	}
	return url
}

// Date returns when the record was made, the zero time if it does not say that.
func (r *Record) Date() time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.Header.Get("WARC-Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// ID returns the id of the record: "<urn:uuid:…>".
func (r *Record) ID() string { return r.Header.Get("WARC-Record-ID") }

// Header is the header of a record: its fields in their order. The case of names does not count.
type Header []Field

// Field is a field of a header.
type Field struct{ Name, Value string }

// Get returns the first value of a name, "" if there is none.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns all values of a name.
func (h Header) Values(name string) (values []string) {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}
