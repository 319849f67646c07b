// Package html reads HTML and XML: a tokenizer, a parser that builds trees and what is needed to walk
// and write them. It follows the parsing rules of the HTML standard of the WHATWG (section 13.2,
// scripting disabled), so any bytes give the tree that a browser would make of them, and it is built
// for programs that read many pages:
//
//	doc, err := html.Parse(page)          // a tree
//	for n := range doc.Root().Descendants() {
//		if n.Is(html.AtomA) {
//			fmt.Println(n.Attr("href"), n.CollapsedText())
//		}
//	}
//
// A [Document] keeps the page and lays its nodes, fixed-size records linked by numbers, side by side
// in one piece of memory. Text, names and attributes are views of the page; character references are
// replaced where there are some, those in attributes only when they are asked for. A document is a
// handful of allocations whatever its size and none when it is reused by [Document.Reset].
//
// The input is UTF-8; package html/charset turns other encodings into it. The page must not be
// changed while its document is in use.
//
// Where no tree is needed, [Tags] reads the tags of a page alone and [Tokenizer] its tokens.
// [ParseXML] reads XML into the same kind of tree. Queries are in html/css and html/xpath.
//
// Everything is bounded by the size of the input: no recursion, work that grows in proportion with
// the page, and a limit on the number of nodes, over which parsing ends in a [LimitError].
package html
