package xpath_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
)

// FuzzCompile compiles any text and evaluates what is right, from several contexts. Nothing panics;
// sets are in document order, each node once.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		"//div[@class='k']/a[1]/@href | //b", "count(//p) + 1", "//a[contains(., 'x')]/..", "//a]", "starts-with(1, 2)",
		"//p[position() = last()]/preceding::*[2] = -//li * 3 div 2", "translate(substring('abc', 2, 1.5), 'b', //i)",
		"id(//@id)/ancestor-or-self::node()[lang('de')]/@*", "string-join(//li[. > 1 and not(@x)], concat(name(), ','))",
		"processing-instruction('a') | comment() | following-sibling::text()[normalize-space()]", "matches(., '^a.*')",
	} {
		f.Add(text)
	}
	doc := parse(f, tree)
	contexts := []html.Ref{doc.Root().Ref(), doc.Node(20).Ref(), doc.Node(uint32(doc.Len())).Ref(),
		doc.Ref(2, doc.Node(2).FirstAttr().ID())}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := xpath.Compile(text)
		if err != nil {
			var syntax *xpath.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Fatalf("error %v", err)
			}
			return
		}
		for _, context := range contexts {
			v, err := e.Evaluate(context)
			if err != nil {
				return // too much work
			}
			if v.Kind() != e.Kind() {
				t.Errorf("a %v, Kind says %v", v.Kind(), e.Kind())
			}
			if nodes := v.Nodes(); !slices.IsSortedFunc(nodes, html.Ref.Compare) || len(slices.Compact(slices.Clone(nodes))) != len(nodes) {
				t.Error("nodes out of order or twice")
			}
			_, _ = v.String(), v.Number()
		}
	})
}
