package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// RFC 9110 §15.4, and what browsers do.
func TestRedirectMethods(t *testing.T) {
	for _, tt := range []struct {
		status int
		method string
		want   string
		body   bool
	}{
		{301, "GET", "GET", false}, {302, "GET", "GET", false}, {303, "GET", "GET", false}, {307, "GET", "GET", false}, {308, "GET", "GET", false},
		{301, "POST", "GET", false}, {302, "POST", "GET", false}, {303, "POST", "GET", false}, {307, "POST", "POST", true}, {308, "POST", "POST", true},
		{301, "PUT", "PUT", true}, {302, "PUT", "PUT", true}, {303, "PUT", "GET", false}, {307, "PUT", "PUT", true},
		{301, "HEAD", "HEAD", false}, {303, "HEAD", "HEAD", false}, {307, "HEAD", "HEAD", false},
	} {
		t.Run(fmt.Sprint(tt.status, tt.method), func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(tt.status, "/to")).Page("http://a.test/to", enginetest.Text("x"))
			s := enginetest.NewSpider()
			s.Parse = enginetest.Nothing
			s.Start = func(req chan<- *tegenaria.Context) {
				opts := []tegenaria.RequestOption{tegenaria.RequestWithRequestHeader(map[string]string{
					"Content-Type": "text/x", "Content-Language": "en", "X-Own": "1"})}
				if tt.method != "GET" && tt.method != "HEAD" {
					opts = append(opts, tegenaria.RequestWithBody([]byte("body")))
				}
				req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tt.method, nil, opts...))
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Redirected: 1, tegenaria.Fetched: 1})
			got := w.Visits()[1].Req
			if got.Url != "http://a.test/to" || got.Method != tt.want || (len(got.Body) > 0) != tt.body {
				t.Errorf("the target was asked by %s with body %q", got.Method, got.Body)
			}
			if got.Header["X-Own"] != "1" {
				t.Errorf("headers are lost: %v", got.Header)
			}
			if rewritten := tt.want != tt.method; (got.Header["Content-Type"] == "") != rewritten || (got.Header["Content-Language"] == "") != rewritten {
				t.Errorf("headers of the body: %v", got.Header)
			}
		})
	}
}

// Credentials and cookies never cross origins.
func TestRedirectCredentials(t *testing.T) {
	secret := map[string]string{"Authorization": "Basic x", "cookie": "a=b", "Proxy-Authorization": "y", "Host": "virtual", "X-Own": "1"}
	for _, tt := range []struct {
		to   string
		same bool
	}{
		{"/to", true}, {"http://a.test/to", true}, {"http://A.test:80/to", true},
		{"https://a.test/to", false}, {"http://a.test:81/to", false}, {"http://b.test/to", false}, {"http://x.a.test/to", false}, {"//b.test/to", false},
	} {
		t.Run(tt.to, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(302, tt.to))
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/", tegenaria.RequestWithRequestHeader(secret),
					tegenaria.RequestWithRequestCookies(map[string]string{"session": "1"}))
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s))
			got := w.Visits()[1].Req
			want := map[string]string{"X-Own": "1"}
			if tt.same {
				want = secret
			}
			if !maps.Equal(got.Header, want) || (len(got.Cookies) > 0) != tt.same {
				t.Errorf("%s was asked with %v and cookies %v", got.Url, got.Header, got.Cookies)
			}
			if first := w.Visits()[0].Req; !maps.Equal(first.Header, secret) || len(first.Cookies) != 1 {
				t.Errorf("the first request was changed: %v", first.Header)
			}
		})
	}
}

func TestRedirectLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		opts    []tegenaria.RequestOption
		hops    int // that the server makes
		asked   int
		parsed  int // status that the parser got, 0 if none
		tooMany bool
	}{
		{"default of 10, 10 hops", nil, 10, 11, 200, false},
		{"default of 10, 11 hops", nil, 11, 11, 0, true},
		{"1, 1 hop", []tegenaria.RequestOption{tegenaria.RequestWithMaxRedirects(1)}, 1, 2, 200, false},
		{"1, 2 hops", []tegenaria.RequestOption{tegenaria.RequestWithMaxRedirects(1)}, 2, 2, 0, true},
		{"0", []tegenaria.RequestOption{tegenaria.RequestWithMaxRedirects(0)}, 2, 1, 302, false},
		{"-1", []tegenaria.RequestOption{tegenaria.RequestWithMaxRedirects(-1)}, 2, 1, 302, false},
		{"not allowed", []tegenaria.RequestOption{tegenaria.RequestWithAllowRedirects(false)}, 2, 1, 302, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld()
			for i := range tt.hops {
				w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Redirect(302, fmt.Sprintf("/%d", i+1)))
			}
			w.Page(fmt.Sprintf("http://a.test/%d", tt.hops), enginetest.Text("end"))
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) { req <- enginetest.Send("http://a.test/0", tt.opts...) }
			parsed := 0
			s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				parsed = resp.Response().Status
				if n := len(resp.Request.Redirects); parsed == 200 && n != tt.hops {
					t.Errorf("%d hops: %q", n, resp.Request.Redirects)
				}
				return nil
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s))
			if len(w.Visits()) != tt.asked || parsed != tt.parsed {
				t.Errorf("asked %q, the parser got %d", w.Urls(), parsed)
			}
			if !tt.tooMany {
				if errs := s.Errors(); len(errs) != 0 {
					t.Errorf("errors: %v", errs)
				}
				return
			}
			herr := s.OnlyError(t)
			var tooMany *tegenaria.TooManyRedirectsError
			if !errors.As(herr, &tooMany) || herr.Stage != tegenaria.StageRedirect || !strings.Contains(herr.Error(), "maximum number of redirects") {
				t.Errorf("error %v, want a *TooManyRedirectsError", herr)
			}
		})
	}
}

// The target inherits what belongs to the request, and counts by itself.
func TestRedirectInherits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/old")).Page("http://a.test/old", enginetest.Redirect(301, "/new?x=1#frag", "Set-Cookie", "a=b")).
			Page("http://a.test/new?x=1", enginetest.Redirect(307, "http://b.test/end")).Page("http://b.test/end", enginetest.Status(404))
		var got *tegenaria.Context
		parser := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			got = resp
			return nil
		}
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/old", tegenaria.GET, parser,
				tegenaria.RequestWithRequestMeta(map[string]any{"k": 1}), tegenaria.RequestWithPriority(5),
				tegenaria.RequestWithRequestParams(map[string]string{"gone": "1"}), tegenaria.RequestWithTimeout(7*time.Second),
				tegenaria.RequestWithAllowedStatusCode([]uint64{404})))
			return nil
		}
		w.Page("http://a.test/old", enginetest.Redirect(301, "/new?x=1#frag", "Set-Cookie", "a=b"))
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Redirected: 2})
		if got == nil {
			t.Fatal("the parser was not called")
		}
		r := got.Request
		if want := []string{"http://a.test/old", "http://a.test/new?x=1"}; !slices.Equal(r.Redirects, want) {
			t.Errorf("Redirects is %q, want %q", r.Redirects, want)
		}
		if r.Depth != 1 || r.Priority != 5+2+2 || r.Meta["k"] != 1 || len(r.Params) != 0 || r.Attempt != 0 {
			t.Errorf("the target is %+v", r)
		}
		if got.Response().Status != 404 || got.Response().URL != "http://b.test/end" {
			t.Errorf("the response is %+v", got.Response())
		}
	})
}

