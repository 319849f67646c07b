package middleware_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/middleware"
)

// Where cookies go, in one exchange: rows 5 and 6 of Scrapy's own tests, and RFC 6265bis.
func TestCookieScope(t *testing.T) {
	for _, tt := range []struct {
		name, from string
		set        []string
		to, want   string
	}{
		{"a path", "http://toscrape.com/", []string{"a=1; path=/foo", "b=2; path=/bar", "c=3"}, "http://toscrape.com/foo", "a=1; c=3"},
		{"another path", "http://toscrape.com/", []string{"a=1; path=/foo", "b=2; path=/bar", "c=3"}, "http://toscrape.com/bar/", "b=2; c=3"},
		{"a path is no prefix", "http://toscrape.com/", []string{"a=1; path=/foo"}, "http://toscrape.com/foobar", ""},
		{"the default path", "http://toscrape.com/d/e", []string{"a=1"}, "http://toscrape.com/d/f", "a=1"},
		{"above the default path", "http://toscrape.com/d/e", []string{"a=1"}, "http://toscrape.com/", ""},
		{"longer paths first", "http://toscrape.com/", []string{"a=1", "b=2; path=/d", "c=3; path=/d/e"}, "http://toscrape.com/d/e", "c=3; b=2; a=1"},
		{"public suffix", "https://foo.co.uk/", []string{"a=1; domain=co.uk"}, "https://foo.co.uk/", ""},
		{"a host that is a public suffix", "https://co.uk/", []string{"a=1; domain=co.uk"}, "https://co.uk/", "a=1"},
		{"and no host below", "https://co.uk/", []string{"a=1; domain=co.uk"}, "https://foo.co.uk/", ""},
		{"private suffix", "https://foo.blogspot.com/", []string{"a=1; domain=blogspot.com"}, "https://foo.blogspot.com/", ""},
		{"no dot", "http://foo/", []string{"a=1; domain=local"}, "http://foo/", ""},
		{"sub-domains", "https://toscrape.com/", []string{"a=1; domain=toscrape.com"}, "https://books.toscrape.com/", "a=1"},
		{"host only", "https://toscrape.com/", []string{"a=1"}, "https://books.toscrape.com/", ""},
		{"from a sub-domain", "https://books.toscrape.com/", []string{"a=1; domain=.toscrape.com"}, "https://quotes.toscrape.com/", "a=1"},
		{"a foreign domain", "https://toscrape.com/", []string{"a=1; domain=example.com"}, "https://example.com/", ""},
		{"an address below an address", "http://127.0.0.1/", []string{"a=1; domain=0.0.1"}, "http://127.0.0.1/", ""},
		{"a name that ends in a digit", "http://a.b.cluster1/", []string{"a=1; domain=b.cluster1"}, "http://c.b.cluster1/", "a=1"},
		{"an IPv6 address", "http://[::1]:8080/", []string{"a=1"}, "http://[::1]/", "a=1"},
		{"ports do not matter", "http://toscrape.com:8080/", []string{"a=1"}, "http://toscrape.com:9090/", "a=1"},
		{"an international name", "https://www.bücher.example/", []string{"a=1; domain=xn--bcher-kva.example"}, "https://bücher.example/", "a=1"},
		{"upper case", "https://TOSCRAPE.com/", []string{"a=1; DOMAIN=ToScrape.COM"}, "https://toscrape.com/", "a=1"},

		{"secure", "https://toscrape.com/", []string{"a=1; secure"}, "https://toscrape.com/", "a=1"},
		{"secure, not over http", "https://toscrape.com/", []string{"a=1; secure"}, "http://toscrape.com/", ""},
		{"secure, not from http", "http://toscrape.com/", []string{"a=1; secure"}, "https://toscrape.com/", ""},
		{"not secure goes up", "http://toscrape.com/", []string{"a=1"}, "https://toscrape.com/", "a=1"},
		{"not secure goes down", "https://toscrape.com/", []string{"a=1"}, "http://toscrape.com/", "a=1"},

		{"__Secure-", "https://toscrape.com/", []string{"__Secure-a=1; secure; domain=toscrape.com"}, "https://toscrape.com/", "__Secure-a=1"},
		{"__Secure- without Secure", "https://toscrape.com/", []string{"__Secure-a=1"}, "https://toscrape.com/", ""},
		{"__Host-", "https://toscrape.com/", []string{"__Host-a=1; secure; path=/"}, "https://toscrape.com/", "__Host-a=1"},
		{"__Host- without Secure", "https://toscrape.com/", []string{"__Host-a=1; path=/"}, "https://toscrape.com/", ""},
		{"__Host- without Path", "https://toscrape.com/", []string{"__Host-a=1; secure"}, "https://toscrape.com/", ""},
		{"__Host- with Domain", "https://toscrape.com/", []string{"__Host-a=1; secure; path=/; domain=toscrape.com"}, "https://toscrape.com/", ""},
		{"__host- in small letters", "https://toscrape.com/", []string{"__host-a=1"}, "https://toscrape.com/", ""},

		{"replaced in its place", "http://toscrape.com/", []string{"a=1", "b=2", "a=3"}, "http://toscrape.com/", "a=3; b=2"},
		{"deleted", "http://toscrape.com/", []string{"a=1", "b=2", "a=; Max-Age=0"}, "http://toscrape.com/", "b=2"},
		{"Max-Age before Expires", "http://toscrape.com/", []string{"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60"}, "http://toscrape.com/", "a=1"},
		{"as long as allowed", "http://toscrape.com/", []string{"a=" + strings.Repeat("x", 4095)}, "http://toscrape.com/", "a=" + strings.Repeat("x", 4095)},
		{"too long", "http://toscrape.com/", []string{"a=" + strings.Repeat("x", 4096)}, "http://toscrape.com/", ""},
		{"an attribute too long", "http://toscrape.com/d/", []string{"a=1; path=/" + strings.Repeat("x", 1024)}, "http://toscrape.com/d/", "a=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := middleware.NewCookies(middleware.CookieOptions{})
			var header []string
			for _, set := range tt.set {
				header = append(header, "Set-Cookie", set)
			}
			if got := roundTrip(t, m, tt.from, tt.to, header...); got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
		})
	}
}

