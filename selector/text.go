package selector

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// textWriter collects text with white space collapsed.
type textWriter struct {
	b     strings.Builder
	space bool // a space is due before the next word
}

func (w *textWriter) String() string { return w.b.String() }

// separate ends the current word.
func (w *textWriter) separate() { w.space = true }

func (w *textWriter) write(s string) {
	for len(s) > 0 {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end != 0 {
			if end < 0 {
				end = len(s)
			}
			if w.space && w.b.Len() > 0 {
				w.b.WriteByte(' ')
			}
			w.space = false
			w.b.WriteString(s[:end])
			s = s[end:]
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		w.space = true
	}
}

func (w *textWriter) writeNode(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.write(n.Data)
		return
	case html.ElementNode, html.DocumentNode:
	default:
		return
	}
	if separates(n.DataAtom) {
		w.separate()
		defer w.separate()
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && silent(c.DataAtom) {
			continue
		}
		w.writeNode(c)
	}
}

// silent reports whether an element holds no text for readers.
func silent(tag atom.Atom) bool {
	return tag == atom.Script || tag == atom.Style || tag == atom.Template
}

// separates reports whether browsers show an element on a line or in a cell of its own: the
// elements with display block, list-item or table parts in section 15.3 of the HTML standard, line
// breaks, and the entries of choices.
func separates(tag atom.Atom) bool {
	switch tag {
	case atom.Html, atom.Head, atom.Title, atom.Body,
		atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dialog, atom.Dd,
		atom.Details, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption,
		atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6,
		atom.Header, atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu,
		atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Pre,
		atom.Search, atom.Section, atom.Summary, atom.Ul, atom.Xmp,
		atom.Table, atom.Caption, atom.Colgroup, atom.Col, atom.Thead, atom.Tbody, atom.Tfoot,
		atom.Tr, atom.Td, atom.Th,
		atom.Br, atom.Textarea, atom.Select, atom.Button, atom.Iframe, atom.Noscript:
		return true
	}
	return false
}
