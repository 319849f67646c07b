package html

import (
	"bytes"
	"math"
)

// builder makes the tree of an HTML document: the tree construction stage, section 13.2.6.
type builder struct {
	d       *Document
	s       scanner
	stack   stack
	formats formats

	mode     mode
	original mode   // the mode to go back to from textMode
	modes    []mode // the stack of template insertion modes

	tag Atom // the name of the current tag

	head, form uint32
	framesetOK bool
	foster     bool // foster parenting is on
	skipLF     bool // a line feed at the start of the next text is to be dropped

	// The context of a fragment.
	fragment     bool
	context      Atom
	contextSpace Namespace

	text    textRange   // the current text
	pending []textRange // the pending table character tokens
	merges  []merge     // attributes for html and body
	buf     []byte      // for names in lower case
	seen    atomSet
	err     error

	// Memory that documents are made in which have none of their own yet: how much one needs is known
	// once it is made, and then they get that much.
	nodes   []node
	records []attr

	regions   regions // what Tags would take for foreign content here
	templates bool    // there was a template

	max   int    // of nodes
	again int    // bytes of the tags whose attributes were given to further elements
	tail  uint32 // parent of a comment after the body: what comes now may be out of order
	coded [3]int // where the next &, carriage return and NUL are, at or after the text before
	next  int    // the first of them
}

// mode is the insertion mode, section 13.2.4.1.
type mode uint8

// bodyModes are those in which text and most end tags are handled as in a body.
const bodyModes = 1<<inBodyMode | 1<<inCaptionMode | 1<<inCellMode

// inBody reports whether what comes is handled by the rules of the mode "in body" where no other rule
// of the mode itself says otherwise.
func (b *builder) inBody() bool { return 1<<b.mode&bodyModes != 0 }

const (
	initialMode mode = iota
	beforeHTMLMode
	beforeHeadMode
	inHeadMode
	inHeadNoscriptMode
	afterHeadMode
	inBodyMode
	textMode
	inTableMode
	inCaptionMode
	inColumnGroupMode
	inTableBodyMode
	inRowMode
	inCellMode
	inTemplateMode
	afterBodyMode
	inFramesetMode
	afterFramesetMode
	afterAfterBodyMode
	afterAfterFramesetMode
)

// merge is what a second html or body tag adds to the attributes of the element.
type merge struct{ node, attrs uint32 }

// parse makes the tree of the document's source, which begin has set.
func (d *Document) parse(context *Context) error {
	b := d.builder
	if b == nil {
		b = builders.Get().(*builder)
	}
	lent := d.nodes == nil && len(d.source) <= maxLent
	if lent {
		d.nodes, d.attrs = b.nodes, b.records
	}
	d.reserve()
	b.reset(d)
	err := b.build(context)
	if err != nil {
		d.empty()
	}
	if lent {
		b.takeBack(d)
	}
	b.leave()
	switch {
	case d.again:
		// A document that is used again is sure to find its builder as it left it.
		b.nodes, b.records = nil, nil
		d.builder = b
	case b.isSmall():
		builders.Put(b)
	}
	d.again = true
	return err
}

// build makes the tree.
func (b *builder) build(context *Context) (err error) {
	defer func() { caught(recover(), &err) }()
	if context != nil {
		b.startFragment(*context)
	}
	b.run()
	return b.err
}

// leave lets go of the document.
func (b *builder) leave() {
	b.d, b.s.src, b.err = nil, nil, nil
}

// reset makes the builder ready for a document. It keeps its memory.
func (b *builder) reset(d *Document) {
	*b = builder{
		d: d, max: d.limit(), framesetOK: true,
		s:       scanner{src: d.source, attrs: b.s.attrs[:0], maxAttrs: d.maxAttrs},
		stack:   stack{all: b.stack.all[:0], lastMore: b.stack.lastMore},
		formats: formats{all: b.formats.all[:0], buckets: b.formats.buckets},
		modes:   b.modes[:0], pending: b.pending[:0], merges: b.merges[:0], buf: b.buf[:0], seen: b.seen,
		regions: b.regions[:0], nodes: b.nodes, records: b.records,
	}
	clear(b.stack.lastMore)
	clear(b.formats.buckets)
	b.seek(0)
	d.coded = b.next < len(d.source)
	b.stack.all = append(b.stack.all, open{node: 1})       // below the lowest element is the document
	b.formats.all = append(b.formats.all, format{open: 1}) // see format.open
}

// seek finds the next bytes that have to be decoded from pos on.
func (b *builder) seek(pos int) {
	for i, c := range [...]byte{'&', '\r', 0} {
		if b.coded[i] < pos || pos == 0 {
			b.coded[i] = math.MaxInt
			if at := bytes.IndexByte(b.s.src[pos:], c); at >= 0 {
				b.coded[i] = pos + at
			}
		}
	}
	b.next = min(b.coded[0], b.coded[1], b.coded[2])
}

