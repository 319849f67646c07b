package spidertest_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

func folder(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, body := range files {
		m[name] = &fstest.MapFile{Data: []byte(body)}
	}
	return m
}

var library = folder(map[string]string{
	"index.html":               `<a href="books">books</a> <a href="about">about</a> <a href="/secret/">secret</a>`,
	"about.html":               `<p>about <a href="https://elsewhere.example/x?y=1">else</a>`,
	"books/index.html":         `<a href="1.html">1</a> <a href="?page=2">2</a> <a href="gone.html">gone</a>`,
	"books/index.html?page=2":  `<html><a href="2.html">2</a> <a href="/old">old</a>`,
	"books/1.html":             `<h1>Moby-Dick</h1>`,
	"books/2.html":             `<h1>Middlemarch</h1>`,
	"search?q=a.html":          `<h1>one</h1>`,
	"data.json":                `{}`,
	"feed.xml":                 `<rss/>`,
	"robots.txt":               "User-agent: *\nDisallow: /secret/\n",
	"secret/index.html":        `<h1>Secret</h1>`,
	"with space.html":          `<p>space`,
	"books/index.html?page=%3": `not for ever`,
})

func TestSiteAnswers(t *testing.T) {
	site := spidertest.Site(t, library, spidertest.SiteWithPages(map[string]spidertest.Page{
		"/old":       spidertest.Redirect("/books/2.html"),
		"/books/":    {Status: 503, Header: map[string]string{"Retry-After": "1"}, Body: "later"},
		"/about?x=1": spidertest.HTML("<p>the query"),
		"/api":       spidertest.JSON("[]"),
	}))
	client := site.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, c := range []struct{ url, want string }{ // status, Content-Type, Location, body
		{site.URL() + "/", "200 text/html  <a href=\"books\">"},
		{site.URL(), "200 text/html  <a href=\"books\">"},
		{site.URL() + "/index.html", "200 text/html  <a href=\"books\">"},
		{site.URL() + "/about", "200 text/html  <p>about"},
		{site.URL() + "/about.html?z", "200 text/html  <p>about"},
		{site.URL() + "/about?x=1", "200 text/html; charset=utf-8  <p>the query"},
		{site.URL() + "/books", "301 text/plain; charset=utf-8 /books/ the folder"},
		{site.URL() + "/books?page=2", "301 text/plain; charset=utf-8 /books/?page=2 the folder"},
		{site.URL() + "/books/", "503 text/plain; charset=utf-8  later"},
		{site.URL() + "/books/?page=2", "200 text/html  <html><a href"},
		{site.URL() + "/search?q=a", "200 text/html  <h1>one"},
		{site.URL() + "/search", "404 text/plain; charset=utf-8  spidertest: the Site has no file for /search"},
		{site.URL() + "/none.html", "404 text/plain; charset=utf-8  spidertest"},
		{site.URL() + "/books/../../x", "404 text/plain; charset=utf-8  spidertest"},
		{site.URL() + "//about", "404 text/plain; charset=utf-8  spidertest"},
		{site.URL() + "/with%20space", "200 text/html  <p>space"},
		{site.URL() + "/data.json", "200 application/json  {}"},
		{site.URL() + "/feed.xml", "200 application/xml  <rss/>"},
		{site.URL() + "/robots.txt", "200 text/plain; charset=utf-8  User-agent"},
		{site.URL() + "/api", "200 application/json  []"},
		{site.URL() + "/old", "302  /books/2.html "},
		{"https://site.test/about", "200 text/html  <p>about"},
		{"https://SITE.test/about", "200 text/html  <p>about"},
		{"http://other.test/about", "404 text/plain; charset=utf-8  spidertest: this Site is http://site.test"},
	} {
		resp, err := client.Get(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		got := strings.Join([]string{resp.Status[:3], resp.Header.Get("Content-Type"), resp.Header.Get("Location"), string(body)}, " ")
		if err != nil || !strings.HasPrefix(got, c.want) || resp.Request.URL.String() != c.url {
			t.Errorf("%s: %q, %v, want %q", resp.Request.URL, got, err, c.want)
		}
	}
	resp, err := client.Post(site.URL()+"/api", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	log := site.Log()
	if v := log[len(log)-1]; v.Method != "POST" || v.URL != "/api" || v.Status != 200 || v.Time.IsZero() {
		t.Errorf("the last visit is %+v", v)
	}
	if v := log[len(log)-2]; v.URL != "http://other.test/about" || v.Status != 404 {
		t.Errorf("the last visit but one is %+v", v)
	}
	if crawled := site.Crawled(); !slices.Contains(crawled, "POST /api") || slices.Contains(crawled, "/robots.txt") {
		t.Errorf("crawled: %q", crawled)
	}
}

// crawlAll crawls a site by its links, and returns the headings.
func crawlAll(t *testing.T, site *spidertest.ServedSite, opts ...tegenaria.EngineOption) (headings []string) {
	t.Helper()
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		var errs []error
		for _, h := range page.CSS("h1").All() {
			errs = append(errs, out.Item(h.Text()))
		}
		return errors.Join(append(errs, out.FollowLinks())...)
	})
	spider := tegenaria.NewSpider("all", parser, site.URL()+"/")
	headings = spidertest.Crawl[string](t, spider, append(opts, site.Engine())...)
	slices.Sort(headings)
	return headings
}

