package content

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/metadata"
)

// generators are programs that make documentation, as their pages name them.
var generators = []string{"docutils", "sphinx", "docbook", "asciidoc", "docusaurus", "mkdocs", "rustdoc", "javadoc", "doxygen", "mdbook", "antora", "texinfo", "makeinfo", "gitbook", "vitepress", "vuepress", "starlight"}

// isManual reports whether a page is documentation, a reference or a list: its generator says so, or its headings have links to themselves,
// places that links lead to, or the ids that generators make of their words, or code has most of its text. A page without such a generator
// that says that it is an article is none.
func (x *extractor) isManual(page *metadata.Page) bool {
	name := strings.ToLower(strings.Join(page.Meta.All("generator"), " "))
	if slices.ContainsFunc(generators, func(g string) bool { return strings.Contains(name, g) }) {
		return true
	}
	if article := articleNode(page); !page.Published.IsZero() || page.OpenGraph.Get("og:type") == "article" || first(article.Get("headline"), article.Get("author"), article.Get("datePublished")) != "" && !slices.Contains(article.Types(), "TechArticle") {
		return false
	}
	headings := int(x.info[1].headings) // those of menus included
	return 8*x.permalinks >= headings && x.permalinks > 0 || 3*(x.slugs+x.permalinks) >= headings && x.slugs > 1 || 2*x.code > x.info[1].text
}

// countAnchors counts a heading that can be linked to.
func (x *extractor) countAnchors(heading html.Node) {
	for c := range heading.Children() {
		if c.Is(html.AtomA) && isPermalink(c, true) {
			x.permalinks++
			return
		}
	}
	if next := heading.NextSibling(); next.Is(html.AtomA) && isPermalink(next, true) {
		x.permalinks++
		return
	}
	first := heading.FirstChild()
	if first.Is(html.AtomA) && first.FindAttr(html.AtomHref).IsZero() { // a place that links lead to
		x.slugs++
		return
	}
	for level := 0; level < 3 && first.IsElement(); level++ {
		first = first.FirstChild()
	}
	if first.Kind() != html.TextNode {
		return
	}
	for _, n := range [...]html.Node{heading, heading.Parent()} {
		if id := n.FindAttr(html.AtomId).Raw(); len(id) <= maxName && isSlug(id, first.Data()) {
			x.slugs++
			return
		}
	}
}

// isSlug reports whether an id of at least two words is made of the words of a heading. In Confluence it is the title of the page and the
// heading, each without spaces.
func isSlug(id, heading []byte) bool {
	heading = heading[:min(len(heading), maxName)]
	if i := bytes.LastIndexByte(id, '-'); i > 0 && bytes.IndexByte(heading, ' ') > 0 && bytes.Equal(id[i+1:], bytes.ReplaceAll(heading, []byte(" "), nil)) {
		return true
	}
	heading = bytes.ToLower(heading)
	i, words := 0, 0
	for _, word := range bytes.FieldsFunc(id, func(r rune) bool { return r == '-' || r == '_' }) {
		at := bytes.Index(heading[min(i, len(heading)):], bytes.ToLower(word))
		if at < 0 {
			return false
		}
		i += at + len(word)
		words++
	}
	return words > 1
}

// isApart reports whether the names of an element of a manual say that it is no text: a whole word of them does, the
// element is a container, and it has no sentences below a heading of its own, nor most of the page's text. Where the
// element with the text was given, asides alone are.
func (x *extractor) isApart(n html.Node, in *info) bool {
	if n.Is(html.AtomAside) {
		return !isNote(n) && !(x.besideText(n.PrevSibling(), html.Node.PrevSibling) && x.besideText(n.NextSibling(), html.Node.NextSibling))
	}
	if x.chosen != 0 || in.hint&hintBad&^hintWeak == 0 || in.flags&(inCode|inTable) != 0 || isOfNote(n) {
		return false
	}
	switch n.Atom() {
	case html.AtomDiv, html.AtomSection, html.AtomHeader, html.AtomFooter, html.AtomForm, html.AtomUl, html.AtomOl, html.AtomTable:
	default:
		return false
	}
	text := in.text - in.link
	if in.headings > 0 && text > 100 || text > x.good/3 {
		return false
	}
	return namesOther(n.FindAttr(html.AtomClass).Raw()) || namesOther(n.FindAttr(html.AtomId).Raw())
}

