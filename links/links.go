// Package links finds the links of pages: by default those that a reader can follow, a[href] and
// area[href], resolved as browsers resolve them; with [Everything] everything that has a URL.
//
// [Extract] returns them as values. [Each] is the form for crawlers that look at millions of links
// and keep few: it yields each resolved URL in a buffer that it reuses, so that a link can be
// fingerprinted and recognised as known before anything is allocated for it. Both read the tags of
// the page and build no tree (unless [CSS] or [XPath] need one): commented-out markup, scripts,
// data-href and <abbr> are not mistaken for links, and no nesting is too deep. Pages must be UTF-8, see
// package html/charset; scripts do not run, so the content of noscript counts.
//
//	for _, link := range links.Extract(body, pageURL, links.Domains("example.com")) {
//		fmt.Println(link.URL, link.Text)
//	}
//
// The flow: the attributes of a start tag are read, [Process] may change their values, each value is
// resolved against the document's base URL ([Base]), URLs that are neither http nor https are dropped, the
// fragment is cut off, and the options decide which links are kept.
//
// [Stylesheet] finds the URLs of a style sheet. [Refresh] reads the meta element that redirects browsers
// to another page.
package links

import (
	"fmt"
	"iter"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// Link is one link of a page.
type Link struct {
	// URL is absolute, http or https, serialised by the WHATWG URL standard, without fragment.
	URL string
	// Text is the visible text of the link, with white space trimmed and collapsed. It is "" for links
	// around an image, and for all elements other than a.
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
	return Link{URL: string(r.URL), Fragment: string(r.Fragment), NoFollow: r.NoFollow, Rel: r.words()}
}

// link is Link with its texts in the page's arena.
func (p *page) link(r *Ref) Link {
	return Link{URL: p.text(r.URL), Fragment: p.text(r.Fragment), NoFollow: r.NoFollow, Rel: r.words()}
}

// words returns the link types in Rel, which many pages separate by commas.
func (r *Ref) words() []string {
	if len(r.Rel) == 0 {
		return nil
	}
	return strings.FieldsFunc(strings.ToLower(string(r.Rel)), func(c rune) bool { return c == ',' || c < 0x80 && isSpace(byte(c)) })
}

// Extract returns the links of a page in document order. base is the URL of the page; a base
// element in the page is respected. Links without href, with an empty one, with one that is not a URL,
// and those of other schemes than http and https (mailto, javascript, data) are left out. A link
// such as "#top" is a link to the page itself. If base is not an absolute URL, only absolute links are
// found. It panics with a [*SizeError] on a page that is made to exhaust the memory.
//
// The texts of the links share memory: one that is kept keeps up to 2 KiB of others with it. A program that keeps a few links
// of many pages copies them with strings.Clone.
func Extract(body []byte, base string, opts ...Option) []Link {
	p := newPage(body, base, opts)
	defer p.release()
	return p.extract()
}

// ExtractFrom returns the links that [Extract] finds in the source of a document. It takes them from what the parser noted, as
// [EachFrom] does, and reads again only what stands inside of the links, for their texts. The links of an XML document are those
// of its tree: what is in a section <![CDATA[…]]> is text, and an empty element holds nothing. They are in elements with the
// names of HTML, of its namespace, of none, or of one that is declared without a prefix; with [Tags] others are found by the
// name that they are written with.
func ExtractFrom(doc *html.Document, base string, opts ...Option) []Link {
	p := newParsedPage(doc, base, opts)
	defer p.release()
	return p.extract()
}

// Each iterates over the links that [Extract] would find, repeated ones included, in document order.
// The Ref and its slices are valid until the next one and must not be changed; what is kept must be
// copied. A link allocates nothing, unless there is a [Text], [Accept] or [Process] option. It panics with a [*SizeError] on a page
// whose URLs are made to take long.
func Each(body []byte, base string, opts ...Option) iter.Seq[*Ref] {
	return func(yield func(*Ref) bool) {
		p := newPage(body, base, opts)
		defer p.release()
		p.eachRef(yield)
	}
}

// EachFrom iterates over the links that [Each] finds in the source of a document, but does not read it
// again: it takes them from what the parser noted, see [html.Document.LinkTags]. With options about
// elements, attributes and texts it has to read the source; [CSS] and [XPath] need not parse it once more.
// Those of an XML document it takes from the tree, see [ExtractFrom].
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
		found = append(found, r.Link())
		return true
	}
	p.sheet(sheet, place{tag: "style"})
	return p.choose(found)
}

// SizeError says that the links of a page would be far larger than the page. All URLs that are relative
// to a long one are long: a page of one megabyte can name ten gigabytes.
type SizeError struct {
	// Limit is in bytes of URLs and lists of link types, repeated ones included: 2^26 and the size of the page, or for all URLs that
	// are made to find links, also in [Each], which keeps none, 2^30. In XML the texts of links count, also where links are inside
	// each other.
	Limit int
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("links: the links are larger than %d bytes", e.Limit)
}

// mostMade is how many bytes the URLs may have that are made to find the links of a page.
const mostMade = 1 << 30

// bound counts a link that is kept. It panics if all together are too large.
func (p *page) bound(page int, r *Ref) {
	p.keep(page, len(r.URL)+len(r.Fragment)+relSize*len(r.Rel))
}

// keep counts what is kept of a page of so many bytes.
func (p *page) keep(page, size int) {
	p.kept += size
	if limit := 1<<26 + page; p.kept > limit {
		panic(&SizeError{Limit: limit})
	}
}

// relSize is what each byte of a rel attribute may take as a list of words.
const relSize = 9

// limit panics if there are too many things of a kind.
func (p *page) limit(n int, what string) {
	if p.most > 0 && n >= p.most {
		panic(&html.LimitError{What: what, Limit: p.most})
	}
}

// extract collects links with their text.
func (p *page) extract() []Link {
	if p.few == nil {
		p.few = make([]Link, 0, fewLinks)
	}
	defer func() { clear(p.few[:cap(p.few)]) }() // also where an option of the user panics
	var (
		found = p.few[:0]
		open  = -1 // index of the link whose text is being read
		read  int  // up to where it was read
	)
	p.resumes = p.simple() && p.doc != nil && p.doc.CanResume()
	if !p.resumes && !p.isXML() {
		p.onTag = func(before textKind, more bool) {
			if open >= 0 {
				if text, whole := p.collect(before, read, more); whole {
					found[open].Text, open = text, -1
				}
			}
			read = p.tags.End()
		}
	}
	early := p.plain() && !p.repeats // what choose would leave out needs no memory
	if early && p.known == nil {
		p.known = make(map[string]struct{})
	}
	p.each(func(r *Ref) bool {
		p.bound(len(p.body), r)
		if early {
			if _, there := p.known[string(r.URL)]; there {
				return true
			}
		}
		p.limit(len(found), "links")
		found = append(found, p.link(r))
		l := &found[len(found)-1]
		if early {
			p.known[l.URL] = struct{}{}
		}
		if p.traced {
			p.origins = append(p.origins, origin{r.Tag, r.Attr})
		}
		switch {
		case !p.opens:
		case p.isXML():
			l.Text = p.textOfXML()
		case p.resumes:
			l.Text = p.inside()
		default:
			open = len(found) - 1
		}
		return true
	})
	if !early {
		found = p.choose(found)
	}
	if cap(found) == cap(p.few) { // they are in it
		found = append([]Link(nil), found...)
	}
	return found
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
