package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

var (
	errNotAbsolute = errors.New("not an absolute http or https URL")
	errTooLong     = errors.New("longer than 16 KiB")
)

// maxLine bounds a line of a text sitemap; the protocol allows URLs of 2,048 characters.
const maxLine = 16 << 10

// parseText reads one URL a line. Lines that begin with # are comments. A text whose first other line is none is no sitemap.
func (p *parser) parseText(in *bufio.Reader) error {
	line := make([]byte, 0, 256)
	for first := true; ; {
		var long bool
		var end error
		line, long, end = readLine(in, line[:0])
		if end != nil && !errors.Is(end, io.EOF) {
			return end
		}
		if raw := toUTF8(string(bytes.TrimSpace(line))); raw != "" && raw[0] != '#' {
			web := isWeb(raw)
			if first && (!web || long) {
				return &FormatError{Reason: "neither XML nor a list of URLs"}
			}
			first = false
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

// refuse reports to the caller an entry that is none. It returns false if the caller wants no more.
func (p *parser) refuse(raw string, why error) bool {
	p.stopped = !p.yield(Entry{}, &URLError{URL: raw, Err: why})
	return !p.stopped
}

// readLine appends a line to empty memory, of a long one the beginning. LF and CR end it, and both together do so too: the empty line
// between them counts for nothing.
func readLine(in *bufio.Reader, line []byte) (_ []byte, long bool, err error) {
	for {
		c, err := in.ReadByte()
		switch {
		case err != nil || c == '\n' || c == '\r':
			return line, long, err
		case len(line) == maxLine:
			long = true
		default:
			line = append(line, c)
		}
	}
}

// toUTF8 returns a text of a document that says nothing of its encoding, or is wrong about it, as UTF-8: what is none is taken for
// windows-1252, of which Latin-1 is a part.
func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	decoded, err := charmap.Windows1252.NewDecoder().String(s)
	if err != nil {
		return s
	}
	return decoded
}

// isWeb reports whether s is an absolute http or https URL, as far as its scheme goes.
func isWeb(s string) bool {
	scheme := urlx.Scheme(s)
	return scheme == "http" || scheme == "https"
}

// startsMarkup reports whether a document begins with markup, and skips white space and byte order marks before it: templates
// that are put together have them in any order.
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
		if err := in.UnreadByte(); err != nil {
			return false, err
		}
		const mark = "\xEF\xBB\xBF"
		if head, _ := in.Peek(len(mark)); string(head) != mark {
			return c == '<', nil
		}
		if _, err := in.Discard(len(mark)); err != nil {
			return false, err
		}
	}
}
