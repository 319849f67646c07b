package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// AppendError is the failure of a new job with [Append] whose file cannot be appended to: it has another format, other columns, or is
// damaged. The file stays as it is.
type AppendError struct {
	Path string
	Err  error // what was found
}

// Error says what to do.
func (e *AppendError) Error() string {
	return fmt.Sprintf("feed: %s cannot be appended to: %v; choose another file, or feed.Overwrite", e.Path, e.Err)
}

// Unwrap returns what was found.
func (e *AppendError) Unwrap() error { return e.Err }

// foreign is the text of a file that somebody else has written: its two ends, unpacked. What is written to it is the text.
type foreign struct {
	head, tail []byte // outfile.TailBytes of each, or all
	size       int64
}

func (f *foreign) Write(p []byte) (int, error) {
	f.head = append(f.head, p[:min(len(p), outfile.TailBytes-len(f.head))]...)
	f.tail = append(f.tail, p...)
	if more := len(f.tail) - outfile.TailBytes; more > 0 {
		f.tail = append(f.tail[:0], f.tail[more:]...)
	}
	f.size += int64(len(p))
	return len(p), nil
}

// isWhole reports whether the two ends are all of the text.
func (f *foreign) isWhole() bool { return f.size == int64(len(f.tail)) }

// isPacked reports whether a file begins as one of gzip or Zstandard does.
func isPacked(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x1f\x8b\x08")) || bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd"))
}

// white is what may stand around a text and its parts.
const white = " \t\r\n"

// beginsLike reports a text that does not begin with the first character of what a document begins with.
func (f *foreign) beginsLike(begin string) error {
	head := bytes.TrimLeft(bytes.TrimPrefix(f.head, []byte("\uFEFF")), white)
	if begin = string(bytes.TrimLeft([]byte(begin), white)); begin == "" || len(head) > 0 && head[0] == begin[0] {
		return nil
	}
	return fmt.Errorf("it does not begin with %q", begin[:1])
}

// isJSONLines reports a text whose first or last line is no JSON. A line that is too long to be seen is taken for one.
func (f *foreign) isJSONLines() error {
	first, _, isLine := bytes.Cut(f.head, []byte{'\n'})
	if (isLine || f.isWhole()) && !isBlankOrJSON(first) {
		return errors.New("its first line is no JSON")
	}
	tail := bytes.TrimRight(f.tail, white)
	at := bytes.LastIndexByte(tail, '\n')
	if (at >= 0 || f.isWhole()) && !isBlankOrJSON(tail[at+1:]) {
		return errors.New("its last line is no JSON")
	}
	return nil
}

func isBlankOrJSON(line []byte) bool { return len(bytes.Trim(line, white)) == 0 || json.Valid(line) }