func TestRedirectScopeAndIdentity(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages map[string]enginetest.Answer
		seeds []string
		opts  []tegenaria.EngineOption
		asked map[string]int
		want  map[tegenaria.Outcome]int64
		fail  string // the error's text has this
	}{
		{
			"the target is known", map[string]enginetest.Answer{"/": enginetest.Page("/a", "/b"), "/a": enginetest.Redirect(302, "/t"), "/b": enginetest.Redirect(302, "/t#x"), "/t": enginetest.Page("/t")}, nil, nil,
			map[string]int{"/t": 1}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Redirected: 2, tegenaria.Duplicate: 2}, "",
		}, {
			"to itself", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "/")}, nil, nil,
			map[string]int{"/": 2}, map[tegenaria.Outcome]int64{tegenaria.Redirected: 1, tegenaria.Failed: 1}, "redirect loop",
		}, {
			"in a circle", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "/1"), "/1": enginetest.Redirect(302, "/2"), "/2": enginetest.Redirect(302, "/")}, nil, nil,
			map[string]int{"/": 2, "/1": 2, "/2": 2}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Redirected: 5}, "redirect loop",
		}, {
			"to itself until it has set a cookie", map[string]enginetest.Answer{"/": enginetest.InTurn(enginetest.Redirect(302, "/", "Set-Cookie", "a=b"), enginetest.Text("x"))}, nil, nil,
			map[string]int{"/": 2}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Redirected: 1}, "",
		}, {
			"with cookies for ever", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "/", "Set-Cookie", "a=b")}, nil, nil,
			map[string]int{"/": 11}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Redirected: 10}, "maximum number of redirects",
		}, {
			"offsite", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "http://b.test/")}, nil, []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("a.test")},
			map[string]int{}, map[tegenaria.Outcome]int64{tegenaria.Redirected: 1, tegenaria.Filtered: 1}, "",
		}, {
			"to another scheme", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "ftp://a.test/")}, nil, nil,
			map[string]int{}, map[tegenaria.Outcome]int64{tegenaria.Redirected: 1, tegenaria.Filtered: 1}, `"ftp" is not supported`,
		}, {
			"to nonsense", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "http://[::1")}, nil, nil,
			map[string]int{}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, "Location",
		}, {
			"without a Location", map[string]enginetest.Answer{"/": enginetest.Status(302)}, nil, nil,
			map[string]int{"/": 1}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1}, "",
		}, {
			"300 and 304 are no redirects", map[string]enginetest.Answer{"/": enginetest.Redirect(300, "/x"), "/y": enginetest.Redirect(304, "/x")}, []string{"http://a.test/y"}, nil,
			map[string]int{"/x": 0}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2}, "",
		}, {
			"at the depth limit", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "/t"), "/t": enginetest.Page("/deeper")}, nil,
			[]tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds})},
			map[string]int{"/t": 1, "/deeper": 0}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Redirected: 1, tegenaria.Filtered: 1}, "",
		}, {
			"without a filter the target is asked each time", map[string]enginetest.Answer{"/": enginetest.Redirect(302, "/t"), "/2": enginetest.Redirect(302, "/t"), "/t": enginetest.Text("x")},
			[]string{"http://a.test/2"}, []tegenaria.EngineOption{tegenaria.EngineWithUniqueReq(false)},
			map[string]int{"/t": 2}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Redirected: 2}, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld()
			for path, a := range tt.pages {
				w.Page("http://a.test"+path, a)
			}
			s := enginetest.NewSpider(append([]string{"http://a.test/"}, tt.seeds...)...)
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tt.opts...))
			enginetest.WantOutcomes(t, stats, tt.want)
			for path, n := range tt.asked {
				if got := w.Count("http://a.test" + path); got != n {
					t.Errorf("%s was asked %d times, want %d", path, got, n)
				}
			}
			switch errs := s.Errors(); {
			case tt.fail == "" && len(errs) > 0:
				t.Errorf("errors: %v", errs)
			case tt.fail != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.fail)):
				t.Errorf("errors %v, want one with %q", errs, tt.fail)
			}
		})
	}
}

// The chain of a POST is not deduplicated: its result may differ.
func TestRedirectOfPostIsAlwaysAsked(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(303, "/t")).Page("http://a.test/t", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/t")
	s.Parse = enginetest.Nothing
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/t")
		for i := range 2 {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte{byte(i)})))
		}
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 3, tegenaria.Redirected: 2})
}

