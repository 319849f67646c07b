package content_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// It fails if the kind of a page is another one than the page says, or than its links and headings show.
func TestKinds(t *testing.T) {
	prose := "<p>" + strings.Repeat("A sentence, long enough to be one, and another part of it. ", 6) + "</p>"
	schema := func(types string) string { return `<script type="application/ld+json">` + types + `</script>` }
	section := `<h2 id="how-to-weave">How to weave<a class=headerlink href="#how-to-weave">¶</a></h2>` + prose
	for _, test := range []struct {
		name, page string
		kind       content.Kind
	}{
		{"prose alone", prose, content.KindArticle},
		{"a date and permalinks", `<meta property="article:published_time" content="2026-01-02"><meta property=og:type content=article>` + section, content.KindArticle},
		{"permalinks", section, content.KindDocumentation},
		{"permalinks beside headings", `<div><h2>Weave</h2><a class=anchor href="#weave"></a></div>` + prose, content.KindDocumentation},
		{"an article that names nobody and no day", `<div itemscope itemtype="http://schema.org/Article"><div itemprop=articleBody>` + section + `</div></div>`, content.KindDocumentation},
		{"an article with a title", `<div itemscope itemtype="http://schema.org/Article"><meta itemprop=headline content=Weave>` + section + `</div>`, content.KindArticle},
		{"ids of the title and the heading", `<h2 id="Loom-Howtoweave">How to weave</h2>` + prose + `<h2 id="Loom-Howtostop">How to stop</h2>` + prose, content.KindDocumentation},
		{"links", `<h1>Index</h1><ul>` + strings.Repeat(`<li><a href=x>The words of a link, and more</a></li>`, 30) + `</ul>` + prose, content.KindList},
		{"a product", schema(`{"@type":"Product","name":"Loom"}`) + prose, content.KindProduct},
		{"a product of Open Graph", `<meta property=og:type content="product.item">` + prose, content.KindProduct},
		{"an article about a product", schema(`[{"@type":"Product","name":"Loom"},{"@type":"NewsArticle","headline":"Looms"}]`) + prose, content.KindArticle},
		{"a question", schema(`{"@type":"QAPage"}`) + prose, content.KindForum},
		{"a discussion", `<div itemscope itemtype="https://schema.org/DiscussionForumPosting">` + prose + `</div>`, content.KindForum},
	} {
		if a := extract(t, test.page); a.Kind != test.kind {
			t.Errorf("%s: the kind is %s, want %s", test.name, a.Kind, test.kind)
		}
	}
}

// It fails if text that was left out, or that does not read like prose, does not lower the confidence, or if it is not from 0 to 1.
func TestConfidence(t *testing.T) {
	prose := strings.Repeat("<p>"+strings.Repeat("A sentence, long enough to be one, and another part of it. ", 6)+"</p>", 5)
	confidence := func(page string, options ...content.Option) float64 {
		a, err := content.Extract(whole(t, page), "http://a.test/", options...)
		if err != nil || !(0 <= a.Confidence && a.Confidence <= 1) {
			t.Fatal(a, err)
		}
		return a.Confidence
	}
	whole := confidence("<div>" + prose + "</div>")
	beside := confidence("<div>" + prose + "</div><section class=comments>" + prose[:len(prose)*2/5] + "</section>")
	short := confidence("<div>" + prose + strings.Repeat("<div>A few words</div>", 60) + "</div>")
	if beside >= whole || short >= whole {
		t.Errorf("%v alone, %v with comments, %v with short lines", whole, beside, short)
	}
	if chosen := confidence("<main><p>a</p></main>"+prose, content.Main("main")); chosen != 1 {
		t.Errorf("%v for an element that was named", chosen)
	}
}
