package selector_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/selector"
)

const feed = "\uFEFF" + `<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>Tea &amp; cups</title><link>https://shop.example/</link><atom:link href="feed.xml" rel="self"/>
<item><title>Green</title><link>/green</link><pubDate>Mon, 02 Jan 2006</pubDate><dc:creator>Ann</dc:creator>
<description><![CDATA[<b>good</b> tea]]></description></item>
<item><title>Black</title><link>/black</link><dc:creator>Bob</dc:creator></item>
</channel></rss>`

func TestXML(t *testing.T) {
	d := selector.Parse([]byte(feed), selector.URL("https://shop.example/news/feed"), selector.XML())
	if d.Err() != nil {
		t.Fatal(d.Err())
	}
	checkResults(t, []results{
		{"an element that HTML has no end tag for", d.CSS("item > link::text"), []string{"/green", "/black"}},
		{"the same by XPath", d.XPath("//item/link/text()"), []string{"/green", "/black"}},
		{"a name in mixed case", d.CSS("item pubDate::text"), []string{"Mon, 02 Jan 2006"}},
		{"another case", d.CSS("item pubdate::text"), nil},
		{"a name with a prefix, CSS", d.CSS("creator::text"), []string{"Ann", "Bob"}},
		{"a name with a prefix, XPath", d.XPath("//dc:creator/text()"), []string{"Ann", "Bob"}},
		{"a section", d.CSS("description::text"), []string{"<b>good</b> tea"}},
		{"references", d.CSS("channel > title::text"), []string{"Tea & cups"}},
		{"markup", d.CSS("item").First().XPath("dc:creator"), []string{"<dc:creator>Ann</dc:creator>"}},
		{"in a selection", d.CSS("item").First().CSS("title::text"), []string{"Green"}},
	})
	checkStrings(t, "URLs", d.CSS("item link::text").URLs(), "https://shop.example/green", "https://shop.example/black")
	checkStrings(t, "relative URLs", d.XPath("//atom:link").URLs(), "https://shop.example/news/feed.xml")
	check(t, "read as HTML", selector.Parse([]byte(feed)).CSS("item > link").Text(), "")
}

// A prefix in a selector is the one that the document has. It fails if media|title finds another title.
func TestXMLPrefixes(t *testing.T) {
	const page = `<rss xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="urn:i"><channel><title>feed</title><item><title>plain</title>
<media:title media:lang="de" lang="en">media</media:title><itunes:title>itunes</itunes:title><media:group><media:thumbnail url="1.jpg"/></media:group></item></channel>
<atom xmlns="http://www.w3.org/2005/Atom"><title>atom</title></atom></rss>`
	d := selector.Parse([]byte(page), selector.XML())
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"title::text", []string{"feed", "plain", "media", "itunes", "atom"}},
		{"media|title::text", []string{"media"}},
		{"item > itunes|title::text", []string{"itunes"}},
		{"|title::text", []string{"feed", "plain"}},
		{"*|title::text", []string{"feed", "plain", "media", "itunes", "atom"}},
		{"media|group media|thumbnail::attr(url)", []string{"1.jpg"}},
		{"item > media|*::text", []string{"media"}},
		{"item > :not(media|*, itunes|*)::text", []string{"plain"}},
		{"media|title::attr(media|lang)", []string{"de"}},
		{"[media|lang=de]::text", []string{"media"}},
		{"nosuch|title", nil},
	} {
		checkStrings(t, test.query, d.CSS(test.query).GetAll(), test.want...)
		for range 200 { // until the index answers
			d.CSS("nosuch title")
		}
		checkStrings(t, test.query+" by the index", d.CSS(test.query).GetAll(), test.want...)
	}
	checkStrings(t, "HTML", selector.Parse([]byte(page)).CSS("media|title").GetAll())
}

func TestXMLBase(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"XHTML", `<html xmlns="http://www.w3.org/1999/xhtml"><head><base href="/b/"/></head><body><a href="x"/></body></html>`, "https://a.example/b/x"},
		{"a base of something else", `<r><base href="/b/"/><a href="x"/></r>`, "https://a.example/c/x"},
		{"no URL", `<html xmlns="http://www.w3.org/1999/xhtml"><base href="http://["/><a href="x"/></html>`, "https://a.example/c/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := selector.Parse([]byte(test.page), selector.XML(), selector.URL("https://a.example/c/d"))
			check(t, "URL", d.CSS("a").URL(), test.want)
		})
	}
}

