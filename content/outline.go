package content

import (
	"net/url"

	"github.com/tegenaria/tegenaria/html"
)

// outline is the tree of the sections of what is written: one for each heading, and for each term of a definition list that has an id.
type outline struct {
	x        *extractor
	sections []section
	at       int // the section that is being written
	definitions
}

// definitions is the definition list that is being written.
type definitions struct {
	in   int  // the section that it is in, -1 outside of one
	open bool // at is in the section of one of its terms
}

// section is a part of what is written; the first one is the whole.
type section struct {
	parent int
	level  int      // of its heading, 0 for others
	term   bool     // it is of a term
	path   []string // the titles, its own is the last one
	anchor string   // its own, or that of the section around it
}

func newOutline(x *extractor) *outline {
	return &outline{x: x, sections: []section{{}}, definitions: definitions{in: -1}}
}

// heading begins the section of a heading, unless that has no text. Inside of the description of a term it is below the term.
func (o *outline) heading(n html.Node, level int) {
	parent := o.at
	for o.sections[parent].level >= level {
		parent = o.sections[parent].parent
	}
	o.begin(n, section{parent: parent, level: level})
}

// openList begins a definition list, and returns the one around it.
func (o *outline) openList() definitions {
	outer := o.definitions
	o.definitions = definitions{in: o.at}
	return outer
}

// closeList ends a definition list: what follows is below the same heading as what was before it.
func (o *outline) closeList(outer definitions) {
	if o.open {
		o.at = o.in
	}
	o.definitions = outer
}

// term begins the section of a term that has an id. Terms with one description have one section, and a term without an id has none.
func (o *outline) term(n html.Node) {
	if o.in < 0 || o.open && previous(n).Is(html.AtomDt) {
		return
	}
	if o.open {
		o.at = o.in
	}
	o.open = ownAnchor(n) != "" && o.begin(n, section{parent: o.in, term: true})
}

// maxPath is how many sections are inside of one another: more are parts of the last one. Each piece has its path.
const maxPath = 16

// begin begins a section, and reports whether it did.
func (o *outline) begin(n html.Node, s section) bool {
	if len(o.sections[s.parent].path) == maxPath {
		return false
	}
	title := o.x.line(n)
	if title == "" {
		return false
	}
	up := &o.sections[s.parent]
	s.path = append(up.path[:len(up.path):len(up.path)], title)
	if s.anchor = o.x.anchor(n); s.anchor == "" {
		s.anchor = up.anchor
	}
	o.at = len(o.sections)
	o.sections = append(o.sections, s)
	return true
}

// previous returns the element before a node that has the same parent.
func previous(n html.Node) html.Node {
	for n = n.PrevSibling(); !n.IsZero() && !n.IsElement(); n = n.PrevSibling() {
	}
	return n
}

// anchor returns the fragment of a URL that leads to a title: its id, where its permalink leads, or the id of an element which begins with
// it; "" if there is none.
func (x *extractor) anchor(title html.Node) string {
	if id := ownAnchor(title); id != "" {
		return id
	}
	end := title.EndID() // behind the title and the link beside it
	next := title.NextSibling()
	for !next.IsZero() && !next.IsElement() && x.info[next.ID()].text == 0 {
		next = next.NextSibling()
	}
	if next.Is(html.AtomA) {
		end = next.ID() + 1
	}
	for id := title.ID(); id < end; id++ {
		if a := x.doc.Node(id); a.Is(html.AtomA) && x.info[id].flags&dead != 0 {
			if u, err := url.Parse(a.FindAttr(html.AtomHref).Value()); err == nil && u.Fragment != "" {
				return u.Fragment
			}
		}
	}
	for n := title; ; {
		for p := n.PrevSibling(); !p.IsZero(); p = p.PrevSibling() {
			if x.info[p.ID()].text > 0 {
				return ""
			}
		}
		if n = n.Parent(); n.IsZero() || n.Is(html.AtomBody) || n.Kind() == html.DocumentNode {
			return ""
		}
		if id := ownAnchor(n); id != "" {
			return id
		}
	}
}

// ownAnchor returns the id of an element, or that of the place for links that it begins with.
func ownAnchor(n html.Node) string {
	if id := n.FindAttr(html.AtomId).Value(); id != "" && len(id) <= maxName {
		return id
	}
	a := n.FirstChild()
	if !a.Is(html.AtomA) || !a.FindAttr(html.AtomHref).IsZero() {
		return ""
	}
	for _, name := range [...]html.Atom{html.AtomId, html.AtomName} {
		if id := a.FindAttr(name).Value(); id != "" && len(id) <= maxName {
			return id
		}
	}
	return ""
}
