package html

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
)

// Document is a parsed page: the root of its tree and the memory that all its nodes live in. It is
// safe for concurrent use by readers.
type Document struct {
	source []byte
	nodes  []node // the first is no node, the second the document
	attrs  []attr // the first is none
	side   []byte // text that is not a range of the source
	spans  []sideSpan
	names  names

	xml       bool
	lenient   bool // XML that is not well-formed is read as far as it goes
	entities  bool // the entities of HTML are known in XML
	coded     bool // the source holds & or carriage return or NUL
	quirks    QuirksMode
	doctype   rawDoctype
	maxNodes  int
	maxAttrs  int      // 0: no bound
	reordered bool     // nodes had to be brought into document order
	again     bool     // there was a document before
	unlike    bool     // LinkTags does not know the tags
	based     bool     // LinkTags has a base
	inForeign bool     // LinkTags has a tag in SVG or MathML
	builder   *builder // of a document that is used again
	work      int      // steps that parsing took, for the tests of hostile input
	far       bool     // an adoption took elements out of the list that lay too far from it, for the tests

	index atomic.Pointer[Index] // nil until the first query, see query.go
	swept atomic.Int64          // the steps of sweeps, see querysweep.go

	ends    atomic.Pointer[[]uint32] // EndID of each node, nil unless that is worth it, see Node.EndID
	climbed atomic.Int64             // the steps that EndID took in deep branches
}

// QuirksMode says how far the page asks for the behaviour of old browsers. Apart from layout it
// makes classes and ids in selectors ignore case and lets a table stand in a paragraph.
type QuirksMode uint8

// The modes, section 13.2.6.4.1 (The initial insertion mode).
const (
	NoQuirks QuirksMode = iota
	LimitedQuirks
	Quirks
)

// Doctype is a document type declaration.
type Doctype struct {
	Name           string
	Public, System string // the identifiers, "" if they are missing

	HasPublic, HasSystem bool // whether there are identifiers, empty ones included
}

// Option changes how a document is parsed. A nil one is an error.
type Option func(*Document)

// set applies options.
func (d *Document) set(options []Option) error {
	for i, option := range options {
		if option == nil {
			return fmt.Errorf("html: option %d is nil; leave it out", i+1)
		}
		option(d)
	}
	return nil
}

// DefaultNodes returns how many nodes the document of a source of so many bytes may have without [MaxNodes].
func DefaultNodes(size int) int { return 64 + 2*size }

// MaxNodes bounds the number of nodes of a document. The default, also for n = 0, is 64 and two for
// each byte of the source, which no page reaches that is not made for it.
func MaxNodes(n int) Option { return func(d *Document) { d.maxNodes = n } }

// MaxAttributes bounds the number of attributes of a document: those of one tag as they are written, and those of all
// elements together. The default, also for n = 0, is no bound.
func MaxAttributes(n int) Option { return func(d *Document) { d.maxAttrs = n } }

// LimitError says that a source asks for more than a document may hold: nodes (see [MaxNodes]), attributes (see
// [MaxAttributes]), names that HTML does not have (16 million), bytes of source (2^28), bytes of text that is no part of the
// source (2^20 and 2 for each byte of that), or bytes in repeated tags:
// formatting elements that were not closed are made again in each paragraph, and their tags with them (2^20 and 16 for
// each byte of the source).
type LimitError struct {
	What  string // "nodes", "attributes", "names", "bytes", "bytes of text", "bytes in repeated tags", or what the program that parses bounds beside them
	Limit int
	Pos   int // offset in the source at which the limit was met, 0 if that is unknown
}

// Error says what there is too much of, and where.
func (e *LimitError) Error() string {
	if e.Pos == 0 {
		return fmt.Sprintf("html: more than %d %s", e.Limit, e.What)
	}
	return fmt.Sprintf("html: at byte %d: more than %d %s", e.Pos, e.Limit, e.What)
}

// Parse parses an HTML document in UTF-8 (section 13.2, scripting disabled). Every sequence of bytes
// is a document; the only error is a *LimitError. The document refers to source, which must not be changed as long as it is in
// use.
func Parse(source []byte, options ...Option) (*Document, error) {
	d := newDocument()
	if err := d.set(options); err != nil {
		return nil, err
	}
	if err := d.Reset(source); err != nil {
		return nil, err
	}
	return d, nil
}

// newDocument returns an empty document with room for what most pages have a little of, in one
// allocation: a few names that are not of HTML, and text that is not a range of the source, such as the
// white space around </body>.
func newDocument() *Document {
	x := &struct {
		Document
		side  [sideRoom]byte
		spans [2]sideSpan
		text  [64]byte
		list  [4]name
	}{}
	d := &x.Document
	d.side, d.spans = x.side[:0], x.spans[:0]
	d.names.text, d.names.list = x.text[:0], x.list[:0]
	return d
}

// sideRoom is how many bytes of text that is not a range of the source need no memory of their own.
const sideRoom = 32

// Reset parses another HTML document into the memory of this one, with the options that this one was
// made with. All nodes and views of the old document become invalid. After an error the document is
// empty.
func (d *Document) Reset(source []byte) error {
	if err := d.begin(source); err != nil {
		return err
	}
	return d.parse(nil)
}

