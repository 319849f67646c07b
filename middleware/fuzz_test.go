package middleware_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/middleware"
)

// FuzzSetCookie: whatever a server sets, what is sent is a header that can be sent, within bounds, to where it may go.
func FuzzSetCookie(f *testing.F) {
	for _, seed := range []string{"a=1", "a=1; domain=example.com; path=/; secure; max-age=60", "__Host-a=1; path=/; secure", "=x", "a=\x01", "a=1; expires=Wed, 01-Mar-2027 00:00:00 GMT", "a=1; domain=.com; domain=", "a=\t1 ; Path"} {
		f.Add(seed, "https://www.example.com/dir/page", "http://example.com/")
	}
	f.Fuzz(func(t *testing.T, header, from, to string) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var c middleware.Cookie
		origin, ok := cookiejar.OriginOf(from)
		if ok {
			c, ok = cookiejar.ParseSetCookie(header, origin, now)
		}
		if ok {
			host := urlx.Hostname(from)
			switch {
			case c.Name == "" || len(c.Name)+len(c.Value) > 4096 || strings.ContainsAny(c.Name, ";=\r\n\x00") || strings.ContainsAny(c.Value, ";\r\n\x00"):
				t.Fatalf("%q gives the pair %q=%q", header, c.Name, c.Value)
			case c.Domain != host && (c.HostOnly || !strings.HasSuffix(host, "."+c.Domain)):
				t.Fatalf("%q of %q is for %q", header, from, c.Domain)
			case c.Path == "" || c.Path[0] != '/':
				t.Fatalf("%q has the path %q", header, c.Path)
			case c.Secure && urlx.Scheme(from) != "https":
				t.Fatalf("%q of %q is secure", header, from)
			case c.Expires.After(now.Add(400 * 24 * time.Hour)):
				t.Fatalf("%q lives until %s", header, c.Expires)
			}
		}
		m := middleware.NewCookies(middleware.CookieOptions{})
		if err := m.ProcessResponse(answered(from, 200, "", "Set-Cookie", header), nil); err != nil {
			t.Fatal(err)
		}
		for _, kept := range m.All("") {
			again := middleware.NewCookies(middleware.CookieOptions{})
			if err := again.Add("", kept); err != nil {
				t.Fatalf("what %q gave cannot be stored: %v", header, err)
			}
		}
		ctx := asked(to)
		if err := m.ProcessRequest(ctx); err != nil {
			t.Fatal(err)
		}
		sent, has := ctx.Request.Header["Cookie"]
		if has && urlx.RegistrableDomain(urlx.Hostname(to)) != urlx.RegistrableDomain(urlx.Hostname(from)) {
			t.Fatalf("%q of %q goes to %q", header, from, to)
		}
		if has && (sent == "" || strings.ContainsAny(sent, "\r\n\x00;")) {
			t.Fatalf("%q makes the header %q", header, sent)
		}
	})
}

// FuzzMetaRefresh: a page is left alone, or becomes a redirect to another http page.
func FuzzMetaRefresh(f *testing.F) {
	for _, seed := range []string{`<meta http-equiv=refresh content="0;url=/x">`, `<META HTTP-EQUIV='Refresh' CONTENT='5; URL="x"'>`, `<base href=//b.example><meta http-equiv=refresh content=0,x>`, `<noscript><meta http-equiv=refresh content=0;/>`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		const url = "http://a.example/page"
		ctx := answered(url, 200, body, "Content-Type", "text/html; charset=utf-8")
		if err := middleware.NewMetaRefresh(middleware.MetaRefreshOptions{}).ProcessResponse(ctx, nil); err != nil {
			t.Fatal(err)
		}
		resp := ctx.Response()
		location := resp.Header["Location"]
		switch {
		case resp.Status == 200 && location == nil:
		case resp.Status == 303 && len(location) == 1:
			target, _ := urlx.CutFragment(location[0])
			if scheme := urlx.Scheme(target); scheme != "http" && scheme != "https" || target == url {
				t.Fatalf("%q leads to %q", body, location[0])
			}
		default:
			t.Fatalf("status %d, Location %q", resp.Status, location)
		}
	})
}

// FuzzBasicAuth: a login reaches the origin that it is for, and no other.
func FuzzBasicAuth(f *testing.F) {
	f.Add("https://a.example", "me", "secret", "https://a.example/x")
	f.Add("http://a.example:8080", "me", "", "http://a.example:8080@b.example/")
	f.Add("https://a.example", "a:b", "x", "https://a.example\\@b.example/")
	f.Fuzz(func(t *testing.T, site, user, password, url string) {
		m, err := middleware.NewBasicAuth(map[string]middleware.Credentials{site: {User: user, Password: password}})
		if err != nil {
			return
		}
		ctx := asked(url)
		if err := m.ProcessRequest(ctx); err != nil {
			t.Fatal(err)
		}
		header, has := ctx.Request.Header["Authorization"]
		if has && urlx.Origin(url) != urlx.Origin(site) {
			t.Fatalf("the login of %q goes to %q", site, url)
		}
		if has {
			r := http.Request{Header: http.Header{"Authorization": {header}}}
			if gotUser, gotPassword, ok := r.BasicAuth(); !ok || gotUser != user || gotPassword != password {
				t.Fatalf("%q reads as %q and %q", header, gotUser, gotPassword)
			}
		}
		if m.ProcessResponse(ctx, nil); len(ctx.Request.Header) != 0 {
			t.Fatalf("it stays: %v", ctx.Request.Header)
		}
	})
}

// FuzzSuspect: any URL is looked at, and the same one is the same.
func FuzzSuspect(f *testing.F) {
	for _, seed := range []string{"http://a.example/2031/05/07/x?month=5&sid=0123456789abcdef", "http://a.example/a/a/a;jsessionid=1", "", "http://", "/(S(x))/", "http://a.example?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if a, b := middleware.Suspect(url), middleware.Suspect(strings.Clone(url)); a != b {
			t.Fatalf("%q is %v and %v", url, a, b)
		}
	})
}
