package html_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// TestIndex compares the index with the tree, node by node.
func TestIndex(t *testing.T) {
	for name, page := range map[string]string{
		"nothing": "",
		"page": `<!DOCTYPE html><title>T</title><body class="a b a"><p id=x>one<b class=c>two</b></p>three<!--c-->
<svg class=s><a xlink:href=y /></svg><template><p class=a></template><ul><li>1<li class="b  c">2</ul>`,
		"quirks":         `<p class="A B" id=X><p class=a id=x>`,
		"copies":         "<p><b id=x class=c>1<p>2<p>3",
		"foster parents": "<table>x<tr><td>1<b>y</table>",
		"deep":           strings.Repeat("<div>", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			doc := parse(t, page)
			checkIndex(t, doc)
		})
	}
	doc := parseXML(t, `<a:x xmlns:a="urn:1" xmlns="urn:2"><x a:b="1" b="2"/><X/></a:x>`)
	checkIndex(t, doc)
	x := doc.Index()
	if got := x.ByName(x.Name("x")); len(got) != 2 {
		t.Errorf("local name x is that of %v", got)
	}
}

func checkIndex(t *testing.T, doc *html.Document) {
	t.Helper()
	x := doc.Index()
	elements, words, text, lower := x.Elements(), x.Words(), x.Text(), x.LowerText()
	byName, byID, byClass, byAttr := map[uint32][]int32{}, map[uint32][]int32{}, map[uint32][]int32{}, map[html.Atom][]int32{}
	k := int32(0)
	for id := range uint32(doc.Len()) {
		n := doc.Node(id + 1)
		if !n.IsElement() {
			if x.Position(n) != k {
				t.Errorf("node %d has position %d, want %d", id+1, x.Position(n), k)
			}
			continue
		}
		k++
		e := elements[k]
		if x.Node(k) != n || x.Position(n) != k || e.Namespace != n.Namespace() || e.Name != x.Name(n.LocalName()) {
			t.Fatalf("position %d is %+v, want %s", k, e, n.Name())
		}
		if e.ID != n.ID() || elements[e.Parent].ID != n.Parent().ID() && e.Parent != 0 || e.Parent == 0 && n.Parent().IsElement() {
			t.Errorf("%s has ID %d and parent %d", n.Name(), e.ID, e.Parent)
		}
		order, prev := int32(1), int32(0)
		for s := n.PrevSibling(); !s.IsZero(); s = s.PrevSibling() {
			if s.IsElement() {
				if prev == 0 {
					prev = x.Position(s)
				}
				order++
			}
		}
		count, last := int32(0), int32(0)
		for c := range n.Children() {
			if c.IsElement() {
				count++
				last = x.Position(c)
			}
		}
		end := k + 1
		for d := range n.Descendants() {
			if d.IsElement() {
				end++
			}
		}
		if kin := (html.Kin{EndID: n.EndID(), Prev: prev, Last: last, Order: order, Count: count}); x.Kin()[k] != kin || e.End != end {
			t.Errorf("%s at %d is %+v, %+v, want order %d, prev %d, count %d, last %d, end %d", n.Name(), k, e, x.Kin()[k], order, prev, count, last, end)
		}
		if text.Of(k) != n.Text() || lower.Of(k) != strings.ToLower(n.Text()) {
			t.Errorf("text at %d is %q and %q, want %q", k, text.Of(k), lower.Of(k), n.Text())
		}
		byName[e.Name] = append(byName[e.Name], k)
		if value := n.Attr("id"); value != "" {
			if words.ID(k) != words.Lookup(value) || words.ID(k) == 0 {
				t.Errorf("id at %d is %d", k, words.ID(k))
			}
			byID[words.ID(k)] = append(byID[words.ID(k)], k)
		}
		var classes []uint32
		for class := range strings.FieldsSeq(n.Attr("class")) {
			if c := words.Lookup(class); !slices.Contains(classes, c) {
				classes = append(classes, c)
				byClass[c] = append(byClass[c], k)
			}
		}
		if !slices.Equal(words.Classes(k), classes) {
			t.Errorf("classes at %d are %v, want %v", k, words.Classes(k), classes)
		}
		for a := range n.Attrs() {
			byAttr[a.Atom()] = append(byAttr[a.Atom()], k)
		}
		for up := k; up != 0; up = elements[up].Parent {
			bits := html.NameBit(elements[up].Name) | words.WordBit(words.ID(up))
			for _, c := range words.Classes(up) {
				bits |= words.WordBit(c)
			}
			if bits&^words.Path(k) != 0 {
				t.Errorf("the filter at %d lacks bits of %d", k, up)
			}
			if len(elements) > 1000 {
				break
			}
		}
	}
	if int(k) != len(elements)-1 || text.All() != doc.Root().Text() {
		t.Errorf("%d elements, want %d; text %q", len(elements)-1, k, text.All())
	}
	checkLists(t, "name", byName, x.ByName)
	checkLists(t, "id", byID, words.ByID)
	checkLists(t, "class", byClass, words.ByClass)
	checkLists(t, "attribute", byAttr, x.ByAttr)
	if x.Name("nosuch") != 0 || words.Lookup("nosuch") != 0 || words.Lookup("") != 0 || x.ByName(1<<20) != nil || x.ByAttr(1<<20) != nil {
		t.Error("something is known that is not there")
	}
}

