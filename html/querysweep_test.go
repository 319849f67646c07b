package html_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// TestSweepMethods compares what a sweep finds with the tree, node by node.
func TestSweepMethods(t *testing.T) {
	const page = `<body id=top class="a b"><p id=x title>one<b class='c  a'>two</b><!--c--></p><p class=a-long-word-x id=A></p>
<svg class=a><a xlink:href=y id='x&amp;' class='&#97;'/></svg><i class="x&amp;a a&b"></i><table><tr><td class='b&#32;a'><td class='b&a'></table>
<u class=" a"></u><u class="a	"></u><u class="aa"></u><u class="a-long-word a-long-word-xx a-long-word-x"></u><u id="&#120;" class=""></u><u class=A></u>`
	for _, mode := range []string{"<!DOCTYPE html>", ""} {
		doc := parse(t, mode+page)
		w := doc.Sweep(doc.SweepLimit())
		var nodes []html.Node
		for id := range uint32(doc.Len()) {
			nodes = append(nodes, doc.Node(id+1))
		}
		end := uint32(doc.Len()) + 1
		compare := func(what string, next func(from, end uint32) uint32, is func(n html.Node) bool) {
			t.Helper()
			var got, want []string
			for id := next(1, end); id < end; id = next(id+1, end) {
				got = append(got, fmt.Sprint(id, w.Node(id).Name()))
			}
			for _, n := range nodes {
				if n.IsElement() && is(n) {
					want = append(want, fmt.Sprint(n.ID(), n.Name()))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: %s: a sweep finds %v, want %v", mode, what, got, want)
			}
			if len(want) > 0 && next(1, 2) != 2 {
				t.Errorf("%s: found behind the end", what)
			}
		}
		fold := func(s string) string {
			if doc.QuirksMode() == html.Quirks {
				return strings.ToLower(s)
			}
			return s
		}
		compare("all", w.Element, html.Node.IsElement)
		for _, name := range []html.Atom{html.AtomA, html.AtomU, html.AtomVideo, 0} {
			compare(name.String(), func(from, end uint32) uint32 { return w.Named(from, end, name) },
				func(n html.Node) bool { return n.Atom() == name })
		}
		for _, name := range []html.Atom{html.AtomId, html.AtomTitle, html.AtomXlinkHref, html.AtomSrc, 0} {
			compare("with "+name.String(), func(from, end uint32) uint32 { return w.With(from, end, name) },
				func(n html.Node) bool { return !n.FindAttr(name).IsZero() })
			for _, n := range nodes {
				if n.IsElement() && w.Attr(n.ID(), name) != n.FindAttr(name) {
					t.Errorf("%s has another attribute %s", n.Name(), name)
				}
			}
		}
		for _, word := range []string{"a", "A", "b", "x", "X", "top", "aa", "a-long-word", "a-long-word-x", "nosuch", "97", "amp;"} {
			hasID := func(n html.Node) bool { return fold(n.Attr("id")) == fold(word) }
			hasClass := func(n html.Node) bool { return slices.Contains(strings.Fields(fold(n.Attr("class"))), fold(word)) }
			compare("id "+word, func(from, end uint32) uint32 { return w.WithID(from, end, word) }, hasID)
			compare("class "+word, func(from, end uint32) uint32 { return w.WithClass(from, end, word) }, hasClass)
			for _, n := range nodes {
				if n.IsElement() && (w.HasID(n.ID(), word) != hasID(n) || w.HasClass(n.ID(), word) != hasClass(n)) {
					t.Errorf("%q: %s is said to have the id %s: %v, the class: %v", mode, n.Name(), word, !hasID(n), !hasClass(n))
				}
			}
		}
		for _, n := range nodes {
			if !n.IsElement() {
				continue
			}
			up, prev, next := n.Parent(), n.PrevSibling(), n.NextSibling()
			if !up.IsElement() {
				up = html.Node{}
			}
			for !prev.IsZero() && !prev.IsElement() {
				prev = prev.PrevSibling()
			}
			for !next.IsZero() && !next.IsElement() {
				next = next.NextSibling()
			}
			if id := n.ID(); w.Parent(id) != up.ID() || w.Prev(id) != prev.ID() || w.Next(id) != next.ID() {
				t.Errorf("around %s are %d, %d, %d, want %d, %d, %d", n.Name(), w.Parent(id), w.Prev(id), w.Next(id), up.ID(), prev.ID(), next.ID())
			}
		}
	}
}

// TestSweepCounts checks that steps add up, and when no sweep is worth it.
func TestSweepCounts(t *testing.T) {
	doc := parse(t, strings.Repeat("<p class=a>x", 100))
	end := uint32(doc.Len()) + 1
	limit := doc.SweepLimit()
	w := doc.Sweep(limit)
	w.With(1, end, html.AtomId)
	if steps := w.End(); steps < doc.Len()+100 || steps > doc.Len()+102 || w.Over() {
		t.Errorf("%d steps on %d nodes with 100 attributes, over: %v", steps, doc.Len(), w.Over())
	}
	w = doc.Sweep(limit)
	w.WithClass(1, end, "b")
	if steps := w.End(); steps < doc.Len()+100*10 {
		t.Errorf("%d steps on %d nodes with 100 classes", steps, doc.Len())
	}
	left := doc.SweepLimit()
	if spent := limit - left; spent < 2*doc.Len()+100*11 {
		t.Errorf("%d steps count for the document", spent)
	}
	w = doc.Sweep(left)
	w.Step(left)
	if w.Over() {
		t.Error("over at the limit")
	}
	w.Step(1)
	if !w.Over() {
		t.Error("not over behind the limit")
	}
	w.End()
	if left := doc.SweepLimit(); left != 0 {
		t.Errorf("%d steps are left", left)
	}
	if err := doc.Reset([]byte("<p>")); err != nil {
		t.Fatal(err)
	}
	if doc.SweepLimit() == 0 {
		t.Error("steps of the page before count")
	}
	doc.Index()
	if doc.SweepLimit() != 0 {
		t.Error("a sweep though there is an index")
	}
	xml := parseXML(t, "<a/>")
	if xml.SweepLimit() != 0 || new(html.Document).SweepLimit() != 0 {
		t.Error("a sweep of an XML document, or of none")
	}
}
