package middleware_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// verdict is what a filter says, "" if it lets the request pass.
func verdict(f tegenaria.RequestFilter, parent *tegenaria.Response, r *tegenaria.Request) string {
	err := f.AcceptRequest(parent, r)
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "tegenaria: request ignored: ")
}

// Row 13 of Scrapy's own tests, and the other rules of a scope.
func TestScope(t *testing.T) {
	domains := middleware.ScopeOptions{Domains: []string{"scrapytest.org", "scrapy.org", "scrapy.test.org", "a.example"}}
	for _, tt := range []struct {
		name    string
		options middleware.ScopeOptions
		url     string
		want    string
	}{
		{"the host", domains, "http://scrapytest.org/1", ""},
		{"a sub-domain", domains, "http://sub.scrapy.org/1", ""},
		{"a sub-sub-domain", domains, "http://x.scrapy.test.org/1", ""},
		{"above a domain", domains, "http://test.org/1", "offsite"},
		{"another end", domains, "http://scrapy2.org", "offsite"},
		{"another sub-domain", domains, "http://www.test.org/1", "offsite"},
		{"a longer name", domains, "http://nota.example/1", "offsite"},
		{"the domain as a sub-domain", domains, "http://a.example.example/1", "offsite"},
		{"the domain as a path", domains, "http://notscrapy.org/scrapy.org", "offsite"},
		{"the domain as a user", domains, "http://scrapy.org@notscrapy.org/", "offsite"},
		{"a port", domains, "http://scrapy.org:8080/1", ""},
		{"a trailing dot", domains, "http://sub.scrapy.org./1", ""},
		{"a domain with a trailing dot", middleware.ScopeOptions{Domains: []string{"a.example."}}, "http://b.a.example/", ""},
		{"denied with a trailing dot", middleware.ScopeOptions{DenyDomains: []string{"ads.example"}}, "http://x.ads.example./", "denied"},
		{"capitals", domains, "http://SCRAPY.org/1", ""},
		{"no domains", middleware.ScopeOptions{}, "http://any.example/", ""},
		{"a domain with a dot in front", middleware.ScopeOptions{Domains: []string{".a.example"}}, "http://b.a.example/", ""},
		{"an international domain", middleware.ScopeOptions{Domains: []string{"bücher.example"}}, "http://xn--bcher-kva.example/", ""},
		{"an address", middleware.ScopeOptions{Domains: []string{"127.0.0.1"}}, "http://127.0.0.1:8080/", ""},
		{"an address is no domain", middleware.ScopeOptions{Domains: []string{"0.0.1"}}, "http://127.0.0.1/", "offsite"},
		{"a name that ends in a digit", middleware.ScopeOptions{Domains: []string{"b.cluster1"}}, "http://a.b.cluster1/", ""},
		{"an IPv6 address", middleware.ScopeOptions{Domains: []string{"::1"}}, "http://[::1]/", ""},
		{"denied", middleware.ScopeOptions{DenyDomains: []string{"ads.example"}}, "http://x.ads.example/", "denied"},
		{"denied among the allowed", middleware.ScopeOptions{Domains: []string{"a.example"}, DenyDomains: []string{"b.a.example"}}, "http://c.b.a.example/", "denied"},
		{"not denied", middleware.ScopeOptions{DenyDomains: []string{"ads.example"}}, "http://a.example/", ""},

		{"the scheme's port", middleware.ScopeOptions{Ports: []string{"443"}}, "https://a.example/", ""},
		{"a foreign port", middleware.ScopeOptions{Ports: []string{"443"}}, "http://a.example/", "port"},
		{"a named port", middleware.ScopeOptions{Ports: []string{"80", "8080"}}, "http://a.example:8080/", ""},

		{"a path", middleware.ScopeOptions{Paths: []string{"/docs/", "/api/"}}, "http://a.example/api/x", ""},
		{"not a path", middleware.ScopeOptions{Paths: []string{"/docs/"}}, "http://a.example/doc", "path"},
		{"a path that is denied", middleware.ScopeOptions{Paths: []string{"/docs/"}, DenyPaths: []string{"/docs/old/"}}, "http://a.example/docs/old/1", "path"},
		{"dot segments", middleware.ScopeOptions{DenyPaths: []string{"/private/"}}, "http://a.example/x/../private/", "path"},

		{"glob", middleware.ScopeOptions{Globs: []string{"https://*.example/p/*"}}, "https://a.example/p/1", ""},
		{"a star is no slash", middleware.ScopeOptions{Globs: []string{"https://*.example/p/*"}}, "https://a.example/p/1/2", "glob"},
		{"two stars are", middleware.ScopeOptions{Globs: []string{"https://**.example/p/**"}}, "https://a.b.example/p/1/2?q=1", ""},
		{"question mark", middleware.ScopeOptions{Globs: []string{"http://a.example/p?"}}, "http://a.example/p1", ""},
		{"question mark is one", middleware.ScopeOptions{Globs: []string{"http://a.example/p?"}}, "http://a.example/p12", "glob"},
		{"dots are dots", middleware.ScopeOptions{Globs: []string{"http://a.example/x.html"}}, "http://a.example/xyhtml", "glob"},
		{"denied glob", middleware.ScopeOptions{DenyGlobs: []string{"**.pdf"}}, "http://a.example/x.pdf#page=2", "glob"},
		{"regexp", middleware.ScopeOptions{Regexps: []string{`/item/\d+$`}}, "http://a.example/item/12", ""},
		{"not the regexp", middleware.ScopeOptions{Regexps: []string{`/item/\d+$`}}, "http://a.example/item/x", "regexp"},
		{"denied regexp", middleware.ScopeOptions{DenyRegexps: []string{`[?&]print=`}}, "http://a.example/?a=1&print=1", "regexp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := middleware.NewScope(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := verdict(m, nil, asked(tt.url).Request); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
			}
		})
	}
}