// ProcessResponse sees redirects too, and the ResponseWriter gets the last body alone.
func TestRedirectOverHTTP(t *testing.T) {
	server, log := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/end":
			io.WriteString(w, "the end")
		}
	})
	var body strings.Builder
	s := enginetest.NewSpider()
	s.Parse = enginetest.Nothing
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send(server+"/", tegenaria.RequestWithResponseWriter(&body))
	}
	var seen []int
	e := enginetest.NewEngine(nil, s, tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
		seen = append(seen, ctx.Response().Status)
		return nil
	}}))
	enginetest.MustRun(t, e)
	if body.String() != "the end" {
		t.Errorf("the ResponseWriter got %q", body.String())
	}
	if !slices.Equal(seen, []int{302, 200}) || len(log()) != 2 {
		t.Errorf("the middleware saw %v, the server %v", seen, log())
	}
}

// Each hop waits for its slot like any request.
func TestRedirectIsPolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(302, "/1")).Page("http://a.test/1", enginetest.Redirect(302, "/2")).Page("http://a.test/2", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = enginetest.Nothing
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: 10 * time.Second})))
		for i, v := range w.Visits() {
			if at := v.At.Sub(began); at != time.Duration(i)*10*time.Second {
				t.Errorf("hop %d began after %s", i, at)
			}
		}
	})
}

// What a server writes into Location in a charset of its own is asked for in these bytes.
func TestRedirectLocationBytes(t *testing.T) {
	for _, tt := range []struct{ name, location, want string }{
		{"latin-1", "/a\xe7\xe3o?q=\xe9", "http://a.test/a%E7%E3o?q=%E9"},
		{"utf-8", "/a\xc3\xa7\xc3\xa3o", "http://a.test/a%C3%A7%C3%A3o"},
		{"many slashes", "///b.test/302", "http://b.test/302"},
		{"white space around", " \t/to ", "http://a.test/to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(302, tt.location)).Page(tt.want, enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = enginetest.Nothing
			enginetest.WantOutcomes(t, enginetest.MustRun(t, enginetest.NewEngine(w, s)), map[tegenaria.Outcome]int64{tegenaria.Redirected: 1, tegenaria.Fetched: 1})
		})
	}
}

// A redirect to another spelling of its own URL is followed; what a server sends to the same spelling again and again is a loop.
func TestRedirectToAnotherSpelling(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
	}{
		{"the order of the query", "/p?b=2&a=1", "/p?a=1&b=2"},
		{"a question mark alone", "/p?", "/p"},
		{"a question mark more", "/p", "/p?"},
		{"an encoded letter", "/%7ep", "/~p"},
		{"hex digits", "/%c3%a9", "/%C3%A9"},
		{"an equals sign less", "/p?x=", "/p?x"},
		{"an equals sign more", "/p?x", "/p?x="},
		{"an empty pair", "/p?a=1&&b=2", "/p?a=1&b=2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, log := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.RequestURI {
				case "/":
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(w, `<a href="%s">1</a><a href="%s">2</a><a href="/other">3</a>`, tt.from, tt.to)
				case tt.from:
					w.Header().Set("Location", tt.to)
					w.WriteHeader(http.StatusMovedPermanently)
				case tt.to, "/other":
					io.WriteString(w, "the page")
				default:
					t.Errorf("%s was asked", r.RequestURI)
				}
			})
			s := enginetest.NewSpider(server + "/")
			stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s))
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 3, tegenaria.Redirected: 1, tegenaria.Duplicate: 1})
			pages := 0
			for _, a := range log() {
				if a.Target == tt.to {
					pages++
				}
			}
			if pages != 1 {
				t.Errorf("the page was asked %d times: %v", pages, log())
			}
		})
	}
}

