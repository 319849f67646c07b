package html

import "bytes"

// Tags reads the tags of a page in UTF-8 and skips all else: the fast way to the links of a page. On
// top of the rules for tokens it follows the rules of the tree as far as the names of tags decide
// them: scripts, styles and the like hold no tags, in SVG and MathML they do (section 13.2.6.5), and
// <![CDATA[ is a section there. It allocates nothing for most pages. Tags is not safe for concurrent
// use and must not be copied once it is in use. The zero Tags reads an empty page. From a tag with more than 65,536 attributes
// it knows the first ones.
//
//	tags := html.NewTags(page)
//	for tags.Next() {
//		if href, ok := tags.Attr(html.AtomHref); ok && tags.Atom() == html.AtomA && !tags.IsEnd() {
type Tags struct {
	s       scanner
	tag     Atom
	regions regions
	buf     []byte
	room    [tagRoom]rawAttr
}

// tagRoom is how many attributes of a tag need no memory of their own.
const tagRoom = 16

// maxTagRoom is how many of them are kept for another page.
const maxTagRoom = 1 << 10

// NewTags returns a reader of the tags of a page.
func NewTags(source []byte) *Tags {
	t := &Tags{}
	t.s.attrs = t.room[:0]
	t.Reset(source)
	return t
}

// Reset starts over with another page and keeps the memory.
func (t *Tags) Reset(source []byte) {
	if cap(t.s.attrs) > maxTagRoom {
		t.s.attrs = t.room[:0]
	}
	if cap(t.regions) > maxTagRoom {
		t.regions = nil
	}
	t.s = scanner{src: source, attrs: t.s.attrs[:0], first: true}
	t.regions = t.regions[:0]
}

// Next goes to the next start or end tag and reports whether there is one.
func (t *Tags) Next() bool {
	s := &t.s
	for {
		if s.state != DataState {
			s.pos = s.skipRaw()
		}
		if s.pos = s.nextLess(s.pos); s.pos == len(s.src) {
			t.finish()
			return false
		}
		if !s.markupAt(s.pos) {
			s.pos++
			continue
		}
		if !s.markup() {
			continue
		}
		switch s.kind {
		case StartTagToken:
			t.tag = s.atom()
			if len(t.regions) == 0 && t.tag != AtomSvg && t.tag != AtomMath || t.regions.start(s, t.tag) {
				s.enter(t.tag)
			}
			return true
		case EndTagToken:
			t.tag = unread // few ask for it
			if len(t.regions) > 0 {
				t.tag = s.atom()
				t.regions.end(t.tag)
			}
			return true
		case sectionToken:
			if !t.Foreign() {
				s.bogus(s.pos + 2)
			} else if i := bytes.Index(s.src[s.pos:], sectionEnd); i >= 0 {
				s.pos += i + len(sectionEnd)
			} else {
				s.pos = len(s.src)
			}
		}
	}
}

// finish makes the end of the page the last tag.
func (t *Tags) finish() {
	s := &t.s
	s.pos, s.from, s.start, s.end, s.kind = len(s.src), len(s.src), len(s.src), len(s.src), EndToken
	s.attrs, t.tag = s.attrs[:0], 0
}

// Atom returns the number of the tag's name if that is the same in all documents, else 0. SVG's names
// are in lower case.
func (t *Tags) Atom() Atom {
	if t.tag == unread {
		t.tag = t.s.atom()
	}
	return t.tag
}

// unread stands for the name of a tag that was not read yet.
const unread = ^Atom(0)

// Name returns the name of the tag in lower case. It must not be changed and holds until the next
// call of a method.
func (t *Tags) Name() []byte {
	raw := t.s.src[t.s.start:t.s.end:t.s.end]
	if !t.s.odd {
		return raw
	}
	t.buf = appendName(t.buf[:0], raw)
	return t.buf
}

// IsEnd reports whether this is an end tag.
func (t *Tags) IsEnd() bool { return t.s.kind == EndTagToken }

// SelfClosing reports whether the tag ends in />.
func (t *Tags) SelfClosing() bool { return t.s.selfClose }

// Foreign reports whether what follows is in SVG or MathML.
func (t *Tags) Foreign() bool {
	return t.regions.foreign()
}

// Pos returns the position of the < of the tag in the page; after the last tag, the length of the
// page.
func (t *Tags) Pos() int { return t.s.from }

// End returns the position after the tag.
func (t *Tags) End() int { return t.s.pos }

// Attr returns the value of an attribute with character references replaced, and whether there is
// one; the first of several with the same name counts. The name has to be one of those that are the
// same in all documents. The value is a view of the page unless something had to be replaced; it must
// not be changed and holds until the next call of a method.
func (t *Tags) Attr(name Atom) (value []byte, ok bool) {
	if len(t.s.attrs) == 0 || name == 0 || name >= staticAtoms {
		return nil, false
	}
	value, ok = t.s.attr(name)
	if ok && needsDecoding(value) {
		t.buf = appendValue(t.buf[:0], value)
		value = t.buf
	}
	return value, ok
}
