package links_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/links"
)

const shop = `
<nav id=nav><a href="/">Home</a> <a href="/about.html" rel="nofollow">About</a></nav>
<div class=items>
 <a href="/item/1?x=1">First item</a>
 <a href="/item/2.PDF">Second item</a>
 <p><a href="https://cdn.example.com/file.tar.gz">Archive</a></p>
</div>
<a href="http://other.example/item/3">Third</a>
<a href="http://notexample.com/#top">Fourth</a>
<a href="javascript:go('/item/5')">Fifth</a>
<img src="/pic.jpg"><div data-url="/lazy">x</div>`

func TestOptions(t *testing.T) {
	const (
		home, about = "http://example.com/", "http://example.com/about.html"
		one, two    = "http://example.com/item/1?x=1", "http://example.com/item/2.PDF"
		archive     = "https://cdn.example.com/file.tar.gz"
		third       = "http://other.example/item/3"
		fourth      = "http://notexample.com/"
	)
	goTo := links.Process(func(value string) string {
		_, path, found := strings.Cut(value, "javascript:go('")
		if !found {
			return ""
		}
		path, _, _ = strings.Cut(path, "'")
		return path
	})
	for _, test := range []struct {
		name string
		opts []links.Option
		want []string
	}{
		{"none", nil, []string{home, about, one, two, archive, third, fourth}},
		{"Allow a text", []links.Option{links.Allow("/item/")}, []string{one, two, third}},
		{"Allow an expression", []links.Option{links.Allow(`/item/\d\b.?x`)}, []string{one}},
		{"Allow one of several", []links.Option{links.Allow("about", "gz$")}, []string{about, archive}},
		{"Allow twice", []links.Option{links.Allow("about"), links.Allow("gz$")}, []string{about, archive}},
		{"Allow the dot of a text", []links.Option{links.Allow(`other\.example`)}, []string{third}},
		{"Deny", []links.Option{links.Deny("/item/", "about")}, []string{home, archive, fourth}},
		{"Deny over Allow", []links.Option{links.Allow("/item/"), links.Deny("other")}, []string{one, two}},
		{"Glob of a path", []links.Option{links.Allow(links.Glob("/item/*"))}, []string{one, two, third}},
		{"Glob without slashes", []links.Option{links.Allow(links.Glob("http://example.com/*"))}, []string{home, about}},
		{"Glob with slashes", []links.Option{links.Allow(links.Glob("http://example.com/**"))}, []string{home, about, one, two}},
		{"Glob with a question mark", []links.Option{links.Allow(links.Glob("/item/1?x=*"))}, []string{one}},
		{"Glob of the whole", []links.Option{links.Allow(links.Glob("/item"), links.Glob("item/**"))}, nil},
		{"Domains", []links.Option{links.Domains("example.com")}, []string{home, about, one, two, archive}},
		{"Domains below", []links.Option{links.Domains("CDN.example.com")}, []string{archive}},
		{"Domains with a dot at the end", []links.Option{links.Domains("CDN.example.com.")}, []string{archive}},
		{"two Domains", []links.Option{links.Domains("other.example", "cdn.example.com")}, []string{archive, third}},
		{"DenyDomains", []links.Option{links.DenyDomains("example.com"), links.DenyDomains("other.example")}, []string{fourth}},
		{"DenyExtensions", []links.Option{links.DenyExtensions("pdf", ".GZ")}, []string{home, about, one, third, fourth}},
		{"DenyExtensions with two dots", []links.Option{links.DenyExtensions("tar.gz")}, []string{home, about, one, two, third, fourth}},
		{"ignored extensions", []links.Option{links.DenyExtensions(links.IgnoredExtensions()...)}, []string{home, about, one, third, fourth}},
		{"SkipNoFollow", []links.Option{links.SkipNoFollow(), links.Allow("example.com/[^i]")}, []string{archive}},
		{"Text", []links.Option{links.Text("^First", "item$")}, []string{one, two}},
		{"Text and Allow", []links.Option{links.Text("item"), links.Allow("/2")}, []string{two}},
		{"Process", []links.Option{goTo}, []string{"http://example.com/item/5"}},
		{"CSS", []links.Option{links.CSS(".items")}, []string{one, two, archive}},
		{"CSS of the links themselves", []links.Option{links.CSS(".items > a")}, []string{one, two}},
		{"CSS, several", []links.Option{links.CSS("nav", "p"), links.CSS("nav a")}, []string{home, about, archive}},
		{"CSS and Allow", []links.Option{links.CSS(".items"), links.Allow("item")}, []string{one, two}},
		{"CSS that finds nothing", []links.Option{links.CSS("table")}, nil},
		{"CSS of attributes", []links.Option{links.CSS("nav::attr(id)")}, nil},
		{"CSS and Text", []links.Option{links.CSS(".items"), links.Text("Archive")}, []string{archive}},
		{"XPath", []links.Option{links.XPath("//div[@class='items']")}, []string{one, two, archive}},
		{"XPath of the links themselves", []links.Option{links.XPath("//p/a", "//nav/a[1]")}, []string{home, archive}},
		{"XPath and CSS", []links.Option{links.XPath("//p"), links.CSS("nav")}, []string{home, about, archive}},
		{"XPath of attributes", []links.Option{links.XPath("//nav/@id")}, nil},
		{"Tags", []links.Option{links.Tags("img"), links.Attrs("src")}, []string{"http://example.com/pic.jpg"}},
		{"Tags without their attribute", []links.Option{links.Tags("img")}, nil},
		{"Attrs of a", []links.Option{links.Attrs("src")}, nil},
		{"Attrs of any", []links.Option{links.Tags("*"), links.Attrs("SRC", "data-url")}, []string{"http://example.com/pic.jpg", "http://example.com/lazy"}},
		{"any attribute of some", []links.Option{links.Tags("IMG", "div"), links.Attrs("*")}, []string{"http://example.com/pic.jpg"}},
		{"Everything in some", []links.Option{links.Everything(), links.Tags("img")}, []string{"http://example.com/pic.jpg"}},
		{"Everything in an attribute", []links.Option{links.Everything(), links.Attrs("src")}, []string{"http://example.com/pic.jpg"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 2 { // options can be used again
				checkStrings(t, "Extract", urls(links.Extract([]byte(shop), "http://example.com/", test.opts...)), test.want...)
				checkStrings(t, "Each", each([]byte(shop), "http://example.com/", test.opts...), test.want...)
			}
		})
	}
}

