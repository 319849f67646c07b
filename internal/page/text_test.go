package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/selector"
)

func TestText(t *testing.T) {
	kib := strings.Repeat(" ", 1024)
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"nothing", "", "", ""},
		{"ASCII", "text/html", "<p>a", "<p>a"},
		{"UTF-8 by header", "text/html; charset=utf-8", "<p>é", "<p>é"},
		{"UTF-8 that nobody declares, after a KiB", "text/html", kib + "é", kib + "é"},
		{"broken UTF-8", "text/html; charset=utf-8", "a\xe2\x82b\xff", "a\uFFFDb\uFFFD"},
		{"mark over header", "text/html; charset=latin1", "\xef\xbb\xbfé", "é"},
		{"mark of UTF-16", "text/html; charset=utf-8", "\xff\xfea\x00\xe9\x00", "aé"},
		{"header over document", "text/html; charset=koi8-r", "<meta charset=windows-1251>\xc1", "<meta charset=windows-1251>а"},
		{"document", "text/html", "<meta charset=windows-1251>\xe0", "<meta charset=windows-1251>а"},
		{"XML declaration", "application/xml", "<?xml version='1.0' encoding='iso-8859-2'?>\xb1", "<?xml version='1.0' encoding='iso-8859-2'?>ą"},
		{"nobody knows", "", "caf\xe9", "café"},
		{"Shift_JIS keeps quotes", "text/html; charset=sjis", "<a title=\"\x82\">", "<a title=\"\uFFFD\">"},
		{"encoding that invites attacks", "text/html; charset=iso-2022-kr", "<script>", "\uFFFD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := of(tt.contentType, tt.body)
			if got, err := r.page.Text(r); err != nil || got != tt.want {
				t.Errorf("Text = %q, %v; want %q", got, err, tt.want)
			}
			if got := r.page.String(r); got != tt.body {
				t.Errorf("String = %q", got)
			}
		})
	}
}

// FuzzText checks that a text is always UTF-8, the body itself where that is UTF-8 as its header says, and
// that asking for it changes nothing.
func FuzzText(f *testing.F) {
	f.Add([]byte("<meta charset=gbk>\x81\x30\x81"), "text/html")
	f.Add([]byte("\xfe\xff\x00a\xd8"), "")
	f.Add([]byte("a\xe2\x82é"), "text/html; charset=utf-8")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		r := of(contentType, string(body))
		text, err := r.page.Text(r)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(text) {
			t.Errorf("%q is no UTF-8", text)
		}
		if contentType == "text/html; charset=utf-8" && utf8.Valid(body) && !bytes.HasPrefix(body, []byte("\ufeff")) && text != string(body) {
			t.Errorf("valid UTF-8 became %q", text)
		}
		if again, err := r.page.Text(r); err != nil || again != text || !bytes.Equal(r.page.Bytes(r), body) {
			t.Errorf("second time %q, %v; the body is %q now", again, err, r.page.Bytes(r))
		}
	})
}

// A feed is read as XML, in which link has a content. The URLs of a Selection are those that Resolve makes.
func TestDocumentXML(t *testing.T) {
	const feed = `<?xml version="1.0" encoding="iso-8859-1"?><rss><item><link>/caf` + "\xe9" + `</link><pubDate>today</pubDate></item></rss>`
	for _, test := range []struct {
		contentType string
		xml         bool
	}{
		{"text/xml", true}, {"application/xml; charset=iso-8859-1", true}, {"application/rss+xml", true}, {" Application/Atom+XML ;x", true},
		{"image/svg+xml", true}, {"text/html", false}, {"", false}, {"application/xhtml+xml", true}, {"text/plain", false},
	} {
		r := of(test.contentType, feed)
		doc := r.page.Document(r)
		if got := doc.CSS("item pubDate").Text() == "today" && doc.CSS("link::text").Get() == "/café"; got != test.xml {
			t.Errorf("%q: read as XML: %v", test.contentType, got)
		}
		if want := "http://a.test/caf%C3%A9"; test.xml && doc.XPath("//link/text()").URL() != want {
			t.Errorf("%q: URL %s, want %s", test.contentType, doc.XPath("//link/text()").URL(), want)
		}
	}
}

// The URLs of a Selection are those that Resolve makes, and the page is parsed once for all queries.
func TestDocument(t *testing.T) {
	r := of("text/html; charset=windows-1252", "<base href=\"/base/\"><a href=\"x?q=\xe9\">caf\xe9</a><img src=y>")
	doc := r.page.Document(r)
	if got := doc.CSS("a, img").URLs(); !slices.Equal(got, []string{"http://a.test/base/x?q=%E9", "http://a.test/base/y"}) {
		t.Errorf("URLs = %q", got)
	}
	url, err := r.page.Resolve(r, doc.CSS("a").Attr("href"))
	if err != nil || url != doc.XPath("//a/@href").URL() {
		t.Errorf("Resolve gives %v (%v), URL %q", url, err, doc.XPath("//a/@href").URL())
	}
	if got := doc.XPath("//a").ReFirst("c[^<]*"); got != "café" {
		t.Errorf("ReFirst = %q", got)
	}
	if r.page.Document(r) != doc {
		t.Error("it was parsed again")
	}
	r.url = "no URL"
	r.buffer = bytes.NewBufferString("<a href=x>")
	if got := r.page.Document(r).CSS("a").URL(); got != "" {
		t.Errorf("the URL of a reference on a page without URL is %q", got)
	}
}

