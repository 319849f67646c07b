package spidertest

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// SiteOption changes what [Site] serves.
type SiteOption func(s *ServedSite)

// SiteWithURL names the site: scheme and host, "https://books.example", for pages with absolute links (default
// "http://site.test"). It is answered by http and by https.
func SiteWithURL(url string) SiteOption {
	return func(s *ServedSite) { s.url = url }
}

// SiteWithPages adds pages that a folder cannot hold: redirects, errors, addresses with a query. The keys are paths, with the
// query if there is one: "/old", "/list?page=2". These pages go before those of the folder.
func SiteWithPages(pages map[string]Page) SiteOption {
	return func(s *ServedSite) { s.extra = pages }
}

// Visit is one request that a site was sent.
type Visit struct {
	Time   time.Time
	Method string
	URL    string // path and query; absolute if another host was asked for
	Status int    // of the answer
}

// ServedSite is a folder that [Site] serves. Its methods may be called concurrently.
type ServedSite struct {
	t     testing.TB
	url   string
	host  string
	files fs.FS
	extra map[string]Page
	pages map[string]answer // those of extra
	web   *Web

	mu  sync.Mutex // guards log
	log []Visit
}

// Site serves the files of a folder as a web site until the end of the test, in memory: no network is used, and the real
// downloader talks to it, in a bubble of testing/synctest too:
//
//	site := spidertest.Site(t, os.DirFS("testdata/shop"))
//	spider := tegenaria.NewSpider("shop", tegenaria.Handle(parse), site.URL()+"/")
//	books := spidertest.Crawl[Book](t, spider, site.Engine())
//
// A path is answered with the file of that name, else with that file and ".html": /about with about.html. A path that ends in a
// slash, or is empty, is answered with index.html in that folder; a folder without the slash redirects there. With a query
// the file whose name has the query goes first: /list?page=2 is the file "list?page=2" or "list?page=2.html" if there is
// one, and else list. The ending of the file's name decides its Content-Type, as with [File]. All else is 404, robots.txt too
// if there is none: nothing is forbidden then. Methods other than GET are answered in the same way.
//
// Every host leads to the site, so that no test leaves the machine: other hosts than the site's own answer everything with 404,
// and are in the log.
func Site(t testing.TB, files fs.FS, opts ...SiteOption) *ServedSite {
	t.Helper()
	s := &ServedSite{t: t, url: "http://site.test", files: files, pages: make(map[string]answer)}
	for _, opt := range opts {
		if opt == nil {
			t.Fatal("spidertest: Site: an option is nil; leave it out")
		}
		opt(s)
	}
	if files == nil {
		t.Fatal("spidertest: Site: the folder is nil; for SiteWithPages alone give it fstest.MapFS{}")
	}
	s.url = strings.TrimSuffix(s.url, "/")
	base, err := url.Parse(s.url)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.Path != "" || base.RawQuery != "" {
		t.Fatalf("spidertest: SiteWithURL(%q): write scheme and host alone, as in https://books.example", s.url)
	}
	s.host = withoutPort(base.Scheme, base.Host)
	for path, page := range s.extra {
		if !strings.HasPrefix(path, "/") {
			t.Fatalf("spidertest: SiteWithPages: %q is not a path; it has to begin with a slash", path)
		}
		s.pages[path] = page.answer(t)
	}
	s.web = NewWeb(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		if err := s.web.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("spidertest: closing the site: %v", err)
		}
	})
	return s
}

// Crawl runs a spider until it has finished and returns its items of type T, in the order in which they left the pipelines: pages
// are parsed concurrently, so sort the items where that matters. An error of the run ends the test; a test that expects one
// uses tegenaria.Crawl. The log goes to t.Output, which is shown if the test fails, unless an option sets another logger.
func Crawl[T any](t testing.TB, spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) []T {
	t.Helper()
	// EngineWithLogger goes before this, and a second EngineWithSlog replaces it.
	log := tegenaria.EngineWithSlog(slog.New(slog.NewTextHandler(t.Output(), nil)))
	var items []T
	for item, err := range tegenaria.Crawl[T](t.Context(), spider, append([]tegenaria.EngineOption{log}, opts...)...) {
		if err != nil {
			t.Fatalf("spidertest: Crawl: %v", err)
		}
		items = append(items, item)
	}
	return items
}

