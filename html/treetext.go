package html

import (
	"bytes"
)

// characters handles the current text token.
func (b *builder) characters() {
	s := &b.s
	b.text = textRange{start: uint32(s.start), end: uint32(s.end), pos: uint32(s.start)}
	if !b.framesetOK && !b.skipLF && b.inBody() && b.stack.cur().props&propHTML != 0 && !b.isCoded(s.start, s.end) {
		// This is what textByMode does with nearly all text.
		b.reconstruct()
		b.insertText()
		return
	}
	p := b.stack.cur().props
	foreign := p&(propHTML|propMathText|propHTMLText) == 0 && b.stack.top != 0
	references, nul := s.textRules()
	if b.isCoded(s.start, s.end) && (references || b.coded[1] < s.end || b.coded[2] < s.end) {
		if nul == keepNUL && foreign {
			nul = replaceNUL
		}
		b.text = b.d.addSide(s.src[s.start:s.end], references, nul)
		b.text.pos = uint32(s.start)
	}
	if b.skipLF {
		b.skipLF = false
		if b.view()[0] == '\n' {
			b.text.start++
			if b.text.start == b.text.end {
				return
			}
		}
	}
	if foreign {
		b.textIntoBody()
		return
	}
	b.textByMode()
}

// view returns the current text.
func (b *builder) view() []byte { return b.d.bytes(b.text) }

// leadingSpace returns how many bytes of white space a text starts with.
func leadingSpace(text []byte) int {
	for i, c := range text {
		if class[c]&isSpace == 0 {
			return i
		}
	}
	return len(text)
}

// skipSpace drops the white space at the start of the current text and reports whether that is all.
func (b *builder) skipSpace() (done bool) {
	b.text.start += uint32(leadingSpace(b.view()))
	return b.text.start == b.text.end
}

// keepSpace inserts the white space at the start of the current text and reports whether that is all.
func (b *builder) keepSpace() (done bool) {
	n := uint32(leadingSpace(b.view()))
	if n > 0 {
		rest := b.text
		b.text.end = b.text.start + n
		b.insertText()
		b.text = rest
		b.text.start += n
	}
	return b.text.start == b.text.end
}

// textByMode handles the current text by the rules of the insertion mode.
func (b *builder) textByMode() {
	for {
		switch b.mode {
		case inBodyMode, inCaptionMode, inCellMode, inTemplateMode:
			b.textInBody()
			return
		case textMode:
			b.insertText()
			return
		case inTableMode, inTableBodyMode, inRowMode:
			if b.stack.cur().props&propTable != 0 || b.stack.is(AtomTemplate) {
				if b.dropNUL() {
					b.pending = append(b.pending, b.text)
				}
				return
			}
			b.foster = true
			b.textInBody()
			b.foster = false
			return
		case initialMode:
			if b.skipSpace() {
				return
			}
			b.d.quirks = Quirks
			b.mode = beforeHTMLMode
		case beforeHTMLMode:
			if b.skipSpace() {
				return
			}
			b.makeHTML()
		case beforeHeadMode:
			if b.skipSpace() {
				return
			}
			b.makeHead()
		case inHeadMode:
			if b.keepSpace() {
				return
			}
			b.pop()
			b.mode = afterHeadMode
		case inHeadNoscriptMode:
			if b.keepSpace() {
				return
			}
			b.pop()
			b.mode = inHeadMode
		case afterHeadMode:
			if b.keepSpace() {
				return
			}
			b.makeBody()
		case inColumnGroupMode:
			if b.keepSpace() {
				return
			}
			if !b.leaveColumnGroup() {
				return
			}
		case afterBodyMode, afterAfterBodyMode:
			n := leadingSpace(b.view())
			rest := b.text
			if n > 0 {
				b.text.end = b.text.start + uint32(n)
				b.textInBody()
				b.text = rest
				b.text.start += uint32(n)
			}
			if b.text.start == b.text.end {
				return
			}
			b.mode = inBodyMode
		case inFramesetMode, afterFramesetMode:
			if b.onlySpace() {
				b.insertText()
			}
			return
		case afterAfterFramesetMode:
			if b.onlySpace() {
				b.textInBody()
			}
			return
		}
	}
}

