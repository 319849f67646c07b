package content

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// pre writes a block of code.
func (w *writer) pre(n html.Node) {
	text, to := w.codeOf(n)
	w.fenced(n, text, n.Pos(), max(n.Pos(), to))
}

// codeTable writes a table that has the numbers of lines in the cells before those of the code as one block of code.
// Rows without such a cell, such as one with the name of a file, are written before it.
func (w *writer) codeTable(n html.Node) {
	code := html.Node{} // the row that is the first one
	for id := n.ID() + 1; id < w.x.info[n.ID()].end; id++ {
		c := w.x.doc.Node(id)
		switch {
		case w.skips(&w.x.info[id]):
			id = w.x.skip(id)
		case c.Is(html.AtomCaption), c.Is(html.AtomTr) && !w.x.hasNumbers(c):
			w.node(c)
			id = w.x.skip(id)
		case c.Is(html.AtomTr):
			if code.IsZero() {
				code = c
			}
			id = w.x.skip(id)
		}
	}
	w.flush()
	text, to := w.codeOf(n)
	cell := code.LastChild()
	for !cell.IsZero() && !cell.IsElement() {
		cell = cell.PrevSibling()
	}
	w.fenced(cell, text, code.Pos(), max(code.Pos(), to))
}

// codeOf returns the text of an element as it is, and where it ends in the source. Of a table of code it returns the
// rows with numbers of lines.
func (w *writer) codeOf(n html.Node) (text []byte, to int) {
	end := w.x.info[n.ID()].end
	layout := false // white space between elements is not of the code
	row := -1       // where the text of the row begins
	for id := n.ID() + 1; id < end; id++ {
		in, c := &w.x.info[id], w.x.doc.Node(id)
		if w.skips(in) {
			id = w.x.skip(id)
			continue
		}
		switch {
		case c.Kind() == html.TextNode:
			switch p := c.Parent(); {
			case p.Is(html.AtomTable) || p.Is(html.AtomTbody) || p.Is(html.AtomTr), layout && in.flags&inCode == 0 && isLineBreak(c.Data()):
				continue
			}
			text = append(text, c.Data()...)
			to = max(to, w.x.textEnd(c))
		case c.Is(html.AtomBr):
			text = append(text, '\n')
		case n.Is(html.AtomTable) && (c.Parent() == n || c.Parent().Parent() == n) && (c.Is(html.AtomCaption) || c.Is(html.AtomTr) && !w.x.hasNumbers(c)):
			id = w.x.skip(id)
		case c.Is(html.AtomTr) && w.x.hasNumbers(c):
			if row == len(text) || row >= 0 && text[len(text)-1] != '\n' { // an empty line is one
				text = append(text, '\n')
			}
			row = len(text)
		case in.flags&block != 0:
			layout = c.Is(html.AtomTd) && in.flags&blockIn != 0 || layout && !c.Is(html.AtomTd)
			if len(text) > 0 && text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
		}
	}
	return text, to
}

// isLineBreak reports whether a text is white space with a line break, as it stands between elements.
func isLineBreak(text []byte) bool {
	return bytes.IndexByte(text, '\n') >= 0 && len(bytes.TrimSpace(text)) == 0
}

// fenced writes the text of an element as a block of code.
func (w *writer) fenced(n html.Node, text []byte, from, to int) {
	text = bytes.TrimRight(text, " \t\r\n")
	for len(text) > 0 && text[0] == '\n' {
		text = text[1:]
	}
	if len(text) == 0 {
		return
	}
	w.begin()
	at := len(w.out)
	fence := max(3, longestRun(text, '`')+1)
	if w.md {
		w.line(append(bytes.Repeat([]byte{'`'}, fence), codeLanguage(n)...))
	}
	for line := range bytes.Lines(text) {
		w.line(bytes.TrimRight(line, "\r\n"))
	}
	if w.md {
		w.line(bytes.Repeat([]byte{'`'}, fence))
	}
	w.end(at, from, to, false)
}

