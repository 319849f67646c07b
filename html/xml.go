package html

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Lenient makes [ParseXML] read on where XML is not well-formed, which feeds and sitemaps often are
// not: a & or < that means nothing is text, and so is a reference to an unknown entity; end tags
// without a start tag are ignored, missing ones are added; values need no quotes, attributes no
// values. Parsing then fails at limits alone.
func Lenient() Option { return func(d *Document) { d.lenient = true } }

// XMLError says why a source is not well-formed XML.
type XMLError struct {
	Pos  int // offset in the source
	What string
}

// Error says what is wrong, and where.
func (e *XMLError) Error() string { return fmt.Sprintf("html: XML at byte %d: %s", e.Pos, e.What) }

// EntityError says that an XML document refers to an entity other than the predefined ones. Entities
// that a document declares are never expanded: that is how a small document becomes a huge one, or
// reads files.
type EntityError struct {
	Pos  int // offset of the reference in the source
	Name string
}

// Error names the entity and says where it is.
func (e *EntityError) Error() string {
	return fmt.Sprintf("html: XML at byte %d: entity %q is not expanded", e.Pos, e.Name)
}

// ParseXML parses an XML document in UTF-8 (XML 1.0 and Namespaces in XML 1.0): a sitemap, a feed, a
// page in XHTML. Names keep their case. Elements in the namespace of HTML, SVG or MathML are the same
// to queries as in HTML documents. Sections <![CDATA[…]]> are text; the XML declaration is no node.
//
// Document types are read over, not interpreted: their entities, default values and external parts
// count for nothing. A reference to an entity that XML does not predefine ends parsing with an
// *EntityError; the document types of XHTML that section 14.2 of the HTML standard names make the
// entities of HTML known. Other errors are *XMLError, for what is not well-formed, and *LimitError.
func ParseXML(source []byte, options ...Option) (*Document, error) {
	d := &Document{}
	if err := d.set(options); err != nil {
		return nil, err
	}
	if err := d.ResetXML(source); err != nil {
		return nil, err
	}
	return d, nil
}

// ResetXML is [Document.Reset] for an XML document.
func (d *Document) ResetXML(source []byte) error {
	if err := d.begin(source); err != nil {
		return err
	}
	d.reserve()
	d.xml, d.coded = true, needsDecoding(source)
	x := xmlParser{d: d, src: source, max: d.limit(), lenient: d.lenient}
	x.open = append(x.open, xmlOpen{node: 1})
	if err := x.build(); err != nil {
		d.empty()
		return err
	}
	return nil
}

// build makes the tree.
func (x *xmlParser) build() (err error) {
	defer func() { caught(recover(), &err) }()
	x.run()
	return x.err
}

// xmlParser builds the tree of an XML document.
type xmlParser struct {
	d       *Document
	src     []byte
	pos     int
	max     int // of nodes
	lenient bool
	rooted  bool // the root element has started
	err     error

	open     []xmlOpen
	opened   []uint32 // how many elements are open with a name, by Atom
	bindings []binding
	bound    []uint32 // 1 + index of the binding in force of a prefix, by Atom
	attrs    []rawAttr
	spaces   []rawSpace // of attrs
	seen     atomSet
}

// xmlOpen is an open element.
type xmlOpen struct {
	node     uint32
	bindings int // how many there were outside
}

// fault notes that the source is not well-formed at pos. It reports whether parsing has to end.
func (x *xmlParser) fault(pos int, what string) bool {
	if !x.lenient && x.err == nil {
		x.err = &XMLError{Pos: pos, What: what}
	}
	return x.err != nil
}

// add makes a new node the last child of the innermost open element.
func (x *xmlParser) add(meta, data, end uint32) uint32 {
	if len(x.d.nodes) > x.max {
		if x.err == nil {
			x.err = &LimitError{What: "nodes", Limit: x.max, Pos: x.pos}
		}
		return 0
	}
	return x.d.addLast(x.open[len(x.open)-1].node, meta, data, end)
}