// A page that is made to exhaust the memory is refused with an error, not read as an empty one.
func TestDocumentRefused(t *testing.T) {
	body := "<p>" + strings.Repeat("<b><i><u><s><tt><em><big><code><small>", 3) + strings.Repeat("<p>x", 1000)
	r := of("text/html", body)
	for range 2 {
		err := panicOf(func() { t.Errorf("it has %d paragraphs", r.page.Document(r).CSS("p").Len()) })
		if !errors.As(err, new(*selector.ParseError)) || !errors.As(err, new(*html.LimitError)) {
			t.Errorf("panic with %v", err)
		}
	}
	if text, err := r.page.Text(r); err != nil || text != body {
		t.Errorf("its text: %v", err)
	}
}

func TestDecodeJSON(t *testing.T) {
	for _, tt := range []struct {
		body string
		want any
		err  string
	}{
		{`{"a":{"b":[1]}}`, map[string]any{"a": map[string]any{"b": []any{1.0}}}, ""}, {" {} \n", map[string]any{}, ""}, {`[1]`, []any{1.0}, ""}, {`"x"`, "x", ""},
		{"", nil, "EOF"}, {"{", nil, "unexpected EOF"},
		{"<html>", nil, "invalid character '<' looking for beginning of value"}, {`{} {}`, nil, "more than one value"}, {`{"a":1}x`, nil, "more than one value"},
		{strings.Repeat(" ", 300<<10) + `{} {}`, nil, "invalid character '{' after top-level value"},
	} {
		var v any
		r := of("", tt.body)
		err := r.page.DecodeJSON(r, &v)
		if tt.err == "" && (err != nil || !reflect.DeepEqual(v, tt.want)) || tt.err != "" && (err == nil || err.Error() != tt.err) {
			t.Errorf("%.20q: %v, %v, want %v, %q", tt.body, v, err, tt.want, tt.err)
		}
	}
	var wrong struct{ A int }
	r := of("", `{"a":"x"}`)
	if err := r.page.DecodeJSON(r, &wrong); err == nil {
		t.Error("a string into an int is no error")
	}
}

// JSON is decoded by its byte order mark or its charset, whatever type the page says to be of, and what it contains declares nothing.
func TestEncodingOfJSON(t *testing.T) {
	const utf16 = "\xff\xfe{\x00\"\x00a\x00\"\x00:\x00\"\x00\xe9\x00\"\x00}\x00"
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"UTF-8", "application/json", `{"a":"é"}`, "é"},
		{"a byte order mark", "application/json", "\uFEFF" + `{"a":"é"}`, "é"},
		{"a byte order mark against the header", "application/json; charset=windows-1252", "\uFEFF" + `{"a":"é"}`, "é"},
		{"UTF-16", "application/json", utf16, "é"},
		{"windows-1252", "application/json; charset=windows-1252", "{\"a\":\"\xe9\"}", "é"},
		{"Shift_JIS, whose second bytes may be a backslash", "application/json; charset=shift_jis", "{\"a\":\"\x95\x5c\"}", "表"},
		{"a kind of JSON", "application/ld+json; charset=iso-8859-1", "{\"a\":\"\xe9\"}", "é"},
		{"an unknown charset", "application/json; charset=none", `{"a":"é"}`, "é"},
		{"no charset", "application/json", "{\"a\":\"\xe9\"}", "\uFFFD"},
		{"HTML", "text/html", "\uFEFF" + `{"a":"é"}`, "é"},
		{"HTML with a charset", "text/html; charset=windows-1252", "{\"a\":\"\xe9\"}", "é"},
		{"text with a charset alone", "charset=windows-1252", "{\"a\":\"\xe9\"}", "é"},
		{"what looks like a declaration", "text/html", `{"a":"é","b":"<meta charset=koi8-r>"}`, "é"},
		{"no type", "", "\uFEFF" + `{"a":"é"}`, "é"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, before := range []string{"", "Text"} { // the text may have been decoded before
				r := of(tt.contentType, tt.body)
				if before != "" {
					if _, err := r.page.Text(r); err != nil {
						t.Error(err)
					}
				}
				var v struct{ A string }
				if err := r.page.DecodeJSON(r, &v); err != nil || v.A != tt.want {
					t.Errorf("%+v, %v; want %q", v, err, tt.want)
				}
				if !strings.Contains(tt.contentType, "json") {
					continue
				}
				doc, err := r.page.Typed(r)
				if err != nil {
					t.Fatal(err)
				}
				var typed struct {
					A string `path:"a"`
				}
				if err := doc.Unmarshal(&typed); err != nil || typed.A != tt.want {
					t.Errorf("by its path: %+v, %v; want %q", typed, err, tt.want)
				}
			}
		})
	}
	r := of("application/json; charset=windows-1252", "{\"a\":\"\xe9\"}")
	var v struct{ A string }
	if err := r.page.DecodeJSON(r, &v); err != nil || v.A != "é" {
		t.Errorf("%+v, %v", v, err)
	}
	r.buffer = bytes.NewBufferString("{\"a\":\"\xe8\"}")
	if err := r.page.DecodeJSON(r, &v); err != nil || v.A != "è" {
		t.Errorf("after the body was replaced: %+v, %v", v, err)
	}
}

