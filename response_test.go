package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

func responseOf(contentType, body string) *tegenaria.Response {
	return tegenaria.NewResponse(tegenaria.NewRequest("http://a.test/dir/page", "GET", nil), 200,
		map[string][]string{"Content-Type": {contentType}}, []byte(body))
}

func TestResponseJson(t *testing.T) {
	for _, tt := range []struct {
		body string
		json bool   // it is an object
		err  string // of Decode into any
	}{
		{`{"a":{"b":[1]}}`, true, ""}, {" {} \n", true, ""}, {`[1]`, false, ""}, {`"x"`, false, ""}, {"", false, "EOF"}, {"{", false, "unexpected EOF"},
		{"<html>", false, "invalid character"}, {`{} {}`, false, "more than one value"}, {`{"a":1}x`, false, "more than one value"},
	} {
		r := responseOf("application/json", tt.body)
		if got := r.Json(); (got != nil) != tt.json {
			t.Errorf("Json of %q is %v", tt.body, got)
		}
		var v any
		err := r.Decode(&v)
		if (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), "http://a.test/dir/page")) {
			t.Errorf("Decode of %q: %v, want %q", tt.body, err, tt.err)
		}
	}
	var wrong struct{ A int }
	if err := responseOf("", `{"a":"x"}`).Decode(&wrong); err == nil {
		t.Error("Decode of a string into an int is no error")
	}
}

// Buffer is a view: reading it takes nothing away, another one is the body.
func TestResponseBuffer(t *testing.T) {
	r := responseOf("text/html", "<p>one</p>")
	if got, err := io.ReadAll(r.Buffer); err != nil || string(got) != "<p>one</p>" {
		t.Fatalf("Buffer: %q, %v", got, err)
	}
	if r.String() != "<p>one</p>" || r.CSS("p").Text() != "one" || r.ContentLength != 10 {
		t.Errorf("after reading Buffer the body is %q", r.String())
	}
	r.Buffer = bytes.NewBufferString("<p>two</p>")
	if text, err := r.Text(); err != nil || text != "<p>two</p>" || r.CSS("p").Text() != "two" || r.String() != text {
		t.Errorf("after setting Buffer the body is %q, %v", text, err)
	}
	r.SetBody([]byte("<p>three</p>"))
	if r.CSS("p").Text() != "three" || r.ContentLength != 12 || r.Buffer.String() != "<p>three</p>" {
		t.Errorf("after SetBody the body is %q", r.String())
	}
	r.Buffer.WriteString("more")
	if r.String() != "<p>three</p>" {
		t.Error("writing to the view changed the body")
	}
	r.Buffer = nil
	if r.Bytes() != nil || r.String() != "" {
		t.Errorf("without a Buffer the body is %q", r.String())
	}
}

// Readers are independent, and may be used at once.
func TestResponseReaders(t *testing.T) {
	r := responseOf("text/html", strings.Repeat("<a href='x'>x</a>", 100))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			body := r.Reader()
			defer body.Close()
			if got, err := io.ReadAll(body); err != nil || string(got) != r.String() {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			if r.CSS("a").Len() != 100 || len(r.Links()) != 1 {
				t.Error("the page changed")
			}
		})
	}
	all.Wait()
	empty := tegenaria.NewResponse(nil, 204, nil, nil)
	if got, err := io.ReadAll(empty.Reader()); err != nil || len(got) != 0 || empty.Header == nil || empty.Request() != nil || empty.Context() != nil {
		t.Errorf("an empty response has %q, %v", got, err)
	}
}

// References are resolved as browsers do.
func TestResponseFollow(t *testing.T) {
	page := responseOf("text/html", `<base href="/base/"><a href=x>`)
	plain := responseOf("text/plain", `<base href="/base/">`)
	for _, tt := range []struct {
		r         *tegenaria.Response
		ref, want string
	}{
		{page, "x", "http://a.test/base/x"}, {plain, "x", "http://a.test/dir/x"}, {page, "//b.test/", "http://b.test/"}, {page, "?q", "http://a.test/base/?q"},
		{page, " https://c.test/ ", "https://c.test/"}, {page, "../y", "http://a.test/y"}, {page, "", ""}, {page, "  ", ""}, {page, "http://[", ""},
	} {
		got, err := tt.r.Follow(tt.ref, tegenaria.RequestWithPriority(2))
		var refused *tegenaria.RequestError
		if tt.want == "" {
			if !errors.As(err, &refused) || refused.Field != "Url" {
				t.Errorf("Follow(%q): %v, %v", tt.ref, got, err)
			}
			continue
		}
		if err != nil || got.Url != tt.want || got.Priority != 2 || got.Method != "GET" {
			t.Errorf("Follow(%q): %+v, %v", tt.ref, got, err)
		}
	}
}

