package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
	"github.com/tegenaria/tegenaria/examples/linksrus/web"
	"github.com/tegenaria/tegenaria/selector"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // the import of bleve starts workers that stay
}

// fixture is the page over an index in memory.
type fixture struct {
	index     *index.Memory
	submitted []string
	refusal   error
	faults    []error
	handler   http.Handler
}

func newFixture(t *testing.T, docs ...index.Document) *fixture {
	f := &fixture{index: index.NewMemory()}
	for i, doc := range docs {
		doc.LinkID = graph.LinkID(fmt.Sprint(i))
		if err := f.index.Index(t.Context(), &doc); err != nil {
			t.Fatal(err)
		}
		if err := f.index.UpdateScore(t.Context(), doc.LinkID, 1/float64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	f.handler = web.New(web.Config{Index: f.index, PerPage: 3,
		Submit: func(_ context.Context, url string) error {
			if f.refusal == nil {
				f.submitted = append(f.submitted, url)
			}
			return f.refusal
		},
		Fault: func(err error) { f.faults = append(f.faults, err) },
	})
	return f
}

// do sends a request. The page must be safe whatever was asked.
func (f *fixture) do(t *testing.T, r *http.Request) (*http.Response, *selector.Document) {
	t.Helper()
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	resp := w.Result()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	page := selector.Parse(body)
	safe(t, resp, page)
	return resp, page
}

func (f *fixture) get(t *testing.T, target string) (*http.Response, *selector.Document) {
	t.Helper()
	return f.do(t, httptest.NewRequest("GET", target, nil))
}

func (f *fixture) post(t *testing.T, form url.Values, header map[string]string) (*http.Response, *selector.Document) {
	t.Helper()
	r := httptest.NewRequest("POST", "/submit", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return f.do(t, r)
}

// safe checks what holds for every answer: the headers, and that there is nothing in the page that a script could be.
func safe(t *testing.T, resp *http.Response, page *selector.Document) {
	t.Helper()
	policy := resp.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy is %q, without %q", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the header is %v", resp.Header)
	}
	if n := page.CSS("script, iframe, object, embed, base, style, [style], meta[http-equiv]").Len(); n > 0 {
		t.Errorf("%d elements that do not belong there: %s", n, page.CSS("html").Get())
	}
	for _, handler := range page.XPath("//@*[starts-with(name(), 'on')]").GetAll() {
		t.Errorf("an event handler: %s", handler)
	}
	for _, href := range page.CSS("[href]").Attrs("href") {
		// The last is what html/template makes of a dangerous one.
		if !strings.HasPrefix(href, "http://") && !strings.HasPrefix(href, "https://") && !strings.HasPrefix(href, "/") && href != "#ZgotmplZ" {
			t.Errorf("a link to %q", href)
		}
	}
}

func TestSearchPage(t *testing.T) {
	var docs []index.Document
	for i := range 8 {
		docs = append(docs, index.Document{URL: fmt.Sprintf("http://host/%%C3%%A4/%d", i), Title: fmt.Sprintf("Spider %d", i), Content: "Most spiders have eight eyes. A spider spins."})
	}
	f := newFixture(t, docs...)

	resp, page := f.get(t, "/")
	if resp.StatusCode != 200 || page.CSS("input[name=q]").Attr("value") != "" || page.CSS("li, .total, .pages").Len() != 0 {
		t.Errorf("the empty page: %d, %s", resp.StatusCode, page.CSS("main").Get())
	}
	for _, c := range []struct {
		page       string
		titles     string
		start      string
		prev, next string
	}{
		{"", "Spider 0,Spider 1,Spider 2", "1", "", "/?page=2&q=spider"},
		{"&page=1", "Spider 0,Spider 1,Spider 2", "1", "", "/?page=2&q=spider"},
		{"&page=2", "Spider 3,Spider 4,Spider 5", "4", "/?q=spider", "/?page=3&q=spider"},
		{"&page=3", "Spider 6,Spider 7", "7", "/?page=2&q=spider", ""},
		{"&page=4", "", "", "/?page=3&q=spider", ""},
	} {
		resp, page := f.get(t, "/?q=spider"+c.page)
		if got := strings.Join(page.CSS("li h2").Texts(), ","); resp.StatusCode != 200 || got != c.titles {
			t.Errorf("%s: %d, %q, want %q", c.page, resp.StatusCode, got, c.titles)
		}
		if got := page.CSS(".total").Text(); got != "8 pages found." {
			t.Errorf("%s: %q", c.page, got)
		}
		if prev, next, start := page.CSS("a[rel=prev]").Attr("href"), page.CSS("a[rel=next]").Attr("href"), page.CSS("ol").Attr("start"); prev != c.prev || next != c.next || start != c.start {
			t.Errorf("%s: from %q, before %q, after %q", c.page, start, prev, next)
		}
	}

	_, page = f.get(t, "/?q="+url.QueryEscape(` "a spider" `))
	first := page.CSS("li").First()
	if got := first.CSS("mark").Texts(); !slices.Equal(got, []string{"A spider"}) {
		t.Errorf("marked: %q", got)
	}
	if got := first.CSS("p:last-child").Text(); got != "Most spiders have eight eyes. A spider spins." {
		t.Errorf("the excerpt: %q", got)
	}
	if href, shown := first.CSS("h2 a").Attr("href"), first.CSS(".url").Text(); href != "http://host/%C3%A4/0" || shown != "http://host/ä/0" {
		t.Errorf("to %q, shown as %q", href, shown)
	}
	if got := page.CSS("input[name=q]").Attr("value"); got != `"a spider"` {
		t.Errorf("the field has %q", got)
	}
	if got := page.CSS("title").Text(); got != `"a spider" – Links ’R’ Us` {
		t.Errorf("the title is %q", got)
	}
	for query, want := range map[string]string{"fly": "Nothing found for fly.", "3": "1 page found.", "!": "Nothing found for !."} {
		if _, page := f.get(t, "/?q="+query); page.CSS(".total").Text() != want || page.CSS(".pages").Len() != 0 {
			t.Errorf("%s: %s", query, page.CSS("main").Get())
		}
	}
}

func TestBadRequests(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{"GET", "/?q=x&page=0", 400}, {"GET", "/?q=x&page=101", 400}, {"GET", "/?q=x&page=-1", 400}, {"GET", "/?q=x&page=x", 400},
		{"GET", "/?q=x&page=99999999999999999999", 400}, {"GET", "/?q=" + strings.Repeat("x", web.MaxQuery+1), 400},
		{"GET", "/?q=" + strings.Repeat("x", web.MaxQuery), 200}, {"GET", "/?q=x&page=100", 200}, {"GET", "/?q=%zz", 200},
		{"GET", "/other", 404}, {"GET", "/assets/search.html", 404}, {"GET", "/search.html", 404},
		{"POST", "/", 405}, {"DELETE", "/submit", 405}, {"GET", "/style.css", 200}, {"HEAD", "/", 200},
	} {
		if resp, _ := f.do(t, httptest.NewRequest(c.method, c.target, nil)); resp.StatusCode != c.status {
			t.Errorf("%s %.40s: %d, want %d", c.method, c.target, resp.StatusCode, c.status)
		}
	}
	if len(f.faults) > 0 {
		t.Errorf("faults: %v", f.faults)
	}
}