// TestXMLMistakes: what is not well-formed is read nevertheless.
func TestXMLMistakes(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"nothing", "", ""},
		{"an entity of HTML", "<r><a>x&nbsp;y</a></r>", "x&nbsp;y"},
		{"an entity of the document", `<!DOCTYPE r [<!ENTITY e "boom">]><r><a>&e;</a></r>`, "&e;"},
		{"an end tag is missing", "<r><a>x</r>", "x"},
		{"an ampersand", "<r><a>x & y</a></r>", "x & y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := selector.Parse([]byte(test.page), selector.XML())
			if d.Err() != nil {
				t.Fatal(d.Err())
			}
			check(t, "text", d.CSS("a").Text(), test.want)
		})
	}
}

func TestZeroDocument(t *testing.T) {
	var d selector.Document
	if d.CSS("p").Len() != 0 || d.XPath("//p").Len() != 0 || d.Base() != "" || d.Err() != nil || !d.Root().IsZero() {
		t.Error("the zero Document is no empty page")
	}
}

// TestWork: an expression that takes too long on a page panics with an error that says so.
func TestWork(t *testing.T) {
	defer func() {
		e, ok := recover().(*xpath.WorkError)
		if !ok || e.Expr != "//i[contains(., 'nosuch')]" {
			t.Errorf("panic with %v", e)
		}
	}()
	d := selector.Parse([]byte(strings.Repeat("<i>", 3_000) + strings.Repeat("word ", 120_000)))
	t.Errorf("it gives %d results", d.XPath("//i[contains(., 'nosuch')]").Len())
}

func ExampleXML() {
	const feed = `<rss xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<item><title>Green tea</title><link>/green</link><dc:creator>Ann</dc:creator></item>
<item><title>Black tea</title><link>/black</link><dc:creator>Bob</dc:creator></item></channel></rss>`
	doc := selector.Parse([]byte(feed), selector.XML(), selector.URL("https://shop.example/feed.xml"))
	for _, item := range doc.CSS("item").All() {
		fmt.Println(item.CSS("|title").Text(), item.CSS("|link::text").URL(), item.CSS("dc|creator").Text())
	}
	// Output:
	// Green tea https://shop.example/green Ann
	// Black tea https://shop.example/black Bob
}

// Well-formed XHTML is parsed as XML, what is not as HTML.
func TestXHTML(t *testing.T) {
	for name, test := range map[string]struct {
		page string
		xml  bool
	}{
		"well-formed":           {`<html xmlns="http://www.w3.org/1999/xhtml"><title/><base href="/b/"/><p><a href="x">y</a></p></html>`, true},
		"a tag that is missing": {`<html xmlns="http://www.w3.org/1999/xhtml"><title></title><base href="/b/"/><p><a href="x">y</a></html>`, false},
		"an unknown entity":     {`<html xmlns="http://www.w3.org/1999/xhtml"><base href="/b/"/><p><a href="x">y</a>&nbsp;</p></html>`, false},
		"a bare ampersand":      {`<html xmlns="http://www.w3.org/1999/xhtml"><base href="/b/"/><p><a href="x?a=1&b">y</a></p></html>`, false},
	} {
		t.Run(name, func(t *testing.T) {
			doc := selector.Parse([]byte(test.page), selector.XHTML(), selector.URL("http://h.example/d/p"))
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			if got := doc.Root().Document().IsXML(); got != test.xml {
				t.Errorf("parsed as XML: %v", got)
			}
			check(t, "text", doc.CSS("p").Text(), "y")
			check(t, "URL", strings.TrimSuffix(doc.CSS("a::attr(href)").URL(), "?a=1&b"), "http://h.example/b/x")
		})
	}
	deep := selector.Parse([]byte("<r><a/><a/><a/></r>"), selector.XHTML(), selector.Bounds(html.MaxNodes(3)))
	if limit := (*html.LimitError)(nil); !errors.As(deep.Err(), &limit) {
		t.Errorf("beyond its bounds: %v", deep.Err())
	}
}
