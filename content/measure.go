package content

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
)

// flags are what is known of a node.
type flags uint16

const (
	dead      flags = 1 << iota // no text for readers: scripts, forms' controls, hidden elements …
	block                       // an element that browsers show on lines of its own
	inLink                      // inside of an element a, or one
	blockIn                     // has a block inside
	dropped                     // not in the article
	unlikely                    // its words say that it does not hold the text
	inCode                      // inside of pre or code
	inTable                     // inside of a table
	hidden                      // not shown, or said to be no part of the text
	captioned                   // below a picture
	tabular                     // a table with headings
	numbered                    // a table of code with the numbers of its lines
	inTitle                     // inside of a heading, a term or a caption, or one
	formula                     // a formula: see isFormula
	withTeX                     // an element semantics of MathML with TeX
)

// info is what is counted of a node: of all that is inside of it and not dead.
type info struct {
	end                uint32 // the number after that of its last descendant
	within             uint32 // the nearest block that it is in, or itself
	text, link, commas int32  // characters; those in links
	own                int32  // of a block: characters that are in no block inside of it
	ownLink            int32
	runs               int32 // of a block: pieces that blocks and line breaks cut its own text into
	score              float32
	good, bad          int32  // characters of paragraphs that read like text, and of those that do not
	paragraphs, items  uint16 // elements with text: p; li
	images, headings   uint16
	inputs             uint16
	hint               hint
	flags              flags
}

// total adds counts; what is too large for one stays at the largest.
func total(a, b uint16) uint16 { return uint16(min(int(a)+int(b), math.MaxUint16)) }

// blocks are the elements that end a paragraph.
var blocks = atomSet(html.AtomAddress, html.AtomArticle, html.AtomAside, html.AtomBlockquote, html.AtomCenter, html.AtomDialog, html.AtomDd,
	html.AtomDetails, html.AtomDir, html.AtomDiv, html.AtomDl, html.AtomDt, html.AtomFieldset, html.AtomFigcaption,
	html.AtomFigure, html.AtomFooter,
	html.AtomForm, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomHeader, html.AtomHgroup, html.AtomHr,
	html.AtomLi, html.AtomListing, html.AtomMain, html.AtomMenu, html.AtomNav, html.AtomOl, html.AtomP,
	html.AtomPlaintext, html.AtomPre, html.AtomSearch,
	html.AtomSection, html.AtomSummary, html.AtomUl, html.AtomXmp, html.AtomTable, html.AtomCaption, html.AtomThead,
	html.AtomTbody, html.AtomTfoot,
	html.AtomTr, html.AtomTd, html.AtomTh, html.AtomBody, html.AtomHtml, html.AtomLegend, html.AtomOptgroup,
	html.AtomOption, html.AtomNoscript, html.AtomFrameset, html.AtomNoframes)

// deadElements hold no text of an article.
var deadElements = atomSet(html.AtomScript, html.AtomStyle, html.AtomTemplate, html.AtomHead, html.AtomNoscript,
	html.AtomIframe, html.AtomObject, html.AtomEmbed,
	html.AtomApplet, html.AtomButton, html.AtomInput, html.AtomSelect, html.AtomTextarea, html.AtomDatalist,
	html.AtomOption, html.AtomCanvas, html.AtomAudio,
	html.AtomVideo, html.AtomNoframes, html.AtomNoembed, html.AtomDialog, html.AtomNav, html.AtomMenu,
	html.AtomProgress, html.AtomMeter, html.AtomOutput, html.AtomLink, html.AtomMeta, html.AtomSearch)

// elementAtoms is a number above the atoms of the elements of HTML.
const elementAtoms = html.AtomXmp + 1

func atomSet(atoms ...html.Atom) (set [elementAtoms]bool) {
	for _, a := range atoms {
		set[a] = true
	}
	return set
}

func isBlock(n html.Node) bool {
	a := n.Atom()
	return a < elementAtoms && blocks[a] && n.IsElement() && n.Namespace() == html.HTML
}

