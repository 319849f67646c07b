package httpx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// FramingError reports that a response does not say, or says in two ways, where it ends: what comes behind it on its
// connection could be taken for the answer to another request (RFC 9112 §11.2).
type FramingError struct {
	Reason string // with the paragraph of RFC 9112 that it goes against
}

// Error names the reason.
func (e *FramingError) Error() string { return "httpx: " + e.Reason }

func badFraming(format string, args ...any) error {
	return &FramingError{Reason: fmt.Sprintf(format, args...)}
}

// framing follows the responses on an HTTP/1 connection from one end to the next (RFC 9112 §6). It is stricter than
// net/http, and agrees with it on the length of whatever both accept. The zero value awaits nothing.
type framing struct {
	at     place
	toHead bool   // the request is a HEAD: no body comes
	line   []byte // what has come of a line
	left   int64  // bytes of the body, or of a chunk

	// Of the header that is being read.
	status  int
	http11  bool  // or a later version
	chunked bool  // there is a Transfer-Encoding
	sized   bool  // there is a Content-Length
	length  int64 // its value
	framed  bool  // the last field was one of them
	bad     error // the first thing that is wrong with them
}

// place is where in a response a framing stands.
type place uint8

const (
	atRest       place = iota // between responses
	atStatus                  // at the status line
	atField                   // at a header line, or the end of the header
	inBody                    // in a body of known length
	inChunk                   // in a chunk's data
	behindChunk               // at the line end behind it
	atChunk                   // at the line with a chunk's size
	atTrailer                 // at a trailer line, or the end of the chunked body
	untilClosing              // in a body that the connection's end ends, or in bytes that are not HTTP
)

// maxChunkLine is how long the line with a chunk's size may be, its extensions included, as in net/http.
const maxChunkLine = 4096

var (
	errChunkLine = badFraming("the line with a chunk's size is too long (§7.1)")
	errChunkEnd  = badFraming("a chunk is longer than its size says (§7.1)")
)

// await says that a request with this method is about to be sent.
func (f *framing) await(method string) {
	f.at, f.toHead, f.status = atStatus, method == "HEAD", 0
}

// HeaderCutError is the failure of a response whose connection ended within its status line or its header. net/http
// parses the half line that it has then, and mostly calls it malformed.
type HeaderCutError struct {
	Err error // io.ErrUnexpectedEOF, or the error of the connection
}

// Error says how the connection ended.
func (e *HeaderCutError) Error() string {
	return "httpx: the connection ended within the header of the response: " + e.Err.Error()
}

// Unwrap returns how the connection ended.
func (e *HeaderCutError) Unwrap() error { return e.Err }

// cutBy returns the failure of the awaited response when the connection ends with this error: a [*HeaderCutError],
// or within a body of known end io.ErrUnexpectedEOF or the error itself. It is nil if the response has not begun, is
// whole, ends with its connection, or is no HTTP.
func (f *framing) cutBy(end error) error {
	const version = "HTTP/"
	switch f.at {
	case atRest, untilClosing:
		return nil
	case atStatus:
		begun := min(len(f.line), len(version))
		if string(f.line[:begun]) != version[:begun] || begun == 0 && f.status == 0 {
			return nil
		}
	}
	if errors.Is(end, io.EOF) {
		end = io.ErrUnexpectedEOF
	}
	if f.at == atStatus || f.at == atField {
		return &HeaderCutError{Err: end}
	}
	return end
}

// take follows what has come. It returns how much of it belongs to the response that is awaited. That is less than all
// of it if the response has ended, or, with a [*FramingError], if its end is not clear: then the line that
// makes it bad, or the end of the header, is not part of it.
func (f *framing) take(p []byte) (n int, err error) {
	for n < len(p) {
		rest := p[n:]
		switch f.at {
		case atRest:
			return n, nil
		case untilClosing:
			return len(p), nil
		case inBody, inChunk:
			part := min(f.left, int64(len(rest)))
			n += int(part)
			f.left -= part
			switch {
			case f.left > 0:
			case f.at == inBody:
				f.at = atRest
			default:
				f.at = behindChunk
			}
			continue
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			err := f.keep(rest)
			f.hideBlanks(f.at, rest)
			return len(p), err
		}
		at := f.at
		line := rest[:end]
		if len(f.line) > 0 {
			line = append(f.line, line...)
			f.line = line[:0]
		}
		if err := f.takeLine(line); err != nil {
			return n, err
		}
		f.hideBlanks(at, rest[:end])
		n += end + 1
	}
	return n, nil
}

// hideBlanks writes semicolons over the white space in a part of the line with a chunk's size. It may stand before an extension
// (RFC 9112 §7.1.1), and net/http does not take it there.
func (f *framing) hideBlanks(at place, part []byte) {
	if at != atChunk {
		return
	}
	for i, c := range part {
		if c == ' ' || c == '\t' {
			part[i] = ';'
		}
	}
}

// keep remembers the beginning of a line until the rest of it comes. The reader of the connection bounds the header.
func (f *framing) keep(part []byte) error {
	const emptyLine = 2
	switch {
	case f.at == atTrailer: // nothing counts but whether it is empty
		part = part[:min(len(part), max(emptyLine-len(f.line), 0))]
	case f.at == behindChunk && (len(f.line) > 0 || string(part) != "\r"):
		return errChunkEnd
	case f.at == atChunk && len(f.line)+len(part) > maxChunkLine:
		return errChunkLine
	}
	f.line = append(f.line, part...)
	return nil
}

