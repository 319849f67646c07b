package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/spiders"
)

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

// siteResult is what a crawl of URLs left behind.
type siteResult struct {
	code    int
	lines   map[string]spiders.SitePage // by URL without the server's address
	stderr  string
	reasons map[string]int64
}

// crawlSite runs the command crawl on a server, with the seed / unless there are URLs among the arguments.
func crawlSite(t *testing.T, base string, args ...string) siteResult {
	t.Helper()
	dir := t.TempDir()
	out, result := filepath.Join(dir, "pages.jsonl"), filepath.Join(dir, "result.json")
	if err := os.WriteFile(out, []byte("of an earlier crawl, longer than\nany that follows\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "http") }) {
		args = append(args, base+"/")
	}
	var stdout, stderr bytes.Buffer
	args = append([]string{"crawl", "--log-level", "error", "-O", out, "--result", result, "--config", noSettings(t)}, args...)
	r := siteResult{code: cli.New().Run(t.Context(), args, nil, &stdout, &stderr), stderr: stderr.String()}
	if stdout.Len() > 0 {
		t.Errorf("stdout: %s", &stdout)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	r.lines = readLines(t, base, text)
	var counts struct {
		Summary struct {
			Stats struct {
				Outcomes, Reasons map[string]int64
				ItemScraped       int64 `json:"item_scraped"`
			}
		}
	}
	text, err = os.ReadFile(result)
	if err = errors.Join(err, json.Unmarshal(text, &counts)); err != nil {
		t.Fatalf("result: %v", err)
	}
	stats := counts.Summary.Stats
	if n := int64(len(r.lines)); stats.ItemScraped != n || stats.Outcomes["fetched"] != n {
		t.Errorf("the summary counts %d items and %d fetched, there are %d lines", stats.ItemScraped, stats.Outcomes["fetched"], n)
	}
	r.reasons = stats.Reasons
	return r
}

func readLines(t *testing.T, base string, text []byte) map[string]spiders.SitePage {
	t.Helper()
	lines := make(map[string]spiders.SitePage)
	for line := range bytes.Lines(text) {
		var p spiders.SitePage
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
func (r siteResult) depths() string {
	var all []string
	for url, p := range r.lines {
		all = append(all, fmt.Sprintf("%s:%d", url, p.Depth))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// There is a line for every page that was fetched, with what a reader sees of it.
func TestSiteLines(t *testing.T) {
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
	r := crawlSite(t, s.URL)
	want := map[string]spiders.SitePage{
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
	if len(r.lines) != len(want) || r.code != 0 || r.stderr != "" {
		t.Errorf("exit code %d, stderr %q, lines for %s", r.code, r.stderr, r.depths())
	}
	if want := "/ /after /b?x=1&y=2 /below /doc.pdf /end /hop /known /missing /moved /refresh /refreshed /robots.txt"; s.asked() != want {
		t.Errorf("the server was asked for\n%s\nwant\n%s", s.asked(), want)
	}
	for reason, n := range map[string]int64{"filtered: offsite": 1, "robots: forbidden": 1, "failed: status": 1} {
		if r.reasons[reason] != n {
			t.Errorf("reasons %v, want %q %d times", r.reasons, reason, n)
		}
	}
}

func TestSiteBounds(t *testing.T) {
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
		{"seeds alone", "--depth 0", "/:0"},
		{"two levels", "--depth 2", "/1:1 /2:2 /:0"},
		{"several seeds", "--depth 0 $/1 $/3 $/1#again", "/1:0 /3:0"},
		{"a refresh keeps the depth", "--depth 0 $/refresh", "/refresh:0 /target:0"},
		{"what follows it does not", "--depth 1 $/refresh", "/1:1 /refresh:0 /target:0"},
		{"a page that reloads itself", "$/self", "/self:0"},
		{"refreshes without end", "--depth 0 $/turns", "/t10:0 /t1:0 /t2:0 /t3:0 /t4:0 /t5:0 /t6:0 /t7:0 /t8:0 /t9:0 /turns:0"},
		{"room enough", "--limit pages=4", "/1:1 /2:2 /3:3 /:0"},
		{"no robots.txt", "--ignore-robots --depth 0", "/:0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := crawlSite(t, s.URL, strings.Fields(strings.ReplaceAll(test.flags, "$", s.URL))...)
			if r.depths() != test.lines || r.code != 0 || r.stderr != "" {
				t.Errorf("exit code %d, stderr %q, got %s, want %s", r.code, r.stderr, r.depths(), test.lines)
			}
		})
	}
	t.Run("too many pages", func(t *testing.T) {
		r := crawlSite(t, s.URL, "--limit", "pages=2")
		if r.code != 3 || r.depths() != "/1:1 /:0" || r.stderr != "tegenaria: crawl stopped: limit: pages (with --stop-ok a limit is no failure)\n" {
			t.Errorf("exit code %d, stderr %q, lines for %s", r.code, r.stderr, r.depths())
		}
	})
}

// A host without end is asked --host-pages times, and the crawl finishes.
//
// It fails if the flag does not set Politeness.MaxPages.
func TestSiteHostPages(t *testing.T) {
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
	r := crawlSite(t, endless.URL, "--host-pages", "7")
	endless.mu.Lock()
	defer endless.mu.Unlock()
	if r.code != 0 || len(endless.log) != 7 || len(r.lines) != 7 || r.reasons["filtered: page-budget"] == 0 {
		t.Errorf("exit code %d, asked %d times, %d lines, reasons %v", r.code, len(endless.log), len(r.lines), r.reasons)
	}
}

func TestSiteDomains(t *testing.T) {
	other := serve(t, map[string]string{"/": ""})
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	s := serve(t, map[string]string{"/": fmt.Sprintf(`<a href="http://127.0.0.1:%s/"><a href="http://a.localhost:%s/">`, port, port)})
	tests := []struct {
		name  string
		flags []string
		asked bool
	}{
		{"a private address that is no seed", nil, false},
		{"allowed", []string{"--allow-private"}, true},
		{"of another domain", []string{"--allow-private", "--domains", "example.com,127.0.0.1:" + strings.TrimPrefix(s.URL, "http://127.0.0.1:")}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other.log = nil
			r := crawlSite(t, s.URL, test.flags...)
			if (other.asked() != "") != test.asked || r.code != 0 {
				t.Errorf("exit code %d, the other server was asked for %q", r.code, other.asked())
			}
		})
	}
}

func TestSiteAgent(t *testing.T) {
	s := serve(t, map[string]string{"/": "", "/robots.txt": "text: User-agent: badbot\nDisallow: /\n"})
	r := crawlSite(t, s.URL, "--agent", "BadBot/1.0")
	if len(r.lines) != 0 || r.code != 1 || !strings.Contains(r.stderr, "robots.txt of the site forbids it") {
		t.Errorf("exit code %d, stderr %q, lines for %s", r.code, r.stderr, r.depths())
	}
	crawlSite(t, s.URL, "--agent", "BadBot/1.0", "--ignore-robots")
	if s.asked() != "/ /robots.txt" || len(s.agents) != 1 || !s.agents["BadBot/1.0"] {
		t.Errorf("the server was asked for %s by %v", s.asked(), s.agents)
	}
}

func TestSiteTimeout(t *testing.T) {
	t.Parallel() // it waits between its retries
	s := serve(t, map[string]string{"/": "hang"})
	r := crawlSite(t, s.URL, "--timeout", "20ms")
	if r.code != 1 || !strings.Contains(r.stderr, "took longer than 20ms") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
}

// A job that starts from sitemaps goes on where it was stopped, and has each line once.
func TestSiteJob(t *testing.T) {
	pages := map[string]string{"/": "", "/robots.txt": "text: Sitemap: /sitemap-index.xml", "/sitemap-index.xml": "text: <sitemapindex>"}
	want := []string{"/:0"}
	for n := range 3 {
		name := fmt.Sprintf("/sitemap-%d.xml", n)
		pages["/sitemap-index.xml"] += "<sitemap><loc>" + name + "</loc></sitemap>"
		pages[name] = "text: <urlset>"
		for i := range 5 {
			page := fmt.Sprintf("/%d/%d", n, i)
			pages[page] = ""
			pages[name] += "<url><loc>" + page + "</loc></url>"
			want = append(want, page+":0")
		}
		pages[name] += "</urlset>"
	}
	pages["/sitemap-index.xml"] += "</sitemapindex>"
	s := serve(t, pages)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "pages.jsonl")
	code := 3
	for runs := 0; code == 3; runs++ {
		var stderr bytes.Buffer
		args := []string{"crawl", s.URL + "/", "--sitemaps", "--job", dir, "-O", out, "--limit", "pages=6", "--config", noSettings(t)}
		code = cli.New().Run(t.Context(), args, nil, io.Discard, &stderr)
		if runs > 10 {
			t.Fatalf("the job does not end: %s", &stderr)
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got := (siteResult{lines: readLines(t, s.URL, text)}).depths(); code != 0 || got != strings.Join(want, " ") {
		t.Errorf("exit code %d, lines for %s", code, got)
	}
}