// An insecure connection neither replaces nor hides nor deletes what a secure one has set (RFC 6265bis §5.7).
func TestSecureCookiesAreLeftAlone(t *testing.T) {
	for _, set := range []string{"a=2", "a=2; path=/login/en", "a=2; domain=toscrape.com", "a=2; max-age=0"} {
		m := middleware.NewCookies(middleware.CookieOptions{})
		roundTrip(t, m, "https://toscrape.com/login", "https://toscrape.com/login", "Set-Cookie", "a=1; secure")
		if got := roundTrip(t, m, "http://toscrape.com/login/x", "https://toscrape.com/login/en/x", "Set-Cookie", set); got != "a=1" {
			t.Errorf("after %q %q is sent", set, got)
		}
	}
	m := middleware.NewCookies(middleware.CookieOptions{})
	roundTrip(t, m, "https://toscrape.com/login/", "https://toscrape.com/login/", "Set-Cookie", "a=1; secure")
	if got := roundTrip(t, m, "http://toscrape.com/", "http://toscrape.com/", "Set-Cookie", "a=2"); got != "a=2" {
		t.Errorf("a cookie of another path is refused: %q is sent", got)
	}
}

// A cookie's time ends, after 400 days at the latest.
func TestCookieTime(t *testing.T) {
	const url = "http://toscrape.com/"
	synctest.Test(t, func(t *testing.T) {
		m := middleware.NewCookies(middleware.CookieOptions{})
		const day = 24 * time.Hour
		if got := roundTrip(t, m, url, url, "Set-Cookie", "hour=1; max-age=3600", "Set-Cookie", "ever=1; max-age=99999999999",
			"Set-Cookie", "date=1; expires=Wed, 01-Mar-2000 00:00:00 GMT", "Set-Cookie", "session=1"); got != "hour=1; ever=1; date=1; session=1" {
			t.Errorf("at first: %q", got)
		}
		for _, step := range []struct {
			after time.Duration
			want  string
		}{
			{time.Hour - time.Second, "hour=1; ever=1; date=1; session=1"}, {time.Second, "ever=1; date=1; session=1"},
			{60 * day, "ever=1; session=1"}, {339 * day, "ever=1; session=1"}, {day, "session=1"},
		} {
			sleep(step.after)
			if got := roundTrip(t, m, url, url); got != step.want {
				t.Errorf("after another %s: %q, want %q", step.after, got, step.want)
			}
		}
		if got := m.All(""); len(got) != 1 {
			t.Errorf("All returns %v", got)
		}
	})
}