// namesOther reports whether a word of a name, or its singular, is one for another thing than the text. A name of more than three words
// is made of a heading.
func namesOther(value []byte) bool {
	for name := range bytes.FieldsSeq(value[:min(len(value), maxName)]) {
		words := bytes.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
		if len(words) > 3 {
			continue
		}
		for _, word := range words {
			word = bytes.ToLower(word)
			if !isLetter(word[0]) {
				continue
			}
			for _, s := range byFirst[word[0]-'a'] {
				if s.hint&hintBad&^hintWeak != 0 && (string(word) == s.text || string(word) == s.text+"s") {
					return true
				}
			}
		}
	}
	return false
}

// hold returns the element that holds the text of a manual: the smallest one with nine tenths of what reads like text, and with the
// sections, paragraphs and lists beside it, or the element around it that says that it is the text. Where most of the page is lists of
// links, these are the text.
func (x *extractor) hold(top uint32) uint32 {
	region := x.regionOf(x.doc.Node(top))
	n := x.doc.Node(top)
	share := func(in *info) int64 { return int64(in.good) }
	if all := &x.info[1]; all.bad > 2*all.good {
		share = func(in *info) int64 { return int64(in.good) + int64(in.bad) }
	}
	all := share(&x.info[1])
	for at := n; at != region && !at.Is(html.AtomBody); {
		p := at.Parent()
		if p.IsZero() || p.Kind() == html.DocumentNode || p.Is(html.AtomHtml) {
			break
		}
		if p == region || 10*share(&x.info[n.ID()]) < 9*all || x.continues(p, at) {
			n = p
		}
		at = p
	}
	if up := x.withTitle(n); !up.IsZero() {
		n = up
	}
	return n.ID()
}

// continues reports whether the text goes on beside an element: in another section of the same kind, or in paragraphs and lists.
func (x *extractor) continues(parent, n html.Node) bool {
	class := n.FindAttr(html.AtomClass).Raw()
	container := n.Is(html.AtomDiv) || n.Is(html.AtomSection)
	for c := range parent.Children() {
		in := &x.info[c.ID()]
		if c == n || !c.IsElement() || in.text == 0 || in.flags&(dead|unlikely) != 0 {
			continue
		}
		switch c.Atom() {
		case html.AtomP, html.AtomPre, html.AtomUl, html.AtomOl, html.AtomDl, html.AtomTable, html.AtomBlockquote, html.AtomSpan, html.AtomA,
			html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomDd, html.AtomDt, html.AtomLi, html.AtomTr, html.AtomTd, html.AtomTbody:
			if !container || !parent.Is(html.AtomBody) && in.density() < 0.5 {
				return true
			}
		case n.Atom():
			if bytes.Equal(c.FindAttr(html.AtomClass).Raw(), class) && (len(class) > 0 || !parent.Is(html.AtomBody)) {
				return true
			}
		}
	}
	return false
}

// withTitle returns the element around n that has the title of the page in a part beside it, and drops its other parts; the zero Node if
// n has the title, or there is none.
func (x *extractor) withTitle(n html.Node) html.Node {
	if x.hasTitle(n) {
		return html.Node{}
	}
	for ; !n.IsZero() && !n.Is(html.AtomBody) && n.Kind() != html.DocumentNode; n = n.Parent() {
		for c := range n.Parent().Children() {
			in := &x.info[c.ID()]
			if c == n || in.flags&(dead|unlikely) != 0 || in.headings == 0 || in.density() > 0.6 || !x.hasTitle(c) {
				continue
			}
			for other := range n.Parent().Children() {
				if other != n && other != c {
					x.info[other.ID()].flags |= dropped
				}
			}
			return n.Parent()
		}
	}
	return html.Node{}
}

