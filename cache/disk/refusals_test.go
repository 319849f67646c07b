package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

// Explain knows the requests that the crawl has refused, why, and the pages that sent them; also after another run.
func TestExplainRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n")
		case "/":
			fmt.Fprint(w, `<a href="/one">1</a><a href="http://elsewhere.test/x">x</a><a href="/secret">s</a><a href="mailto:a@b.test">m</a>`)
		case "/one":
			fmt.Fprint(w, `<a href="/two">2</a><a href="http://elsewhere.test/x">again</a>`)
		default:
			fmt.Fprint(w, `<a href="/deep">3</a>`)
		}
	}))
	defer server.Close()
	channels := func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		for _, link := range ctx.Response().Links() {
			req <- tegenaria.NewContext(tegenaria.NewRequest(link.URL, tegenaria.GET, nil))
		}
		return nil
	}
	links := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.FollowLinks()
	})
	for name, parser := range map[string]tegenaria.Parser{"channels": channels, "FollowLinks": links} {
		t.Run(name, func(t *testing.T) { explainRefused(t, server.URL, parser) })
	}
}

func explainRefused(t *testing.T, site string, parser tegenaria.Parser) {
	dir := t.TempDir()
	for range 2 { // the second run has nothing to do
		job := open(t, dir)
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("why", parser, site+"/")), tegenaria.EngineWithCache(job),
			tegenaria.EngineWithQuiet(), tegenaria.EngineWithAllowedDomains("127.0.0.1"), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 2}))
		if err := engine.Run(t.Context(), "why"); err != nil {
			t.Fatal(err)
		}
		closed(t, job)
	}
	job := open(t, dir, disk.Existing())
	defer closed(t, job)
	for url, want := range map[string]string{
		"http://elsewhere.test/x": "refused filtered offsite, settled fetched ",
		site + "/secret":          "settled robots forbidden, settled fetched ",
		site + "/deep":            "refused filtered depth, settled fetched , settled fetched , settled fetched ",
		site + "/two":             "settled fetched , settled fetched , settled fetched ",
	} {
		key, err := disk.KeyOf(tegenaria.NewRequest(url, tegenaria.GET, nil))
		if err != nil {
			t.Fatal(err)
		}
		chain, err := job.Explain(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := ""
		for i, info := range chain {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%s %s %s", info.State, info.Outcome, info.Reason)
		}
		if r, err := chain[0].Record.Request(); err != nil || r.Url != url || got != want {
			t.Errorf("%s: %s, want %s; %v", url, got, want, err)
		}
	}
	if _, err := job.Explain(t.Context(), tegenaria.Key{1}); !errors.Is(err, disk.ErrUnknown) {
		t.Errorf("an unknown URL: %v", err)
	}
}

// A job keeps a bounded number of refusals.
func TestRefusalsAreBounded(t *testing.T) {
	job := open(t, t.TempDir())
	defer closed(t, job)
	for i := range 200_000 {
		key := tegenaria.Key{byte(i >> 16), byte(i >> 8), byte(i)}
		if more := job.RecordRefusal(tegenaria.Settled{Record: tegenaria.Record{Key: key}, Outcome: tegenaria.Filtered}); more != (i < 100_000) {
			t.Fatalf("refusal %d: %v", i, more)
		}
	}
	for i, want := range map[int]error{0: nil, 99_999: nil, 100_000: disk.ErrUnknown} {
		chain, err := job.Explain(t.Context(), tegenaria.Key{byte(i >> 16), byte(i >> 8), byte(i)})
		if !errors.Is(err, want) || err == nil && (len(chain) != 1 || chain[0].State != disk.Refused) {
			t.Errorf("refusal %d: %v, %v", i, chain, err)
		}
		if want != nil && !strings.Contains(err.Error(), "the first 100000") {
			t.Errorf("the error does not say that the job keeps no more: %v", err)
		}
	}
}

// picky refuses the URLs that have /ignored in them, before they wait and when their turn comes.
type picky struct{}

func (picky) GetPriority() int { return 1 }

func (picky) GetName() string { return "picky" }

