package links_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/links"
)

// waysToLink has each way to name a URL once, and what only looks like one. URLs are relative to the
// root; "" is none.
var waysToLink = []struct{ name, body, want string }{
	{"a", `<a href=1 ping="2 3">`, "1 2 3"},
	{"area", `<map><area href=1 ping=2></map>`, "1 2"},
	{"link", `<link rel=icon href=1 imagesrcset="2 1x, 3 2x">`, "1 2 3"},
	{"base", `<base href=1><a href=2>`, "1 2"},
	{"img", `<img src=1 srcset=2 longdesc=3 lowsrc=4 dynsrc=5 usemap=#m alt=x>`, "1 2 3 4 5"},
	{"srcset", `<img srcset="1 100w , 2, 3 1x,4,5(,)6 2x (a,b), 7">`, "1 2 3 4,5(,)6 7"},
	{"srcset with commas first", `<img srcset=" ,, 1,, ,2">`, "1 2"},
	{"empty srcset", `<img srcset=" , ">`, ""},
	{"picture", `<picture><source srcset="1, 2 2x"><img src=3></picture>`, "1 2 3"},
	{"audio and video", `<audio src=1><source src=2><track src=3></audio><video src=4 poster=5>`, "1 2 3 4 5"},
	{"embed", `<embed src=1 pluginspage=2>`, "1 2"},
	{"object", `<object data=1 codebase=2 archive="3, 4 5"><param name=Movie value=6><param name=x value=y></object>`, "1 2 3 4 5 6"},
	{"applet", `<applet codebase=1 archive=2,3>`, "1 2 3"},
	{"iframe", `<iframe src=1 longdesc=2></iframe>`, "1 2"},
	{"srcdoc", `<iframe srcdoc="<a href=1 title=&quot;x&quot;><img src=&quot;2&quot;>"></iframe><a href=3>`, "1 2 3"},
	{"srcdoc with base", `<iframe srcdoc="<base href='/d/'><a href=e>"></iframe><a href=3>`, "d/ d/e 3"},
	{"srcdoc in srcdoc", `<iframe srcdoc="<iframe srcdoc='<a href=1>'>">`, "1"},
	{"frames", `<frameset><frame src=1 longdesc=2></frameset>`, "1 2"},
	{"form", `<form action=1><button formaction=2></button><input type=image src=3 formaction=4></form>`, "1 2 3 4"},
	{"empty action", `<form action="">`, ""},
	{"isindex", `<isindex action=1>`, "1"},
	{"script", `<script src=1>document.write("<a href=x>")</script>`, "1"},
	{"background", `<body background=1><table background=2><tr background=3><td background=4><th background=5></table>`, "1 2 3 4 5"},
	{"citations", `<blockquote cite=1><q cite=2></q><ins cite=3></ins><del cite=4></del></blockquote>`, "1 2 3 4"},
	{"head and html", `<html manifest=1><head profile=2>`, "1 2"},
	{"import of old", `<import namespace=x implementation=1>`, "1"},
	{"srcset of any kind", `<img data-srcset="1 1x, 2 2x" DATA-LAZY-SRCSET=3><amp-img srcset="4 1x,5 2x"></amp-img><div data-bg-srcset="6, 7"></div><p data-srcsets=x>`, "1 2 3 4 5 6 7"},
	{"loaded later", `<img src="data:image/gif,x" data-src=1><img data-original=2><iframe src=about:blank data-lazy-src=3></iframe><div data-src=x><img data-srcx=x>`, "1 2 3"},
	{"SVG", `<svg><a xlink:href=1><image href=2 /><use xlink:href=#x /><script xlink:href=3></script></svg>`, "1 2  3"},
	{"HTML in SVG", `<svg><foreignObject><p xlink:href=x href=x><a href=1></a></foreignObject><image href=2>`, "1 2"},
	{"xlink outside of SVG", `<a xlink:href=x>`, ""},
	{"href of others", `<p href=x><div src=x data=x cite=x action=x poster=x><span value=x content=x>`, ""},
	{"refresh", `<meta http-equiv=refresh content="0; url=1"><meta http-equiv=refresh content=5>`, "1"},
	{"policy", `<meta http-equiv=Content-Security-Policy content="default-src x; Report-URI 1 2; report-uris x">`, "1 2"},
	{"properties", `<meta property=og:image content=1><meta name=twitter:image content=2><meta name=msapplication-config content=3>
		<meta name=msapplication-square70x70logo content=4><meta property=OG:Video:secure_url content=5><meta property=og:image:alt content=x>
		<meta property=og:title content=x><meta name=description content=x><meta name=msapplication-TileColor content=x><meta content=x>`, "1 2 3 4 5"},
	{"style attribute", `<p style="background: url(1); content: 'url(x)'" title="url(x)">`, "1"},
	{"style sheet", `<style>@import "1"; a { b: url('2') } /* url(x) */</style><a href=3>`, "1 2 3"},
	{"style sheet at the end", `<style>a { b: url(1)`, "1"},
	{"style sheet in SVG", `<svg><style>a { b: url(1) }</style></svg>`, "1"},
	{"no style sheet", `<textarea>url(x)</textarea><script>url(x)</script><p>url(x)`, ""},
	{"conditional comment", `<!--[if lt IE 9]><script src=1></script><![endif]--><a href=2><!-- <a href=x> --><!--[if IE]> <a href=x> -->`, "1 2"},
	{"conditional comment that all see", `<!--[if !IE]><!--><a href=1><!--<![endif]-->`, "1"},
	{"private document type", `<!DOCTYPE html SYSTEM "1"><a href=2>`, "1 2"},
	{"public document type", `<!DOCTYPE html PUBLIC "x" "http://www.w3.org/TR/html4/strict.dtd"><a href=2>`, "2"},
	{"usual document type", `<!DOCTYPE html><!DOCTYPE html SYSTEM "about:legacy-compat"><a href=2>`, "2"},
	{"other schemes", `<img src="data:image/gif,x"><a href="mailto:x"><object classid="clsid:x" data="tel:x">`, ""},
	{"entities", `<img src="1?a&amp;b">`, "1?a&b"},
	{"base counts", `<base href="/d/"><img src=1>`, "d/ d/1"},
	{"first attribute counts", `<img src=1 src=2>`, "1"},
	{"noscript and template", `<noscript><img src=1></noscript><template><img src=2></template>`, "1 2"},
}

