package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/links"
)

// urlsOf returns what EachLink hands out.
func urlsOf(r *response, opts ...links.Option) (urls []string) {
	r.page.EachLink(r, opts, func(ref *links.Ref) bool {
		urls = append(urls, string(ref.URL))
		return true
	})
	return urls
}

// parsed makes a response that selectors have been asked about.
func parsed(contentType, body string) *response {
	r := of(contentType, body)
	r.page.Document(r)
	return r
}

// Whether selectors were asked before makes no difference to the links.
func TestLinksOfParsedPage(t *testing.T) {
	const body = `<base href="/b/"><title>t</title><p><a href="?q=%s" rel=nofollow>x</a><svg><a href=1></a></svg>` +
		`<template><area href=2></template><link href=3><a href=4>y</a>`
	optionSets := map[string][]links.Option{
		"no options": nil, "repeated": {links.Unique(false)}, "restricted": {links.CSS("p, r")}, "everything": {links.Everything()},
	}
	for _, test := range []struct {
		name, contentType, body string
		links                   int
	}{
		{"UTF-8", "text/html", fmt.Sprintf(body, "é"), 4},
		{"windows-1252", "text/html; charset=windows-1252", fmt.Sprintf(body, "\xe9"), 4},
		{"two byte order marks", "text/html", "\uFEFF\uFEFF" + fmt.Sprintf(body, "é"), 4},
		{"XML", "text/xml", `<r><title><a href="1"/></title><A href="2"/></r>`, 1},
		{"frameset", "text/html", `<frameset><a href=1>`, 1},
		{"two byte order marks and a frameset", "text/html", "\uFEFF\uFEFF<frameset></frameset><p><a href=1>", 1},
		{"empty", "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			fresh := func() *response { return of(test.contentType, test.body) }
			if r := fresh(); len(r.page.Links(r, nil)) != test.links {
				t.Errorf("%d links, want %d", len(r.page.Links(r, nil)), test.links)
			}
			for name, opts := range optionSets {
				a, b := parsed(test.contentType, test.body), fresh()
				if got, want := a.page.Links(a, opts), b.page.Links(b, opts); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the parsed page has the links\n%+v\nthe other\n%+v", name, got, want)
				}
				if got, want := urlsOf(parsed(test.contentType, test.body), opts...), urlsOf(fresh(), opts...); !slices.Equal(got, want) {
					t.Errorf("%s: of the parsed page %q are handed out, of the other %q", name, got, want)
				}
			}
			r := parsed(test.contentType, test.body)
			r.buffer = bytes.NewBufferString("<a href=5>")
			if got := urlsOf(r); !slices.Equal(got, []string{"http://a.test/dir/5"}) {
				t.Errorf("of another body %q are handed out", got)
			}
		})
	}
}

// The links of a page that was parsed are found in its tree, and not by parsing it again. It fails if the tree is not used.
func TestLinksOfTree(t *testing.T) {
	body := strings.Repeat("<p><a href=1>x</a>", 400)
	r, other := parsed("text/html", body), of("text/html", body)
	opts := []links.Option{links.CSS("p")}
	if tree, text := r.page.Links(r, opts), other.page.Links(other, opts); len(tree) != 1 || len(text) != 1 {
		t.Errorf("%d links of the tree, %d of the text", len(tree), len(text))
	}
	count := func(r *response) float64 { return testing.AllocsPerRun(10, func() { r.page.Links(r, opts) }) }
	if tree, text := count(r), count(other); deep.Checks() && tree >= text {
		t.Errorf("%v allocations of the tree, %v of the text", tree, text)
	}
}

// EachLink ends when it is told to, and a panic of what it calls stays as it is.
func TestEachLinkEnds(t *testing.T) {
	for name, r := range map[string]*response{"text": of("", "<a href=1><a href=2>"), "tree": parsed("", "<a href=1><a href=2>")} {
		calls := 0
		r.page.EachLink(r, nil, func(*links.Ref) bool { calls++; return false })
		if calls != 1 {
			t.Errorf("%s: %d calls", name, calls)
		}
		mine := errors.New("mine")
		if err := panicOf(func() { r.page.EachLink(r, nil, func(*links.Ref) bool { panic(mine) }) }); err != mine {
			t.Errorf("%s: panic with %v", name, err)
		}
	}
}

// An option that is nil is named by package links as the caller has counted it, also where the page adds its own.
func TestLinksNilOption(t *testing.T) {
	r := of("text/html; charset=latin1", "<a href=1>")
	var said any
	func() {
		defer func() { said = recover() }()
		r.page.Links(r, []links.Option{links.Unique(true), nil})
	}()
	var want any
	func() {
		defer func() { want = recover() }()
		links.Extract(nil, r.url, links.Unique(true), nil)
	}()
	if said == nil || fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("panic with %v, want %v", said, want)
	}
}

