package html

// clearTo pops until the current node is one of the given elements, a template or html: the contexts
// that the stack is cleared back to in tables (section 13.2.6.4.9 and those after it).
func (b *builder) clearTo(names ...Atom) {
	for {
		name := b.stack.cur().name
		if b.stack.top == b.stack.root || name == uint32(AtomTemplate)<<1 || name == uint32(AtomHtml)<<1 {
			return
		}
		for _, a := range names {
			if name == uint32(a)<<1 {
				return
			}
		}
		b.pop()
	}
}

func (b *builder) clearToTable() { b.clearTo(AtomTable) }
func (b *builder) clearToBody()  { b.clearTo(AtomTbody, AtomTfoot, AtomThead) }
func (b *builder) clearToRow()   { b.clearTo(AtomTr) }

func (b *builder) startInTable() (again bool) {
	switch b.tag {
	case AtomCaption:
		b.clearToTable()
		b.formats.mark()
		b.element()
		b.mode = inCaptionMode
	case AtomColgroup:
		b.clearToTable()
		b.element()
		b.mode = inColumnGroupMode
	case AtomCol:
		b.clearToTable()
		b.implied(AtomColgroup)
		b.mode = inColumnGroupMode
		return true
	case AtomTbody, AtomTfoot, AtomThead:
		b.clearToTable()
		b.element()
		b.mode = inTableBodyMode
	case AtomTd, AtomTh, AtomTr:
		b.clearToTable()
		b.implied(AtomTbody)
		b.mode = inTableBodyMode
		return true
	case AtomTable:
		return b.endTable()
	case AtomStyle, AtomScript, AtomTemplate:
		b.startInHead()
	case AtomInput:
		if !b.isHidden() {
			b.startFostered()
			return false
		}
		b.leaf()
	case AtomForm:
		if b.form == 0 && !b.stack.has(AtomTemplate) {
			b.element()
			b.form = b.stack.cur().node
			b.pop()
		}
	default:
		b.startFostered()
	}
	return false
}

// endTable ends the table and reports whether there was one.
func (b *builder) endTable() bool {
	if !b.stack.inTableScope(AtomTable) {
		return false
	}
	b.popName(AtomTable)
	b.resetMode()
	return true
}

// startFostered handles the current start tag as in a body, with foster parenting.
func (b *builder) startFostered() {
	b.foster = true
	b.startInBody()
	b.foster = false
}

func (b *builder) endInTable() (again bool) {
	switch b.tag {
	case AtomTable:
		b.endTable()
	case AtomBody, AtomCaption, AtomCol, AtomColgroup, AtomHtml, AtomTbody, AtomTd, AtomTfoot, AtomTh, AtomThead, AtomTr:
	case AtomTemplate:
		b.endTemplate()
	default:
		b.foster = true
		b.endInBody()
		b.foster = false
	}
	return false
}

// endCaption ends the caption and reports whether there was one.
func (b *builder) endCaption() bool {
	if !b.stack.inTableScope(AtomCaption) {
		return false
	}
	b.impliedEnds(0)
	b.popName(AtomCaption)
	b.formats.clear()
	b.mode = inTableMode
	return true
}

func (b *builder) startInCaption() (again bool) {
	switch b.tag {
	case AtomCaption, AtomCol, AtomColgroup, AtomTbody, AtomTd, AtomTfoot, AtomTh, AtomThead, AtomTr:
		return b.endCaption()
	}
	b.startInBody()
	return false
}

func (b *builder) endInCaption() (again bool) {
	switch b.tag {
	case AtomCaption:
		b.endCaption()
		return false
	case AtomTable:
		return b.endCaption()
	case AtomBody, AtomCol, AtomColgroup, AtomHtml, AtomTbody, AtomTd, AtomTfoot, AtomTh, AtomThead, AtomTr:
		return false
	}
	return b.endInBody()
}

// leaveColumnGroup ends the colgroup for what cannot be in one. It reports false if what comes is to
// be ignored.
func (b *builder) leaveColumnGroup() bool {
	if !b.stack.is(AtomColgroup) {
		return false
	}
	b.pop()
	b.mode = inTableMode
	return true
}

func (b *builder) startInColumnGroup() (again bool) {
	switch b.tag {
	case AtomHtml:
		b.startInBody()
	case AtomCol:
		b.leaf()
	case AtomTemplate:
		b.startInHead()
	default:
		return b.leaveColumnGroup()
	}
	return false
}