func longestRun(text []byte, c byte) (longest int) {
	run := 0
	for _, b := range text {
		if b != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// codeLanguage returns the language that a block of code has by its attributes, as highlighters write them: the classes language-go, lang-go,
// highlight-go, highlight-source-go, brush: go, or data-lang; on the element, on code inside of it, or on one of the two around it or the
// table that it is in.
func codeLanguage(n html.Node) string {
	if name := languageOf(n); name != "" {
		return name
	}
	inside := n.ID()
	for c := range n.Descendants() {
		if c.ID() > inside+maxBefore {
			break
		}
		if c.Is(html.AtomCode) {
			if name := languageOf(c); name != "" {
				return name
			}
			break
		}
	}
	for up, e := 0, n.Parent(); up < 2 && e.IsElement(); e = e.Parent() {
		switch e.Atom() {
		case html.AtomTd, html.AtomTr, html.AtomTbody:
		default:
			up++
		}
		if name := languageOf(e); name != "" {
			return name
		}
	}
	return ""
}

// maxBefore is how many nodes of a block of code may come before the element that names its language: those of the numbers of lines included.
const maxBefore = 16

// languageOf returns the language that the attributes of an element name.
func languageOf(e html.Node) string {
	class := e.FindAttr(html.AtomClass).Raw()
	brush := false
	for f := range bytes.FieldsSeq(class[:min(len(class), maxName)]) {
		name := f
		if !brush {
			name = languageIn(f)
		}
		if name = bytes.TrimRight(name, ";"); isLanguage(name) {
			return string(name)
		}
		brush = string(f) == "brush:"
	}
	for _, attr := range [...]string{"data-lang", "data-language"} {
		if name := e.Attr(attr); isLanguage([]byte(name)) {
			return name
		}
	}
	return ""
}

// languageIn returns what stands behind the prefix of a highlighter in a class.
func languageIn(class []byte) []byte {
	for _, p := range [...]string{"language-", "lang-", "highlight-source-", "highlight-", "brush:"} {
		if rest, ok := bytes.CutPrefix(class, []byte(p)); ok {
			return rest
		}
	}
	return nil
}

func isLanguage(name []byte) bool {
	if len(name) == 0 || len(name) > 20 || string(name) == "default" || string(name) == "none" {
		return false
	}
	for _, c := range name {
		if !isLetter(c) && (c < '0' || c > '9') && c != '+' && c != '#' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// codeSpan adds to a span of code.
func (w *writer) codeSpan(data []byte, n html.Node) {
	for len(data) > 0 {
		if i := wordAt(data); i > 0 {
			if len(w.codeText) > 0 && w.codeEnd == notYet {
				w.codeText = append(w.codeText, ' ')
			} else {
				w.space = true
			}
			data = data[i:]
			continue
		}
		i := wordEnd(data)
		if w.codeEnd != notYet { // a new span, or the last one goes on
			w.codeOn = w.codeEnd > 0 && w.codeEnd == len(w.para) && !w.space && w.breaks == 0 && !w.anyDue()
			w.codeText = w.codeText[:0]
			w.codeEnd = notYet
		}
		w.codeText = append(w.codeText, data[:i]...)
		data = data[i:]
	}
	if len(w.para) == 0 || w.from < 0 {
		w.codePos = n.Pos()
	}
	w.codeTo = w.x.textEnd(n)
}

// endCode writes the span of code.
func (w *writer) endCode() {
	if w.codeEnd != notYet {
		return
	}
	w.codeEnd = 0
	text := w.codeText
	after := false
	for len(text) > 0 && text[len(text)-1] == ' ' {
		text, after = text[:len(text)-1], true
	}
	w.codeText = text
	if len(text) == 0 {
		return
	}
	longest := longestRun(text, '`')
	if w.codeOn && (longest > 0 || w.fence > 1) { // the marks would need to be longer: the parts stay apart
		w.codeOn, w.space = false, true
	}
	if w.codeOn { // nothing but the marks is between them: they are one
		w.para = w.para[:len(w.para)-w.fence]
	} else {
		w.word('`')
		w.codeFrom, w.fence = len(w.para), longest+1
		w.para = append(w.para, bytes.Repeat([]byte{'`'}, w.fence)...)
	}
	if w.from < 0 {
		w.from, w.to = w.codePos, w.codeTo
	}
	w.to = max(w.to, w.codeTo)
	pad := text[0] == '`' || text[len(text)-1] == '`' // spaces at both ends are not of the code
	if pad {
		w.para = append(w.para, ' ')
	}
	for _, c := range text {
		if c == '|' && w.cell {
			w.para = append(w.para, '\\')
		}
		w.para = append(w.para, c)
	}
	if pad {
		w.para = append(w.para, ' ')
	}
	w.para = append(w.para, bytes.Repeat([]byte{'`'}, w.fence)...)
	w.codeEnd = len(w.para)
	w.space = after
}

// isFragment reports whether an element is a block of code of Doxygen, which has an element for each line.
func isFragment(n html.Node) bool {
	return n.Is(html.AtomDiv) && string(n.FindAttr(html.AtomClass).Raw()) == "fragment"
}
