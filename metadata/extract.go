package metadata

import (
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// The bounds that the package comment names.
const (
	maxNodes  = 10_000
	maxValues = 100_000
	maxItems  = 100 // of items in each other
	maxDepth  = 50  // levels of a value in which nodes are looked for: each level is read again for each one around it
	maxGraphs = 8   // of @graph in each other that are taken apart, for the same reason
)

// extractor reads one page.
type extractor struct {
	doc      *html.Document
	encoding charset.Encoding
	page     *Page
	base     *urlx.Base // nil until a URL is resolved
	origin   *origin
	found    found
	work     int // what the texts of properties may still cost, see charge
	buf      []byte
}

// found is where the page has metadata: the elements, in document order, by the numbers of their nodes. What is in a template is
// no part of the page (HTML standard, section 4.12.3).
type found struct {
	title          uint32
	metas, links   []uint32
	blocks         []uint32 // of JSON-LD
	hasScope, rdfa bool     // whether there may be items of microdata and of RDFa
}

func (x *extractor) run() {
	x.work = 4*len(x.doc.Source()) + 1<<20
	x.find()
	x.readHead()
	x.readBlocks()
	if x.found.hasScope {
		x.readMicrodata()
	}
	if x.found.rdfa {
		x.readRDFa()
	}
	x.readDates()
}

// wanted are the elements that find looks for.
var wanted = [...]bool{html.AtomTitle: true, html.AtomMeta: true, html.AtomLink: true, html.AtomScript: true, html.AtomTemplate: true}

// find looks at each node once. It is all that a page without metadata costs.
func (x *extractor) find() {
	d, f := x.doc, &x.found
	end := uint32(d.Len()) + 1
	for id := uint32(1); id < end; id++ {
		n := d.Node(id)
		a := n.Atom()
		if a >= html.Atom(len(wanted)) || !wanted[a] { // most nodes
			continue
		}
		switch a {
		case html.AtomTitle:
			if f.title == 0 && isHTML(n) {
				f.title = id
			}
		case html.AtomMeta:
			if isHTML(n) {
				f.metas = append(f.metas, id)
			}
		case html.AtomLink:
			if isHTML(n) {
				f.links = append(f.links, id)
			}
		case html.AtomScript:
			if isBlock(n) {
				f.blocks = append(f.blocks, id)
			}
		case html.AtomTemplate:
			if isHTML(n) {
				id = n.EndID() - 1
			}
		}
	}
	sweep := d.Sweep(0)
	f.hasScope = sweep.With(1, end, html.AtomItemscope) < end
	f.rdfa = d.LookupAtom("typeof") != 0 && d.LookupAtom("property") != 0
}

func isHTML(n html.Node) bool { return n.IsElement() && n.Namespace() == html.HTML }

// isBlock reports whether a script is a block of JSON-LD; parameters of its type do not matter.
func isBlock(n html.Node) bool {
	a := n.FindAttr(html.AtomType)
	if a.IsZero() || !isHTML(n) {
		return false
	}
	media, _, _ := strings.Cut(a.Value(), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/ld+json")
}

// baseOf returns what references in a page are relative to.
func baseOf(doc *html.Document, docURL string) *urlx.Base {
	base, err := urlx.ParseBase(links.BaseFrom(doc, docURL))
	if err != nil { // absolute URLs can still be resolved
		base, _ = urlx.ParseBase("about:blank")
	}
	return base
}

// resolve makes a reference an absolute URL; ok is false for one that cannot be resolved.
func (x *extractor) resolve(ref string) (url string, ok bool) {
	if x.base == nil {
		x.base = x.origin.base()
	}
	if x.encoding != charset.UTF8 {
		ref = string(x.encoding.AppendReference(nil, ref))
	}
	b, err := x.base.Resolve(x.buf[:0], ref)
	if err != nil {
		return "", false
	}
	x.buf = b
	return string(b), true
}

// link resolves the reference of an element of the head, where an empty one means nothing. It is not ok if the URLs cost too much.
func (x *extractor) link(ref string) (url string, ok bool) {
	if strings.TrimSpace(ref) == "" {
		return "", false
	}
	url, ok = x.resolve(ref)
	return url, x.charge(len(url)) && ok
}

// note says what was done with an element.
func (x *extractor) note(s Syntax, n html.Node, text string) {
	if len(x.page.Notes) < maxNodes {
		x.page.Notes = append(x.page.Notes, Note{Syntax: s, Offset: n.Pos(), Text: text})
	}
}

// charge counts so many steps or bytes, and returns false if the page has used up what it may cost. Properties inside of each
// other have their text in common, and itemref names the same properties for many items: without a bound a page of 1 MB could
// take hours.
func (x *extractor) charge(n int) bool {
	if n > x.work {
		x.work = 0
		return false
	}
	x.work -= n
	return true
}

// text returns the text of an element as a reader sees it; ok is false if it costs too much.
func (x *extractor) text(n html.Node) (text string, ok bool) {
	if !x.charge(int(n.EndID() - n.ID())) {
		return "", false
	}
	size := 0
	for d := range n.Descendants() {
		if d.Kind() == html.TextNode {
			size += len(d.Data())
		}
	}
	if !x.charge(size) {
		return "", false
	}
	return n.CollapsedText(), true
}
