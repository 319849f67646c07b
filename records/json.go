package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/internal/jsontext"
)

// Value is one record of a JSON document. It does not change and may be used by several goroutines.
type Value struct {
	Number int   // of the record, from 1
	Line   int64 // in which it begins, from 1
	Offset int64 // the same in bytes

	url string
	raw []byte
}

// Raw returns the JSON text of the record. It must not be changed.
func (v Value) Raw() json.RawMessage { return v.raw }

// String returns the JSON text of the record.
func (v Value) String() string { return string(v.raw) }

// Get returns what is found at a path, as text: "" if there is nothing, JSON if it is an object or an array. The syntax is that
// of gjson, in which names may begin with an "@": "offers.0.price".
func (v Value) Get(path string) string { return gjson.GetBytes(v.raw, jsontext.Path(path)).String() }

// Decode decodes the record into a variable, by the rules of encoding/json. The error is an [*Error] that names page and record.
func (v Value) Decode(to any) error {
	if err := json.Unmarshal(v.raw, to); err != nil {
		return &Error{URL: v.url, Record: v.Number, Line: v.Line, Offset: v.Offset, Err: err}
	}
	return nil
}

// JSON reads the elements of an array from JSON documents. path leads to the array through the names of objects, with dots between them:
// "data.products" for {"data": {"products": [ … ]}}. The empty path is the document itself. What is at the path but is
// no array is one record. If nothing is at the path the error says so.
//
// Names that have dots cannot be written. The rest of the document is read over; it has to end, but it is not checked beyond its brackets.
func JSON(path string, options ...Option) Format[Value] {
	c, err := newConfig(0, options)
	return Format[Value]{config: c, err: err, read: func(s *source, yield func(Value, error) bool) error {
		scanner := &jsonScanner{s}
		var names []string
		if path != "" {
			names = strings.Split(path, ".")
		}
		found, err := scanner.find(names, yield)
		switch {
		case err != nil:
			return err
		case !found:
			return s.broken(fmt.Sprintf("nothing is at the path %.100q", path), nil)
		}
		if _, err := scanner.peek(); !errors.Is(err, io.EOF) {
			if err != nil {
				return s.fail(err)
			}
			return s.broken("there is something behind the end of the document; if each line is a document of its own, read it with JSONLines", nil)
		}
		return nil
	}}
}

// JSONLines reads documents that have one JSON value in each line (JSON Lines, NDJSON). Empty lines are skipped.
func JSONLines(options ...Option) Format[Value] {
	c, err := newConfig(0, options)
	return Format[Value]{config: c, err: err, read: func(s *source, yield func(Value, error) bool) error {
		for {
			line, large, err := s.readLine()
			if err != nil {
				return err
			}
			if line == nil {
				return nil
			}
			text := bytes.Clone(bytes.TrimSpace(line))
			if len(text) == 0 && !large {
				s.record--
				continue
			}
			v, wrong := s.value(text, large)
			if more := give(yield, v, wrong); !more {
				return errStopped
			}
		}
	}}
}

// give hands over a record or its error.
func give[R any](yield func(R, error) bool, r R, wrong *Error) bool {
	if wrong != nil {
		var none R
		return yield(none, wrong)
	}
	return yield(r, nil)
}

// readLine reads a line, as a record; nil at the end. Of a large one it reads the beginning alone.
func (s *source) readLine() (line []byte, large bool, err error) {
	if _, err := s.tape.Ahead(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, false, nil
		}
		return nil, false, s.fail(err)
	}
	s.begin(0)
	s.tape.Keep(s.maxRecord)
	defer s.tape.Stop()
	for {
		_, err := s.tape.ReadSlice('\n')
		if err == nil || errors.Is(err, io.EOF) {
			line, large = s.tape.Kept()
			return line, large, nil
		}
		if !isFull(err) {
			return nil, false, s.fail(err)
		}
	}
}

// value makes a record of its text, which it copies not.
func (s *source) value(text []byte, large bool) (Value, *Error) {
	switch {
	case large:
		return Value{}, s.tooLarge()
	case tooDeep(text):
		return Value{}, s.wrong("", &LimitError{"levels", maxLevels})
	case !json.Valid(text):
		return Value{}, s.wrong("it is not JSON", jsonError(text))
	case !utf8.Valid(text):
		return Value{}, s.wrong(notUTF8, nil)
	}
	return Value{Number: s.record, Line: s.line, Offset: s.offset, url: s.URL, raw: text}, nil
}

// tooDeep reports whether arrays and objects of a JSON text lie too deep in each other.
func tooDeep(text []byte) bool {
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) <= maxLevels {
		return false
	}
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			if level++; level > maxLevels {
				return true
			}
		case c == ']' || c == '}':
			level--
		}
	}
	return false
}

// jsonError says what is wrong with a text that is not JSON.
func jsonError(text []byte) error {
	var v json.RawMessage
	return json.Unmarshal(text, &v)
}
