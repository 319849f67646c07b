package content

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// maxNesting is how deep elements are written as what they are. Inside of deeper ones there is text alone.
const maxNesting = 200

// writer writes a part of a tree as Markdown, or as plain text.
type writer struct {
	x    *extractor
	root uint32 // what is written
	opts *options
	md   bool // Markdown, else plain text
	most int  // bytes, after which there is text alone

	out    []byte
	prefix []byte // of each line: the indents of lists, the marks of quotes
	start  []byte // of the next line: prefix, or with a list's mark at its end
	lines  int    // that were written
	gap    bool   // an empty line is due before the next block
	tight  bool   // paragraphs have no empty lines between them
	level  int    // of nesting
	lists  listEnd

	inline    // the paragraph that is being written
	marks     []mark
	heading   int // the level of the heading that is being written, 0 for none
	outline   *outline
	cell      bool
	bold      bool   // in a title, which is all bold
	blockLink string // of a link that has blocks inside
	notes     *footnotes
}

// mark says where a block of the output came from.
type mark struct {
	out, outEnd int  // in the output
	from, to    int  // in the source, bytes
	section     int  // its number in the outline
	prose       bool // a paragraph, not a heading, code or a row of a table
	// Of a row of a table behind its first one: where the header is in the output.
	header, headerEnd int
}

// listEnd is the list that ended last: another one of the same kind right behind it needs other marks.
type listEnd struct {
	at      int // in the output
	ordered bool
	other   bool // it had the other marks
}

func (x *extractor) write(n html.Node, opts *options, md bool) *writer {
	w := &writer{x: x, root: n.ID(), opts: opts, md: md, most: x.most(), outline: newOutline(x)}
	if md {
		w.notes = x.footnotes(n)
	}
	w.para = w.room[:0]
	w.out = make([]byte, 0, int(x.info[n.ID()].text)*9/8+64)
	if n.Is(html.AtomTable) || n.Is(html.AtomPre) || n.Is(html.AtomUl) || n.Is(html.AtomOl) {
		w.node(n)
	} else {
		w.children(n)
	}
	w.flush()
	w.out = bytes.TrimRight(w.out, "\n")
	return w
}

// children writes what is inside of an element.
func (w *writer) children(n html.Node) {
	if w.level >= maxNesting {
		w.flatten(n)
		return
	}
	w.level++
	for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
		w.node(c)
	}
	w.level--
}

// flatten writes the text of an element alone.
func (w *writer) flatten(n html.Node) {
	end := w.x.info[n.ID()].end
	for id := n.ID() + 1; id < end; id++ {
		in := &w.x.info[id]
		if w.skips(in) || w.x.isMoved(id, w.root) {
			id = w.x.skip(id)
			continue
		}
		if name := w.x.tabName(id, w.root); !name.IsZero() {
			w.space = true
			w.flatten(name)
			w.space = true
		}
		c := w.x.doc.Node(id)
		switch {
		case c.Kind() == html.TextNode:
			w.textNode(c)
		case in.flags&block != 0 || c.Is(html.AtomBr):
			w.space = true
		}
	}
}

// full reports whether so much was written that the rest is text alone.
func (w *writer) full() bool { return len(w.out)+len(w.para) > w.most }

func (w *writer) skips(in *info) bool {
	return in.flags&(dead|dropped) != 0 || !w.md && in.flags&captioned != 0
}

func (w *writer) node(n html.Node) {
	in := &w.x.info[n.ID()]
	if w.skips(in) {
		return
	}
	switch n.Kind() {
	case html.TextNode:
		w.textNode(n)
		return
	case html.ElementNode:
	default:
		return
	}
	if w.x.isMoved(n.ID(), w.root) {
		return
	}
	if name := w.x.tabName(n.ID(), w.root); !name.IsZero() {
		w.title(name)
	}
	if in.flags&formula != 0 {
		if in.flags&block != 0 && !w.cell {
			w.flush()
			defer w.flush()
		}
		w.formula(n)
		return
	}
	if n.Namespace() != html.HTML {
		w.children(n)
		return
	}
	if in.flags&block == 0 {
		w.inlineElement(n, in)
		return
	}
	if w.cell {
		w.cellBlock(n)
		return
	}
	w.flush()
	switch a := n.Atom(); a {
	case html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6:
		w.headingElement(n, int(a-html.AtomH1)+1)
	case html.AtomPre, html.AtomListing, html.AtomXmp, html.AtomPlaintext:
		w.pre(n)
	case html.AtomUl, html.AtomOl, html.AtomMenu, html.AtomDir:
		w.list(n)
	case html.AtomLi:
		w.item(n, "- ")
	case html.AtomDd:
		w.description(n)
	case html.AtomP, html.AtomDiv:
		if label := w.notes.target(n); label != "" {
			w.contained(n, "[^"+label+"]: ", 4)
			break
		}
		switch {
		case isNoteTitle(n):
			w.title(n)
		case isFragment(n):
			w.pre(n)
		default:
			w.children(n)
		}
	case html.AtomBlockquote:
		w.quote(n)
	case html.AtomTable:
		w.table(n)
	case html.AtomHr:
		w.rule(n)
	case html.AtomDl:
		outer := w.outline.openList()
		w.children(n)
		w.flush()
		w.outline.closeList(outer)
	case html.AtomDt:
		if !w.notes.isLabel(n) {
			w.outline.term(n)
			w.title(n)
		}
	default:
		w.children(n)
	}
	w.flush()
}

