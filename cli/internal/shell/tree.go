package shell

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/selector"
)

// The tree of a page is shown so far.
const (
	mostLines = 200
	mostDeep  = 40
)

// tree prints the elements of the page, or those of what was found.
func (s *Shell) tree(_ context.Context, c call) (*selector.Selection, error) {
	in := c.in
	if !c.piped {
		in = s.page.CSS(":root")
	}
	t := &outline{s: s, out: bufio.NewWriter(s.out)}
	for _, n := range in.Nodes() {
		t.add([]html.Node{n}, 0)
	}
	if err := t.out.Flush(); err != nil {
		return nil, err
	}
	switch {
	case t.lines == 0:
		s.note("nothing found")
	case t.left:
		s.note("there is more: css SELECTOR | tree shows a part of the page")
	}
	return nil, nil
}

// outline prints a tree.
type outline struct {
	s     *Shell
	out   *bufio.Writer
	lines int
	left  bool // something was left out
}

// add prints the first of some elements that look alike, with what is inside.
func (t *outline) add(alike []html.Node, depth int) {
	n := alike[0]
	if !n.IsElement() {
		return
	}
	if t.lines == mostLines || depth == mostDeep {
		t.left = true
		return
	}
	t.lines++
	line := strings.Repeat("  ", depth) + label(n)
	if len(alike) > 1 {
		line += fmt.Sprintf("  × %d", len(alike))
	}
	fmt.Fprintln(t.out, t.s.host.Printable(line))
	var group []html.Node
	for child := range n.Children() {
		if !child.IsElement() {
			continue
		}
		if len(group) > 0 && label(group[0]) != label(child) {
			t.add(group, depth+1)
			group = nil
		}
		group = append(group, child)
	}
	if len(group) > 0 {
		t.add(group, depth+1)
	}
}

// label is an element as a selector would have it: li#first.item.
func label(n html.Node) string {
	var b strings.Builder
	b.WriteString(identifier(n.Name()))
	if id := n.Attr("id"); id != "" {
		b.WriteString("#" + identifier(id))
	}
	for class := range strings.FieldsSeq(n.Attr("class")) {
		b.WriteString("." + identifier(class))
	}
	return b.String()
}