func (x *xmlParser) run() {
	x.pos = len(x.src) - len(bytes.TrimPrefix(x.src, []byte("\uFEFF")))
	if at := badCharacter(x.src); at >= 0 && x.fault(at, "a character that XML does not allow") {
		return
	}
	if rest := x.src[x.pos:]; len(rest) > 5 && string(rest[:5]) == "<?xml" && class[rest[5]]&isSpace != 0 {
		if x.pos += 2; !x.skipTo("?>", "the XML declaration does not end") {
			return
		}
	}
	for x.err == nil && x.pos < len(x.src) {
		x.d.work++
		if x.src[x.pos] != '<' {
			x.text()
			continue
		}
		rest := x.src[x.pos:]
		switch {
		case len(rest) > 1 && isXMLName(rest[1], true):
			x.startTag()
		case len(rest) > 2 && rest[1] == '/' && isXMLName(rest[2], true):
			x.endTag()
		case bytes.HasPrefix(rest, []byte("<!--")):
			x.comment()
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			x.section()
		case len(rest) > 2 && rest[1] == '?' && isXMLName(rest[2], true):
			x.instruction()
		case bytes.HasPrefix(rest, []byte("<!DOCTYPE")):
			x.doctype()
		default:
			if !x.fault(x.pos, "a < that starts nothing") {
				x.text()
			}
		}
	}
	if x.err != nil {
		return
	}
	if len(x.open) > 1 && x.fault(len(x.src), "an element is not closed") {
		return
	}
	if !x.rooted {
		x.fault(len(x.src), "there is no element")
	}
}