func (w *writer) headingElement(n html.Node, level int) {
	if w.heading != 0 {
		w.children(n)
		return
	}
	tight := w.tight
	w.heading, w.tight = level, false
	w.outline.heading(n, level)
	w.children(n)
	w.flush()
	w.heading, w.tight = 0, tight
}

// title writes the name of a part that has no heading, as a paragraph in bold: a term, the title of a note, the name of a tab.
func (w *writer) title(n html.Node) {
	if w.cell && len(w.para) > 0 {
		w.breaks = 1
	}
	w.flush()
	switch {
	case !w.md || w.heading > 0 || w.x.info[n.ID()].flags&blockIn != 0 && !n.Is(html.AtomDt):
		w.flatten(n)
	case w.x.info[n.ID()].flags&blockIn != 0:
		w.children(n)
	default:
		w.open("**", false)
		w.bold = true
		w.children(n)
		w.endCode()
		w.bold = false
		w.close("")
	}
	if w.cell && len(w.para) > 0 {
		w.breaks = 1
	}
	w.flush()
}

// description writes what a definition list says of a term, as an item of a list.
func (w *writer) description(n html.Node) {
	if label := w.notes.target(n); label != "" {
		w.contained(n, "[^"+label+"]: ", 4)
		return
	}
	other := w.lists.other
	if !previous(n).Is(html.AtomDd) {
		other = w.lists.at == len(w.out) && !w.lists.ordered && !w.lists.other && len(w.out) > 0
	}
	marker, wrote := "- ", len(w.out)
	if other && w.md {
		marker = "* "
	}
	w.contained(n, marker, 2)
	if len(w.out) > wrote {
		w.lists = listEnd{len(w.out), false, other}
	}
}

func (w *writer) rule(n html.Node) {
	if !w.md || len(w.out) == 0 {
		return
	}
	w.begin()
	at := len(w.out)
	w.line([]byte("---"))
	w.end(at, n.Pos(), n.Pos(), false)
}

func (w *writer) quote(n html.Node) {
	if !w.md {
		w.children(n)
		return
	}
	w.begin()
	tight := w.tight
	w.tight = false
	w.nested(func() { w.children(n) }, []byte("> "), []byte("> "))
	w.tight = tight
	w.gap = true
}

// nested writes what has a mark before its first line, and an indent before the others.
func (w *writer) nested(write func(), first, rest []byte) {
	prefix, start, lines := len(w.prefix), len(w.start), w.lines
	if len(w.prefix) > 2*maxNesting || w.full() { // deeper ones look the same
		first, rest = nil, nil
	}
	w.start = append(w.start, first...)
	w.prefix = append(w.prefix, rest...)
	write()
	w.flush()
	w.prefix = w.prefix[:min(prefix, len(w.prefix))]
	if w.lines == lines {
		w.start = w.start[:min(start, len(w.start))]
	} else {
		w.start = append(w.start[:0], w.prefix...)
	}
}

// list writes a list of items.
func (w *writer) list(n html.Node) {
	ordered := n.Is(html.AtomOl)
	number, _ := strconv.Atoi(string(n.FindAttr(html.AtomStart).Raw()))
	if n.FindAttr(html.AtomStart).IsZero() || number < 0 || number > 1e8 {
		number = 1
	}
	other := w.lists.at == len(w.out) && w.lists.ordered == ordered && !w.lists.other && len(w.out) > 0
	outer, gap, at, lines := w.tight, w.gap, len(w.out), w.lines
	if !outer || w.level == 0 {
		w.begin()
	}
	tight := w.isTight(n)
	w.tight = tight
	var buf [16]byte
	wrote, width := len(w.out), 0
	w.level++
	for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
		if w.skips(&w.x.info[c.ID()]) || w.x.isMoved(c.ID(), w.root) {
			continue
		}
		if !c.Is(html.AtomLi) {
			w.nested(func() { w.node(c) }, indent[:width], indent[:width]) // in the item before it
			continue
		}
		if w.level > maxNesting {
			w.flatten(c)
			w.flush()
			continue
		}
		marker := append(buf[:0], '-', ' ')
		switch {
		case ordered:
			marker = strconv.AppendInt(buf[:0], int64(number), 10)
			if other {
				marker = append(marker, ')', ' ')
			} else {
				marker = append(marker, '.', ' ')
			}
			number++
		case other && w.md:
			marker[0] = '*'
		}
		width = len(marker)
		w.item(c, string(marker))
	}
	w.level--
	w.tight = outer
	w.gap = !outer
	if w.lines == lines { // nothing to write
		w.gap, w.out = gap, w.out[:at]
	}
	if len(w.out) > wrote {
		w.lists = listEnd{len(w.out), ordered, other}
	}
}

