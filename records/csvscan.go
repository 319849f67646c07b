package records

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxFields bounds the fields of a row.
const maxFields = 16384

// place is where in a row its reader is.
type place uint8

const (
	atField   place = iota // at the beginning of a field
	inField                // in one without quotes
	inQuotes               // in one with quotes
	atQuote                // behind a quote in quotes: the end of them, or the first of two
	inComment              // in a line that is no row
)

// rowReader splits a text into rows and fields.
type rowReader struct {
	*source
	delimiter              string
	quote, escape, comment int // -1: none
	trim                   bool

	place   place
	escaped bool // the last byte was an escape character
	cr      bool // the last byte was a \r that has ended a line
	text    []byte
	ends    []int // of the fields, in text
	begun   bool  // a row, which has bytes
	large   bool  // a row, for a limit
	many    bool  // a row, for the limit of fields
}

func newRowReader(s *source, d Dialect) *rowReader {
	r := &rowReader{source: s, delimiter: ",", quote: '"', escape: -1, comment: -1, trim: d.Trim}
	if d.Delimiter != 0 {
		r.delimiter = string(d.Delimiter)
	}
	if d.Quote != 0 {
		r.quote = int(d.Quote)
	}
	if d.Escape != 0 {
		r.escape = int(d.Escape)
	}
	if d.Comment != 0 {
		r.comment = int(d.Comment)
	}
	return r
}

// next reads a row; nil at the end. wrong is what is wrong with this row alone.
func (r *rowReader) next() (row []string, wrong *Error, err error) {
	r.text, r.ends = r.text[:0], r.ends[:0]
	r.begun, r.large, r.many, r.place, r.escaped = false, false, false, atField, false
	for {
		part, err := r.tape.Ahead()
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return nil, nil, r.fail(err)
		}
		n, ended := 0, false
		for n < len(part) && !ended {
			c := part[n]
			if r.cr { // of \r\n the second one
				if r.cr = false; c == '\n' {
					n++
					continue
				}
			}
			if !r.begun && r.place != inComment {
				if r.beforeRow(c) {
					n++
					continue
				}
				if n > 0 {
					break // so that the tape is where the row begins
				}
				r.source.begin(0)
				r.begun = true
			}
			n++
			ended = r.take(c)
		}
		if _, err := r.tape.Discard(n); err != nil {
			return nil, nil, r.fail(err)
		}
		if ended {
			row, wrong = r.finish()
			return row, wrong, nil
		}
	}
}

// beforeRow reports whether a byte is before any row: of an empty line, or the beginning of a comment.
func (r *rowReader) beforeRow(c byte) bool {
	switch {
	case c == '\r' || c == '\n':
		return true
	case int(c) == r.comment:
		r.place = inComment
		return true
	}
	return false
}

// take takes a byte of a row, and reports whether the row has ended.
func (r *rowReader) take(c byte) (ended bool) {
	if r.escaped {
		r.escaped = false
		r.add(c)
		return false
	}
	switch r.place {
	case inComment:
		if c == '\r' || c == '\n' {
			r.place = atField
		}
		return false
	case inQuotes:
		switch int(c) {
		case r.escape:
			r.escaped = true
		case r.quote:
			r.place = atQuote
		default:
			r.add(c)
		}
		return false
	case atQuote:
		if int(c) == r.quote {
			r.place = inQuotes
			r.add(c)
			return false
		}
		r.place = inField
	case atField:
		switch {
		case r.trim && (c == ' ' || c == '\t') && r.delimiter != string(rune(c)):
			return false
		case int(c) == r.quote:
			r.place = inQuotes
			return false
		}
		r.place = inField
	}
	switch {
	case c == '\r' || c == '\n':
		r.cr = c == '\r'
		return true
	case int(c) == r.escape:
		r.escaped = true
		return false
	}
	r.add(c)
	if last := len(r.delimiter) - 1; c == r.delimiter[last] {
		if begin := r.fieldBegin(); len(r.text)-begin > last && string(r.text[len(r.text)-1-last:]) == r.delimiter {
			r.text = r.text[:len(r.text)-1-last]
			r.endField()
		}
	}
	return false
}

// fieldBegin returns where in text the open field begins.
func (r *rowReader) fieldBegin() int {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// add adds a byte to the open field.
func (r *rowReader) add(c byte) {
	if len(r.text) >= r.maxRecord {
		r.large = true
		r.text = r.text[:r.fieldBegin()] // nobody will see it; delimiters are still found
	}
	r.text = append(r.text, c)
}

// endField ends a field behind its delimiter.
func (r *rowReader) endField() {
	if r.place = atField; len(r.ends) == maxFields {
		r.many = true
		return
	}
	r.ends = append(r.ends, len(r.text))
}

// finish makes the row.
func (r *rowReader) finish() ([]string, *Error) {
	r.endField()
	switch {
	case r.many:
		return nil, r.wrong("", &LimitError{"fields in a row", maxFields})
	case r.large:
		return nil, r.tooLarge()
	case !utf8.Valid(r.text):
		return nil, r.wrong(notUTF8, nil)
	}
	text, begin := string(r.text), 0
	row := make([]string, len(r.ends))
	for i, end := range r.ends {
		row[i], begin = text[begin:end], end
	}
	return row, nil
}

// end makes the last row, if it has no line end.
func (r *rowReader) end() ([]string, *Error, error) {
	if !r.begun {
		return nil, nil, nil
	}
	if r.place == inQuotes {
		return nil, nil, r.broken(fmt.Sprintf("the document breaks off in quotes; the row begins in line %d", r.line), nil)
	}
	row, wrong := r.finish()
	r.begun = false
	return row, wrong, nil
}
