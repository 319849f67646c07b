package middleware_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// hops answers each URL with what stands for it: "302 target", or a page.
func hops(answers map[string]string) *memory {
	return &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) {
		what := answers[r.Url]
		var status int
		var target string
		if n, _ := fmt.Sscanf(what, "%d %s", &status, &target); n == 2 {
			return tegenaria.NewResponse(r, status, map[string][]string{"Location": {target}}, nil), nil
		}
		return tegenaria.NewResponse(r, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(what)), nil
	}}
}

// starting is a spider that sends these requests.
type starting struct {
	*tegenaria.BaseSpider
	requests []*tegenaria.Request
	parser   tegenaria.Parser
}

func start(parser tegenaria.Parser, requests ...*tegenaria.Request) *starting {
	return &starting{&tegenaria.BaseSpider{Name: "test"}, requests, parser}
}

func (s *starting) StartRequest(req chan<- *tegenaria.Context) {
	for _, r := range s.requests {
		req <- tegenaria.NewContext(r)
	}
}

func (s *starting) Parser(resp *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return s.parser(resp, items, req)
}

func (s *starting) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

// Row 5 of Scrapy's own tests, with the standard set: methods, bodies and their headers.
func TestRedirectMethods(t *testing.T) {
	const from, to = "http://www.example.com/302", "http://other.example/to"
	for _, tt := range []struct {
		method string
		status int
		want   string
		body   bool
	}{
		{"POST", 301, "GET", false}, {"POST", 302, "GET", false}, {"POST", 303, "GET", false}, {"POST", 307, "POST", true}, {"POST", 308, "POST", true},
		{"PUT", 301, "PUT", true}, {"PUT", 302, "PUT", true}, {"DELETE", 301, "DELETE", true}, {"DELETE", 302, "DELETE", true},
		{"PUT", 303, "GET", false}, {"DELETE", 303, "GET", false}, {"PUT", 307, "PUT", true}, {"PUT", 308, "PUT", true},
		{"HEAD", 301, "HEAD", false}, {"HEAD", 302, "HEAD", false}, {"HEAD", 303, "HEAD", false}, {"HEAD", 307, "HEAD", false}, {"HEAD", 308, "HEAD", false},
		{"GET", 301, "GET", false}, {"GET", 302, "GET", false}, {"GET", 303, "GET", false}, {"GET", 307, "GET", false}, {"GET", 308, "GET", false},
	} {
		t.Run(fmt.Sprint(tt.method, tt.status), func(t *testing.T) {
			web := hops(map[string]string{from: fmt.Sprint(tt.status, " ", to), to: "x"})
			r := tegenaria.NewRequest(from, tt.method, nil)
			if tt.method != "GET" && tt.method != "HEAD" {
				tegenaria.RequestWithBody([]byte("the body"))(r)
				r.Header["Content-Type"], r.Header["Content-Length"], r.Header["Content-Encoding"] = "text/plain", "8", "identity"
			}
			crawlWith(t, start(nothing, r), middleware.Standard(), tegenaria.EngineWithDownloader(web))
			log := web.asked()
			if len(log) != 2 {
				t.Fatalf("asked %d times", len(log))
			}
			got := log[1]
			if got.Url != to || got.Method != tt.want || (len(got.Body) > 0) != tt.body {
				t.Errorf("%s %s with body %q, want %s", got.Method, got.Url, got.Body, tt.want)
			}
			for name := range got.Header {
				if strings.HasPrefix(name, "Content-") != tt.body && strings.HasPrefix(name, "Content-") {
					t.Errorf("the target has %s", name)
				}
			}
		})
	}
}