// The URLs of a Selection are those that Follow asks for, and the page is parsed once for all queries.
// A feed is read as XML, in which link has a content.
func TestResponseXML(t *testing.T) {
	const feed = `<?xml version="1.0" encoding="iso-8859-1"?><rss><item><link>/caf` + "\xe9" + `</link><pubDate>today</pubDate></item></rss>`
	for _, test := range []struct {
		contentType string
		xml         bool
	}{
		{"text/xml", true}, {"application/xml; charset=iso-8859-1", true}, {"application/rss+xml", true}, {" Application/Atom+XML ;x", true},
		{"image/svg+xml", true}, {"text/html", false}, {"", false}, {"application/xhtml+xml", false}, {"text/plain", false},
	} {
		r := responseOf(test.contentType, feed)
		if got := r.CSS("item pubDate").Text() == "today" && r.CSS("link::text").Get() == "/café"; got != test.xml {
			t.Errorf("%q: read as XML: %v", test.contentType, got)
		}
		if want := "http://a.test/caf%C3%A9"; test.xml && r.XPath("//link/text()").URL() != want {
			t.Errorf("%q: URL %s, want %s", test.contentType, r.XPath("//link/text()").URL(), want)
		}
	}
}

// A page that is made to exhaust the memory is refused with an error, not read as an empty one.
func TestResponseRefused(t *testing.T) {
	page := "<p>" + strings.Repeat("<b><i><u><s><tt><em><big><code><small>", 3) + strings.Repeat("<p>x", 1000)
	defer func() {
		if err, ok := recover().(error); !ok || !errors.As(err, new(*selector.ParseError)) || !errors.As(err, new(*html.LimitError)) {
			t.Errorf("panic with %v", err)
		}
	}()
	t.Errorf("it has %d paragraphs", responseOf("text/html", page).CSS("p").Len())
}

func TestResponseSelection(t *testing.T) {
	r := responseOf("text/html; charset=windows-1252", "<base href=\"/base/\"><a href=\"x?q=\xe9\">caf\xe9</a><img src=y>")
	if got := r.CSS("a, img").URLs(); !slices.Equal(got, []string{"http://a.test/base/x?q=%E9", "http://a.test/base/y"}) {
		t.Errorf("URLs = %q", got)
	}
	followed, err := r.Follow(r.CSS("a").Attr("href"))
	if err != nil || followed.Url != r.XPath("//a/@href").URL() {
		t.Errorf("Follow gives %v (%v), URL %q", followed, err, r.XPath("//a/@href").URL())
	}
	if got := r.XPath("//a").ReFirst("c[^<]*"); got != "café" {
		t.Errorf("ReFirst = %q", got)
	}
	if r.CSS("a").Nodes()[0] != r.XPath("//a").Nodes()[0] {
		t.Error("CSS and XPath look at two trees")
	}
}

// A wrong selector panics by itself; in a parser that is a HandleError.
func TestWrongSelector(t *testing.T) {
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { ctx.Response().CSS("p["); return nil })
	enginetest.MustRun(t, enginetest.NewEngine(onePage(), s))
	herr := s.OnlyError(t)
	var wrong *selector.SyntaxError
	if !errors.As(herr, &wrong) || herr.Stage != tegenaria.StageParse || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v, want a *selector.SyntaxError", herr)
	}
}

// Bodies over the limit, and those that break off, are typed errors; the crawl goes on.
func TestBadBodies(t *testing.T) {
	server, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, strings.Repeat("x", 2000))
		case "/broken":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "only this")
		default:
			io.WriteString(w, "good")
		}
	})
	s := enginetest.NewSpider(server+"/large", server+"/broken", server+"/good")
	parsed := ""
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { parsed += ctx.Response().String(); return nil })
	stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 2})
	if parsed != "good" {
		t.Errorf("parsed %q", parsed)
	}
	for _, herr := range s.Errors() {
		var large *tegenaria.BodyTooLargeError
		var cut *tegenaria.TruncatedBodyError
		switch {
		case strings.HasSuffix(herr.Request.Url, "large"):
			if !errors.As(herr, &large) || large.Limit != 1000 || !strings.Contains(herr.Error(), "RequestWithSpool") {
				t.Errorf("ErrorHandler got %v, want a *BodyTooLargeError with the remedy", herr)
			}
		case !errors.As(herr, &cut) || cut.Got != 9 || cut.Want != 1000 || herr.Response == nil || herr.Response.String() != "only this":
			t.Errorf("ErrorHandler got %v, want a *TruncatedBodyError with what there is", herr)
		}
	}
}

