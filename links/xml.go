package links

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// isXML reports whether the page was parsed as XML. Its links are then in the tree: what HTML makes of the same bytes is another
// page, in which an empty title holds all that follows.
func (p *page) isXML() bool { return p.doc != nil && p.doc.IsXML() }

// eachOfXML is each for a page that was parsed as XML.
func (p *page) eachOfXML() {
	if href, ok := baseOfXML(p.doc); ok {
		_, p.base = resolveBase(p.base, p.docURL, href)
	}
	restricted := len(p.restrictions) > 0
	switch {
	case restricted:
		p.open = p.admitted()
	case p.everything:
		if doctype, found := p.doc.Doctype(); !p.inHeader() || found && !p.doctype(doctype) {
			return
		}
	}
	for n := range p.doc.Root().Descendants() {
		if n.IsElement() && (!restricted || p.admitsAt(n.Pos())) && !p.elementOfXML(n) {
			return
		}
	}
}

// elementOfXML looks for links in an element. It returns false if yield wants no more.
func (p *page) elementOfXML(n html.Node) bool {
	tag := nameOfXML(n)
	if p.inTags != nil { // options have names in lower case
		tag = bytes.ToLower(tag)
	}
	if !p.looksIn(tag) {
		return true
	}
	p.element = n
	p.list, p.texts = p.list[:0], p.texts[:0]
	for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
		name := []byte(a.Name())
		switch a.Namespace() {
		case html.XMLNS:
			continue
		case html.XLink:
			name = append([]byte("xlink:"), a.LocalName()...)
		}
		if p.inAttrs != nil {
			name = bytes.ToLower(name)
		}
		from := len(p.texts)
		p.texts = a.AppendTo(p.texts)
		p.list = append(p.list, attribute{name, p.texts[from:len(p.texts):len(p.texts)]})
	}
	atom := html.LookupAtom(string(tag))
	if !p.eachAttribute(tag, atom, n.Namespace() == html.SVG || n.Namespace() == html.MathML) {
		return false
	}
	if atom != html.AtomStyle || !p.everything || p.inAttrs != nil {
		return true
	}
	for c := range n.Children() {
		if c.Kind() == html.TextNode && !p.sheet(c.Data(), place{tag: "style"}) {
			return false
		}
	}
	return true
}

// nameOfXML returns the name of an element: without a prefix in the namespaces of HTML, SVG and MathML, and as it is written in
// others.
func nameOfXML(n html.Node) []byte {
	name := n.Name()
	switch n.Namespace() {
	case html.HTML, html.SVG, html.MathML:
		name = n.LocalName()
	}
	return []byte(name)
}

// textOfXML returns the text of the link that is being yielded.
func (p *page) textOfXML() string {
	size := 0
	for n := range p.element.Descendants() {
		size += 1 + len(n.Data())
	}
	p.keep(len(p.body), size) // links inside each other have their text in common
	p.pieces = p.element.AppendCollapsed(p.pieces[:0])
	return p.text(p.pieces)
}

// baseOfXML returns the href of the first base element that has one.
func baseOfXML(doc *html.Document) (href string, ok bool) {
	end := uint32(doc.Len()) + 1
	for id := uint32(1); id < end; id++ {
		n := doc.Node(id)
		if n.Namespace() != html.HTML || !n.IsElement() {
			continue
		}
		switch n.LocalName() {
		case "template": // its content is a document of its own
			id = n.EndID() - 1
			continue
		case "base":
		default:
			continue
		}
		if a := n.FindAttr(html.AtomHref); !a.IsZero() {
			return a.Value(), true
		}
	}
	return "", false
}