// What other people wrote is text.
func TestHostileText(t *testing.T) {
	evil := `<script>alert(1)</script><img src=x onerror=alert(1)>'"&amp;{{.}}`
	f := newFixture(t,
		index.Document{URL: "http://host/?a=<script>&b='\"", Title: evil, Content: "evil " + evil},
		index.Document{URL: "javascript:alert(1)", Title: "evil link", Content: evil},
		index.Document{URL: "data:text/html,<script>alert(1)</script>", Title: "evil data", Content: evil},
		index.Document{URL: "http://host/%E2%80%AEgnp.exe", Content: "direction"})
	r := httptest.NewRequest("GET", "/?q=script", nil)
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	page := selector.Parse(w.Body.Bytes())
	if got := page.CSS("li h2").First().Text(); got != evil {
		t.Errorf("the title is %q, want %q", got, evil)
	}
	if got := page.CSS("li h2 mark").Texts(); !slices.Equal(got, []string{"script", "script"}) {
		t.Errorf("marked: %q", got)
	}
	for _, href := range page.CSS("li a").Attrs("href") {
		if strings.HasPrefix(href, "javascript:") || strings.HasPrefix(href, "data:") {
			t.Errorf("a link to %q", href)
		}
	}
	if page.CSS("script, img").Len() != 0 {
		t.Errorf("the page has %s", page.CSS("script, img").Get())
	}
	if _, page := f.get(t, "/?q="+url.QueryEscape(evil)); page.CSS("input[name=q]").Attr("value") != evil {
		t.Errorf("the field has %q", page.CSS("input[name=q]").Attr("value"))
	}
	// Characters that turn the direction of what follows stay encoded.
	if _, page := f.get(t, "/?q=direction"); page.CSS(".url").Text() != "http://host/%E2%80%AEgnp.exe" || page.CSS("h2").Text() != "http://host/%E2%80%AEgnp.exe" {
		t.Errorf("the address is shown as %q, the title as %q", page.CSS(".url").Text(), page.CSS("h2").Text())
	}
}

