package middleware_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// set makes a list of middlewares.
func set(middlewares ...tegenaria.MiddlewaresInterface) []tegenaria.MiddlewaresInterface {
	return middlewares
}

func TestHeadersOnTheNetwork(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	own := tegenaria.NewRequest(s.URL+"/own", "GET", nil, tegenaria.RequestWithRequestHeader(map[string]string{"accept": "image/png", "user-agent": "own"}))
	plain := tegenaria.NewRequest(s.URL+"/plain", "GET", nil)
	crawlWith(t, start(nothing, own, plain), set(middleware.NewDefaultHeaders(nil), middleware.NewUserAgents([]string{"one", "two"}, middleware.UserAgentOptions{})))
	agent := ""
	for _, v := range s.visits() {
		accept, languages := strings.Join(v.Header["Accept"], "|"), v.Header.Get("Accept-Language")
		switch v.Path {
		case "/own":
			if accept != "image/png" || languages != "en" || strings.Join(v.Header["User-Agent"], "|") != "own" {
				t.Errorf("its own headers became %v", v.Header)
			}
		case "/plain":
			agent = v.Header.Get("User-Agent")
			if !strings.HasPrefix(accept, "text/html,") || languages != "en" {
				t.Errorf("headers %v", v.Header)
			}
		}
	}
	if agent != "one" && agent != "two" {
		t.Errorf("User-Agent is %q", agent)
	}
	crawl(t, nothing, set(middleware.NewDefaultHeaders(map[string]string{"X-Team": "spiders"})), s.URL+"/custom")
	last := s.visits()[2]
	if last.Header.Get("X-Team") != "spiders" || last.Header.Get("Accept") != "" || !strings.HasPrefix(last.Header.Get("User-Agent"), "tegenaria/") {
		t.Errorf("headers %v", last.Header)
	}
}

// A host always sees the same agent, hosts see different ones; PerRequest each time another one.
func TestUserAgents(t *testing.T) {
	agents := []string{"a", "b", "c"}
	sticky := middleware.NewUserAgents(agents, middleware.UserAgentOptions{})
	random := middleware.NewUserAgents(agents, middleware.UserAgentOptions{PerRequest: true})
	seen, each := map[string]int{}, map[string]int{}
	for i := range 300 {
		var last string
		for j := range 3 {
			ctx := asked(fmt.Sprintf("http://h%d.example/%d", i, j))
			if err := sticky.ProcessRequest(ctx); err != nil {
				t.Fatal(err)
			}
			agent := ctx.Request.Header["User-Agent"]
			if j > 0 && agent != last {
				t.Fatalf("host %d sees %q and %q", i, last, agent)
			}
			last = agent
		}
		seen[last]++
		ctx := asked("http://a.example/")
		random.ProcessRequest(ctx)
		each[ctx.Request.Header["User-Agent"]]++
	}
	for _, agent := range agents {
		if seen[agent] < 50 || each[agent] < 50 {
			t.Errorf("%q: %d hosts, %d requests of 300", agent, seen[agent], each[agent])
		}
	}
	ctx := asked("http://a.example/")
	if middleware.NewUserAgents(nil, middleware.UserAgentOptions{}).ProcessRequest(ctx); len(ctx.Request.Header) != 0 {
		t.Errorf("without agents: %v", ctx.Request.Header)
	}
}