// belowRoot returns the URLs of paths with spaces between.
func belowRoot(paths string) (urls []string) {
	if paths == "" {
		return nil
	}
	for path := range strings.SplitSeq(paths, " ") {
		urls = append(urls, "http://example.com/"+path)
	}
	return urls
}

// TestLazy has pictures as sites write them that load them later.
func TestLazy(t *testing.T) {
	for _, test := range []struct{ markup, want string }{
		{`<img src="data:image/gif;base64,R0" data-src=a.jpg>`, "a.jpg"},
		{`<img src=" DATA:x" data-original=a.jpg>`, "a.jpg"},
		{`<img data-lazy-src=b.jpg data-src=a.jpg>`, "a.jpg"},
		{`<img src="" data-cfsrc="a.jpg?x&amp;y">`, "a.jpg?x&y"},
		{`<iframe src=about:blank data-src=/player></iframe>`, "/player"},
		{`<img src="data:x" data-srcset="a.jpg 1x, b.jpg 2x">`, "a.jpg"},
		{`<source srcset="data:x 1w, a.webp 2w">`, "a.webp"},
		{`<img src="data:x" srcset="data:y 1w" data-lazy-srcset="a.jpg 1x">`, "a.jpg"},
		{`<img src=a.jpg data-src=b.jpg>`, ""},
		{`<img src="data:x" data-src="data:y" alt=x>`, ""},
		{`<img src="data:x" data-id=1>`, ""},
		{`<a data-src=x>`, ""},
	} {
		doc := parsed(t, []byte("<body>"+test.markup))
		got := ""
		for n := range doc.Root().Descendants() {
			got += links.Lazy(n)
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.markup, got, test.want)
		}
	}
}

func TestEverything(t *testing.T) {
	for _, test := range waysToLink {
		t.Run(test.name, func(t *testing.T) {
			want := belowRoot(test.want)
			got := each([]byte(test.body), "http://example.com/", links.Everything())
			checkStrings(t, "Each", got, want...)
			checkStrings(t, "Extract", urls(links.Extract([]byte(test.body), "http://example.com/", links.Everything(), links.Unique(false))), want...)
			// Whoever has seen enough is not shown more.
			for i := range got {
				seen := 0
				for range links.Each([]byte(test.body), "http://example.com/", links.Everything()) {
					if seen++; seen == i+1 {
						break
					}
				}
			}
		})
	}
}

