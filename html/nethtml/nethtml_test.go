package nethtml_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	net "golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/nethtml"
)

var pages = []struct{ name, source string }{
	{"plain", `<!DOCTYPE html><html lang=en><head><title>a &amp; b</title></head><body class="x y"><p>c<br>d<!-- e --></p></body></html>`},
	{"document type", `<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd"><p>`},
	{"quirks", `<p>a<table><tr><td>b</table>`},
	{"foreign", `<svg xmlns="http://www.w3.org/2000/svg" viewbox="0 0 1 1" xlink:href="#a" xml:lang=en><lineargradient/><foreignObject><p>x</p></foreignObject></svg><math definitionurl=u><mi>y</mi></math>`},
	{"values", "<p a='&amp;amp;&#13;\"' b=\"'\" c>&amp;lt;\u00a0</p>"},
	{"template", `<template><td>a</td></template>`},
	{"tree that no markup gives", `<a>1<table><a>2</table>3`},
	{"xmlns in HTML", `<p xmlns=a>`},
}

// outline writes a tree of x/net exactly.
func outline(n *net.Node) string {
	var b strings.Builder
	var walk func(n *net.Node)
	walk = func(n *net.Node) {
		fmt.Fprintf(&b, "%d %q %q %q %q(", n.Type, n.DataAtom, n.Namespace, n.Data, n.Attr)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		b.WriteString(")")
	}
	walk(n)
	return b.String()
}

func TestToNet(t *testing.T) {
	for _, page := range pages {
		t.Run(page.name, func(t *testing.T) {
			want, err := net.ParseWithOptions(strings.NewReader(page.source), net.ParseOptionEnableScripting(false))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := html.Parse([]byte(page.source))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := outline(nethtml.ToNet(doc.Root())), outline(want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if nethtml.ToNet(html.Node{}) != nil {
		t.Error("no node became one")
	}
}

func TestFromNet(t *testing.T) {
	for _, page := range pages {
		t.Run(page.name, func(t *testing.T) {
			root, err := net.ParseWithOptions(strings.NewReader(page.source), net.ParseOptionEnableScripting(false))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := nethtml.FromNet(root)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := outline(nethtml.ToNet(doc.Root())), outline(root); got != want {
				t.Errorf("there and back\ngot  %s\nwant %s", got, want)
			}
			parsed, err := html.Parse([]byte(page.source))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := doc.Root().HTML(), parsed.Root().HTML(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if _, ok := doc.Doctype(); ok && doc.QuirksMode() != parsed.QuirksMode() {
				t.Errorf("quirks mode %d, want %d", doc.QuirksMode(), parsed.QuirksMode())
			}
		})
	}
}

func TestFromNetPart(t *testing.T) {
	root, err := net.Parse(strings.NewReader(`<ul><li>a<b>c</b><li>d</ul>`))
	if err != nil {
		t.Fatal(err)
	}
	ul := root.FirstChild.LastChild.FirstChild
	doc, err := nethtml.FromNet(ul.FirstChild)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doc.Root().HTML(), `<li>a<b>c</b></li>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := nethtml.FromNet(root, html.MaxNodes(5)); err == nil {
		t.Error("no error above the limit")
	}
	if doc, err := nethtml.FromNet(nil); err != nil || doc.Len() != 1 {
		t.Errorf("of nothing: %v", err)
	}
}

func TestToNetXML(t *testing.T) {
	doc, err := html.ParseXML([]byte(`<a xmlns:p="u"><p:b p:c="1"/><?d e?></a>`))
	if err != nil {
		t.Fatal(err)
	}
	a := nethtml.ToNet(doc.Element())
	b := a.FirstChild
	if a.Data != "a" || b.Data != "p:b" || b.Namespace != "u" || b.Attr[0] != (net.Attribute{Namespace: "u", Key: "c", Val: "1"}) ||
		b.NextSibling.Type != net.CommentNode || b.NextSibling.Data != "?d e?" {
		t.Errorf("got %s", outline(a))
	}
}

func ExampleToNet() {
	doc, err := html.Parse([]byte(`<p>Hello, <b>world</b>!</p>`))
	if err != nil {
		panic(err)
	}
	for n := range doc.Root().Descendants() {
		if n.Is(html.AtomP) {
			if err := net.Render(os.Stdout, nethtml.ToNet(n)); err != nil {
				panic(err)
			}
		}
	}
	// Output: <p>Hello, <b>world</b>!</p>
}