func (b *builder) endInColumnGroup() (again bool) {
	switch b.tag {
	case AtomColgroup:
		b.leaveColumnGroup()
	case AtomCol:
	case AtomTemplate:
		b.endTemplate()
	default:
		return b.leaveColumnGroup()
	}
	return false
}

func (b *builder) startInTableBody() (again bool) {
	switch b.tag {
	case AtomTr:
		b.clearToBody()
		b.element()
		b.mode = inRowMode
		return false
	case AtomTh, AtomTd:
		b.clearToBody()
		b.implied(AtomTr)
		b.mode = inRowMode
		return true
	case AtomCaption, AtomCol, AtomColgroup, AtomTbody, AtomTfoot, AtomThead:
		return b.endAnyTableBody()
	}
	return b.startInTable()
}

// endAnyTableBody ends the tbody, thead or tfoot and reports whether there was one.
func (b *builder) endAnyTableBody() bool {
	s := &b.stack
	if !s.inTableScope(AtomTbody) && !s.inTableScope(AtomThead) && !s.inTableScope(AtomTfoot) {
		return false
	}
	b.clearToBody()
	b.pop()
	b.mode = inTableMode
	return true
}

func (b *builder) endInTableBody() (again bool) {
	switch b.tag {
	case AtomTbody, AtomTfoot, AtomThead:
		if b.stack.inTableScope(b.tag) {
			b.clearToBody()
			b.pop()
			b.mode = inTableMode
		}
		return false
	case AtomTable:
		return b.endAnyTableBody()
	case AtomBody, AtomCaption, AtomCol, AtomColgroup, AtomHtml, AtomTd, AtomTh, AtomTr:
		return false
	}
	return b.endInTable()
}

func (b *builder) startInRow() (again bool) {
	switch b.tag {
	case AtomTh, AtomTd:
		b.clearToRow()
		b.element()
		b.mode = inCellMode
		b.formats.mark()
		return false
	case AtomCaption, AtomCol, AtomColgroup, AtomTbody, AtomTfoot, AtomThead, AtomTr:
		return b.endRow()
	}
	return b.startInTable()
}

// endRow ends the row and reports whether there was one.
func (b *builder) endRow() bool {
	if !b.stack.inTableScope(AtomTr) {
		return false
	}
	b.clearToRow()
	b.pop()
	b.mode = inTableBodyMode
	return true
}

func (b *builder) endInRow() (again bool) {
	switch b.tag {
	case AtomTr:
		b.endRow()
		return false
	case AtomTable:
		return b.endRow()
	case AtomTbody, AtomTfoot, AtomThead:
		return b.stack.inTableScope(b.tag) && b.endRow()
	case AtomBody, AtomCaption, AtomCol, AtomColgroup, AtomHtml, AtomTd, AtomTh:
		return false
	}
	return b.endInTable()
}

func (b *builder) startInCell() (again bool) {
	switch b.tag {
	case AtomCaption, AtomCol, AtomColgroup, AtomTbody, AtomTd, AtomTfoot, AtomTh, AtomThead, AtomTr:
		return b.closeCell()
	}
	b.startInBody()
	return false
}

// closeCell ends the cell and reports whether there was one.
func (b *builder) closeCell() bool {
	s := &b.stack
	td, th := s.inTableScope(AtomTd), s.inTableScope(AtomTh)
	switch {
	case td && (!th || s.orderOf(AtomTd) > s.orderOf(AtomTh)):
		b.endCell(AtomTd)
	case th:
		b.endCell(AtomTh)
	default:
		return false
	}
	return true
}

func (b *builder) endCell(name Atom) {
	b.impliedEnds(0)
	b.popName(name)
	b.formats.clear()
	b.mode = inRowMode
}

func (b *builder) endInCell() (again bool) {
	switch b.tag {
	case AtomTd, AtomTh:
		if b.stack.inTableScope(b.tag) {
			b.endCell(b.tag)
		}
		return false
	case AtomBody, AtomCaption, AtomCol, AtomColgroup, AtomHtml:
		return false
	case AtomTable, AtomTbody, AtomTfoot, AtomThead, AtomTr:
		return b.stack.inTableScope(b.tag) && b.closeCell()
	}
	return b.endInBody()
}
