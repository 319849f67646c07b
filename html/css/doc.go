// Package css selects nodes of a document with CSS selectors: Selectors Level 4, as far as it makes
// sense without a browser, and the extensions that scrapers are used to.
//
//	prices := css.MustCompile("article.product > .price")
//	for _, r := range prices.Select(doc.Root()) {
//		fmt.Println(string(r.Node().FirstChild().Data()))
//	}
//
// # What selectors can say
//
//   - Types, *, namespaces (svg|a, *|a, |a; see [Options]), #id, .class, attributes with all operators
//     and the flags i and s.
//   - The combinators: space, >, +, ~.
//   - :is, :where, :not and :has with any selectors, :nth-child and :nth-last-child with "of",
//     :nth-of-type, :nth-last-of-type, :first-child, :last-child, :only-child and their -of-type forms.
//   - :root, :scope, :empty, :target, :lang with ranges, :any-link, :link, :enabled, :disabled,
//     :checked, :required, :optional. :hover, :focus, :visited and other states that only a user makes
//     are known and match nothing, as do ::before and other pseudo-elements of style sheets.
//   - The extensions of cascadia: :contains("text") and :containsOwn("text"), which ignore the case of
//     letters, :matches(regexp) and :matchesOwn(regexp), :haschild(selector), :input, [a!=b] and
//     [a#=regexp].
//   - The pseudo-elements of Scrapy's parsel: ::text selects the text nodes that are children of an
//     element, ::attr(name) an attribute. Behind a space, as in "p ::text" and "p *::text", they mean
//     the element at the left too: all text in p.
//
// # Where this differs from browsers
//
// A wrong selector is an error, also inside :is and :where, which forgive in browsers, and a string or
// bracket that is not closed is one too. An id may start with a digit (#2024). Elements inside of a
// template are selected like others.
//
// # Cost
//
// A selector is compiled once. The first queries of a document go over its nodes, from the root of the
// query to its end, and need no memory except for their results. Their steps are counted, and when they
// have taken about as long as the document's index takes to make ([html.Document.Index]), it is made.
// From then on a query reads the index, which has the elements by name, id, class and attribute. It
// looks at the elements on the shortest of the lists that its rightmost part allows, dismisses those
// whose ancestors cannot match by one comparison of bits, and compares names, ids and classes as
// numbers. Selectors with :has, :lang, :enabled, :disabled, :contains or :matches do so at once.
//
// Whatever the selector and the page, the work grows in proportion to the elements times the parts of
// the selector: what was found out about an element is not found out twice, and what goes over the nodes
// for too long is given up for the index. Two tests look at more than that: :matches with ^, $ or \b runs
// its regular expression on the text of each element that it is asked about, and [a#=…] on values of
// attributes.
package css
