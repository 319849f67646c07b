package spiders_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spiders"
)

// A durable job that was stopped goes on with the sitemaps and the pages that wait, and knows their parsers by name.
func TestDurable(t *testing.T) {
	const sitemaps, each = 4, 10
	var mu sync.Mutex // guards times
	times := make(map[string]int)
	var server string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		times[r.URL.Path]++
		mu.Unlock()
		var n int
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, "Sitemap: /sitemap.xml")
		case r.URL.Path == "/sitemap.xml":
			io.WriteString(w, index("/sitemap-0.xml", "/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-3.xml"))
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/sitemap-%d.xml", &n); err != nil {
				return
			}
			var urls []string
			for i := range each {
				urls = append(urls, fmt.Sprintf("%s/shop/%d-%d", server, n, i))
			}
			io.WriteString(w, urlset(urls...))
		}
	})
	server = s.URL

	parsed := make(map[string]int)
	rounds := stopAndGoOn(t, 15, func() tegenaria.SpiderInterface {
		spider := spiders.NewSitemap("shop", nil, server)
		spider.Rules = []spiders.Rule{{Match: regexp.MustCompile("/shop/"), Parser: func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			parsed[resp.Request.Url]++
			return nil
		}}}
		return spider
	})
	if rounds < 2 {
		t.Errorf("the job was stopped %d times", rounds)
	}
	if len(parsed) != sitemaps*each {
		t.Errorf("%d pages were parsed, want %d", len(parsed), sitemaps*each)
	}
	for url, n := range parsed {
		if n != 1 {
			t.Errorf("%s was parsed %d times", url, n)
		}
	}
	for path, n := range times {
		if strings.HasPrefix(path, "/sitemap") && n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

// stopAndGoOn runs a durable job again and again, until it has come to its end: each run stops after so many pages. It returns how
// many runs were stopped.
func stopAndGoOn(t *testing.T, pages int, spider func() tegenaria.SpiderInterface) (rounds int) {
	t.Helper()
	dir := t.TempDir()
	for ; ; rounds++ {
		cache, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider()), tegenaria.EngineWithCache(cache), silent,
			tegenaria.EngineWithLimits(tegenaria.Limits{Pages: pages})).Run(t.Context(), "shop")
		cache.Close()
		if err == nil {
			return rounds
		}
		if stopped := (*tegenaria.StoppedError)(nil); !errors.As(err, &stopped) || rounds > 50 {
			t.Fatalf("round %d: %v", rounds, err)
		}
	}
}

// A sitemap of 40 MB, more than a body in memory may have here, is read up to its limit, and memory does not grow with it.
func TestBigSitemap(t *testing.T) {
	const entries = 50_010
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sitemap.xml" {
			http.NotFound(w, r)
			return
		}
		padding := strings.Repeat(" ", 750)
		io.WriteString(w, "<urlset>")
		for i := range entries {
			fmt.Fprintf(w, "<url><loc>http://elsewhere.test/%d</loc>%s</url>", i, padding)
		}
	})
	var peak uint64
	spider := spiders.NewSitemap("test", seen, s.URL+"/sitemap.xml")
	spider.Rules = []spiders.Rule{{Match: regexp.MustCompile("never")}}
	var told error
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), silent, tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			told = err
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = m.HeapAlloc
		}))
	if err := e.Run(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if told == nil || !strings.Contains(told.Error(), "more than 50000 URLs") {
		t.Errorf("the error is %v", told)
	}
	if peak == 0 || deep.Checks() && peak > 20<<20 {
		t.Errorf("%d KiB of heap when the sitemap had been read", peak>>10)
	}
}