// isCoded reports whether a range of the source, behind those it was asked for before, has to be
// decoded.
func (b *builder) isCoded(start, end int) bool {
	if b.next < start {
		b.seek(start)
	}
	return b.next < end
}

// run builds the tree.
func (b *builder) run() {
	for b.err == nil {
		b.s.next()
		b.d.work++
		if len(b.pending) > 0 && b.s.kind != TextToken {
			b.flushPending()
		}
		switch b.s.kind {
		case TextToken:
			b.characters()
			continue
		case StartTagToken:
			b.skipLF = false
			b.startTag()
		case EndTagToken:
			b.skipLF = false
			b.endTag()
		case CommentToken:
			b.skipLF = false
			b.comment()
		case sectionToken:
			foreign := b.stack.cur().props&propHTML == 0 && b.stack.top != 0
			if foreign != b.regions.foreign() {
				b.d.unlike = true
			}
			if foreign {
				b.s.section()
				continue
			}
			b.s.bogus(b.s.pos + 2)
			b.skipLF = false
			b.comment()
		case DoctypeToken:
			b.skipLF = false
			b.doctype()
		case EndToken:
			b.end()
			b.mergeAttrs()
			if b.d.reordered && b.err == nil {
				b.d.reorder()
			}
			return
		}
	}
}

// fail ends parsing.
func (b *builder) fail(what string, limit int) {
	if b.err == nil {
		b.err = &LimitError{What: what, Limit: limit, Pos: b.s.from}
	}
}

// newNode adds a record without a place in the tree.
func (b *builder) newNode(n node) uint32 {
	if len(b.d.nodes) > b.max {
		b.fail("nodes", b.max)
		return 0
	}
	if len(b.d.nodes) == cap(b.d.nodes) {
		b.d.growNodes(n.meta, n.data, n.end)
	}
	b.d.nodes = append(b.d.nodes, n)
	return uint32(len(b.d.nodes) - 1)
}

// append makes a node the last child of a parent.
func (b *builder) append(parent, id uint32) {
	nodes := b.d.nodes
	n, p := &nodes[id], &nodes[parent]
	n.parent, n.prev, n.next = parent, p.last, 0
	if p.last != 0 {
		nodes[p.last].next = id
	}
	p.last = id
}

// before puts a node in front of a sibling.
func (b *builder) before(sibling, id uint32) {
	nodes := b.d.nodes
	n, s := &nodes[id], &nodes[sibling]
	n.parent, n.prev, n.next = s.parent, s.prev, sibling
	if s.prev != 0 {
		nodes[s.prev].next = id
	}
	s.prev = id
}

// detach takes a node out of the tree.
func (b *builder) detach(id uint32) {
	nodes := b.d.nodes
	n := &nodes[id]
	if n.parent == 0 {
		return
	}
	if n.prev != 0 {
		nodes[n.prev].next = n.next
	}
	if n.next != 0 {
		nodes[n.next].prev = n.prev
	} else {
		nodes[n.parent].last = n.prev
	}
	n.parent, n.prev, n.next = 0, 0, 0
}

// placeFor returns the appropriate place for inserting a node into the element of a stack entry
// (section 13.2.6.1): as the last child of parent or, if before is not 0, in front of that sibling.
func (b *builder) placeFor(entry uint32) (parent, before uint32) {
	e := &b.stack.all[entry]
	if !b.foster || e.props&propTable == 0 {
		return e.node, 0
	}
	b.d.reordered = true
	s := &b.stack
	table := s.last[AtomTable<<1]
	if template := s.last[AtomTemplate<<1]; template != 0 && s.all[template].order > s.all[table].order {
		return s.all[template].node, 0
	}
	if table == 0 {
		return s.all[s.root].node, 0
	}
	t := s.all[table].node
	if p := b.d.nodes[t].parent; p != 0 {
		return p, t
	}
	return s.all[s.all[table].below].node, 0
}

// place inserts a new node in the appropriate place for the current node.
func (b *builder) place(meta, data, end uint32) uint32 {
	if b.inPlace() {
		return b.d.addLast(b.stack.cur().node, meta, data, end)
	}
	parent, before := b.placeFor(b.stack.top)
	id := b.newNode(node{meta: meta, data: data, end: end})
	b.insert(id, parent, before)
	return id
}

// inPlace reports whether a new node is to be the last child of the current node and nothing else has
// to be looked at.
func (b *builder) inPlace() bool { return !b.foster && b.tail == 0 && len(b.d.nodes) <= b.max }

// insert puts a node into the tree, as the last child of parent or in front of a sibling.
func (b *builder) insert(id, parent, before uint32) {
	if b.tail != 0 && parent != b.tail {
		b.d.reordered = true
	}
	if before != 0 {
		b.before(before, id)
		return
	}
	b.append(parent, id)
}

