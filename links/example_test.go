package links_test

import (
	"fmt"
	"strings"

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
