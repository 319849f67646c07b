package selector_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/selector"
)

const quotes = `<html><body>
<div class="quote"><span class="text">Less is <em>more</em>.</span> <small>Mies</small> <a class="tag" href="/tag/art">art</a></div>
<div class="quote"><span class="text">Simplicity!</span> <small>Rams</small> <a class="tag" href="/tag/design?p=1&amp;q=2">design</a></div>
</body></html>`

func Example() {
	doc := selector.Parse([]byte(quotes))
	for i, quote := range doc.CSS("div.quote").All() {
		fmt.Println(i, quote.CSS(".text").Text(), "by", quote.XPath(".//small/text()").Get())
	}
	// Output:
	// 0 Less is more. by Mies
	// 1 Simplicity! by Rams
}

func ExampleDocument_CSS() {
	doc := selector.Parse([]byte(quotes))
	fmt.Println(doc.CSS("em").Get())
	fmt.Printf("%q\n", doc.CSS("span.text::text").GetAll())
	fmt.Printf("%q\n", doc.CSS("span.text ::text").GetAll())
	fmt.Printf("%q\n", doc.CSS("small::text, a::attr(href)").GetAll())
	// Output:
	// <em>more</em>
	// ["Less is " "." "Simplicity!"]
	// ["Less is " "more" "." "Simplicity!"]
	// ["Mies" "/tag/art" "Rams" "/tag/design?p=1&q=2"]
}

func ExampleDocument_XPath() {
	doc := selector.Parse([]byte(quotes))
	fmt.Println(doc.XPath("//a[@class='tag']/@href").GetAll())
	fmt.Println(doc.XPath("count(//a)").Get())
	fmt.Println(doc.XPath("//small[. = 'Rams']/../a").Text())
	// Output:
	// [/tag/art /tag/design?p=1&q=2]
	// 2
	// design
}

func ExampleSelection_Text() {
	doc := selector.Parse([]byte("<p>alpha\n  beta</p><p>gam<b>ma</b></p><script>ignored()</script>"))
	fmt.Println(doc.CSS("body").Text())
	// Output:
	// alpha beta gamma
}

func ExampleSelection_Attr() {
	doc := selector.Parse([]byte(quotes))
	tags := doc.CSS("a.tag")
	fmt.Println(tags.Attr("href"))
	fmt.Println(tags.Attrs("href"))
	fmt.Printf("%q\n", doc.CSS("a.nosuch").First().Attr("href"))
	// Output:
	// /tag/art
	// [/tag/art /tag/design?p=1&q=2]
	// ""
}

func ExampleCompile() {
	_, err := selector.Compile("a[href")
	fmt.Println(err != nil)
	tags, err := selector.Compile("a.tag::text")
	if err != nil {
		panic(err)
	}
	fmt.Println(selector.Parse([]byte(quotes)).Select(tags).GetAll())
	// Output:
	// true
	// [art design]
}
