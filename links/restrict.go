package links

import (
	"fmt"
	"slices"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
	"github.com/tegenaria/tegenaria/html/xpath"
)

// restriction finds the elements that links are looked for in.
type restriction func(root html.Node) []html.Node

func restrict(compile func(string) restriction, queries []string) Option {
	compiled := make([]restriction, len(queries))
	for i, query := range queries {
		compiled[i] = compile(query)
	}
	return func(c *config) { c.restrictions = merge(c.restrictions, compiled) }
}

var selectors cache[*css.Selector]

func compileCSS(query string) restriction {
	selector := selectors.get(query, css.MustCompile)
	return func(root html.Node) []html.Node { return elements(selector.Select(root)) }
}

var expressions cache[*xpath.Expr]

func compileXPath(query string) restriction {
	expr := expressions.get(query, func(query string) *xpath.Expr {
		e := xpath.MustCompile(query)
		if e.Kind() != xpath.NodeSet {
			panic(fmt.Sprintf("links: XPath: %q finds no elements, it gives a %v", query, e.Kind()))
		}
		return e
	})
	return func(root html.Node) []html.Node {
		refs, err := expr.Append(nil, root.Ref())
		if err != nil {
			panic(err)
		}
		return elements(refs)
	}
}

// elements returns the elements among what a query found.
func elements(refs []html.Ref) []html.Node {
	var found []html.Node
	for _, r := range refs {
		if !r.IsAttr() {
			found = append(found, r.Node())
		}
	}
	return found
}

// parsed returns a tree of the page.
func (p *page) parsed() *html.Document {
	if p.tree != nil {
		return p.tree()
	}
	doc, err := html.Parse(p.body)
	if err != nil {
		panic(err)
	}
	return doc
}

// admitted returns where the start tags stand that are in an element which one of the restrictions
// finds, in order.
func (p *page) admitted() []int {
	doc := p.doc
	if doc == nil {
		doc = p.parsed()
	}
	var open []int
	for _, find := range p.restrictions {
		end := uint32(0) // of what was looked at: elements that are found may be nested, and are in order
		for _, top := range find(doc.Root()) {
			if top.ID() < end {
				continue
			}
			end = top.EndID()
			for id := top.ID(); id < end; id++ {
				if n := doc.Node(id); n.IsElement() {
					open = append(open, n.Pos())
				}
			}
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

// admits reports whether the restrictions, if there are any, admit the start tag that was just read.
func (p *page) admits() bool { return len(p.restrictions) == 0 || p.admitsAt(p.tags.Pos()) }

// admitsAt reports whether the restrictions admit the start tag at a position, which is behind that of the call before.
func (p *page) admitsAt(pos int) bool {
	for len(p.open) > 0 && p.open[0] < pos {
		p.open = p.open[1:]
	}
	return len(p.open) > 0 && p.open[0] == pos
}