// Well-formed XHTML is XML, in which an empty title or script holds nothing and a section is text; what is not well-formed is HTML. In
// both all that is asked of a page is answered alike.
func TestXHTML(t *testing.T) {
	const head = `<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head>`
	const body = `<body><p class="a" id="b">caf&eacute;&nbsp;<a href="x">text</a></p><form action="y"><input name="n" value="v"/></form></body></html>`
	for _, tt := range []struct {
		name, contentType, page string
		xml                     bool
	}{
		{"an empty title", "application/xhtml+xml", head + `<title/><base href="/base/"/></head>` + body, true},
		{"an empty script", "application/xhtml+xml", head + `<base href="/base/"/><script src="s"/></head>` + body, true},
		{"an empty style and textarea", "application/xhtml+xml; charset=utf-8", head + `<style/><base href="/base/"/></head>` + strings.Replace(body, "<p", "<textarea/><p", 1), true},
		{"a section", "Application/XHTML+XML", head + `<base href="/base/"/><script><![CDATA[ "</script><a href=1>" && 1 < 2 ]]></script></head>` + body, true},
		{"a section of text", "application/xhtml+xml", head + `<base href="/base/"/></head>` + strings.Replace(body, "<p", `<div><![CDATA[<a href="1">]]></div><p`, 1), true},
		{"a prefix", "application/xhtml+xml", strings.NewReplacer("<a ", "<h:a ", "</a>", "</h:a>", "<html ", `<html xmlns:h="http://www.w3.org/1999/xhtml" `).Replace(head + `<title/><base href="/base/"/></head>` + body), true},
		{"not well-formed", "application/xhtml+xml", head + `<base href="/base/"><script src="s"></script></head>` + body, false},
		{"entities without a document type", "application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><head><base href="/base/"/></head>` + body, false},
		{"a forbidden character", "application/xhtml+xml", head + "<title>\x01</title><base href='/base/'/></head>" + body, false},
		{"HTML", "text/html", head + `<base href="/base/"/></head>` + body, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, first := range []string{"links", "document"} {
				r := of(tt.contentType, tt.page)
				if first == "document" {
					r.page.Document(r)
				}
				if got := fmt.Sprint(urlsOf(r)); got != "[http://a.test/base/x]" {
					t.Errorf("links %s", got)
				}
				if got := r.page.Links(r, nil); len(got) != 1 || got[0].Text != "text" {
					t.Errorf("links %+v", got)
				}
				if got, err := r.page.Resolve(r, "x"); got != "http://a.test/base/x" {
					t.Errorf("x is %s, %v", got, err)
				}
				doc := r.page.Document(r)
				if got := doc.Root().Document().IsXML(); got != tt.xml {
					t.Errorf("parsed as XML: %v", got)
				}
				if got := doc.CSS("p.a#b").Text(); got != "café text" {
					t.Errorf("text %q", got)
				}
				if got := doc.XPath("//form/@action").URL(); got != "http://a.test/base/y" {
					t.Errorf("the form goes to %q", got)
				}
				form, err := r.page.Form(r, "form")
				if err != nil {
					t.Fatal(err)
				}
				if sent, err := form.Submit(); err != nil || sent.URL != "http://a.test/base/y?n=v" {
					t.Errorf("the form is sent as %+v, %v", sent, err)
				}
			}
		})
	}
	// Without a namespace it is XML, too, and its links are found.
	r := of("application/xhtml+xml", `<html><head><title/></head><body><a href="x"/></body></html>`)
	if got := fmt.Sprint(urlsOf(r), r.page.Document(r).CSS("body > a").Len()); got != "[http://a.test/dir/x] 1" {
		t.Errorf("without a namespace: %s", got)
	}
}

// What a page in XHTML says about itself, and its main text, do not depend on how it was parsed.
func TestArticleOfXHTML(t *testing.T) {
	text := strings.Repeat("<p>A sentence of the main text, which is long enough to be read. </p>", 20)
	page := `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>The title</title><link rel="canonical" href="c"/></head><body><div>` + text + `</div></body></html>`
	for _, contentType := range []string{"text/html", "application/xhtml+xml"} {
		r := of(contentType, page)
		article, err := r.page.Article(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m := r.page.Metadata(r); m.Canonical != "http://a.test/dir/c" || article.Title != "The title" || strings.Count(article.Text, "sentence") != 20 {
			t.Errorf("%s: %q, %q, %q", contentType, m.Canonical, article.Title, article.Text)
		}
	}
}
