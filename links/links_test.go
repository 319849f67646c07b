package links_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	ours "github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

func TestResolve(t *testing.T) {
	for _, test := range []struct{ name, base, href, want string }{
		{"absolute path", "http://example.com/foo/", "/bar/baz", "http://example.com/bar/baz"},
		{"relative path", "http://example.com/foo/", "bar/baz", "http://example.com/foo/bar/baz"},
		{"dot in a directory", "http://example.com/foo/secret/", "./bar/baz", "http://example.com/foo/secret/bar/baz"},
		{"dot beside a file", "http://example.com/foo/secret", "./bar/baz", "http://example.com/foo/bar/baz"},
		{"dots", "http://example.com/foo/secret/", "../../bar/baz", "http://example.com/bar/baz"},
		{"double slash", "http://example.com/foo", "//www.somewhere.com/foo", "http://www.somewhere.com/foo"},
		{"double slash on https", "https://example.com/foo", "//www.somewhere.com/foo", "https://www.somewhere.com/foo"},
		{"empty", "http://example.com/foo/", "", ""},

		{"white space only", "http://example.com/", " \t\n", ""},
		{"white space around", "http://example.com/", "\n  /a \t", "http://example.com/a"},
		{"line break inside", "http://example.com/", "/a\n/b", "http://example.com/a/b"},
		{"space inside", "http://example.com/", "page 4.html", "http://example.com/page%204.html"},
		{"absolute URL", "http://example.com/", "https://other.example/x?y", "https://other.example/x?y"},
		{"capitals", "http://example.com/", "HTTP://EXAMPLE.com:80/A", "http://example.com/A"},
		{"query alone", "http://example.com/a/b?c", "?d", "http://example.com/a/b?d"},
		{"fragment alone", "http://example.com/a?b", "#top", "http://example.com/a?b"},
		{"beside a file", "http://example.com/a/b.html", "c.html", "http://example.com/a/c.html"},
		{"not ASCII", "http://example.com/", "/ñ", "http://example.com/%C3%B1"},
		{"ftp", "http://example.com/", "ftp://example.com/x", ""},
		{"mailto", "http://example.com/", "mailto:a@example.com", ""},
		{"javascript", "http://example.com/", "javascript:void(0)", ""},
		{"data", "http://example.com/", "data:text/html,x", ""},
		{"bad port", "http://example.com/", "http://example.com:99999/", ""},
		{"bad host", "http://example.com/", "http://exa mple.com/", ""},
		{"relative without base", "", "/x", ""},
		{"relative to no URL", "not a URL", "x", ""},
		{"absolute without base", "", "http://example.com/x", "http://example.com/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			body := []byte(`<a href="` + test.href + `">`)
			checkStrings(t, "Extract", urls(links.Extract(body, test.base)), want...)
			checkStrings(t, "Each", each(body, test.base), want...)
		})
	}
}

