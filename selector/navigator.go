package selector

import (
	"strings"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

var _ xpath.NodeNavigator = (*navigator)(nil)

// navigator shows a page to the XPath library as the data model of XPath 1.0, section 5, has it.
// Doctypes are not part of that model and are stepped over.
type navigator struct {
	root, node *html.Node
	attr       int // index of the attribute that the navigator is at, or noAttr
}

// NodeType implements xpath.NodeNavigator.
func (n *navigator) NodeType() xpath.NodeType {
	switch {
	case n.attr != noAttr:
		return xpath.AttributeNode
	case n.node.Type == html.ElementNode:
		return xpath.ElementNode
	case n.node.Type == html.TextNode:
		return xpath.TextNode
	case n.node.Type == html.CommentNode:
		return xpath.CommentNode
	}
	return xpath.RootNode
}

// LocalName implements xpath.NodeNavigator.
func (n *navigator) LocalName() string {
	switch {
	case n.attr != noAttr:
		return n.node.Attr[n.attr].Key
	case n.node.Type == html.ElementNode:
		return n.node.Data
	}
	return ""
}

// Prefix implements xpath.NodeNavigator. Only attributes of SVG and MathML have one.
func (n *navigator) Prefix() string {
	if n.attr != noAttr {
		return n.node.Attr[n.attr].Namespace
	}
	return ""
}

// Value implements xpath.NodeNavigator: the string value, for elements and the root all text
// inside.
func (n *navigator) Value() string {
	switch {
	case n.attr != noAttr:
		return n.node.Attr[n.attr].Val
	case n.node.Type == html.TextNode || n.node.Type == html.CommentNode:
		return n.node.Data
	}
	var b strings.Builder
	for d := range n.node.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// Copy implements xpath.NodeNavigator.
func (n *navigator) Copy() xpath.NodeNavigator {
	c := *n
	return &c
}

// MoveToRoot implements xpath.NodeNavigator.
func (n *navigator) MoveToRoot() { n.node, n.attr = n.root, noAttr }

// MoveToParent implements xpath.NodeNavigator.
func (n *navigator) MoveToParent() bool {
	if n.attr != noAttr {
		n.attr = noAttr
		return true
	}
	return n.moveTo(n.node.Parent)
}

// MoveToNextAttribute implements xpath.NodeNavigator.
func (n *navigator) MoveToNextAttribute() bool {
	if n.attr+1 >= len(n.node.Attr) || n.node.Type != html.ElementNode {
		return false
	}
	n.attr++
	return true
}

// MoveToChild implements xpath.NodeNavigator.
func (n *navigator) MoveToChild() bool {
	return n.attr == noAttr && n.moveTo(skipDoctype(n.node.FirstChild, next))
}

// MoveToFirst implements xpath.NodeNavigator.
func (n *navigator) MoveToFirst() bool {
	if n.attr != noAttr || n.node.Parent == nil {
		return false
	}
	first := skipDoctype(n.node.Parent.FirstChild, next)
	return first != n.node && n.moveTo(first)
}

// MoveToNext implements xpath.NodeNavigator.
func (n *navigator) MoveToNext() bool {
	return n.attr == noAttr && n.moveTo(skipDoctype(n.node.NextSibling, next))
}

// MoveToPrevious implements xpath.NodeNavigator.
func (n *navigator) MoveToPrevious() bool {
	return n.attr == noAttr && n.moveTo(skipDoctype(n.node.PrevSibling, previous))
}

// MoveTo implements xpath.NodeNavigator.
func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	if !ok || o.root != n.root {
		return false
	}
	n.node, n.attr = o.node, o.attr
	return true
}

func (n *navigator) moveTo(to *html.Node) bool {
	if to == nil {
		return false
	}
	n.node = to
	return true
}

func next(n *html.Node) *html.Node     { return n.NextSibling }
func previous(n *html.Node) *html.Node { return n.PrevSibling }

func skipDoctype(n *html.Node, step func(*html.Node) *html.Node) *html.Node {
	for n != nil && n.Type == html.DoctypeNode {
		n = step(n)
	}
	return n
}
