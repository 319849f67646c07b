package selector_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

const gallery = `<html><head><base href='http://example.com/'><title>Example website</title></head><body>
<div id='images'>
<a href='image1.html' class="thumb item-0">Name: My image 1 <br><img src='image1_thumb.jpg' alt='image1'></a>
<a href='image2.html' class="thumb item-1">Name: My image 2 <br><img src='image2_thumb.jpg' alt='image2'></a>
<a href='image3.html' class="item-inactive">Name: My image 3 <br><img src='image3_thumb.jpg' alt='image3'></a>
</div><ul class=list><li>1</li><li>2</li></ul><ul class=list><li>3</li><li>4</li></ul>
<p class="foo bar-baz">First</p><p class="foo">Second <a href="#">Next <b>Page</b></a></p>
</body></html>`

// TestParsel holds what users of Scrapy's parsel rely on, as its documentation has it.
func TestParsel(t *testing.T) {
	d := selector.Parse([]byte(gallery))
	checkResults(t, []results{
		{"text of an element", d.CSS("title::text"), []string{"Example website"}},
		{"XPath and CSS are the same", d.XPath("//title/text()"), []string{"Example website"}},
		{"CSS and XPath mix", d.CSS("#images").XPath(".//img/@alt"), []string{"image1", "image2", "image3"}},
		{"get is the first", d.CSS("img::attr(alt)").First(), []string{"image1"}},
		{"nothing gives nothing", d.CSS("#nosuch::text"), nil},
		{"attributes of all", d.CSS("#images a::attr(href)"), []string{"image1.html", "image2.html", "image3.html"}},
		{"attribute by XPath", d.XPath("//base/@href"), []string{"http://example.com/"}},
		{"contains in an attribute", d.CSS("a[href*=image] img::attr(src)"), []string{"image1_thumb.jpg", "image2_thumb.jpg", "image3_thumb.jpg"}},
		{"text inside includes own text", d.CSS("#images a:first-child *::text"), []string{"Name: My image 1 "}},
		{"all text inside, own and others'", d.CSS("p.foo:last-child ::text"), []string{"Second ", "Next ", "Page"}},
		{"pseudo-element of a list of selectors", d.CSS("title::text, ul li:first-child::text"), []string{"Example website", "1", "3"}},
		{"absolute path in a selection", d.CSS("p").XPath("//title/text()"), []string{"Example website"}},
		{"relative path in a selection", d.CSS("ul").First().XPath(".//li/text()"), []string{"1", "2"}},
		{"first of each parent", d.XPath("//ul/li[1]/text()"), []string{"1", "3"}},
		{"first of all", d.XPath("(//ul/li)[1]/text()"), []string{"1"}},
		{"text as a condition", d.XPath("//a[contains(., 'Next Page')]/@href"), []string{"#"}},
		{"text nodes as a condition", d.XPath("//a[contains(.//text(), 'Next Page')]/@href"), nil},
		{"string-value", d.XPath("string(//p[2])"), []string{"Second Next Page"}},
		{"has-class", d.XPath("//p[has-class('foo')]/text()"), []string{"First", "Second "}},
		{"has-class of several", d.XPath("//p[has-class('foo', 'bar-baz')]/text()"), []string{"First"}},
		{"has-class is for whole words", d.XPath("//p[has-class('bar')]/text()"), nil},
		{"re:test", d.XPath(`//a[re:test(@class, "item-\d$")]/@href`), []string{"image1.html", "image2.html"}},
		{"re:test with flags", d.XPath(`//a[re:test(@class, "ITEM-\d$", "i")]/@href`), []string{"image1.html", "image2.html"}},
		{"a selection of text has no elements", d.CSS("title::text").CSS("a"), nil},
		{"what text is in", d.CSS("title::text").XPath("name(..)"), []string{"title"}},
		{"union", d.XPath("//title/text() | //li[. > 3]/text()"), []string{"Example website", "4"}},
	})
	checkStrings(t, "re", d.XPath("//a[contains(@href, 'image')]/text()").Re(`Name:\s*(.*)`), "My image 1 ", "My image 2 ", "My image 3 ")
	check(t, "re_first", d.XPath("//a[contains(@href, 'image')]/text()").ReFirst(`Name:\s*(.*)`), "My image 1 ")
	check(t, "attrib", d.CSS("img").Attr("src"), "image1_thumb.jpg")
}

