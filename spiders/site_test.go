package spiders_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spiders"
)

// A site is crawled by links and a meta refresh, which keeps the depth; with sitemaps also from what they list.
func TestSite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := map[string]string{
			"/":            `<title> The  front </title><body>three words here <a href=/a>a</a><a href=/a#x>a</a><a href=/gone>gone</a>`,
			"/a":           `<meta http-equiv=refresh content="0; url=/b">`,
			"/b":           `<title>B</title>`,
			"/hidden":      `<svg><title>no</title></svg><title>Hidden</title>`,
			"/sitemap.xml": `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://` + r.Host + `/hidden</loc></url></urlset>`,
		}[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path != "/sitemap.xml" {
			w.Header().Set("Content-Type", "text/html")
		}
		fmt.Fprint(w, page)
	}))
	defer server.Close()
	login := strings.Replace(server.URL, "://", "://me:secret@", 1)
	for _, test := range []struct {
		sitemaps bool
		want     []string
	}{
		{false, []string{`/ 0 "The front" 4 2`, `/a 1 "" 0 0`, `/b 1 "B" 0 0`}},
		{true, []string{`/ 0 "The front" 4 2`, `/a 1 "" 0 0`, `/b 1 "B" 0 0`, `/hidden 0 "Hidden" 2 0`}},
	} {
		var got []string
		for page, err := range tegenaria.Crawl[spiders.SitePage](t.Context(), spiders.NewSite("site", test.sitemaps, nil, login+"/"), tegenaria.EngineWithQuiet(), tegenaria.EngineWithAllowedDomains("127.0.0.1")) {
			if err != nil {
				t.Fatal(err)
			}
			if page.Status != 200 || page.FinalURL != page.URL || !strings.HasPrefix(page.URL, server.URL) {
				t.Errorf("%+v", page)
			}
			got = append(got, fmt.Sprintf("%s %d %q %d %d", strings.TrimPrefix(page.URL, server.URL), page.Depth, page.Title, page.Words, page.Links))
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("sitemaps %v: %q, and not %q", test.sitemaps, got, test.want)
		}
	}
}

// It fails if the log warns of what this spider itself looks for on pages, and does not find.
func TestSiteWarnsOfNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/a>a</a><a href=/b>b</a>")
	}))
	defer server.Close()
	var log bytes.Buffer
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spiders.NewSite("site", false, nil, server.URL)),
		tegenaria.EngineWithAllowedDomains("127.0.0.1"), tegenaria.EngineWithSlog(slog.New(slog.NewTextHandler(&log, nil))))
	if err := engine.Run(t.Context(), "site"); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "3 pages, 3 items") || strings.Contains(text, "level=WARN") {
		t.Error(text)
	}
}

// A Refresh header is followed as a meta element is, which it comes before, of whatever the page is made of.
func TestSiteRefreshHeader(t *testing.T) {
	const meta = `<meta http-equiv=refresh content="0; url=/meta">`
	for _, test := range []struct {
		name, contentType, header, page string
		want                            []string // paths, each with its depth
	}{
		{"an empty page", "text/html", "0; url=/target", "", []string{"/ 0", "/target 0"}},
		{"no HTML", "text/plain", "5; url='target'", "text", []string{"/ 0", "/target 0"}},
		{"before the meta element", "text/html", "0;URL=/target", meta, []string{"/ 0", "/target 0"}},
		{"only reloads", "text/html", "30", meta, []string{"/ 0"}},
		{"not readable", "text/html", "soon; url=/target", meta, []string{"/ 0", "/meta 0"}},
		{"none", "text/html", "", meta, []string{"/ 0", "/meta 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				switch r.URL.Path {
				case "/":
					w.Header().Set("Content-Type", test.contentType)
					if test.header != "" {
						w.Header().Set("Refresh", test.header)
					}
					fmt.Fprint(w, test.page)
				case "/robots.txt":
					http.NotFound(w, r)
				}
			}))
			defer server.Close()
			var got []string
			for page, err := range tegenaria.Crawl[spiders.SitePage](t.Context(), spiders.NewSite("site", false, nil, server.URL+"/"), tegenaria.EngineWithQuiet()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%s %d", strings.TrimPrefix(page.URL, server.URL), page.Depth))
			}
			if slices.Sort(got); !slices.Equal(got, test.want) {
				t.Errorf("%q, and not %q", got, test.want)
			}
		})
	}
}
