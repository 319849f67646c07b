package html

// startTag handles the current start tag.
func (b *builder) startTag() {
	b.lookupTag()
	tag, first := b.tag, len(b.d.attrs)
	if b.isForeignStart() {
		b.foreignStart()
	} else {
		b.startByMode()
	}
	if len(b.regions) > 0 || tag < elementAtoms && roles[tag] != 0 {
		b.follow(tag, first)
	}
}

// isForeignStart reports whether the current start tag is handled by the rules for foreign content
// (section 13.2.6).
func (b *builder) isForeignStart() bool {
	p := b.stack.cur().props
	if p&propHTML != 0 || b.stack.top == 0 {
		return false
	}
	switch {
	case p&propMathText != 0 && b.tag != AtomMglyph && b.tag != AtomMalignmark,
		p&propAnnotation != 0 && b.tag == AtomSvg,
		p&propHTMLText != 0:
		return false
	}
	return true
}

// startByMode handles the current start tag by the rules of the insertion mode. A rule that changes
// the mode and asks for the tag to be reprocessed returns true.
func (b *builder) startByMode() {
	for again := true; again; {
		switch b.mode {
		case inBodyMode:
			b.startInBody()
			return
		case initialMode:
			b.d.quirks = Quirks
			b.mode = beforeHTMLMode
		case beforeHTMLMode:
			if b.tag == AtomHtml {
				b.element()
				b.stack.root = b.stack.top
				b.mode = beforeHeadMode
				return
			}
			b.makeHTML()
		case beforeHeadMode:
			again = b.startBeforeHead()
		case inHeadMode:
			again = b.startInHead()
		case inHeadNoscriptMode:
			again = b.startInHeadNoscript()
		case afterHeadMode:
			again = b.startAfterHead()
		case inTableMode:
			again = b.startInTable()
		case inCaptionMode:
			again = b.startInCaption()
		case inColumnGroupMode:
			again = b.startInColumnGroup()
		case inTableBodyMode:
			again = b.startInTableBody()
		case inRowMode:
			again = b.startInRow()
		case inCellMode:
			again = b.startInCell()
		case inTemplateMode:
			again = b.startInTemplate()
		case afterBodyMode, afterAfterBodyMode:
			if b.tag == AtomHtml {
				b.startInBody()
				return
			}
			b.mode = inBodyMode
		case inFramesetMode, afterFramesetMode, afterAfterFramesetMode:
			b.startInFrameset()
			return
		default: // no start tag can come in textMode
			return
		}
	}
}

// endTag handles the current end tag.
func (b *builder) endTag() {
	current := b.lookupTag()
	if len(b.regions) > 0 {
		b.regions.end(b.tag)
	}
	if current && b.inBody() {
		// It ends the current node, as most do, and nothing else comes of it.
		if e := b.stack.cur(); e.props&(propHTML|propEndRule) == propHTML && e.format == 0 {
			b.pop()
			return
		}
	}
	if b.stack.cur().props&propHTML == 0 && b.stack.top != 0 && b.foreignEnd() {
		return
	}
	b.endByMode()
}

