package page_test

import (
	"bytes"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/page"
)

// response is a Host whose page is read outside of a run.
type response struct {
	url, contentType string
	buffer           *bytes.Buffer
	page             page.Page
}

func (r *response) Given() page.Given                         { return page.Given{URL: r.url, Buffer: r.buffer} }
func (r *response) ContentType() string                       { return r.contentType }
func (r *response) Run() page.Run                             { return nil }
func (r *response) Unreadable(limit int64, cause error) error { return cause }

// A page is parsed when it is first asked for something, and again when it has another buffer.
func ExamplePage() {
	r := &response{url: "https://a.example/dir/", contentType: "text/html; charset=iso-8859-1"}
	r.buffer = bytes.NewBufferString("<title>Caf\xe9</title><a href='menu?q=\xe9'>menu</a>")
	fmt.Println(r.page.Document(r).CSS("title").Text())
	for _, link := range r.page.Links(r, nil) {
		fmt.Println(link.URL)
	}
	r.buffer = bytes.NewBufferString("<title>Closed</title>")
	fmt.Println(r.page.Document(r).CSS("title").Text(), len(r.page.Links(r, nil)))
	// Output:
	// Café
	// https://a.example/dir/menu?q=%E9
	// Closed 0
}