// URL returns the address of the site, without a slash at its end: "http://site.test".
func (s *ServedSite) URL() string { return s.url }

// Engine is the option of an engine, or of tegenaria.Crawl, that crawls the site. It sets EngineWithHTTPClient.
func (s *ServedSite) Engine() tegenaria.EngineOption {
	return tegenaria.EngineWithHTTPClient(s.Client())
}

// Client returns a client for which the site is all of the web, by http and https.
func (s *ServedSite) Client() *http.Client {
	return &http.Client{Transport: siteTransport{s.web.transport}}
}

// Log returns all requests that were sent so far, in the order in which they came.
func (s *ServedSite) Log() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Crawled returns the URLs of Log, without those of robots.txt, in alphabetical order: pages are downloaded concurrently, so their
// order is another each time. A page that was asked for twice is there twice. Methods other than GET stand before the
// URL: "POST /search".
func (s *ServedSite) Crawled() []string {
	var crawled []string
	for _, v := range s.Log() {
		switch {
		case strings.HasSuffix(v.URL, "/robots.txt"):
		case v.Method == http.MethodGet:
			crawled = append(crawled, v.URL)
		default:
			crawled = append(crawled, v.Method+" "+v.URL)
		}
	}
	slices.Sort(crawled)
	return crawled
}

// serve answers a request, and writes it down before.
func (s *ServedSite) serve(w http.ResponseWriter, r *http.Request) {
	a := s.answer(r)
	visit := Visit{Time: time.Now(), Method: r.Method, URL: r.URL.RequestURI(), Status: a.status}
	if !s.isOwn(r) {
		visit.URL = r.Header.Get(schemeHeader) + "://" + r.Host + visit.URL
	}
	s.mu.Lock()
	s.log = append(s.log, visit)
	s.mu.Unlock()
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	// A client that is gone misses nothing.
	_, _ = w.Write(a.body)
}

func (s *ServedSite) isOwn(r *http.Request) bool {
	return strings.EqualFold(withoutPort(r.Header.Get(schemeHeader), r.Host), s.host)
}

// withoutPort returns a host without the port that is the default of the scheme.
func withoutPort(scheme, host string) string {
	return strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
}

// answer looks for the page of a request.
func (s *ServedSite) answer(r *http.Request) answer {
	if !s.isOwn(r) {
		return problem(http.StatusNotFound, "spidertest: this Site is "+s.url)
	}
	if a, ok := s.pages[r.URL.RequestURI()]; ok {
		return a
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	var names []string
	if r.URL.RawQuery != "" {
		names = append(names, name+"?"+r.URL.RawQuery, name+"?"+r.URL.RawQuery+".html")
	}
	for _, name := range append(names, name, name+".html") {
		info, err := fs.Stat(s.files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid), // ErrInvalid: no file can be called that
			errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG): // as /about/x, where about is a file
			continue
		case err == nil && info.IsDir():
			continue
		}
		body, err := fs.ReadFile(s.files, name)
		if err != nil {
			s.t.Errorf("spidertest: Site: %v", err)
			return problem(http.StatusInternalServerError, err.Error())
		}
		header := http.Header{"Content-Type": {contentType(name, body)}}
		return answer{http.StatusOK, header, body}
	}
	if info, err := fs.Stat(s.files, name); err == nil && info.IsDir() {
		a := problem(http.StatusMovedPermanently, "the folder is there")
		to := *r.URL
		to.Path, to.RawPath = to.Path+"/", ""
		a.header.Set("Location", to.RequestURI())
		return a
	}
	return problem(http.StatusNotFound, "spidertest: the Site has no file for "+r.URL.Path)
}

// problem is an answer for people to read.
func problem(status int, text string) answer {
	return answer{status, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(text + "\n")}
}

// schemeHeader tells a site by which scheme it was asked.
const schemeHeader = "Spidertest-Scheme"

// siteTransport sends requests of all schemes to a web, which speaks http alone.
type siteTransport struct{ web http.RoundTripper }

// RoundTrip sends an https request as an http one.
func (t siteTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := r.Clone(r.Context())
	asked.URL.Scheme = "http"
	asked.Host = r.Host
	if asked.Host == "" {
		asked.Host = r.URL.Host
	}
	asked.Header.Set(schemeHeader, r.URL.Scheme)
	resp, err := t.web.RoundTrip(asked)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}
