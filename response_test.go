package tegenaria_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
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
	s := newSpider("http://a.test/")
	s.parse = parserOf(func(ctx *tegenaria.Context) error { ctx.Response().CSS("p["); return nil })
	mustRun(t, newEngine(onePage(), s))
	herr := s.onlyError(t)
	var wrong *selector.SyntaxError
	if !errors.As(herr, &wrong) || herr.Stage != tegenaria.StageParse || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v, want a *selector.SyntaxError", herr)
	}
}

// Bodies over the limit, and those that break off, are typed errors; the crawl goes on.
func TestBadBodies(t *testing.T) {
	server, _ := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
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
	s := newSpider(server+"/large", server+"/broken", server+"/good")
	parsed := ""
	s.parse = parserOf(func(ctx *tegenaria.Context) error { parsed += ctx.Response().String(); return nil })
	stats := mustRun(t, newEngine(nil, s, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})))
	wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 2})
	if parsed != "good" {
		t.Errorf("parsed %q", parsed)
	}
	for _, herr := range s.errors() {
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
