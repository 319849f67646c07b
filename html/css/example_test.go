package css_test

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

const quotes = `<div class="quote"><span class="text">Less is <em>more</em>.</span> <a class="tag" href="/tag/art">art</a></div>
<div class="quote"><span class="text">Simplicity!</span> <a class="tag" href="/tag/design">design</a></div>`

func Example() {
	doc, err := html.Parse([]byte(quotes))
	if err != nil {
		panic(err)
	}
	tags := css.MustCompile(".quote > a.tag")
	for _, r := range tags.Select(doc.Root()) {
		fmt.Println(r.Node().CollapsedText(), r.Node().Attr("href"))
	}
	// Output:
	// art /tag/art
	// design /tag/design
}

func ExampleCompile() {
	_, err := css.Compile("a:nth-child(x)")
	var syntax *css.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Offset, syntax.Message)
	}
	// Output:
	// 12 expected a number, odd, even or An+B, found "x"
}

func ExampleSelector_Select() {
	doc, err := html.Parse([]byte(quotes))
	if err != nil {
		panic(err)
	}
	for _, r := range css.MustCompile(".text ::text, a::attr(href)").Select(doc.Root()) {
		if r.IsAttr() {
			fmt.Printf("%q\n", r.Attr().Value())
		} else {
			fmt.Printf("%q\n", r.Node().Data())
		}
	}
	// Output:
	// "Less is "
	// "more"
	// "."
	// "/tag/art"
	// "Simplicity!"
	// "/tag/design"
}

func ExampleSelector_First() {
	doc, err := html.Parse([]byte(quotes))
	if err != nil {
		panic(err)
	}
	if r, ok := css.MustCompile("div:has(em) a").First(doc.Root()); ok {
		fmt.Println(r.Node().HTML())
	}
	// Output:
	// <a class="tag" href="/tag/art">art</a>
}

func ExampleSet() {
	doc, err := html.Parse([]byte(quotes))
	if err != nil {
		panic(err)
	}
	set := css.NewSet(css.MustCompile(".quote"), css.MustCompile(".tag"))
	for i, r := range set.All(doc.Root()) {
		fmt.Println(i, r.Node().CollapsedText())
	}
	// Output:
	// 0 Less is more. art
	// 1 art
	// 0 Simplicity! design
	// 1 design
}

func ExampleOptions() {
	doc, err := html.Parse([]byte(`<a href="/x">page</a><svg><a>drawing</a></svg>`))
	if err != nil {
		panic(err)
	}
	o := css.Options{Namespaces: map[string]string{"svg": html.SVG.URI()}}
	s, err := o.Compile("svg|a")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(s.Select(doc.Root())))
	// Output:
	// 1
}