// Jars have names, and know nothing of each other.
func TestCookieJars(t *testing.T) {
	const url = "http://toscrape.com/"
	m := middleware.NewCookies(middleware.CookieOptions{Jars: 2})
	exchange := func(jar any, set string) (string, error) {
		ctx := asked(url)
		if jar != nil {
			ctx.Request.Meta = map[string]any{middleware.MetaCookieJar: jar}
		}
		if err := m.ProcessRequest(ctx); err != nil {
			return "", err
		}
		sent := ctx.Request.Header["Cookie"]
		answer(ctx, 200, "", "Set-Cookie", set)
		return sent, m.ProcessResponse(ctx, nil)
	}
	for _, step := range []struct {
		jar       any
		set, want string
	}{
		{nil, "a=1", ""}, {"two", "a=2", ""}, {nil, "b=1", "a=1"}, {"two", "b=2", "a=2"}, {"", "c=1", "a=1; b=1"},
		{middleware.NoCookieJar, "a=3", ""}, {middleware.NoCookieJar, "a=3", ""},
	} {
		if got, err := exchange(step.jar, step.set); err != nil || got != step.want {
			t.Errorf("jar %v: sent %q, %v; want %q", step.jar, got, err, step.want)
		}
	}
	if got := m.Jars(); !slices.Equal(got, []string{"", "two"}) {
		t.Errorf("jars are %q", got)
	}
	var many *middleware.TooManyCookieJarsError
	if _, err := exchange("three", "a=1"); !errors.As(err, &many) || many.Jar != "three" || many.Limit != 2 {
		t.Errorf("a jar too many: %v", err)
	}
	if _, err := exchange(7, "a=1"); err == nil || !strings.Contains(err.Error(), `Meta["cookiejar"] is a int`) {
		t.Errorf("a jar that is a number: %v", err)
	}
	m.Clear("two")
	if got, err := exchange("three", "a=1"); err != nil || got != "" {
		t.Errorf("after Clear: %q, %v", got, err)
	}
	if got := m.All("two"); got != nil {
		t.Errorf("a jar that was cleared has %v", got)
	}
}

// The request's own cookies go beside those of the jar and before those of the same name; they never stay. A header is sent as it was
// written: a copy of a browser's may have parts that the grammar forbids, twice the same name, and an order.
func TestOwnCookies(t *testing.T) {
	const url = "http://toscrape.com/"
	for _, tt := range []struct {
		name   string
		own    string // a Cookie header; "" is none
		meta   map[string]any
		sent   string
		stored bool // the jar has a=1 and b=2
	}{
		{"beside the jar's", "c=3; b=header", nil, "a=1; c=3; b=header", true},
		{"JSON, quotes, a backslash, UTF-8", `c={"k": ["v,w"]}; d="x y"; e=\"; f=žluť`, nil, `a=1; b=2; c={"k": ["v,w"]}; d="x y"; e=\"; f=žluť`, true},
		{"a name twice", "sid=1; sid=2", nil, "a=1; b=2; sid=1; sid=2", true},
		{"without a name", "nameless;c=3", nil, "a=1; b=2; nameless;c=3", true},
		{"all of the jar's", "b=;a=", nil, "b=;a=", true},
		{"an empty jar", `z="1"; nameless; a=1`, nil, `z="1"; nameless; a=1`, false},
		{"without a jar", "nameless", map[string]any{middleware.MetaCookieJar: middleware.NoCookieJar}, "nameless", true},
		{"none", "", nil, "a=1; b=2", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := middleware.NewCookies(middleware.CookieOptions{})
			if tt.stored {
				roundTrip(t, m, url, url, "Set-Cookie", "a=1", "Set-Cookie", "b=2")
			}
			opts := []tegenaria.RequestOption{tegenaria.RequestWithRequestMeta(tt.meta)}
			if tt.own != "" {
				opts = append(opts, tegenaria.RequestWithRequestHeader(map[string]string{"cookie": tt.own}))
			}
			stays := func(after string, r *tegenaria.Request) {
				header, _ := r.Header["Cookie"]
				if lower, ok := r.Header["cookie"]; ok {
					header += lower
				}
				if header != tt.own || len(r.Meta) != len(tt.meta) || len(r.Cookies) != 0 {
					t.Errorf("after %s: header %q, cookies %v, meta %v", after, header, r.Cookies, r.Meta)
				}
			}
			for _, failure := range []error{
				nil,
				tegenaria.NewError("", io.EOF, tegenaria.ErrorWithStage(tegenaria.StageDownload)),
			} {
				ctx := asked(url, opts...)
				if err := m.ProcessRequest(ctx); err != nil {
					t.Fatal(err)
				}
				sent := ctx.Request.Header["Cookie"] + ctx.Request.Header["cookie"]
				if sent != tt.sent || len(ctx.Request.Header) != 1 {
					t.Errorf("sent %v, want %q", ctx.Request.Header, tt.sent)
				}
				if failure != nil {
					m.ProcessError(ctx, failure, nil)
					stays("a failure", ctx.Request)
					continue
				}
				answer(ctx, 200, "")
				if err := m.ProcessResponse(ctx, nil); err != nil {
					t.Error(err)
				}
				stays("a response", ctx.Request)
			}
		})
	}
	m := middleware.NewCookies(middleware.CookieOptions{})
	roundTrip(t, m, url, url, "Set-Cookie", "a=1", "Set-Cookie", "b=2")
	ctx := asked(url, tegenaria.RequestWithRequestCookies(map[string]string{"b": "own"}))
	if err := m.ProcessRequest(ctx); err != nil || ctx.Request.Header["Cookie"] != "a=1" || ctx.Request.Cookies["b"] != "own" {
		t.Errorf("header %v, cookies %v, %v", ctx.Request.Header, ctx.Request.Cookies, err)
	}
}