// Titles, words and URLs of megabytes make no page of megabytes.
func TestLongText(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	f := newFixture(t,
		index.Document{URL: "http://a.example/" + strings.Repeat("x", 1<<20), Title: "found " + long, Content: "found x" + long},
		index.Document{URL: "http://b.example/" + strings.Repeat("x", 1<<20), Content: "found" + strings.Repeat("!", 1<<20)})
	resp, page := f.get(t, "/?q=found")
	if got := page.CSS("li").Len(); resp.StatusCode != 200 || got != 2 {
		t.Fatalf("status %d, %d results", resp.StatusCode, got)
	}
	for _, test := range []struct {
		part string
		most int
	}{{"h2", 210}, {"p.url", 210}, {"p:last-child", 2100}} {
		for _, part := range page.CSS("li " + test.part).All() {
			text := part.Text()
			if len(text) > test.most || !strings.HasSuffix(text, "…") || strings.ContainsRune(text, '\uFFFD') {
				t.Errorf("%s: %d bytes, %.30q", test.part, len(text), text)
			}
		}
	}
}

func TestSubmit(t *testing.T) {
	f := newFixture(t)
	if resp, page := f.get(t, "/submit"); resp.StatusCode != 200 || page.CSS("form[method=post] input[name=url]").Len() != 1 || page.CSS(".taken, .problem").Len() != 0 {
		t.Errorf("the form: %d, %s", resp.StatusCode, page.CSS("main").Get())
	}
	resp, _ := f.post(t, url.Values{"url": {" http://example.com/?a=1&b=2 "}}, nil)
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/submit?taken" || !slices.Equal(f.submitted, []string{"http://example.com/?a=1&b=2"}) {
		t.Errorf("%d to %s, %q", resp.StatusCode, resp.Header.Get("Location"), f.submitted)
	}
	if _, page := f.get(t, "/submit?taken"); !strings.HasPrefix(page.CSS(".taken").Text(), "Thank you") {
		t.Errorf("afterwards: %s", page.CSS("main").Get())
	}

	f.submitted, f.refusal = nil, fmt.Errorf("%w: <b> is private", web.ErrRefused)
	for _, c := range []struct{ name, link, problem, field string }{
		{"nothing", "  ", "There is no link.", ""},
		{"too long", "http://a/" + strings.Repeat("x", web.MaxURL), "That is too long; a link may have 2048 bytes.", ""},
		{"refused", `http://10.0.0.1/"><b>`, "link refused: <b> is private", `http://10.0.0.1/"><b>`},
	} {
		resp, page := f.post(t, url.Values{"url": {c.link}}, nil)
		if got := page.CSS(".problem").Text(); resp.StatusCode != 422 || got != c.problem || page.CSS("input[name=url]").Attr("value") != c.field {
			t.Errorf("%s: %d, %q, field %q", c.name, resp.StatusCode, got, page.CSS("input[name=url]").Attr("value"))
		}
	}
	if resp, _ := f.post(t, url.Values{"url": {"http://a/"}, "x": {strings.Repeat("x", 20<<10)}}, nil); resp.StatusCode != 400 {
		t.Errorf("a huge form: %d", resp.StatusCode)
	}
	if len(f.submitted) > 0 || len(f.faults) > 0 {
		t.Errorf("taken %q, faults %v", f.submitted, f.faults)
	}
}

