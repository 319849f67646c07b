package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The pages in the sitemaps are seeds beside the URLs: their depth is 0, and what they link to is crawled.
func TestSitemaps(t *testing.T) {
	pages := map[string]string{
		"/":            `<a href="/linked">l</a>`,
		"/linked":      "",
		"/map/1.xml":   `text: <urlset><url><loc>/orphan</loc></url><url><loc>/private</loc></url><url><loc>http://elsewhere.example/</loc></url></urlset>`,
		"/orphan":      `<a href="/from-orphan">f</a>`,
		"/private":     "",
		"/from-orphan": "",
	}
	const want = "/:0 /from-orphan:1 /linked:1 /orphan:0"
	for _, tt := range []struct {
		name  string
		more  map[string]string
		flags []string
		want  string
	}{
		{"named by robots.txt", map[string]string{"/robots.txt": "text: User-agent: *\nDisallow: /private\nSitemap: /map/1.xml"}, []string{"-sitemaps"}, want},
		{"where all have theirs", map[string]string{"/robots.txt": "text: User-agent: *\nDisallow: /private\n",
			"/sitemap.xml": "text: <sitemapindex><sitemap><loc>/map/1.xml</loc></sitemap></sitemapindex>"}, []string{"-sitemaps"}, want},
		{"none", nil, []string{"-sitemaps"}, "/:0 /linked:1"},
		{"not asked for", map[string]string{"/robots.txt": "text: Sitemap: /map/1.xml"}, nil, "/:0 /linked:1"},
		{"with a depth", map[string]string{"/robots.txt": "text: User-agent: *\nDisallow: /private\nSitemap: /map/1.xml"}, []string{"-sitemaps", "-depth", "0"}, "/:0 /orphan:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := maps.Clone(pages)
			maps.Copy(all, tt.more)
			s := serve(t, all)
			r := start(t, s.URL, tt.flags...)
			if r.depths() != tt.want || r.code != exitFinished {
				t.Errorf("exit code %d, stderr %q, got %s, want %s", r.code, r.stderr, r.depths(), tt.want)
			}
			if sitemaps := strings.Contains(s.asked(), "/map/1.xml"); sitemaps != (len(tt.flags) > 0 && tt.more != nil) {
				t.Errorf("asked for %s", s.asked())
			}
		})
	}
}

// Logins go to the origins of the URLs with that host, and to no other.
func TestAuth(t *testing.T) {
	var mu sync.Mutex // guards log
	log := make(map[string][]string)
	server := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			mu.Lock()
			log[name] = append(log[name], fmt.Sprint(r.URL.Path, " ", user, password))
			mu.Unlock()
			if !ok && name == "one" && r.URL.Path != "/robots.txt" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		t.Cleanup(s.Close)
		return s
	}
	one, two := server("one"), server("two")
	host := strings.TrimPrefix(one.URL, "http://")
	for _, flag := range []string{host + "=me:a:b", one.URL + "=me:a:b"} {
		clear(log)
		r := start(t, one.URL, "-url", one.URL+"/", "-url", two.URL+"/", "-auth", flag)
		if !slices.Contains(log["one"], "/ mea:b") || !slices.Contains(log["two"], "/ ") || len(r.lines) != 2 {
			t.Errorf("-auth %s: the servers saw %q, lines for %s", flag, log, r.depths())
		}
	}
	clear(log)
	start(t, one.URL, "-auth", "elsewhere.example=me:a")
	if slices.ContainsFunc(log["one"], func(s string) bool { return strings.Contains(s, "me") }) {
		t.Errorf("the server saw %q", log["one"])
	}
}

// A job that starts from sitemaps goes on where it was stopped, and has each line once.
func TestSitemapsOfAJob(t *testing.T) {
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
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	code := exitStopped
	for runs := 0; code == exitStopped; runs++ {
		var stderr bytes.Buffer
		code = run([]string{"-url", s.URL + "/", "-sitemaps", "-job", dir, "-out", out, "-max-pages", "6"}, io.Discard, &stderr)
		if runs > 10 {
			t.Fatalf("the job does not end: %s", &stderr)
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got := (result{lines: readLines(t, s.URL, text)}).depths(); code != exitFinished || got != strings.Join(want, " ") {
		t.Errorf("exit code %d, lines for %s", code, got)
	}
}