// TestOptionsAreShared has an option extended by another one, in two ways.
func TestOptionsAreShared(t *testing.T) {
	first := links.Allow("about")
	second := links.Tags("a")
	for range 2 {
		checkStrings(t, "both", urls(links.Extract([]byte(shop), "http://example.com/", first, links.Allow("gz"), second, links.Tags("img"))),
			"http://example.com/about.html", "https://cdn.example.com/file.tar.gz")
		checkStrings(t, "the first", urls(links.Extract([]byte(shop), "http://example.com/", first, second)), "http://example.com/about.html")
	}
}

func TestWrongOptions(t *testing.T) {
	for name, make := range map[string]func(){
		"Allow":       func() { links.Allow("(") },
		"Deny":        func() { links.Deny("[") },
		"Text":        func() { links.Text("*") },
		"CSS":         func() { links.CSS("a[") },
		"XPath":       func() { links.XPath("//a[") },
		"XPath count": func() { links.XPath("count(//a)") },
		"Domains":     func() { links.Domains("exa mple.com") },
		"Domains URL": func() { links.Domains("http://example.com/") },
		"DenyDomains": func() { links.DenyDomains("") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			make()
		})
	}
}

func TestIgnoredExtensions(t *testing.T) {
	list := links.IgnoredExtensions()
	if len(list) != 91 {
		t.Errorf("%d extensions, Scrapy has 91", len(list))
	}
	slices.Sort(list)
	if len(slices.Compact(list)) != 91 {
		t.Error("an extension stands there twice")
	}
	list[0] = "changed"
	if slices.Contains(links.IgnoredExtensions(), "changed") {
		t.Error("the list can be changed")
	}
}

