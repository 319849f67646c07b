package content

import "github.com/tegenaria/tegenaria/html"

// join returns the element that holds the text: top, or its parent, of which only the parts are kept that belong to it.
func (x *extractor) join(top uint32) uint32 {
	n := x.doc.Node(top)
	for a := n; !a.IsZero(); a = a.Parent() { // a table of data is no text alone
		if x.info[a.ID()].flags&tabular != 0 {
			n = a.Parent()
		}
	}
	for { // an only child stands for its parent
		p := n.Parent()
		if p.IsZero() || p.Is(html.AtomBody) || p.Kind() == html.DocumentNode || x.info[p.ID()].text > x.info[n.ID()].text {
			break
		}
		n = p
	}
	return x.climb(n, x.info[top].score)
}

// climb goes up from an element as long as its ancestors have more of the text, and drops what they have beside it.
func (x *extractor) climb(n html.Node, score float32) uint32 {
	root := n
	have := x.info[n.ID()].good
	gain := int32(0)
	region := x.regionOf(n)
	inRegion := !region.IsZero()
	var pending []uint32
	from := n
	for level := 0; ; level++ {
		if n == region {
			inRegion = false
		}
		p := n.Parent()
		if p.IsZero() || p.Kind() == html.DocumentNode || p.Is(html.AtomHtml) {
			break
		}
		factor := float32(0.2)
		if level == 0 {
			factor = 0.2
		}
		for c := range p.Children() {
			id := c.ID()
			in := &x.info[id]
			if c == n || in.flags&dead != 0 {
				continue
			}
			if x.belongs(c, in, from, level, score, factor, inRegion) {
				gain += in.good
			} else {
				pending = append(pending, id)
			}
		}
		n = p
		need := have/4 + 100
		if inRegion {
			need = have / 20
		} else if level == 0 {
			need = have / 10
		}
		if gain > need {
			for _, id := range pending {
				x.info[id].flags |= dropped
			}
			pending = pending[:0]
			root = p
			have += gain
			gain = 0
		}
	}
	return root.ID()
}

// belongs reports whether an element beside the text is a part of it.
func (x *extractor) belongs(c html.Node, in *info, from html.Node, level int, score, factor float32, inRegion bool) bool {
	if !c.IsElement() || in.flags&unlikely != 0 {
		return false
	}
	if c.Is(html.AtomLi) || c.Is(html.AtomDd) || c.Is(html.AtomDt) {
		return in.density() < 0.5 // lists are not torn
	}
	bonus := float32(0)
	if level == 0 && in.hint != 0 && in.hint == x.info[from.ID()].hint {
		bonus = score * 0.2
	}
	switch {
	case in.score+bonus >= max(10, score*factor):
		return in.good > in.bad
	case c.Is(html.AtomP) && in.text > 80 && in.density() < 0.25:
		return true
	case in.good > 60 && in.good > 3*in.bad:
		return inRegion || level == 0 || in.headings > 0 && in.good > 400 && in.density() < 0.12 && in.good > 8*in.bad
	}
	return false
}

// regionOf returns the element around n that says that it is the article.
func (x *extractor) regionOf(n html.Node) (region html.Node) {
	for a := n; !a.IsZero(); a = a.Parent() {
		in := &x.info[a.ID()]
		if a.Is(html.AtomArticle) || a.Is(html.AtomMain) || in.hint&hintStrong != 0 {
			region = a
			if a.Is(html.AtomArticle) {
				break
			}
		}
	}
	return region
}

// prune drops what does not belong to the article.
func (x *extractor) prune(root uint32) {
	end := x.info[root].end
	if x.manual {
		x.lastText = x.findLastText(root)
	}
	for id := root + 1; id < end; id++ {
		in := &x.info[id]
		if in.flags&(dead|dropped) != 0 {
			id = x.skip(id)
			continue
		}
		n := x.doc.Node(id)
		switch {
		case in.flags&unlikely != 0:
			in.flags |= dropped
		case !n.IsElement() || in.flags&inCode != 0:
			continue
		case n.Is(html.AtomFigcaption) && in.text < 600 || !x.manual && in.hint&hintCaption != 0 && in.text < 300 && in.flags&block != 0:
			in.flags |= captioned
		case x.odd(n, in) != "":
			in.flags |= dropped
		}
		if in.flags&dropped != 0 {
			id = x.skip(id)
		}
	}
}

// pruneTitles drops the headings of parts that were dropped, if their class names another thing than the text.
func (x *extractor) pruneTitles(root uint32) {
	for id := root + 1; id < x.info[root].end; id++ {
		in := &x.info[id]
		if in.flags&(dead|dropped) != 0 {
			id = x.skip(id)
			continue
		}
		if in.headings == 0 || in.text == 0 || in.hint&hintBad == 0 {
			continue
		}
		switch n := x.doc.Node(id); n.Atom() {
		case html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6:
			next := n.NextSibling()
			for !next.IsZero() && (x.info[next.ID()].text == 0 || x.info[next.ID()].flags&dead != 0) {
				next = next.NextSibling()
			}
			if next.IsZero() || x.info[next.ID()].flags&dropped != 0 {
				in.flags |= dropped
				id = x.skip(id)
			}
		}
	}
}

// odd says why an element inside of the article is none of its parts; "" if it is one.
func (x *extractor) odd(n html.Node, in *info) Reason {
	if x.tabs.isName(n.ID()) {
		return ""
	}
	if x.manual {
		return x.oddInManual(n, in)
	}
	switch n.Atom() {
	case html.AtomFooter, html.AtomAside:
		return LeftAside
	case html.AtomForm, html.AtomFieldset, html.AtomTable, html.AtomUl, html.AtomOl, html.AtomDiv, html.AtomSection, html.AtomHeader:
	default:
		return ""
	}
	if in.hint&(hintBad|hintMeta) != 0 && in.hint&(hintBody|hintStrong) == 0 && in.text < 200 {
		return LeftNamed
	}
	if in.flags&tabular != 0 && in.density() < 0.5 || in.commas >= 10 || in.good > x.info[x.root].good/4 || in.good > 200 && in.good > 2*in.bad {
		return ""
	}
	good := in.hint&(hintBody|hintStrong) != 0
	switch {
	case good && in.density() > 0.5, !good && in.density() > 0.33:
		return LeftLinks
	case int(in.inputs) > int(in.paragraphs)/3+1 && (in.headings == 0 || in.good < 100 || n.Is(html.AtomForm) || n.Is(html.AtomFieldset)):
		return LeftForm
	}
	return ""
}