// A login reaches its origin and no other one.
func TestBasicAuthOnTheNetwork(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { page(w) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "me" || password != "s:cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/":
			page(w, "/moved", "/away", other.URL+"/link")
		case "/moved":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL+"/redirected", http.StatusFound)
		}
	})
	auth, err := middleware.NewBasicAuth(map[string]middleware.Credentials{s.URL: {User: "me", Password: "s:cret"}})
	if err != nil {
		t.Fatal(err)
	}
	// A parser that copies the headers of its page must not carry the login away.
	parser := func(resp *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if resp.Request.Url == s.URL+"/" {
			req <- tegenaria.NewContext(tegenaria.NewRequest(other.URL+"/copied", "GET", nil, tegenaria.RequestWithRequestHeader(resp.Request.Header)))
		}
		return followAll(resp, items, req)
	}
	stats := crawlWith(t, tegenaria.NewSpider("test", parser, s.URL+"/"), set(auth),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, AllowPrivate: loopback}))
	if stats.ErrorCount != 0 || len(s.visits()) != 4 {
		t.Errorf("%d errors in %d visits", stats.ErrorCount, len(s.visits()))
	}
	if got, want := other.paths(), []string{"/copied", "/link", "/redirected"}; !slices.Equal(got, want) {
		t.Errorf("the other origin was asked for %q, want %q", got, want)
	}
	for _, v := range other.visits() {
		if v.Header.Get("Authorization") != "" {
			t.Errorf("the login crossed to %s", v.Path)
		}
	}
}

func TestBasicAuth(t *testing.T) {
	auth, err := middleware.NewBasicAuth(map[string]middleware.Credentials{"https://a.example:443": {User: "u", Password: "p"}, "http://b.example:8080/": {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, url, own, want string }{
		{"the origin", "https://a.example/x", "", "Basic dTpw"},
		{"another scheme", "http://a.example/x", "", ""},
		{"another port", "https://a.example:8443/x", "", ""},
		{"a sub-domain", "https://www.a.example/x", "", ""},
		{"capitals", "HTTPS://A.example/x", "", "Basic dTpw"},
		{"its own", "https://a.example/x", "Bearer t", "Bearer t"},
		{"in the URL", "https://me:you@a.example/x", "", ""},
		{"an @ in the path", "https://a.example/@x", "", "Basic dTpw"},
		{"empty", "http://b.example:8080/x", "", "Basic Og=="},
	} {
		ctx := asked(tt.url)
		if tt.own != "" {
			ctx.Request.Header["Authorization"] = tt.own
		}
		if err := auth.ProcessRequest(ctx); err != nil || ctx.Request.Header["Authorization"] != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, ctx.Request.Header["Authorization"], err, tt.want)
		}
		failure := errors.New("x")
		if got := auth.ProcessError(ctx, failure, nil); got != failure || ctx.Request.Header["Authorization"] != tt.own {
			t.Errorf("%s: after the failure %q, %v", tt.name, ctx.Request.Header["Authorization"], got)
		}
	}
	for _, bad := range []struct {
		site string
		c    middleware.Credentials
	}{
		{"a.example", middleware.Credentials{}}, {"https://a.example/path", middleware.Credentials{}}, {"ftp://a.example", middleware.Credentials{}},
		{"https://secret:secret@a.example", middleware.Credentials{}}, {"", middleware.Credentials{}},
		{"https://a.example", middleware.Credentials{User: "a:b"}}, {"https://a.example", middleware.Credentials{User: "a", Password: "secret\n"}},
	} {
		if _, err := middleware.NewBasicAuth(map[string]middleware.Credentials{bad.site: bad.c}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q, %v: %v", bad.site, bad.c, err)
		}
	}
	if _, err := middleware.NewBasicAuth(map[string]middleware.Credentials{"https://a.example": {}, "https://a.example:443": {}}); err == nil {
		t.Error("two logins for one origin are taken")
	}
	if s := fmt.Sprintf("%v %#v", middleware.Credentials{User: "u", Password: "p4ss"}, middleware.Credentials{User: "u", Password: "p4ss"}); strings.Contains(s, "p4ss") {
		t.Errorf("the password is printed: %s", s)
	}
}