// TestMarkup has what readers of HTML by regular expression get wrong.
func TestMarkup(t *testing.T) {
	const x = "http://example.com/x"
	for _, test := range []struct {
		name, body string
		want       []string
	}{
		{"double quotes", `<a href="x">`, []string{x}},
		{"single quotes", `<a href='x'>`, []string{x}},
		{"no quotes", `<a href=x>`, []string{x}},
		{"capitals", `<A HREF=x>`, []string{x}},
		{"several lines", "<a\n class=c\n href\n =\n 'x'\n>", []string{x}},
		{"area", `<map><area href=x></map>`, []string{x}},
		{"slash at the end", `<a href="x"/>`, []string{x}},
		{"first of two", `<a href=x href=y>`, []string{x}},
		{"entity", `<a href="x?a=1&amp;b=2">`, []string{x + "?a=1&b=2"}},
		{"numeric entity", `<a href="&#120;">`, []string{x}},
		{"not an entity", `<a href="x?a=1&copy=2">`, []string{x + "?a=1&copy=2"}},
		{"greater sign in a value", `<a title=">" href=x>`, []string{x}},
		{"commented out", `<!-- <a href=y> --><a href=x>`, []string{x}},
		{"conditional comment", `<!--[if IE]><a href=y><![endif]--><a href=x>`, []string{x}},
		{"data-href", `<a data-href=y>z</a><a href=x>`, []string{x}},
		{"abbr and link", `<abbr title=t>a</abbr><link href="y"><a href=x>`, []string{x}},
		{"other elements", `<article href=y><address href=y><base-x href=y><a href=x>`, []string{x}},
		{"no href", `<a name=y>z</a><a href=x>`, []string{x}},
		{"closing tag", `</a href=y><a href=x>`, []string{x}},
		{"script", `<script>document.write('<a href=y>')</script><a href=x>`, []string{x}},
		{"style", `<style><a href=y></style><a href=x>`, []string{x}},
		{"textarea", `<textarea><a href=y></textarea><a href=x>`, []string{x}},
		{"title", `<title><a href=y></title><a href=x>`, []string{x}},
		{"iframe", `<iframe><a href=y></iframe><a href=x>`, []string{x}},
		{"noscript", `<noscript><a href=x></noscript>`, []string{x}},
		{"noscript in head", `<head><noscript><link><a href=x></noscript>`, []string{x}},
		{"title of SVG", `<svg><title/></svg><a href=x>`, []string{x}},
		{"style of SVG", `<svg><style/><path></svg><a href=x>`, []string{x}},
		{"script of SVG", `<svg><script xlink:href="y"/></svg><a href=x>`, []string{x}},
		{"SVG that is not closed", `<svg><p><script>"<a href=y>"</script><a href=x>`, []string{x}},
		{"SVG ended by a paragraph", `<svg></p><style><a href=y></style><a href=x>`, []string{x}},
		{"HTML in SVG", `<svg><foreignObject><style><a href=y></style></foreignObject><title/></svg><a href=x>`, []string{x}},
		{"title in SVG with markup", `<svg><title><style><a href=y></style></title></svg><a href=x>`, []string{x}},
		{"MathML", `<math><mtext><title><a href=y></title></mtext><style/></math><a href=x>`, []string{x}},
		{"empty SVG", `<svg/><style><a href=y></style><a href=x>`, []string{x}},
		{"end tags without start", `</svg></template></noscript></title></mi><a href=x>`, []string{x}},
		{"cut in a tag", `<a href=x><a href="y`, []string{x}},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := []byte(test.body)
			checkStrings(t, "Extract", urls(links.Extract(body, "http://example.com/")), test.want...)
			checkStrings(t, "Each", each(body, "http://example.com/"), test.want...)
			checkStrings(t, "a tree builder", fromTree(t, body, "http://example.com/"), test.want...)
		})
	}
}

func TestDeepPage(t *testing.T) {
	body := []byte(strings.Repeat("<div>", 5000) + "<a href=x>")
	checkStrings(t, "Extract", urls(links.Extract(body, "http://example.com/")), "http://example.com/x")
}