func textPage(contentType string, body []byte) *tegenaria.Response {
	req := tegenaria.NewRequest("http://example.com/", tegenaria.GET, nil)
	header := map[string][]string{}
	if contentType != "" {
		header["Content-Type"] = []string{contentType}
	}
	return tegenaria.NewResponse(req, 200, header, body)
}

func TestResponseText(t *testing.T) {
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
			got, err := textPage(tt.contentType, []byte(tt.body)).Text()
			if err != nil || got != tt.want {
				t.Errorf("Text = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// References are resolved as browsers do on a page in another encoding, whichever way they are asked for.
func TestResponseLinksInEncoding(t *testing.T) {
	r := textPage("text/html; charset=iso8859-15", []byte("<a href='/\xe9?q=\xe9&amp;c=&euro;#\xe9'>"))
	const want = "http://example.com/%C3%A9?q=%E9&c=%A4"
	if found := r.Links(); len(found) != 1 || found[0].URL != want || found[0].Fragment != "%C3%A9" {
		t.Errorf("Links = %v, want %s", found, want)
	}
	if req, err := r.Follow(r.CSS("a").Attr("href")); err != nil || req.Url != want+"#%C3%A9" {
		t.Errorf("Follow = %v, %v; want %s", req, err, want)
	}
	r.Header["Link"] = []string{"</next>; rel=next"}
	r.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	r.SetBody([]byte("<img src=/é?é>"))
	var urls []string
	for _, l := range r.Links(links.Everything()) {
		urls = append(urls, l.URL)
	}
	if !slices.Equal(urls, []string{"http://example.com/next", "http://example.com/%C3%A9?%C3%A9"}) {
		t.Errorf("Everything = %q", urls)
	}
	r.Header["Content-Type"] = []string{"text/css"}
	r.SetBody([]byte("@import '/b.css';"))
	if found := r.Links(links.Everything(), links.Header(r.Header)); len(found) != 2 || found[1].URL != "http://example.com/b.css" {
		t.Errorf("style sheet: %v", found)
	}
}

// FuzzResponseText checks that a text is always UTF-8, the body itself where that is UTF-8 as its header says, and
// that asking for it changes nothing.
func FuzzResponseText(f *testing.F) {
	f.Add([]byte("<meta charset=gbk>\x81\x30\x81"), "text/html")
	f.Add([]byte("\xfe\xff\x00a\xd8"), "")
	f.Add([]byte("a\xe2\x82é"), "text/html; charset=utf-8")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		r := textPage(contentType, bytes.Clone(body))
		text, err := r.Text()
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(text) {
			t.Errorf("%q is no UTF-8", text)
		}
		if contentType == "text/html; charset=utf-8" && utf8.Valid(body) && !bytes.HasPrefix(body, []byte("\ufeff")) && text != string(body) {
			t.Errorf("valid UTF-8 became %q", text)
		}
		if again, err := r.Text(); err != nil || again != text || !bytes.Equal(r.Bytes(), body) {
			t.Errorf("second time %q, %v; the body is %q now", again, err, r.Bytes())
		}
	})
}

// follow returns what a handler follows that asks for the links of a page.
func follow(t *testing.T, r *tegenaria.Response, opts ...links.Option) (urls []string) {
	t.Helper()
	handler := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
		return out.FollowLinks(opts...)
	})
	ctx := tegenaria.NewContext(r.Request())
	ctx.DownloadResult = &tegenaria.RequestResult{Response: r}
	requests := make(chan *tegenaria.Context, 16)
	if err := handler(ctx, make(chan *tegenaria.ItemMeta), requests); err != nil {
		t.Fatal(err)
	}
	close(requests)
	for c := range requests {
		urls = append(urls, c.Request.Url)
	}
	return urls
}

// TestLinksOfParsedPage: whether CSS or XPath was asked before makes no difference to the links.
func TestLinksOfParsedPage(t *testing.T) {
	const page = `<base href="/b/"><title>t</title><p><a href="?q=%s" rel=nofollow>x</a><svg><a href=1></a></svg>` +
		`<template><area href=2></template><link href=3><a href=4>y</a>`
	optionSets := map[string][]links.Option{
		"no options": nil, "repeated": {links.Unique(false)}, "restricted": {links.CSS("p, r")}, "everything": {links.Everything()},
	}
	for _, test := range []struct {
		name, contentType, body string
		links                   int
	}{
		{"UTF-8", "text/html", fmt.Sprintf(page, "é"), 4},
		{"windows-1252", "text/html; charset=windows-1252", fmt.Sprintf(page, "\xe9"), 4},
		{"two byte order marks", "text/html", "\uFEFF\uFEFF" + fmt.Sprintf(page, "é"), 4},
		{"XML", "text/xml", `<r><title><a href="1"/></title><A href="2"/></r>`, 1},
		{"frameset", "text/html", `<frameset><a href=1>`, 1},
		{"empty", "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			fresh := func() *tegenaria.Response { return responseOf(test.contentType, test.body) }
			parsed := func() *tegenaria.Response {
				r := fresh()
				r.CSS("a")
				return r
			}
			if n := len(fresh().Links()); n != test.links {
				t.Errorf("%d links, want %d", n, test.links)
			}
			for name, opts := range optionSets {
				if got, want := parsed().Links(opts...), fresh().Links(opts...); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the parsed page has the links\n%+v\nthe other\n%+v", name, got, want)
				}
				if got, want := follow(t, parsed(), opts...), follow(t, fresh(), opts...); !slices.Equal(got, want) {
					t.Errorf("%s: of the parsed page %q are followed, of the other %q", name, got, want)
				}
			}
			r := parsed()
			r.SetBody([]byte("<a href=5>"))
			if got := follow(t, r); !slices.Equal(got, []string{"http://a.test/dir/5"}) {
				t.Errorf("of another body %q are followed", got)
			}
		})
	}
}