func TestEverythingSaysWhere(t *testing.T) {
	body := []byte(`<a href=1 ping=2 rel=nofollow>x</a><x-card href=y></x-card><img lowsrc=3><style>@import "4"</style><p style="a:url(5)">`)
	var got []string
	opts := []links.Option{links.Everything(), links.Header(map[string][]string{"Link": {"<0>; rel=next"}})}
	for r := range links.Each(body, "http://example.com/", opts...) {
		where := r.Tag + "[" + r.Attr + "]=" + string(r.URL[len("http://example.com/"):]) + " " + string(r.Rel)
		if r.NoFollow {
			where += "!"
		}
		got = append(got, strings.TrimSpace(where))
	}
	checkStrings(t, "Each", got, "[link]=0 next", "a[href]=1 nofollow!", "a[ping]=2", "img[lowsrc]=3", "style[]=4", "p[style]=5")
}

// TestEverythingOfStylesheets takes a response for what its header says it is.
func TestEverythingOfStylesheets(t *testing.T) {
	body := []byte(`a { b: url(1) } <a href=2>`)
	header := links.Header(map[string][]string{"content-type": {"Text/CSS ; charset=utf-8"}, "Link": {"<3>"}})
	checkStrings(t, "Everything", each(body, "http://example.com/", header, links.Everything()), "http://example.com/3", "http://example.com/1")
	checkStrings(t, "the links of readers", each(body, "http://example.com/", header), "http://example.com/2")
	checkStrings(t, "a part", each(body, "http://example.com/", links.Header(map[string][]string{"Link": {"<3>"}}), links.Everything(), links.CSS("a")), "http://example.com/2")
}

// TestNesting has documents in documents, which end somewhere.
func TestNesting(t *testing.T) {
	body := "<a href=/x>"
	for range 6 {
		body = `<iframe srcdoc="` + strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(body) + `"></iframe>`
	}
	if got := each([]byte(body), "http://example.com/", links.Everything()); len(got) != 0 {
		t.Errorf("six deep: %q", got)
	}
	comments := strings.Repeat("<!--[if IE]>", 100_000) + "<a href=/x>" + strings.Repeat("<![endif]-->", 100_000)
	if got := each([]byte(comments), "http://example.com/", links.Everything()); len(got) > 1 {
		t.Errorf("comments: %q", got)
	}
}

// TestHostilePages has pages that would take forever if the work grew with the square of their size.
func TestHostilePages(t *testing.T) {
	const n = 100_000
	for _, test := range []struct {
		name, body string
		opts       []links.Option
		want       int
	}{
		{"nested elements", strings.Repeat("<div>", n) + "<a href=x>", []links.Option{links.CSS("div")}, 1},
		{"nested elements by expression", strings.Repeat("<i>", n) + "<a href=x>", []links.Option{links.XPath("//i")}, 1},
		{"pings with a long rel", `<a rel="` + strings.Repeat("x ", n) + `" ping="` + strings.Repeat("x ", n) + `">`, []links.Option{links.Everything()}, n},
		{"candidates", `<img srcset="` + strings.Repeat("x,(", n) + `">`, []links.Option{links.Everything()}, 1},
		{"brackets of style sheets", "<style>" + strings.Repeat("url(", n), []links.Option{links.Everything()}, 0},
		{"comments in style sheets", "<style>" + strings.Repeat("/*", n), []links.Option{links.Everything()}, 0},
		{"beginnings of base", strings.Repeat("<b<ba<bas", n) + "<a href=x>", nil, 0},
		{"attributes of meta", "<meta content=x " + strings.Repeat("a b c ", n) + ">", []links.Option{links.Everything()}, 0},
		{"conditional comments", strings.Repeat("<!--[if]><![endif]", n), []links.Option{links.Everything()}, 0},
		{"parameters of Link", "", []links.Option{links.Everything(), links.Header(map[string][]string{"Link": {"<x>" + strings.Repeat(`;a="`, n)}})}, 1},
		{"links in Link", "", []links.Option{links.Everything(), links.Header(map[string][]string{"Link": {strings.Repeat("<x>;rel=y,", n)}})}, n},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := len(each([]byte(test.body), "http://example.com/", test.opts...)); got != test.want {
				t.Errorf("%d links, want %d", got, test.want)
			}
			links.Extract([]byte(test.body), "http://example.com/", test.opts...)
		})
	}
}