func TestURLLengthOnTheNetwork(t *testing.T) {
	long := "/" + strings.Repeat("x", 2083)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			page(w, long, "/short", "/moved")
		case "/moved":
			http.Redirect(w, r, long, http.StatusFound)
		}
	})
	stats := crawl(t, followAll, set(middleware.NewURLLength(middleware.URLLengthOptions{})), s.URL+"/", s.URL+long+"y")
	if got := s.paths(); !slices.Equal(got, []string{"/", "/moved", "/short"}) || stats.Reasons["filtered: long URL"] != 3 {
		t.Errorf("asked for %.60q, reasons %v", got, stats.Reasons)
	}
	m := middleware.NewURLLength(middleware.URLLengthOptions{Max: 20})
	if at, over := verdict(m, nil, asked("http://a.example/123").Request), verdict(m, nil, asked("http://a.example/1234").Request); at != "" || over != "long URL" {
		t.Errorf("at the limit %q, over it %q", at, over)
	}
}

// tree is a site of two links a page, down to a depth: /, /0, /1, /0/0 …
func tree(t testing.TB, depth int) *site {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimSuffix(r.URL.Path, "/")
		if strings.Count(path, "/") >= depth {
			page(w)
			return
		}
		page(w, path+"/0", path+"/1")
	})
}

func TestDepthOnTheNetwork(t *testing.T) {
	level := func(v visit) int { return strings.Count(strings.TrimSuffix(v.Path, "/"), "/") }
	run := func(o middleware.DepthOptions, depth int) ([]int, tegenaria.Stats) {
		s := tree(t, depth)
		stats := crawlWith(t, tegenaria.NewSpider("test", followAll, s.URL+"/"), set(middleware.NewDepth(o)),
			tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1))
		var levels []int
		for _, v := range s.visits() {
			levels = append(levels, level(v))
		}
		return levels, stats
	}
	t.Run("limit", func(t *testing.T) {
		levels, stats := run(middleware.DepthOptions{Max: 2}, 5)
		if len(levels) != 7 || slices.Max(levels) != 2 || stats.Reasons["filtered: depth"] != 8 {
			t.Errorf("levels %v, reasons %v", levels, stats.Reasons)
		}
	})
	t.Run("only seeds", func(t *testing.T) {
		levels, stats := run(middleware.DepthOptions{Max: -1}, 5)
		if len(levels) != 1 || stats.Reasons["filtered: depth"] != 2 {
			t.Errorf("levels %v, reasons %v", levels, stats.Reasons)
		}
	})
	t.Run("breadth first", func(t *testing.T) {
		levels, _ := run(middleware.DepthOptions{Order: middleware.BreadthFirst}, 4)
		if len(levels) != 31 || !slices.IsSorted(levels) {
			t.Errorf("levels %v", levels)
		}
	})
	t.Run("depth first", func(t *testing.T) {
		levels, _ := run(middleware.DepthOptions{Order: middleware.DepthFirst, Weight: 5}, 4)
		if len(levels) != 31 {
			t.Fatalf("levels %v", levels)
		}
		// Two links of a page are accepted one after the other, so the first may be asked before the second is known.
		first := slices.Index(levels, 4)
		for deeper := 1; deeper < 4; deeper++ {
			if n := countOf(levels[:first], deeper); n > 2 {
				t.Errorf("%d pages of level %d before the first of level 4: %v", n, deeper, levels)
			}
		}
	})
	m := middleware.NewDepth(middleware.DepthOptions{Order: middleware.DepthFirst})
	retried := asked("http://a.example/").Request
	retried.Depth, retried.Attempt, retried.Priority = 3, 1, 2
	if m.AcceptRequest(nil, retried); retried.Priority != 2 {
		t.Errorf("a request that is sent again has priority %d", retried.Priority)
	}
}

func countOf(levels []int, level int) (n int) {
	for _, l := range levels {
		if l == level {
			n++
		}
	}
	return n
}