func TestScopeWhileRunning(t *testing.T) {
	m, err := middleware.NewScope(middleware.ScopeOptions{Domains: []string{"a.example"}, DenyPaths: []string{"/x"}})
	if err != nil {
		t.Fatal(err)
	}
	r := asked("http://b.example/").Request
	if got := verdict(m, nil, r); got != "offsite" {
		t.Errorf("before Allow: %q", got)
	}
	r.Meta = map[string]any{middleware.MetaAllowOffsite: true}
	if got := verdict(m, nil, r); got != "" {
		t.Errorf("with Meta: %q", got)
	}
	r.Url = "http://b.example/x"
	if got := verdict(m, nil, r); got != "path" {
		t.Errorf("Meta is about hosts alone: %q", got)
	}
	if err := m.Allow("b.example"); err != nil {
		t.Fatal(err)
	}
	if got := verdict(m, nil, asked("http://c.b.example/").Request); got != "" {
		t.Errorf("after Allow: %q", got)
	}
	if err := m.Allow("http://c.example"); err == nil {
		t.Error("a URL is taken as a host")
	}
	open, _ := middleware.NewScope(middleware.ScopeOptions{})
	if err := open.Allow("a.example"); err != nil {
		t.Fatal(err)
	}
	if got := verdict(open, nil, asked("http://b.example/").Request); got != "" {
		t.Errorf("Allow has closed an open scope: %q", got)
	}
}

func TestScopeMistakes(t *testing.T) {
	_, err := middleware.NewScope(middleware.ScopeOptions{Domains: []string{"http://a.example/", ""}, DenyDomains: []string{"*.b.example"},
		Ports: []string{"http", "70000"}, Paths: []string{"docs"}, Globs: []string{""}, Regexps: []string{"("}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"http://a.example/" is no host`, `"" is no host`, `"*.b.example"`, `"http" is no port`, `"70000" is no port`, `"docs"`, "glob is empty", "missing closing"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}

// Nothing foreign is asked for, neither as a link nor as the target of a redirect, nor its robots.txt.
func TestScopeOnTheNetwork(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { page(w) })
	foreign := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			page(w, "/in/1", "/out", foreign+"/", "/in/moved")
		case "/in/moved":
			http.Redirect(w, r, foreign+"/moved", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	m, err := middleware.NewScope(middleware.ScopeOptions{Domains: []string{"127.0.0.1"}, DenyGlobs: []string{"**/out"}})
	if err != nil {
		t.Fatal(err)
	}
	stats := crawlWith(t, tegenaria.NewSpider("test", followAll, s.URL+"/"), []tegenaria.MiddlewaresInterface{m},
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{AllowPrivate: loopback}))
	if got, want := s.paths(), []string{"/", "/in/1", "/in/moved", "/robots.txt"}; !slices.Equal(got, want) {
		t.Errorf("the server was asked for %q, want %q", got, want)
	}
	if got := other.paths(); len(got) != 0 {
		t.Errorf("the foreign server was asked for %q", got)
	}
	if stats.Reasons["filtered: offsite"] != 2 || stats.Reasons["filtered: glob"] != 1 {
		t.Errorf("reasons %v", stats.Reasons)
	}
}
