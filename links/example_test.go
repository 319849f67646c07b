package links_test

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
)

const page = `<title>Shop</title>
<a href="/basket" rel="nofollow">Basket</a>
<a href="item?id=1&amp;lang=en">First
  <b>item</b></a>
<a href="item?id=2#reviews">Second item</a>
<a href="mailto:shop@example.com">Write</a>
<!-- <a href="/old">Old</a> -->`

func ExampleExtract() {
	for _, link := range links.Extract([]byte(page), "https://example.com/shop/") {
		fmt.Printf("%s %q %q %v\n", link.URL, link.Text, link.Fragment, link.Rel)
	}
	// Output:
	// https://example.com/basket "Basket" "" [nofollow]
	// https://example.com/shop/item?id=1&lang=en "First item" "" []
	// https://example.com/shop/item?id=2 "Second item" "reviews" []
}

func ExampleAccept() {
	items := links.Accept(func(l links.Link) bool { return strings.Contains(l.URL, "/item?") })
	fmt.Println(len(links.Extract([]byte(page), "https://example.com/shop/", items)))
	// Output: 2
}

func ExampleEach() {
	known := map[string]bool{"https://example.com/shop/item?id=2": true}
	for r := range links.Each([]byte(page), "https://example.com/shop/") {
		if r.NoFollow || known[string(r.URL)] { // looking up allocates no string
			continue
		}
		fmt.Println(string(r.URL))
	}
	// Output: https://example.com/shop/item?id=1&lang=en
}

func ExampleEachFrom() {
	doc, err := html.Parse([]byte(page))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Element().FirstChild().CollapsedText())
	for r := range links.EachFrom(doc, "https://example.com/shop/") { // the page is not read again
		fmt.Println(string(r.URL))
	}
	// Output:
	// Shop
	// https://example.com/basket
	// https://example.com/shop/item?id=1&lang=en
	// https://example.com/shop/item?id=2
}

func ExampleBase() {
	fmt.Println(links.Base([]byte(`<base href="/shop/">`), "https://example.com/a/b"))
	// Output: https://example.com/shop/
}

func ExampleRefresh() {
	body := []byte(`<meta http-equiv="refresh" content="3; url=/new">`)
	url, after, ok := links.Refresh(body, "https://example.com/old")
	fmt.Println(url, after, ok)
	// Output: https://example.com/new 3s true
}

func ExampleAllow() {
	items := links.Allow("/item", links.Glob("https://example.com/shop/**"))
	for _, link := range links.Extract([]byte(page), "https://example.com/shop/", items, links.Deny("lang=")) {
		fmt.Println(link.URL)
	}
	// Output: https://example.com/shop/item?id=2
}

func ExampleGlob() {
	articles := links.Allow(links.Glob("/*/article-*.html"))
	body := []byte(`<a href=/news/article-1.html></a> <a href=/news/old/article-2.html></a> <a href=/news/></a>`)
	for _, link := range links.Extract(body, "https://example.com/", articles) {
		fmt.Println(link.URL)
	}
	// Output: https://example.com/news/article-1.html
}

func ExampleDenyExtensions() {
	pages := links.DenyExtensions(links.IgnoredExtensions()...) // made once, used for every page
	body := []byte(`<a href=manual.html></a> <a href=manual.pdf></a> <a href=source.tar.gz></a>`)
	for _, link := range links.Extract(body, "https://example.com/", pages) {
		fmt.Println(link.URL)
	}
	// Output: https://example.com/manual.html
}

func ExampleCSS() {
	body := []byte(`<nav><a href=/>Home</a></nav> <main><p><a href=/one>One</a></main> <footer><a href=/terms>Terms</a></footer>`)
	for _, link := range links.Extract(body, "https://example.com/", links.CSS("main")) {
		fmt.Println(link.URL)
	}
	// Output: https://example.com/one
}

func ExampleEverything() {
	body := []byte(`<link rel=stylesheet href=/style.css> <img srcset="/small.png, /large.png 2x">
<p style="background: url(/paper.png)"> <a href=/next>Next</a>`)
	for ref := range links.Each(body, "https://example.com/", links.Everything()) {
		fmt.Printf("%s %s: %s\n", ref.Tag, ref.Attr, ref.URL)
	}
	// Output:
	// link href: https://example.com/style.css
	// img srcset: https://example.com/small.png
	// img srcset: https://example.com/large.png
	// p style: https://example.com/paper.png
	// a href: https://example.com/next
}

func ExampleHeader() {
	header := map[string][]string{"Link": {`</page/2>; rel="next"`}}
	for _, link := range links.Extract(nil, "https://example.com/", links.Everything(), links.Header(header)) {
		fmt.Println(link.URL, link.Rel)
	}
	// Output: https://example.com/page/2 [next]
}

func ExampleStylesheet() {
	sheet := []byte(`@import "base.css"; body { background: url(../paper.png) }`)
	for _, link := range links.Stylesheet(sheet, "https://example.com/css/style.css") {
		fmt.Println(link.URL)
	}
	// Output:
	// https://example.com/css/base.css
	// https://example.com/paper.png
}
