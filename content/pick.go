package content

import "github.com/tegenaria/tegenaria/html"

// least is the length of a paragraph that counts, in characters.
const least = 25

// mark notes the elements whose words say that they do not hold the text.
func (x *extractor) mark() {
	end := uint32(len(x.info))
	x.good = x.info[1].text - x.info[1].link
	for id := uint32(2); id < end; id++ {
		in := &x.info[id]
		if in.flags&dead != 0 {
			id = x.skip(id)
			continue
		}
		n := x.doc.Node(id)
		if !n.IsElement() {
			continue
		}
		if x.isUnlikely(n, in) {
			in.flags |= unlikely
			id = x.skip(id)
		}
	}
}

// skip returns the number of the last node inside of one.
func (x *extractor) skip(id uint32) uint32 { return x.info[id].end - 1 }

func (x *extractor) isUnlikely(n html.Node, in *info) bool {
	if x.isAroundChosen(n.ID(), in.end) {
		return false
	}
	if in.flags&hidden != 0 {
		return in.text-in.link < x.good/2
	}
	if x.manual {
		return x.isApart(n, in)
	}
	bad := in.hint & hintBad
	if x.forum { // the posts are its text
		bad &^= hintComment
	}
	if bad == 0 || in.flags&(inCode|inTable) != 0 {
		return false
	}
	switch n.Atom() {
	case html.AtomHtml, html.AtomBody, html.AtomArticle, html.AtomMain, html.AtomA, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6:
		return false
	}
	if in.hint&(hintBody|hintStrong) != 0 && in.hint&(hintComment|hintRelated|hintShare) == 0 {
		return false
	}
	if in.hint&hintBad == hintWeak && (in.text-in.link > 200 && in.density() < 0.3 || n.Is(html.AtomP) && in.commas > 0) {
		return false
	}
	if in.hint&(hintComment|hintConsent) == 0 && in.text-in.link > x.good/3 || in.text-in.link > x.good*9/10 {
		return false // it has most of the page
	}
	return true
}

// rate gives paragraphs a score, and their ancestors a part of it.
func (x *extractor) rate() {
	end := uint32(len(x.info))
	table := uint32(0) // where the table of data ends
	for id := uint32(2); id < end; id++ {
		in := &x.info[id]
		if in.flags&(dead|unlikely) != 0 {
			id = x.skip(id)
			continue
		}
		n := x.doc.Node(id)
		if in.flags&(block|tabular) == block|tabular && in.density() < 0.4 {
			table = max(table, in.end)
		}
		if in.flags&block == 0 || in.own == 0 {
			continue
		}
		if id < table || in.own >= 60 && in.ownLink*3 < in.own || in.own > 30 && in.ownLink*5 < in.own && n.Is(html.AtomP) || n.Is(html.AtomPre) {
			in.good += in.own - in.ownLink
		} else if in.headings == 0 {
			in.bad += in.own
		}
		if in.own < least {
			continue
		}
		switch n.Atom() {
		case html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomFigcaption, html.AtomCaption:
			continue
		}
		runs := max(in.runs, 1)
		score := 1 + float32(in.commas)*float32(in.own)/float32(max(in.text, 1)) + min(float32(in.own)/100, 3*float32(runs))
		score *= 1 - float32(in.ownLink)/float32(in.own)
		at := n
		if in.flags&blockIn == 0 {
			at = n.Parent()
		}
		for level := range 6 {
			if at.IsZero() || at.Kind() == html.DocumentNode {
				break
			}
			share := float32(1)
			switch {
			case level == 1:
				share = 2
			case level > 1:
				share = 3 * float32(level)
			}
			x.info[at.ID()].score += score / share
			at = at.Parent()
		}
	}
	for id := end - 1; id > 1; id-- {
		in := &x.info[id]
		if in.flags&(dead|unlikely) != 0 {
			continue
		}
		p := &x.info[x.doc.Node(id).Parent().ID()]
		p.good += in.good
		p.bad += in.bad
	}
}

// weight is what an element's name and words add to its score.
func (x *extractor) weight(id uint32) (w float32) {
	n, in := x.doc.Node(id), &x.info[id]
	switch n.Atom() {
	case html.AtomDiv, html.AtomArticle, html.AtomMain, html.AtomSection:
		w += 5
	case html.AtomPre, html.AtomTd, html.AtomBlockquote:
		w += 3
	case html.AtomAddress, html.AtomOl, html.AtomUl, html.AtomDl, html.AtomDd, html.AtomDt, html.AtomLi, html.AtomForm:
		w -= 3
	case html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomTh:
		w -= 5
	}
	if x.manual {
		return w
	}
	if in.hint&(hintBody|hintStrong) != 0 {
		w += 25
	}
	if in.hint&(hintBad|hintMeta|hintUnseen) != 0 {
		w -= 25
	}
	return w
}

// pick chooses the element that the text is in.
func (x *extractor) pick() (top uint32) {
	var best float32
	end := uint32(len(x.info))
	for id := uint32(2); id < end; id++ {
		in := &x.info[id]
		if in.flags&(dead|unlikely) != 0 {
			id = x.skip(id)
			continue
		}
		if in.score == 0 {
			continue
		}
		score := (in.score + x.weight(id)) * (1 - in.density())
		in.score = score
		if score > best {
			top, best = id, score
		}
	}
	return top
}
