// Package selector picks data out of HTML pages and XML documents with CSS selectors and XPath
// expressions.
//
// The flow: [Parse] makes a [Document] from a page, once. [Document.CSS] and [Document.XPath] give
// a [Selection], the matching nodes in document order; a Selection can be searched again, and its
// values read with [Selection.Text], [Selection.Attr], [Selection.Get] and their plural forms. An
// empty Selection, and a nil one, answers everything with zero values, so a chain of calls needs
// no checks in between:
//
//	doc := selector.Parse(body)
//	for _, quote := range doc.CSS("div.quote").All() {
//		text := quote.CSS("span.text::text").Get()
//		author := quote.XPath(".//small/text()").Get()
//		tags := quote.CSS(".tag").Texts()
//	}
//
// # CSS
//
// Selectors are those of package html/css: Selectors Level 4 and the extensions that scrapers use.
// As in Scrapy's parsel, a selector may end with one of two pseudo-elements:
//
//   - ::text selects the text nodes that are children of the matching elements;
//     "p ::text" (with a space) and "p *::text" select all text nodes inside p,
//   - ::attr(name) selects the attribute name of the matching elements.
//
// They may appear in each branch of a comma list. A search in a Selection looks at its nodes and
// everything inside them, so link.CSS("::attr(href)") is the href of link itself; the left side of
// a combinator may also match outside, as in Element.querySelectorAll of the DOM standard.
//
// # XPath
//
// Expressions are those of package html/xpath: XPath 1.0 and a few functions of later versions. A
// path that starts with a slash starts at the document, also in a Selection: write ".//a" to search
// inside. Names of elements and attributes are lower case. Attributes, text nodes, strings, numbers
// and truth values are results like elements are.
//
// # XML
//
// With the option [XML] a document is read as what it is, which matters for feeds and sitemaps: read as
// HTML, <link> has no content. Names keep their case. A CSS type selector compares what follows the
// prefix, so that "creator" finds <dc:creator>; XPath compares the name as it is written in the document,
// //dc:creator. A default namespace matters to neither.
//
// # Wrong queries
//
// Queries are part of the program text, so a wrong one panics with a [*SyntaxError], as
// regexp.MustCompile does. [Compile] and [CompileXPath] return the error instead. Compiled queries
// are kept in a bounded cache: calling CSS with the same string again costs no compilation.
//
// One mistake shows on certain pages only: an XPath expression that looks at all pairs of nodes takes
// longer than anybody would wait on a page that is made so. It panics with an [*xpath.WorkError].
package selector

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// Document is a parsed page. It does not change after Parse and may be used by several goroutines
// at once. A nil Document is an empty page, and so is the zero Document.
type Document struct {
	tree    *html.Document
	err     error
	xml     bool
	resolve func(ref string) (string, error)
	host    Host
	bounds  []html.Option
	results atomic.Int64 // bytes that memory was asked for, see charge
}

// Option tells [Parse] what a page does not say itself.
type Option func(*Document)

// URL says where the page came from. [Selection.URLs] needs it, or [Resolver].
func URL(docURL string) Option {
	return func(d *Document) {
		base := sync.OnceValue(func() string { return d.documentBase(docURL) })
		d.resolve = func(ref string) (string, error) { return urlx.Resolve(base(), ref) }
	}
}

// Resolver gives [Selection.URLs] a way of its own to make a reference in the page an absolute URL.
// The func may be called by several goroutines at once.
func Resolver(resolve func(ref string) (string, error)) Option {
	return func(d *Document) { d.resolve = resolve }
}

// Host is the program that a page is parsed for.
type Host interface {
	// Resolve makes a reference in the page an absolute URL, see [Resolver].
	Resolve(ref string) (string, error)
	// Grow grants the memory of what is made of the page, before it is taken: see [html.Charge]. Its error is the
	// cause of a [*ParseError].
	html.Memory
}

// For names the host, whose methods may be called by several goroutines at once. Beside the tree, memory is asked for the
// largest result of the queries and of methods like [Selection.Texts]; what was made before it is taken for garbage.
func For(h Host) Option { return func(d *Document) { d.host = h } }

