package selector_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

// small has few enough nodes to see every order of results.
const small = `<div id=a class=k><p>al<b>ph</b>a</p><p class=x>be <a href="/q" title=t>go</a></p></div>` +
	`<div id=b><div id=c title=u>in</div></div><!--c-->`

// What a query of CSS gives is in the order of the document, each once. The language is tested in html/css.
func TestCSS(t *testing.T) {
	for _, test := range []struct {
		name, query string
		want        []string
	}{
		{"elements", "b", []string{"<b>ph</b>"}},
		{"list in document order", "a, b", []string{"<b>ph</b>", `<a href="/q" title="t">go</a>`}},
		{"each node once", "b, b, p b", []string{"<b>ph</b>"}},
		{"text of everything", "::text", []string{"al", "ph", "a", "be ", "go", "in"}},
		{"attribute", "a::attr(href)", []string{"/q"}},
		{"attribute that is absent", "p::attr(href)", nil},
		{"attribute of everything", "::attr(title)", []string{"t", "u"}},
		{"kinds in document order", "a::attr(title), p::text, a, div::attr(id)",
			[]string{"a", "al", "a", "be ", `<a href="/q" title="t">go</a>`, "t", "b", "c"}},
		{"attributes in the order of the tag", "a::attr(title), a::attr(href), a::attr(title)", []string{"/q", "t"}},
		{"pseudo-element of CSS", "p::before", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkStrings(t, test.query, selector.Parse([]byte(small)).CSS(test.query).GetAll(), test.want...)
		})
	}
}

func TestCSSInSelection(t *testing.T) {
	d := selector.Parse([]byte(small))
	checkResults(t, []results{
		{"the node itself", d.CSS("a").CSS("::attr(href)"), []string{"/q"}},
		{"the node itself by name", d.CSS("a").CSS("a::text"), []string{"go"}},
		{"left side outside", d.CSS("p").CSS("div b::text"), []string{"ph"}},
		{"nested contexts", d.CSS("div").CSS("div::attr(id)"), []string{"a", "b", "c"}},
		{"text nodes themselves", d.CSS("b::text").CSS("::text"), []string{"ph"}},
		{"elements in text nodes", d.CSS("b::text").CSS("b"), nil},
		{"in attributes", d.CSS("a::attr(href)").CSS("*"), nil},
		{"after XPath", d.XPath("//p").CSS("b::text"), []string{"ph"}},
		{"in numbers", d.XPath("count(//p)").CSS("*"), nil},
	})
}

// Sets are in the order of the document, each node once; other values are their strings. The language is tested in html/xpath.
func TestXPath(t *testing.T) {
	for _, test := range []struct {
		name, expr string
		want       []string
	}{
		{"elements", "//b", []string{"<b>ph</b>"}},
		{"union in document order", "//a | //b | //a", []string{"<b>ph</b>", `<a href="/q" title="t">go</a>`}},
		{"text nodes", "//p/text()", []string{"al", "a", "be "}},
		{"attribute", "//a/@href", []string{"/q"}},
		{"attributes", "//a/@*", []string{"/q", "t"}},
		{"elements and attributes", "//div[@class]/@class | //b | //div/@id", []string{"a", "k", "<b>ph</b>", "b", "c"}},
		{"comment", "//comment()", []string{"<!--c-->"}},
		{"reverse axis in document order", "//b/ancestor::*[@id or self::p]/@id | //a/preceding::b/text()", []string{"a", "ph"}},
		{"parents once", "//p/..", []string{`<div id="a" class="k"><p>al<b>ph</b>a</p><p class="x">be <a href="/q" title="t">go</a></p></div>`}},
		{"doctype is no node", "/node()[1]/@nosuch | /html/body/div[1]/@id", []string{"a"}},
		{"count", "count(//div)", []string{"3"}},
		{"string", "string(//b)", []string{"ph"}},
		{"empty string", "string(//nosuch)", []string{""}},
		{"truth", "//p/a = 'go'", []string{"true"}},
		{"nothing", "//nosuch", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := selector.Parse([]byte("<!DOCTYPE html>" + small))
			checkStrings(t, test.expr, d.XPath(test.expr).GetAll(), test.want...)
		})
	}
}

func TestXPathInSelection(t *testing.T) {
	d := selector.Parse([]byte(small))
	checkResults(t, []results{
		{"inside", d.CSS("p").XPath(".//text()"), []string{"al", "ph", "a", "be ", "go"}},
		{"children", d.CSS("p").XPath("b/text()"), []string{"ph"}},
		{"one for each context", d.CSS("p").XPath("text()[1]"), []string{"al", "be "}},
		{"absolute", d.CSS("b").XPath("//a/@href"), []string{"/q"}},
		{"outside", d.CSS("b").XPath("ancestor::div/@id"), []string{"a"}},
		{"shared parent once", d.CSS("p").XPath("../@id"), []string{"a"}},
		{"numbers of each context", d.CSS("p").XPath("count(text())"), []string{"2", "1"}},
		{"from an attribute", d.XPath("//a/@href").XPath("../text()"), []string{"go"}},
		{"from a text node", d.CSS("b::text").XPath("../../text()[last()]"), []string{"a"}},
		{"from a number", d.XPath("count(//p)").XPath("//p"), nil},
		{"nested contexts", d.CSS("div").XPath(".//@id"), []string{"a", "b", "c"}},
	})
	check(t, "text of an attribute", d.XPath("//a/@href").Text(), "/q")
	checkStrings(t, "texts of numbers", d.CSS("p").XPath("count(text())").Texts(), "2", "1")
	check(t, "prefix of SVG", selector.Parse([]byte(page)).XPath("//a/@xlink:href").Get(), "/s")
	check(t, "attribute of an attribute", d.XPath("//a/@href").Attr("href"), "")
}