func TestHTTPErrorsOnTheNetwork(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		code := 200
		fmt.Sscanf(r.URL.Path, "/%d", &code)
		if code == 302 {
			w.Header().Set("Location", "/200")
		}
		w.WriteHeader(code)
	})
	for _, tt := range []struct {
		name    string
		options *middleware.HTTPErrorOptions
		path    string
		change  func(r *tegenaria.Request)
		want    string // outcome and reason
	}{
		{"without, 300", nil, "/300", nil, "fetched"},
		{"200", &middleware.HTTPErrorOptions{}, "/200", nil, "fetched"},
		{"204", &middleware.HTTPErrorOptions{}, "/204", nil, "fetched"},
		{"300", &middleware.HTTPErrorOptions{}, "/300", nil, "failed: response"},
		{"404", &middleware.HTTPErrorOptions{}, "/404", nil, "failed: response"},
		{"404 allowed by the request", &middleware.HTTPErrorOptions{}, "/404", func(r *tegenaria.Request) {
			tegenaria.RequestWithAllowedStatusCode([]uint64{404})(r)
		}, "fetched"},
		{"300 allowed by the options", &middleware.HTTPErrorOptions{Allow: []int{300}}, "/300", nil, "fetched"},
		{"a redirect that is followed", &middleware.HTTPErrorOptions{}, "/302", nil, "fetched"},
		{"a redirect that is not", &middleware.HTTPErrorOptions{}, "/302", func(r *tegenaria.Request) { r.AllowRedirects = false }, "failed: response"},
		{"dropped", &middleware.HTTPErrorOptions{Drop: true}, "/404", nil, "filtered: status 404"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var middlewares []tegenaria.MiddlewaresInterface
			if tt.options != nil {
				middlewares = set(middleware.NewHTTPErrors(*tt.options))
			}
			r := tegenaria.NewRequest(s.URL+tt.path, "GET", nil)
			if tt.change != nil {
				tt.change(r)
			}
			stats := crawlWith(t, start(nothing, r), middlewares)
			if tt.want == "fetched" && stats.Outcomes[tegenaria.Fetched] != 1 || tt.want != "fetched" && stats.Reasons[tt.want] != 1 {
				t.Errorf("%v, %v; want %s", stats.Outcomes, stats.Reasons, tt.want)
			}
		})
	}
}

// What a page asks of crawlers.
func TestRobotsTags(t *testing.T) {
	html := func(name, content string) string {
		return `<html><head><meta name="` + name + `" content="` + content + `"></head></html>`
	}
	all := middleware.RobotsTagOptions{Agent: "Tegenaria", NoIndex: true, NoFollow: true, RelNoFollow: true}
	for _, tt := range []struct {
		name, header, body string
		options            middleware.RobotsTagOptions
		noIndex, noFollow  bool
	}{
		{"nothing", "", "", all, false, false},
		{"meta noindex", "", html("robots", "noindex"), all, true, false},
		{"meta nofollow", "", html("ROBOTS", " NoFollow "), all, false, true},
		{"meta none", "", html("robots", "none"), all, true, true},
		{"meta both", "", html("robots", "noindex,nofollow"), all, true, true},
		{"meta all", "", html("robots", "all, noarchive"), all, false, false},
		{"meta of us", "", html("tegenaria", "noindex"), all, true, false},
		{"meta of another", "", html("googlebot", "noindex"), all, false, false},
		{"meta noindex, not obeyed", "", html("robots", "none"), middleware.RobotsTagOptions{}, false, false},
		{"only nofollow obeyed", "", html("robots", "none"), middleware.RobotsTagOptions{NoFollow: true}, false, true},
		{"header noindex", "noindex", "", all, true, false},
		{"header none", "None", "", all, true, true},
		{"header of us", "TEGENARIA: noindex, nofollow", "", all, true, true},
		{"header of another", "otherbot: noindex, nofollow", "", all, false, false},
		{"header of all", "*: noindex", "", all, true, false},
		{"header with a value", "max-snippet: 10, noindex", "", all, true, false},
		{"gone", "unavailable_after: 25 Jun 2010 15:00:00 PST", "", all, true, false},
		{"gone, RFC 850", "unavailable_after: Friday, 25-Jun-10 15:00:00 GMT", "", all, true, false},
		{"gone, ISO, among others", "nofollow, unavailable_after: 2010-06-25T15:00:00Z", "", all, true, true},
		{"gone, for us", "tegenaria: unavailable_after: 2010-06-25", "", all, true, false},
		{"not yet gone", "unavailable_after: 25 Jun 2999 15:00:00 GMT", "", all, false, false},
		{"not yet gone, and noindex", "unavailable_after: 25 Jun 2999 15:00:00 GMT, noindex", "", all, true, false},
		{"gone, and nofollow", "unavailable_after: 2010-06-25T15:00:00Z, nofollow", "", all, true, true},
		{"gone at no date", "unavailable_after: soon", "", all, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := middleware.NewRobotsTags(tt.options)
			header := []string{"Content-Type", "text/html"}
			if tt.header != "" {
				header = append(header, "X-Robots-Tag", tt.header)
			}
			ctx := answered("http://a.example/", 200, tt.body, header...)
			err := m.ProcessResponse(ctx, nil)
			if got := errors.Is(err, tegenaria.ErrIgnoreRequest); got != tt.noIndex || err != nil && !got {
				t.Errorf("ProcessResponse returned %v", err)
			}
			if got := verdict(m, ctx.Response(), asked("http://a.example/x").Request) == "nofollow"; got != tt.noFollow {
				t.Errorf("nofollow is %v", got)
			}
		})
	}
}