// What parsel's users write beyond that. It fails if a form that parsel knows is an error or selects something else.
func TestParselForms(t *testing.T) {
	d := selector.Parse([]byte(`<div title="it's" data-x=1><table id=o><tbody><tr id=r1><td id=c1>a<table id=i><tbody><tr id=r2><td id=c2>b<td id=c3>c</table></table></div><p class=">">x<b>y</b></p>`))
	cell := d.CSS("#r1")
	checkResults(t, []results{
		{"attr in double quotes", d.CSS(`div::attr("title")`), []string{"it's"}},
		{"attr in single quotes", d.CSS(`div::attr( 'data-x' )`), []string{"1"}},
		{"children", cell.CSS("> td").XPath("@id"), []string{"c1"}},
		{"children of several", d.CSS("tr").CSS("> td").XPath("@id"), []string{"c1", "c2", "c3"}},
		{"scope of several", d.CSS("tr").CSS(":scope > td").XPath("@id"), []string{"c1", "c2", "c3"}},
		{"each once", d.CSS("table, tr").CSS(":scope td").XPath("@id"), []string{"c1", "c2", "c3"}},
		{"a list", d.CSS("p").CSS("> i, >b::text"), []string{"y"}},
		{"text of children", d.CSS("p").CSS("> ::text"), []string{"y"}},
		{"children of children", cell.CSS("> td > table td").XPath("@id"), []string{"c2", "c3"}},
		{"a sign in a string", d.CSS(`[class=">"]::text`), []string{"x"}},
		{"a variable", d.XPath("//div[@title = $v]/@data-x", selector.Var("v", "it's")), []string{"1"}},
		{"variables in a selection", d.CSS("tr").XPath("td[position() = $n][. != $t]/@id", selector.Var("n", 2), selector.Var("t", "")), []string{"c3"}},
		{"EXSLT", d.XPath(`//td[re:test(@id, 'C[23]', 'i')]`).XPath("@id"), []string{"c2", "c3"}},
		{"EXSLT sets", d.XPath(`set:difference(//td, //td[.//td])/@id`), []string{"c2", "c3"}},
	})
	for _, wrong := range []string{"> ", "td >", "> > td", "+ td", `a::attr("")`, `a::attr("x`, "td:is(> a)"} {
		if _, err := selector.Compile(wrong); err == nil {
			t.Errorf("%s is no error", wrong)
		}
	}
}

// What the guide of selecting says of pseudo-classes and of texts.
func TestGuideOfSelecting(t *testing.T) {
	for _, known := range []string{
		":is(a)", ":where(a)", ":not(a)", ":has(> a)", ":first-child", ":last-child", ":only-child", ":nth-child(2n+1 of .x)", ":nth-last-child(1)",
		":first-of-type", ":last-of-type", ":only-of-type", ":nth-of-type(1)", ":nth-last-of-type(1)", ":root", ":scope", ":empty", ":target", ":lang(de)",
		":any-link", ":link", ":enabled", ":disabled", ":checked", ":required", ":optional", ":input", `:contains("x")`, `:containsOwn("x")`,
		":matches(x)", ":matchesOwn(x)", ":haschild(a)", ":hover", ":focus", ":active", ":visited", ":focus-within", ":focus-visible",
	} {
		if _, err := selector.Compile("p" + known); err != nil {
			t.Error(err)
		}
	}
	if _, err := selector.Compile("p:nosuch"); err == nil {
		t.Error("an unknown pseudo-class is no error")
	}
	d := selector.Parse([]byte(`<p id=1>Tea</p><p id=2>tea</p>`))
	checkStrings(t, "contains", d.CSS(`p:contains("TEA")::attr(id)`).GetAll(), "1", "2")
	checkStrings(t, "matches", d.CSS("p:matches(Tea)::attr(id)").GetAll(), "1")
	check(t, "text of several", d.CSS("p").Text(), "Tea tea")
	check(t, "text of the first", d.CSS("p").First().Text(), "Tea")
	check(t, "get", d.CSS("p::text").Get(), "Tea")
}