// endByMode is startByMode for end tags.
func (b *builder) endByMode() {
	for again := true; again; {
		switch b.mode {
		case inBodyMode:
			again = b.endInBody()
		case textMode:
			b.pop()
			b.mode = b.original
			return
		case initialMode:
			b.d.quirks = Quirks
			b.mode = beforeHTMLMode
		case beforeHTMLMode:
			if !b.endsHead() {
				return
			}
			b.makeHTML()
		case beforeHeadMode:
			if !b.endsHead() {
				return
			}
			b.makeHead()
		case inHeadMode:
			again = b.endInHead()
		case inHeadNoscriptMode:
			switch b.tag {
			case AtomNoscript:
				b.pop()
				b.mode = inHeadMode
				return
			case AtomBr:
				b.pop()
				b.mode = inHeadMode
			default:
				return
			}
		case afterHeadMode:
			if b.tag == AtomTemplate {
				b.endTemplate()
				return
			}
			if b.tag == AtomHead || !b.endsHead() {
				return
			}
			b.makeBody()
		case inTableMode:
			again = b.endInTable()
		case inCaptionMode:
			again = b.endInCaption()
		case inColumnGroupMode:
			again = b.endInColumnGroup()
		case inTableBodyMode:
			again = b.endInTableBody()
		case inRowMode:
			again = b.endInRow()
		case inCellMode:
			again = b.endInCell()
		case inTemplateMode:
			if b.tag == AtomTemplate {
				b.endTemplate()
			}
			return
		case afterBodyMode:
			if b.tag == AtomHtml {
				if !b.fragment {
					b.mode = afterAfterBodyMode
				}
				return
			}
			b.mode = inBodyMode
		case afterAfterBodyMode:
			b.mode = inBodyMode
		case inFramesetMode:
			if b.tag == AtomFrameset && b.stack.top != b.stack.root {
				b.pop()
				if !b.fragment && !b.stack.is(AtomFrameset) {
					b.mode = afterFramesetMode
				}
			}
			return
		case afterFramesetMode:
			if b.tag == AtomHtml {
				b.mode = afterAfterFramesetMode
			}
			return
		default:
			return
		}
	}
}

// endsHead reports whether the current end tag is one of those that act like other content before the
// body: head, body, html and br.
func (b *builder) endsHead() bool {
	switch b.tag {
	case AtomHead, AtomBody, AtomHtml, AtomBr:
		return true
	}
	return false
}

// end handles the end of the source.
func (b *builder) end() {
	for b.err == nil {
		switch b.mode {
		case textMode:
			b.pop()
			b.mode = b.original
		case initialMode:
			b.d.quirks = Quirks
			b.mode = beforeHTMLMode
		case beforeHTMLMode:
			b.makeHTML()
		case beforeHeadMode:
			b.makeHead()
		case inHeadMode:
			b.pop()
			b.mode = afterHeadMode
		case inHeadNoscriptMode:
			b.pop()
			b.mode = inHeadMode
		case afterHeadMode:
			b.makeBody()
		default:
			// The modes in and after a body or frameset stop, but a template that is open ends first.
			if len(b.modes) == 0 || !b.stack.has(AtomTemplate) {
				return
			}
			b.popTemplate()
		}
	}
}

// comment inserts the current comment.
func (b *builder) comment() {
	s := &b.s
	n := node{meta: uint32(CommentNode), data: uint32(s.start), end: uint32(s.end)}
	if b.isCoded(s.start, s.end) && (b.coded[1] < s.end || b.coded[2] < s.end) {
		text := b.d.addSide(s.src[s.start:s.end], false, replaceNUL)
		n = node{meta: uint32(CommentNode) | flagSide, data: uint32(s.from), end: b.d.addSpan(text)}
	}
	id := b.newNode(n)
	parent := b.stack.cur().node
	if b.stack.top == 0 || b.stack.cur().props&propHTML != 0 {
		switch b.mode {
		case initialMode, beforeHTMLMode:
			parent = 1
		case afterBodyMode, afterAfterBodyMode, afterAfterFramesetMode:
			parent = b.stack.all[b.stack.root].node
			if b.mode != afterBodyMode {
				parent = 1
			}
			if b.tail == 1 && parent != 1 {
				b.d.reordered = true
			}
			b.tail = parent
		}
	}
	if parent != b.tail && b.tail != 0 {
		b.d.reordered = true
	}
	b.append(parent, id)
}

// doctype handles the current document type (section 13.2.6.4.1).
func (b *builder) doctype() {
	if b.mode != initialMode {
		return
	}
	b.d.doctype = b.s.doctype
	b.append(1, b.newNode(node{meta: uint32(DoctypeNode), data: uint32(b.s.from)}))
	b.d.quirks = b.s.doctype.quirks(b.s.src)
	b.mode = beforeHTMLMode
}
