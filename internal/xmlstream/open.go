package xmlstream

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// window is the size of the buffer that a document is read through.
const window = 32 << 10

// gzipGrowth bounds how much gzip adds to what cannot be compressed: much less than this part of it.
const gzipGrowth = 64

// Open takes the compression and the encoding off: what it returns yields UTF-8 without byte order mark, and a
// *LimitError behind maxBytes, 0 setting no limit. label names the encoding by its label in the Encoding standard, and counts more
// than what the document declares, but less than a byte order mark; "" or an unknown one: it is not known.
func Open(reader io.Reader, maxBytes int64, label string) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(reader, window)
	for range 2 { // some servers compress what is compressed
		head, _ := in.Peek(2)
		if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
			break
		}
		compressed := io.Reader(in)
		if maxBytes > 0 { // a gzip stream may be long and hold nothing
			most := min(maxBytes, math.MaxInt64/2) // without overflow
			compressed = &limited{r: in, left: most + most/gzipGrowth + window, limit: maxBytes}
		}
		unpacked, err := gzip.NewReader(compressed)
		if err != nil {
			return nil, &GzipError{err}
		}
		in = bufio.NewReaderSize(packed{unpacked}, window)
	}
	if maxBytes > 0 {
		in = bufio.NewReaderSize(&limited{r: in, left: maxBytes, limit: maxBytes}, window)
	}
	head, err := in.Peek(1024)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	if e := encodingOf(head, label); e != nil {
		return bufio.NewReaderSize(e.NewDecoder().Reader(in), window), nil
	}
	if bom := []byte("\xEF\xBB\xBF"); bytes.HasPrefix(head, bom) {
		if _, err := in.Discard(len(bom)); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// encodingOf finds the encoding of what begins like this; nil stands for UTF-8.
func encodingOf(head []byte, label string) encoding.Encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("<\x00")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xFE\xFF")), bytes.HasPrefix(head, []byte("\x00<")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("\xEF\xBB\xBF")): // behind white space, as templates print it
		return nil
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		declaration, ok := bytes.CutPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("<?xml"))
		if !ok || len(declaration) == 0 || !isSpace(declaration[0]) {
			return nil
		}
		declaration, _, _ = bytes.Cut(declaration, []byte("?>"))
		declared, _ := attribute(declaration, "encoding")
		if e, err = htmlindex.Get(string(declared)); err != nil {
			return nil
		}
	}
	switch name, _ := htmlindex.Name(e); name {
	case "utf-8", "utf-16le", "utf-16be", "replacement":
		return nil // a declared UTF-16 is a mistake: the declaration could not have been read
	}
	return e
}

// packed reads a gzip stream, and says of an error that it is one of the compression.
type packed struct{ r io.Reader }

func (p packed) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	var over *LimitError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &over) {
		err = &GzipError{err}
	}
	return n, err
}

// limited reads no more than it may.
type limited struct {
	r           io.Reader
	left, limit int64
	over        bool
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left == 0 && !l.over {
		var more [1]byte
		n, err := l.r.Read(more[:])
		if n == 0 {
			return 0, err
		}
		l.over = true
	}
	if l.over {
		return 0, &LimitError{What: "bytes", Limit: l.limit}
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}
