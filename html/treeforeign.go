package html

// foreignElement inserts the element of the current start tag in another namespace (insert a foreign
// element, section 13.2.6.1).
func (b *builder) foreignElement(ns Namespace) {
	name := b.tag
	if ns == SVG && name < staticAtoms && svgNames[name] != 0 {
		name = svgNames[name]
	}
	id := b.place(elementMeta(name, ns), b.attrs(ns), uint32(b.s.from))
	if b.s.selfClose {
		return
	}
	p := propsOf(name, ns)
	if ns == MathML && name == AtomAnnotationXml && b.holdsHTML(id) {
		p |= propHTMLText
	}
	// End tags are compared with the name in lower case.
	b.stack.push(id, uint32(b.tag)<<1|1, p)
}

// holdsHTML reports whether an annotation-xml element says that it holds HTML.
func (b *builder) holdsHTML(id uint32) bool {
	value := Node{b.d, id}.FindAttr(AtomEncoding).Bytes()
	return equalFold(value, "text/html") || equalFold(value, "application/xhtml+xml")
}

// adjustAttrs gives the attributes of an element in SVG or MathML the names and namespaces that they
// have there (adjust MathML, SVG and foreign attributes, section 13.2.6.1).
func adjustAttrs(attrs []attr, ns Namespace) {
	for i := range attrs {
		a := &attrs[i]
		name := Atom(a.meta >> atomShift)
		if name >= staticAtoms {
			continue
		}
		space := NoNamespace
		switch name {
		case AtomXlinkActuate, AtomXlinkArcrole, AtomXlinkHref, AtomXlinkRole, AtomXlinkShow, AtomXlinkTitle, AtomXlinkType:
			space = XLink
		case AtomXmlLang, AtomXmlSpace:
			space = XML
		case AtomXmlns, AtomXmlnsXlink:
			space = XMLNS
		case AtomDefinitionurl:
			if ns == MathML {
				name = AtomDefinitionURL
			}
		default:
			if to := svgAttributes[name]; to != 0 && ns == SVG {
				name = to
			}
		}
		a.meta = uint32(name)<<atomShift | uint32(space)<<nsShift
	}
}

// foreignStart handles the current start tag in foreign content (section 13.2.6.5).
func (b *builder) foreignStart() {
	if b.s.breaksOut(b.tag) {
		b.leaveForeign()
		b.startByMode()
		return
	}
	b.foreignElement(b.adjustedSpace())
}

// adjustedSpace returns the namespace of the adjusted current node.
func (b *builder) adjustedSpace() Namespace {
	if b.fragment && b.stack.top == b.stack.root {
		return b.contextSpace
	}
	return Node{b.d, b.stack.cur().node}.Namespace()
}

// leaveForeign pops to an element that may hold HTML.
func (b *builder) leaveForeign() {
	for b.stack.top != b.stack.root && b.stack.cur().props&(propHTML|propMathText|propHTMLText) == 0 {
		b.pop()
	}
}

// foreignEnd handles the current end tag in foreign content. It reports false if the rules of the
// insertion mode are to be used.
func (b *builder) foreignEnd() (done bool) {
	if b.tag == AtomBr || b.tag == AtomP {
		b.leaveForeign()
		return false
	}
	s := &b.stack
	if s.top == s.root {
		return true
	}
	i := uint32(0)
	if b.tag != 0 {
		i = *s.lastOf(uint32(b.tag)<<1 | 1)
	}
	if i != 0 && s.all[i].order > s.all[s.cur().html].order {
		b.popTo(i)
		return true
	}
	return false
}
