package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

var (
	errNotAbsolute = errors.New("not an absolute http or https URL")
	errTooLong     = errors.New("longer than 16 KiB")
)

// maxLine bounds a line of a text sitemap; the protocol allows URLs of 2,048 characters.
const maxLine = 16 << 10

// parseText reads one URL a line. A text whose first line is none is no sitemap.
func (p *parser) parseText(in *bufio.Reader) error {
	for first := true; ; first = false {
		line, long, end := readLine(in)
		if end != nil && !errors.Is(end, io.EOF) {
			return end
		}
		if raw := string(bytes.TrimSpace(line)); raw != "" {
			web := isWeb(raw)
			if first && (!web || long) {
				return &FormatError{Reason: "neither XML nor a list of URLs"}
			}
			more, err := true, error(nil)
			switch {
			case long:
				more = p.refuse(raw, errTooLong)
			case !web:
				more = p.refuse(raw, errNotAbsolute)
			default:
				more, err = p.send(Entry{Priority: 0.5}, raw)
			}
			if !more || err != nil {
				return err
			}
		}
		if end != nil {
			return nil
		}
	}
}

// refuse tells the caller of an entry that is none. It returns false if the caller wants no more.
func (p *parser) refuse(raw string, why error) bool {
	p.stopped = !p.yield(Entry{}, &URLError{URL: raw, Err: why})
	return !p.stopped
}

// readLine returns a line, of a long one the beginning. The line is valid until the next call.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	line, err = in.ReadSlice('\n')
	if len(line) > maxLine || errors.Is(err, bufio.ErrBufferFull) {
		long = true
		line = bytes.Clone(line[:maxLine])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
	}
	return line, long, err
}

// isWeb reports whether s is an absolute http or https URL, as far as its scheme goes.
func isWeb(s string) bool {
	scheme := urlx.Scheme(s)
	return scheme == "http" || scheme == "https"
}

// startsMarkup reports whether a document begins with markup, and skips white space before it.
func startsMarkup(in *bufio.Reader) (bool, error) {
	for {
		c, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return false, &FormatError{Reason: "the document is empty"}
		case err != nil:
			return false, err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		}
		return c == '<', in.UnreadByte()
	}
}
