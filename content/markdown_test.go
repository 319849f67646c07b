package content_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
)

// whole returns the tree of a page.
func whole(t testing.TB, source string) *html.Document {
	t.Helper()
	doc, err := html.Parse([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// extract returns the article of a page.
func extract(t testing.TB, source string) *content.Article {
	t.Helper()
	a, err := content.Extract(whole(t, source), "http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestMarkdown(t *testing.T) {
	for _, test := range []struct {
		name, source, want string
		options            []content.Option
	}{
		{name: "nothing", source: "", want: ""},
		{name: "paragraphs", source: "<p>one\n  two</p>three<div>four</div>", want: "one two\n\nthree\n\nfour"},
		{name: "headings", source: "<h1>a</h1><h3>b #</h3><h6> c\nd </h6>", want: "# a\n\n### b \\#\n\n###### c d"},
		{name: "break", source: "<p>a<br>b", want: "a\\\nb"},
		{name: "two breaks are a paragraph", source: "<p>a<br><br>b", want: "a\n\nb"},
		{name: "emphasis", source: "<p><i>a</i> <b>b</b> <s>c</s> <b><i>d</i></b>", want: "*a* **b** ~~c~~ ***d***"},
		{name: "emphasis with spaces inside", source: "<p>a<b> b </b>c", want: "a **b** c"},
		{name: "emphasis that holds nothing", source: "<p>a<b> </b>c", want: "a c"},
		{name: "code", source: "<p>call <code>f(x)</code> or <code>a`b</code>", want: "call `f(x)` or ``a`b``"},
		{name: "block of code", source: "<pre><code class='language-go'>a\n  b\n</code></pre>", want: "```go\na\n  b\n```"},
		{name: "code of a highlighter", source: "<div class='highlight-sh notranslate'><div class=highlight><pre>ls</pre></div></div>", want: "```sh\nls\n```"},
		{name: "code with marks of code", source: "<pre>```\nx</pre>", want: "````\n```\nx\n````"},
		{name: "nested lists", source: "<ul><li>a<ol start=3><li>b<li>c</ol><li>d</ul>", want: "- a\n  3. b\n  4. c\n- d"},
		{name: "list with paragraphs", source: "<ul><li><p>a<p>b<li><p>c</ul>", want: "- a\n\n  b\n\n- c"},
		{name: "two lists", source: "<ul><li>a</ul><ul><li>b</ul>", want: "- a\n\n* b"},
		{name: "quote", source: "<blockquote><p>a<blockquote>b</blockquote></blockquote>", want: "> a\n>\n> > b"},
		{name: "rule", source: "<p>a<hr><p>b", want: "a\n\n---\n\nb"},
		{name: "link", source: "<p>see <a href='../c?x=1#y'>this</a>", want: "see [this](http://a.test/c?x=1#y)"},
		{name: "link with brackets in its URL", source: "<p><a href='/x(y)'>z</a>", want: "[z](http://a.test/x%28y%29)"},
		{name: "link with something behind it", source: "<p><a href=a>b</a>, (<a href=a>b</a>). <a href=a>b</a>c <a href=a>b</a>.c <a href=a>b</a>'s <a href=a>b</a>.<i>c</i>", want: "[b](http://a.test/b/a), ([b](<http://a.test/b/a>)). [b](<http://a.test/b/a>)c [b](<http://a.test/b/a>).c [b](<http://a.test/b/a>)'s [b](<http://a.test/b/a>).*c*"},
		{name: "link of a script", source: "<p><a href=' JavaScript:x()'>a</a>", want: "a"},
		{name: "link that is none", source: "<p><a name=x>a</a>", want: "a"},
		{name: "base", source: "<base href=http://b.test/d/><p><a href=e>f</a>", want: "[f](http://b.test/d/e)"},
		{name: "image", source: "<p><img src=i.png alt='a  [b]'> <img src=data:x data-src=j.png> <img>", want: "![a \\[b\\]](http://a.test/b/i.png) ![](http://a.test/b/j.png)"},
		{name: "images loaded later", source: "<p><img src=data:x data-lazy-src=i.png> <img data-srcset='j.png 1x, k.png 2x'>", want: "![](http://a.test/b/i.png) ![](http://a.test/b/j.png)"},
		{name: "table", source: "<table><tr><th>a<th>b<tr><td>c|d<td>e<br>f</table>", want: "| a | b |\n| --- | --- |\n| c\\|d | e<br>f |"},
		{name: "table without a header", source: "<table><tr><td>a<td>b</table>", want: "|  |  |\n| --- | --- |\n| a | b |"},
		{name: "cells that span", source: "<table><tr><th colspan=2>a<tr><td rowspan=2>b<td>c<tr><td>d</table>", want: "| a |  |\n| --- | --- |\n| b | c |\n|  | d |"},
		{name: "layout", source: "<table role=presentation><tr><td>a<td>b</table>", want: "a\n\nb"},
		{name: "definitions", source: "<dl><dt>a<dd>b<dd><p>c<p>d<dt><code>e(f)</code><a class=headerlink href=#e>¶</a><dd><dl><dt>g<dd>h</dl></dl><ul><li>i</ul>", want: "**a**\n\n- b\n\n- c\n\n  d\n\n**`e(f)`**\n\n- **g**\n\n  - h\n\n* i"},
		{name: "definitions in a list", source: "<ul><li>a<dl><dt>b<dd>c</dl><li>d</ul>", want: "- a\n\n  **b**\n\n  - c\n\n- d"},
		{name: "tasks", source: "<ul><li><input type=checkbox checked disabled> a<ul><li><label><input type=checkbox> b</label></ul><li><p><input type=checkbox checked=''>c</p><li>d</ul>", want: "- [x] a\n  - [ ] b\n- [x] c\n- d"},
		{name: "what looks like a task", source: "<ul><li>[x] a<li><input type=radio>b</ul>", want: "- \\[x\\] a\n- b"},
		{name: "above and below", source: "<p>x<sup>2</sup> H<sub>2</sub>O <i>a<sub>i</sub></i>b <sup></sup><code>a<sup>b</sup></code><sup><b>c</b></sup>", want: "x<sup>2</sup> H<sub>2</sub>O a<sub>i</sub>b `ab`<sup>**c**</sup>"},
		{name: "footnote", source: "<p>a<sup id=r><a href=#n>1</a></sup><ol><li id=n>b <a href=#r>back</a></ol>", want: "a[^1]\n\n[^1]: b"},
		{name: "what would be markup", source: "<p>1. a<p>- b<p># c<p>*d* _e_ [f](g) `h` &amp;amp; &lt;i>", want: "1\\. a\n\n\\- b\n\n\\# c\n\n\\*d\\* \\_e\\_ \\[f\\](g) \\`h\\` \\&amp; \\<i>"},
		{name: "what stays as it is", source: "<p>a_b 2 * 3 a-b 5 &lt; 6 & 7 | 8 # 9", want: "a_b 2 \\* 3 a-b 5 \\< 6 & 7 | 8 # 9"},
		{name: "bare addresses", source: "<p>http://a.test www.a.test a@b.test", want: "http\\://a.test www\\.a.test a\\@b.test"},
		{name: "not for readers", source: "<p>a<script>b</script><style>c</style><button>d</button><template>e</template><nav>f</nav>", want: "a"},
		{name: "no links", source: "<p><a href=x>a</a> b", want: "a b", options: []content.Option{content.WithoutLinks()}},
		{name: "no tables", source: "<p>a<table><tr><th>b<th>c</table><p>d", want: "a\n\nd", options: []content.Option{content.WithoutTables()}},
		{name: "no images", source: "<p>a <img src=x alt=y> b", want: "a b", options: []content.Option{content.WithoutImages(), nil}},
	} {
		if got := content.Markdown(whole(t, test.source).Root(), "http://a.test/b/page", test.options...); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"structure", "<h1>a</h1><p>b *c*<br>d<ul><li>e<ol><li>f</ol></ul>", "a\n\nb *c*\nd\n\n- e\n  1. f"},
		{"code", "<p>a<pre>b\n  c\n</pre>", "a\n\nb\n  c"},
		{"table", "<p>a<table><tr><th>b<th>c<tr><td>d|<td>e</table>", "a\n\nb | c\nd| | e"},
		{"links and pictures", "<p>a <a href=x>b</a> <img src=y alt=c> <b>d</b>", "a b d"},
		{"a caption", "<p>a<figure><img src=x><figcaption>b</figcaption></figure><p>c", "a\n\nc"},
	} {
		if got := extract(t, test.source).Text; got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// Relative links are absolute in HTML too, and what is no part of the article is not there.
func TestHTML(t *testing.T) {
	a, err := content.Extract(whole(t, `<body onload=x()><article><h1>A title</h1><p class=c onclick=y()>Some words, and <a href="../z?a&amp;b" target=w>a link</a>.<script>s</script><form><input></form></article>`), "http://a.test/b/c")
	if err != nil {
		t.Fatal(err)
	}
	const want = `<h1>A title</h1><p class="c">Some words, and <a href="http://a.test/z?a&amp;b">a link</a>.`
	if got := a.HTML(); !strings.Contains(got, want) || strings.Contains(got, "script") || strings.Contains(got, "input") || strings.Contains(got, "()") {
		t.Errorf("%s\nwant in it\n%s", got, want)
	}
}
