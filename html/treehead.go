package html

// makeHTML inserts the html element that has no tag.
func (b *builder) makeHTML() {
	b.implied(AtomHtml)
	b.stack.root = b.stack.top
	b.mode = beforeHeadMode
}

// makeHead inserts the head element that has no tag.
func (b *builder) makeHead() {
	b.implied(AtomHead)
	b.head = b.stack.cur().node
	b.mode = inHeadMode
}

// makeBody inserts the body element that has no tag.
func (b *builder) makeBody() {
	b.implied(AtomBody)
	b.mode = inBodyMode
}

func (b *builder) startBeforeHead() (again bool) {
	switch b.tag {
	case AtomHtml:
		b.startInBody()
		return false
	case AtomHead:
		b.element()
		b.head = b.stack.cur().node
		b.mode = inHeadMode
		return false
	}
	b.makeHead()
	return true
}

func (b *builder) startInHead() (again bool) {
	switch b.tag {
	case AtomHtml:
		b.startInBody()
	case AtomBase, AtomBasefont, AtomBgsound, AtomLink, AtomMeta:
		b.leaf()
	case AtomTitle, AtomNoframes, AtomStyle, AtomScript:
		b.rawText()
	case AtomNoscript:
		b.element()
		b.mode = inHeadNoscriptMode
	case AtomTemplate:
		b.startTemplate()
	case AtomHead:
	default:
		b.pop()
		b.mode = afterHeadMode
		return true
	}
	return false
}

func (b *builder) endInHead() (again bool) {
	switch b.tag {
	case AtomHead:
		b.pop()
		b.mode = afterHeadMode
	case AtomBody, AtomHtml, AtomBr:
		b.pop()
		b.mode = afterHeadMode
		return true
	case AtomTemplate:
		b.endTemplate()
	}
	return false
}

func (b *builder) startInHeadNoscript() (again bool) {
	switch b.tag {
	case AtomHtml:
		b.startInBody()
	case AtomBasefont, AtomBgsound, AtomLink, AtomMeta, AtomNoframes, AtomStyle:
		b.startInHead()
	case AtomHead, AtomNoscript:
	default:
		b.pop()
		b.mode = inHeadMode
		return true
	}
	return false
}

func (b *builder) startAfterHead() (again bool) {
	switch b.tag {
	case AtomHtml:
		b.startInBody()
	case AtomBody:
		b.element()
		b.framesetOK = false
		b.mode = inBodyMode
	case AtomFrameset:
		b.element()
		b.mode = inFramesetMode
	case AtomBase, AtomBasefont, AtomBgsound, AtomLink, AtomMeta, AtomNoframes, AtomScript, AtomStyle, AtomTemplate, AtomTitle:
		if b.d.nodes[b.head].next != 0 {
			b.d.reordered = true
		}
		head := b.stack.push(b.head, uint32(AtomHead)<<1, propsOf(AtomHead, HTML))
		b.startInHead()
		b.remove(head)
	case AtomHead:
	default:
		b.makeBody()
		return true
	}
	return false
}

// startTemplate inserts a template element (section 13.2.6.4.4). Declarative shadow roots are made
// only where scripts run.
func (b *builder) startTemplate() {
	b.element()
	b.formats.mark()
	b.framesetOK = false
	b.mode = inTemplateMode
	b.modes = append(b.modes, inTemplateMode)
}

func (b *builder) endTemplate() {
	if !b.stack.has(AtomTemplate) {
		return
	}
	for b.stack.cur().props&(propImplied|propThorough) != 0 {
		b.pop()
	}
	b.popTemplate()
}

// popTemplate ends the last open template.
func (b *builder) popTemplate() {
	b.popName(AtomTemplate)
	b.formats.clear()
	b.modes = b.modes[:len(b.modes)-1]
	b.resetMode()
}

func (b *builder) startInTemplate() (again bool) {
	next := inBodyMode
	switch b.tag {
	case AtomBase, AtomBasefont, AtomBgsound, AtomLink, AtomMeta, AtomNoframes, AtomScript, AtomStyle, AtomTemplate, AtomTitle:
		b.startInHead()
		return false
	case AtomCaption, AtomColgroup, AtomTbody, AtomTfoot, AtomThead:
		next = inTableMode
	case AtomCol:
		next = inColumnGroupMode
	case AtomTr:
		next = inTableBodyMode
	case AtomTd, AtomTh:
		next = inRowMode
	}
	b.modes[len(b.modes)-1] = next
	b.mode = next
	return true
}

// startInFrameset handles a start tag in and after a frameset.
func (b *builder) startInFrameset() {
	switch b.tag {
	case AtomHtml:
		b.startInBody()
	case AtomNoframes:
		b.startInHead()
	case AtomFrameset:
		if b.mode == inFramesetMode {
			b.element()
		}
	case AtomFrame:
		if b.mode == inFramesetMode {
			b.leaf()
		}
	}
}