// Credentials in links do not make another host of theirs: neither for the accepted domains nor for the slots, by whatever
// way a link is sent. It fails if the host of a link ends at the first colon.
func TestCredentialsInLinks(t *testing.T) {
	ways := map[string]func(out *tegenaria.Output[any], refs []string) error{
		"FollowLinks": func(out *tegenaria.Output[any], _ []string) error { return out.FollowLinks() },
		"Follow": func(out *tegenaria.Output[any], refs []string) error {
			for _, ref := range refs {
				if err := out.Follow(ref); err != nil {
					return err
				}
			}
			return nil
		},
		"Request": func(out *tegenaria.Output[any], refs []string) error {
			for _, ref := range refs {
				if err := out.Request(tegenaria.NewRequest(ref, tegenaria.GET, nil)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	crawl := func(t *testing.T, refs []string, send func(*tegenaria.Output[any], []string) error, opts ...tegenaria.EngineOption) (*enginetest.World, tegenaria.Stats) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page(refs...))
		for _, ref := range refs {
			w.Page(ref, enginetest.Text("x"))
		}
		s := handledSpider(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			if r.URL != "http://a.test/" {
				return nil
			}
			return send(out, refs)
		})
		return w, enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
	}
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := crawl(t, []string{"http://a.test:x@evil.test/", "http://u:p@a.test/in"}, send, tegenaria.EngineWithAllowedDomains("a.test"))
				if in, out := w.Count("http://u:p@a.test/in"), w.Count("http://a.test:x@evil.test/"); in != 1 || out != 0 {
					t.Errorf("the page in the domain was asked for %d times, the one outside %d times", in, out)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				refs := []string{"http://:x@b.test/"}
				for n := range 10 {
					refs = append(refs, fmt.Sprintf("http://u%d:x@b.test/", n))
				}
				began := time.Now()
				crawl(t, refs, send, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1, Delay: time.Second}))
				if took := time.Since(began); took != 10*time.Second {
					t.Errorf("11 pages of a host took %s with a second between them", took)
				}
			})
		})
	}
}

// A JSON text of 8 MB that is 200 MB of Go values is refused before they are made; a type that takes little of it is not,
// nor is a text that is long by its strings. The test fails if Response.Decode does not ask jsonsize.Of.
func TestH01JSONBombIsRefused(t *testing.T) {
	pages := map[string]string{
		"/bomb": "[" + strings.Repeat("{},", 8<<20/3) + "{}]",
		"/long": `{"text":"` + strings.Repeat("a", 8<<20) + `","number":7}`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(pages[r.URL.Path]))
	}))
	defer site.Close()
	looked := 0
	parse := func(_ context.Context, resp *tegenaria.Response, _ *tegenaria.Output[string]) error {
		looked++
		var limit *html.LimitError
		var some []struct{}
		if strings.HasSuffix(resp.URL, "/bomb") {
			if err := resp.Decode(&some); err != nil || len(some) < 1000 {
				t.Errorf("into a list of nothing: %v", err)
			}
			var all any
			if err := resp.Decode(&all); !errors.As(err, &limit) || all != nil {
				t.Errorf("a bomb: %v", err)
			}
			if resp.Json() != nil {
				t.Error("a bomb is an object")
			}
			return nil
		}
		if v := resp.Json(); v["number"] != 7.0 {
			t.Errorf("a long text: %v", resp.Decode(new(any)))
		}
		return nil
	}
	spider := tegenaria.NewSpider("test", tegenaria.Handle(parse), site.URL+"/bomb", site.URL+"/long")
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1))
	if err := engine.Execute("test"); err != nil || looked != 2 {
		t.Errorf("%d pages, %v", looked, err)
	}
}
