package selector_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/selector"
)

// The code of docs/guides/selecting.md.
func Example_guide() {
	const shop = `<script type="application/ld+json">{"offers": [{"price": "3.50"}, {"price": "4.00"}]}</script>
<article class="product"><h3>Green tea</h3><span class="price">EUR 3.50</span><a href="green">more</a></article>
<article class="product"><h3>Black tea</h3><span class="price">EUR 4.00</span><span>sold out</span><a href="black">more</a></article>`

	page := selector.Parse([]byte(shop), selector.URL("https://shop.example/tea/"))
	for _, product := range page.CSS("article.product").All() {
		name := product.CSS("h3").Text()
		price := product.CSS(".price::text").ReFirst(`[0-9.]+`)
		fmt.Println(name, price, product.CSS("a").URL())
	}

	fmt.Println(page.XPath("//span[. = 'sold out']/ancestor::article/h3").Text())
	fmt.Println(page.XPath("count(//article)").Get())
	fmt.Println(page.CSS("script[type='application/ld+json']").JSON("offers.#.price").GetAll())
	fmt.Println(page.XPath("//h3[. = $name]/../a/@href", selector.Var("name", "Black tea")).Get())
	// Output:
	// Green tea 3.50 https://shop.example/tea/green
	// Black tea 4.00 https://shop.example/tea/black
	// Black tea
	// 2
	// [3.50 4.00]
	// black
}
