package content

import "github.com/tegenaria/tegenaria/html"

// Part is a part of a page that is not in its article.
type Part struct {
	Node   html.Node // the part; zero where an entry sums small parts, or scripts
	Words  int       // that the part has, without those of parts inside of it that have an entry or a reason of their own
	Reason Reason
}

// Reason says why a part of a page is not in its article.
type Reason string

// The reasons.
const (
	LeftOutside    Reason = "outside the main text"                               // beside the element that holds the text, or beside its parts
	LeftNamed      Reason = "its class or id names something other than the text" // comments, advertisements, related articles …
	LeftNavigation Reason = "navigation or a control, by its element or role"     // nav, menu, search, dialog, button …
	LeftAside      Reason = "an aside or a footer"                                // the elements aside and footer
	LeftLinks      Reason = "mostly links"                                        // a list, table or block
	LeftForm       Reason = "more controls than paragraphs"                       // a form, or a block that looks like one
	LeftDrawing    Reason = "words of a drawing"                                  // svg
	LeftFormula    Reason = "another form of a formula"                           // beside its TeX, or beside its MathML
	LeftMark       Reason = "permalinks and numbers of lines"                     // ¶, #, [edit] beside a title; those beside code
	LeftHidden     Reason = "hidden"                                              // hidden, aria-hidden=true, or a style that hides it
	LeftScript     Reason = "scripts, styles, templates, and what replaces media" // script, style, template, noscript, iframe, video …
)

// Unseen reports whether no reader sees such parts in a browser.
func (r Reason) Unseen() bool { return r == LeftHidden || r == LeftScript }

// fewWords is the number of words below which parts have no entry of their own.
const fewWords = 10

// Left returns what the page has beside the article: each part with its number of words and the reason, in the order of the page. Parts
// of fewer than ten words are summed by reason, at the end, and so are all with the reason [LeftScript]. The words of the article (see
// [Article.Words]) and those of all entries together are exactly the words of the element body.
func (a *Article) Left() (parts []Part) {
	x := a.x
	all := []Part{{}} // the first one is for the article
	type level struct {
		end  uint32
		part int
	}
	open := []level{{uint32(len(x.info)), 0}}
	element := x.doc.Element()
	end := x.info[element.ID()].end
	for id := element.ID() + 1; id < end; id++ {
		for open[len(open)-1].end <= id {
			open = open[:len(open)-1]
		}
		n, in, part := x.doc.Node(id), &x.info[id], open[len(open)-1].part
		if n.Is(html.AtomHead) && n.Parent() == element {
			id = x.skip(id)
			continue
		}
		inside := x.root <= id && id < x.info[x.root].end
		switch {
		case id <= x.root && in.end > x.root: // around the article
		case in.flags&(dead|unlikely) != 0, inside && in.flags&dropped != 0:
			all = append(all, Part{Node: n, Reason: x.reason(n, in)})
			part = len(all) - 1
		case !inside && part == 0:
			all = append(all, Part{Node: n, Reason: LeftOutside})
			part = len(all) - 1
		}
		switch {
		case in.flags&dead != 0:
			for ; id < in.end; id++ {
				all[part].Words += x.words(id)
			}
			id--
		case in.end > id+1:
			open = append(open, level{in.end, part})
		default:
			all[part].Words += x.words(id)
		}
	}
	small := map[Reason]int{}
	var order []Reason
	for _, p := range all[1:] {
		switch {
		case p.Words == 0:
		case p.Words >= fewWords && p.Reason != LeftScript:
			parts = append(parts, p)
		default:
			if small[p.Reason] == 0 {
				order = append(order, p.Reason)
			}
			small[p.Reason] += p.Words
		}
	}
	for _, r := range order {
		parts = append(parts, Part{Words: small[r], Reason: r})
	}
	return parts
}

// Words returns how many words the article has, with the captions that Text leaves out. White space and markup end a word, so that
// each text between two tags is counted by itself.
func (a *Article) Words() (n int) {
	x := a.x
	for id := x.root; id < x.info[x.root].end; id++ {
		if x.info[id].flags&(dead|dropped) != 0 {
			id = x.skip(id)
			continue
		}
		n += x.words(id)
	}
	return n
}

// words counts the words of a node that is a text.
func (x *extractor) words(id uint32) (count int) {
	n := x.doc.Node(id)
	if n.Kind() != html.TextNode {
		return 0
	}
	for data := n.Data(); len(data) > 0; {
		if space := wordAt(data); space > 0 {
			data = data[space:]
			continue
		}
		data = data[wordEnd(data):]
		count++
	}
	return count
}

// reason says why an element was left out.
func (x *extractor) reason(n html.Node, in *info) Reason {
	switch {
	case in.flags&dead != 0 && n.Namespace() != html.SVG && x.hasFormulas && x.isFormulaTwin(n):
		return LeftFormula
	case in.flags&dead != 0:
		switch n.Atom() {
		case html.AtomNav, html.AtomMenu, html.AtomSearch, html.AtomDialog, html.AtomButton, html.AtomInput, html.AtomSelect,
			html.AtomTextarea, html.AtomOption, html.AtomProgress, html.AtomMeter, html.AtomOutput:
			if n.Namespace() == html.HTML {
				return LeftNavigation
			}
		}
		if n.Namespace() == html.HTML && (n.Atom() >= elementAtoms || !deadElements[n.Atom()]) {
			return LeftMark
		}
		if n.Namespace() == html.SVG {
			return LeftDrawing
		}
		return LeftScript
	case in.flags&(unlikely|hidden) == unlikely|hidden:
		if isControl(n.FindAttr(html.AtomRole).Raw()) {
			return LeftNavigation
		}
		return LeftHidden
	case in.flags&unlikely != 0:
		return LeftNamed
	}
	if r := x.odd(n, in); r != "" {
		return r
	}
	return LeftOutside
}
