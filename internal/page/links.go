package page

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// Links returns the page's links in document order, each URL once, see [links.Extract]. The options know its encoding, and
// its header for links.Everything. It panics with the error of [Page.Text], or with a [*selector.ParseError] if there are
// too many.
func (p *Page) Links(h Host, opts []links.Option) []links.Link {
	defer parsePanic()
	text, tree, url, opts := p.linkSource(h, opts)
	if tree != nil {
		return links.ExtractFrom(tree, url, opts...)
	}
	return links.Extract(text, url, opts...)
}

// EachLink calls yield for each link of the page until it returns false, see [links.Each]. It panics as [Page.Links] does.
func (p *Page) EachLink(h Host, opts []links.Option, yield func(*links.Ref) bool) {
	defer parsePanic()
	text, tree, url, opts := p.linkSource(h, opts)
	if tree != nil {
		links.EachFrom(tree, url, opts...)(yield)
		return
	}
	links.Each(text, url, opts...)(yield)
}

// smallPage is the size in bytes of pages whose list of links has no bound.
const smallPage = 64 << 10

// linkSource returns where the links are: in the text and, if it was parsed, in its tree. XML is parsed for it. To the options it
// adds what the page says itself.
func (p *Page) linkSource(h Host, opts []links.Option) (text []byte, tree *html.Document, url string, all []links.Option) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := p.decodedLocked(h)
	if err == nil && isXML(h.ContentType()) {
		_, err = p.documentLocked(h)
	}
	if err != nil {
		panic(err)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF")) // a second mark, which the tree does not have either
	given := h.Given()
	return text, p.treeOf(text), given.URL, p.linkOptions(h, given.Header, opts, len(text))
}

// treeOf returns the tree of the page if text was parsed: as XML, or as HTML and from its first byte on; else nil. The caller
// holds mu.
func (p *Page) treeOf(text []byte) *html.Document {
	tree := p.doc.Root().Document()
	if tree != nil && !tree.IsXML() && len(tree.Source()) != len(text) {
		return nil
	}
	return tree
}

// linkOptions puts in front of the options what the page says itself. Usually that is nothing. The caller holds mu.
func (p *Page) linkOptions(h Host, header map[string][]string, opts []links.Option, size int) []links.Option {
	var run Run
	if size > smallPage {
		run = h.Run()
	}
	if p.encoding == charset.UTF8 && len(opts) == 0 && run == nil {
		return nil
	}
	if slices.ContainsFunc(opts, func(o links.Option) bool { return o == nil }) {
		return opts // package links says which one
	}
	all := []links.Option{links.Charset(p.encoding), links.Header(header)}
	if run != nil {
		all = append(all, links.Bounds(run.Bounds().nodes, func() *html.Document { return p.Document(h).Root().Document() }))
	}
	return append(all, opts...)
}

// parsePanic makes a panic with a limit of package html one with a [*selector.ParseError].
func parsePanic() {
	v := recover()
	if v == nil {
		return
	}
	if limit, ok := v.(*html.LimitError); ok {
		v = &selector.ParseError{Err: limit}
	}
	panic(v)
}

// RefError is the error of a reference that cannot be resolved, or of the page's own URL that it starts from.
type RefError struct {
	URL string // the one at fault, as it was given
	Err error  // ErrEmptyRef, or what is wrong with the URL
}

// Error implements error.
func (e *RefError) Error() string {
	return fmt.Sprintf("page: reference %q: %v", urlx.Redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *RefError) Unwrap() error { return e.Err }

// ErrEmptyRef is the error of a reference of white space alone, which would be the page itself.
var ErrEmptyRef = errors.New("empty reference")

// Base is what the references of a page are resolved against. The zero value is none. It does not change, also when the page
// does.
type Base struct {
	url      *urlx.Base
	encoding charset.Encoding // that the queries of references are written in
}

// IsZero reports whether there is no base.
func (b Base) IsZero() bool { return b.url == nil }

// Resolve appends to dst what a reference means: an absolute URL of any scheme, with its fragment. On error, which is a
// [*RefError], it returns dst as it was.
func (b Base) Resolve(dst []byte, ref string) ([]byte, error) {
	if strings.TrimSpace(ref) == "" {
		return dst, &RefError{URL: ref, Err: ErrEmptyRef}
	}
	dst, err := b.url.Resolve(dst, encodedRef(ref, b.encoding))
	if err != nil {
		return dst, &RefError{URL: ref, Err: urlx.Cause(err)}
	}
	return dst, nil
}

// Base returns what references in the page are resolved against: the document base URL of HTML, or else the URL of the
// response. The error is that of [Page.Text], or a [*RefError] if the response has no absolute URL.
func (p *Page) Base(h Host) (Base, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sync(h)
	markup := isHTML(h.ContentType())
	if p.base == nil {
		given := h.Given().URL
		url := given
		if markup {
			text, err := p.decodedLocked(h)
			if err == nil && isXHTML(h.ContentType()) {
				_, err = p.documentLocked(h)
			}
			if err != nil {
				return Base{}, err
			}
			if tree := p.treeOf(text); tree != nil {
				url = links.BaseFrom(tree, given)
			} else {
				url = links.Base(text, given)
			}
		}
		base, err := urlx.ParseBase(url)
		if err != nil {
			return Base{}, &RefError{URL: given, Err: urlx.Cause(err)}
		}
		p.base = base
	}
	if !markup {
		return Base{url: p.base, encoding: charset.UTF8}, nil
	}
	return Base{url: p.base, encoding: p.encoding}, nil
}

// Resolve makes a reference found in the page an absolute URL. The error is that of [Page.Base] or of [Base.Resolve].
func (p *Page) Resolve(h Host, ref string) (string, error) {
	base, err := p.Base(h)
	if err != nil {
		return "", err
	}
	url, err := base.Resolve(nil, ref)
	return string(url), err
}

// encodedRef writes the query of a reference as browsers do on a page in an encoding (URL standard §4.4).
func encodedRef(ref string, e charset.Encoding) string {
	if e == charset.UTF8 || !strings.ContainsFunc(ref, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return ref
	}
	return string(e.AppendReference(nil, ref))
}
