package xmlstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What one token may take. A URL has 2,048 characters by the protocol of sitemaps; a description may be longer.
const (
	maxTag  = 64 << 10
	maxText = 64 << 10
)

// Token is what [Scanner.Scan] has found.
type Token uint8

// The tokens.
const (
	EndOfInput Token = iota
	StartTag
	EndTag
)

// Scanner finds the tags of an XML document in a stream, and the text between them where it is wanted. It holds no
// more than a tag and a text of the document, keeps no stack, and expands no entity but the five of XML and
// numbers. What is not well-formed it reads as text. encoding/xml would take three times as long
// (see the benchmarks of package sitemap), and hold whatever a document has it hold.
type Scanner struct {
	In *Tape

	Prefix []byte // the prefix of the name of the last tag, without the colon; nil: none
	Name   []byte // its local name
	Tag    []byte // what follows it
	Closed bool   // a start tag that is its own end tag
	At     int64  // the offset of its <

	buf     []byte // what Prefix, Name and Tag are in
	want    bool   // collect text
	text    []byte // collected: references replaced
	pending []byte // collected: not yet looked through for references
}

// Scan goes on to the next tag. A tag is valid until the next call.
func (s *Scanner) Scan() (Token, error) {
	for {
		if err := s.skipText(); err != nil {
			return EndOfInput, eof(err)
		}
		s.At = s.In.Offset() - 1
		c, err := s.In.ReadByte()
		if err != nil {
			s.literal('<')
			return EndOfInput, eof(err)
		}
		switch {
		case c == '?':
			err = s.skipPast("?>", false)
		case c == '!':
			err = s.declaration()
		case c == '/' || isNameStart(c):
			if err = s.In.UnreadByte(); err == nil {
				err = s.readTag()
			}
			if err == nil && len(s.Name) > 0 {
				if c == '/' {
					return EndTag, nil
				}
				return StartTag, nil
			}
		default:
			s.literal('<')
			err = s.In.UnreadByte()
		}
		if err != nil {
			return EndOfInput, eof(err)
		}
	}
}

