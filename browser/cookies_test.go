package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/middleware"
)

// sessionSite has a login by an XHR, and pages that differ by who has logged in.
func sessionSite(t *testing.T, log *asked) string {
	return asSite(t, "127.0.0.1", log, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		user := "nobody"
		if c, err := r.Cookie("session"); err == nil {
			user = c.Value
		}
		switch r.URL.Path {
		case "/account/login":
			fmt.Fprint(w, `<!doctype html><input name=user><button>log in</button><ul></ul><script>
				document.querySelector("button").onclick = () => fetch("/api/login", {method: "POST", body: document.querySelector("input").value})
					.then(() => { document.cookie = "theme=dark; path=/" })</script>`)
		case "/api/login":
			var name [8]byte
			n, _ := r.Body.Read(name[:])
			http.SetCookie(w, &http.Cookie{Name: "session", Value: string(name[:n]), Path: "/", HttpOnly: true, MaxAge: 3600})
		case "/private":
			theme := "none"
			if c, err := r.Cookie("theme"); err == nil {
				theme = c.Value
			}
			fmt.Fprintf(w, "<!doctype html><li>%s %s", user, theme)
		case "/account/page":
			fmt.Fprint(w, `<!doctype html><ul></ul><script>fetch("/api/name").then(r => r.text()).then(text => document.querySelector("ul").innerHTML = "<li>" + text)</script>`)
		case "/api/name":
			fmt.Fprint(w, user)
		case "/account/renew": // before the page is there
			http.SetCookie(w, &http.Cookie{Name: "session", Value: user + "2", Path: "/"})
			http.Redirect(w, r, "/account/page?renewed", http.StatusFound)
		case "/account/logout":
			fmt.Fprint(w, `<!doctype html><li>bye<script>document.cookie = "theme=; path=/; max-age=0"; fetch("/api/logout")</script>`)
		case "/api/logout":
			http.SetCookie(w, &http.Cookie{Name: "session", Path: "/", MaxAge: -1})
		}
	})
}

// It fails if a login by browser does not hold for requests by HTTP and the other way round, if a renewal or a logout is lost, or if two
// sessions at the same time mix.
func TestSessionsByBrowserAndHTTP(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 2})
	temporary(t)
	var log asked
	site := sessionSite(t, &log)
	byBrowser := tegenaria.RequestWithDownloader("browser")
	login := func(user string) tegenaria.RequestOption {
		return browser.Do(browser.Fill("input", user), browser.Click("button"))
	}
	steps := []struct {
		path    string
		options func(user string) []tegenaria.RequestOption
		want    string // %s: the user
	}{
		{"/account/login", func(user string) []tegenaria.RequestOption { return []tegenaria.RequestOption{byBrowser, login(user)} }, ""},
		{"/private", nil, "%s dark"},
		{"/account/page", func(string) []tegenaria.RequestOption { return []tegenaria.RequestOption{byBrowser} }, "%s"},
		{"/account/renew", func(string) []tegenaria.RequestOption { return []tegenaria.RequestOption{byBrowser} }, "%s2"},
		{"/private", nil, "%s2 dark"},
		{"/account/logout", func(string) []tegenaria.RequestOption { return []tegenaria.RequestOption{byBrowser} }, "bye"},
		{"/private", nil, "nobody none"},
	}
	request := func(user string, n int) *tegenaria.Request {
		options := []tegenaria.RequestOption{
			tegenaria.RequestWithDoNotFilter(true),
			tegenaria.RequestWithRequestMeta(map[string]any{middleware.MetaCookieJar: user, "step": n}),
		}
		if steps[n].options != nil {
			options = append(options, steps[n].options(user)...)
		}
		return tegenaria.NewRequest(site+steps[n].path, "", nil, options...)
	}
	users := []string{"ann", "bob"}
	var mu sync.Mutex // guards got
	got := make(map[string][]string)
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		user, n := r.Request().Meta[middleware.MetaCookieJar].(string), r.Request().Meta["step"].(int)
		mu.Lock()
		got[user] = append(got[user], strings.Join(r.CSS("li").Texts(), "|"))
		mu.Unlock()
		if n++; n < len(steps) {
			return out.Request(request(user, n))
		}
		return nil
	})
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithMiddlewares(middleware.NewCookies(middleware.CookieOptions{})))
	e.RegisterDownloader("browser", b)
	var seeds []*tegenaria.Request
	for _, user := range users {
		seeds = append(seeds, request(user, 0))
	}
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, seeds...))
	if err := e.Run(t.Context(), "s"); err != nil {
		t.Errorf("Run: %v", err)
	}
	for _, user := range users {
		var want []string
		for _, step := range steps {
			want = append(want, strings.ReplaceAll(step.want, "%s", user))
		}
		if !slices.Equal(got[user], want) {
			t.Errorf("%s: %q, want %q", user, got[user], want)
		}
	}
}

// It fails if a cookie of one host comes out as one of another host to which actions have led, or stays in the browser.
func TestCookiesOfOtherHosts(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var first, second asked
	var site string
	other := asSite(t, "localhost", &second, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: "theirs", Value: "1"})
		fmt.Fprintf(w, `<!doctype html><a href="%s/end">back</a>`, site)
	})
	site = asSite(t, "127.0.0.1", &first, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: strings.Trim(r.URL.Path, "/"), Value: "1"})
		fmt.Fprintf(w, `<!doctype html><a href="%s/">away</a>`, other)
	})
	request := func(path string, actions ...browser.Action) *tegenaria.Request {
		return tegenaria.NewRequest(site+path, "", nil, browser.Do(actions...), tegenaria.RequestWithDownloader("browser"),
			tegenaria.RequestWithRequestCookies(map[string]string{"sent": "1"}))
	}
	pages, failed := crawlRequests(t, b, []*tegenaria.Request{request("/away", browser.Click("a")), request("/back", browser.Click("a"), browser.Click("a"))},
		tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}))
	for path, want := range map[string]struct {
		url  string
		sets []string
	}{
		"/away": {other + "/", []string{"theirs=1; Path=/"}},
		"/back": {site + "/end", []string{"back=1; Path=/", "end=1; Path=/"}},
	} {
		if got := pages[path]; got.url != want.url || !slices.Equal(got.header["Set-Cookie"], want.sets) {
			t.Errorf("%s: %s, %q, %v", path, got.url, got.header["Set-Cookie"], failed)
		}
	}
	for path, want := range map[string]string{"/away": "sent=1", "/back": "sent=1", "/end": "sent=1; back=1"} {
		if got := first.of(path); len(got) != 1 || got[0].Header.Get("Cookie") != want {
			t.Errorf("%s was asked for with %v", path, got)
		}
	}
	for _, r := range second.of("/") {
		if got := r.Header.Get("Cookie"); got != "" {
			t.Errorf("the other host was sent %q", got)
		}
	}
}