// References are resolved as browsers do on a page in another encoding, whichever way they are asked for.
func TestLinksInEncoding(t *testing.T) {
	r := of("text/html; charset=iso8859-15", "<a href='/\xe9?q=\xe9&amp;c=&euro;#\xe9'>")
	const want = "http://a.test/%C3%A9?q=%E9&c=%A4"
	if found := r.page.Links(r, nil); len(found) != 1 || found[0].URL != want || found[0].Fragment != "%C3%A9" {
		t.Errorf("Links = %v, want %s", found, want)
	}
	if got := urlsOf(r); !slices.Equal(got, []string{want}) {
		t.Errorf("EachLink = %v, want %s", got, want)
	}
	if url, err := r.page.Resolve(r, r.page.Document(r).CSS("a").Attr("href")); err != nil || url != want+"#%C3%A9" {
		t.Errorf("Resolve = %v, %v; want %s", url, err, want)
	}
	r.header["Link"] = []string{"</next>; rel=next"}
	r.header["Content-Type"] = []string{"text/html; charset=utf-8"}
	r.buffer = bytes.NewBufferString("<img src=/é?é>")
	if urls := urlsOf(r, links.Everything()); !slices.Equal(urls, []string{"http://a.test/next", "http://a.test/%C3%A9?%C3%A9"}) {
		t.Errorf("Everything = %q", urls)
	}
	r.header["Content-Type"] = []string{"text/css"}
	r.buffer = bytes.NewBufferString("@import '/b.css';")
	if found := r.page.Links(r, []links.Option{links.Everything(), links.Header(r.header)}); len(found) != 2 || found[1].URL != "http://a.test/b.css" {
		t.Errorf("style sheet: %v", found)
	}
}

// inUTF16 writes a text in UTF-16, with its mark.
func inUTF16(text string) string {
	var b bytes.Buffer
	for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
		b.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	return b.String()
}

// References are resolved as browsers do. It fails if the base is looked for in the body as it was sent, or in what is no HTML.
func TestResolve(t *testing.T) {
	markup := of("text/html", `<base href="/base/"><a href=x>`)
	plain := of("text/plain; charset=latin1", `<base href="/base/">`)
	wide := of("text/html", inUTF16(`<base href="/base/">`))
	for _, tt := range []struct {
		r         *response
		ref, want string
	}{
		{markup, "x", "http://a.test/base/x"}, {plain, "x", "http://a.test/dir/x"}, {markup, "//b.test/", "http://b.test/"}, {markup, "?q", "http://a.test/base/?q"},
		{markup, " https://c.test/ ", "https://c.test/"}, {markup, "../y", "http://a.test/y"}, {markup, "mailto:x@y", "mailto:x@y"},
		{wide, "x", "http://a.test/base/x"}, {wide, "?é", "http://a.test/base/?%C3%A9"}, {plain, "?é", "http://a.test/dir/page?%C3%A9"},
		{of("", `<base href="/base/">`), "x", "http://a.test/base/x"}, {of("application/xhtml+xml", `<base href="/base/">`), "x", "http://a.test/base/x"},
		{of("text/xml", `<base href="/base/">`), "x", "http://a.test/dir/x"},
		{of("text/html; charset=koi8-r", ""), "?я", "http://a.test/dir/page?%D1"},
	} {
		if got, err := tt.r.page.Resolve(tt.r, tt.ref); err != nil || got != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.ref, got, err, tt.want)
		}
		if _, err := tt.r.page.Text(tt.r); err != nil {
			t.Fatal(err)
		}
		base, err := tt.r.page.Base(tt.r)
		if err != nil || base.IsZero() {
			t.Fatal(err)
		}
		if got, err := base.Resolve([]byte("> "), tt.ref); err != nil || string(got) != "> "+tt.want {
			t.Errorf("appended %q: %q, %v", tt.ref, got, err)
		}
	}
}

// The base is looked for once. It fails if each reference has the page read again.
func TestBaseIsKept(t *testing.T) {
	r := of("text/html; charset=latin1", "<p>caf\xe9"+strings.Repeat("<p>x", 1000)+"<base href=/b/>")
	base := func() {
		if _, err := r.page.Base(r); err != nil {
			t.Error(err)
		}
	}
	base()
	if allocations := testing.AllocsPerRun(10, base); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// The error says which URL is at fault, without its password.
func TestResolveRefuses(t *testing.T) {
	good, bad := of("", ""), of("", "")
	bad.url = "http://u:secret@["
	for _, tt := range []struct {
		r        *response
		ref, url string
		empty    bool
	}{
		{good, "", "", true}, {good, " \n", " \n", true}, {good, "http://[", "http://[", false}, {good, "http://u:secret@[", "http://u:secret@[", false},
		{bad, "x", bad.url, false}, {bad, "", bad.url, false}, {bad, "http://a.test/", bad.url, false},
	} {
		got, err := tt.r.page.Resolve(tt.r, tt.ref)
		var wrong *page.RefError
		if !errors.As(err, &wrong) || wrong.URL != tt.url || errors.Is(err, page.ErrEmptyRef) != tt.empty || got != "" || wrong.Err == nil {
			t.Errorf("%q: %q, %v", tt.ref, got, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the message has the password: %v", tt.ref, err)
		}
	}
	if !(page.Base{}).IsZero() {
		t.Error("the zero Base is one")
	}
	base, err := good.page.Base(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"", "http://["} {
		if got, err := base.Resolve([]byte("kept"), ref); err == nil || string(got) != "kept" {
			t.Errorf("appended %q: %q, %v", ref, got, err)
		}
	}
}