func TestBase(t *testing.T) {
	const doc = "http://example.com/dir/page?q#f"
	for _, test := range []struct{ name, body, want, link string }{
		{"none", `<a href=x>`, doc, "http://example.com/dir/x"},
		{"empty", `<base href=""><a href=x>`, "http://example.com/dir/page?q", "http://example.com/dir/x"},
		{"directory", `<base href="/b/"><a href=x>`, "http://example.com/b/", "http://example.com/b/x"},
		{"file is no directory", `<base href="/b.html"><a href=x>`, "http://example.com/b.html", "http://example.com/x"},
		{"other host", `<base href="//other.example"><a href=x>`, "http://other.example/", "http://other.example/x"},
		{"after the link", `<a href=x><base href="/b/">`, "http://example.com/b/", "http://example.com/b/x"},
		{"first of two", `<base href="/b/"><base href="/c/"><a href=x>`, "http://example.com/b/", "http://example.com/b/x"},
		{"first with href", `<base target=_top><base href="/c/"><a href=x>`, "http://example.com/c/", "http://example.com/c/x"},
		{"capitals", `<BASE HREF="/b/"><a href=x>`, "http://example.com/b/", "http://example.com/b/x"},
		{"entities", `<base href="/b?a&amp;c"><a href=x>`, "http://example.com/b?a&c", "http://example.com/x"},
		{"commented out", `<!-- <base href="/b/"> --><a href=x>`, doc, "http://example.com/dir/x"},
		{"in a script", `<script>"<base href='/b/'>"</script><a href=x>`, doc, "http://example.com/dir/x"},
		{"in a template", `<template><base href="/b/"></template><a href=x>`, doc, "http://example.com/dir/x"},
		{"in SVG", `<svg><base href="/b/"></base></svg><a href=x>`, doc, "http://example.com/dir/x"},
		{"basefont", `<basefont href="/b/"><a href=x>`, doc, "http://example.com/dir/x"},
		{"data", `<base href="data:text/html,"><a href=x>`, doc, "http://example.com/dir/x"},
		{"javascript", `<base href="javascript:1"><a href=x>`, doc, "http://example.com/dir/x"},
		{"no URL", `<base href="http://exa mple/"><a href=x>`, doc, "http://example.com/dir/x"},
		{"bad one counts as the first", `<base href="http://exa mple/"><base href="/b/"><a href=x>`, doc, "http://example.com/dir/x"},
		{"cannot be a base", `<base href="mailto:a@b"><a href=x><a href="/y"><a href="http://example.com/z">`, "mailto:a@b", "http://example.com/z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := []byte(test.body)
			if got := links.Base(body, doc); got != test.want {
				t.Errorf("Base = %q, want %q", got, test.want)
			}
			checkStrings(t, "Extract", urls(links.Extract(body, doc)), test.link)
		})
	}
	if got := links.Base([]byte(`<base href="http://example.com/">`), ""); got != "http://example.com/" {
		t.Errorf("Base without a page URL = %q", got)
	}
	if got := links.Base([]byte(`<base href="/x">`), "not a URL"); got != "not a URL" {
		t.Errorf("Base of no URL = %q", got)
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"plain", `<a href=x>one</a> two`, "one"},
		{"white space", "<a href=x>\n  one\t two </a>", "one two"},
		{"inline elements", `<a href=x>o<b>n</b>e</a>`, "one"},
		{"paragraphs", `<a href=x><p>alpha</p><p>beta</p></a>`, "alpha beta"},
		{"line break", `<a href=x>alpha<br>beta</a>`, "alpha beta"},
		{"entities", `<a href=x>a &amp; b&nbsp;c</a>`, "a & b c"},
		{"script", `<a href=x>a<script>s()</script><style>t</style>b</a>`, "ab"},
		{"style in SVG", `<a href=x>a<svg><style>.b{}</style><text>c</text></svg>d</a>`, "acd"},
		{"script in SVG", `<a href=x>a<svg><script>b()</script><text>c</text></svg>d</a>`, "acd"},
		{"section in a style in SVG", `<a href=x>a<svg><style><![CDATA[ .b > c {} ]]></style></svg>d</a>`, "ad"},
		{"elements in a style in SVG", `<a href=x>a<svg><style>.b<g>c</g>e</style><text>f</text></svg>d</a>`, "afd"},
		{"empty style in SVG", `<a href=x>a<svg><style/><text>c</text></svg>d</a>`, "acd"},
		{"style in SVG that does not end", `<a href=x>a<svg><style>b</svg>d</a>`, "ad"},
		{"style in MathML", `<a href=x>a<math><mi>b</mi><style>c</style></math>d</a>`, "abd"},
		{"title in SVG", `<a href=x>a<svg><title>b</title><desc>c</desc></svg>d</a>`, "a b c d"},
		{"comment", `<a href=x>a<!-- c -->b</a>`, "ab"},
		{"image", `<a href=x><img alt=picture></a>`, ""},
		{"not closed", `<a href=x>one<a href=y>two</a>`, "one"},
		{"closed by a link without href", `<a href=x>one<a name=y>two</a>`, "one"},
		{"never closed", `<a href=x>one <i>two`, "one two"},
		{"area", `<map><area href=x alt=region>text</map>`, ""},
		{"area inside", `<a href=x>one <area href=y>two</a>`, "one two"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := links.Extract([]byte(test.body), "http://example.com/")
			if len(found) == 0 || found[0].Text != test.want {
				t.Errorf("Extract = %+v, want text %q", found, test.want)
			}
			// The other reader of the text.
			doc := parsed(t, []byte(test.body))
			if got := links.ExtractFrom(doc, "http://example.com/"); len(got) == 0 || got[0].Text != test.want {
				t.Errorf("ExtractFrom = %+v, want text %q", got, test.want)
			}
			for n := range doc.Root().Descendants() {
				if n.Atom() != ours.AtomA {
					continue
				}
				if got := n.CollapsedText(); got != test.want {
					t.Errorf("the text of the element is %q, want %q", got, test.want)
				}
				break
			}
		})
	}
}