// A whole crawl: redirects are followed, robots.txt is obeyed, nothing leaves the machine. With a bubble, no time passes either.
func TestSiteCrawl(t *testing.T) {
	check := func(t *testing.T, opts ...tegenaria.EngineOption) {
		site := spidertest.Site(t, library, spidertest.SiteWithPages(map[string]spidertest.Page{"/old": spidertest.Redirect("/books/2.html")}))
		if got := crawlAll(t, site, opts...); !slices.Equal(got, []string{"Middlemarch", "Moby-Dick"}) {
			t.Errorf("items %q", got)
		}
		want := []string{"/", "/about", "/books", "/books/", "/books/1.html", "/books/2.html", "/books/?page=2", "/books/gone.html", "/old", "https://elsewhere.example/x?y=1"}
		if got := site.Crawled(); !slices.Equal(got, want) {
			t.Errorf("crawled %q, want %q", got, want)
		}
	}
	t.Run("network", func(t *testing.T) { check(t) })
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			check(t, tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Minute}))
			if took := time.Since(began); took < 8*time.Minute {
				t.Errorf("9 pages of a host took %s", took)
			}
		})
	})
}

// A site under the name that its pages have in their links.
func TestSiteWithURL(t *testing.T) {
	site := spidertest.Site(t, folder(map[string]string{"index.html": `<h1>Home</h1><a href="https://books.example/two.html">`, "two.html": "<h1>Two</h1>"}),
		spidertest.SiteWithURL("https://books.example/"))
	if site.URL() != "https://books.example" {
		t.Errorf("URL %s", site.URL())
	}
	if got := crawlAll(t, site); !slices.Equal(got, []string{"Home", "Two"}) {
		t.Errorf("items %q", got)
	}
	if got := site.Crawled(); !slices.Equal(got, []string{"/", "/two.html"}) {
		t.Errorf("crawled %q", got)
	}
}

// brokenFolder has files that cannot be read.
type brokenFolder struct{ fs.FS }

func (b brokenFolder) ReadFile(name string) ([]byte, error) {
	return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("the disk is gone")}
}

func TestSiteFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		files fs.FS
		opt   spidertest.SiteOption
		want  string
	}{
		{"no folder", nil, spidertest.SiteWithURL("http://site.test"), "fatal: spidertest: Site: the folder is nil"},
		{"nil option", library, nil, "fatal: spidertest: Site: an option is nil"},
		{"URL with a path", library, spidertest.SiteWithURL("https://books.example/shop"), `fatal: spidertest: SiteWithURL("https://books.example/shop"): write scheme and host alone`},
		{"URL without a scheme", library, spidertest.SiteWithURL("books.example"), "write scheme and host alone"},
		{"page without a slash", library, spidertest.SiteWithPages(map[string]spidertest.Page{"old": {}}), `"old" is not a path`},
		{"page without its file", library, spidertest.SiteWithPages(map[string]spidertest.Page{"/old": spidertest.File("testdata/none")}), "testdata/none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fails(func(m *mock) { spidertest.Site(m, c.files, c.opt) })
			if !strings.Contains(got, c.want) {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
	t.Run("path that is no name of a file", func(t *testing.T) {
		site := spidertest.Site(t, os.DirFS("testdata/site")) // which calls such a name invalid
		resp, err := site.Client().Get(site.URL() + "//page//2/")
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != 404 {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	t.Run("paths and queries that the file system cannot hold", func(t *testing.T) {
		site := spidertest.Site(t, os.DirFS("testdata/site"))
		for _, path := range []string{"/index.html/x", "/list?q=" + strings.Repeat("long", 100)} {
			resp, err := site.Client().Get(site.URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != 404 {
				t.Errorf("%.20s: status %d", path, resp.StatusCode)
			}
		}
	})
	t.Run("site with the default port", func(t *testing.T) {
		for _, url := range []string{"http://quotes.example:80", "https://quotes.example:443"} {
			site := spidertest.Site(t, os.DirFS("testdata/site"), spidertest.SiteWithURL(url))
			for _, asked := range []string{url, strings.TrimSuffix(strings.TrimSuffix(url, ":80"), ":443")} {
				resp, err := site.Client().Get(asked + "/")
				if err != nil {
					t.Fatal(err)
				}
				if resp.Body.Close(); resp.StatusCode != 200 {
					t.Errorf("%s: status %d", asked, resp.StatusCode)
				}
			}
		}
	})
	t.Run("file that cannot be read", func(t *testing.T) {
		got := fails(func(m *mock) {
			site := spidertest.Site(m, brokenFolder{library})
			resp, err := site.Client().Get(site.URL() + "/about")
			if err != nil || resp.StatusCode != 500 {
				m.Errorf("%v, %v", resp, err)
				return
			}
			resp.Body.Close()
		})
		if want := "spidertest: Site: read about.html: the disk is gone"; got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	})
}

// The log of a crawl goes to the test, unless the caller has a logger; an error of the run ends the test.
func TestCrawlOfATest(t *testing.T) {
	failing := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[int]) error {
		if strings.HasSuffix(page.URL, "/about") {
			return errPage
		}
		return nil
	})
	crawl := func(m *mock, urls []string, opts ...tegenaria.EngineOption) {
		site := spidertest.Site(m, library)
		for i := range urls {
			urls[i] = site.URL() + urls[i]
		}
		if items := spidertest.Crawl[int](m, tegenaria.NewSpider("failing", failing, urls...), append(opts, site.Engine())...); len(items) > 0 {
			m.Errorf("items %v", items)
		}
	}
	var m *mock
	if got := fails(func(t *mock) { m = t; crawl(t, []string{"/", "/about"}) }); got != "" || !strings.Contains(m.output.String(), errPage.Error()) {
		t.Errorf("it says %q and logs %q", got, &m.output)
	}
	var own strings.Builder
	logger := logrus.New()
	logger.SetOutput(&own)
	for name, option := range map[string]tegenaria.EngineOption{
		"logrus": tegenaria.EngineWithLogger(logger), "slog": tegenaria.EngineWithSlog(slog.New(slog.NewTextHandler(&own, nil))),
	} {
		own.Reset()
		fails(func(t *mock) { m = t; crawl(t, []string{"/", "/about"}, option) })
		if m.output.Len() > 0 || !strings.Contains(own.String(), errPage.Error()) {
			t.Errorf("%s: the test has the log %q, the logger %q", name, &m.output, &own)
		}
	}
	if got := fails(func(t *mock) { crawl(t, []string{"/"}, tegenaria.EngineWithConcurrency(-1)) }); !strings.Contains(got, "fatal: spidertest: Crawl: ") {
		t.Errorf("it says %q", got)
	}
}