// takeLine takes a line without its LF. In the header a lone LF ends a line too (RFC 9112 §2.2).
func (f *framing) takeLine(line []byte) error {
	whole, crlf := bytes.CutSuffix(line, []byte{'\r'})
	switch f.at {
	case atStatus:
		f.statusLine(whole)
	case atField:
		if len(whole) == 0 {
			return f.endHead()
		}
		f.field(whole)
	case behindChunk:
		if !crlf || len(whole) > 0 {
			return errChunkEnd
		}
		f.at = atChunk
	case atChunk:
		if len(line) > maxChunkLine {
			return errChunkLine
		}
		if !crlf || bytes.IndexByte(whole, '\r') >= 0 {
			return badFraming("the line with a chunk's size does not end in CR LF (§7.1)")
		}
		return f.chunk(whole)
	case atTrailer:
		switch {
		case len(whole) > 0:
		case !crlf:
			return badFraming("the line behind the last chunk does not end in CR LF (§7.1)")
		default:
			f.at = atRest
		}
	}
	return nil
}

// statusLine takes a status line (RFC 9112 §4). What is none is left to net/http, with all that follows.
func (f *framing) statusLine(line []byte) {
	version, rest, _ := bytes.Cut(line, []byte{' '})
	code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte{' '})
	status, err := strconv.ParseUint(string(code), 10, 16)
	if err != nil || len(code) != 3 || len(version) != len("HTTP/1.1") {
		f.at = untilClosing
		return
	}
	*f = framing{at: atField, toHead: f.toHead, line: f.line, status: int(status), http11: string(version) >= "HTTP/1.1"}
}

// field looks whether a field line (RFC 9112 §5) is one of those that say how long the body is.
func (f *framing) field(line []byte) {
	switch line[0] {
	case ' ', '\t':
		if f.framed {
			f.refuse("Content-Length or Transfer-Encoding is continued on a second line (§5.2)")
		}
		return
	case 'c', 'C', 't', 'T':
	default:
		f.framed = false
		return
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	bare := bytes.TrimRight(name, " \t")
	value = bytes.Trim(value, " \t")
	switch {
	case strings.EqualFold(string(bare), "Content-Length"):
		f.takeLength(value)
	case strings.EqualFold(string(bare), "Transfer-Encoding"):
		f.takeCoding(value)
	default:
		f.framed = false
		return
	}
	f.framed = true
	if len(bare) < len(name) {
		f.refuse("there is a space before the colon of Content-Length or Transfer-Encoding (§5.1)")
	}
}

// takeLength takes the value of a Content-Length. Several must be the same.
func (f *framing) takeLength(value []byte) {
	length, err := strconv.ParseUint(string(value), 10, 63)
	switch {
	case err != nil:
		f.refuse("Content-Length is %.32q (§6.3)", value)
	case f.sized && int64(length) != f.length:
		f.refuse("Content-Length is both %d and %d (§6.3)", f.length, length)
	}
	f.sized, f.length = true, int64(length)
}

// takeCoding takes the value of a Transfer-Encoding.
func (f *framing) takeCoding(value []byte) {
	if f.chunked || !strings.EqualFold(string(value), "chunked") {
		f.refuse("Transfer-Encoding is %.64q, and must be \"chunked\" alone (§7)", value)
	}
	f.chunked = true
}

func (f *framing) refuse(format string, args ...any) {
	if f.bad == nil {
		f.bad = badFraming(format, args...)
	}
}

// endHead decides where the response ends (RFC 9112 §6.3).
func (f *framing) endHead() error {
	switch {
	case f.chunked && f.sized:
		f.refuse("there are both Transfer-Encoding and Content-Length (§6.3)")
	case f.chunked && !f.http11:
		f.refuse("a response of HTTP/1.0 has a Transfer-Encoding (§6.1)")
	}
	f.line = nil
	switch {
	case f.bad != nil:
		return f.bad
	case f.status < 100, f.status == 101: // net/http does not use the connection again
		f.at = untilClosing
	case f.status < 200:
		f.at = atStatus // an interim response
	case f.toHead, f.status == 204, f.status == 304:
		f.at = atRest
	case f.chunked:
		f.at = atChunk
	case !f.sized:
		f.at = untilClosing
	case f.length == 0:
		f.at = atRest
	default:
		f.at, f.left = inBody, f.length
	}
	return nil
}

// chunk takes the line with a chunk's size (RFC 9112 §7.1). Extensions mean nothing.
func (f *framing) chunk(line []byte) error {
	const mostDigits = 16
	size, digits := int64(0), 0
	for digits < min(len(line), mostDigits) {
		digit := hexDigit(line[digits])
		if digit < 0 {
			break
		}
		size, digits = size<<4|digit, digits+1
	}
	rest := bytes.Trim(line[digits:], " \t")
	switch {
	case digits == 0, size < 0, len(rest) > 0 && rest[0] != ';':
		return badFraming("a chunk's size is %.32q (§7.1)", line)
	case size == 0:
		f.at = atTrailer
	default:
		f.at, f.left = inChunk, size
	}
	return nil
}

func hexDigit(c byte) int64 {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int64(c|0x20-'a') + 10
	}
	return -1
}