// What a request carries of its own stays with its origin. Scrapy keeps cookies for another port and from http to
// https; we keep nothing across origins.
func TestRedirectCredentials(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		keep           bool
	}{
		{"same origin", "https://example.com/a", "https://example.com/b", true},
		{"the port of the scheme", "https://example.com/a", "https://example.com:443/b", true},
		{"another port", "https://example.com/a", "https://example.com:8443/b", false},
		{"another host", "https://example.com/a", "https://example.org/b", false},
		{"a sub-domain", "https://example.com/a", "https://www.example.com/b", false},
		{"http to https", "http://example.com/a", "https://example.com/b", false},
		{"https to http", "https://example.com/a", "http://example.com/b", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := hops(map[string]string{tt.from: "302 " + tt.to, tt.to: "x"})
			r := tegenaria.NewRequest(tt.from, "GET", nil, tegenaria.RequestWithRequestCookies(map[string]string{"own": "1"}),
				tegenaria.RequestWithRequestHeader(map[string]string{"Authorization": "Bearer x", "cookie": "header=1", "X-Other": "1"}))
			crawlWith(t, start(nothing, r), middleware.Standard(), tegenaria.EngineWithDownloader(web))
			got := web.asked()[1]
			if keeps := got.Header["Authorization"] != ""; keeps != tt.keep {
				t.Errorf("Authorization: %v", got.Header)
			}
			header := got.Header["Cookie"] + got.Header["cookie"]
			if keeps := header == "header=1" && got.Cookies["own"] == "1"; keeps != tt.keep || !tt.keep && (header != "" || len(got.Cookies) > 0) {
				t.Errorf("cookies: %q and %v", header, got.Cookies)
			}
			if got.Header["X-Other"] != "1" {
				t.Errorf("headers: %v", got.Header)
			}
		})
	}
}

// Where a redirect leads, and where it does not.
func TestRedirectTargets(t *testing.T) {
	const from = "http://www.example.com/302"
	for _, tt := range []struct {
		name, location string
		want           string // asked second; "" = nothing is
		outcome        tegenaria.Outcome
	}{
		{"many slashes", "///i8n.example2.com/302", "http://i8n.example2.com/302", tegenaria.Fetched},
		{"latin-1", "/a\xe7\xe3o", "http://www.example.com/a%E7%E3o", tegenaria.Fetched},
		{"utf-8", "/ação", "http://www.example.com/a%C3%A7%C3%A3o", tegenaria.Fetched},
		{"fragment", "/b#top", "http://www.example.com/b", tegenaria.Fetched}, // Scrapy keeps it, and inherits it
		{"data", "data:,x", "", tegenaria.Filtered},
		{"file", "file:///etc/passwd", "", tegenaria.Filtered},
		{"ftp", "ftp://example.com/x", "", tegenaria.Filtered},
		{"s3", "s3://bucket/key", "", tegenaria.Filtered},
		{"foo", "foo://bar", "", tegenaria.Filtered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) {
				if r.Url == from {
					return tegenaria.NewResponse(r, 302, map[string][]string{"Location": {tt.location}}, nil), nil
				}
				return tegenaria.NewResponse(r, 200, nil, nil), nil
			}}
			stats := crawlWith(t, tegenaria.NewSpider("test", nothing, from), middleware.Standard(), tegenaria.EngineWithDownloader(web))
			if stats.Outcomes[tegenaria.Redirected] != 1 || stats.Outcomes[tt.outcome] != 1 {
				t.Errorf("outcomes %v, %v", stats.Outcomes, stats.Reasons)
			}
			log := web.asked()
			if tt.want == "" && len(log) != 1 || tt.want != "" && (len(log) != 2 || log[1].Url != tt.want) {
				t.Errorf("asked %d times, at last %q; want %q", len(log), log[len(log)-1].Url, tt.want)
			}
		})
	}
	t.Run("at most one", func(t *testing.T) { // row 5: ttl 1
		web := hops(map[string]string{from: "302 http://a.example/1", "http://a.example/1": "302 http://a.example/2"})
		r := tegenaria.NewRequest(from, "GET", nil, tegenaria.RequestWithMaxRedirects(1))
		stats := crawlWith(t, start(nothing, r), middleware.Standard(), tegenaria.EngineWithDownloader(web))
		if len(web.asked()) != 2 || stats.Reasons["failed: redirect"] != 1 {
			t.Errorf("asked %d times, reasons %v", len(web.asked()), stats.Reasons)
		}
	})
}

