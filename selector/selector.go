// Package selector picks data out of HTML pages with CSS selectors and XPath expressions.
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
// Selectors are those of CSS Selectors Level 3 with :has, :contains("text") and lists in :not.
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
// Expressions are XPath 1.0. A path that starts with a slash starts at the document, also in a
// Selection: write ".//a" to search inside. Names of elements and attributes are lower case.
// Attributes, text nodes, strings, numbers and truth values are results like elements are.
//
// # Wrong queries
//
// Queries are part of the program text, so a wrong one panics with a [*SyntaxError], as
// regexp.MustCompile does. [Compile] and [CompileXPath] return the error instead. Compiled queries
// are kept in a bounded cache: calling CSS with the same string again costs no compilation.
package selector

import (
	"bytes"
	"fmt"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Document is a parsed page. It does not change after Parse and may be used by several goroutines
// at once. A nil Document is an empty page.
type Document struct {
	root *html.Node
	err  error

	numberNodes sync.Once
	numbers     map[*html.Node]int // position of each node in document order; see number
}

// Parse parses a page as browsers do with scripts switched off (HTML standard, section 13.2), so
// what stands in noscript is content. The body must be UTF-8; a byte order mark is skipped.
//
// Parse never fails: whatever the bytes, there is a Document. One kind of page is refused, those
// that nest more than 512 elements: their Document is empty and [Document.Err] says so.
func Parse(body []byte) *Document {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	root, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return &Document{root: &html.Node{Type: html.DocumentNode}, err: &ParseError{Err: err}}
	}
	return &Document{root: root}
}

// ParseError says why a page could not be parsed.
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

// CSS selects what a CSS selector matches in the whole page. It panics with a [*SyntaxError] if
// the selector is wrong.
func (d *Document) CSS(query string) *Selection { return d.Select(mustCompile(query, cssQueries)) }

// XPath evaluates an XPath expression with the document as context node. It panics with a
// [*SyntaxError] if the expression is wrong.
func (d *Document) XPath(expr string) *Selection { return d.Select(mustCompile(expr, xpathQueries)) }

// Select selects what a compiled query matches in the whole page.
func (d *Document) Select(q *Query) *Selection {
	if d == nil {
		return nil
	}
	return q.run(d, []item{{node: d.root, attr: noAttr}})
}

// Base returns the href of the first base element that has one, as it is written in the page, or
// "". It is not resolved; links.Base does that.
func (d *Document) Base() string {
	if d == nil {
		return ""
	}
	href, _ := baseHref(d.root)
	return href
}

func baseHref(n *html.Node) (string, bool) {
	switch {
	case n.DataAtom == atom.Template:
		// The content of a template is a document of its own (HTML standard, section 4.12.3).
		return "", false
	case n.DataAtom == atom.Base && n.Namespace == "":
		if i := attrIndex(n, "href"); i >= 0 {
			return n.Attr[i].Val, true
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if href, ok := baseHref(c); ok {
			return href, true
		}
	}
	return "", false
}

// number returns the position of every node in document order. It is made when a query first needs
// it, which most pages never do.
func (d *Document) number() map[*html.Node]int {
	d.numberNodes.Do(func() {
		d.numbers = make(map[*html.Node]int)
		for n := range d.root.Descendants() {
			d.numbers[n] = len(d.numbers) + 1
		}
	})
	return d.numbers
}