// isTight reports whether no item has more than a paragraph and lists.
func (w *writer) isTight(n html.Node) bool {
	for li := range n.Children() {
		count := 0
		for c := range li.Children() {
			in := &w.x.info[c.ID()]
			if w.skips(in) || in.flags&block == 0 || c.Is(html.AtomUl) || c.Is(html.AtomOl) {
				if in.flags&(blockIn|block) == blockIn && !w.skips(in) {
					return false
				}
				continue
			}
			if count++; count > 1 || !c.Is(html.AtomP) && in.flags&blockIn != 0 || c.Is(html.AtomPre) || c.Is(html.AtomTable) {
				return false
			}
		}
	}
	return true
}

func (w *writer) item(n html.Node, marker string) {
	if label := w.notes.target(n); label != "" {
		w.contained(n, "[^"+label+"]: ", 4)
		return
	}
	width := len(marker)
	if box := checkboxOf(n); !box.IsZero() {
		if box.FindAttr(html.AtomChecked).IsZero() {
			marker += "[ ] "
		} else {
			marker += "[x] "
		}
	}
	w.contained(n, marker, width)
}

// checkboxOf returns the checkbox that an item begins with, as those of lists of tasks do.
func checkboxOf(item html.Node) html.Node {
	n := item.FirstChild()
	for range 8 {
		switch {
		case n.Kind() == html.TextNode && len(bytes.TrimSpace(n.Data())) == 0, n.Kind() == html.CommentNode:
			n = n.NextSibling()
		case n.Is(html.AtomInput):
			if strings.EqualFold(n.FindAttr(html.AtomType).Value(), "checkbox") {
				return n
			}
			return html.Node{}
		case n.Is(html.AtomP) || n.Is(html.AtomLabel) || n.Is(html.AtomSpan) || n.Is(html.AtomDiv) || n.IsElement() && n.Atom() >= elementAtoms:
			n = n.FirstChild()
		default:
			return html.Node{}
		}
	}
	return html.Node{}
}

var indent = []byte("                ")

func (w *writer) contained(n html.Node, marker string, width int) {
	w.flush()
	gap, at := w.gap, len(w.out)
	if w.tight {
		w.gap = false
	} else {
		w.begin()
	}
	lines := w.lines
	w.nested(func() { w.children(n) }, []byte(marker), indent[:width])
	w.gap = !w.tight
	if w.lines == lines { // nothing to write
		w.gap, w.out = gap, w.out[:at]
	}
}

// begin writes the empty line that is due before a block.
func (w *writer) begin() {
	if !w.gap {
		return
	}
	w.gap = false
	if len(w.out) == 0 || len(w.start) > len(w.prefix) { // right behind a list's mark
		return
	}
	w.out = append(w.out, bytes.TrimRight(w.prefix, " ")...)
	w.out = append(w.out, '\n')
}

// line writes a line.
func (w *writer) line(text []byte) {
	if w.full() {
		w.start, w.prefix = w.start[:0], w.prefix[:0]
	}
	if len(text) == 0 {
		w.out = append(w.out, bytes.TrimRight(w.start, " ")...)
	} else {
		w.out = append(w.out, w.start...)
		w.out = append(w.out, text...)
	}
	w.out = append(w.out, '\n')
	w.start = append(w.start[:0], w.prefix...)
	w.lines++
}

// end notes where a block came from.
func (w *writer) end(at, from, to int, prose bool) {
	w.marks = append(w.marks, mark{out: at, outEnd: len(w.out), from: from, to: max(from, to), section: w.outline.at, prose: prose})
	w.gap = !w.tight || w.heading > 0
}

// textEnd returns where a text ends in the source.
func (x *extractor) textEnd(n html.Node) int {
	source := x.doc.Source()
	i := min(n.Pos(), len(source))
	for i < len(source) {
		j := bytes.IndexByte(source[i:], '<')
		if j < 0 {
			return len(source)
		}
		i += j
		if i+1 < len(source) && (isLetter(source[i+1]) || source[i+1] == '/' || source[i+1] == '!' || source[i+1] == '?') {
			return i
		}
		i++
	}
	return len(source)
}