// A jar's cookies follow the rules of cookies across redirects, whatever the request inherits.
func TestRedirectsAndTheJar(t *testing.T) {
	setting := map[string]struct{ set, location string }{
		"https://a.example/login":  {"session=1; path=/; secure", "https://a.example/home"},
		"https://a.example/home":   {"session=2; path=/; secure", "https://b.example/"},
		"https://b.example/":       {"other=1", "https://a.example/again"},
		"https://a.example/again":  {"", "http://a.example/plain"},
		"http://a.example/plain":   {"", ""},
		"https://a.example/failed": {"", ""},
	}
	web := &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) {
		s := setting[r.Url]
		header := map[string][]string{}
		if s.set != "" {
			header["Set-Cookie"] = []string{s.set}
		}
		if s.location == "" {
			return tegenaria.NewResponse(r, 200, header, nil), nil
		}
		header["Location"] = []string{s.location}
		return tegenaria.NewResponse(r, 302, header, nil), nil
	}}
	crawlWith(t, tegenaria.NewSpider("test", nothing, "https://a.example/login"), middleware.Standard(), tegenaria.EngineWithDownloader(web))
	var got []string
	for _, r := range web.asked() {
		got = append(got, r.Url+" "+r.Header["Cookie"])
	}
	want := []string{"https://a.example/login ", "https://a.example/home session=1", "https://b.example/ ",
		"https://a.example/again session=2", "http://a.example/plain "}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A page that sends its readers elsewhere is a redirect.
