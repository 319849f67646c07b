package content

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// pre writes a block of code.
func (w *writer) pre(n html.Node) {
	var text []byte
	from, to := n.Pos(), n.Pos()
	end := w.x.info[n.ID()].end
	for id := n.ID() + 1; id < end; id++ {
		in := &w.x.info[id]
		if w.skips(in) {
			id = w.x.skip(id)
			continue
		}
		switch c := w.x.doc.Node(id); {
		case c.Kind() == html.TextNode:
			text = append(text, c.Data()...)
			to = max(to, w.x.textEnd(c))
		case c.Is(html.AtomBr):
			text = append(text, '\n')
		case in.flags&block != 0 && len(text) > 0 && text[len(text)-1] != '\n':
			text = append(text, '\n')
		}
	}
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
	w.end(at, from, to, 0)
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

// codeLanguage returns the language that the classes of a block of code name, as highlighters have it: language-go, lang-go,
// highlight-go, highlight-source-go, brush: go; on the element, on code inside of it, or on one of the two around it.
func codeLanguage(n html.Node) string {
	for _, e := range [...]html.Node{n, n.FirstChild(), n.Parent(), n.Parent().Parent()} {
		if !e.IsElement() {
			continue
		}
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