// measure counts what there is in the page.
func (x *extractor) measure() {
	d := x.doc
	size := uint32(d.Len()) + 1
	x.info = make([]info, size)
	x.info[1].within = 1
	x.info[1].flags = block
	for id := uint32(2); id < size; {
		n := d.Node(id)
		parent := &x.info[n.Parent().ID()]
		in := &x.info[id]
		in.within = parent.within
		in.flags = parent.flags & (inLink | inCode | inTable | inTitle)
		switch n.Kind() {
		case html.ElementNode:
			if x.isDead(n, in) && !x.isAroundChosen(id, n.EndID()) {
				in.flags |= dead
				if n.Is(html.AtomInput) && (x.tabs == nil || !isRadio(n)) || n.Is(html.AtomTextarea) || n.Is(html.AtomSelect) || n.Is(html.AtomButton) {
					in.inputs = 1
				}
				id = n.EndID()
				continue
			}
			x.element(n, in)
		case html.TextNode:
			x.text(n.Data(), in)
		}
		id++
	}
	for id := size - 1; id > 1; id-- {
		in := &x.info[id]
		if in.end == 0 {
			in.end = id + 1
		}
		up := x.doc.Node(id).Parent().ID()
		p := &x.info[up]
		p.end = max(p.end, in.end)
		p.text += in.text
		p.link += in.link
		p.commas += in.commas
		p.paragraphs = total(p.paragraphs, in.paragraphs)
		p.items = total(p.items, in.items)
		p.images = total(p.images, in.images)
		p.headings = total(p.headings, in.headings)
		p.inputs = total(p.inputs, in.inputs)
		if in.flags&(block|blockIn) != 0 && in.flags&dead == 0 {
			p.flags |= blockIn
		}
	}
}

// isAroundChosen reports whether a node with these bounds is the chosen element, or one around it.
func (x *extractor) isAroundChosen(id, end uint32) bool { return id <= x.chosen && x.chosen < end }

// isDead reports whether an element and what is inside of it hold no text, or only what a tool has added to it.
func (x *extractor) isDead(n html.Node, in *info) bool {
	a := n.Atom()
	if n.Namespace() == html.SVG || x.hasFormulas && x.isFormulaTwin(n) {
		return true
	}
	if n.Namespace() != html.HTML || x.hasFormulas && isTeXScript(n) || x.tabs.isShown(n.ID()) {
		return false
	}
	if a < elementAtoms && deadElements[a] {
		return true
	}
	if a == html.AtomA && isPermalink(n, in.flags&inTitle != 0) || isEditLink(n.FindAttr(html.AtomClass).Raw()) || x.isNumbers(n, in) {
		return true
	}
	var h hint
	tab := false
	defer func() { in.hint = h }()
	for at := n.FirstAttr(); !at.IsZero(); at = at.Next() {
		switch at.Atom() {
		case html.AtomItemtype:
			x.forum = x.forum || bytes.HasSuffix(at.Raw(), []byte("schema.org/DiscussionForumPosting"))
		case html.AtomClass, html.AtomItemprop:
			h |= hintsOf(at.Raw())
		case html.AtomId:
			if bytes.Count(at.Raw(), []byte("-")) < 4 { // else it is made of a heading's words
				h |= hintsOf(at.Raw())
			}
		case html.AtomHidden:
			if string(at.Raw()) != "until-found" {
				in.flags |= hidden
			}
		case html.AtomAriaHidden:
			if string(at.Raw()) == "true" && !isNoteTitle(n) {
				in.flags |= hidden
			}
		case html.AtomStyle:
			if isHidden(at.Raw()) && !(x.hasFormulas && bytes.Contains(n.FindAttr(html.AtomClass).Raw(), []byte("mwe-math-mathml"))) {
				in.flags |= hidden
			}
		case html.AtomRole:
			switch role := at.Raw(); {
			case string(role) == "main":
				h |= hintStrong
			case isControl(role):
				in.flags |= hidden
			case string(role) == "tabpanel":
				tab = true
			}
		}
	}
	if tab { // the parts behind the other tabs are hidden until their tabs are chosen
		in.flags &^= hidden
	}
	return false
}

