package content

import (
	"bytes"
	"unicode"

	"github.com/tegenaria/tegenaria/html"
)

// maxPermalink is how many nodes and how many bytes of text a permalink has at most.
const maxPermalink = 32

// permalinkSigns are what permalinks show in headings.
const permalinkSigns = "¶#§◆∞🔗⚓"

// permalinkWords are parts of the classes of links without words that lead to their own place.
var permalinkWords = [...]string{"anchor", "permalink", "headerlink", "hash-link", "heading-link", "id_link"}

// worded are classes of permalinks that may have words, such as those for screen readers: Sphinx and MkDocs,
// Docusaurus, Starlight, AnchorJS.
var worded = [...]string{"headerlink", "hash-link", "sl-anchor-link", "anchorjs-link"}

// isTitle reports whether an element is one that tools give permalinks to: a heading, a term, a caption.
func isTitle(n html.Node) bool {
	switch n.Atom() {
	case html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomDt, html.AtomCaption, html.AtomFigcaption:
		return true
	}
	return false
}

// isPermalink reports whether a link was put beside a title by a tool to lead to it: it shows a sign such as ¶ or
// nothing, or its class says so.
func isPermalink(a html.Node, inTitle bool) bool {
	if bytes.IndexByte(a.FindAttr(html.AtomHref).Raw(), '#') < 0 {
		return false
	}
	class := a.FindAttr(html.AtomClass).Raw()
	class = class[:min(len(class), maxName)]
	for name := range bytes.FieldsSeq(class) {
		for _, w := range worded {
			if string(name) == w {
				return true
			}
		}
	}
	if a.EndID()-a.ID() > maxPermalink {
		return false
	}
	signs, others := 0, 0
	for n := range a.Descendants() {
		if n.Kind() != html.TextNode {
			continue
		}
		for _, r := range string(n.Data()[:min(len(n.Data()), maxPermalink)]) {
			switch {
			case unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r): // zero width
			case unicode.IsLetter(r) || unicode.IsDigit(r):
				return false
			case inTitle && bytes.ContainsRune([]byte(permalinkSigns), r):
				signs++
			default:
				others++
			}
		}
	}
	if signs > 0 && others == 0 {
		return true
	}
	for _, w := range permalinkWords {
		if bytes.Contains(class, []byte(w)) {
			return true
		}
	}
	return false
}

// isEditLink reports whether a class is that of MediaWiki's links to the editor of a section: [edit] in the language of the reader.
func isEditLink(class []byte) bool { return bytes.Contains(class, []byte("mw-editsection")) }
