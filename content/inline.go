package content

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
)

// inline is a paragraph that is being written.
type inline struct {
	para     []byte
	room     [256]byte
	space    bool // one is due before the next word
	breaks   int  // line breaks that are due
	opens    []openMark
	closed   openMark // the emphasis that was closed last
	closedAt int      // where its mark ends, 0 for none
	linkAt   int      // where the URL of the last link is
	linkTo   int      // where the URL ends
	linkEnd  int      // where the link and the punctuation behind it end, 0 for none
	code     int      // elements of code that are open
	codeOn   bool     // the span that is read goes on with the last one
	fence    int      // how long the marks of the last span are
	codeFrom int      // where the last span of code is, and the text of the one that is read
	codeEnd  int
	codeText []byte
	codePos  int // where it begins in the source
	codeTo   int
	from, to int // in the source; from is -1 before the first word
}

// openMark is an emphasis or a link that is open.
type openMark struct {
	mark string
	link bool
	tag  bool // the mark is that of an element of HTML
	at   int  // in para, -1 before it is written, -2 if it will not be
}

const (
	notYet = -1
	never  = -2
)

// flush ends the paragraph.
func (w *writer) flush() {
	if w.cell {
		return
	}
	p := w.para
	w.space, w.breaks, w.closedAt, w.codeEnd, w.linkEnd = false, 0, 0, 0, 0
	for i := range w.opens { // go on in the next paragraph
		w.opens[i].at = notYet
	}
	if len(p) == 0 {
		return
	}
	w.begin()
	at := len(w.out)
	if w.blockLink != "" {
		p = append(append(append([]byte{'['}, p...), "]("...), w.blockLink...)
		p = append(p, ')')
	}
	switch {
	case w.heading > 0 && w.md:
		p = bytes.ReplaceAll(p, []byte{'\n'}, []byte{' '})
		if p[len(p)-1] == '#' {
			p = append(p[:len(p)-1], '\\', '#')
		}
		w.line(append(append([]byte("######")[:w.heading], ' '), p...))
	default:
		for len(p) > 0 {
			line, rest, _ := bytes.Cut(p, []byte{'\n'})
			w.lineOfText(line)
			p = rest
		}
	}
	w.end(at, w.from, w.to, w.heading == 0)
	w.para = w.para[:0]
}

// lineOfText writes a line that must not begin what it is not: a list, a heading …
func (w *writer) lineOfText(line []byte) {
	if i := escapeAt(line); w.md && i >= 0 {
		line = append(append(append([]byte(nil), line[:i]...), '\\'), line[i:]...)
	}
	w.line(line)
}

// word makes ready for a word that begins with r as it is written: what is due before it comes.
func (w *writer) word(r rune) {
	if w.closedAt > 0 && w.closedAt == len(w.para) && !w.space && w.breaks == 0 {
		w.checkClosed(r)
	}
	if len(w.para) == 0 {
		w.space, w.breaks = false, 0
		w.from = -1
	}
	if !w.space && w.breaks == 0 {
		w.guardLink()
	}
	switch {
	case w.breaks > 0 && w.cell:
		if w.md {
			w.para = append(w.para, "<br>"...)
		} else {
			w.para = append(w.para, ' ')
		}
	case w.breaks > 1 && w.heading == 0 && w.blockLink == "" && !w.anyOpen():
		w.flush()
		w.from = -1
	case w.breaks > 0 && w.heading == 0:
		if w.md {
			w.para = append(w.para, '\\')
		}
		w.para = append(w.para, '\n')
	case w.space || w.breaks > 0:
		w.para = append(w.para, ' ')
	}
	w.space, w.breaks = false, 0
	for i := range w.opens {
		if w.opens[i].at == notYet {
			w.writeOpen(i, r)
		}
	}
}

// guardLink puts angle brackets around the URL of the link that ends here, before a word follows it without a space:
// readers that make links of bare URLs may take what follows for a part of it, other than punctuation at the end of a
// word.
func (w *writer) guardLink() {
	if w.linkEnd == 0 || w.linkEnd != len(w.para) {
		return
	}
	w.linkEnd = 0
	w.para = slices.Insert(w.para, w.linkTo, '>')
	w.para = slices.Insert(w.para, w.linkAt, '<')
}

func (w *writer) anyOpen() bool {
	for i := range w.opens {
		if w.opens[i].at >= 0 {
			return true
		}
	}
	return false
}

// anyDue reports whether a mark comes before the next word.
func (w *writer) anyDue() bool {
	for i := range w.opens {
		if w.opens[i].at == notYet {
			return true
		}
	}
	return false
}