func TestHeader(t *testing.T) {
	for _, test := range []struct {
		name   string
		header map[string][]string
		want   []string
	}{
		{"Link", map[string][]string{"Link": {"</a>; rel=next"}}, []string{"/a"}},
		{"links", map[string][]string{"link": {`</a>; rel="next", <b>;rel=prev ,</c>`, "<d>"}}, []string{"/a", "/b", "/c", "/d"}},
		{"comma in a URL", map[string][]string{"Link": {"</a,b>, </c>"}}, []string{"/a,b", "/c"}},
		{"comma in a parameter", map[string][]string{"Link": {`</a>; title="x, <y>; \"z", </b>`}}, []string{"/a", "/b"}},
		{"about another page", map[string][]string{"Link": {`</a>; anchor="#foo", </b>; rel=x; Anchor=y, </c>`}}, []string{"/c"}},
		{"parameters without a value", map[string][]string{"Link": {`</a>; crossorigin; rel=x, </b> ;`}}, []string{"/a", "/b"}},
		{"broken", map[string][]string{"Link": {"/a; rel=next", "</b", `</c>; title="`}}, []string{"/c"}},
		{"Refresh", map[string][]string{"Refresh": {"5; url=/a"}}, []string{"/a"}},
		{"Refresh of itself", map[string][]string{"Refresh": {"5"}}, nil},
		{"Location", map[string][]string{"Location": {"/a"}, "Content-Location": {"b?c"}}, []string{"/b?c", "/a"}},
		{"others", map[string][]string{"X-Link": {"</a>"}, "Server": {"<b>"}}, nil},
		{"none", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, path := range test.want {
				want = append(want, "http://example.com"+path)
			}
			header := links.Header(test.header)
			checkStrings(t, "Everything", each([]byte("<a href=/z>"), "http://example.com/", header, links.Everything()), append(want, "http://example.com/z")...)
			checkStrings(t, "the links of readers", each([]byte("<a href=/z>"), "http://example.com/", header), "http://example.com/z")
		})
	}
}

// styleSheets name URLs relative to the root.
var styleSheets = []struct{ name, css, want string }{
	{"nothing", "", ""},
	{"plain", "a { background: url(1) }", "1"},
	{"capitals", "a { background: URL(1) } @IMPORT '2';", "1 2"},
	{"quotes", `a { background: url("1") url( '2' ) }`, "1 2"},
	{"white space", "a { b: url( \n 1 \t ) }", "1"},
	{"import", `@import "1"; @import url(2) screen; @import/**/'3' layer(x);`, "1 2 3"},
	{"import with conditions", `@import "1" supports(display: url(2))`, "1 2"},
	{"string after something else", `@import x "1"; @media "2" {}`, ""},
	{"namespace", `@namespace svg url(x); @namespace "x"; a { b: url(1) }`, "1"},
	{"font", `@font-face { src: url(1) format("woff"), local("x"), url(2) }`, "1 2"},
	{"comments", "/* url(x) */ a { b: /* url(x) */ url(1) } /* url(x)", "1"},
	{"slashes in a URL", "a { b: url(//example.com/1) url(http://example.com/2/*3) }", "1 2/*3"},
	{"strings", `a { content: "url(x)" 'url(\'x' url(1) }`, "1"},
	{"string that a line ends", "a { content: \"x\n; b: url(1) }", "1"},
	{"escapes", `a { b: url(1\)2) url("\31 3\
4") url(\35) }`, "1)2 134 5"},
	{"escape of nothing", `a { b: url("\110000\0")`, "%EF%BF%BD%EF%BF%BD"},
	{"bad URL", "a { b: url(x y) url(x'y) url(x(y) url(1) }", "1"},
	{"empty", `a { b: url() url("") url( ) url(1) }`, "1"},
	{"end of the sheet", "a { b: url(1", "1"},
	{"end in a string", `a { b: url("1`, "1"},
	{"end in an escape", `a { b: url(1\`, "1"},
	{"other functions", "a { b: xurl(x) url-x(x) -url(x) #url(x) 1url(x) url (x) image(1) }", ""},
	{"data", "a { b: url(data:image/png,x) }", ""},
	{"comment that is open", "a { b: url(1) } /*", "1"},
	{"slash at the end", "a { b: url(1) } /", "1"},
}

func TestStylesheet(t *testing.T) {
	for _, test := range styleSheets {
		t.Run(test.name, func(t *testing.T) {
			want := belowRoot(test.want)
			checkStrings(t, "Stylesheet", urls(links.Stylesheet([]byte(test.css), "http://example.com/x.css")), want...)
			for i := range test.css { // whatever it is cut to: it ends
				links.Stylesheet([]byte(test.css[:i]), "http://example.com/")
			}
		})
	}
	sheet := []byte("a { b: url(/1) url(/2) url(/1) }")
	found := links.Stylesheet(sheet, "http://example.com/", links.Unique(false), links.Allow("1$"))
	if want := []string{"http://example.com/1", "http://example.com/1"}; !slices.Equal(urls(found), want) {
		t.Errorf("with options: %v", found)
	}
}