// isControl reports whether a role says that an element is no part of a text.
func isControl(role []byte) bool {
	switch string(role) {
	case "navigation", "complementary", "menu", "menubar", "dialog", "alertdialog", "search", "contentinfo", "tablist", "toolbar":
		return true
	}
	return false
}

// isHidden reports whether a style hides its element.
func isHidden(style []byte) bool {
	for rest := style; ; {
		i := bytes.IndexByte(rest, ':')
		if i < 0 {
			return false
		}
		name, after := bytes.TrimSpace(rest[:i]), bytes.TrimLeft(rest[i+1:], " ")
		switch {
		case bytes.EqualFold(name, []byte("display")) && len(after) >= 4 && bytes.EqualFold(after[:4], []byte("none")),
			bytes.EqualFold(name, []byte("visibility")) && len(after) >= 6 && bytes.EqualFold(after[:6], []byte("hidden")):
			return true
		}
		end := bytes.IndexByte(rest, ';')
		if end < 0 {
			return false
		}
		rest = rest[end+1:]
	}
}

// element notes what an element is.
func (x *extractor) element(n html.Node, in *info) {
	if isBlock(n) {
		x.info[in.within].runs++
		in.flags |= block
		in.within = n.ID()
	}
	if isTitle(n) {
		in.flags |= inTitle
	}
	if x.hasFormulas && isFormula(n) {
		in.flags |= formula
	}
	switch n.Atom() {
	case html.AtomA:
		in.flags |= inLink
		if raw := n.FindAttr(html.AtomHref).Raw(); len(raw) > 1 && raw[0] == '#' {
			x.hasFragments = true
		}
	case html.AtomBr:
		x.info[in.within].runs++
	case html.AtomP:
		in.paragraphs = 1
	case html.AtomLi:
		in.items = 1
	case html.AtomImg, html.AtomPicture:
		in.images = 1
	case html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6:
		in.headings = 1
		x.countAnchors(n)
	case html.AtomPre, html.AtomCode:
		in.flags |= inCode
	case html.AtomDiv:
		if isFragment(n) {
			in.flags |= inCode
		}
	case html.AtomSemantics:
		if n.Namespace() == html.MathML && hasTeX(n) {
			in.flags |= withTeX
		}
	case html.AtomTable:
		in.flags |= inTable
	case html.AtomTh:
		for t, level := n.Parent(), 0; level < 3; t, level = t.Parent(), level+1 {
			if t.Is(html.AtomTable) {
				x.info[t.ID()].flags |= tabular
				break
			}
		}
	}
}

// text counts the characters of a text: white space between words is one, and so wide ones of East Asia are two.
func (x *extractor) text(data []byte, in *info) {
	letters, commas := int32(0), int32(0)
	space := true
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			if !space {
				letters++
			}
			space = true
			i++
			continue
		case c == ',':
			commas++
			letters++
			i++
		case c < utf8.RuneSelf:
			letters++
			i++
		default:
			r, size := utf8.DecodeRune(data[i:])
			i += size
			letters++
			switch {
			case r == '，' || r == '、' || r == '。' || r == '،' || r == '﹐' || r == '︐':
				commas++
				letters++
			case r >= 0x2e80:
				letters++
			}
		}
		space = false
	}
	if space && letters > 0 {
		letters--
	}
	if letters == 0 {
		return
	}
	in.text, in.commas = letters, commas
	b := &x.info[in.within]
	b.own += letters
	if in.flags&inCode != 0 {
		x.code += letters
	}
	if in.flags&inLink != 0 {
		in.link = letters
		b.ownLink += letters
	}
}

// density returns which part of the text is in links.
func (in *info) density() float32 {
	if in.text == 0 {
		return 0
	}
	return float32(in.link) / float32(in.text)
}