// element inserts the element of HTML of the current start tag and makes it the current node.
func (b *builder) element() {
	attrs := uint32(0)
	if len(b.s.attrs) > 0 {
		attrs = b.attrs(HTML)
	}
	b.push(b.tag, HTML, attrs, 0)
}

// implied inserts an element of HTML that has no tag.
func (b *builder) implied(name Atom) {
	b.push(name, HTML, 0, flagMade)
}

// leaf inserts the element of HTML of the current start tag, which has no contents.
func (b *builder) leaf() {
	b.place(elementMeta(b.tag, HTML), b.attrs(HTML), uint32(b.s.from))
}

func elementMeta(name Atom, ns Namespace) uint32 {
	return uint32(name)<<atomShift | uint32(ns)<<nsShift | uint32(ElementNode)
}

// push inserts an element and puts it on the stack of open elements.
func (b *builder) push(name Atom, ns Namespace, attrs, flags uint32) uint32 {
	id := b.place(elementMeta(name, ns)|flags, attrs, uint32(b.s.from))
	return b.stack.push(id, uint32(name)<<1, propsOf(name, ns))
}

// pop takes the current node off the stack.
func (b *builder) pop() {
	s := &b.stack
	i := s.top
	e := &s.all[i]
	if e.format != 0 {
		b.formats.all[e.format].open = 0
	}
	*s.lastOf(e.name) = e.same
	s.all[e.same].sameAbove = 0
	s.top = e.below
	s.all[e.below].above = 0
	e.below, s.free = s.free, i
	b.d.work++
}

// popTo pops up to and including an entry.
func (b *builder) popTo(entry uint32) {
	for b.stack.top != entry {
		b.pop()
	}
	b.pop()
}

// popName pops up to and including the last element of HTML with a name, which is open.
func (b *builder) popName(a Atom) { b.popTo(b.stack.last[a<<1]) }

// remove takes an entry off the stack, wherever it is.
func (b *builder) remove(entry uint32) {
	if f := b.stack.all[entry].format; f != 0 {
		b.formats.all[f].open = 0
	}
	b.d.work += 1 + b.stack.unlink(entry)
}

// impliedEnds pops the elements whose end tags may be left out, except one.
func (b *builder) impliedEnds(except Atom) {
	for e := b.stack.cur(); e.props&propImplied != 0 && e.name != uint32(except)<<1; e = b.stack.cur() {
		b.pop()
	}
}

// lookupTag finds the number of the name of the current tag; it makes one for a start tag.
// current is true if that is the current node, an element of HTML or not.
func (b *builder) lookupTag() (current bool) {
	s := &b.s
	n := s.end - s.start
	if n <= 8 && !s.odd {
		w := loadWord(s.src, s.start, n)
		// Most end tags are those of the current node.
		if a := b.stack.cur().name >> 1; a < staticAtoms && atomWords[a] == w && w>>56 == 0 {
			b.tag = Atom(a)
			return true
		}
		if b.tag = wordAtom(w); b.tag != 0 {
			return false
		}
	}
	name := s.src[s.start:s.end]
	if s.odd {
		b.buf = appendName(b.buf[:0], name)
		name = b.buf
	}
	if s.kind == EndTagToken {
		b.tag = b.d.names.lookup(name, 0)
		return false
	}
	b.tag = b.d.names.intern(name, 0)
	if b.tag == 0 {
		b.fail("names", maxAtom)
	}
	return false
}

// rawText inserts the element of the current start tag, whose contents are text.
func (b *builder) rawText() {
	b.element()
	b.s.enter(b.tag)
	b.original, b.mode = b.mode, textMode
}

// resetMode resets the insertion mode appropriately (section 13.2.4.1).
func (b *builder) resetMode() {
	s := &b.stack
	i := s.cur().mode
	name, last := Atom(s.all[i].name>>1), i == s.root || i == 0
	if last && b.fragment {
		name = b.context
		if b.contextSpace != HTML {
			name = 0
		}
	}
	switch {
	case (name == AtomTd || name == AtomTh) && !last:
		b.mode = inCellMode
	case name == AtomTr:
		b.mode = inRowMode
	case name == AtomTbody || name == AtomThead || name == AtomTfoot:
		b.mode = inTableBodyMode
	case name == AtomCaption:
		b.mode = inCaptionMode
	case name == AtomColgroup:
		b.mode = inColumnGroupMode
	case name == AtomTable:
		b.mode = inTableMode
	case name == AtomTemplate:
		b.mode = b.modes[len(b.modes)-1]
	case name == AtomHead && !last:
		b.mode = inHeadMode
	case name == AtomFrameset:
		b.mode = inFramesetMode
	case name == AtomHtml && b.head == 0:
		b.mode = beforeHeadMode
	case name == AtomHtml:
		b.mode = afterHeadMode
	default:
		b.mode = inBodyMode
	}
}