// A request may be read and followed whatever its response asks for.
func TestIgnoreRobotsTags(t *testing.T) {
	m := middleware.NewRobotsTags(middleware.RobotsTagOptions{NoIndex: true, NoFollow: true})
	for _, tt := range []struct {
		value   any
		ignores bool
	}{{true, true}, {false, false}, {"true", false}, {nil, false}} {
		ctx := answered("http://a.example/sitemap.xml", 200, "", "X-Robots-Tag", "none")
		ctx.Request.Meta = map[string]any{middleware.MetaIgnoreRobotsTags: tt.value}
		if err := m.ProcessResponse(ctx, nil); (err == nil) != tt.ignores {
			t.Errorf("%v: ProcessResponse returned %v", tt.value, err)
		}
		if got := verdict(m, ctx.Response(), asked("http://a.example/x").Request); (got == "") != tt.ignores {
			t.Errorf("%v: the link's verdict is %q", tt.value, got)
		}
	}
}

func TestRobotsTagsOnTheNetwork(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			page(w, "/both", "/plain", "/hidden", "/dead-end", "/away")
			io.WriteString(w, `<a rel="external nofollow" href="/no">x</a><a rel=ugc href="/both#x">x</a><a rel=sponsored href=/ad>x</a>`)
		case "/hidden":
			w.Header().Set("X-Robots-Tag", "noindex")
			page(w, "/from-hidden")
		case "/dead-end":
			w.Header().Set("X-Robots-Tag", "nofollow")
			page(w, "/from-dead-end")
		case "/away":
			w.Header().Set("X-Robots-Tag", "none")
			http.Redirect(w, r, "/to", http.StatusFound)
		}
	})
	m := middleware.NewRobotsTags(middleware.RobotsTagOptions{NoIndex: true, NoFollow: true, RelNoFollow: true})
	stats := crawl(t, followAll, set(m), s.URL+"/")
	if got, want := s.paths(), []string{"/", "/away", "/both", "/dead-end", "/hidden", "/plain", "/to"}; !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	for reason, want := range map[string]int64{"filtered: noindex": 1, "filtered: nofollow": 1, "filtered: rel=nofollow": 2} {
		if stats.Reasons[reason] != want {
			t.Errorf("%s: %d, want %d (%v)", reason, stats.Reasons[reason], want, stats.Reasons)
		}
	}
}