// A form on another site sends nothing.
func TestCrossSite(t *testing.T) {
	for _, c := range []struct {
		name   string
		header map[string]string
		taken  bool
	}{
		{"this site, new browser", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://example.com"}, true},
		{"this site, old browser", map[string]string{"Origin": "http://example.com"}, true},
		{"no browser", nil, true},
		{"other site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, false},
		{"sister site", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://evil.example.com"}, false},
		{"other site, old browser", map[string]string{"Origin": "https://evil.example"}, false},
		{"no origin", map[string]string{"Origin": "null"}, false},
	} {
		f := newFixture(t)
		resp, _ := f.post(t, url.Values{"url": {"http://a/"}}, c.header)
		if taken := len(f.submitted) == 1; taken != c.taken || taken != (resp.StatusCode == 303) {
			t.Errorf("%s: %d, taken %q", c.name, resp.StatusCode, f.submitted)
		}
	}
}

// On loopback the page answers under this machine's names only.
func TestRebinding(t *testing.T) {
	for _, c := range []struct {
		local, host string
		refused     bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", false}, {"127.0.0.1:8080", "localhost:8080", false}, {"127.0.0.1:80", "LOCALHOST", false},
		{"[::1]:8080", "[::1]:8080", false}, {"[::1]:80", "[::1]", false},
		{"127.0.0.1:8080", "evil.example:8080", true}, {"127.0.0.1:80", "evil.example", true}, {"[::1]:8080", "evil.example", true},
		{"127.0.0.1:8080", "localhost.evil.example", true}, {"127.0.0.1:8080", "10.0.0.1:8080", true}, {"127.0.0.1:8080", "", true},
		{"192.0.2.1:8080", "search.example", false},
	} {
		f := newFixture(t)
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.local))
		resp, _ := f.do(t, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		if (resp.StatusCode == http.StatusMisdirectedRequest) != c.refused {
			t.Errorf("%s asked as %q: %d", c.local, c.host, resp.StatusCode)
		}
	}
}

type brokenIndex struct{}

var errBroken = errors.New("disk on fire at /secret/path")

func (brokenIndex) Search(context.Context, index.Query) (*index.Result, error) { return nil, errBroken }

// Faults of the server are told to whoever runs it, not to readers.
func TestFaults(t *testing.T) {
	f := newFixture(t)
	f.refusal = errBroken
	f.handler = web.New(web.Config{Index: brokenIndex{}, Submit: func(context.Context, string) error { return errBroken },
		Fault: func(err error) { f.faults = append(f.faults, err) }})
	search, page := f.get(t, "/?q=x")
	submit, _ := f.post(t, url.Values{"url": {"http://a/"}}, nil)
	if search.StatusCode != 500 || submit.StatusCode != 500 || strings.Contains(page.CSS("html").Get(), "secret") {
		t.Errorf("%d, %d, %s", search.StatusCode, submit.StatusCode, page.CSS("main").Get())
	}
	if len(f.faults) != 2 || !errors.Is(f.faults[0], errBroken) || !errors.Is(f.faults[1], errBroken) {
		t.Errorf("the faults are %v", f.faults)
	}
}

func TestMissingParts(t *testing.T) {
	for name, c := range map[string]web.Config{"index": {Submit: func(context.Context, string) error { return nil }}, "submit": {Index: brokenIndex{}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic without %s", name)
				}
			}()
			web.New(c)
		}()
	}
}
