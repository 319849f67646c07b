package selector

import (
	"errors"
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// cssQuery is a comma list of selectors.
type cssQuery struct {
	branches []branch
	texts    bool // some branch ends with ::text
	attrs    bool // some branch ends with ::attr
}

// branch is one selector of the list.
type branch struct {
	elements cascadia.SelectorGroup
	want     want
	attr     string // for wantAttr
	anywhere bool   // "::text" alone, which also selects a text node that is the context itself
}

// want is what a branch selects of the elements that it matches.
type want uint8

const (
	wantNode want = iota
	wantText
	wantAttr
)

func parseCSS(query string) (matcher, error) {
	q := &cssQuery{}
	for _, part := range splitCSS(query) {
		b, err := parseBranch(part)
		if err != nil {
			return nil, err
		}
		q.branches = append(q.branches, b)
		q.texts = q.texts || b.want == wantText
		q.attrs = q.attrs || b.want == wantAttr
	}
	return q, nil
}

// parseBranch turns parsel's pseudo-elements into a wish and gives the rest to cascadia.
func parseBranch(part cssPart) (branch, error) {
	b := branch{}
	elements := part.text
	if part.pseudo >= 0 {
		pseudo := strings.TrimRight(part.text[part.pseudo:], cssSpace)
		name, isAttr := strings.CutPrefix(pseudo, "::attr(")
		switch {
		case pseudo == "::text":
			b.want = wantText
		case isAttr:
			name, closed := strings.CutSuffix(name, ")")
			name = strings.Trim(name, cssSpace)
			if !closed || !isAttrName(name) {
				return b, fmt.Errorf("%s: want an attribute name as in ::attr(href)", pseudo)
			}
			b.want, b.attr = wantAttr, name
		}
		if b.want != wantNode {
			elements, b.anywhere = impliedElement(part.text[:part.pseudo])
			b.anywhere = b.anywhere && b.want == wantText
		}
	}
	if strings.Trim(elements, cssSpace) == "" {
		return b, errors.New("empty selector")
	}
	group, err := cascadia.ParseGroupWithPseudoElements(elements)
	if err != nil {
		return b, err
	}
	for _, sel := range group {
		// Pseudo-elements of CSS such as ::before are valid but are no nodes of the page.
		if sel.PseudoElement() == "" {
			b.elements = append(b.elements, sel)
		}
	}
	return b, nil
}

// impliedElement completes the selector in front of ::text or ::attr. Nothing, or a star, after a
// descendant combinator means the left side and all that is inside: "p ::text" is all text of p,
// as parsel has it. It also reports whether the selector is nothing or a star alone.
func impliedElement(sel string) (completed string, universal bool) {
	last := strings.TrimLeft(sel, cssSpace)
	if last == "" || last == "*" {
		return "*", true
	}
	left := strings.TrimSuffix(sel, "*")
	trimmed := strings.TrimRight(left, cssSpace)
	switch {
	case strings.ContainsRune(">+~", rune(trimmed[len(trimmed)-1])):
		return trimmed + "*", false
	case len(trimmed) < len(left):
		return trimmed + "," + trimmed + " *", false
	}
	return sel, false
}

// isAttrName reports whether s can name an attribute: HTML's and, with a colon, SVG's.
func isAttrName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x80 && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			r == '-' || r == '_' || r == ':' || r == '.')
	})
}

const cssSpace = " \t\r\n\f"

// cssPart is one selector of a comma list. pseudo is where its first "::" stands, or -1.
type cssPart struct {
	text   string
	pseudo int
}

// splitCSS splits a list at its commas, those in strings, brackets and comments left alone. It
// judges nothing: what is wrong stays wrong in the parts.
func splitCSS(query string) []cssPart {
	var parts []cssPart
	start, pseudo, depth := 0, -1, 0
	end := func(i int) {
		parts = append(parts, cssPart{text: query[start:i], pseudo: pseudo})
		start, pseudo = i+1, -1
	}
	for i := 0; i < len(query); i++ {
		switch c := query[i]; c {
		case '\\':
			i++
		case '"', '\'':
			i++
			for i < len(query) && query[i] != c {
				if query[i] == '\\' {
					i++
				}
				i++
			}
		case '/':
			if rest := query[i:]; strings.HasPrefix(rest, "/*") {
				n := strings.Index(rest[2:], "*/")
				if n < 0 {
					n = len(rest)
				}
				i += n + 3
			}
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth <= 0 {
				end(i)
			}
		case ':':
			if depth <= 0 && pseudo < 0 && strings.HasPrefix(query[i:], "::") {
				pseudo = i - start
			}
		}
	}
	end(len(query))
	return parts
}

func (q *cssQuery) match(_ *Document, contexts []item) ([]item, error) {
	var found []item
	var last *html.Node
	for _, c := range contexts {
		if c.node == nil || c.attr != noAttr || inside(c.node, last) {
			continue
		}
		last = c.node
		if c.node.Type == html.TextNode {
			if q.takesText() {
				found = append(found, c)
			}
			continue
		}
		found = q.collect(found, c.node)
	}
	return found, nil
}

func (q *cssQuery) takesText() bool {
	for i := range q.branches {
		if q.branches[i].anywhere {
			return true
		}
	}
	return false
}

// inside reports whether n is in the tree below top.
func inside(n, top *html.Node) bool {
	if top == nil {
		return false
	}
	for ; n != nil; n = n.Parent {
		if n == top {
			return true
		}
	}
	return false
}

// collect appends what is selected in n and below it, in document order: an element, its
// attributes, its children.
func (q *cssQuery) collect(found []item, n *html.Node) []item {
	texts := false
	if n.Type == html.ElementNode {
		if q.any(n, wantNode) {
			found = append(found, item{node: n, attr: noAttr})
		}
		if q.attrs {
			found = q.collectAttrs(found, n)
		}
		texts = q.texts && q.any(n, wantText)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.ElementNode:
			found = q.collect(found, c)
		case html.TextNode:
			if texts {
				found = append(found, item{node: c, attr: noAttr})
			}
		}
	}
	return found
}

// any reports whether a branch with that wish matches n.
func (q *cssQuery) any(n *html.Node, w want) bool {
	for i := range q.branches {
		if b := &q.branches[i]; b.want == w && b.elements.Match(n) {
			return true
		}
	}
	return false
}

func (q *cssQuery) collectAttrs(found []item, n *html.Node) []item {
	for i := range n.Attr {
		for j := range q.branches {
			b := &q.branches[j]
			if b.want == wantAttr && attrNamed(&n.Attr[i], b.attr) && b.elements.Match(n) {
				found = append(found, item{node: n, attr: i})
				break
			}
		}
	}
	return found
}
