package html

// closeP ends the p element if one is in button scope.
func (b *builder) closeP() {
	if b.stack.has(AtomP) {
		b.endP()
	}
}

func (b *builder) endP() {
	if b.stack.inButtonScope(AtomP) {
		b.impliedEnds(AtomP)
		b.popName(AtomP)
	}
}

// startInBody handles the current start tag by the rules of the mode "in body" (section 13.2.6.4.7).
func (b *builder) startInBody() {
	switch b.tag {
	case AtomDiv, AtomUl, AtomOl, AtomSection, AtomNav, AtomHeader, AtomFooter, AtomMain, AtomArticle,
		AtomAside, AtomAddress, AtomBlockquote, AtomCenter, AtomDetails, AtomDialog, AtomDir, AtomDl,
		AtomFieldset, AtomFigcaption, AtomFigure, AtomHgroup, AtomMenu, AtomP, AtomSearch, AtomSummary:
		b.closeP()
		b.element()
	case AtomA:
		b.startA()
	case AtomB, AtomBig, AtomCode, AtomEm, AtomFont, AtomI, AtomS, AtomSmall, AtomStrike, AtomStrong, AtomTt, AtomU:
		b.reconstruct()
		b.formatting()
	case AtomLi:
		b.framesetOK = false
		b.endItem(AtomLi, AtomLi)
		b.closeP()
		b.element()
	case AtomDd, AtomDt:
		b.framesetOK = false
		b.endItem(AtomDd, AtomDt)
		b.closeP()
		b.element()
	case AtomH1, AtomH2, AtomH3, AtomH4, AtomH5, AtomH6:
		b.closeP()
		switch Atom(b.stack.cur().name >> 1) {
		case AtomH1, AtomH2, AtomH3, AtomH4, AtomH5, AtomH6:
			if b.stack.cur().props&propHTML != 0 {
				b.pop()
			}
		}
		b.element()
	case AtomBase, AtomBasefont, AtomBgsound, AtomLink, AtomMeta, AtomNoframes, AtomScript, AtomStyle, AtomTemplate, AtomTitle:
		b.startInHead()
	case AtomImg, AtomBr, AtomArea, AtomEmbed, AtomKeygen, AtomWbr:
		b.reconstruct()
		b.leaf()
		b.framesetOK = false
	case AtomImage:
		b.tag = AtomImg
		b.startInBody()
	case AtomInput:
		b.startInput()
	case AtomParam, AtomSource, AtomTrack:
		b.leaf()
	case AtomHr:
		b.closeP()
		if b.stack.inScope(AtomSelect) {
			b.impliedEnds(0)
		}
		b.leaf()
		b.framesetOK = false
	case AtomTable:
		if b.d.quirks != Quirks {
			b.closeP()
		}
		b.element()
		b.framesetOK = false
		b.mode = inTableMode
	case AtomForm:
		template := b.stack.has(AtomTemplate)
		if b.form != 0 && !template {
			return
		}
		b.closeP()
		b.element()
		if !template {
			b.form = b.stack.cur().node
		}
	case AtomButton:
		if b.stack.inScope(AtomButton) {
			b.impliedEnds(0)
			b.popName(AtomButton)
		}
		b.reconstruct()
		b.element()
		b.framesetOK = false
	case AtomPre, AtomListing:
		b.closeP()
		b.element()
		b.skipLF = true
		b.framesetOK = false
	case AtomTextarea:
		b.skipLF = true
		b.framesetOK = false
		b.rawText()
	case AtomSelect:
		b.startSelect()
	case AtomOption, AtomOptgroup:
		b.startOption()
	case AtomNobr:
		b.reconstruct()
		if b.stack.inScope(AtomNobr) {
			b.adopt()
			b.reconstruct()
		}
		b.formatting()
	case AtomApplet, AtomMarquee, AtomObject:
		b.reconstruct()
		b.element()
		b.formats.mark()
		b.framesetOK = false
	case AtomXmp:
		b.closeP()
		b.reconstruct()
		b.framesetOK = false
		b.rawText()
	case AtomIframe:
		b.framesetOK = false
		b.rawText()
	case AtomNoembed:
		b.rawText()
	case AtomPlaintext:
		b.closeP()
		b.element()
		b.s.enter(b.tag)
	case AtomRb, AtomRtc, AtomRp, AtomRt:
		if b.stack.inScope(AtomRuby) {
			if b.tag == AtomRp || b.tag == AtomRt {
				b.impliedEnds(AtomRtc)
			} else {
				b.impliedEnds(0)
			}
		}
		b.element()
	case AtomMath:
		b.reconstruct()
		b.foreignElement(MathML)
	case AtomSvg:
		b.reconstruct()
		b.foreignElement(SVG)
	case AtomHtml:
		if !b.stack.has(AtomTemplate) {
			b.mergeLater(b.stack.all[b.stack.root].node)
		}
	case AtomBody:
		if body := b.second(AtomBody); body != 0 && !b.stack.has(AtomTemplate) {
			b.framesetOK = false
			b.mergeLater(b.stack.all[body].node)
		}
	case AtomFrameset:
		b.startFrameset()
	case AtomCaption, AtomCol, AtomColgroup, AtomFrame, AtomHead, AtomTbody, AtomTd, AtomTfoot, AtomTh, AtomThead, AtomTr:
	default:
		b.reconstruct()
		b.element()
	}
}

// second returns the second entry of the stack if it is the element with this name, else 0.
func (b *builder) second(name Atom) uint32 {
	i := b.stack.all[b.stack.root].above
	if i == 0 || b.stack.all[i].name != uint32(name)<<1 {
		return 0
	}
	return i
}