// Bounds says how large the tree may be: [html.MaxNodes] and [html.MaxAttributes].
func Bounds(bounds ...html.Option) Option { return func(d *Document) { d.bounds = bounds } }

// XML says that what is parsed is XML. What is not well-formed is read as far as it can be understood:
// see html.Lenient. Entities that a document type declares are never expanded.
func XML() Option { return func(d *Document) { d.xml = true } }

// Parse parses a page as browsers do with scripts switched off (HTML standard, section 13.2), so
// what stands in noscript is content. The body must be UTF-8 and must not be changed afterwards; a
// byte order mark is skipped.
//
// Parse never fails: whatever the bytes, there is a Document. Pages that are made to have a tree far
// larger than they are (see html.LimitError) are refused: their Document is empty and [Document.Err]
// says so. So it does of a nil option.
func Parse(body []byte, options ...Option) *Document {
	d := &Document{}
	for i, option := range options {
		if option == nil {
			d.err, d.tree = parseError(fmt.Errorf("option %d is nil; leave it out", i+1)), new(html.Document)
			return d
		}
		option(d)
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	var room [4]html.Option
	bounds := append(room[:0], d.bounds...)
	if d.host != nil {
		bounds = append(bounds, html.Charge((*tenant)(d)))
	}
	if d.xml {
		d.tree, d.err = html.ParseXML(body, append(bounds, html.Lenient())...)
	} else {
		d.tree, d.err = html.Parse(body, bounds...)
	}
	if d.err != nil {
		d.err = parseError(d.err)
		d.tree = new(html.Document)
	}
	return d
}

// documentBase returns what references in the page are relative to, where docURL is the URL of the page.
func (d *Document) documentBase(docURL string) string {
	if !d.xml {
		return links.Base(d.tree.Source(), docURL)
	}
	if base, err := urlx.Resolve(docURL, d.Base()); err == nil {
		return base
	}
	return docURL
}

// ParseError says why a page could not be parsed, or what was made of it found no memory.
type ParseError struct {
	Err error
}

// parseError makes an error a [*ParseError], unless it is one.
func parseError(err error) error {
	if known := (*ParseError)(nil); errors.As(err, &known) {
		return err
	}
	return &ParseError{Err: err}
}

// Error implements error.
func (e *ParseError) Error() string { return fmt.Sprintf("selector: parsing page: %v", e.Err) }

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Err returns nil, or the [*ParseError] that made the Document empty.
func (d *Document) Err() error {
	if d == nil {
		return nil
	}
	return d.err
}

// Root returns the root of the page's tree, no node if the Document is nil or empty.
func (d *Document) Root() html.Node {
	if d == nil || d.tree == nil {
		return html.Node{}
	}
	return d.tree.Root()
}

// CSS selects what a CSS selector matches in the whole page. It panics with a [*SyntaxError] if
// the selector is wrong.
func (d *Document) CSS(query string) *Selection { return d.Select(mustCompile(query, cssQueries)) }

// XPath evaluates an XPath expression with the document as context node. It panics with a
// [*SyntaxError] if the expression is wrong.
func (d *Document) XPath(expr string) *Selection { return d.Select(mustCompile(expr, xpathQueries)) }

// Select selects what a compiled query matches in the whole page.
func (d *Document) Select(q *Query) *Selection {
	root := d.Root()
	if root.IsZero() {
		return nil
	}
	return q.run(d, []html.Ref{root.Ref()})
}

// Base returns the href of the first base element that has one, as it is written in the page, or
// "". It is not resolved; links.Base does that.
func (d *Document) Base() string {
	for n := range d.Root().Descendants() {
		if !n.Is(html.AtomBase) {
			continue
		}
		// The content of a template is a document of its own (HTML standard, section 4.12.3).
		if href := n.FindAttr(html.AtomHref); !href.IsZero() && !inTemplate(n) {
			return href.Value()
		}
	}
	return ""
}

func inTemplate(n html.Node) bool {
	for up := range n.Ancestors() {
		if up.Is(html.AtomTemplate) {
			return true
		}
	}
	return false
}
