// Package links finds the links of HTML pages: those that a reader of the page can follow, a[href]
// and area[href], resolved as browsers resolve them.
//
// [Extract] returns them as values. [Walk] is the form for crawlers that look at millions of links
// and keep few: it hands out each resolved URL in a buffer that it uses again, so that a link can be
// fingerprinted and recognised as known before anything is allocated for it. Both read the page
// with an HTML tokenizer and build no tree: commented-out markup, scripts, data-href and <abbr> are
// not mistaken for links, and no nesting is too deep. Pages are UTF-8; scripts do not run, so
// what stands in noscript is content.
//
//	for _, link := range links.Extract(body, pageURL) {
//		fmt.Println(link.URL, link.Text)
//	}
//
// The flow: the tokenizer gives a start tag, its href is resolved against the document base URL
// ([Base]), what is neither http nor https is dropped, the fragment is cut off, and the text up to
// the end of the element is collected.
//
// [Refresh] reads the meta element that sends browsers to another page.
package links

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Link is one link of a page.
type Link struct {
	// URL is absolute, http or https, serialised by the WHATWG URL standard, without fragment.
	URL string
	// Text is what a reader sees of the link, white space trimmed and collapsed. It is "" for area
	// elements and for links around an image.
	Text string
	// Fragment is what followed the "#", percent-encoded, without the "#".
	Fragment string
	// NoFollow says that Rel has "nofollow".
	NoFollow bool
	// Rel is the list of link types in the rel attribute, in lower case, as they stand there.
	Rel []string
}

// Option changes what Extract returns and what Walk visits.
type Option func(*config)

type config struct {
	accept  func(Link) bool
	repeats bool
}

// Accept keeps only the links for which f returns true. With several Accept options all must. f is
// called in document order. An option of this kind makes Walk build each Link.
func Accept(f func(Link) bool) Option {
	return func(c *config) {
		before := c.accept
		if before == nil {
			c.accept = f
			return
		}
		c.accept = func(l Link) bool { return before(l) && f(l) }
	}
}

// Unique says whether Extract returns each URL once, the default: the first link that was accepted.
// Links that differ only in the fragment have the same URL. Unique(false) returns every link.
func Unique(on bool) Option {
	return func(c *config) { c.repeats = !on }
}

func configure(opts []Option) config {
	var c config
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

// Extract returns the links of a page in document order. base is the URL of the page; a base
// element in the page is respected. Links without href, with an empty one, with one that is no URL,
// and those of other schemes than http and https (mailto, javascript, data) are left out. A link
// such as "#top" is a link to the page itself. If base is no absolute URL, only absolute links are
// found.
func Extract(body []byte, base string, opts ...Option) []Link {
	return extract(body, base, configure(opts))
}

func extract(body []byte, base string, c config) []Link {
	p := newPage(body, base)
	var (
		found     []Link
		open      = -1 // index of the link whose text is being read
		text, out []byte
	)
	end := func() {
		if open >= 0 {
			out = collapse(out[:0], text)
			found[open].Text = string(out)
		}
		open, text = -1, text[:0]
	}
	for {
		switch p.next() {
		case html.ErrorToken:
			end()
			return c.choose(found)
		case html.TextToken:
			if open >= 0 && !p.silent {
				text = append(text, p.z.Text()...)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if p.tag == atom.A {
				end() // links do not nest (HTML standard, section 13.2.6.4.7)
			}
			if p.link() {
				found = append(found, p.newLink())
				if p.tag == atom.A {
					open = len(found) - 1
				}
			}
			text = appendBreak(text, p.tag)
		case html.EndTagToken:
			if p.tag == atom.A {
				end()
			}
			text = appendBreak(text, p.tag)
		}
	}
}

// choose applies the options.
func (c config) choose(found []Link) []Link {
	seen := make(map[string]struct{}, len(found))
	kept := found[:0]
	for _, l := range found {
		if _, known := seen[l.URL]; known && !c.repeats {
			continue
		}
		if c.accept != nil && !c.accept(l) {
			continue
		}
		seen[l.URL] = struct{}{}
		kept = append(kept, l)
	}
	clear(found[len(kept):])
	return kept
}

// Ref is a link as Walk hands it out.
type Ref struct {
	// URL is absolute, http or https, serialised by the WHATWG URL standard, without fragment.
	URL []byte
	// Fragment is what followed the "#", percent-encoded, without the "#".
	Fragment []byte
	// Href is the attribute as the page has it, entities decoded.
	Href []byte
	// NoFollow says that the link's rel attribute has "nofollow".
	NoFollow bool
}

// Walk calls visit for each link that [Extract] would find, repeated ones included, in document
// order, until visit returns false. The Ref and its slices are valid until visit returns and must
// not be changed; what is kept must be copied. Without an [Accept] option a link allocates nothing
// beyond what the tokenizer does; [Unique] has no effect. A Ref that went through Accept has no Href.
func Walk(body []byte, base string, visit func(*Ref) bool, opts ...Option) {
	if c := configure(opts); c.accept != nil {
		c.repeats = true
		walkLinks(extract(body, base, c), visit)
		return
	}
	p := newPage(body, base)
	for {
		switch p.next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			if p.link() && !visit(&p.ref) {
				return
			}
		}
	}
}

func walkLinks(found []Link, visit func(*Ref) bool) {
	var ref Ref
	for _, l := range found {
		ref.URL = append(ref.URL[:0], l.URL...)
		ref.Fragment = append(ref.Fragment[:0], l.Fragment...)
		ref.NoFollow = l.NoFollow
		if !visit(&ref) {
			return
		}
	}
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

// appendBreak appends a space for tags that separate words: those of elements that browsers show
// on a line or in a cell of their own (HTML standard, section 15.3), and line breaks.
func appendBreak(text []byte, tag atom.Atom) []byte {
	switch tag {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dd, atom.Details,
		atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption,
		atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6,
		atom.Header, atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu,
		atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Pre,
		atom.Search, atom.Section, atom.Summary, atom.Ul, atom.Xmp,
		atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th,
		atom.Br, atom.Textarea, atom.Select, atom.Button, atom.Iframe, atom.Noscript:
		return append(text, ' ')
	}
	return text
}
