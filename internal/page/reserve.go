package page

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/selector"
)

// Run is what a page has to know of the run that it belongs to. Its methods may be called concurrently.
type Run interface {
	// Add counts bytes of memory that the page takes. It does not wait.
	Add(bytes int64)
	// Bounds returns how large a page may become. All requests of a run have the same.
	Bounds() *Bounds
	// Queries returns where the queries on the pages of the run are counted, nil for nowhere. All requests of a run have the same.
	Queries() *Queries
	// Extracted counts what became of the fields of a struct that was filled from the page, see [selector.FieldWatcher].
	Extracted(keys []string, counts []selector.FieldCount)
}

// Bounds are how large what is made of one page may be. They do not change, and may be shared by all pages.
type Bounds struct {
	nodes, attributes int   // of a tree
	text              int   // bytes of a body that is decoded to UTF-8
	value             int64 // bytes of what is decoded from JSON
	small             selector.Option
}

// NewBounds returns the bounds that the limits of a run set: how many nodes and attributes a tree may have (Limits.Nodes,
// Limits.Attributes), and how many bytes one body may have (Limits.Body).
func NewBounds(nodes, attributes int, body int64) Bounds {
	b := Bounds{nodes: nodes, attributes: attributes, text: int(min(body, math.MaxInt)), value: min(body, math.MaxInt64/2) * 2}
	b.small = boundsOf(tree{nodes: min(nodes, smallTree), attributes: min(attributes, smallTree)})
	return b
}

// tree says how large the tree of a page may become, and what it takes.
type tree struct {
	nodes, attributes int
	bytes             int64 // with all that the parser and queries keep for it
}

func boundsOf(t tree) selector.Option {
	return selector.Bounds(html.MaxNodes(t.nodes), html.MaxAttributes(t.attributes))
}

const (
	// unreserved is the size in bytes of what is made of a page up to which nothing is reserved for it.
	unreserved = 256 << 10
	// smallTree is how many nodes and attributes the tree of such a page may have.
	smallTree = unreserved / (nodeSize + attributeSize)
	// nodeSize is what a node takes, in bytes: 28 in the tree, 64 as an open element and 80 as a formatting one of the parser, 50
	// in the index; about every second node is an element, and lists have room to grow.
	nodeSize = 136
	// attributeSize is what an attribute takes, in the same way: 12 in the tree, more in the parser and the index.
	attributeSize = 32
)

// estimate returns what is likely to be made of a body: it counts its "<" for nodes (half of them are end tags, and
// texts come between), "=" for attributes, and for text that is copied whether there are any "&", carriage returns and
// NULs.
func (b *Bounds) estimate(body []byte) tree {
	count := func(c byte) int { return bytes.Count(body, []byte{c}) }
	tags := count('<')
	t := tree{nodes: tags + tags/2 + smallTree/2, attributes: count('=') + tags/8 + smallTree/2}
	t.nodes, t.attributes = min(t.nodes, b.nodes), min(t.attributes, b.attributes)
	text := 0
	if nul := count(0); nul > 0 || bytes.IndexByte(body, '&') >= 0 || bytes.IndexByte(body, '\r') >= 0 {
		text = len(body) + 2*nul
	}
	if len(body) > unreserved && !utf8.Valid(body) { // it is decoded to another one
		text += min(2*len(body), b.text)
	}
	t.bytes = bytesOf(t.nodes, t.attributes) + int64(text)
	return t
}

// most returns the limits of the tree of a page with size bytes, whose estimate was too low.
func (b *Bounds) most(size int, low tree) tree {
	t := tree{nodes: min(b.nodes, html.DefaultNodes(size)), attributes: min(b.attributes, size)}
	t.bytes = low.bytes + bytesOf(t.nodes-low.nodes, t.attributes-low.attributes)
	return t
}

func bytesOf(nodes, attributes int) int64 {
	return nodeSize*int64(nodes) + attributeSize*int64(attributes)
}

// Reserve returns how many bytes what is made of an HTML or XML page is likely to take; that many count for the page from now on.
// It returns 0 for little, for other bodies and for those in a file: these count when they are parsed.
func (p *Page) Reserve(h Host) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sync(h)
	contentType := h.ContentType()
	if p.reserved || p.file != nil || !isHTML(contentType) && !isXML(contentType) {
		return 0
	}
	return p.reserve(h, p.body)
}

// reserve estimates the page's tree, and returns the bytes that the run has to know of. The caller holds mu.
func (p *Page) reserve(h Host, body []byte) int64 {
	p.reserved, p.tree = true, h.Run().Bounds().estimate(body)
	if p.tree.bytes <= unreserved {
		p.tree = tree{}
	}
	return p.tree.bytes
}

// parse parses the decoded body, as XML or as HTML: within what was reserved for it, or once more within the limits of the run if
// that was too little. The caller holds mu.
func (p *Page) parse(h Host, text []byte) (*selector.Document, error) {
	run := h.Run()
	if run == nil {
		return p.parseWithin(h, text, nil)
	}
	bounds := run.Bounds()
	if !p.reserved {
		body, err := p.inMemory(h)
		if err != nil {
			return nil, err
		}
		run.Add(p.reserve(h, body))
	}
	within := bounds.small
	if p.tree.bytes > 0 {
		within = boundsOf(p.tree)
	}
	doc, err := p.parseWithin(h, text, within)
	if limit := (*html.LimitError)(nil); !errors.As(err, &limit) || !p.isLow(bounds, limit) {
		return doc, err
	}
	most := bounds.most(len(text), p.tree)
	run.Add(most.bytes - p.tree.bytes)
	p.tree = most
	return p.parseWithin(h, text, boundsOf(most))
}

// isLow reports whether the limit that a page has met is that of an estimate. The caller holds mu.
func (p *Page) isLow(b *Bounds, met *html.LimitError) bool {
	return met.What == "nodes" && met.Limit < b.nodes || met.What == "attributes" && met.Limit < b.attributes
}

// decode returns a body in UTF-8. The error is a [*selector.ParseError] if it becomes larger than a body may be.
func decode(h Host, body []byte, contentType string) ([]byte, charset.Encoding, error) {
	most := math.MaxInt
	if run := h.Run(); run != nil {
		most = run.Bounds().text
	}
	text, encoding, _, ok := charset.DecodeWithin(body, contentType, most)
	if !ok {
		return nil, encoding, &selector.ParseError{Err: &html.LimitError{What: fmt.Sprintf("bytes of decoded text (%s)", remedy.Body), Limit: most}}
	}
	return text, encoding, nil
}
