// Package xpath evaluates XPath 1.0 expressions on the documents of package html.
//
//	prices := xpath.MustCompile("//article[h3]/span[@class = 'price']/text()")
//	v, err := prices.Evaluate(doc.Root().Ref())
//	for _, r := range v.Nodes() {
//		fmt.Println(string(r.Node().Data()))
//	}
//
// # What expressions can say
//
// All of the W3C recommendation of 16 November 1999 except the namespace axis, which is an error.
// [Options] give variables their values. Beyond it:
//
//   - the functions ends-with, lower-case, upper-case, string-join, matches and replace of XPath 2.0,
//     and has-class of Scrapy's parsel,
//   - re:test, re:match, re:replace, set:difference, set:distinct, set:has-same-node, set:intersection,
//     set:leading and set:trailing of EXSLT. re:match is a string, the first match, since it cannot make
//     nodes; re:replace replaces the first match, with the flag g all,
//   - regular expressions are those of Go, and must be written as strings or given as variables,
//   - numbers with an exponent: 1e3.
//
// # How it sees a document
//
// As XPath 1.0, section 5, has it, with these additions. Names of HTML elements and attributes are in
// lower case, and a name without a prefix finds elements of HTML, SVG and MathML alike. In XML a name
// is compared as it is written in the document, with its prefix, so //item finds the items of a feed
// with a default namespace and //dc:title what is written so; [Options] can give prefixes a meaning.
// The function id looks at attributes with the name id, lang at lang in HTML too. Document types are no
// nodes.
//
// # Cost
//
// Expressions are compiled once; all errors but one are found then. Steps go through the document's
// index ([html.Document.Index]) where it knows the name that is wanted; sets are kept in document order,
// each node once, so paths do not multiply; a condition that asks whether there is a node stops at the
// first. What remains slow by its nature, such as //a[count(preceding::a) > 3] on a page of a hundred
// thousand links, ends in a [WorkError].
package xpath
