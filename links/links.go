// Package links finds the links of pages: by default those that a reader can follow, a[href] and
// area[href], resolved as browsers resolve them; with [Everything] all that names a URL.
//
// [Extract] returns them as values. [Each] is the form for crawlers that look at millions of links
// and keep few: it hands out each resolved URL in a buffer that it uses again, so that a link can be
// fingerprinted and recognised as known before anything is allocated for it. Both read the tags of
// the page and build no tree (unless [CSS] or [XPath] ask for one): commented-out markup, scripts,
// data-href and <abbr> are not mistaken for links, and no nesting is too deep. Pages are UTF-8, see
// package html/charset; scripts do not run, so what stands in noscript is content.
//
//	for _, link := range links.Extract(body, pageURL, links.Domains("example.com")) {
//		fmt.Println(link.URL, link.Text)
//	}
//
// The flow: a start tag gives the values of its attributes, [Process] may change them, each is
// resolved against the document base URL ([Base]), what is neither http nor https is dropped, the
// fragment is cut off, and the options decide.
//
// [Stylesheet] finds the URLs of a style sheet. [Refresh] reads the meta element that sends browsers
// to another page.
package links

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// Link is one link of a page.
type Link struct {
	// URL is absolute, http or https, serialised by the WHATWG URL standard, without fragment.
	URL string
	// Text is what a reader sees of the link, white space trimmed and collapsed. It is "" for links
	// around an image, and for all elements but a.
	Text string
	// Fragment is what followed the "#", percent-encoded, without the "#".
	Fragment string
	// NoFollow says that Rel has "nofollow".
	NoFollow bool
	// Rel is the list of link types in the rel attribute, in lower case, as they stand there.
	Rel []string
}

// Ref is a link as Each hands it out.
type Ref struct {
	// URL is absolute, http or https, serialised by the WHATWG URL standard, without fragment.
	URL []byte
	// Fragment is what followed the "#", percent-encoded, without the "#".
	Fragment []byte
	// Tag and Attr are the names of element and attribute that the link was found in. A link of the
	// response's header has the name of the field, in lower case, as Attr; one of a style sheet has
	// Tag style, unless it is of a style attribute.
	Tag, Attr string
	// Rel is the rel attribute as it stands there; nil for an attribute that is a list of URLs.
	Rel []byte
	// NoFollow says that Rel has "nofollow".
	NoFollow bool
}

// Link makes a Link, without a text, of the Ref. It shares nothing with it.
func (r *Ref) Link() Link {
	l := Link{URL: string(r.URL), Fragment: string(r.Fragment), NoFollow: r.NoFollow}
	if len(r.Rel) > 0 {
		l.Rel = strings.FieldsFunc(strings.ToLower(string(r.Rel)), func(c rune) bool { return c < 0x80 && isSpace(byte(c)) })
	}
	return l
}

// Extract returns the links of a page in document order. base is the URL of the page; a base
// element in the page is respected. Links without href, with an empty one, with one that is no URL,
// and those of other schemes than http and https (mailto, javascript, data) are left out. A link
// such as "#top" is a link to the page itself. If base is no absolute URL, only absolute links are
// found. It panics with a [*SizeError] on a page that is made to exhaust the memory.
func Extract(body []byte, base string, opts ...Option) []Link {
	p := newPage(body, base, opts)
	defer p.release()
	return p.extract()
}

// ExtractFrom returns the links that [Extract] finds in the source of a document. [CSS] and [XPath] need
// not parse it once more.
func ExtractFrom(doc *html.Document, base string, opts ...Option) []Link {
	p := newParsedPage(doc, base, opts)
	defer p.release()
	return p.extract()
}

// Each iterates over the links that [Extract] would find, repeated ones included, in document order.
// The Ref and its slices are valid until the next one and must not be changed; what is kept must be
// copied. A link allocates nothing, unless there is a [Text], [Accept] or [Process] option.
func Each(body []byte, base string, opts ...Option) iter.Seq[*Ref] {
	return func(yield func(*Ref) bool) {
		p := newPage(body, base, opts)
		defer p.release()
		p.eachRef(yield)
	}
}

// EachFrom iterates over the links that [Each] finds in the source of a document, but does not read it
// again: it takes them from what the parser noted, see [html.Document.LinkTags]. With options about
// elements, attributes and texts, and for XML, it has to read the source; [CSS] and [XPath] need not parse
// it once more.
func EachFrom(doc *html.Document, base string, opts ...Option) iter.Seq[*Ref] {
	return func(yield func(*Ref) bool) {
		p := newParsedPage(doc, base, opts)
		defer p.release()
		p.eachRef(yield)
	}
}

// eachRef calls yield for each link until it returns false.
func (p *page) eachRef(yield func(*Ref) bool) {
	if p.plain() {
		p.each(yield)
		return
	}
	p.repeats, p.traced = true, true
	for i, l := range p.extract() {
		ref := Ref{URL: []byte(l.URL), Fragment: []byte(l.Fragment), NoFollow: l.NoFollow}
		ref.Rel = []byte(strings.Join(l.Rel, " "))
		ref.Tag, ref.Attr = p.origins[i].tag, p.origins[i].attr
		if !yield(&ref) {
			return
		}
	}
}