func TestExtensions(t *testing.T) {
	for _, test := range []struct {
		href   string
		denied bool
	}{
		{"/a.pdf", true},
		{"/a.PDF?x", true},
		{"/a.b.pdf#x", true},
		{"/a.pdf/", false},
		{"/pdf", false},
		{"/.pdf", true},
		{"/a.pdfx", false},
		{"/a?x=.pdf", false},
		{"/a.pdf.html", false},
		{"http://example.pdf", false},
		{"http://example.pdf/", false},
		{"/a." + strings.Repeat("x", 100), false},
	} {
		t.Run(test.href, func(t *testing.T) {
			found := each([]byte(`<a href="`+test.href+`">`), "http://example.com/", links.DenyExtensions("pdf"))
			if denied := len(found) == 0; denied != test.denied {
				t.Errorf("denied: %v", denied)
			}
		})
	}
}

// TestCharset writes queries in the encoding of the page, as browsers do, and nothing else.
func TestCharset(t *testing.T) {
	for _, test := range []struct {
		name, href, want string
		encoding         charset.Encoding
	}{
		{"ISO-8859-15", "/♥/you?c=€#é", "http://example.com/%E2%99%A5/you?c=%A4", charset.ISO8859_15},
		{"not in the encoding", "/?c=♥", "http://example.com/?c=%26%239829%3B", charset.ISO8859_15},
		{"Shift_JIS", "/あ?q=あ", "http://example.com/%E3%81%82?q=%82%A0", charset.ShiftJIS},
		{"percent signs stay", "/?q=%E9é", "http://example.com/?q=%E9%E9", charset.Windows1252},
		{"question mark in the fragment", "/é#?é", "http://example.com/%C3%A9", charset.Windows1252},
		{"UTF-16 writes UTF-8", "/?q=é", "http://example.com/?q=%C3%A9", charset.UTF16LE},
		{"UTF-8", "/?q=é", "http://example.com/?q=%C3%A9", charset.UTF8},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := []byte(`<a href="` + test.href + `">`)
			checkStrings(t, "Extract", urls(links.Extract(body, "http://example.com/", links.Charset(test.encoding))), test.want)
		})
	}
}

// TestLikeScrapy has what Scrapy's link extractor is tested with beside its pages.
func TestLikeScrapy(t *testing.T) {
	for _, test := range []struct {
		name, page string
		encoding   charset.Encoding
		opts       []links.Option
		want       links.Link
	}{
		{"entities in another encoding", `<a href="/&hearts;/you?c=&euro;">text</a>`, charset.ISO8859_15, nil,
			links.Link{URL: "http://example.com/%E2%99%A5/you?c=%A4", Text: "text"}},
		{"text in GB 18030", "<a href=nofollow.html>\xd6\xd0\xce\xc4</a>", charset.GB18030, nil,
			links.Link{URL: "http://example.com/nofollow.html", Text: "中文"}},
		{"relation types", `<a href=/about.html rel="external nofollow">About us</a>`, charset.UTF8, nil,
			links.Link{URL: "http://example.com/about.html", Text: "About us", NoFollow: true, Rel: []string{"external", "nofollow"}}},
		{"follow is no nofollow", `<a href=/about.html rel="follow">About us</a>`, charset.UTF8, nil,
			links.Link{URL: "http://example.com/about.html", Text: "About us", Rel: []string{"follow"}}},
		{"links that scripts make", `<a href="javascript:goToPage('../other/page.html','photo','width=600'); return false">Text</a>`, charset.UTF8,
			[]links.Option{links.Process(func(value string) string {
				_, rest, _ := strings.Cut(value, "javascript:goToPage('")
				path, _, _ := strings.Cut(rest, "'")
				return path
			})},
			links.Link{URL: "http://example.com/other/page.html", Text: "Text"}},
		{"base that is a path", `<base href="/a/b/"><a href="../c">x</a>`, charset.UTF8, nil, links.Link{URL: "http://example.com/a/c", Text: "x"}},
		{"white space in the reference", "<a href=' \nitem 1.html\t'>x</a>", charset.UTF8, nil, links.Link{URL: "http://example.com/item%201.html", Text: "x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := links.Extract(test.encoding.Decode([]byte(test.page)), "http://example.com/", append(test.opts, links.Charset(test.encoding))...)
			if len(found) != 1 || !reflect.DeepEqual(found[0], test.want) {
				t.Errorf("Extract = %+v, want %+v", found, test.want)
			}
		})
	}
}