// hasTitle reports whether an element has an h1 with text.
func (x *extractor) hasTitle(n html.Node) bool {
	for id := n.ID(); id < x.info[n.ID()].end; id++ {
		if x.doc.Node(id).Is(html.AtomH1) && x.info[id].text > 0 {
			return true
		}
	}
	return false
}

// oddInManual says why an element inside of the text of a manual is none of its parts; "" if it is one.
func (x *extractor) oddInManual(n html.Node, in *info) Reason {
	switch n.Atom() {
	case html.AtomFooter:
		return LeftAside
	case html.AtomDiv:
		switch {
		case x.isContents(n, in):
			return LeftLinks
		case n.ID() <= x.lastText && x.lastText < in.end && in.headings|in.items|in.paragraphs == 0:
			if in.link == in.text && x.isPager(n, in) {
				return LeftLinks
			}
			if in.text < 100 && in.hint&hintMeta != 0 && in.good == 0 {
				return LeftNamed
			}
		}
	case html.AtomForm:
		if int(in.inputs) > int(in.paragraphs)/3+1 {
			return LeftForm
		}
	}
	return ""
}

// isContents reports whether a part is links to other parts of the page, without sentences. Its first 200 nodes are looked at.
func (x *extractor) isContents(n html.Node, in *info) bool {
	if in.density() < 0.5 || 4*in.good > in.text {
		return false
	}
	links, inPage := 0, 0
	for id := n.ID(); id < min(in.end, n.ID()+200); id++ {
		if a := x.doc.Node(id); a.Is(html.AtomA) {
			if raw := a.FindAttr(html.AtomHref).Raw(); len(raw) > 0 {
				links++
				if raw[0] == '#' {
					inPage++
				}
			}
		}
	}
	return links >= 3 && 3*inPage >= 2*links
}

// findLastText returns the number of the last text of an element, without those that are left out; 0 if it has none.
func (x *extractor) findLastText(root uint32) (last uint32) {
	for id := root; id < x.info[root].end; {
		next := uint32(0)
		for c := range x.doc.Node(id).Children() {
			if in := &x.info[c.ID()]; in.text > 0 && in.flags&(dead|unlikely|dropped) == 0 {
				next = c.ID()
			}
		}
		if next == 0 {
			return last
		}
		last, id = next, next
	}
	return last
}

// isPager reports whether a part of links alone, after the text, leads to the pages before and after this one: it has two or three links
// to other pages, and no more.
func (x *extractor) isPager(n html.Node, in *info) bool {
	links := 0
	for id := n.ID(); id < min(in.end, n.ID()+200); id++ {
		if a := x.doc.Node(id); a.Is(html.AtomA) {
			if raw := a.FindAttr(html.AtomHref).Raw(); len(raw) == 0 || raw[0] == '#' || x.info[id].text == 0 {
				return false
			}
			links++
		}
	}
	return in.end-n.ID() <= 200 && (links == 2 || links == 3)
}

// isNote reports whether the class of an aside says that it is a part of the text.
func isNote(n html.Node) bool {
	class := bytes.ToLower(n.FindAttr(html.AtomClass).Raw())
	for _, word := range [...]string{"footnote", "topic", "admonition", "note", "warning", "tip", "callout", "alert", "hint"} {
		if bytes.Contains(class[:min(len(class), maxName)], []byte(word)) {
			return true
		}
	}
	return string(n.FindAttr(html.AtomRole).Raw()) == "note" || strings.HasPrefix(string(n.FindAttr(html.AtomRole).Raw()), "doc-")
}

// besideText reports whether the next element with text is one of those that texts have.
func (x *extractor) besideText(n html.Node, next func(html.Node) html.Node) bool {
	for ; !n.IsZero(); n = next(n) {
		if in := &x.info[n.ID()]; in.text > 0 && in.flags&(dead|dropped) == 0 {
			switch n.Atom() {
			case html.AtomP, html.AtomPre, html.AtomUl, html.AtomOl, html.AtomDl, html.AtomTable, html.AtomBlockquote, html.AtomFigure, html.AtomSection, html.AtomDiv,
				html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6:
				return in.density() < 0.5
			}
			return false
		}
	}
	return false
}