// badCharacter returns the position of the first character that XML does not allow, -1 if there is
// none.
func badCharacter(src []byte) int {
	for i := 0; i < len(src); {
		c := src[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && class[c]&isSpace == 0 || c == '\f' {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 || !isXMLChar(r) {
			return i
		}
		i += size
	}
	return -1
}

// skipTo moves behind the next occurrence of end. Without one it moves to the end of the source and
// reports false if parsing has to end.
func (x *xmlParser) skipTo(end, fault string) bool {
	if i := bytes.Index(x.src[x.pos:], []byte(end)); i >= 0 {
		x.pos += i + len(end)
		return true
	}
	at := x.pos
	x.pos = len(x.src)
	return !x.fault(at, fault)
}

// text takes the text up to the next <; one at its start belongs to it.
func (x *xmlParser) text() {
	start := x.pos
	i := bytes.IndexByte(x.src[start+1:], '<')
	if x.pos = len(x.src); i >= 0 {
		x.pos = start + 1 + i
	}
	raw := x.src[start:x.pos]
	if len(x.open) == 1 {
		// Around the root element there is only white space, which is not text.
		if leadingSpace(raw) < len(raw) {
			x.fault(start, "text outside of the root element")
		}
		return
	}
	if i := bytes.Index(raw, sectionEnd); i >= 0 && x.fault(start+i, "]]> outside of a section") {
		return
	}
	t := textRange{start: uint32(start), end: uint32(x.pos)}
	if x.d.coded && needsDecoding(raw) {
		x.d.growSide(len(raw))
		at := len(x.d.side)
		var entity *xmlEntity
		if x.d.side, entity = appendXML(x.d.side, raw, false, x.d.entities); entity != nil && x.refuse(entity, start) {
			return
		}
		t = textRange{start: uint32(at), end: uint32(len(x.d.side)), side: true, pos: uint32(start)}
	}
	x.addText(t)
}

// refuse notes a reference that is not expanded. It reports whether parsing has to end.
func (x *xmlParser) refuse(e *xmlEntity, start int) bool {
	if e.name == nil {
		return x.fault(start+e.pos, "a & that starts no reference")
	}
	if !x.lenient && x.err == nil {
		x.err = &EntityError{Pos: start + e.pos, Name: string(e.name)}
	}
	return x.err != nil
}

func (x *xmlParser) addText(t textRange) {
	if t.start == t.end {
		return
	}
	d := x.d
	if last := d.nodes[x.open[len(x.open)-1].node].last; last != 0 && d.nodes[last].meta&kindMask == uint32(TextNode) {
		d.extend(&d.nodes[last], t)
		return
	}
	if t.side {
		x.add(uint32(TextNode)|flagSide, t.pos, d.addSpan(t))
		return
	}
	x.add(uint32(TextNode), t.start, t.end)
}

// section takes a CDATA section.
func (x *xmlParser) section() {
	at := x.pos
	if len(x.open) == 1 && x.fault(at, "a section outside of the root element") {
		return
	}
	x.pos += len("<![CDATA[")
	start := x.pos
	if !x.skipTo("]]>", "a section does not end") {
		return
	}
	end := x.pos
	if bytes.HasSuffix(x.src[start:end], sectionEnd) {
		end -= len(sectionEnd)
	}
	if len(x.open) == 1 {
		return
	}
	x.addText(x.literal(start, end))
}

// literal returns text without references.
func (x *xmlParser) literal(start, end int) textRange {
	if raw := x.src[start:end]; bytes.IndexByte(raw, '\r') >= 0 {
		t := x.d.addSide(raw, false, keepNUL)
		t.pos = uint32(start)
		return t
	}
	return textRange{start: uint32(start), end: uint32(end)}
}

// addMarkup adds a comment or instruction.
func (x *xmlParser) addMarkup(meta uint32, at, start, end int) {
	if t := x.literal(start, end); t.side {
		x.add(meta|flagSide, uint32(at), x.d.addSpan(t))
		return
	}
	x.add(meta, uint32(start), uint32(end))
}

func (x *xmlParser) comment() {
	at := x.pos
	x.pos += len("<!--")
	start := x.pos
	if !x.skipTo("-->", "a comment does not end") {
		return
	}
	end := x.pos
	if bytes.HasSuffix(x.src[start:end], []byte("-->")) {
		end -= len("-->")
	}
	if i := bytes.Index(x.src[start:min(end+1, len(x.src))], dashes); i >= 0 && x.fault(start+i, "-- in a comment") {
		return
	}
	x.addMarkup(uint32(CommentNode), at, start, end)
}

// instruction takes a processing instruction (XML 1.0, section 2.6).
func (x *xmlParser) instruction() {
	at := x.pos
	x.pos += len("<?")
	name := x.name()
	if equalFold(name, "xml") && x.fault(at, "an XML declaration that is not at the start") {
		return
	}
	start := x.pos
	if !x.skipTo("?>", "an instruction does not end") {
		return
	}
	end := x.pos
	if bytes.HasSuffix(x.src[start:end], []byte("?>")) {
		end -= len("?>")
	}
	space := leadingSpace(x.src[start:end])
	if space == 0 && end > start && x.fault(start, "no white space after the name of an instruction") {
		return
	}
	meta := uint32(x.intern(name, 0))<<atomShift | uint32(InstructionNode)
	x.addMarkup(meta, at, start+space, end)
}

// name takes the name at pos.
func (x *xmlParser) name() []byte {
	start := x.pos
	for x.pos < len(x.src) && isXMLName(x.src[x.pos], x.pos == start) {
		x.pos++
	}
	return x.src[start:x.pos:x.pos]
}

func (x *xmlParser) skipSpace() { x.pos += leadingSpace(x.src[x.pos:]) }

func (x *xmlParser) intern(name []byte, space Atom) Atom {
	a := x.d.names.intern(name, uint32(space))
	if a == 0 && len(name) > 0 && x.err == nil {
		x.err = &LimitError{What: "names", Limit: maxAtom, Pos: x.pos}
	}
	return a
}