func checkLists[N comparable](t *testing.T, what string, want map[N][]int32, got func(N) []int32) {
	t.Helper()
	for number, list := range want {
		if !slices.Equal(got(number), list) {
			t.Errorf("%s %v: %v, want %v", what, number, got(number), list)
		}
	}
}

// TestManyWords makes the table of words grow, with classes listed twice.
func TestManyWords(t *testing.T) {
	var page strings.Builder
	page.WriteString("<!DOCTYPE html>")
	for i := range 500 {
		fmt.Fprintf(&page, "<p id=i%d class='c%d x c%d x'>", i, i, i%7)
	}
	page.WriteString("<b class='")
	for i := range 100 {
		fmt.Fprintf(&page, "y%d ", i%50)
	}
	page.WriteString("'>")
	doc := parse(t, page.String())
	words := doc.Index().Words()
	if n := len(words.ByClass(words.Lookup("x"))); n != 500 {
		t.Errorf("%d elements of class x", n)
	}
	for i := range 50 {
		if list := words.ByClass(words.Lookup(fmt.Sprint("y", i))); len(list) != 1 || len(words.Classes(list[0])) != 50 {
			t.Fatalf("class y%d is at %v", i, list)
		}
	}
	for i := range 500 {
		if list := words.ByID(words.Lookup(fmt.Sprint("i", i))); len(list) != 1 || int(doc.Index().Kin()[list[0]].Order) != i+1 {
			t.Fatalf("id %d is at %v", i, list)
		}
	}
}

func TestIndexIsSharedAndForgotten(t *testing.T) {
	doc := parse(t, "<p class=a>")
	first := doc.Index()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			x := doc.Index()
			if x != first || len(x.Words().ByClass(x.Words().Lookup("a"))) != 1 || len(x.ByAttr(html.AtomClass)) != 1 || x.Text().All() != "" {
				t.Error("another index")
			}
		})
	}
	wg.Wait()
	if err := doc.Reset([]byte("<b>")); err != nil {
		t.Fatal(err)
	}
	if x := doc.Index(); x == first || len(x.ByName(x.Name("p"))) != 0 {
		t.Error("the index of the old page is still there")
	}
}

func TestRef(t *testing.T) {
	doc := parse(t, "<p id=a class=b>text")
	p := doc.Index().Node(doc.Index().ByName(uint32(html.AtomP))[0])
	id, class := p.FirstAttr(), p.FirstAttr().Next()
	ordered := []html.Ref{p.Parent().Ref(), p.Ref(), doc.Ref(p.ID(), id.ID()), doc.Ref(p.ID(), class.ID()), p.FirstChild().Ref()}
	if !slices.IsSortedFunc(ordered, html.Ref.Compare) || ordered[1].Compare(ordered[0]) <= 0 {
		t.Error("references are not in document order")
	}
	if r := ordered[3]; !r.IsAttr() || r.Node() != p || r.Attr() != class || r.IsZero() || !(html.Ref{}).IsZero() {
		t.Errorf("reference of an attribute: %v", r)
	}
	if got := string(id.View(nil)); got != "a" {
		t.Errorf("View gives %q", got)
	}
}
