package page

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// Given is what a response has of its own, and its user may change.
type Given struct {
	Status int                 // of the response
	URL    string              // where the body came from
	Header map[string][]string // of the response; only links.Everything reads it
	Buffer *bytes.Buffer       // the body; nil for a spooled one
}

// A Host is the response that a page belongs to. It is the same in all calls of the methods of a [Page].
type Host interface {
	// Given returns what the response has at this moment. It is called with the lock of the page held.
	Given() Given
	// ContentType returns the media type that the response names, as it is in its header; "" if it names none.
	ContentType() string
	// Run returns the run whose memory the page takes, nil if there is none.
	Run() Run
	// Unreadable returns the error of a spooled body that cannot be read into memory: it is larger than that many bytes,
	// which is a nil cause, or its file cannot be read.
	Unreadable(limit int64, cause error) error
}

// Spool is a body that may lie in a file.
type Spool interface {
	Bytes() (body []byte, inMemory bool) // the caller does not change body
	Len() int64                          // in bytes
	Reader() io.ReadCloser               // a new one, from the first byte on
	Close() error                        // removes the file; further calls have no effect
}

// Page is the body of a response, and what is made of it. The zero value has no body. It must not be copied.
type Page struct {
	misses atomic.Pointer[miss] // the queries that have matched nothing on this page; only added to, with mu held
	passed atomic.Bool          // it has passed the middlewares, whose queries may look for what should not be there

	mu       sync.Mutex // guards the fields below
	body     []byte
	view     *bytes.Buffer // the Buffer that body belongs to
	file     Spool         // the body, if it is spooled
	readable int64         // the largest file that is read into memory
	read     []byte        // the bytes of file, nil until asked for
	text     []byte        // the decoded body, nil until asked for
	encoding charset.Encoding
	value    []byte // the body decoded as JSON, nil until asked for
	reserved bool   // tree is what was estimated of the body
	tree     tree
	doc      *selector.Document
	json     *selector.Document // the body as JSON, nil until asked for
	base     *urlx.Base
	host     Host     // of doc; set once, before doc
	queries  *Queries // of the run, nil for none; set once, before doc
}

// Passed notes that the page has passed the middlewares: from now on queries that match nothing on it are counted.
func (p *Page) Passed() { p.passed.Store(true) }

// Lock has all methods wait that do not say that the caller holds the lock. A response holds it while it changes what it
// gives.
func (p *Page) Lock() { p.mu.Lock() }

// Unlock ends what Lock has begun.
func (p *Page) Unlock() { p.mu.Unlock() }

// Adopt makes the bytes of a buffer the body; a nil buffer has none. What was made of the body before is dropped, and the file
// of a spooled body that is replaced is removed. The caller holds the lock.
func (p *Page) Adopt(buffer *bytes.Buffer) {
	p.view, p.body = buffer, nil
	if buffer != nil {
		p.body = buffer.Bytes()
		if p.file != nil {
			p.file.Close()
			p.file = nil
		}
	}
	p.read, p.text, p.encoding, p.value, p.doc, p.json, p.base = nil, nil, charset.UTF8, nil, nil, nil, nil
	p.reserved, p.tree = false, tree{}
}

// AdoptSpool makes a file the body, as Adopt does with a buffer; one of more than readable bytes is never read into memory. The
// response gives no buffer until it replaces the body. Called with the lock held, or while no other goroutine has the page.
func (p *Page) AdoptSpool(file Spool, readable int64) {
	if p.file != nil {
		p.file.Close()
	}
	p.Adopt(nil)
	p.file, p.readable = file, readable
}

// Sync adopts another buffer that the response gives. The caller holds the lock.
func (p *Page) Sync(h Host) {
	if buffer := h.Given().Buffer; buffer != p.view {
		p.Adopt(buffer)
	}
}

// IsSpooled reports whether the body was spooled, and not replaced since. The caller holds the lock.
func (p *Page) IsSpooled() bool { return p.file != nil }

// CloseSpool removes the file of a spooled body; what reads it fails from then on.
func (p *Page) CloseSpool() {
	p.mu.Lock()
	file := p.file
	p.mu.Unlock()
	if file != nil {
		file.Close()
	}
}

// Bytes returns the body, which must not be changed. It is nil for a spooled body.
func (p *Page) Bytes(h Host) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sync(h)
	return p.body
}

// IsEmpty reports whether there is no byte of a body, neither in memory nor in a file.
func (p *Page) IsEmpty(h Host) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sync(h)
	return len(p.body) == 0 && (p.file == nil || p.file.Len() == 0)
}

// Beginning returns the first bytes of the body, at most that many. The error is one of reading a file.
func (p *Page) Beginning(h Host, most int) ([]byte, error) {
	if body := p.Bytes(h); len(body) > 0 {
		return body[:min(len(body), most)], nil
	}
	reader := p.Reader(h)
	defer reader.Close()
	return io.ReadAll(io.LimitReader(reader, int64(most)))
}

// Reader returns a new independent reader of the body from its beginning, in memory or spooled.
func (p *Page) Reader(h Host) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sync(h)
	if p.file != nil {
		return p.file.Reader()
	}
	return io.NopCloser(bytes.NewReader(p.body))
}

// String returns the body as a string, without decoding its encoding. It panics with the error of [Host.Unreadable].
func (p *Page) String(h Host) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, err := p.inMemory(h)
	if err != nil {
		panic(err)
	}
	return string(body)
}

// inMemory returns the body; a spooled one is read into memory. The error is that of [Host.Unreadable]. The caller holds mu.
func (p *Page) inMemory(h Host) ([]byte, error) {
	p.Sync(h)
	if p.file == nil {
		return p.body, nil
	}
	if body, ok := p.file.Bytes(); ok {
		return body, nil
	}
	if p.read != nil {
		return p.read, nil
	}
	size := p.file.Len()
	if size > p.readable {
		return nil, h.Unreadable(p.readable, nil)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(p.file.Reader(), body); err != nil {
		return nil, h.Unreadable(p.readable, err)
	}
	if run := h.Run(); run != nil { // the file is open: the request has not settled
		run.Add(size)
	}
	p.read = body
	return body, nil
}
