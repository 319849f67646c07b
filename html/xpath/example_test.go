package xpath_test

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
)

const quotes = `<div class="quote"><span>Less is <em>more</em>.</span> <a class="tag" href="/tag/art">art</a></div>
<div class="quote"><span>Simplicity!</span> <a class="tag" href="/tag/design">design</a></div>`

func Example() {
	doc, err := html.Parse([]byte(quotes))
	if err != nil {
		panic(err)
	}
	tags := xpath.MustCompile("//div[has-class('quote')][span/em]/a/@href")
	v, err := tags.Evaluate(doc.Root().Ref())
	if err != nil {
		panic(err)
	}
	for _, r := range v.Nodes() {
		fmt.Println(r.Attr().Value())
	}
	// Output:
	// /tag/art
}

func ExampleExpr_Evaluate() {
	doc, err := html.Parse([]byte(quotes))
	if err != nil {
		panic(err)
	}
	for _, expr := range []string{"count(//a)", "string(//span)", "//a[2] = 'x'", "//a"} {
		v, err := xpath.MustCompile(expr).Evaluate(doc.Root().Ref())
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: %v\n", v.Kind(), v)
	}
	// Output:
	// number: 2
	// string: Less is more.
	// boolean: false
	// node-set: art
}

func ExampleCompile() {
	_, err := xpath.Compile("//a[contains(.)]")
	var syntax *xpath.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Offset, syntax.Message)
	}
	// Output:
	// 4 wrong number of arguments for contains
}

func ExampleOptions() {
	doc, err := html.ParseXML([]byte(`<feed xmlns:m="http://search.yahoo.com/mrss/"><entry><m:title>One</m:title></entry></feed>`))
	if err != nil {
		panic(err)
	}
	o := xpath.Options{Namespaces: map[string]string{"media": "http://search.yahoo.com/mrss/"}}
	e, err := o.Compile("string(/feed/entry/media:title)")
	if err != nil {
		panic(err)
	}
	v, err := e.Evaluate(doc.Root().Ref())
	if err != nil {
		panic(err)
	}
	fmt.Println(v)
	// Output:
	// One
}
