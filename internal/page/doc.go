// Package page makes of a response's body what a crawler reads: its text in UTF-8, the tree that selectors search, its links,
// and the URLs that its references mean. Each is made when it is first asked for, kept, and made again when the body is
// replaced.
//
// The flow through it:
//
//	Adopt, AdoptSpool            the body: bytes in memory, or a file
//	→ Bytes, String, Reader      as it is
//	→ DecodeJSON                 as a value, whose size is estimated before
//	→ Reserve                    what a tree is likely to take: before Text
//	→ Text                       its encoding found and removed: package charset
//	  → Document                 parsed once for all queries: package selector
//	  → Links, EachLink          of the tree if there is one, or else of the text: package links
//	  → Base → Base.Resolve      references made URLs as browsers do, with the encoding of the page
//
// A [Page] is a part of a response. The response is its [Host]: users see and change the URL, the header and the buffer there,
// so the page asks for them each time. In a run, the host names the [Run]. [Page.Reserve] estimates what is likely to be made of an
// HTML or XML page, so that the run can wait for the memory before it is parsed; what is made of other pages is added when it is
// made. Without a Run nothing is counted and nothing but the size of the page bounds what is made of it.
//
// A short example, of a program without a run:
//
//	type response struct {
//		url, contentType string
//		page             page.Page
//		buffer           *bytes.Buffer
//	}
//
//	func (r *response) Given() page.Given    { return page.Given{URL: r.url, Buffer: r.buffer} }
//	func (r *response) ContentType() string { return r.contentType }
//	func (r *response) Run() page.Run       { return nil }
//	func (r *response) Unreadable(limit int64, cause error) error { … }
//
//	r := &response{url: "https://a.example/", contentType: "text/html", buffer: bytes.NewBuffer(body)}
//	title := r.page.Document(r).CSS("title::text").Get()
//	for _, link := range r.page.Links(r, nil) {
//		fmt.Println(title, link.URL)
//	}
//
// All methods of a Page may be called concurrently, unless they say that the caller holds its lock.
package page