// A server sees the bytes of the cookies that a jar, a header and a map have, after a redirect of its own too.
func TestCookiesOnTheWire(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/": // a value with a space and a comma, as sites set them
			w.Header()["Set-Cookie"] = []string{`prefs={"a": "b, c"}`, `q="x"`}
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	})
	r := tegenaria.NewRequest(s.URL+"/", tegenaria.GET, nil,
		tegenaria.RequestWithRequestHeader(map[string]string{"Cookie": `sid=1; sid=2; flag; e=\"é`}),
		tegenaria.RequestWithRequestCookies(map[string]string{"m": `["x y"]`}))
	crawlWith(t, start(nothing, r), middleware.Standard())
	own := `sid=1; sid=2; flag; e=\"é; m=["x y"]`
	visits := s.visits()
	if len(visits) != 2 {
		t.Fatalf("%d visits", len(visits))
	}
	for i, want := range []string{own, `prefs={"a": "b, c"}; q="x"; ` + own} {
		if got := visits[i].Header["Cookie"]; len(got) != 1 || got[0] != want {
			t.Errorf("%s was sent %q, want %q", visits[i].Path, got, want)
		}
	}
}

// 10,000 cookies from a host, and as many hosts with one: a jar keeps its bounds, the newest cookie, and what is in use.
func TestCookieBounds(t *testing.T) {
	const site, used = "https://toscrape.com/", "https://used.example/"
	for _, tt := range []struct {
		name     string
		options  middleware.CookieOptions
		rounds   int
		url, set string // N is the round
		used     string // what is asked for in each round, with a cookie of its own; "": the URL that has set the last one
		kept     int
	}{
		{"of a host", middleware.CookieOptions{}, 10_000, site, "cN=1; max-age=60", site, 180},
		{"large ones", middleware.CookieOptions{}, 100, site, "cN=" + strings.Repeat("x", 4000), "", 8},
		{"of sub-domains", middleware.CookieOptions{PerDomain: 10}, 100, "https://hN.toscrape.com/", "a=1", "", 10},
		{"of hosts", middleware.CookieOptions{Total: 100}, 10_000, "https://hN.example/", "a=1", used, 100},
		{"smaller than a domain", middleware.CookieOptions{Total: 2}, 3, site, "cN=1", "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := middleware.NewCookies(tt.options)
			if tt.used != "" {
				roundTrip(t, m, tt.used, tt.used, "Set-Cookie", "session=1; secure")
			}
			for i := range tt.rounds {
				numbered := strings.NewReplacer("N", fmt.Sprint(i))
				url, set := numbered.Replace(tt.url), numbered.Replace(tt.set)
				sent := roundTrip(t, m, url, cmp.Or(tt.used, url), "Set-Cookie", set)
				pair, _, _ := strings.Cut(set, ";")
				if tt.used != "" && !strings.HasPrefix(sent, "session=1") || tt.used != used && !strings.HasSuffix(sent, pair) || len(sent) > 32<<10 {
					t.Fatalf("after %d cookies %d bytes are sent: %.60q", i+1, len(sent), sent)
				}
			}
			if n := len(m.All("")); n != tt.kept {
				t.Errorf("%d cookies are kept, want %d", n, tt.kept)
			}
		})
	}
}

