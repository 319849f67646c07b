package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
)

// Key is what a page is found by.
type Key struct {
	URL      string
	Method   string
	Body     string // stands for the body of the request, such as a digest of it; "" is none
	Identity string // whose page it is. It is stored as it is: secrets belong in it only as a digest
}

// Digest is the SHA-256 of a body.
type Digest [sha256.Size]byte

// Entry is a stored page without its body.
type Entry struct {
	Key
	rfc9111.Entry        // Length is set by Finish
	Run           string // the run that has stored it
	Confirmed     int    // how often the site has said that it is still right
	ID            uint64 // its number in the store, set by Commit
	Digest        Digest // set by Finish

	stored int64 // how many bytes the body takes
}

// The kinds of rows. See the package comment.
const (
	rowEntries = 'k'
	rowUsed    = 't'
	rowBody    = 'b'
	rowRefs    = 'r'
)

var rowState = []byte{'s'}

// appendText appends a part of a key so that parts sort as their texts do, and none is the beginning of another one.
func appendText(b []byte, text string) []byte {
	for {
		i := strings.IndexByte(text, 0)
		if i < 0 {
			return append(b, text...)
		}
		b = append(append(b, text[:i]...), 0, 0xff)
		text = text[i+1:]
	}
}

const partEnd = "\x00\x01"

// appendRow appends the row of a key.
func (k Key) appendRow(b []byte, row byte) []byte {
	b = append(appendText(append(b, row), k.URL), partEnd...)
	b = append(appendText(b, k.Method), partEnd...)
	b = append(appendText(b, k.Body), partEnd...)
	return appendText(b, k.Identity)
}

// urlRows is how the rows of all keys of a URL begin.
func urlRows(row byte, url string) []byte { return append(appendText([]byte{row}, url), partEnd...) }

// parseKey reads the row of a key.
func parseKey(row []byte) (Key, bool) {
	if len(row) == 0 {
		return Key{}, false
	}
	parts := strings.Split(string(row[1:]), partEnd)
	if len(parts) != 4 {
		return Key{}, false
	}
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00\xff", "\x00")
	}
	return Key{parts[0], parts[1], parts[2], parts[3]}, true
}

func digestRow(row byte, d Digest) []byte { return append([]byte{row}, d[:]...) }

// after returns the first key behind all those that begin with a prefix.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// appendEntries appends the entries of a key, without the key.
func appendEntries(b []byte, entries []*Entry) []byte {
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.ID)
		b = append(b, e.Digest[:]...)
		b = binary.AppendUvarint(b, uint64(e.Length))
		b = binary.AppendUvarint(b, uint64(e.stored))
		b = binary.AppendUvarint(b, uint64(e.Status))
		b = binary.AppendVarint(b, nanos(e.Requested))
		b = binary.AppendVarint(b, nanos(e.Received))
		b = appendString(b, e.Run)
		b = binary.AppendUvarint(b, uint64(e.Confirmed))
		b = appendHeader(b, e.Header)
		b = appendHeader(b, e.Vary)
	}
	return b
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}

func appendString(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendHeader(b []byte, h http.Header) []byte {
	b = binary.AppendUvarint(b, uint64(len(h)))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		b = appendString(b, name)
		b = binary.AppendUvarint(b, uint64(len(h[name])))
		for _, value := range h[name] {
			b = appendString(b, value)
		}
	}
	return b
}

var errEntries = errors.New("httpcache: the entries of a key are damaged")

// parseEntries reads what appendEntries has written.
func parseEntries(key Key, value []byte) ([]*Entry, error) {
	p := &parser{rest: string(value)}
	entries := make([]*Entry, 0, p.count())
	for range cap(entries) {
		e := &Entry{Key: key, ID: p.uvarint()}
		copy(e.Digest[:], p.take(sha256.Size))
		e.Length, e.stored, e.Status = p.size(), p.size(), int(p.size())
		e.Requested, e.Received = p.time(), p.time()
		e.Run, e.Confirmed = p.text(), int(p.size())
		e.Header, e.Vary = p.header(), p.header()
		entries = append(entries, e)
	}
	if p.bad || p.rest != "" {
		return nil, errEntries
	}
	return entries, nil
}

// parser reads a row. The strings it returns are parts of one.
type parser struct {
	rest string
	bad  bool // something did not fit, and rest is empty
}

func (p *parser) fail() { p.bad, p.rest = true, "" }

func (p *parser) take(n uint64) string {
	if n > uint64(len(p.rest)) {
		p.fail()
		return ""
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text
}

func (p *parser) uvarint() (v uint64) {
	for i := 0; i < len(p.rest) && i < binary.MaxVarintLen64; i++ {
		c := p.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break // more than 64 bits
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			p.rest = p.rest[i+1:]
			return v
		}
	}
	p.fail()
	return 0
}

// size reads a number that is not negative.
func (p *parser) size() int64 {
	v := p.uvarint()
	if v > math.MaxInt64 {
		p.fail()
		return 0
	}
	return int64(v)
}

// count reads how many things follow, each of which takes a byte at least.
func (p *parser) count() int {
	n := p.uvarint()
	if n > uint64(len(p.rest)) {
		p.fail()
		return 0
	}
	return int(n)
}

func (p *parser) text() string { return p.take(p.uvarint()) }

func (p *parser) time() time.Time {
	v := p.uvarint()
	n := int64(v>>1) ^ -int64(v&1)
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

func (p *parser) header() http.Header {
	n := p.count()
	h := make(http.Header, n)
	values := make([]string, 0, n) // most fields have one
	for range n {
		name, lines := p.text(), p.count()
		if lines == 0 {
			h[name] = nil
			continue
		}
		first := len(values)
		for range lines {
			values = append(values, p.text())
		}
		h[name] = values[first:len(values):len(values)]
	}
	return h
}