func (picky) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

func (picky) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	if strings.Contains(r.Url, "/ignored") {
		return tegenaria.ErrIgnoreRequest
	}
	return nil
}

func (picky) ProcessRequest(ctx *tegenaria.Context) error {
	if strings.Contains(ctx.Request.Url, "/late") {
		return tegenaria.IgnoreRequest("too late")
	}
	return nil
}

// ExplainURL says in words why each URL was not crawled, in the run and after it.
func TestExplainURLInWords(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n")
		case "/missing":
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	long := site.URL + "/" + strings.Repeat("x", 200)
	links := []string{"http://elsewhere.test/x", site.URL + "/secret", site.URL + "/ignored", site.URL + "/late", site.URL + "/missing", site.URL + "/missing",
		site.URL + "/page#part", site.URL + "/over", long}
	job := open(t, t.TempDir())
	defer closed(t, job)
	why := func(url string) string {
		chain, err := job.ExplainURL(t.Context(), url)
		if err != nil {
			return err.Error()
		}
		return chain[0].Why()
	}
	during := make(map[string]string)
	parser := tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		if resp.URL != site.URL+"/" {
			return out.Follow("/deep")
		}
		for _, link := range links {
			if err := out.Follow(link); err != nil {
				return err
			}
		}
		for _, url := range []string{site.URL + "/", "http://elsewhere.test/x", site.URL + "/ignored"} {
			during[url] = why(url) // nothing of this page is committed yet
		}
		return nil
	})
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("why", parser, site.URL+"/")), tegenaria.EngineWithCache(job),
		tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithAllowedDomains("127.0.0.1"),
		tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 1, URLLength: 100}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{MaxPages: 3}),
		tegenaria.EngineWithMiddlewares(picky{}), tegenaria.EngineWithConcurrency(1)) // the last link is over the budget
	if err := engine.Run(t.Context(), "why"); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		site.URL + "/":            "waiting: it has not ended",
		"http://elsewhere.test/x": "filtered (offsite): ",
		site.URL + "/ignored":     "filtered (ignored): ",
	} {
		if !strings.HasPrefix(during[url], want) {
			t.Errorf("in the run, %s: %q, want %q", url, during[url], want)
		}
	}
	for url, want := range map[string]string{
		site.URL + "/":            "fetched, status 200",
		"http://elsewhere.test/x": "filtered (offsite): ",
		site.URL + "/secret":      "robots (forbidden): ",
		site.URL + "/ignored":     "filtered (ignored): ",
		site.URL + "/late":        "filtered (too late)",
		site.URL + "/missing":     "failed (status), status 404: ",
		site.URL + "/page":        "fetched, status 200",
		site.URL + "/deep":        "filtered (depth): raise Limits.Depth",
		site.URL + "/over":        "filtered (page-budget): raise Politeness.MaxPages",
		long:                      "filtered (url-length): raise Limits.URLLength",
		site.URL + "/never":       "disk: the job does not know this request",
		"ftp://elsewhere.test/x":  `tegenaria: request "ftp://elsewhere.test/x": Url: scheme "ftp" is not supported; use http or https`,
		"elsewhere.test/x":        `tegenaria: request "elsewhere.test/x": Url: the URL has no scheme; write "https://elsewhere.test/x"`,
	} {
		if got := why(url); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// A run of a job that was finished before says how the requests that failed can run again.
func TestFinishedJobNamesReplay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }))
	defer server.Close()
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	fails := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
		return errors.New("a mistake")
	}
	dir := t.TempDir()
	for range 2 {
		job := open(t, dir)
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("fails", fails, server.URL+"/")), tegenaria.EngineWithCache(job),
			tegenaria.EngineWithLogger(logger), tegenaria.EngineWithEmptyOK())
		if err := engine.Run(t.Context(), "fails"); err != nil {
			t.Fatal(err)
		}
		closed(t, job)
	}
	if want := "1 request failed: disk.Cache.Replay lets them run again"; strings.Count(log.String(), want) != 1 {
		t.Errorf("the log does not say %q once:\n%s", want, &log)
	}
}