// endItem ends the open li, or the open dd or dt.
func (b *builder) endItem(name, other Atom) {
	// No special element may lie between but address, div and p.
	e := &b.stack.all[b.stack.cur().stop]
	if e.name != uint32(name)<<1 && e.name != uint32(other)<<1 {
		return
	}
	a := Atom(e.name >> 1)
	b.impliedEnds(a)
	b.popName(a)
}

func (b *builder) startInput() {
	if b.fragment && b.context == AtomSelect && b.contextSpace == HTML {
		return
	}
	if b.stack.inScope(AtomSelect) {
		b.popName(AtomSelect)
	}
	b.reconstruct()
	b.leaf()
	if !b.isHidden() {
		b.framesetOK = false
	}
}

// isHidden reports whether the current tag has the type of a hidden input.
func (b *builder) isHidden() bool {
	value, _ := b.s.attr(AtomType)
	if needsDecoding(value) {
		value = appendValue(nil, value)
	}
	return equalFold(value, "hidden")
}

func (b *builder) startSelect() {
	if b.fragment && b.context == AtomSelect && b.contextSpace == HTML {
		return
	}
	if b.stack.inScope(AtomSelect) {
		b.popName(AtomSelect)
		return
	}
	b.reconstruct()
	b.element()
	b.framesetOK = false
}

func (b *builder) startOption() {
	switch {
	case !b.stack.inScope(AtomSelect):
		if b.stack.is(AtomOption) {
			b.pop()
		}
	case b.tag == AtomOption:
		b.impliedEnds(AtomOptgroup)
	default:
		b.impliedEnds(0)
	}
	b.reconstruct()
	b.element()
}

// startFrameset replaces a body that shows nothing yet.
func (b *builder) startFrameset() {
	body := b.second(AtomBody)
	if body == 0 || !b.framesetOK {
		return
	}
	b.detach(b.stack.all[body].node)
	b.d.reordered = true
	for b.stack.top != b.stack.root {
		b.pop()
	}
	b.element()
	b.mode = inFramesetMode
}

// endInBody handles the current end tag by the rules of the mode "in body".
func (b *builder) endInBody() (again bool) {
	switch b.tag {
	case AtomDiv, AtomUl, AtomOl, AtomSection, AtomNav, AtomHeader, AtomFooter, AtomMain, AtomArticle,
		AtomAside, AtomAddress, AtomBlockquote, AtomButton, AtomCenter, AtomDetails, AtomDialog, AtomDir,
		AtomDl, AtomFieldset, AtomFigcaption, AtomFigure, AtomHgroup, AtomListing, AtomMenu, AtomPre,
		AtomSearch, AtomSelect, AtomSummary:
		if b.stack.inScope(b.tag) {
			b.impliedEnds(0)
			b.popName(b.tag)
		}
	case AtomP:
		if !b.stack.inButtonScope(AtomP) {
			b.implied(AtomP)
		}
		b.closeP()
	case AtomA, AtomB, AtomBig, AtomCode, AtomEm, AtomFont, AtomI, AtomNobr, AtomS, AtomSmall, AtomStrike, AtomStrong, AtomTt, AtomU:
		b.adopt()
	case AtomLi:
		if b.stack.inListScope(AtomLi) {
			b.impliedEnds(AtomLi)
			b.popName(AtomLi)
		}
	case AtomDd, AtomDt:
		if b.stack.inScope(b.tag) {
			b.impliedEnds(b.tag)
			b.popName(b.tag)
		}
	case AtomH1, AtomH2, AtomH3, AtomH4, AtomH5, AtomH6:
		b.endHeading()
	case AtomBody, AtomHtml:
		if b.stack.inScope(AtomBody) {
			b.mode = afterBodyMode
			return b.tag == AtomHtml
		}
	case AtomForm:
		b.endForm()
	case AtomApplet, AtomMarquee, AtomObject:
		if b.stack.inScope(b.tag) {
			b.impliedEnds(0)
			b.popName(b.tag)
			b.formats.clear()
		}
	case AtomBr:
		b.reconstruct()
		b.place(elementMeta(AtomBr, HTML)|flagMade, 0, uint32(b.s.from))
		b.framesetOK = false
	case AtomTemplate:
		b.endTemplate()
	default:
		b.endOther()
	}
	return false
}

// endOther handles any other end tag: it ends the open element with its name unless a special one is
// open inside of that.
func (b *builder) endOther() {
	if b.tag == 0 {
		return
	}
	s := &b.stack
	i := *s.lastOf(uint32(b.tag) << 1)
	if i == 0 || i == s.root || s.all[i].order < s.all[s.cur().special].order {
		return
	}
	b.impliedEnds(b.tag)
	b.popTo(i)
}

func (b *builder) endHeading() {
	s := &b.stack
	last := uint32(0)
	for _, a := range [...]Atom{AtomH1, AtomH2, AtomH3, AtomH4, AtomH5, AtomH6} {
		if i := s.last[a<<1]; s.inScope(a) && s.all[i].order > s.all[last].order {
			last = i
		}
	}
	if last != 0 {
		b.impliedEnds(0)
		b.popTo(last)
	}
}

func (b *builder) endForm() {
	s := &b.stack
	if s.has(AtomTemplate) {
		if s.inScope(AtomForm) {
			b.impliedEnds(0)
			b.popName(AtomForm)
		}
		return
	}
	form := b.form
	b.form = 0
	i := s.last[AtomForm<<1]
	for i != 0 && s.all[i].node != form {
		i = s.all[i].same
		b.d.work++
	}
	if form == 0 || i == 0 || s.all[i].order < s.all[s.cur().scope].order {
		return
	}
	b.impliedEnds(0)
	b.remove(i)
}