// Stylesheet returns the links of a style sheet, by url() and @import, in their order. base is the URL
// of the sheet. The options apply, as far as they are not about markup.
func Stylesheet(sheet []byte, base string, opts ...Option) []Link {
	p := newPage(nil, base, opts)
	defer p.release()
	var found []Link
	p.yield = func(r *Ref) bool {
		p.bound(len(sheet), r)
		p.take(int64(len(r.URL)+len(r.Fragment)) + knownSize)
		found = append(room(p, found, 1, linkSize), r.Link())
		return true
	}
	p.sheet(sheet, place{tag: "style"})
	return p.choose(found)
}

// SizeError says that the links of a page would be far larger than the page. All URLs that are relative
// to a long one are long: a page of one megabyte can name ten gigabytes.
type SizeError struct {
	Limit int // in bytes of URLs, repeated ones included: 2^26 and 16 for each byte of the page
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("links: the links are larger than %d bytes", e.Limit)
}

// bound counts a link that is kept. It panics if all together are too large.
func (p *page) bound(page int, r *Ref) {
	p.kept += len(r.URL) + len(r.Fragment)
	if limit := 1<<26 + 16*page; p.kept > limit {
		panic(&SizeError{Limit: limit})
	}
}

// extract collects links with their text.
func (p *page) extract() []Link {
	var (
		found     []Link
		open      = -1 // index of the link whose text is being read
		read      int  // up to where it was read
		text, out []byte
	)
	closeLink := func() {
		out = collapse(out[:0], text)
		p.take(int64(len(out)))
		found[open].Text = string(out)
		open, text = -1, text[:0]
	}
	p.onTag = func(before textKind, more bool) {
		if open >= 0 {
			if before != silent {
				raw := p.body[read:p.tags.Pos()]
				text = html.AppendText(room(p, text, len(raw), 2), raw) // and once more when it is collapsed
			}
			switch {
			case p.tags.tag == html.AtomA || !more:
				closeLink() // links do not nest (HTML standard, section 13.2.6.4.7)
			case separates(p.tags.tag):
				text = append(text, ' ')
			}
		}
		read = p.tags.End()
	}
	var known map[string]struct{} // what choose would leave out needs no memory
	if p.memory != nil && p.plain() && !p.repeats {
		known = make(map[string]struct{})
	}
	p.each(func(r *Ref) bool {
		p.bound(len(p.body), r)
		if known != nil {
			if _, there := known[string(r.URL)]; there {
				return true
			}
		}
		p.take(int64(len(r.URL)+len(r.Fragment)) + relSize*int64(len(r.Rel)) + knownSize)
		found = append(room(p, found, 1, linkSize), r.Link())
		if known != nil {
			known[found[len(found)-1].URL] = struct{}{}
		}
		if p.traced {
			p.origins = append(p.origins, origin{r.Tag, r.Attr})
		}
		if p.opens {
			open = len(found) - 1
		}
		return true
	})
	if known != nil {
		return found
	}
	return p.choose(found)
}

// choose applies the options that are about whole links.
func (p *page) choose(found []Link) []Link {
	seen := make(map[string]struct{}, len(found))
	kept := found[:0]
	for i, l := range found {
		if _, known := seen[l.URL]; known && !p.repeats || !p.accepts(l) {
			continue
		}
		seen[l.URL] = struct{}{}
		if p.traced {
			p.origins[len(kept)] = p.origins[i]
		}
		kept = append(kept, l)
	}
	clear(found[len(kept):])
	return kept
}

func (c *config) accepts(l Link) bool {
	if len(c.text) > 0 && !matchAny(c.text, []byte(l.Text)) {
		return false
	}
	for _, f := range c.accept {
		if !f(l) {
			return false
		}
	}
	return true
}

// collapse appends text with white space trimmed and collapsed.
func collapse(dst, text []byte) []byte {
	for word := range bytes.FieldsSeq(text) {
		if len(dst) > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
	}
	return dst
}

// separates reports whether a tag separates words: one of an element that browsers show on a line or in
// a cell of its own (HTML standard, section 15.3), or of a line break.
func separates(tag html.Atom) bool {
	switch tag {
	case html.AtomAddress, html.AtomArticle, html.AtomAside, html.AtomBlockquote, html.AtomCenter,
		html.AtomDd, html.AtomDetails, html.AtomDialog, html.AtomDir, html.AtomDiv, html.AtomDl,
		html.AtomDt, html.AtomFieldset, html.AtomFigcaption, html.AtomFigure, html.AtomFooter,
		html.AtomForm, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6,
		html.AtomHeader, html.AtomHgroup, html.AtomHr, html.AtomLegend, html.AtomLi,
		html.AtomListing, html.AtomMain, html.AtomMenu, html.AtomNav, html.AtomOl, html.AtomOptgroup,
		html.AtomOption, html.AtomP, html.AtomPlaintext, html.AtomPre, html.AtomSearch,
		html.AtomSection, html.AtomSummary, html.AtomUl, html.AtomXmp,
		html.AtomTable, html.AtomCaption, html.AtomThead, html.AtomTbody, html.AtomTfoot,
		html.AtomTr, html.AtomTd, html.AtomTh,
		html.AtomBr, html.AtomTextarea, html.AtomSelect, html.AtomButton, html.AtomIframe,
		html.AtomNoscript:
		return true
	}
	return false
}