// eof makes the end of the input no error: what it means, the caller knows.
func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// skipText goes on behind the next <.
func (s *Scanner) skipText() error {
	for {
		part, err := s.In.ReadSlice('<')
		if err == nil {
			part = part[:len(part)-1]
		}
		s.collect(part)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// collect keeps text that references may be in.
func (s *Scanner) collect(part []byte) {
	if s.want {
		s.pending = append(s.pending, part[:min(len(part), maxText-min(maxText, len(s.text)+len(s.pending)))]...)
	}
}

func (s *Scanner) literal(c byte) { s.collect([]byte{c}) }

// Capture begins to collect text.
func (s *Scanner) Capture() { s.want, s.text, s.pending = true, s.text[:0], s.pending[:0] }

// Take ends the collecting. The text is valid until the next Capture.
func (s *Scanner) Take() []byte {
	s.settle()
	s.want = false
	return bytes.TrimSpace(s.text)
}

// settle replaces the references in what was collected so far.
func (s *Scanner) settle() {
	s.text = appendUnescaped(s.text, s.pending)
	s.pending = s.pending[:0]
}

// readTag reads up to the > that ends a tag.
func (s *Scanner) readTag() error {
	s.buf = s.buf[:0]
	var quote byte
	for {
		part, err := s.In.ReadSlice('>')
		s.buf = append(s.buf, part...)
		if len(s.buf) > maxTag {
			return &LimitError{What: "bytes in a tag", Limit: maxTag}
		}
		if err == nil || errors.Is(err, bufio.ErrBufferFull) {
			if quote = openQuote(part, quote); quote != 0 || err != nil {
				continue
			}
			break
		}
		return err
	}
	tag := s.buf[:len(s.buf)-1]
	tag, s.Closed = bytes.CutSuffix(tag, []byte("/"))
	if len(tag) > 0 && tag[0] == '/' {
		tag = tag[1:]
	}
	end := 0
	for end < len(tag) && !isSpace(tag[end]) {
		end++
	}
	s.Prefix, s.Name, s.Tag = nil, tag[:end], tag[end:]
	if i := bytes.IndexByte(s.Name, ':'); i >= 0 {
		s.Prefix, s.Name = s.Name[:i], s.Name[i+1:]
	}
	return nil
}

// openQuote tells in which quotation part ends, if it began in quote; 0: in none.
func openQuote(part []byte, quote byte) byte {
	if quote == 0 && bytes.IndexByte(part, '"') < 0 && bytes.IndexByte(part, '\'') < 0 {
		return 0
	}
	for _, c := range part {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote
}

// declaration reads what begins with <!: a comment, a CDATA section, or a document type.
func (s *Scanner) declaration() error {
	head, err := s.In.Peek(7)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("--")):
		if _, err := s.In.Discard(2); err != nil {
			return err
		}
		return s.skipPast("-->", false)
	case bytes.HasPrefix(head, []byte("[CDATA[")):
		if _, err := s.In.Discard(7); err != nil {
			return err
		}
		s.settle()
		return s.skipPast("]]>", s.want)
	}
	return s.documentType()
}

// skipPast goes on behind the end mark, which ends with >. With keep what is before it is text.
func (s *Scanner) skipPast(end string, keep bool) error {
	var tail [2]byte // the last bytes of the part before
	for {
		part, err := s.In.ReadSlice('>')
		ended := err == nil && endsWith(tail, part, end)
		if keep {
			s.text = append(s.text, part[:min(len(part), maxText-min(maxText, len(s.text)))]...)
		}
		if ended {
			if keep && bytes.HasSuffix(s.text, []byte(end)) {
				s.text = s.text[:len(s.text)-len(end)]
			}
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		switch n := len(part); {
		case n >= 2:
			tail = [2]byte{part[n-2], part[n-1]}
		case n == 1:
			tail = [2]byte{tail[1], part[0]}
		}
	}
}

// endsWith reports whether tail and part together end with a mark of two or three bytes.
func endsWith(tail [2]byte, part []byte, mark string) bool {
	if len(part) >= len(mark) {
		return string(part[len(part)-len(mark):]) == mark
	}
	return strings.HasSuffix(string(tail[:])+string(part), mark)
}

// documentType reads over a document type, or anything else that begins with <!. One that declares entities is
// refused: no sitemap and no feed needs any, and what blows a parser up does.
func (s *Scanner) documentType() error {
	var (
		quote   byte
		comment bool
		last    [3]byte
	)
	for depth, length := 1, 0; depth > 0; {
		part, err := s.In.ReadSlice('>')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if length += len(part); length > maxTag {
			return &LimitError{What: "bytes in a document type", Limit: maxTag}
		}
		for _, c := range part {
			switch {
			case comment:
				if c == '>' && last[1] == '-' && last[2] == '-' {
					comment = false
					depth--
				}
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '-' && string(last[:]) == "<!-":
				comment, c = true, 0 // the two dashes end nothing yet
			case c == 'N' && string(last[:]) == "<!E": // ENTITY: no other declaration begins like this
				return ErrEntities
			case c == '<':
				depth++
			case c == '>':
				depth--
			}
			last = [3]byte{last[1], last[2], c}
		}
	}
	return nil
}

// ErrEntities is the error of a document type that declares entities.
var ErrEntities = errors.New("the document type declares entities")

// attribute looks an attribute of a tag up by its local name, references not replaced.
func attribute(tag []byte, name string) (value []byte, ok bool) {
	for len(tag) > 0 {
		tag = bytes.TrimLeft(tag, " \t\r\n")
		i := bytes.IndexByte(tag, '=')
		if i < 0 {
			return nil, false
		}
		key := bytes.TrimSpace(tag[:i])
		if j := bytes.LastIndexAny(key, " \t\r\n:"); j >= 0 {
			key = key[j+1:]
		}
		tag = bytes.TrimLeft(tag[i+1:], " \t\r\n")
		if len(tag) == 0 {
			return nil, false
		}
		if quote := tag[0]; quote == '"' || quote == '\'' {
			value, tag, _ = bytes.Cut(tag[1:], tag[:1])
		} else {
			end := bytes.IndexAny(tag, " \t\r\n")
			if end < 0 {
				end = len(tag)
			}
			value, tag = tag[:end], tag[end:]
		}
		if string(key) == name {
			return value, true
		}
	}
	return nil, false
}

// Attribute returns an attribute of the last start tag by its local name, "" if it has none of this name.
func (s *Scanner) Attribute(name string) string {
	value, _ := attribute(s.Tag, name)
	return strings.TrimSpace(string(appendUnescaped(nil, value)))
}

// appendUnescaped appends src with its references replaced. What is none that XML knows stays as it is.
func appendUnescaped(dst, src []byte) []byte {
	for {
		i := bytes.IndexByte(src, '&')
		if i < 0 {
			return append(dst, src...)
		}
		dst, src = append(dst, src[:i]...), src[i:]
		end := 1
		for end < len(src) && (src[end] == '#' || isAlphanumeric(src[end])) {
			end++
		}
		name, rest := src[1:end], src[end:]
		r, ok := reference(name)
		if ok = ok && len(rest) > 0 && rest[0] == ';'; ok {
			dst, src = utf8.AppendRune(dst, r), rest[1:]
		} else {
			dst, src = append(append(dst, '&'), name...), rest
		}
	}
}

// reference is the character that is meant by the name between & and ;.
func reference(name []byte) (rune, bool) {
	switch string(name) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	default:
		digits, ok := strings.CutPrefix(string(name), "#")
		if !ok {
			return 0, false
		}
		base := 10
		if hex, ok := strings.CutPrefix(digits, "x"); ok {
			digits, base = hex, 16
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n == 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			return 0, false
		}
		return rune(n), true
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || c >= 0x80
}
