package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonScanner goes through a JSON document as a stream. It checks no more of it than what it needs to find the records:
// what it returns as a record is checked by itself.
type jsonScanner struct{ *source }

func isFull(err error) bool { return errors.Is(err, bufio.ErrBufferFull) }

// peek returns the next byte that is not white space.
func (j *jsonScanner) peek() (byte, error) {
	for {
		part, err := j.tape.Ahead()
		if err != nil {
			return 0, err
		}
		n := 0
		for n < len(part) && isSpace(part[n]) {
			n++
		}
		var c byte
		if n < len(part) {
			c = part[n]
		}
		if n > 0 {
			if _, err := j.tape.Discard(n); err != nil {
				return 0, err
			}
		}
		if c != 0 || n < len(part) {
			return c, nil
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// must is peek where the document cannot end.
func (j *jsonScanner) must() (byte, error) {
	c, err := j.peek()
	if errors.Is(err, io.EOF) {
		return 0, j.broken("the document breaks off", nil)
	}
	if err != nil {
		return 0, j.fail(err)
	}
	return c, nil
}

// unexpected is the error of a byte that cannot be here.
func (j *jsonScanner) unexpected(c byte, want string) error {
	return j.broken(fmt.Sprintf("it is not JSON: %q in the place of %s", rune(c), want), nil)
}

// find gives the records at a path in the value that comes next. found is false if there is nothing.
func (j *jsonScanner) find(path []string, yield func(Value, error) bool) (found bool, err error) {
	if len(path) == 0 {
		return true, j.records(yield)
	}
	c, err := j.must()
	if err != nil {
		return false, err
	}
	if c != '{' {
		return false, j.skip()
	}
	err = j.object(func(name string) error {
		if name != path[0] {
			return j.skip()
		}
		in, err := j.find(path[1:], yield)
		found = found || in
		return err
	})
	return found, err
}

// object calls member for each member of the object that comes next, behind its name.
func (j *jsonScanner) object(member func(name string) error) error {
	return j.list('}', func() error {
		c, err := j.must()
		if err != nil {
			return err
		}
		if c != '"' {
			return j.unexpected(c, "a name")
		}
		text, _, err := j.take(maxName)
		if err != nil {
			return err
		}
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			name = "" // one that is too long, or wrong: nobody looks for it
		}
		if c, err = j.must(); err != nil {
			return err
		}
		if c != ':' {
			return j.unexpected(c, "a colon")
		}
		if _, err := j.tape.Discard(1); err != nil {
			return j.fail(err)
		}
		return member(name)
	})
}

// maxName bounds the names of members that are looked at.
const maxName = 64 << 10

// list calls each for each part of the array or object that comes next; end is the bracket that closes it.
func (j *jsonScanner) list(end byte, each func() error) error {
	if _, err := j.tape.Discard(1); err != nil {
		return j.fail(err)
	}
	for first := true; ; first = false {
		c, err := j.must()
		if err != nil {
			return err
		}
		if c == end && first {
			_, err := j.tape.Discard(1)
			return err
		}
		if err := each(); err != nil {
			return err
		}
		if c, err = j.must(); err != nil {
			return err
		}
		if c != ',' && c != end {
			return j.unexpected(c, "a comma")
		}
		if _, err := j.tape.Discard(1); err != nil {
			return j.fail(err)
		}
		if c == end {
			return nil
		}
	}
}

// records gives the elements of the array that comes next, or what is no array as one record.
func (j *jsonScanner) records(yield func(Value, error) bool) error {
	c, err := j.must()
	if err != nil {
		return err
	}
	one := func() error {
		if _, err := j.must(); err != nil {
			return err
		}
		j.begin(0)
		text, large, err := j.take(j.maxRecord)
		if err != nil {
			return err
		}
		v, wrong := j.value(text, large)
		if !give(yield, v, wrong) {
			return errStopped
		}
		return nil
	}
	if c != '[' {
		return one()
	}
	return j.list(']', one)
}

// take reads the value that comes next, of a large one the beginning. The text belongs to the caller.
func (j *jsonScanner) take(most int) (text []byte, large bool, err error) {
	j.tape.Keep(most)
	defer j.tape.Stop()
	if err := j.skip(); err != nil {
		return nil, false, err
	}
	text, large = j.tape.Kept()
	return bytes.Clone(text), large, nil
}

// skip reads over the value that comes next, without checking it: to the bracket that closes it, or, of one without
// brackets, to where it ends.
func (j *jsonScanner) skip() error {
	c, err := j.must()
	if err != nil {
		return err
	}
	switch c {
	case '"':
		if _, err := j.tape.Discard(1); err != nil {
			return j.fail(err)
		}
		return j.skipString()
	case '{', '[':
		return j.skipBrackets()
	case ',', ']', '}', ':':
		return j.unexpected(c, "a value")
	}
	for {
		part, err := j.tape.Ahead()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return j.fail(err)
		}
		n := bytes.IndexAny(part, " \t\r\n,]}:\"[{")
		end := n
		if n < 0 {
			n = len(part)
		}
		if _, err := j.tape.Discard(n); err != nil {
			return j.fail(err)
		}
		if end >= 0 {
			return nil
		}
	}
}

// skipBrackets reads to the bracket that closes the one that comes next.
func (j *jsonScanner) skipBrackets() error {
	for level := 0; ; {
		part, err := j.tape.Ahead()
		if errors.Is(err, io.EOF) {
			return j.broken("the document breaks off", nil)
		}
		if err != nil {
			return j.fail(err)
		}
		n, text := 0, false
		for n < len(part) && !text {
			c := part[n]
			n++
			switch c {
			case '"':
				text = true
			case '{', '[':
				level++
			case '}', ']':
				if level--; level == 0 {
					_, err := j.tape.Discard(n)
					return err
				}
			}
		}
		if _, err := j.tape.Discard(n); err != nil {
			return j.fail(err)
		}
		if text {
			if err := j.skipString(); err != nil {
				return err
			}
		}
	}
}

// skipString reads to the quotation mark that ends a string.
func (j *jsonScanner) skipString() error {
	escaped := false
	for {
		part, err := j.tape.ReadSlice('"')
		if errors.Is(err, io.EOF) {
			return j.broken("the document breaks off in a string", nil)
		}
		if err != nil && !isFull(err) {
			return j.fail(err)
		}
		text := part
		if err == nil {
			text = part[:len(part)-1]
		}
		run := 0 // backslashes at the end
		for run < len(text) && text[len(text)-1-run] == '\\' {
			run++
		}
		if run == len(text) && escaped {
			run++ // one more is in the part before
		}
		escaped = run%2 == 1
		if err == nil {
			if !escaped {
				return nil
			}
			escaped = false
		}
	}
}
