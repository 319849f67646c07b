package links

import (
	"slices"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
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
	return func(root html.Node) []html.Node {
		var found []html.Node
		for _, r := range selector.Select(root) {
			found = append(found, r.Node())
		}
		return found
	}
}

// admitted returns where the start tags stand that are in an element which one of the restrictions
// finds, in order.
func (p *page) admitted() []int {
	doc, err := html.Parse(p.body)
	if err != nil {
		return nil // no page has so many nodes that is not made for it
	}
	var open []int
	for _, find := range p.restrictions {
		for _, top := range find(doc.Root()) {
			for id := top.ID(); id < top.EndID(); id++ {
				if n := doc.Node(id); n.IsElement() {
					open = append(open, n.Pos())
				}
			}
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

// admits tells whether the restrictions, if there are any, admit the start tag that was just read.
func (p *page) admits() bool {
	if len(p.restrictions) == 0 {
		return true
	}
	for len(p.open) > 0 && p.open[0] < p.tags.pos {
		p.open = p.open[1:]
	}
	return len(p.open) > 0 && p.open[0] == p.tags.pos
}