// A page that is known is not had again through a chain, unless the chain itself has asked for it.
func TestRedirectChainStaysFiltered(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages map[string]enginetest.Answer
		asked map[string]int
	}{
		{"a gate that sends back", map[string]enginetest.Answer{
			"/page": enginetest.InTurn(enginetest.Redirect(302, "/gate"), enginetest.Text("x")), "/gate": enginetest.Redirect(302, "/page"),
		}, map[string]int{"/page": 2, "/gate": 1}},
		{"a state that the server keeps", map[string]enginetest.Answer{
			"/page": enginetest.InTurn(enginetest.Redirect(302, "/page"), enginetest.Text("x")),
		}, map[string]int{"/page": 2}},
		{"on from another spelling", map[string]enginetest.Answer{
			"/page": enginetest.Redirect(302, "/page?"), "/page?": enginetest.Redirect(302, "/known"), "/known": enginetest.Text("x"),
		}, map[string]int{"/page": 1, "/page?": 1, "/known": 1}},
		{"on from what a cookie opened", map[string]enginetest.Answer{
			"/page": enginetest.InTurn(enginetest.Redirect(302, "/page", "Set-Cookie", "a=b"), enginetest.Redirect(302, "/known")), "/known": enginetest.Text("x"),
		}, map[string]int{"/page": 2, "/known": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld()
			for path, a := range tt.pages {
				w.Page("http://a.test"+path, a)
			}
			s := enginetest.NewSpider("http://a.test/page")
			s.Parse = enginetest.Nothing
			if _, known := tt.pages["/known"]; known {
				s = enginetest.NewSpider("http://a.test/known", "http://a.test/page")
				s.Parse = enginetest.Nothing
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s))
			for path, n := range tt.asked {
				if got := w.Count("http://a.test" + path); got != n {
					t.Errorf("%s was asked %d times, want %d", path, got, n)
				}
			}
			if errs := s.Errors(); len(errs) > 0 {
				t.Errorf("errors: %v", errs)
			}
		})
	}
}

// A redirect of a filtered request is filtered too, even if a middleware has changed the request since it was accepted.
func TestRedirectOfAChangedRequestIsFiltered(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/t", "/a")).
		Page("http://a.test/a", enginetest.Redirect(302, "/t")).Page("http://a.test/t", enginetest.Text("x"))
	changes := &enginetest.Hooks{Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
		tegenaria.RequestWithVariant("")(ctx.Request)
		return nil
	}}
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
		if page.URL != "http://a.test/" {
			return nil
		}
		return errors.Join(out.Follow("/t"), out.Follow("/a", tegenaria.RequestWithVariant("v")))
	})
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(changes)))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Redirected: 1, tegenaria.Duplicate: 1})
}

// When a session ends, each page leads to the login page. It fails if the log does not say so, says it more than once, or says it of
// fewer pages than ten or of as many pages that lead to other targets.
func TestPagesThatLeadToOnePageAreLogged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		pages   int
		targets int // that the pages lead to, one after the other
		lines   int
	}{{"a session that ends", 25, 1, 1}, {"two sessions", 40, 2, 2}, {"few pages", 9, 1, 0}, {"many targets", 60, 20, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w, seeds := enginetest.NewWorld(), []string(nil)
				for i := range tt.targets {
					target := fmt.Sprint("http://a.test/login/", i)
					w.Page(target, enginetest.Text("the form"))
					seeds = append(seeds, target)
				}
				for i := range tt.pages {
					page := fmt.Sprint("http://a.test/", i)
					w.Page(page, enginetest.Redirect(302, fmt.Sprint("/login/", i%tt.targets)))
					seeds = append(seeds, page)
				}
				s := enginetest.NewSpider(seeds...)
				s.Parse = enginetest.Nothing
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, logTo(&log)))
				if n := stats.Reasons["duplicate: redirect"]; n != int64(tt.pages) {
					t.Errorf("%d pages were redirected to a known page", n)
				}
				if n := strings.Count(log.String(), "10 pages were redirected to http://a.test/login/"); n != tt.lines {
					t.Errorf("%d lines, want %d:\n%s", n, tt.lines, log.String())
				}
			})
		})
	}
}
