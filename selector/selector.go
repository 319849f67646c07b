// Package selector extracts data from HTML pages and XML documents with CSS selectors and XPath
// expressions.
//
// The flow: [Parse] makes a [Document] from a page, once. [Document.CSS] and [Document.XPath] give
// a [Selection], the matching nodes in document order; a Selection can be searched again, and its
// values read with [Selection.Text], [Selection.Attr], [Selection.Get] and their plural forms. All
// methods of an empty or nil Selection return zero values, so a chain of calls needs
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
// They may appear in each branch of a comma list. A search in a Selection covers its nodes and
// their descendants, so link.CSS("::attr(href)") is the href of link itself; the left side of
// a combinator may also match outside, as in Element.querySelectorAll of the DOM standard.
//
// # XPath
//
// Expressions are those of package html/xpath: XPath 1.0 and a few functions of later versions. A
// path that starts with a slash starts at the document, even in a Selection: write ".//a" to search
// inside it. Names of elements and attributes are lower case. Results may be elements, attributes, text nodes,
// strings, numbers and Boolean values.
//
// # XML
//
// With the option [XML] a document is parsed as XML, which matters for feeds and sitemaps: in
// HTML, <link> has no content. Names keep their case. A CSS type selector compares the name without its
// prefix, so "creator" matches <dc:creator>; "dc|creator" compares the prefix too, as it is written in the
// document, and "|title" finds what is in no namespace. XPath compares the name as it is written, //dc:creator.
// All but "|title" ignore a default namespace.
//
// # Invalid queries
//
// Queries are part of the program text, so an invalid one panics with a [*SyntaxError], as
// regexp.MustCompile does. [Compile] and [CompileXPath] return the error instead. Compiled queries
// are kept in a bounded cache: calling CSS with the same string again costs no compilation.
//
// One kind of mistake depends on the page: an XPath expression that compares all pairs of nodes could take very long on a page
// crafted for that. It panics with an [*xpath.WorkError].
package selector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// Document is a parsed page. It does not change after Parse and may be used by several goroutines
// at once. A nil Document is an empty page, and so is the zero Document.
type Document struct {
	tree    *html.Document
	err     error
	xml     bool // it is parsed as XML
	xhtml   bool // it is if it is well-formed
	resolve func(ref string) (string, error)
	host    Host
	watcher Watcher      // the host, if it is one
	fields  FieldWatcher // so
	isJSON  bool
	json    string    // the page, if it is JSON
	date    time.Time // when it was sent
	bounds  []html.Option
}

// Option gives [Parse] what the page itself does not contain.
type Option func(*Document)

// URL sets the URL of the page. [Selection.URLs] needs either URL or [Resolver].
func URL(docURL string) Option {
	return func(d *Document) {
		base := sync.OnceValue(func() string { return d.documentBase(docURL) })
		d.resolve = func(ref string) (string, error) { return urlx.Resolve(base(), ref) }
	}
}

// Resolver sets the func by which [Selection.URLs] resolves references of the page to absolute URLs. The func may be called
// concurrently.
func Resolver(resolve func(ref string) (string, error)) Option {
	return func(d *Document) { d.resolve = resolve }
}

// Host is the program for which a page is parsed. Its methods may be called concurrently.
type Host interface {
	// Resolve makes a reference in the page an absolute URL, see [Resolver].
	Resolve(ref string) (string, error)
}

// Watcher is an optional interface of a [Host]: its method is called for each query on the page, for example to find the queries
// that match nothing.
type Watcher interface {
	// Queried is called after each query on the page or on a Selection of it. A query on an empty Selection is not run and not
	// reported. found is true if the query has selected anything; an empty string that an XPath expression has computed does not
	// count. Queried may be called concurrently.
	Queried(language Language, query string, found bool)
}

// Language is the language of a query.
type Language uint8

// The languages.
const (
	CSS      Language = iota + 1
	XPath             // of [Selection.XPath]
	RegExp            // of [Selection.Re] and [Selection.ReFirst]
	JSONPath          // of [Selection.JSON]
)

