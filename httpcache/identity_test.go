package httpcache_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/cookiejar"

	"github.com/tegenaria/tegenaria"
)

// jars stands for middleware.Cookies: it sends what the jar of a request has collected, and says so as that does.
func jars() tegenaria.EngineOption {
	return tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "jars", Request: func(ctx *tegenaria.Context) error {
		r := ctx.Request
		if jar, ok := r.Meta[cookiejar.MetaJar].(string); ok {
			own := r.Header["Cookie"]
			r.Meta[cookiejar.MetaOwn] = own
			if collected, ok := r.Meta["session"].(string); ok {
				jar = collected
			}
			r.Header["Cookie"] = strings.Trim("session="+jar+"; "+own, "; ")
		}
		return nil
	}})
}

// Whoever asks gets a page of his own, never that of another one: by jars, cookies, logins and users of URLs, also where the site does
// not say by Vary that it makes a difference. The cookies that a jar has collected make none unless it does.
func TestIdentity(t *testing.T) {
	for _, vary := range []string{"", "Cookie, Authorization"} {
		t.Run("Vary: "+vary, func(t *testing.T) {
			folder := t.TempDir()
			site := newSite(func(w http.ResponseWriter, r *http.Request) {
				if vary != "" {
					w.Header().Set("Vary", vary)
				}
				fmt.Fprintf(w, "%s|%s", r.Header.Get("Cookie"), r.Header.Get("Authorization"))
			})
			var requests []*tegenaria.Request
			want := make(map[string]string) // by name
			add := func(name, page string, opts ...tegenaria.RequestOption) {
				want[name] = page
				opts = append(opts, tegenaria.RequestWithDoNotFilter(true), tegenaria.RequestWithRequestMeta(map[string]any{"name": name}))
				requests = append(requests, tegenaria.NewRequest("http://a.test/me", tegenaria.GET, nil, opts...))
			}
			add("nobody", "|")
			for i := range 20 {
				n := fmt.Sprint(i)
				add("jar "+n, "session="+n+"|", tegenaria.RequestWithRequestMeta(map[string]any{cookiejar.MetaJar: n}))
				add("cookies "+n, "user="+n+"|", tegenaria.RequestWithRequestCookies(map[string]string{"user": n}))
				add("login "+n, "|Basic "+n, tegenaria.RequestWithRequestHeader(map[string]string{"authorization": "Basic " + n}))
				add("jar and cookie "+n, "session=x; user="+n+"|", tegenaria.RequestWithRequestMeta(map[string]any{cookiejar.MetaJar: "x"}),
					tegenaria.RequestWithRequestHeader(map[string]string{"Cookie": "user=" + n}))
			}
			for run := range 3 {
				cache := opened(t, folder, httpcache.Options{})
				var pages atomic.Int64
				s := sends(requests...)
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					name, _ := ctx.Request.Meta["name"].(string)
					if got := ctx.Response().String(); got != want[name] {
						t.Errorf("run %d: %s has got %q", run, name, got)
					}
					pages.Add(1)
					return nil
				}
				stats := crawl(t, site, cache, s, jars(), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				asked := len(site.take())
				if int(pages.Load()) != len(want) || run == 0 && asked != len(want) || run > 0 && asked != 0 {
					t.Errorf("run %d: %d pages by %d requests: %+v %v", run, pages.Load(), asked, stats.Cache, s.Errors())
				}
				for p := range cache.Pages("") {
					if text := fmt.Sprint(p); strings.Contains(text, "session=") || strings.Contains(text, "Basic") || strings.Contains(text, "user=") {
						t.Fatalf("a secret is stored: %s", text)
					}
				}
			}
		})
	}
}

// Methods, bodies, variants, fields of Vary and users of URLs make different pages; a jar's cookies, parameters in another form and
// fragments do not.
func TestKeys(t *testing.T) {
	site := newSite(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Language, X-Shop")
		fmt.Fprintf(w, "%s %s", r.Header.Get("Accept-Language"), r.Header.Get("X-Shop"))
	})
	header := func(name, value string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: value})
	}
	get := func(url string, opts ...tegenaria.RequestOption) *tegenaria.Request {
		return tegenaria.NewRequest(url, tegenaria.GET, nil, append(opts, tegenaria.RequestWithDoNotFilter(true))...)
	}
	jar := func(name string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestMeta(map[string]any{cookiejar.MetaJar: "", "session": name})
	}
	for _, tt := range []struct {
		name string
		a, b *tegenaria.Request
		same bool
	}{
		{"method", get("http://a.test/"), tegenaria.NewRequest("http://a.test/", "HEAD", nil), false},
		{"body", tegenaria.NewRequest("http://a.test/", "POST", nil, tegenaria.RequestWithBody([]byte("1"))),
			tegenaria.NewRequest("http://a.test/", "POST", nil, tegenaria.RequestWithBody([]byte("2"))), false},
		{"variant", get("http://a.test/"), get("http://a.test/", tegenaria.RequestWithVariant("small")), false},
		{"language", get("http://a.test/", header("Accept-Language", "de")), get("http://a.test/", header("accept-language", "en")), false},
		{"language in capitals", get("http://a.test/", header("Accept-Language", "de")), get("http://a.test/", header("accept-language", "DE")), true},
		{"a field that Vary names", get("http://a.test/", header("X-Shop", "1")), get("http://a.test/", header("X-Shop", "2")), false},
		{"a field that it does not", get("http://a.test/", header("X-Other", "1")), get("http://a.test/", header("X-Other", "2")), true},
		{"user", get("http://a:1@a.test/"), get("http://b:1@a.test/"), false},
		{"fragment", get("http://a.test/#a"), get("http://a.test/#b"), true},
		{"parameters", get("http://a.test/?q=1"), get("http://a.test/", tegenaria.RequestWithRequestParams(map[string]string{"q": "1"})), true},
		{"cookies of a jar", get("http://a.test/", jar("1")), get("http://a.test/", jar("2")), true},
		{"range", get("http://a.test/"), get("http://a.test/", header("Range", "bytes=0-3")), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache := opened(t, t.TempDir(), httpcache.Options{})
			opts := []tegenaria.EngineOption{tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), jars()}
			crawl(t, site, cache, sends(tt.a), opts...)
			site.take()
			crawl(t, site, cache, sends(tt.b), opts...)
			if asked := len(site.take()); asked == 0 != tt.same {
				t.Errorf("the second request has asked %d times", asked)
			}
		})
	}
}

// Replay fails a request that no cache answers, and says why.
func TestReplayOfWhatIsNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(book)
		cache := opened(t, t.TempDir(), httpcache.Options{Policy: httpcache.Replay})
		s := sends(tegenaria.NewRequest("http://a.test/1", tegenaria.GET, nil, tegenaria.RequestWithRequestHeader(map[string]string{"Range": "bytes=0-3"})))
		crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		var missing *httpcache.NotStoredError
		if err := s.OnlyError(t); !errors.As(err, &missing) || missing.Folder != "" || len(site.take()) > 0 {
			t.Errorf("%v", err)
		}
	})
}
