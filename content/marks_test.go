package content_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// It fails if a link that a tool has put beside a title stays in the title, with links or without, or if words of a title go.
func TestPermalinks(t *testing.T) {
	for name, title := range map[string]string{
		"Sphinx":           `<h2>A title<a class="headerlink" href="#a" title="Permalink">¶</a></h2>`,
		"MkDocs, a word":   `<h2>A title<a class="headerlink" href="#a">Link</a></h2>`,
		"rustdoc":          `<h2><a class="doc-anchor" href="#a">§</a>A title</h2>`,
		"Docusaurus":       "<h2>A title<a class='hash-link' href='#a'>\u200b</a></h2>",
		"VitePress":        "<h2>A title <a class='header-anchor' href='#a' aria-label='Permalink'>\u200b</a></h2>",
		"VuePress":         `<h2><a class="header-anchor" href="#a"><span>A title</span></a></h2>`,
		"Starlight":        `<div><h2>A title</h2><a class="sl-anchor-link" href="#a"><span class="sr-only">Section titled A title</span></a></div>`,
		"Javadoc":          `<h2>A title<a href="#a" class="anchor-link"><img src=link.svg></a></h2>`,
		"GitHub":           `<h2>A title</h2><a class="anchor" href="#a"><svg></svg></a>`,
		"Doxygen":          `<h2><span class="permalink"><a href="#a">◆&nbsp;</a></span>A title</h2>`,
		"MediaWiki":        `<h2>A title<span class="mw-editsection">[<a href=x>Bearbeiten</a> | <a href=y>Quelltext bearbeiten</a>]</span></h2>`,
		"no class":         `<h2><a href="/page#a">#</a> A title</h2>`,
		"a sign of words":  `<h2>A title<a href="#a">🔗&#xfe0f;</a></h2>`,
		"of another title": `<h2>A title</h2><p>See <a class=anchor href="#b">#</a></p>`,
	} {
		doc := whole(t, "<article>"+title+someText+"</article>")
		a, err := content.Extract(doc, "http://a.test/page")
		if err != nil {
			t.Fatal(err)
		}
		conserved(t, name, doc, a)
		for option, markdown := range map[string]string{"with": a.Markdown(), "without": a.Markdown(content.WithoutLinks())} {
			markdown = strings.ReplaceAll(markdown, "[A title](http://a.test/page#a)", "A title")
			if line, _, _ := strings.Cut(markdown, "\n"); line != "## A title" {
				t.Errorf("%s: %s links the title is %q", name, option, line)
			}
		}
		if line, _, _ := strings.Cut(a.Text, "\n"); line != "A title" || strings.Contains(a.HTML(), "Bearbeiten") {
			t.Errorf("%s: the text begins with %q", name, line)
		}
		if path := a.Chunks(400)[0].Headings; len(path) != 1 || path[0] != "A title" {
			t.Errorf("%s: the path is %q", name, path)
		}
	}
	for name, test := range map[string]struct{ page, want string }{
		"a note":        {`<h2>A title<a href="#n">*</a></h2>`, "## A title[\\*](http://a.test/#n)"},
		"in a text":     {`<p>Press <a href="#key">#</a> now.`, "Press [#](http://a.test/#key) now."},
		"another place": {`<h2>§ 5 <a href="#a">Duties</a></h2>`, "## § 5 [Duties](http://a.test/#a)"},
		"a picture":     {`<h2><a href="#a"><img src=x alt=Logo></a> A title</h2>`, "## [![Logo](http://a.test/x)](http://a.test/#a) A title"},
	} {
		if got := content.Markdown(whole(t, test.page).Root(), "http://a.test/"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// It fails if code with the numbers of its lines is not one block with its language, or has the numbers.
func TestNumberedLines(t *testing.T) {
	const code = "def f():\n\n    return 42\n7"
	const want = "Before.\n\n```python\n" + code + "\n```\n\nAfter."
	for name, page := range map[string]string{
		"Pygments": `<div class="highlight-python notranslate"><table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre><span class="normal">1</span>
<span class="normal">2</span>
<span class="normal">3</span>
<span class="normal">4</span></pre></div></td>
   <td class="code">
     <div class="highlight"><pre><span></span>` + code + "\n</pre></div>\n</td></tr></table></div>",
		"Pygments, in line": `<div class="highlight-python"><div class="highlight"><pre><span></span><span class="linenos">1</span>def f():
<span class="linenos">2</span>
<span class="linenos">3</span>    return <span class="mi">42</span>
<span class="linenos">4</span>7
</pre></div></div>`,
		"docutils": `<pre class="code python language-python"><small class="ln">1 </small>def f():
<small class="ln">2 </small>
<small class="ln">3 </small>    return 42
<small class="ln">4 </small>7</pre>`,
		"Rouge": `<div class="language-python highlighter-rouge"><div class="highlight"><pre class="highlight"><code><table class="rouge-table"><tbody><tr><td class="rouge-gutter gl"><pre class="lineno">1
2
3
4
</pre></td><td class="rouge-code"><pre>` + code + `
</pre></td></tr></tbody></table></code></pre></div></div>`,
		"Rouge, a row for each line": `<div class="language-python"><div class="highlight"><pre class="highlight"><code><table class="rouge-line-table"><tbody><tr id="line-1" class="lineno"><td class="rouge-gutter gl"><pre>1</pre></td><td class="rouge-code"><pre>def f():
</pre></td></tr><tr class="lineno"><td class="rouge-gutter"><pre>2</pre></td><td class="rouge-code"><pre>
</pre></td></tr><tr class="lineno"><td class="rouge-gutter"><pre>3</pre></td><td class="rouge-code"><pre>    return 42
</pre></td></tr><tr class="lineno"><td class="rouge-gutter"><pre>4</pre></td><td class="rouge-code"><pre>7
</pre></td></tr></tbody></table></code></pre></div></div>`,
		"GitHub": `<div class="highlight highlight-source-python"><table class="highlight tab-size js-file-line-container"><tr><td id="L1" class="blob-num js-line-number" data-line-number="1"></td><td id="LC1" class="blob-code blob-code-inner"><span class="pl-k">def</span> f():</td></tr>
<tr><td class="blob-num" data-line-number="2">2</td><td class="blob-code">
</td></tr>
<tr><td data-line-number="3"></td><td class="blob-code" data-line-number="3">    return 42</td></tr>
<tr><td data-line-number="4"></td><td class="blob-code" data-line-number="4">7</td></tr></table></div>`,
		"Chroma": `<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd">
<pre tabindex="0" class="chroma"><code><span class="lnt">1
</span><span class="lnt">2
</span><span class="lnt">3
</span><span class="lnt">4
</span></code></pre></td>
<td class="lntd">
<pre tabindex="0" class="chroma"><code class="language-python" data-lang="python">` + code + `
</code></pre></td>
</tr></table></div></div>`,
		"Chroma, in line": `<div class="highlight"><pre class="chroma"><code data-lang="python"><span class="line"><span class="ln">1</span><span class="cl">def f():
</span></span><span class="line"><span class="ln">2</span><span class="cl">
</span></span><span class="line"><span class="ln">3</span><span class="cl">    return 42
</span></span><span class="line"><span class="ln">4</span><span class="cl">7</span></span></code></pre></div>`,
	} {
		doc := whole(t, "<p>Before.</p>"+page+"<p>After.</p>")
		if got := content.Markdown(doc.Root(), "http://a.test/"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		doc = whole(t, "<article>"+someText+page+someText+"</article>")
		a, err := content.Extract(doc, "http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		conserved(t, name, doc, a)
		if !strings.Contains(a.Markdown(), "```python\n"+code+"\n```\n") || !strings.Contains(a.Text, "\n\n"+code+"\n\n") {
			t.Errorf("%s:\n%s", name, a.Text)
		}
	}
	for name, test := range map[string]struct{ page, want string }{
		"the name of a file":  {`<table class=highlighttable><tr><th colspan=2 class=filename>a.py</th></tr><tr><td class=linenos><pre>1</pre></td><td class=code><pre>x</pre></td></tr></table>`, "a.py\n\n```\nx\n```"},
		"a table of numbers":  {`<table><tr><td>1<td>2</td></tr></table>`, "|  |  |\n| --- | --- |\n| 1 | 2 |"},
		"a line for each row": {`<table><tr><td class=linenos>one<td>2</td></tr></table>`, "|  |  |\n| --- | --- |\n| one | 2 |"},
		"words of a gutter":   {`<div class=gutter>1 word</div>`, "1 word"},
	} {
		if got := content.Markdown(whole(t, test.page).Root(), "http://a.test/"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
