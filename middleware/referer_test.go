package middleware_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

const secret = "https://user:pass@example.com:4444/dir/page.html?q=1#fragment"

// The table of W3C Referrer Policy §8.3 (and the examples of §3), row 13 of Scrapy's own tests: what is told from
// where to where.
func TestReferrerPolicies(t *testing.T) {
	const (
		full, origin   = "https://example.com:4444/dir/page.html?q=1", "https://example.com:4444/"
		plain, pOrigin = "http://example.com/page.html", "http://example.com/"
		local          = "http://127.0.0.1:8080/page"
	)
	targets := []string{
		"https://example.com:4444/other",    // same origin
		"https://example.com/other",         // another port
		"https://sub.example.com:4444/",     // another host
		"https://not.example.org/",          // another site
		"http://not.example.org/",           // down to http
		"http://example.com:4444/page.html", // the same host, down to http
		"http://127.0.0.1/",                 // http that is trustworthy
	}
	for policy, want := range map[middleware.ReferrerPolicy][7]string{
		middleware.NoReferrer:                  {},
		middleware.NoReferrerWhenDowngrade:     {full, full, full, full, "", "", full},
		middleware.SameOrigin:                  {full},
		middleware.Origin:                      {origin, origin, origin, origin, origin, origin, origin},
		middleware.StrictOrigin:                {origin, origin, origin, origin, "", "", origin},
		middleware.OriginWhenCrossOrigin:       {full, origin, origin, origin, origin, origin, origin},
		middleware.StrictOriginWhenCrossOrigin: {full, origin, origin, origin, "", "", origin},
		middleware.UnsafeURL:                   {full, full, full, full, full, full, full},
	} {
		for i, target := range targets {
			if got, err := policy.Referrer(secret, target); err != nil || got != want[i] {
				t.Errorf("%s: to %s %q is told (%v), want %q", policy, target, got, err, want[i])
			}
		}
	}
	for policy, want := range map[middleware.ReferrerPolicy][4]string{ // from http: nothing is a downgrade
		middleware.NoReferrer:                  {},
		middleware.NoReferrerWhenDowngrade:     {plain, plain, plain, plain},
		middleware.SameOrigin:                  {plain, plain, "", ""},
		middleware.Origin:                      {pOrigin, pOrigin, pOrigin, pOrigin},
		middleware.StrictOrigin:                {pOrigin, pOrigin, pOrigin, pOrigin},
		middleware.OriginWhenCrossOrigin:       {plain, plain, pOrigin, pOrigin},
		middleware.StrictOriginWhenCrossOrigin: {plain, plain, pOrigin, pOrigin},
		middleware.UnsafeURL:                   {plain, plain, plain, plain},
	} {
		for i, target := range []string{"http://example.com/x", "http://example.com:80/x", "https://example.com/x", "http://www.example.com/x"} {
			if got, _ := policy.Referrer(plain, target); got != want[i] {
				t.Errorf("%s: from http to %s %q is told, want %q", policy, target, got, want[i])
			}
		}
	}
	for _, tt := range []struct {
		name                 string
		policy               middleware.ReferrerPolicy
		source, target, want string
	}{
		{"loopback down", middleware.StrictOriginWhenCrossOrigin, local, "http://example.com/", ""},
		{"file", middleware.UnsafeURL, "file:///home/me/x.html", "http://example.com/", ""},
		{"data", middleware.UnsafeURL, "data:text/html,x", "http://example.com/", ""},
		{"long", middleware.UnsafeURL, "https://example.com/" + strings.Repeat("x", 4096), "https://example.com/", "https://example.com/"},
		{"as long as allowed", middleware.UnsafeURL, "https://example.com/" + strings.Repeat("x", 4076), "https://example.com/", "https://example.com/" + strings.Repeat("x", 4076)},
		{"no path", middleware.UnsafeURL, "https://example.com", "https://example.com/", "https://example.com/"},
	} {
		if got, err := tt.policy.Referrer(tt.source, tt.target); err != nil || got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := middleware.ReferrerPolicy("strict").Referrer(plain, plain); err == nil {
		t.Error("an unknown policy is taken")
	}
	if _, err := middleware.NewReferer(middleware.RefererOptions{Policy: "strict"}); err == nil {
		t.Error("an unknown policy is taken")
	}
}

// A page says in its header and its meta elements what its links may tell.
func TestRefererOfPages(t *testing.T) {
	const source, target, full, origin = "https://example.com/page", "https://other.example/", "https://example.com/page", "https://example.com/"
	html := func(content string) string {
		return `<html><head><meta name="Referrer" content="` + content + `"></head><body></body></html>`
	}
	for _, tt := range []struct {
		name, header, body, want string
	}{
		{"by default", "", "", origin},
		{"header", "unsafe-url", "", full},
		{"header with unknown ones", "unsafe-url, strict-new-thing", "", full},
		{"the last of the header", "unsafe-url, no-referrer", "", ""},
		{"in capitals", "UNSAFE-URL", "", full},
		{"unknown", "whatever", "", origin},
		{"meta", "", html("no-referrer"), ""},
		{"meta before header", "no-referrer", html("unsafe-url"), full},
		{"meta that is unknown", "no-referrer", html("whatever"), ""},
		{"meta that is empty", "no-referrer", html(""), ""},
		{"never", "", html("never"), ""},
		{"default", "unsafe-url", html("default"), origin},
		{"always", "", html("always"), full},
		{"origin-when-crossorigin", "", html("origin-when-crossorigin"), origin},
		{"the last meta", "", html("no-referrer") + html("unsafe-url"), ""}, // the second stands behind the head
		{"meta in the body", "", `<body><meta name=referrer content=unsafe-url></body>`, origin},
		{"meta in a comment", "", `<!--` + html("unsafe-url") + `-->`, origin},
		{"meta of a page that is no HTML", "text", html("unsafe-url"), origin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := middleware.NewReferer(middleware.RefererOptions{})
			if err != nil {
				t.Fatal(err)
			}
			header := []string{"Content-Type", "text/html"}
			if tt.header == "text" {
				header[1] = "text/plain"
			} else if tt.header != "" {
				header = append(header, "Referrer-Policy", tt.header)
			}
			parent := answered(source, 200, tt.body, header...).Response()
			for range 2 { // also from what is kept of the page
				r := asked(target).Request
				if err := m.AcceptRequest(parent, r); err != nil || r.Header["Referer"] != tt.want {
					t.Errorf("Referer is %q (%v), want %q", r.Header["Referer"], err, tt.want)
				}
			}
		})
	}
	m, _ := middleware.NewReferer(middleware.RefererOptions{Policy: middleware.UnsafeURL})
	parent := answered(source, 200, "").Response()
	own := asked(target, tegenaria.RequestWithRequestHeader(map[string]string{"referer": "https://own.example/"})).Request
	if m.AcceptRequest(parent, own); len(own.Header) != 1 || own.Header["referer"] != "https://own.example/" {
		t.Errorf("a header of its own became %v", own.Header)
	}
	seed := asked(target).Request
	if m.AcceptRequest(nil, seed); len(seed.Header) != 0 {
		t.Errorf("a seed has %v", seed.Header)
	}
}