// String returns what a query in the language is called: "CSS selector", "XPath expression", "regular expression", "JSON path".
func (l Language) String() string {
	switch l {
	case CSS:
		return "CSS selector"
	case XPath:
		return "XPath expression"
	case RegExp:
		return "regular expression"
	case JSONPath:
		return "JSON path"
	}
	return "query"
}

// For sets the host.
func For(h Host) Option {
	return func(d *Document) {
		d.host = h
		d.watcher, _ = h.(Watcher)
		d.fields, _ = h.(FieldWatcher)
	}
}

// Bounds limits the size of the tree, with [html.MaxNodes] and [html.MaxAttributes].
func Bounds(bounds ...html.Option) Option { return func(d *Document) { d.bounds = bounds } }

// XML parses the page as XML. A document that is not well-formed is read as far as possible: see html.Lenient. Entities that a
// document type declares are never expanded.
func XML() Option { return func(d *Document) { d.xml = true } }

// XHTML parses the page as XML if it is well-formed, or else as HTML: many servers announce XHTML, and few pages are.
func XHTML() Option { return func(d *Document) { d.xhtml = true } }

// Parse parses a page as browsers do with scripts switched off (HTML standard, section 13.2), so
// what stands in noscript is content. The body must be UTF-8 and must not be changed afterwards; a
// byte order mark is skipped.
//
// Parse never fails: whatever the bytes, there is a Document. A page that is crafted to have a far larger tree (see
// html.LimitError) is refused: its Document is empty, and [Document.Err] returns the reason. A nil option has the same effect.
func Parse(body []byte, options ...Option) *Document {
	d := &Document{}
	for i, option := range options {
		if option == nil {
			d.err, d.tree = &ParseError{Err: fmt.Errorf("option %d is nil; leave it out", i+1)}, new(html.Document)
			return d
		}
		option(d)
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if d.isJSON {
		d.tree = new(html.Document)
		if !json.Valid(body) {
			d.err = &ParseError{Err: errors.New("it is not JSON, or has more than 10,000 levels")}
		} else {
			d.json = unsafe.String(unsafe.SliceData(body), len(body))
		}
		return d
	}
	bounds := d.bounds
	switch {
	case d.xml:
		d.tree, d.err = html.ParseXML(body, append(slices.Clone(bounds), html.Lenient())...)
	case d.xhtml:
		d.tree, d.err = html.ParseXML(body, bounds...)
		d.xml = !isMalformed(d.err)
	}
	if !d.xml {
		d.tree, d.err = html.Parse(body, bounds...)
	}
	if d.err != nil {
		d.err = &ParseError{Err: d.err}
		d.tree = new(html.Document)
	}
	return d
}

// isMalformed reports whether an error of [html.ParseXML] is that of a page that is not well-formed, or has entities of its own.
func isMalformed(err error) bool {
	malformed, entity := (*html.XMLError)(nil), (*html.EntityError)(nil)
	return errors.As(err, &malformed) || errors.As(err, &entity)
}

// documentBase returns what references in the page are relative to, where docURL is the URL of the page.
func (d *Document) documentBase(docURL string) string {
	return links.BaseFrom(d.tree, docURL)
}

// ParseError says why a page could not be parsed, or that what is made of it would be too large.
type ParseError struct {
	Err error
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
// [*SyntaxError] if the expression is wrong. Variables get their values by [Var].
func (d *Document) XPath(expr string, vars ...Variable) *Selection {
	return d.Select(mustCompileXPath(expr, vars))
}

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
	root := d.Root()
	if root.IsZero() {
		return ""
	}
	for id, end := root.ID(), root.EndID(); id < end; id++ {
		n := d.tree.Node(id)
		switch {
		case n.Is(html.AtomTemplate): // its content is a document of its own (HTML standard, section 4.12.3)
			id = n.EndID() - 1
		case n.Is(html.AtomBase):
			if href := n.FindAttr(html.AtomHref); !href.IsZero() {
				return href.Value()
			}
		}
	}
	return ""
}