func isPunct(r rune) bool {
	return r < utf8.RuneSelf && r > ' ' && !isLetter(byte(r)) && (r < '0' || r > '9') || r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// writeOpen writes the mark of an emphasis or link before r. CommonMark (section 6.2) takes a mark for one only where it is
// beside a word in the right way.
func (w *writer) writeOpen(i int, r rune) {
	o := &w.opens[i]
	if !w.md {
		o.at = never
		return
	}
	if o.link {
		if n := len(w.para); n > 0 && w.para[n-1] == '!' {
			w.para = append(w.para[:n-1], `\!`...)
		}
		o.at = len(w.para)
		w.para = append(w.para, '[')
		return
	}
	if o.tag {
		o.at = len(w.para)
		w.para = append(w.para, o.mark...)
		return
	}
	for j := range i { // no emphasis in the same emphasis
		if w.opens[j].mark == o.mark && w.opens[j].at >= 0 {
			o.at = never
			return
		}
	}
	if i+1 < len(w.opens) {
		r = '*' // another mark follows
		switch {
		case w.opens[i+1].link:
			r = '['
		case w.opens[i+1].tag:
			r = '<'
		}
	}
	if w.closedAt > 0 && w.closedAt == len(w.para) && w.closed.mark == o.mark { // go on with the one that was just closed
		w.para = w.para[:len(w.para)-len(o.mark)]
		o.at = w.closed.at
		w.closedAt = 0
		return
	}
	before, _ := utf8.DecodeLastRune(w.para)
	beside := len(w.para) == 0 || before == '\n' || before == ' ' || isPunct(before)
	inOwn := i > 0 && w.opens[i-1].at >= 0 && !w.opens[i-1].link && w.opens[i-1].at+len(w.opens[i-1].mark) == len(w.para)
	if before == rune(o.mark[0]) && !inOwn && len(w.para) > 0 || isPunct(r) && !beside {
		o.at = never
		return
	}
	o.at = len(w.para)
	w.para = append(w.para, o.mark...)
}

// checkClosed takes back the emphasis before a word that would keep its end from being one.
func (w *writer) checkClosed(r rune) {
	n := len(w.closed.mark)
	end := w.closedAt - n
	last, _ := utf8.DecodeLastRune(w.para[:end])
	w.closedAt = 0
	if isPunct(last) && !isPunct(r) || r == rune(w.closed.mark[0]) {
		copy(w.para[w.closed.at:], w.para[w.closed.at+n:end])
		w.para = w.para[:end-n]
		w.codeEnd = 0
	}
}

func (w *writer) open(mark string, link bool) {
	w.opens = append(w.opens, openMark{mark: mark, link: link, at: notYet})
}

// close ends what was opened last; a link with the text that ends it.
func (w *writer) close(tail string) {
	o := w.opens[len(w.opens)-1]
	w.opens = w.opens[:len(w.opens)-1]
	if o.at < 0 || o.at >= len(w.para) {
		return
	}
	if o.link {
		w.para = append(w.para, "]("...)
		w.linkAt = len(w.para)
		w.para = append(w.para, tail...)
		w.linkTo = len(w.para)
		w.para = append(w.para, ')')
		w.linkEnd = len(w.para)
		return
	}
	w.guardLink()
	if o.tag {
		w.para = append(append(w.para, "</"...), o.mark[1:]...)
		return
	}
	last := w.para[len(w.para)-1]
	if last == o.mark[0] && w.closedAt == len(w.para) && w.closed.mark[0] == o.mark[0] && len(o.mark) == len(w.closed.mark) {
		return
	}
	w.para = append(w.para, o.mark...)
	w.closed, w.closedAt = o, len(w.para)
}

func (w *writer) inlineElement(n html.Node, in *info) {
	a := n.Atom()
	switch {
	case a == html.AtomBr:
		w.breaks++
		w.endCode()
		return
	case a == html.AtomA:
		w.link(n, in)
		return
	case a == html.AtomImg:
		w.image(n)
		return
	case a == html.AtomWbr:
		return
	case in.flags&blockIn != 0 || !w.md:
		w.children(n)
		return
	}
	switch a {
	case html.AtomEm, html.AtomI, html.AtomVar, html.AtomCite, html.AtomDfn:
		w.emphasis(n, "*")
	case html.AtomStrong, html.AtomB:
		w.emphasis(n, "**")
	case html.AtomDel, html.AtomS, html.AtomStrike:
		w.emphasis(n, "~~")
	case html.AtomSub, html.AtomSup:
		if w.code > 0 || w.x.info[n.ID()].text == 0 || w.notes.isIn(n) {
			w.children(n)
			return
		}
		w.opens = append(w.opens, openMark{mark: "<" + n.Name() + ">", tag: true, at: notYet})
		w.children(n)
		w.endCode()
		w.close("")
	case html.AtomCode, html.AtomKbd, html.AtomSamp, html.AtomTt:
		w.code++
		w.children(n)
		if w.code == 1 {
			w.endCode()
		}
		w.code--
	default:
		w.children(n)
	}
}

func (w *writer) emphasis(n html.Node, mark string) {
	if w.code > 0 || w.bold && mark != "~~" || w.heading > 0 && mark == "**" {
		w.children(n)
		return
	}
	w.open(mark, false)
	w.children(n)
	w.close("")
}

func (w *writer) link(n html.Node, in *info) {
	if label := w.notes.reference(n); label != "" {
		w.word('[')
		if w.from < 0 {
			w.from, w.to = n.Pos(), n.Pos()
		}
		w.para = append(w.para, "[^"...)
		w.para = append(w.para, label...)
		w.para = append(w.para, ']')
		return
	}
	if w.notes.isBack(n) {
		return
	}
	href := n.FindAttr(html.AtomHref)
	if href.IsZero() || !w.md || !w.opts.links || w.blockLink != "" || w.full() {
		w.children(n)
		return
	}
	url := w.x.url(href.Value())
	w.endCode()
	switch {
	case url == "":
		w.children(n)
	case in.flags&blockIn != 0 && !w.cell:
		w.flush()
		w.blockLink = url
		w.children(n)
		w.flush()
		w.blockLink = ""
	default:
		w.open("", true)
		w.children(n)
		w.endCode()
		w.close(url)
	}
}

func (w *writer) image(n html.Node) {
	if !w.md || !w.opts.images || w.full() {
		return
	}
	src := n.FindAttr(html.AtomSrc).Value()
	if lazy := links.Lazy(n); lazy != "" {
		src = lazy
	}
	if strings.TrimSpace(src) == "" {
		return
	}
	url := w.x.url(src)
	if url == "" || len(url) > 5 && url[:5] == "data:" {
		return
	}
	w.endCode()
	w.word('!')
	if w.from < 0 {
		w.from = n.Pos()
	}
	w.to = max(w.to, n.Pos())
	w.para = append(w.para, "!["...)
	space := false
	for _, f := range bytes.Fields(n.FindAttr(html.AtomAlt).Bytes()) {
		if space {
			w.para = append(w.para, ' ')
		}
		space = true
		w.escape(f, false)
	}
	w.para = append(w.para, "]("...)
	w.para = append(w.para, url...)
	w.para = append(w.para, ')')
}

// textNode writes the words of a text.
func (w *writer) textNode(n html.Node) {
	data := n.Data()
	if w.code > 0 && w.md {
		w.codeSpan(data, n)
		return
	}
	wrote := false
	for len(data) > 0 {
		i := wordAt(data)
		if i > 0 {
			w.space = true
			data = data[i:]
			continue
		}
		i = wordEnd(data)
		r, _ := utf8.DecodeRune(data)
		ends := w.linkEnd > 0 && w.linkEnd == len(w.para) && !w.space && w.breaks == 0 && !w.anyDue() && len(bytes.Trim(data[:i], ".,:!?")) == 0
		if ends {
			w.linkEnd = notYet
		}
		w.word(w.firstOf(r))
		if w.from < 0 {
			w.from, w.to = n.Pos(), n.Pos()
		}
		wrote = true
		if w.md {
			w.escape(data[:i], true)
		} else {
			w.para = append(w.para, data[:i]...)
		}
		if ends {
			w.linkEnd = len(w.para)
		}
		data = data[i:]
	}
	if wrote {
		w.to = max(w.to, w.x.textEnd(n))
	}
}

// firstOf returns the character that a word begins with as it is written.
func (w *writer) firstOf(r rune) rune {
	if r < utf8.RuneSelf && w.md && special[byte(r)] {
		return '\\'
	}
	return r
}

// wordAt returns the length of the white space that text starts with, 0 for a word.
func wordAt(text []byte) int {
	c := text[0]
	if c < utf8.RuneSelf {
		if c == ' ' || '\t' <= c && c <= '\r' || c == 0 {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRune(text); unicode.IsSpace(r) {
		return size
	}
	return 0
}

func wordEnd(text []byte) int {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c < utf8.RuneSelf:
			if c == ' ' || '\t' <= c && c <= '\r' || c == 0 {
				return i
			}
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			if unicode.IsSpace(r) {
				return i
			}
			i += size
		}
	}
	return len(text)
}
