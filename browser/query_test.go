package browser

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/tegenaria/tegenaria"
)

// It fails if something that Chromium cannot send is left out silently.
func TestUnfitRequests(t *testing.T) {
	header := func(name string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: "x"})
	}
	for field, r := range map[string]*tegenaria.Request{
		"Method":         tegenaria.NewRequest("https://a.example/", "HEAD", nil),
		"Body":           tegenaria.NewRequest("https://a.example/", "GET", nil, tegenaria.RequestWithBody([]byte("x"))),
		"Proxy":          tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://p.example"})),
		"Header[Host]":   tegenaria.NewRequest("https://a.example/", "", nil, header("host")),
		"Header[Cookie]": tegenaria.NewRequest("https://a.example/", "", nil, header("Cookie")),
	} {
		_, err := newQuery(r)
		if unfit, ok := errors.AsType[*tegenaria.RequestError](err); !ok || unfit.Field != field || unfit.Remedy == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	stream := tegenaria.NewRequest("https://a.example/", "GET", nil)
	stream.BodyReader = bytes.NewReader(nil)
	if _, err := newQuery(stream); err == nil {
		t.Error("a BodyReader is sent")
	}
}

// It fails if the cookies of a page do not reach the responses of the engine as they are, if old ones look new, if a cookie that is gone
// does not come out as an expired one, or if a cookie reaches a host that it is not for.
func TestNewCookies(t *testing.T) {
	const at = "https://a.example/in/page"
	left := func(name, value, domain, path string) *network.Cookie {
		return &network.Cookie{Name: name, Value: value, Domain: domain, Path: path, Session: true, Secure: true}
	}
	lasting := &network.Cookie{Name: "lasting", Value: "1", Domain: "a.example", Path: "/", Expires: 1e9 + 0.5, HTTPOnly: true, SameSite: network.CookieSameSiteStrict}
	const gone = "; Expires=Thu, 01 Jan 1970 00:00:00 GMT"
	for name, test := range map[string]struct {
		sent string
		left []*network.Cookie
		url  string // "": that of the request
		want []string
	}{
		"nothing":           {},
		"sent":              {sent: "a=1", left: []*network.Cookie{left("a", "1", "a.example", "/")}},
		"changed":           {sent: "a=1", left: []*network.Cookie{left("a", "2", "a.example", "/")}, want: []string{"a=2; Path=/; Secure"}},
		"renewed":           {sent: "lasting=1", left: []*network.Cookie{lasting}, want: []string{"lasting=1; Path=/; Expires=Sun, 09 Sep 2001 01:46:40 GMT; HttpOnly; SameSite=Strict"}},
		"for all hosts":     {left: []*network.Cookie{left("a", "1", ".a.example", "/x")}, want: []string{"a=1; Path=/x; Domain=a.example; Secure"}},
		"above the host":    {left: []*network.Cookie{left("a", "1", ".example", "/"), left("b", "1", "example", "/")}, want: []string{"a=1; Path=/; Domain=example; Secure"}},
		"of other hosts":    {left: []*network.Cookie{left("a", "1", "b.example", "/"), left("a", "1", ".b.a.example", "/"), left("a", "1", "xa.example", "/")}},
		"gone":              {sent: "b=1; a=1", want: []string{"a=; Path=/" + gone + "; Secure", "b=; Path=/" + gone + "; Secure"}},
		"at another host":   {sent: "a=1", left: []*network.Cookie{left("a", "1", "a.example", "/")}, url: "https://b.example/"},
		"longer path first": {sent: "a=1; a=2", left: []*network.Cookie{left("a", "1", "a.example", "/")}},
	} {
		q, err := newQuery(tegenaria.NewRequest(at, "", nil, tegenaria.RequestWithRequestHeader(map[string]string{"Cookie": test.sent})))
		if test.sent == "" {
			q, err = newQuery(tegenaria.NewRequest(at, "", nil))
		}
		if err != nil {
			t.Fatal(err)
		}
		if test.url == "" {
			test.url = at
		}
		var got []string
		for _, c := range q.newCookies(test.left, test.url) {
			got = append(got, setCookie(c))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// It fails if actions are not read as they were written.
func TestStoredActions(t *testing.T) {
	q, err := newQuery(tegenaria.NewRequest("https://a.example/", "", nil, Do(Fill("#q", "ä\"\n"), ScrollUntil("li", 3).Within(time.Minute), Wait(time.Second), PDF("x"))))
	want := []step{{Do: "Fill", CSS: "#q", Text: "ä\"\n"}, {Do: "ScrollUntil", CSS: "li", Count: 3, Within: time.Minute}, {Do: "Wait", For: time.Second}, {Do: "PDF", Name: "x"}}
	if err != nil || !slices.Equal(q.plan.Do, want) {
		t.Errorf("%+v, %v", q, err)
	}
	if q, err := newQuery(tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithVariant("browser"))); err != nil || len(q.plan.Do) > 0 {
		t.Errorf("another variant: %+v, %v", q, err)
	}
	_, err = newQuery(tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithVariant(variantOf+"[")))
	if unfit, ok := errors.AsType[*tegenaria.RequestError](err); !ok || unfit.Field != "Variant" {
		t.Errorf("broken: %v", err)
	}
}

// It fails if a pattern is not compared with the whole text.
func TestMatchesURL(t *testing.T) {
	for _, test := range []struct {
		pattern, url string
		want         bool
	}{
		{"*/api/*", "http://a.example/api/", true}, {"*/api/*", "http://a.example/api", false}, {"*", "x", true}, {"", "x", false}, {"x", "x", true},
		{"x", "xy", false}, {"x", "yx", false}, {"x*", "yx", false}, {"*x", "xy", false}, {"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "abc", true},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "acb", false}, {"*ab*ab*", "ab", false}, {"http://*?q=1", "http://a.example/?q=1", true},
		{"http://*?q=1", "http://a.example/.q=1", false},
	} {
		if got := matchesURL(test.pattern, test.url); got != test.want {
			t.Errorf("%q, %q: %t", test.pattern, test.url, got)
		}
	}
}