// begin takes away what the document holds and gives it a source. What comes next has to reserve memory.
func (d *Document) begin(source []byte) error {
	d.source = nil
	d.index.Store(nil)
	d.swept.Store(0)
	d.ends.Store(nil)
	d.climbed.Store(0)
	d.nodes = d.nodes[:0]
	d.attrs = d.attrs[:0]
	d.side = d.side[:0]
	d.spans = d.spans[:0]
	d.names.reset()
	d.quirks, d.doctype, d.work = NoQuirks, rawDoctype{}, 0
	d.coded, d.xml, d.entities, d.reordered, d.unlike, d.far = false, false, false, false, false, false
	d.based, d.inForeign = false, false
	if len(source) > maxSource {
		d.empty()
		return &LimitError{What: "bytes", Limit: maxSource, Pos: maxSource}
	}
	d.source = source
	return nil
}

// reserve makes room for the nodes and attributes of the source, and for the first of them.
func (d *Document) reserve() {
	if cap(d.nodes) == 0 {
		// On most pages a < stands for about one node: half of them are end tags, but text comes between.
		// Grow, other than make, uses up what the allocator gives.
		tags := bytes.Count(d.source, []byte("<"))
		nodes := min(tags+tags/8+12, d.limit()+2)
		attrs := d.attrLimit(min(tags, bytes.Count(d.source, []byte("="))) + 1)
		d.nodes, d.attrs = slices.Grow(d.nodes, nodes), slices.Grow(d.attrs, attrs)
	}
	d.empty()
}

// maxSource is the largest source, in bytes: numbers of 32 bits count what is made of it.
const maxSource = 1 << 28

// mostNodes is the largest number of nodes, which an int of 32 bits can count.
const mostNodes = math.MaxInt32 - 2

func (d *Document) empty() {
	d.nodes = append(d.nodes[:0], node{}, node{meta: uint32(DocumentNode)})
	d.attrs = append(d.attrs[:0], attr{})
}

// limit returns the largest number of nodes.
func (d *Document) limit() int {
	n := d.maxNodes
	if n <= 0 {
		n = DefaultNodes(len(d.source))
	}
	return min(n, mostNodes)
}

// attrLimit returns n, or the largest number of attributes if that is smaller.
func (d *Document) attrLimit(n int) int {
	if d.maxAttrs > 0 {
		return min(n, d.maxAttrs+1)
	}
	return n
}

// Root returns the document itself, the root of the tree; no node for the zero Document, into which
// nothing was parsed yet.
func (d *Document) Root() Node { return d.Node(1) }

// Element returns the topmost element, html in HTML, no node if there is none.
func (d *Document) Element() Node {
	for n := d.Root().FirstChild(); !n.IsZero(); n = n.NextSibling() {
		if n.IsElement() {
			return n
		}
	}
	return Node{}
}

// Len returns the number of nodes, including the document itself.
func (d *Document) Len() int { return max(len(d.nodes)-1, 0) }

// Node returns the node with this number, from 1 to Len in document order, no node for another
// number. Going through all numbers is the fastest way to see all nodes.
func (d *Document) Node(id uint32) Node {
	if id == 0 || int(id) >= len(d.nodes) {
		return Node{}
	}
	return Node{d, id}
}

// Source returns what was parsed. It must not be changed.
func (d *Document) Source() []byte { return d.source }

// QuirksMode returns the mode that the document type asks for. XML documents have no quirks.
func (d *Document) QuirksMode() QuirksMode { return d.quirks }

// IsXML reports whether the document was parsed as XML, in which names keep their case.
func (d *Document) IsXML() bool { return d.xml }

// Doctype returns the document type and whether there is one.
func (d *Document) Doctype() (Doctype, bool) {
	for n := d.Root().FirstChild(); !n.IsZero(); n = n.NextSibling() {
		if n.Kind() == DoctypeNode {
			return d.doctypeNames(), true
		}
	}
	return Doctype{}, false
}

func (d *Document) doctypeNames() Doctype {
	part := func(s span) []byte { return d.source[s.start:s.end] }
	name := part(d.doctype.name)
	if d.xml {
		return Doctype{
			Name:      string(name),
			Public:    string(part(d.doctype.public)),
			System:    string(part(d.doctype.system)),
			HasPublic: d.doctype.public.start != 0,
			HasSystem: d.doctype.system.start != 0,
		}
	}
	return d.doctype.decode(d.source)
}

// LookupAtom returns the number of a name in this document, 0 if no element or attribute has it.
// Names are compared byte by byte. In XML it finds names in no namespace and in those of HTML, SVG
// and MathML.
func (d *Document) LookupAtom(name string) Atom { return d.names.lookup([]byte(name), 0) }

// Atoms returns a number above all atoms of this document, for tables of them.
func (d *Document) Atoms() int { return staticAtoms + len(d.names.list) }

// AtomName returns the name with this number, "" if there is none.
func (d *Document) AtomName(a Atom) string {
	if a < staticAtoms {
		return a.String()
	}
	if int(a-staticAtoms) >= len(d.names.list) {
		return ""
	}
	return string(d.names.bytes(a))
}

// AtomBytes is AtomName for inner loops: it returns a view, which must not be changed, of the name of
// an atom of the document's own, and nil for those that are the same in all documents.
func (d *Document) AtomBytes(a Atom) []byte {
	if a < staticAtoms || int(a-staticAtoms) >= len(d.names.list) {
		return nil
	}
	return d.names.bytes(a)
}

// atomSpace returns the namespace of a name in XML.
func (d *Document) atomSpace(a Atom) string {
	if a < staticAtoms || int(a-staticAtoms) >= len(d.names.list) {
		return ""
	}
	return d.AtomName(Atom(d.names.list[a-staticAtoms].space))
}

// localName returns what follows the prefix of a name.
func localName(name string) string {
	if _, local, ok := strings.Cut(name, ":"); ok {
		return local
	}
	return name
}
