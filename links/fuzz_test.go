package links_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/links"
)

const fuzzBase = "http://example.com/dir/page"

func checkURL(t *testing.T, url string) {
	t.Helper()
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") || strings.Contains(url, "#") {
		t.Errorf("URL %q", url)
	}
}

// isPart reports whether all of part stand in all, in their order.
func isPart(part, all []string) bool {
	for _, s := range all {
		if len(part) > 0 && part[0] == s {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte(repeated))
	f.Add([]byte(`<base href="/b/"><svg><title/><a href=x></svg><meta http-equiv=refresh content="1;url='x">`))
	f.Add([]byte("<a href=\x00\xff>\x00<noscript><template><area href='//\t[::1]/#\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		all := links.Extract(body, fuzzBase, links.Unique(false))
		if got := each(body, fuzzBase); !slices.Equal(got, urls(all)) {
			t.Errorf("Each gave %q, Extract %q", got, urls(all))
		}
		// The other reader of tags.
		if got := each(body, fuzzBase, links.Tags("a", "area")); !slices.Equal(got, urls(all)) {
			t.Errorf("with Tags there are %q, without %q", got, urls(all))
		}
		seen := map[string]bool{}
		for _, l := range links.Extract(body, fuzzBase) {
			if seen[l.URL] {
				t.Errorf("%q twice", l.URL)
			}
			seen[l.URL] = true
		}
		for _, l := range all {
			checkURL(t, l.URL)
			if l.Text != strings.Join(strings.Fields(l.Text), " ") {
				t.Errorf("text %q", l.Text)
			}
			if !seen[l.URL] {
				t.Errorf("%q is missing from the unique links", l.URL)
			}
		}
		if url, _, ok := links.Refresh(body, fuzzBase); ok && !strings.HasPrefix(url, "http") {
			t.Errorf("Refresh gave %q", url)
		}
		if !bytes.Equal(body, before) {
			t.Error("the body was changed")
		}
	})
}

func FuzzEverything(f *testing.F) {
	f.Add([]byte(`<img srcset="1 1x, 2,3 (,"><style>@import 'x'</style><p style="a:url(b">`), "<a>;rel=\"x\\\",<b>")
	f.Add([]byte(`<!DOCTYPE x SYSTEM "y"><!--[if IE]><a href=z><![endif]--><iframe srcdoc="<base href=//h&gt;<a href=q&gt;">`), "5;url=x")
	f.Add([]byte(`<meta http-equiv=Content-Security-Policy content="report-uri a b;"><object archive="a, b"><param name=src value=c>`), "")
	for _, way := range waysToLink {
		f.Add([]byte(way.body), "")
	}
	f.Fuzz(func(t *testing.T, body []byte, field string) {
		header := links.Header(map[string][]string{"Link": {field}, "Refresh": {field}, "location": {field}})
		var all []string
		for r := range links.Each(body, fuzzBase, links.Everything(), header, links.Charset(charset.ShiftJIS)) {
			checkURL(t, string(r.URL))
			if r.Tag == "" && r.Attr == "" {
				t.Errorf("%q is from nowhere", r.URL)
			}
			all = append(all, string(r.URL))
		}
		if plain := each(body, fuzzBase, links.Charset(charset.ShiftJIS)); !isPart(plain, all) {
			t.Errorf("everything is %q, without %q", all, plain)
		}
		for _, part := range [][]links.Option{
			{links.Everything(), links.CSS("p, a")}, {links.Everything(), links.XPath("//*")}, {links.Everything(), links.Tags("img", "meta")},
			{links.Everything(), links.Allow("/d"), links.DenyExtensions("x"), links.DenyDomains("h")},
		} {
			part = append(part, links.Charset(charset.ShiftJIS), header)
			if some := each(body, fuzzBase, part...); !isPart(some, all) {
				t.Errorf("everything is %q, without %q", all, some)
			}
		}
	})
}

// FuzzStylesheet compares a style sheet with itself in a page.
func FuzzStylesheet(f *testing.F) {
	f.Add("@import \"a\" url(b); a { b: url( 'c' ) url(d\\29 e) } /* url(f) */ @namespace url(g);")
	f.Add("url(\"\\\n\\1 \\110000 x\n url('")
	f.Add("a:url(x y)url(x(y)url(#z)-url(q)\\url(r)")
	for _, sheet := range styleSheets {
		f.Add(sheet.css)
	}
	f.Fuzz(func(t *testing.T, sheet string) {
		found := urls(links.Stylesheet([]byte(sheet), fuzzBase, links.Unique(false)))
		for _, url := range found {
			checkURL(t, url)
		}
		if strings.Contains(sheet, "<") || !strings.ContainsFunc(sheet, func(r rune) bool { return r > ' ' }) {
			return
		}
		in := urls(links.Extract([]byte("<style>"+sheet+"</style>"), fuzzBase, links.Everything(), links.Unique(false)))
		if !slices.Equal(in, found) {
			t.Errorf("in a page %q, alone %q", in, found)
		}
	})
}
