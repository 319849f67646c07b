package records

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"strings"

	"github.com/tegenaria/tegenaria/internal/xmlstream"
)

// The bounds that hold unless options say otherwise.
const (
	DefaultMaxRecord = 4 << 20  // bytes of a record: an element, a row, a value, an entry of a feed
	DefaultMaxFeed   = 64 << 20 // bytes of a feed, uncompressed. Documents of other kinds may be of any length
)

// maxLevels bounds how deep elements, arrays and objects lie in each other.
const maxLevels = 1000

// Source is where a document comes from.
type Source struct {
	URL         string // of the page: relative references are resolved against it, and errors name it. "": not known
	ContentType string // of the response; its charset counts more than what the document declares. "": not known
}

// Option changes how documents are read.
type Option func(*config)

type config struct {
	maxBytes  int64
	maxRecord int
	charset   string
}

// MaxBytes is how much of a document is read, uncompressed; 0 or less sets no limit. The default is [DefaultMaxFeed]
// for feeds, and no limit for all other documents. More is an [*Error] with a [*LimitError].
func MaxBytes(n int64) Option { return func(c *config) { c.maxBytes = max(n, 0) } }

// MaxRecord is how many bytes one record may have. The default is [DefaultMaxRecord], which 0 or less stands for too. A larger record is an
// [*Error] with a [*LimitError]; those after it are read.
func MaxRecord(n int) Option {
	return func(c *config) {
		if c.maxRecord = n; n <= 0 {
			c.maxRecord = DefaultMaxRecord
		}
	}
}

// Charset is the encoding of documents whose Content-Type does not name any, by its label in the Encoding standard:
// "windows-1252". Without it it is what the document declares, or else UTF-8. A byte order mark counts more than all of
// these.
func Charset(label string) Option { return func(c *config) { c.charset = label } }

// newConfig applies options.
func newConfig(maxBytes int64, options []Option) (config, error) {
	c := config{maxBytes: maxBytes, maxRecord: DefaultMaxRecord}
	for i, option := range options {
		if option == nil {
			return c, fmt.Errorf("records: option %d is nil; leave it out", i+1)
		}
		option(&c)
	}
	return c, nil
}

// Format is a kind of document, with all that has to be said to read one: made by [XML], [CSV], [JSON] or [JSONLines].
// It may be used for any number of documents, also at the same time. The zero Format has no records.
type Format[R any] struct {
	config config
	err    error // a wrong option
	read   func(s *source, yield func(R, error) bool) error
}

// Read iterates over the records of a document, in their order. It reads the document as a stream, and no further than the records that
// the caller takes, but for a buffer. Each record belongs to the caller.
//
// The error is an [*Error] that names page and place. If it is not [Error.Last], it stands in the place of a record,
// and the iteration goes on with the next one. The iterator may be used once.
func (f Format[R]) Read(body io.Reader, from Source) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		if f.err != nil {
			yield(none, f.err)
			return
		}
		if f.read == nil {
			return
		}
		s, err := open(body, from, f.config)
		if err == nil {
			err = f.read(s, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(none, err)
		}
	}
}

// errStopped ends the reading when the caller wants no more. It is not returned.
var errStopped = errors.New("stopped")

// source is a document that is being read.
type source struct {
	Source
	config
	tape   *xmlstream.Tape
	record int // the number of the one that is being read, or was read last

	line, offset int64 // where it begins
}

// open takes compression and encoding off.
func open(body io.Reader, from Source, c config) (*source, error) {
	s := &source{Source: from, config: c}
	label := c.charset
	if _, params, err := mime.ParseMediaType(from.ContentType); err == nil && params["charset"] != "" && !strings.Contains(from.ContentType, "json") {
		label = params["charset"] // JSON is UTF-8 (RFC 8259 §8.1)
	}
	in, err := xmlstream.Open(body, c.maxBytes, label)
	if err != nil {
		s.tape = xmlstream.NewTape(bufio.NewReader(strings.NewReader("")))
		return nil, s.fail(err)
	}
	s.tape = xmlstream.NewTape(in)
	s.tape.CountLines()
	return s, nil
}

// begin notes that a record begins here, back bytes before where the tape is.
func (s *source) begin(back int64) {
	s.record++
	s.line, s.offset = s.tape.Line(), s.tape.Offset()-back
}

// wrong is the error of the record that has begun.
func (s *source) wrong(reason string, err error) *Error {
	return &Error{URL: s.URL, Record: s.record, Line: s.line, Offset: s.offset, Reason: reason, Err: err}
}

// tooLarge is the error of a record over its limit.
func (s *source) tooLarge() *Error {
	return s.wrong("", &LimitError{"bytes in a record", int64(s.maxRecord)})
}

// notUTF8 is what is wrong with bytes that are no text.
const notUTF8 = "it is not valid UTF-8: its encoding is not the declared one, or not declared"

// fail is the error behind which nothing can be read.
func (s *source) fail(err error) *Error {
	reason, wrapped := cause(err)
	return s.broken(reason, wrapped)
}

// broken is fail with the reason in words.
func (s *source) broken(reason string, err error) *Error {
	return &Error{URL: s.URL, Line: s.tape.Line(), Offset: s.tape.Offset(), Reason: reason, Err: err, last: true}
}