func TestMetaRefresh(t *testing.T) {
	const from = "http://a.example/dir/page"
	refresh := func(content string) string {
		return `<html><head><META HTTP-EQUIV="Refresh" CONTENT="` + content + `"></head><body>x</body></html>`
	}
	for _, tt := range []struct {
		name, body, mime string
		status           int    // 0: 200
		header           string // Refresh
		change           func(r *tegenaria.Request)
		want             string // asked second; "" = the page itself is parsed
	}{
		{"at once", refresh("0; url=/to"), "", 0, "", nil, "http://a.example/to"},
		{"relative", refresh("5;URL='to'"), "", 0, "", nil, "http://a.example/dir/to"},
		{"a user name", refresh("0; url=http://info@a.example/to"), "", 0, "", nil, "http://a.example/to"},
		{"99 s", refresh("99; url=/to"), "", 0, "", nil, "http://a.example/to"},
		{"1000 s", refresh("1000; url=/to"), "", 0, "", nil, ""},
		{"100 s", refresh("100; url=/to"), "", 0, "", nil, ""},
		{"in noscript", `<noscript>` + refresh("0; url=/to") + `</noscript>`, "", 0, "", nil, ""},
		{"in a comment", `<!--` + refresh("0; url=/to") + `-->`, "", 0, "", nil, ""},
		{"a reload", refresh("30"), "", 0, "", nil, ""},
		{"to itself", refresh("0; url=page#top"), "", 0, "", nil, ""},
		{"another scheme", refresh("0; url=ftp://a.example/"), "", 0, "", nil, ""},
		{"XHTML", refresh("0; url=/to"), "application/xhtml+xml; charset=utf-8", 0, "", nil, "http://a.example/to"},
		{"plain text", refresh("0; url=/to"), "text/plain", 0, "", nil, ""},
		{"by POST", refresh("0; url=/to"), "", 0, "", func(r *tegenaria.Request) { r.Method, r.Body = "POST", []byte("x") }, "http://a.example/to"},
		{"not wanted", refresh("0; url=/to"), "", 0, "", func(r *tegenaria.Request) { r.AllowRedirects = false }, ""},
		{"none allowed", refresh("0; url=/to"), "", 0, "", func(r *tegenaria.Request) { r.MaxRedirects = 0 }, ""},
		{"of status 203", refresh("0; url=/to"), "", 203, "", nil, "http://a.example/to"},
		{"of status 404 that is allowed", refresh("0; url=/to"), "", 404, "", tegenaria.RequestWithAllowedStatusCode([]uint64{404}), "http://a.example/to"},
		{"header", "", "", 0, "0; url=/to", nil, "http://a.example/to"},
		{"header, relative", "", "", 0, "3, URL=\"to\"", nil, "http://a.example/dir/to"},
		{"header of plain text", "text", "text/plain", 0, "0;/to", nil, "http://a.example/to"},
		{"header of status 201", "", "", 201, "0; url=/to", nil, "http://a.example/to"},
		{"header of status 404 that is allowed", "", "", 404, "0; url=/to", tegenaria.RequestWithAllowedStatusCode([]uint64{404}), "http://a.example/to"},
		{"header of status 404", "", "", 404, "0; url=/to", nil, "failed"},
		{"header of a redirect", "", "", 302, "0; url=/to", nil, "http://a.example/location"},
		{"header before meta", refresh("0; url=/meta"), "", 0, "0; url=/to", nil, "http://a.example/to"},
		{"header that reloads, before meta", refresh("0; url=/meta"), "", 0, "30", nil, ""},
		{"header without a time", refresh("0; url=/meta"), "", 0, "url=/to", nil, "http://a.example/meta"},
		{"header, 1000 s", "", "", 0, "1000; url=/to", nil, ""},
		{"header, to itself", "", "", 0, "0; url=page#top", nil, ""},
		{"header, not wanted", "", "", 0, "0; url=/to", func(r *tegenaria.Request) { r.AllowRedirects = false }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.mime == "" {
				tt.mime = "text/html"
			}
			web := &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) {
				if r.Url == from {
					header := map[string][]string{"Content-Type": {tt.mime}, "X-Kept": {"1"}}
					if tt.header != "" {
						header["Refresh"] = []string{tt.header}
					}
					if tt.status == 302 {
						header["Location"] = []string{"/location"}
					}
					return tegenaria.NewResponse(r, cmp.Or(tt.status, 200), header, []byte(tt.body)), nil
				}
				return tegenaria.NewResponse(r, 200, nil, nil), nil
			}}
			r := tegenaria.NewRequest(from, "GET", nil)
			if tt.change != nil {
				tt.change(r)
			}
			var parsed []string
			parser := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				parsed = append(parsed, fmt.Sprint(resp.Response().Status, " ", resp.Response().URL))
				return nil
			}
			stats := crawlWith(t, start(parser, r), middleware.Standard(), tegenaria.EngineWithDownloader(web))
			want := tt.want
			if want == "" {
				want = from
			}
			if want == "failed" {
				if len(parsed) > 0 || len(web.asked()) != 1 {
					t.Errorf("parsed %q after %d downloads", parsed, len(web.asked()))
				}
				return
			}
			if !slices.Equal(parsed, []string{"200 " + want}) || stats.Outcomes[tegenaria.Redirected] != int64(len(web.asked())-1) {
				t.Errorf("parsed %q, want %q; %v %v", parsed, want, stats.Outcomes, stats.Reasons)
			}
			if last := web.asked()[len(web.asked())-1]; tt.want != "" && (last.Method != "GET" || len(last.Body) > 0 || last.Depth != 0) {
				t.Errorf("the target was asked by %s with %q at depth %d", last.Method, last.Body, last.Depth)
			}
		})
	}
	t.Run("in a circle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			web := hops(map[string]string{"http://a.example/1": refresh("0;url=/2"), "http://a.example/2": refresh("0;url=/1")})
			stats := crawlWith(t, tegenaria.NewSpider("test", nothing, "http://a.example/1"), middleware.Standard(), tegenaria.EngineWithDownloader(web))
			if stats.Reasons["failed: redirect loop"] != 1 || len(web.asked()) != 4 {
				t.Errorf("%v after %d downloads", stats.Reasons, len(web.asked()))
			}
		})
	})
}