// onlySpace drops all but the white space of the current text and reports whether some is left.
func (b *builder) onlySpace() bool {
	text := b.view()
	if leadingSpace(text) < len(text) {
		b.d.growSide(int(b.text.end - b.text.start))
		at := len(b.d.side)
		for _, c := range text {
			if class[c]&isSpace != 0 {
				b.d.side = append(b.d.side, c)
			}
		}
		b.text = textRange{start: uint32(at), end: uint32(len(b.d.side)), side: true, pos: b.text.pos}
	}
	return b.text.start < b.text.end
}

// dropNUL takes the NULs out of the current text and reports whether something is left.
func (b *builder) dropNUL() bool {
	if b.text.side && bytes.IndexByte(b.view(), 0) >= 0 {
		b.d.growSide(int(b.text.end - b.text.start))
		at := len(b.d.side)
		for _, c := range b.view() {
			if c != 0 {
				b.d.side = append(b.d.side, c)
			}
		}
		b.text = textRange{start: uint32(at), end: uint32(len(b.d.side)), side: true, pos: b.text.pos}
	}
	return b.text.start < b.text.end
}

// textInBody handles the current text by the rules of the mode "in body".
func (b *builder) textInBody() {
	if !b.dropNUL() {
		return
	}
	b.reconstruct()
	b.textIntoBody()
}

// textIntoBody inserts the current text and notes that there was some.
func (b *builder) textIntoBody() {
	if b.framesetOK {
		if text := b.view(); leadingSpace(text) < len(text) {
			// In foreign content a NUL, here U+FFFD already, leaves the flag alone.
			b.framesetOK = b.stack.cur().props&propHTML == 0 && b.onlyReplaced(text)
		}
	}
	b.insertText()
}

// onlyReplaced reports whether foreign text is nothing but white space and replaced NULs.
func (b *builder) onlyReplaced(text []byte) bool {
	if bytes.IndexByte(b.s.src[b.s.start:b.s.end], 0) < 0 {
		return false
	}
	for _, c := range b.s.src[b.s.start:b.s.end] {
		if c != 0 && class[c]&isSpace == 0 {
			return false
		}
	}
	return true
}

// flushPending handles the pending table character tokens (section 13.2.6.4.10).
func (b *builder) flushPending() {
	space := true
	for _, t := range b.pending {
		b.text = t
		if text := b.view(); leadingSpace(text) < len(text) {
			space = false
			break
		}
	}
	for _, t := range b.pending {
		b.text = t
		if space {
			b.insertText()
			continue
		}
		b.foster = true
		b.reconstruct()
		b.framesetOK = false
		b.insertText()
		b.foster = false
	}
	b.pending = b.pending[:0]
}

// insertText inserts the current text (insert a character, section 13.2.6.1): as a new node or at the
// end of the text that is already there.
func (b *builder) insertText() {
	d := b.d
	parent, before := b.stack.cur().node, uint32(0)
	if b.foster {
		parent, before = b.placeFor(b.stack.top)
	}
	var neighbour uint32
	if before != 0 {
		neighbour = d.nodes[before].prev
	} else {
		neighbour = d.nodes[parent].last
	}
	if neighbour != 0 && d.nodes[neighbour].meta&kindMask == uint32(TextNode) {
		d.extend(&d.nodes[neighbour], b.text)
		return
	}
	meta, data, end := uint32(TextNode), b.text.start, b.text.end
	if b.text.side {
		meta, data, end = uint32(TextNode)|flagSide, b.text.pos, d.addSpan(b.text)
	}
	if b.inPlace() {
		d.addLast(parent, meta, data, end)
		return
	}
	b.insert(b.newNode(node{meta: meta, data: data, end: end}), parent, before)
}
