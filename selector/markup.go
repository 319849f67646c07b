package selector

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// markup serialises a node with its own tags (HTML standard, section 13.3).
func markup(top html.Node) string {
	var b []byte
	for n := top; ; {
		b = appendStart(b, n)
		next := html.Node{}
		if n.Kind() == html.DocumentNode || n.IsElement() && !void(n) {
			next = n.FirstChild()
		}
		for next.IsZero() {
			if n.IsElement() && !void(n) {
				b = append(append(append(b, "</"...), n.Name()...), '>')
			}
			if n == top {
				return string(b)
			}
			if next = n.NextSibling(); next.IsZero() {
				n = n.Parent()
			}
		}
		n = next
	}
}

// appendStart appends what comes before the children of a node.
func appendStart(b []byte, n html.Node) []byte {
	switch n.Kind() {
	case html.ElementNode:
		b = append(append(b, '<'), n.Name()...)
		for a := range n.Attrs() {
			b = append(append(append(b, ' '), a.Name()...), `="`...)
			b = appendEscaped(b, a.Bytes(), true)
			b = append(b, '"')
		}
		b = append(b, '>')
	case html.TextNode:
		if literal(n.Parent()) {
			return append(b, n.Data()...)
		}
		b = appendEscaped(b, n.Data(), false)
	case html.CommentNode:
		b = append(append(append(b, "<!--"...), n.Data()...), "-->"...)
	case html.InstructionNode:
		b = append(append(append(append(append(b, "<?"...), n.Name()...), ' '), n.Data()...), '>')
	case html.DoctypeNode:
		b = append(append(append(b, "<!DOCTYPE "...), n.Name()...), '>')
	}
	return b
}

// appendEscaped implements "escaping a string".
func appendEscaped(b, text []byte, inAttr bool) []byte {
	for len(text) > 0 {
		i := bytes.IndexAny(text, "&<>\"\u00a0")
		if i < 0 {
			return append(b, text...)
		}
		b = append(b, text[:i]...)
		size := 1
		switch c := text[i]; {
		case c == '&':
			b = append(b, "&amp;"...)
		case c == '<':
			b = append(b, "&lt;"...)
		case c == '>':
			b = append(b, "&gt;"...)
		case c == '"' && inAttr:
			b = append(b, "&quot;"...)
		case c == '"':
			b = append(b, '"')
		default:
			b = append(b, "&nbsp;"...)
			size = len("\u00a0")
		}
		text = text[i+size:]
	}
	return b
}

// void reports whether an element has neither content nor end tag.
func void(n html.Node) bool {
	if n.Namespace() != html.HTML {
		return false
	}
	switch n.Atom() {
	case html.AtomArea, html.AtomBase, html.AtomBasefont, html.AtomBgsound, html.AtomBr, html.AtomCol,
		html.AtomEmbed, html.AtomFrame, html.AtomHr, html.AtomImg, html.AtomInput, html.AtomKeygen,
		html.AtomLink, html.AtomMeta, html.AtomParam, html.AtomSource, html.AtomTrack, html.AtomWbr:
		return true
	}
	return false
}

// literal reports whether text is written as it is inside of an element. That of noscript is not,
// because pages are parsed with scripts switched off.
func literal(n html.Node) bool {
	if n.Namespace() != html.HTML {
		return false
	}
	switch n.Atom() {
	case html.AtomStyle, html.AtomScript, html.AtomXmp, html.AtomIframe, html.AtomNoembed,
		html.AtomNoframes, html.AtomPlaintext:
		return true
	}
	return false
}
