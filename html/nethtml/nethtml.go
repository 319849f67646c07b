// Package nethtml turns trees of package html into those of golang.org/x/net/html and back, for code
// that is written for the latter, such as goquery:
//
//	doc, err := html.Parse(page)
//	...
//	document := goquery.NewDocumentFromNode(nethtml.ToNet(doc.Root()))
//
// Each way is a copy. It is a package of its own so that package html needs no other module.
package nethtml

import (
	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tegenaria/tegenaria/html"
)

// ToNet copies a node with all that is inside it to a tree of x/net. The copy has no parent and shares
// no memory with the document. It returns nil for the zero node. Processing instructions, which only
// XML documents have, become comments as in HTML; namespaces that x/net has no name for keep their
// URI.
func ToNet(n html.Node) *nethtml.Node {
	if n.IsZero() {
		return nil
	}
	root := toNet(n)
	// The copies of the nodes that are open, the innermost last.
	open := []*nethtml.Node{root}
	source := []html.Node{n}
	for c := range n.Descendants() {
		for source[len(source)-1] != c.Parent() {
			open, source = open[:len(open)-1], source[:len(source)-1]
		}
		copied := toNet(c)
		open[len(open)-1].AppendChild(copied)
		open, source = append(open, copied), append(source, c)
	}
	return root
}

// toNet copies a node alone.
func toNet(n html.Node) *nethtml.Node {
	switch n.Kind() {
	case html.DocumentNode:
		return &nethtml.Node{Type: nethtml.DocumentNode}
	case html.DoctypeNode:
		t, _ := n.Document().Doctype()
		copied := &nethtml.Node{Type: nethtml.DoctypeNode, Data: t.Name}
		if t.HasPublic {
			copied.Attr = append(copied.Attr, nethtml.Attribute{Key: "public", Val: t.Public})
		}
		if t.HasSystem {
			copied.Attr = append(copied.Attr, nethtml.Attribute{Key: "system", Val: t.System})
		}
		return copied
	case html.TextNode:
		return &nethtml.Node{Type: nethtml.TextNode, Data: n.Text()}
	case html.CommentNode:
		return &nethtml.Node{Type: nethtml.CommentNode, Data: n.Text()}
	case html.InstructionNode:
		return &nethtml.Node{Type: nethtml.CommentNode, Data: "?" + n.Name() + " " + n.Text() + "?"}
	}
	copied := &nethtml.Node{Type: nethtml.ElementNode, Data: n.Name(), Namespace: prefix(n.Namespace(), n.NamespaceURI())}
	copied.DataAtom = atom.Lookup([]byte(copied.Data))
	for a := range n.Attrs() {
		key, space := a.Name(), prefix(a.Namespace(), a.NamespaceURI())
		switch {
		case key == "xmlns":
			space = "" // x/net leaves it as it is
		case space != "":
			key = a.LocalName()
		}
		copied.Attr = append(copied.Attr, nethtml.Attribute{Namespace: space, Key: key, Val: a.Value()})
	}
	return copied
}

// prefix returns what x/net calls a namespace.
func prefix(ns html.Namespace, uri string) string {
	switch ns {
	case html.HTML, html.NoNamespace:
		return ""
	case html.SVG:
		return "svg"
	case html.MathML:
		return "math"
	case html.XLink:
		return "xlink"
	case html.XML:
		return "xml"
	case html.XMLNS:
		return "xmlns"
	}
	return uri
}

// FromNet copies a tree of x/net to a document: the children of the document's root are those of n if
// that is a document, else n alone. The copy is the same tree, whether markup could give it or not. Raw
// nodes, which only programs make, become text. The only error is a *[html.LimitError]; there is no
// limit unless an option sets one.
func FromNet(n *nethtml.Node, options ...html.Option) (*html.Document, error) {
	c := html.NewComposer(options...)
	for at := n; at != nil; {
		add(c, at)
		if at.FirstChild != nil {
			at = at.FirstChild
			continue
		}
		for at != n && at.NextSibling == nil {
			leave(c, at)
			at = at.Parent
		}
		leave(c, at)
		if at == n {
			break
		}
		at = at.NextSibling
	}
	return c.Document()
}

func leave(c *html.Composer, n *nethtml.Node) {
	if n.Type == nethtml.ElementNode {
		c.Close()
	}
}

// add adds a node; an element stays open.
func add(c *html.Composer, n *nethtml.Node) {
	switch n.Type {
	case nethtml.TextNode, nethtml.RawNode:
		c.Text(n.Data)
	case nethtml.CommentNode:
		c.Comment(n.Data)
	case nethtml.DoctypeNode:
		t := html.Doctype{Name: n.Data}
		for _, a := range n.Attr {
			switch a.Key {
			case "public":
				t.Public, t.HasPublic = a.Val, true
			case "system":
				t.System, t.HasSystem = a.Val, true
			}
		}
		c.Doctype(t)
	case nethtml.ElementNode:
		c.Open(elementSpace(n.Namespace), n.Data)
		for _, a := range n.Attr {
			space, name := attrSpace(n, a)
			c.Attr(space, name, a.Val)
		}
	}
}

func elementSpace(namespace string) html.Namespace {
	switch namespace {
	case "svg":
		return html.SVG
	case "math":
		return html.MathML
	}
	return html.HTML
}

// attrSpace returns the namespace of an attribute of n and its name with the prefix.
func attrSpace(n *nethtml.Node, a nethtml.Attribute) (html.Namespace, string) {
	switch a.Namespace {
	case "xlink":
		return html.XLink, "xlink:" + a.Key
	case "xml":
		return html.XML, "xml:" + a.Key
	case "xmlns":
		return html.XMLNS, "xmlns:" + a.Key
	}
	if a.Key == "xmlns" && n.Namespace != "" {
		return html.XMLNS, a.Key
	}
	return html.NoNamespace, a.Key
}