// TestSizeError: links relative to a long URL would fill the memory. Each keeps none.
func TestSizeError(t *testing.T) {
	base := "http://a.example/" + strings.Repeat("x", 30_000) + "/"
	page := []byte("<base href='" + base + "'>" + strings.Repeat("<a href=b>", 3_000))
	for _, test := range []struct {
		name string
		size int
		call func()
	}{
		{"Extract", len(page), func() { links.Extract(page, "http://a.example/") }},
		{"Each with a text", len(page), func() {
			for range links.Each(page, "http://a.example/", links.Text("x")) {
				t.Error("a link")
			}
		}},
		{"Stylesheet", 6 * 3_000, func() { links.Stylesheet(bytes.Repeat([]byte("url(b)"), 3_000), base) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				e, ok := recover().(*links.SizeError)
				if !ok || e.Limit != 1<<26+test.size || e.Error() == "" {
					t.Errorf("panic with %v", e)
				}
			}()
			test.call()
			t.Error("no panic")
		})
	}
	t.Run("Each", func(t *testing.T) { // keeps none, but makes them
		page := []byte("<base href='http://a.example/" + strings.Repeat("x", 2<<20) + "/'>" + strings.Repeat("<a href=b>", 600))
		defer func() {
			if e, ok := recover().(*links.SizeError); !ok || e.Limit != 1<<30 {
				t.Errorf("panic with %v", e)
			}
		}()
		for range links.Each(page, "http://a.example/") {
		}
		t.Error("no panic")
	})
	t.Run("links of XML inside each other", func(t *testing.T) {
		page := "<html xmlns='http://www.w3.org/1999/xhtml'>" + strings.Repeat("<a href='b'>", 20_000) + strings.Repeat("x ", 1<<14) + strings.Repeat("</a>", 20_000) + "</html>"
		doc, err := html.ParseXML([]byte(page))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if e, ok := recover().(*links.SizeError); !ok || e.Limit != 1<<26+len(page) {
				t.Errorf("panic with %v", e)
			}
		}()
		links.ExtractFrom(doc, "http://a.example/", links.Unique(false))
		t.Error("no panic")
	})
	found := 0
	for range links.Each(page, "http://a.example/") {
		found++
	}
	if found != 3_000 || len(links.Extract(page[:len(page)-10*2_000], "http://a.example/")) != 1 {
		t.Errorf("Each finds %d links", found)
	}
}

// TestRefused: a page that the parser refuses is an error, not a page without links.
func TestRefused(t *testing.T) {
	page := "<p><a href=/x>" + strings.Repeat("<b><i><u><s><tt><em><big><code><small>", 3) + strings.Repeat("<p>x", 1000)
	if found := links.Extract([]byte(page), "http://a.example/"); len(found) != 1 {
		t.Errorf("without a tree: %d links", len(found))
	}
	for name, option := range map[string]links.Option{"CSS": links.CSS("p"), "XPath": links.XPath("//p")} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if err, ok := recover().(*html.LimitError); !ok {
					t.Errorf("panic with %v", err)
				}
			}()
			t.Errorf("%d links", len(links.Extract([]byte(page), "http://a.example/", option)))
		})
	}
}
