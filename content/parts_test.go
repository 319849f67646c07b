package content_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// It fails if a part behind a tab has no name before it, or if a name stands where the tabs are.
func TestTabs(t *testing.T) {
	const want = "Before.\n\n**npm**\n\n```\nnpm i\n```\n\n**yarn**\n\nUse **yarn**.\n\nAfter."
	const npm, yarn = `<pre>npm i</pre>`, `<p>Use <b>yarn</b>.</p>`
	for name, page := range map[string]string{
		"Docusaurus": `<div class=tabs-container><ul role=tablist class=tabs><li role=tab tabindex=0 aria-selected=true>npm</li><li role=tab>yarn</li></ul><div><div role=tabpanel>` + npm + `</div><div role=tabpanel hidden>` + yarn + `</div></div></div>`,
		"ARIA, in another order": `<div class=x-tabs><div role=tablist><button role=tab id=t1 aria-controls=p1>yarn</button><button role=tab id=t2 aria-controls=p2>npm</button></div>
<div role=tabpanel id=p2>` + npm + `</div><div role=tabpanel id=p1 hidden>` + yarn + `</div></div>`,
		"labelled by": `<nav role=tablist><a role=tab id=t1 href="#a">yarn</a><a role=tab id=t2 href="#b">npm</a></nav><section role=tabpanel aria-labelledby=t2>` + npm + `</section><section role=tabpanel aria-labelledby=t1>` + yarn + `</section>`,
		"Starlight":   `<starlight-tabs><ul role=tablist><li role=presentation class=tab><a role=tab href="#p1">npm</a></li><li role=presentation class=tab><a role=tab href="#p2">yarn</a></li></ul><div id=p1 role=tabpanel>` + npm + `</div><div id=p2 role=tabpanel hidden>` + yarn + `</div></starlight-tabs>`,
		"MkDocs": `<div class="tabbed-set tabbed-alternate"><input checked id=a type=radio name=t><input id=b type=radio name=t><div class=tabbed-labels><label for=a>npm</label><label for=b>yarn</label></div>
<div class=tabbed-content><div class=tabbed-block>` + npm + `</div><div class=tabbed-block>` + yarn + `</div></div></div>`,
		"Sphinx design": `<div class="sd-tab-set docutils"><input type=radio id=a name=t><label class=sd-tab-label for=a>npm</label><div class=sd-tab-content>` + npm + `</div><input type=radio id=b name=t><label class=sd-tab-label for=b>yarn</label><div class=sd-tab-content>` + yarn + `</div></div>`,
		"VitePress":     `<div class=vp-code-group><div class=tabs><input type=radio name=g id=a checked><label for=a>npm</label><input type=radio name=g id=b><label for=b>yarn</label></div><div class=blocks><div>` + npm + `</div><div>` + yarn + `</div></div></div>`,
		"buttons":       `<div class=code-tabs><div class=tabs><button>npm</button><button>yarn</button></div><div><div>` + npm + `</div><div style="display: none">` + yarn + `</div></div></div>`,
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
		if text := a.Text; !strings.Contains(text, "\n\nnpm\n\nnpm i\n\nyarn\n\nUse yarn.\n\n") {
			t.Errorf("%s:\n%s", name, text)
		}
		if html := a.HTML(); strings.Count(html, "<strong>yarn</strong>") != 1 || strings.Contains(html, "tab>") {
			t.Errorf("%s:\n%s", name, html)
		}
	}
	for name, test := range map[string]struct{ page, want string }{
		"tabs of a menu":       {`<p>a</p><ul role=tablist><li role=tab>b</li></ul><p>c</p>`, "a\n\n- b\n\nc"},
		"buttons of a form":    {`<div class=tabs><button>a</button><button>b</button></div><p>c</p>`, "c"},
		"a part without a tab": {`<div role=tabpanel>a</div>`, "a"},
		"tabs in a cell":       {`<table><tr><th>a<th>b<tr><td><div role=tablist><b role=tab>c</b></div><div role=tabpanel>d</div><td>e</table>`, "| a | b |\n| --- | --- |\n| **c**<br>d | e |"},
	} {
		if got := content.Markdown(whole(t, test.page).Root(), "http://a.test/"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// It fails if a formula is written twice, or not as its TeX where the page has that.
func TestFormulas(t *testing.T) {
	const mathml = `<mrow><mi>a</mi><mo>+</mo><msub><mi>b</mi><mn>1</mn></msub></mrow>`
	const tex = `<annotation encoding="application/x-tex">a + b_1</annotation>`
	for name, test := range map[string]struct{ page, want, text string }{
		"MathML":           {`<math>` + mathml + `</math>`, "a+b1", "a+b1"},
		"MathML with TeX":  {`<math><semantics>` + mathml + tex + `</semantics></math>`, "$a + b_1$", "a + b_1"},
		"displayed":        {`<math display=block><semantics>` + mathml + tex + `</semantics></math>`, "$$a + b_1$$", "a + b_1"},
		"other annotation": {`<math><semantics>` + mathml + `<annotation encoding="application/openmath">twice</annotation><annotation-xml encoding="MathML-Content"><apply>twice</apply></annotation-xml></semantics></math>`, "a+b1", "a+b1"},
		"KaTeX":            {`<span class=katex><span class=katex-mathml><math><semantics>` + mathml + tex + `</semantics></math></span><span class=katex-html aria-hidden=true>a+b1</span></span>`, "$a + b_1$", "a + b_1"},
		"KaTeX, displayed": {`<span class=katex-display><span class=katex><span class=katex-mathml><math><semantics>` + mathml + tex + `</semantics></math></span><span class=katex-html aria-hidden=true>a+b1</span></span></span>`, "$$a + b_1$$", "a + b_1"},
		"MathJax 2":        {`<span class=MathJax_Preview>a+b1</span><span class=MathJax id=MathJax-Element-1-Frame><nobr>a+b1</nobr></span><script type="math/tex" id=MathJax-Element-1>a + b_1</script>`, "$a + b_1$", "a + b_1"},
		"MathJax 2, shown": {`<div class=MathJax_Display><span class=MathJax>a+b1</span></div><script type="math/tex; mode=display">a + b_1</script>`, "$$a + b_1$$", "a + b_1"},
		"MathJax 3":        {`<mjx-container class=MathJax jax=SVG><svg><text>a</text></svg><mjx-assistive-mml><math>` + mathml + `</math></mjx-assistive-mml></mjx-container>`, "a+b1", "a+b1"},
		"MediaWiki":        {`<span class=mwe-math-element><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math><semantics>` + mathml + tex + `</semantics></math></span><img src=a.svg class=mwe-math-fallback-image-inline aria-hidden=true alt="a + b_1"></span>`, "$a + b_1$", "a + b_1"},
		"Sphinx":           {`<span class="math notranslate nohighlight">\(a + b_1\)</span>`, "$a + b_1$", "a + b_1"},
		"Arithmatex":       {`<span class="math arithmatex"></span><span class=arithmatex>\[a + b_1\]</span>`, "$$a + b_1$$", "a + b_1"},
	} {
		doc := whole(t, "<p>For $2, "+test.page+" is it.</p>")
		dollar := `\$`
		if got, want := content.Markdown(doc.Root(), "http://a.test/"), "For "+dollar+"2, "+test.want+" is it."; strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		doc = whole(t, "<article>"+someText+"<p>Here "+test.page+" is it.</p>"+someText+"</article>")
		a, err := content.Extract(doc, "http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		conserved(t, name, doc, a)
		if text := strings.Join(strings.Fields(a.Text), " "); !strings.Contains(text, "Here "+test.text+" is it.") {
			t.Errorf("%s:\n%s", name, a.Text)
		}
	}
	doc := whole(t, `<table><tr><th>a<th>b<tr><td><math><semantics><mi>x</mi><annotation encoding="application/x-tex">|x|</annotation></semantics></math><td>c</table>`)
	if got, want := content.Markdown(doc.Root(), "http://a.test/"), "| a | b |\n| --- | --- |\n| $\\vert x\\vert $ | c |"; got != want {
		t.Errorf("in a cell: %q, want %q", got, want)
	}
	if got := content.Markdown(whole(t, "<p>For $2 and $3").Root(), "http://a.test/"); got != "For $2 and $3" {
		t.Errorf("a page without formulas: %q", got)
	}
}

// It fails if the title of a note is not one, or is lost.
func TestNoteTitles(t *testing.T) {
	const want = "**Note**\n\nMind it."
	for name, page := range map[string]string{
		"Sphinx and MkDocs": `<div class="admonition note"><p class=admonition-title>Note</p><p>Mind it.</p></div>`,
		"Docusaurus":        `<div class="theme-admonition admonition_o5H7"><div class=admonitionHeading_FzoX><span class=admonitionIcon_rXq6><svg></svg></span>Note</div><div class=admonitionContent_Knsx><p>Mind it.</p></div></div>`,
		"GitHub":            `<div class="markdown-alert markdown-alert-note"><p class=markdown-alert-title><svg></svg>Note</p><p>Mind it.</p></div>`,
		"VitePress":         `<div class="tip custom-block"><p class=custom-block-title>Note</p><p>Mind it.</p></div>`,
		"Starlight":         `<aside class="starlight-aside starlight-aside--note"><p class=starlight-aside__title aria-hidden=true>Note</p><div><p>Mind it.</p></div></aside>`,
		"AsciiDoc":          `<div class="admonitionblock note"><table><tr><td class=icon><div class=title>Note</div></td><td class=content>Mind it.</td></tr></table></div>`,
	} {
		if got := content.Markdown(whole(t, page).Root(), "http://a.test/"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		doc := whole(t, `<meta name=generator content="Docutils 0.19"><div class=body role=main><h1>Title</h1>`+someText+page+someText+`</div>`)
		a, err := content.Extract(doc, "http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		conserved(t, name, doc, a)
		if !strings.Contains(a.Markdown(), "\n\n"+want+"\n\n") {
			t.Errorf("%s:\n%s", name, a.Markdown())
		}
	}
}
