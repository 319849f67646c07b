package xpath

import (
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// axis is a direction: XPath 1.0, section 2.2. The namespace axis is left out.
type axis uint8

const (
	childAxis axis = iota
	descendantAxis
	parentAxis
	ancestorAxis
	followingSibling
	precedingSibling
	followingAxis
	precedingAxis
	attributeAxis
	selfAxis
	descendantOrSelf
	ancestorOrSelf
)

var axes = map[string]axis{
	"child": childAxis, "descendant": descendantAxis, "parent": parentAxis, "ancestor": ancestorAxis,
	"following-sibling": followingSibling, "preceding-sibling": precedingSibling,
	"following": followingAxis, "preceding": precedingAxis, "attribute": attributeAxis, "self": selfAxis,
	"descendant-or-self": descendantOrSelf, "ancestor-or-self": ancestorOrSelf,
}

// reverse reports whether positions on the axis count against document order: section 2.4.
func (a axis) reverse() bool {
	return a == ancestorAxis || a == ancestorOrSelf || a == precedingAxis || a == precedingSibling
}

// enough returns a part of a set from which a step without positions reaches as much as from all of
// it, so that what lies one inside the other or side by side costs its sum and not its product.
func (a axis) enough(ev *evaluator, set []ref) []ref {
	switch a {
	case descendantAxis, descendantOrSelf:
		// What is inside of another node of the set is reached from there.
		kept, until := set[:0], uint32(0)
		for _, r := range set {
			if r.attr != 0 && a == descendantOrSelf || r.node >= until {
				kept = append(kept, r)
				if r.attr == 0 {
					until = ev.behind(r)
				}
			}
		}
		return kept
	case followingAxis:
		first := set[0]
		for _, r := range set[1:] {
			if ev.behind(r) < ev.behind(first) {
				first = r
			}
		}
		return append(set[:0], first)
	case precedingAxis:
		return append(set[:0], set[len(set)-1])
	case followingSibling, precedingSibling:
		// The first of all siblings, or the last, reaches what the others do.
		if a == precedingSibling {
			slices.Reverse(set)
		}
		seen := make(map[uint32]bool)
		set = slices.DeleteFunc(set, func(r ref) bool {
			parent := ev.doc.Node(r.node).Parent().ID()
			if r.attr != 0 || seen[parent] {
				return true
			}
			seen[parent] = true
			return false
		})
	}
	return set
}

// behind returns the first node that follows another in the sense of the following axis. What
// follows an attribute are the nodes inside its element too.
func (ev *evaluator) behind(r ref) uint32 {
	k := ev.index.Position(ev.doc.Node(r.node))
	if e := &ev.index.Elements()[k]; r.attr == 0 && e.ID == r.node {
		return ev.index.Kin()[k].EndID
	}
	return r.node + 1
}

// from visits what the axis reaches from a node, nearest first.
func (w *walk) from(r ref) {
	n := w.ev.doc.Node(r.node)
	isAttr := r.attr != 0
	switch w.step.axis {
	case selfAxis:
		w.visit(r)
	case parentAxis:
		if isAttr {
			w.visit(ref{node: r.node})
		} else if parent := n.Parent(); !parent.IsZero() {
			w.visit(ref{node: parent.ID()})
		}
	case childAxis:
		if !isAttr {
			w.siblings(n.FirstChild(), html.Node.NextSibling)
		}
	case followingSibling:
		if !isAttr {
			w.siblings(n.NextSibling(), html.Node.NextSibling)
		}
	case precedingSibling:
		if !isAttr {
			w.siblings(n.PrevSibling(), html.Node.PrevSibling)
		}
	case attributeAxis:
		if !isAttr {
			w.attributes(n)
		}
	case descendantOrSelf:
		if w.visit(r) && !isAttr {
			w.span(r.node+1, w.ev.behind(r))
		}
	case descendantAxis:
		if !isAttr {
			w.span(r.node+1, w.ev.behind(r))
		}
	case followingAxis:
		w.span(w.ev.behind(r), uint32(w.ev.doc.Len()+1))
	case precedingAxis:
		w.before(n)
	case ancestorOrSelf:
		if w.visit(r) {
			w.above(n, isAttr)
		}
	case ancestorAxis:
		w.above(n, isAttr)
	}
}

func (w *walk) siblings(n html.Node, next func(html.Node) html.Node) {
	for ; !n.IsZero(); n = next(n) {
		if n.Kind() != html.DoctypeNode && !w.visit(ref{node: n.ID()}) {
			return
		}
	}
}

func (w *walk) attributes(n html.Node) {
	if t, ok := w.step.test.(*nameTest); ok && !w.ev.xml && !t.declared && !strings.HasSuffix(t.name, "*") {
		if a := w.ev.findAttr(n, html.Atom(w.ev.names[t.number])); !a.IsZero() && w.ev.names[t.number] != 0 {
			w.visit(ref{n.ID(), a.ID()})
		}
		return
	}
	for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
		// Declarations of namespaces are no attributes: section 5.3.
		if a.Namespace() != html.XMLNS && !w.visit(ref{n.ID(), a.ID()}) {
			return
		}
	}
}

