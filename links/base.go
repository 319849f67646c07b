package links

import (
	"encoding/binary"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Base returns the document base URL of a page, which relative links start from: the href of the
// first base element that has one, resolved against docURL, the URL of the page. Without such an
// element, and where its href is not a URL or has the scheme data or javascript, it is docURL as given
// (HTML standard, section 2.4.3).
func Base(body []byte, docURL string) string {
	if !mayHave(body, "base") {
		return docURL
	}
	base, _ := documentBase(body, parseDocURL(docURL), docURL)
	return base
}

// BaseFrom is [Base] for the source of a document. In XML the base elements are those of XHTML.
func BaseFrom(doc *html.Document, docURL string) string {
	switch {
	case doc.IsXML():
		if href, ok := baseOfXML(doc); ok {
			base, _ := resolveBase(parseDocURL(docURL), docURL, href)
			return base
		}
		return docURL
	case doc.HasLinkTags() && !doc.HasBaseTag():
		return docURL
	}
	return Base(doc.Source(), docURL)
}

// documentBase is Base for a URL that is parsed already.
func documentBase(body []byte, doc *urlx.Base, docURL string) (string, *urlx.Base) {
	if !mayHave(body, "base") {
		return docURL, doc
	}
	tags := tagReader{Tags: html.NewTags(body)}
	for tags.nextStart() {
		if href, ok := tags.baseHref(); ok {
			return resolveBase(doc, docURL, href)
		}
	}
	return docURL, doc
}

// parseDocURL takes about:blank if the URL is not absolute: it resolves absolute links and refuses
// relative ones.
func parseDocURL(docURL string) *urlx.Base {
	doc, err := urlx.ParseBase(docURL)
	if err != nil {
		doc, _ = urlx.ParseBase("about:blank")
	}
	return doc
}

func resolveBase(doc *urlx.Base, docURL, href string) (string, *urlx.Base) {
	url, err := doc.Resolve(nil, href)
	if err != nil {
		return docURL, doc
	}
	switch urlx.Scheme(string(url)) {
	case "data", "javascript":
		return docURL, doc
	}
	base, err := urlx.ParseBase(string(url))
	if err != nil {
		return docURL, doc
	}
	return string(url), base
}

// baseHref returns the href of the start tag that was just read if it is a base element with one.
func (r *tagReader) baseHref() (string, bool) {
	// The content of a template is a document of its own, and SVG has no base element.
	if r.tag != html.AtomBase || r.templates > 0 || r.Foreign() {
		return "", false
	}
	href, ok := r.Attr(html.AtomHref)
	return string(href), ok
}

// mayHave reports whether a page has the text of a start tag with this name, in lower case: most pages
// lack the rare ones and need not be read for them. It looks at 32 bytes at a time for a "<" with the
// first letter behind it.
func mayHave(body []byte, name string) bool {
	const (
		ones  = 0x0101010101010101
		step  = 32
		lead  = '<' * ones
		cases = 0x20 * ones
	)
	letter := uint64(name[0]) * ones
	i := 0
	for ; i+step < len(body); i += step {
		b := body[i : i+step+1]
		found := uint64(0)
		for k := 0; k < step; k += 8 {
			// The byte of a match is zero in z.
			z := (binary.LittleEndian.Uint64(b[k:k+8]) ^ lead) | ((binary.LittleEndian.Uint64(b[k+1:k+9]) | cases) ^ letter)
			found |= (z - ones) &^ z
		}
		if found&(0x80*ones) != 0 && tagIn(body[i:min(i+step+len(name), len(body))], name) {
			return true
		}
	}
	return tagIn(body[i:], name)
}

func tagIn(body []byte, name string) bool {
	for i := 0; i+1+len(name) <= len(body); i++ {
		if body[i] == '<' && equalFold(body[i+1:i+1+len(name)], name) {
			return true
		}
	}
	return false
}

const asciiSpace = "\t\n\f\r "

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}

// equalFold compares with a text in lower case, ignoring the case of ASCII letters alone.
func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}