func TestRel(t *testing.T) {
	for _, test := range []struct {
		name, attrs string
		rel         []string
		noFollow    bool
	}{
		{"none", ``, nil, false},
		{"empty", `rel=""`, nil, false},
		{"nofollow", `rel=nofollow`, []string{"nofollow"}, true},
		{"one of several", `rel="noopener nofollow"`, []string{"noopener", "nofollow"}, true},
		{"commas", `rel="nofollow,noopener"`, []string{"nofollow", "noopener"}, true},
		{"commas and spaces", `rel="ugc , ,nofollow"`, []string{"ugc", "nofollow"}, true},
		{"another word with commas", `rel="nofollower,x"`, []string{"nofollower", "x"}, false},
		{"capitals and line breaks", "rel='External\nNoFollow'", []string{"external", "nofollow"}, true},
		{"part of a word", `rel="nofollowing x-nofollow"`, []string{"nofollowing", "x-nofollow"}, false},
		{"other attribute", `title=nofollow data-rel=nofollow`, nil, false},
		{"first of two", `rel=next rel=nofollow`, []string{"next"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := []byte("<a " + test.attrs + " href=x>")
			l := links.Extract(body, "http://example.com/")[0]
			if !slices.Equal(l.Rel, test.rel) || l.NoFollow != test.noFollow {
				t.Errorf("Rel = %q, NoFollow = %v; want %q, %v", l.Rel, l.NoFollow, test.rel, test.noFollow)
			}
			for r := range links.Each(body, "http://example.com/") {
				if r.NoFollow != test.noFollow {
					t.Errorf("Each: NoFollow = %v", r.NoFollow)
				}
			}
		})
	}
}

const repeated = `<a href="/a">one</a><a href="/b#x y">two</a><a href="/a#c">three</a><a href="/b">four</a>`

func TestUnique(t *testing.T) {
	body := []byte(repeated)
	found := links.Extract(body, "http://example.com/")
	checkStrings(t, "Extract", urls(found), "http://example.com/a", "http://example.com/b")
	if found[1].Fragment != "x%20y" || found[1].Text != "two" {
		t.Errorf("the first link to a URL should stay, got %+v", found[1])
	}
	found = links.Extract(body, "http://example.com/", links.Unique(false))
	var fragments []string
	for _, l := range found {
		fragments = append(fragments, l.Fragment)
	}
	checkStrings(t, "fragments", fragments, "", "x%20y", "c", "")
}

func TestAccept(t *testing.T) {
	body := []byte(repeated)
	long := links.Accept(func(l links.Link) bool { return len(l.Text) > 3 })
	a := links.Accept(func(l links.Link) bool { return strings.HasSuffix(l.URL, "a") })
	checkStrings(t, "one", urls(links.Extract(body, "http://example.com/", long)),
		"http://example.com/a", "http://example.com/b")
	checkStrings(t, "both", urls(links.Extract(body, "http://example.com/", long, a)), "http://example.com/a")
	checkStrings(t, "none", urls(links.Extract(body, "http://example.com/",
		links.Accept(func(links.Link) bool { return false }))))
}