// All jars together take a bounded amount of memory, however large the headers are that cookies come in, and keep what is
// in use. Either a bound for each jar alone or cookies that hold on to their header make it fail.
func TestCookieBytesAreBounded(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	m := middleware.NewCookies(middleware.CookieOptions{})
	const used = "https://used.example/"
	roundTrip(t, m, used, used, "Set-Cookie", "a=1")
	for i := range 5_000 {
		url := fmt.Sprintf("https://h%d.example/", i)
		header := []string{strings.Repeat("a=1; comment=x, ", 2000), "b=" + strings.Repeat("x", 4000), "c=" + strings.Repeat("x", 4000)}
		ctx := answered(url, 200, "", "Set-Cookie", header[0], "Set-Cookie", header[1], "Set-Cookie", header[2])
		ctx.Request.Meta = map[string]any{middleware.MetaCookieJar: fmt.Sprint(i % 100)}
		if err := m.ProcessResponse(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if got := roundTrip(t, m, used, used); got != "a=1" {
			t.Fatalf("after %d hosts what is in use was forgotten", i)
		}
	}
	if grown := heap() - before; deep.Checks() && (grown > 20<<20 || grown < 12<<20) {
		t.Errorf("the cookies take %d KiB", grown>>10)
	}
	if n := len(m.All("99")); n == 0 || n == 300 {
		t.Errorf("a jar has %d cookies", n)
	}
	for _, name := range m.Jars() {
		m.Clear(name)
	}
	if grown := heap() - before; deep.Checks() && grown > 1<<20 {
		t.Errorf("cleared jars take %d KiB", grown>>10)
	}
	roundTrip(t, m, used, used, "Set-Cookie", "a=1")
	if got := roundTrip(t, m, used, used); got != "a=1" {
		t.Errorf("after Clear %q is sent", got)
	}
}

// What comes out goes in again, in both formats.
func TestCookieExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := middleware.NewCookies(middleware.CookieOptions{})
		roundTrip(t, m, "https://a.example/d/e", "https://a.example/", "Set-Cookie", "host=1; secure; httponly; samesite=lax", "Set-Cookie", "all=two words; domain=a.example; path=/; max-age=60")
		roundTrip(t, m, "https://b.example/", "https://b.example/", "Set-Cookie", "empty=; max-age=60")
		all := m.All("")
		expires := time.Now().Add(time.Minute).Unix()

		var text bytes.Buffer
		if err := middleware.WriteCookies(&text, all); err != nil {
			t.Fatal(err)
		}
		want := "# Netscape HTTP Cookie File\n" +
			"#HttpOnly_a.example\tFALSE\t/d\tTRUE\t0\thost\t1\n" +
			fmt.Sprintf(".a.example\tTRUE\t/\tFALSE\t%d\tall\ttwo words\n", expires) +
			fmt.Sprintf("b.example\tFALSE\t/\tFALSE\t%d\tempty\t\n", expires)
		if text.String() != want {
			t.Errorf("cookies.txt:\n%s\nwant\n%s", text.String(), want)
		}
		fromText, err := middleware.ReadCookies(&text)
		if err != nil {
			t.Fatal(err)
		}
		object, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON []middleware.Cookie
		if err := json.Unmarshal(object, &fromJSON); err != nil {
			t.Fatal(err)
		}
		if first := `{"name":"host","value":"1","domain":"a.example","path":"/d","expires":-1,"httpOnly":true,"secure":true,"sameSite":"Lax"}`; !strings.Contains(string(object), first) {
			t.Errorf("JSON: %s\nlacks %s", object, first)
		}
		for i := range all {
			want := all[i]
			if !want.Expires.IsZero() {
				want.Expires = want.Expires.Truncate(time.Second).UTC()
			}
			if fromJSON[i] != want {
				t.Errorf("from JSON: %+v, want %+v", fromJSON[i], want)
			}
			want.SameSite = ""
			if fromText[i] != want {
				t.Errorf("from cookies.txt: %+v, want %+v", fromText[i], want)
			}
		}
		again := middleware.NewCookies(middleware.CookieOptions{})
		if err := again.Add("", fromJSON...); err != nil {
			t.Fatal(err)
		}
		if got := again.All(""); !slices.Equal(got, fromJSON) {
			t.Errorf("the other jar has %+v", got)
		}
	})
}