// span visits the nodes numbered from lo to without hi, in the index if only one name is wanted.
func (w *walk) span(lo, hi uint32) {
	if t, ok := w.step.test.(*nameTest); ok && !strings.HasSuffix(t.name, "*") && hi-lo > 8 {
		w.named(w.ev.index.ByName(w.ev.names[t.number]), lo, hi)
		return
	}
	for id := lo; id < hi; id++ {
		if w.ev.doc.Node(id).Kind() != html.DoctypeNode && !w.visit(ref{node: id}) {
			return
		}
	}
}

// named does it for elements in a list of the index.
func (w *walk) named(list []int32, lo, hi uint32) {
	elements := w.ev.index.Elements()
	i, _ := slices.BinarySearchFunc(list, lo, func(k int32, id uint32) int { return int(elements[k].ID) - int(id) })
	for _, k := range list[i:] {
		id := elements[k].ID
		if id >= hi || !w.visit(ref{node: id}) {
			return
		}
	}
}

// before visits the nodes that precede a node and are not its ancestors, nearest first.
func (w *walk) before(n html.Node) {
	up := n.Parent().ID()
	for id := n.ID() - 1; id > 0; id-- {
		if id == up {
			if !w.ev.spend(1) {
				return
			}
			up = w.ev.doc.Node(id).Parent().ID()
			continue
		}
		if w.ev.doc.Node(id).Kind() != html.DoctypeNode && !w.visit(ref{node: id}) {
			return
		}
	}
}

// above visits the ancestors, for an attribute its element first, up to one that was visited before,
// and its ancestors with it.
func (w *walk) above(n html.Node, isAttr bool) {
	if !isAttr {
		n = n.Parent()
	}
	for ; !n.IsZero() && !w.seen[n.ID()]; n = n.Parent() {
		if w.seen != nil {
			w.seen[n.ID()] = true
		}
		if !w.visit(ref{node: n.ID()}) {
			return
		}
	}
}

// nodeTest says which nodes a step wants: section 2.3.
type nodeTest interface {
	matches(ev *evaluator, r ref) bool
}

// anyNode is node().
type anyNode struct{}

func (anyNode) matches(*evaluator, ref) bool { return true }

// kindTest is text() and comment().
type kindTest html.Kind

func (t kindTest) matches(ev *evaluator, r ref) bool {
	return r.attr == 0 && ev.doc.Node(r.node).Kind() == html.Kind(t)
}

// instruction is processing-instruction(), of any or of one target.
type instruction struct{ target string }

func (t instruction) matches(ev *evaluator, r ref) bool {
	n := ev.doc.Node(r.node)
	return r.attr == 0 && n.Kind() == html.InstructionNode && (t.target == "" || n.Name() == t.target)
}

var nodeTypes = map[string]nodeTest{
	"node": anyNode{}, "text": kindTest(html.TextNode), "comment": kindTest(html.CommentNode),
	"processing-instruction": instruction{},
}

// principal is a star: the nodes of the axis's principal type.
type principal struct{ ofAttrs bool }

func (t principal) matches(ev *evaluator, r ref) bool {
	if t.ofAttrs {
		return r.attr != 0
	}
	return r.attr == 0 && ev.doc.Node(r.node).IsElement()
}

// nameTest is a name, or a prefix with a star behind it. See Options.Namespaces for prefixes.
type nameTest struct {
	number        int // into evaluator.names
	name          string
	prefix, local string
	uri           string
	declared      bool // the prefix stands for uri
	ofAttrs       bool
}

func (t *nameTest) matches(ev *evaluator, r ref) bool {
	if t.ofAttrs != (r.attr != 0) {
		return false
	}
	if t.ofAttrs {
		a := ev.doc.Ref(r.node, r.attr).Attr()
		switch {
		case t.declared:
			return (t.local == "*" || ev.read(a.LocalName()) == t.local) && ev.read(a.NamespaceURI()) == t.uri
		case t.local == "*":
			return strings.HasPrefix(ev.read(a.Name()), t.prefix+":")
		case ev.xml:
			return ev.isName(a.Atom(), t.name)
		}
		return uint32(a.Atom()) == ev.names[t.number]
	}
	n := ev.doc.Node(r.node)
	if !n.IsElement() {
		return false
	}
	switch {
	case t.declared:
		return (t.local == "*" || ev.read(n.LocalName()) == t.local) && ev.read(n.NamespaceURI()) == t.uri
	case t.local == "*":
		return strings.HasPrefix(ev.read(n.Name()), t.prefix+":")
	case ev.xml:
		return ev.isName(n.Atom(), t.name)
	}
	return uint32(n.Atom()) == ev.names[t.number]
}