func TestEach(t *testing.T) {
	type ref struct {
		url, fragment, tag, attr, rel string
	}
	body := []byte(repeated + `<area href=/c rel="Next NoFollow">`)
	collect := func(limit int, opts ...links.Option) (got []ref) {
		for r := range links.Each(body, "http://example.com/", opts...) {
			got = append(got, ref{string(r.URL), string(r.Fragment), r.Tag, r.Attr, string(r.Rel)})
			if len(got) == limit {
				break
			}
		}
		return got
	}
	all := []ref{
		{"http://example.com/a", "", "a", "href", ""},
		{"http://example.com/b", "x%20y", "a", "href", ""},
		{"http://example.com/a", "c", "a", "href", ""},
		{"http://example.com/b", "", "a", "href", ""},
		{"http://example.com/c", "", "area", "href", "Next NoFollow"},
	}
	if got := collect(10); !slices.Equal(got, all) {
		t.Errorf("Each = %q", got)
	}
	if got := collect(2); !slices.Equal(got, all[:2]) {
		t.Errorf("Each that is left = %q", got)
	}
	accepted := []ref{all[2], all[3], {"http://example.com/c", "", "area", "href", "next nofollow"}}
	chosen := links.Accept(func(l links.Link) bool { return len(l.Text) > 3 || l.NoFollow })
	if got := collect(10, chosen); !slices.Equal(got, accepted) {
		t.Errorf("Each with Accept = %q", got)
	}
	if got := collect(1, chosen); !slices.Equal(got, accepted[:1]) {
		t.Errorf("Each with Accept that is left = %q", got)
	}
}

// TestEachAllocatesNothing walks pages with one link and with a thousand.
func TestEachAllocatesNothing(t *testing.T) {
	link := `<a href="/some/where?a=1&amp;b=2" rel="next nofollow">some where</a>` + "\n"
	count := func(body []byte, opts ...links.Option) float64 {
		return testing.AllocsPerRun(10, func() {
			for r := range links.Each(body, "http://example.com/dir/page", opts...) {
				if !r.NoFollow {
					t.Fatal(r)
				}
			}
		})
	}
	for name, opts := range map[string][]links.Option{
		"plain": nil,
		"filters": {links.Allow("some", "^http"), links.Deny("x.z"), links.Domains("example.com"), links.DenyDomains("example.org"),
			links.DenyExtensions(links.IgnoredExtensions()...)},
	} {
		t.Run(name, func(t *testing.T) {
			one, many := count([]byte(link), opts...), count([]byte(strings.Repeat(link, 1000)), opts...)
			if deep.Checks() && !israce.Enabled && (many > one || one > 6) {
				t.Errorf("%v allocations for a link, %v for a thousand", one, many)
			}
		})
	}
}

func urls(found []links.Link) []string {
	var list []string
	for _, l := range found {
		list = append(list, l.URL)
	}
	return list
}

func each(body []byte, base string, opts ...links.Option) []string {
	var list []string
	for r := range links.Each(body, base, opts...) {
		list = append(list, string(r.URL))
	}
	return list
}

// fromTree is an independent witness: the links that the parser of golang.org/x/net/html sees.
func fromTree(t *testing.T, body []byte, docURL string) []string {
	t.Helper()
	base, err := urlx.ParseBase(links.Base(body, docURL))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" && n.Data != "area" {
			continue
		}
		for _, attr := range n.Attr {
			if attr.Namespace != "" || attr.Key != "href" || strings.Trim(attr.Val, " \t\r\n\f") == "" {
				continue
			}
			abs, err := base.Resolve(nil, attr.Val)
			if err == nil && strings.HasPrefix(string(abs), "http") {
				url, _ := urlx.CutFragment(string(abs))
				list = append(list, url)
			}
		}
	}
	return list
}

func checkStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}