func TestCookieImport(t *testing.T) {
	var c middleware.Cookie
	if err := json.Unmarshal([]byte(`{"name":"a","value":"1","domain":"x.example","hostOnly":false,"expirationDate":2000000000.5,"path":"/"}`), &c); err != nil {
		t.Fatal(err)
	}
	if c.HostOnly || c.Expires.Unix() != 2000000000 {
		t.Errorf("of an extension: %+v", c)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"fields", "a\tb\n", "line 1: 2 fields"},
		{"flag", "\n# x\na.example\tMAYBE\t/\tTRUE\t0\tn\tv\n", `line 3: "MAYBE" is neither TRUE nor FALSE`},
		{"number", "a.example\tTRUE\t/\tTRUE\tsoon\tn\tv\n", "line 1: strconv"},
		{"long", strings.Repeat("x", 1<<17), "line 1: bufio.Scanner: token too long"},
	} {
		if _, err := middleware.ReadCookies(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	m := middleware.NewCookies(middleware.CookieOptions{})
	good := middleware.Cookie{Name: "a", Value: "1", Domain: "A.example"}
	err := m.Add("", good,
		middleware.Cookie{Name: "", Domain: "a.example"}, middleware.Cookie{Name: "a", Value: "1;2", Domain: "a.example"},
		middleware.Cookie{Name: "a", Value: strings.Repeat("x", 5000), Domain: "a.example"}, middleware.Cookie{Name: "a", Domain: "http://a.example"},
		middleware.Cookie{Name: "a", Domain: "co.uk"}, middleware.Cookie{Name: "a", Domain: "a.example", Path: "x"},
		middleware.Cookie{Name: "__Host-a", Domain: "a.example", Secure: true})
	if err == nil {
		t.Fatal("bad cookies were taken")
	}
	for _, want := range []string{"no name", "semicolon", "larger than 4096", "no host", "public suffix", "slash", "prefix promises"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if all := m.All(""); len(all) != 1 || all[0].Domain != "a.example" || all[0].Path != "/" {
		t.Errorf("kept %+v", all)
	}
	if err := m.Add("", middleware.Cookie{Name: "six", Value: "1", Domain: "2001:db8:1:2:3:4:5:6", HostOnly: true}); err != nil {
		t.Errorf("an IPv6 address: %v", err)
	}
}

// sleep lets virtual time pass.
func sleep(d time.Duration) { <-time.NewTimer(d).C }

// All methods may be called at once.
func TestCookiesAtOnce(t *testing.T) {
	m := middleware.NewDurableCookies(middleware.CookieOptions{PerDomain: 5, Total: 20})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			jar := fmt.Sprint(worker % 3)
			for i := range 200 {
				ctx := asked(fmt.Sprintf("http://h%d.example/", i%7), tegenaria.RequestWithRequestMeta(map[string]any{middleware.MetaCookieJar: jar}))
				if err := m.ProcessRequest(ctx); err != nil {
					t.Error(err)
				}
				answer(ctx, 200, "", "Set-Cookie", fmt.Sprintf("c%d=1", i))
				if err := m.ProcessResponse(ctx, nil); err != nil {
					t.Error(err)
				}
				switch i % 50 {
				case 0:
					m.Clear(jar)
				case 1:
					if _, _, err := m.ChangedState(0); err != nil {
						t.Error(err)
					}
				case 2:
					if err := m.Add(jar, middleware.Cookie{Name: "a", Domain: "x.example"}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	for _, jar := range m.Jars() {
		if n := len(m.All(jar)); n > 20 {
			t.Errorf("jar %s has %d cookies", jar, n)
		}
	}
}
