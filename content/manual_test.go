package content_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// It fails if a part of documentation is lost for its name, its place or its links, or if navigation becomes text.
func TestManualPages(t *testing.T) {
	const sphinx, plain = `<meta name=generator content="Docutils 0.19">`, ``
	sentence := strings.Repeat("A sentence of the manual, long enough to be one. ", 4)
	section := func(id, title string) string {
		return `<section id="` + id + `"><h2>` + title + `<a class=headerlink href="#` + id + `">¶</a></h2><p>` + sentence + title + ` ends.</p></section>`
	}
	for _, test := range []struct {
		name, head, body string
		in, out          []string
	}{
		{"ids of sections", sphinx, `<div class=body role=main><h1>Title</h1>` + section("menus", "Menus") + section("sharing-state", "Sharing state") + section("cookies", "Cookies") + section("comments", "Comments") + `</div><div class=footer>The maker</div>`,
			[]string{"Menus ends", "Sharing state ends", "Cookies ends", "Comments ends"}, []string{"The maker"}},
		{"hashed classes", plain, `<main><article>` + strings.ReplaceAll(section("a", "Anchors")+section("b", "Notes"), "<h2>", `<h2 class="anchor anchorWithStickyNavbar_LWe7">`) +
			`<div class=admonition><div class="admonitionContent_BuS1"><p>` + sentence + `A note.</p></div></div></article></main><nav>Menu of it</nav>`, []string{"## Anchors", "## Notes", "A note"}, []string{"Menu of it"}},
		{"sections of one parent", `<meta name=generator content="AsciiDoc 10">`, `<div id=header><h1>tool(1)</h1></div><div id=content><div class=sect1><h2>SYNOPSIS</h2><pre>tool -x</pre></div><div class=sect1><h2>TEXT</h2><p>` + strings.Repeat(sentence, 9) +
			`</p></div><div class=sect1><h2>SEE ALSO</h2><p><a href=a>one(1)</a>, <a href=b>two(1)</a></p></div></div><div id=footer>Last updated</div>`, []string{"# tool(1)", "tool -x", "SEE ALSO", "two(1)"}, []string{"Last updated"}},
		{"lists of links", sphinx, `<div class=body role=main><h1>Title</h1><p>` + sentence + `</p><ul><li><a href=a>One</a> is <a href=b>two</a></li><li><a href=c>three</a></li></ul><div id=quickview><a href="#a">four</a> <a href="#b">five</a> <a href="#c">six</a></div></div>`,
			[]string{"One", "three"}, []string{"four"}},
		{"asides", sphinx, `<div class=body role=main><aside>Before it</aside><h1>Title</h1><p>` + sentence + `</p><aside class=sidebar>Between them</aside><p>` + sentence + `</p><aside class="footnote-list"><p>A footnote</p></aside><aside>After it</aside></div>`,
			[]string{"Between them", "A footnote"}, []string{"Before it", "After it"}},
		{"tabs", sphinx, `<div class=body role=main><h1>Title</h1><p>` + sentence + `</p><div role=tabpanel hidden>Of the second tab</div><div hidden=until-found>Found later</div><p hidden>Not shown</p></div>`,
			[]string{"Of the second tab", "Found later"}, []string{"Not shown"}},
		{"links after the text", sphinx, `<div role=main><h1>Title</h1><p>` + sentence + `</p><div><a href=a>See this</a> and <a href=b>that</a></div><div><a href=a>The page before</a><a href=b>The page after</a></div></div>`,
			[]string{"See this"}, []string{"page before", "page after"}},
		{"links after the text that are a part of it", sphinx, `<div role=main><h1>Title</h1><p>` + sentence + `</p><div><ul><li><a href=a>One</a><li><a href=b>Two</a></ul></div></div>`, []string{"One", "Two"}, nil},
		{"a date after the text", sphinx, `<div role=main><h1>Title</h1><div class=td-page-meta__date>A date before it</div><p>` + sentence + `</p><div class=td-page-meta__lastmod>Changed today</div></div>`,
			[]string{"A date before it"}, []string{"Changed today"}},
		{"a part with its title and controls", `<meta property=og:type content=product>`, `<div><div><h1>Loom</h1><p>` + sentence + `</p><form><input><button>Buy</button></form></div><div>` + strings.Repeat("<p>"+sentence+"</p>", 5) + `</div><div><h2>News</h2><input><button>Subscribe</button> to our news</div></div>`,
			[]string{"# Loom\n\nA sentence"}, []string{"to our news"}},
		{"source code", plain, `<div><h1>Source of it</h1><pre>` + strings.Repeat("func main() {}\n", 20) + `<span class=comment># menu</span></pre></div>`, []string{"func main", "# menu"}, nil},
		{"an article with anchors", `<meta property=og:type content=article>`, `<article><h1>Title</h1>` + section("news", "News") + section("more", "More") + `<div class=newsletter><h2>Newsletter</h2><p>Subscribe to it now, and read it.</p></div></article>`,
			[]string{"News ends", "More ends"}, []string{"Subscribe to it"}},
		{"a title of an article", `<meta property=og:type content=article>`, `<article><h1>Title</h1><h2 class=teaser-promo>Part one</h2><p>` + sentence + `</p><h2 class=related-title>Related</h2><div class=related>` + strings.Repeat("Other text, ", 3) + `</div></article>`,
			[]string{"Part one"}, []string{"Related", "Other text"}},
	} {
		doc := whole(t, "<head>"+test.head+"</head>"+test.body)
		a, err := content.Extract(doc, "http://a.test/")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		conserved(t, test.name, doc, a)
		text := strings.ReplaceAll(a.Markdown(content.WithoutLinks()), `\`, "")
		for _, s := range test.in {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %q is not in\n%s", test.name, s, text)
			}
		}
		for _, s := range test.out {
			if strings.Contains(text, s) {
				t.Errorf("%s: %q is in\n%s", test.name, s, text)
			}
		}
	}
}
