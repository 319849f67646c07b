package html_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

const shop = `<!DOCTYPE html>
<title>Tea &amp; Coffee</title>
<ul>
<li class=item><a href="/tea?size=1&amp;cup=2">Green  tea</a> <b>3.20</b>
<li class=item><a href=/coffee>Coffee</a> <b>2.80</b>
</ul>`

func ExampleParse() {
	doc, err := html.Parse([]byte(shop))
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range doc.Root().Descendants() {
		if n.Is(html.AtomLi) {
			fmt.Println(n.CollapsedText())
		}
	}
	// Output:
	// Green tea 3.20
	// Coffee 2.80
}

func ExampleDocument_Reset() {
	var doc html.Document
	for _, page := range []string{"<p>one", "<p>two"} {
		if err := doc.Reset([]byte(page)); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(doc.Root().CollapsedText())
	}
	// Output:
	// one
	// two
}

func ExampleMaxNodes() {
	_, err := html.Parse([]byte(strings.Repeat("<p>", 1000)), html.MaxNodes(100))
	var limit *html.LimitError
	if errors.As(err, &limit) {
		fmt.Println("more than", limit.Limit, limit.What)
	}
	// Output: more than 100 nodes
}

func ExampleParseFragment() {
	doc, err := html.ParseFragment([]byte("<td>1<td>2"), html.Context{Name: "tr"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Root().HTML())
	// Output: <td>1</td><td>2</td>
}

func ExampleParseXML() {
	doc, err := html.ParseXML([]byte(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
		<url><loc>https://example.com/?a=1&amp;b=2</loc></url>
	</urlset>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range doc.Root().Descendants() {
		if n.Name() == "loc" {
			fmt.Println(n.Text())
		}
	}
	// Output: https://example.com/?a=1&b=2
}

func ExampleTags() {
	tags := html.NewTags([]byte(shop))
	for tags.Next() {
		if tags.Atom() != html.AtomA || tags.IsEnd() {
			continue
		}
		if href, ok := tags.Attr(html.AtomHref); ok {
			fmt.Printf("%s at %d\n", href, tags.Pos())
		}
	}
	// Output:
	// /tea?size=1&cup=2 at 68
	// /coffee at 142
}

func ExampleTokenizer() {
	z := html.NewTokenizer([]byte(`<p title="a &lt; b">x &amp; y</p>`))
	for kind := z.Next(); kind != html.EndToken; kind = z.Next() {
		fmt.Printf("%s %s%s", kind, z.Name(), z.Text())
		for name, value := range z.Attrs() {
			fmt.Printf(" %s=%q", name, value)
		}
		fmt.Println()
	}
	// Output:
	// start tag p title="a < b"
	// text x & y
	// end tag p
}

func ExampleNode_Ancestors() {
	doc, err := html.Parse([]byte(shop))
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range doc.Root().Descendants() {
		if n.Is(html.AtomB) {
			for p := range n.Ancestors() {
				fmt.Print(p.Name(), " ")
			}
			fmt.Println()
			break
		}
	}
	// Output: li ul body html
}

func ExampleNode_HTML() {
	doc, err := html.Parse([]byte("<p>a<b>b<p>c"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Element().LastChild().InnerHTML())
	// Output: <p>a<b>b</b></p><p><b>c</b></p>
}

func ExampleNode_FirstAttr() {
	doc, err := html.ParseFragment([]byte(`<img src=a.png alt="&lt;a&gt;" hidden>`), html.Context{})
	if err != nil {
		fmt.Println(err)
		return
	}
	img := doc.Root().FirstChild()
	for a := img.FirstAttr(); !a.IsZero(); a = a.Next() {
		fmt.Printf("%s=%q\n", a.Name(), a.Value())
	}
	// Output:
	// src="a.png"
	// alt="<a>"
	// hidden=""
}

func ExampleComposer() {
	c := html.NewComposer()
	c.Open(html.HTML, "a")
	c.Attr(html.NoNamespace, "href", "/?a&b")
	c.Text("x < y")
	c.Close()
	doc, err := c.Document()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Root().HTML())
	// Output: <a href="/?a&amp;b">x &lt; y</a>
}
