// Package metadata reads what a page says about itself for programs: JSON-LD, microdata and RDFa Lite, OpenGraph, Twitter cards,
// and what stands in the elements title, meta and link of its head.
//
// The flow: [Extract] takes a parsed page and returns a [Page]. Its fields have what the head says. The things that the page
// describes, a product with its offers for example, are nodes: [Page.TypeOf] finds them by type, whichever syntax they were
// written in, and a [Node] is a JSON object in the form of JSON-LD:
//
//	page := metadata.Extract(doc, "https://shop.example/p/1")
//	for product := range page.TypeOf("Product") {
//		name, price := product.Get("name"), product.Get("offers.price")
//		err := product.Decode(&row)       // as encoding/json does
//		err = product.Unmarshal(&product) // by words in tags, as package selector does
//	}
//
// # Repairs
//
// Many pages have JSON-LD that is not JSON. What can be understood is read nevertheless, and [Page.Notes] says what was done: HTML
// comments, CDATA marks and comments of JavaScript are left out, and so are commas before a closing bracket; control characters
// in strings are escaped. A block that still cannot be read is left out, with a note.
//
// # Bounds
//
// Extract takes time and memory in proportion to the size of the page, whatever is in it. A page has at most 10,000 nodes of
// each syntax, as many properties of its head, and 100,000 properties of microdata and of RDFa; JSON is read to a depth of
// 500, items to a depth of 100, and nodes inside of a node are looked for in 50 levels of its JSON. A note says what was left out.
package metadata