// Over redirects the header keeps telling of the page with the link, and never more than before.
func TestRefererOnTheNetwork(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { page(w) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/index":
			page(w, "/same", "/moved", "/away", "/hidden")
		case "/moved":
			http.Redirect(w, r, "/to", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL+"/", http.StatusFound)
		case "/hidden":
			w.Header().Set("Referrer-Policy", "no-referrer")
			http.Redirect(w, r, "/unseen", http.StatusFound)
		}
	})
	m, err := middleware.NewReferer(middleware.RefererOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crawlWith(t, tegenaria.NewSpider("test", followAll, s.URL+"/index"), []tegenaria.MiddlewaresInterface{m},
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, AllowPrivate: loopback}))
	index := s.URL + "/index"
	want := map[string]string{"/index": "", "/same": index, "/moved": index, "/to": index, "/away": index, "/hidden": index, "/unseen": ""}
	for _, v := range s.visits() {
		if got := v.Header.Get("Referer"); got != want[v.Path] {
			t.Errorf("%s was asked with Referer %q, want %q", v.Path, got, want[v.Path])
		}
	}
	if n := len(s.visits()); n != len(want) {
		t.Errorf("%d visits, want %d", n, len(want))
	}
	if v := other.visits(); len(v) != 1 || v[0].Header.Get("Referer") != s.URL+"/" {
		t.Errorf("the other origin saw %v", v)
	}
}

// What was found out about a page is forgotten with the page.
func TestPagesAreForgotten(t *testing.T) {
	m := middleware.NewRobotsTags(middleware.RobotsTagOptions{NoFollow: true})
	for range 100 {
		parent := answered("http://a.example/", 200, "").Response()
		if err := m.AcceptRequest(parent, asked("http://a.example/x").Request); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); m.Retained() > 1; runtime.Gosched() {
		if runtime.GC(); time.Since(began) > time.Minute {
			t.Fatalf("%d pages are still kept", m.Retained())
		}
	}
}
