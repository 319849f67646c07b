package links

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"golang.org/x/net/html/atom"
)

// page reads the links of one page.
type page struct {
	scanner
	base *urlx.Base
	buf  []byte // the URL of the last link, with fragment
	rel  []byte // its rel attribute
	ref  Ref    // the last link; URL and Fragment lie in buf
}

func newPage(body []byte, docURL string) *page {
	_, base := documentBase(body, docURL)
	return &page{scanner: newScanner(body), base: base}
}

// link reports whether the start tag that was just read is a link, and sets ref and rel.
func (p *page) link() bool {
	if p.tag != atom.A && p.tag != atom.Area {
		return false
	}
	href, rel := p.attributes("href", "rel")
	if len(bytes.Trim(href, asciiSpace)) == 0 {
		return false
	}
	if !p.resolve(href) {
		return false
	}
	p.rel = rel
	p.ref.Href = href
	p.ref.URL, p.ref.Fragment, _ = bytes.Cut(p.buf, []byte("#"))
	p.ref.NoFollow = false
	for token := range bytes.FieldsFuncSeq(rel, isASCIISpace) {
		p.ref.NoFollow = p.ref.NoFollow || bytes.EqualFold(token, []byte("nofollow"))
	}
	return true
}

// resolve sets buf to the absolute form of href and reports whether that is http or https.
func (p *page) resolve(href []byte) bool {
	// The tokenizer's buffer stays as it is until the next token. Only an error of Resolve would
	// hold on to the string, and it is dropped here, so the string need not be a copy.
	url, err := p.base.Resolve(p.buf[:0], unsafe.String(unsafe.SliceData(href), len(href)))
	if err != nil {
		return false
	}
	p.buf = url
	return bytes.HasPrefix(url, []byte("http://")) || bytes.HasPrefix(url, []byte("https://"))
}

// newLink makes a Link, still without text, of the last link.
func (p *page) newLink() Link {
	l := Link{NoFollow: p.ref.NoFollow}
	l.URL, l.Fragment = urlx.CutFragment(string(p.buf))
	if len(p.rel) > 0 {
		l.Rel = strings.FieldsFunc(strings.ToLower(string(p.rel)), isASCIISpace)
	}
	return l
}

// Base returns the document base URL of a page, which relative links start from: the href of the
// first base element that has one, resolved against docURL, the URL of the page. Without such an
// element, and where its href is no URL or has the scheme data or javascript, it is docURL as given
// (HTML standard, section 2.4.3).
func Base(body []byte, docURL string) string {
	if !mayHaveBase(body) {
		return docURL
	}
	base, _ := documentBase(body, docURL)
	return base
}

func documentBase(body []byte, docURL string) (string, *urlx.Base) {
	doc := parseDocURL(docURL)
	if !mayHaveBase(body) {
		return docURL, doc
	}
	s := newScanner(body)
	for s.nextTag() {
		if href, ok := s.baseHref(); ok {
			return resolveBase(doc, docURL, href)
		}
	}
	return docURL, doc
}

// parseDocURL takes about:blank for what is no absolute URL: it resolves absolute links and refuses
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
func (s *scanner) baseHref() (string, bool) {
	// The content of a template is a document of its own, and SVG has no base element.
	if s.tag != atom.Base || s.templates > 0 || s.inForeign() {
		return "", false
	}
	href, _ := s.attributes("href", "")
	return string(href), href != nil
}

// mayHaveBase reports whether the body has a text like a base tag, which most pages do not, so
// that they need not be read twice.
func mayHaveBase(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '<')
		if i < 0 || len(body) < i+len("<base") {
			return false
		}
		if bytes.EqualFold(body[i+1:i+len("<base")], []byte("base")) {
			return true
		}
		body = body[i+1:]
	}
}

const asciiSpace = "\t\n\f\r "

func isASCIISpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f'
}
