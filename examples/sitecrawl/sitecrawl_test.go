package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server that remembers what it was asked.
type site struct {
	*httptest.Server

	mu     sync.Mutex
	log    []string
	agents map[string]bool
}

// serve answers from pages by path and query: a body; "-> URL" is a redirect, "text: …" plain text, "hang"
// never answers.
func serve(t *testing.T, pages map[string]string) *site {
	t.Helper()
	s := &site{agents: make(map[string]bool)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, r.URL.RequestURI())
		s.agents[r.UserAgent()] = true
		s.mu.Unlock()
		body, ok := pages[r.URL.RequestURI()]
		kind, rest, _ := strings.Cut(body, " ")
		switch {
		case !ok:
			http.NotFound(w, r)
		case kind == "->":
			http.Redirect(w, r, rest, http.StatusFound)
		case kind == "text:":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, rest)
		case kind == "latin1:":
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			fmt.Fprint(w, rest)
		case body == "hang":
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, body)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// asked returns what the server was asked, sorted.
func (s *site) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(s.log)), " ")
}

// result is what a run left behind.
type result struct {
	code    int
	lines   map[string]page // by URL without the server's address
	stderr  string
	summary tegenaria.Summary
}

// start runs sitecrawl on a server, with the seed / unless the flags name another.
func start(t *testing.T, base string, flags ...string) result {
	t.Helper()
	dir := t.TempDir()
	out, summary := filepath.Join(dir, "out"), filepath.Join(dir, "summary")
	if err := os.WriteFile(out, []byte("of an earlier crawl, longer than\nany that follows\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(flags, "-url") {
		flags = append(flags, "-url", base+"/")
	}
	var stdout, stderr bytes.Buffer
	r := result{code: run(append(flags, "-out", out, "-summary", summary), &stdout, &stderr), stderr: stderr.String()}
	if stdout.Len() > 0 {
		t.Errorf("stdout: %s", &stdout)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	r.lines = readLines(t, base, text)
	var counts struct {
		Stats struct {
			Outcomes, Reasons map[string]int64
			ItemScraped       int64 `json:"item_scraped"`
		}
	}
	text, err = os.ReadFile(summary)
	if err = errors.Join(err, json.Unmarshal(text, &counts)); err != nil {
		t.Fatalf("summary: %v", err)
	}
	if got := counts.Stats.ItemScraped; got != int64(len(r.lines)) {
		t.Errorf("the summary counts %d items, there are %d lines", got, len(r.lines))
	}
	if got := counts.Stats.Outcomes["fetched"]; got != int64(len(r.lines)) && !slices.Contains(flags, "-sitemaps") { // which have no lines
		t.Errorf("the summary counts %d fetched, there are %d lines", got, len(r.lines))
	}
	r.summary.Stats.Reasons = counts.Stats.Reasons
	return r
}

func readLines(t *testing.T, base string, text []byte) map[string]page {
	t.Helper()
	lines := make(map[string]page)
	for line := range bytes.Lines(text) {
		var p page
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		p.URL, p.FinalURL = strings.TrimPrefix(p.URL, base), strings.TrimPrefix(p.FinalURL, base)
		if _, ok := lines[p.URL]; ok {
			t.Errorf("%s has two lines", p.URL)
		}
		lines[p.URL] = p
	}
	return lines
}

// depths prints the pages as "url depth", sorted.
func (r result) depths() string {
	var all []string
	for url, p := range r.lines {
		all = append(all, fmt.Sprintf("%s:%d", url, p.Depth))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestLines(t *testing.T) {
	s := serve(t, map[string]string{
		"/robots.txt": "text: User-agent: *\nDisallow: /private/\n",
		"/": `<html><head><title> The
			&lt;front&gt;  page </title><style>p { color: red }</style></head>
			<body><h1>Head</h1>line<p>in<b>line</b> text<script>var x = "a b c"</script>
			<a href="/b?x=1&amp;y=2#top">b</a><a href="/b?y=2&amp;x=1">again</a><a href="#">self</a>
			<map><area href="doc.pdf"></map><a href="mailto:me@example.com">mail</a><a name="no">none</a>
			<a href="/moved">m</a> <a href="/known">k</a> <a href="/refresh">r</a> <a href="/private/x">p</a>
			<a href="/missing">404</a><a href="http://offsite.example/">off</a></body></html>`,
		"/b?x=1&y=2": "latin1: <title>Caf\xe9</title><p>d\xe9j\xe0 vu<svg><title>no</title></svg>",
		"/doc.pdf":   `text: <title>no</title><a href="/nowhere">not a link</a>`,
		"/moved":     "-> /hop",
		"/hop":       "-> /end",
		"/end":       `<svg><g><title>picture</title></g></svg><a href="/below">below</a>`,
		"/below":     "",
		"/known":     "-> /b?x=1&y=2",
		"/refresh":   `<meta http-equiv="Refresh" content="5; URL=refreshed"><title>wait</title>`,
		"/refreshed": `<a href="/after">after</a>`,
		"/after":     "one two<br>three",
	})
	r := start(t, s.URL)
	want := map[string]page{
		"/":          {FinalURL: "/", Title: "The <front> page", Words: 11, Links: 10},
		"/b?x=1&y=2": {FinalURL: "/b?x=1&y=2", Depth: 1, Title: "Café", Words: 3},
		"/doc.pdf":   {FinalURL: "/doc.pdf", Depth: 1},
		"/moved":     {FinalURL: "/end", Depth: 1, Words: 2, Links: 1},
		"/below":     {FinalURL: "/below", Depth: 2},
		"/refresh":   {FinalURL: "/refresh", Depth: 1, Title: "wait"},
		"/refreshed": {FinalURL: "/refreshed", Depth: 1, Words: 1, Links: 1},
		"/after":     {FinalURL: "/after", Depth: 2, Words: 3},
	}
	for url, p := range want {
		p.URL, p.Status = url, http.StatusOK
		if got := r.lines[url]; got != p {
			t.Errorf("%s\ngot  %+v\nwant %+v", url, got, p)
		}
	}
	if len(r.lines) != len(want) || r.code != exitFinished || r.stderr != "" {
		t.Errorf("exit code %d, stderr %q, lines for %s", r.code, r.stderr, r.depths())
	}
	if want := "/ /after /b?x=1&y=2 /below /doc.pdf /end /hop /known /missing /moved /refresh /refreshed /robots.txt"; s.asked() != want {
		t.Errorf("the server was asked for\n%s\nwant\n%s", s.asked(), want)
	}
	for reason, n := range map[string]int64{"filtered: offsite": 1, "robots: forbidden": 1, "failed: status": 1} {
		if r.summary.Stats.Reasons[reason] != n {
			t.Errorf("reasons %v, want %q %d times", r.summary.Stats.Reasons, reason, n)
		}
	}
}

func TestBounds(t *testing.T) {
	pages := map[string]string{
		"/":        `<a href="/1">`,
		"/1":       `<a href="/2">`,
		"/2":       `<a href="/3">`,
		"/3":       ``,
		"/refresh": `<meta http-equiv=refresh content="0; url=/target">`,
		"/target":  `<a href="/1">`,
		"/turns":   `<meta http-equiv=refresh content="0; url=/t1">`,
		"/self":    `<meta http-equiv=refresh content="300">`,
	}
	for n := 1; n < 20; n++ {
		pages[fmt.Sprintf("/t%d", n)] = fmt.Sprintf(`<meta http-equiv=refresh content="0; url=/t%d">`, n+1)
	}
	s := serve(t, pages)
	tests := []struct {
		name  string
		flags string
		lines string
	}{
		{"no limit", "", "/1:1 /2:2 /3:3 /:0"},
		{"seeds alone", "-depth 0", "/:0"},
		{"two levels", "-depth 2", "/1:1 /2:2 /:0"},
		{"several seeds", "-depth 0 -url $/1 -url $/3 -url $/1#again", "/1:0 /3:0"},
		{"a refresh keeps the depth", "-depth 0 -url $/refresh", "/refresh:0 /target:0"},
		{"what follows it does not", "-depth 1 -url $/refresh", "/1:1 /refresh:0 /target:0"},
		{"a page that reloads itself", "-url $/self", "/self:0"},
		{"refreshes without end", "-depth 0 -url $/turns", "/t10:0 /t1:0 /t2:0 /t3:0 /t4:0 /t5:0 /t6:0 /t7:0 /t8:0 /t9:0 /turns:0"},
		{"room enough", "-max-pages 4", "/1:1 /2:2 /3:3 /:0"},
		{"no robots.txt", "-ignore-robots -depth 0", "/:0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := start(t, s.URL, strings.Fields(strings.ReplaceAll(test.flags, "$", s.URL))...)
			if r.depths() != test.lines || r.code != exitFinished || r.stderr != "" {
				t.Errorf("exit code %d, stderr %q, got %s, want %s", r.code, r.stderr, r.depths(), test.lines)
			}
		})
	}
	t.Run("too many pages", func(t *testing.T) {
		r := start(t, s.URL, "-max-pages", "2")
		if r.code != exitStopped || r.depths() != "/1:1 /:0" || r.stderr != "sitecrawl: stopped before the end: limit: pages\n" {
			t.Errorf("exit code %d, stderr %q, lines for %s", r.code, r.stderr, r.depths())
		}
	})
}

// A host without end is asked -host-pages times, and the crawl finishes.
//
// It fails if the flag does not set Politeness.MaxPages.
func TestHostPages(t *testing.T) {
	var endless site
	endless.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		endless.mu.Lock()
		endless.log = append(endless.log, r.URL.RequestURI())
		endless.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<a href="%s1">one</a> <a href="%[1]s2">two</a>`, r.URL.Path)
	}))
	t.Cleanup(endless.Close)
	r := start(t, endless.URL, "-host-pages", "7")
	endless.mu.Lock()
	defer endless.mu.Unlock()
	if r.code != exitFinished || len(endless.log) != 7 || len(r.lines) != 7 || r.summary.Stats.Reasons["filtered: page-budget"] == 0 {
		t.Errorf("exit code %d, asked %d times, %d lines, reasons %v", r.code, len(endless.log), len(r.lines), r.summary.Stats.Reasons)
	}
}

func TestDomains(t *testing.T) {
	other := serve(t, map[string]string{"/": ""})
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	s := serve(t, map[string]string{"/": fmt.Sprintf(`<a href="http://127.0.0.1:%s/"><a href="http://a.localhost:%s/">`, port, port)})
	tests := []struct {
		name  string
		flags []string
		asked bool
	}{
		{"a private address that is no seed", nil, false},
		{"allowed", []string{"-allow-private"}, true},
		{"of another domain", []string{"-allow-private", "-domains", "example.com,127.0.0.1:" + strings.TrimPrefix(s.URL, "http://127.0.0.1:")}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other.log = nil
			r := start(t, s.URL, test.flags...)
			if (other.asked() != "") != test.asked || r.code != exitFinished {
				t.Errorf("exit code %d, the other server was asked for %q", r.code, other.asked())
			}
		})
	}
}

func TestAgent(t *testing.T) {
	s := serve(t, map[string]string{"/": "", "/robots.txt": "text: User-agent: badbot\nDisallow: /\n"})
	r := start(t, s.URL, "-agent", "BadBot/1.0")
	if len(r.lines) != 0 || r.code != exitFailed || !strings.Contains(r.stderr, "robots.txt of the site forbids it") {
		t.Errorf("exit code %d, stderr %q, lines for %s", r.code, r.stderr, r.depths())
	}
	start(t, s.URL, "-agent", "BadBot/1.0", "-ignore-robots")
	if s.asked() != "/ /robots.txt" || len(s.agents) != 1 || !s.agents["BadBot/1.0"] {
		t.Errorf("the server was asked for %s by %v", s.asked(), s.agents)
	}
}

// A refresh takes the place of its page, until there were too many in a row.
func TestRefresh(t *testing.T) {
	refresh := spidertest.HTML(`<meta http-equiv=refresh content="0; url=/target"><title>wait</title>`)
	for before, depth := range map[int]int{0: 0, maxRefreshes - 1: 0, maxRefreshes: 1} {
		pages, requests := spidertest.Parse[page](t, tegenaria.Handle(read), refresh, "https://demo.example/",
			spidertest.ParseWithRequest(tegenaria.RequestWithRequestMeta(map[string]any{refreshes: before})))
		if want := (page{URL: "https://demo.example/", FinalURL: "https://demo.example/", Status: 200, Title: "wait"}); len(pages) != 1 || pages[0] != want {
			t.Errorf("after %d refreshes: %+v", before, pages)
		}
		if len(requests) != 1 || requests[0].Url != "https://demo.example/target" || requests[0].Depth != depth {
			t.Errorf("after %d refreshes: %+v, want depth %d", before, requests, depth)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel() // it waits between its retries
	s := serve(t, map[string]string{"/": "hang"})
	r := start(t, s.URL, "-timeout", "20ms")
	if r.code != exitFailed || !strings.Contains(r.stderr, "took longer than 20ms") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
}

func TestDemoSite(t *testing.T) {
	site := demosite.Handler()
	var mu sync.Mutex
	asked := make(map[string]int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.RequestURI()]++
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/flaky/") {
			w.Header().Set("Retry-After", "1") // or else the pauses are doubled
		}
		site.ServeHTTP(w, r)
	}))
	defer server.Close()
	r := start(t, server.URL)
	if r.code != exitFinished {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	for url, n := range asked { // a flaky page fails at first, and is tried again; a loop is one when a page comes again
		if n > 1 && !strings.HasPrefix(url, "/flaky/") && url != "/old/loop/" {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
	for _, url := range []string{"/flaky/1", "/flaky/2", "/flaky/3"} {
		if p, ok := r.lines[url]; !ok || asked[url] < 2 || p.Status != http.StatusOK {
			t.Errorf("%s: asked for %d times, line %+v", url, asked[url], p)
		}
	}
	for _, url := range []string{"/quotes/page/10/", "/books/hamlet/", "/author/jane-austen/", "/old/refresh/", "/api/quotes"} {
		if p, ok := r.lines[url]; !ok || asked[url] != 1 || p.FinalURL != url {
			t.Errorf("%s: asked for %d times, line %+v", url, asked[url], p)
		}
	}
	if p := r.lines["/old/refresh/"]; p.Title != "Moved" || r.lines["/private/"] != (page{}) || asked["/private/"] != 0 {
		t.Errorf("/old/refresh/: %+v, /private/ was asked for %d times", p, asked["/private/"])
	}
}
