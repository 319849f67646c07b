package cookbook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/spidertest"
)

// How a crawl runs: limits, errors, what is seen of it, how it ends.

func TestStopAfter(t *testing.T) {
	spider := quotes(start(t))
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 3, Items: 1000, Time: time.Hour}),
	)
	err := engine.Execute("quotes")
	var stopped *tegenaria.StoppedError
	if errors.As(err, &stopped) && strings.HasPrefix(stopped.Reason, "limit:") {
		err = nil // it is what you wanted
	}
	if err != nil || stopped == nil || stopped.Reason != "limit: pages" {
		t.Errorf("ended with %v, %v", err, stopped)
	}
	if n := engine.Stats().Responses; n != 3 {
		t.Errorf("%d pages, want 3", n)
	}
}

func TestLeaveTheLoop(t *testing.T) {
	spider := quotes(start(t))
	found := 0
	for q, err := range tegenaria.Crawl[quote](t.Context(), spider) {
		if err != nil {
			t.Fatal(err)
		}
		found++
		if found == 20 || q.Author == "Nobody" {
			break // stops the crawl, and waits until it has ended
		}
	}
	if found != 20 {
		t.Errorf("%d items, want exactly 20", found)
	}
}

// missing notes pages that are gone, and logs everything else.
type missing struct {
	mu   sync.Mutex // errors come from several goroutines
	urls []string
}

func (m *missing) note(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
	var status *tegenaria.StatusError
	switch {
	case errors.As(err, &status) && status.Status == http.StatusNotFound:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.urls = append(m.urls, status.URL)
	default:
		slog.Error("failed", "stage", err.Stage, "error", err)
	}
}

func TestErrors(t *testing.T) {
	site := start(t)
	var gone missing
	crawl[string](t, tegenaria.NewSpider("two", tegenaria.Handle(titles), site.URL()+"/books/emma/", site.URL()+"/missing/"),
		tegenaria.EngineWithErrorHandler(gone.note), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds}))
	if len(gone.urls) != 1 || gone.urls[0] != site.URL()+"/missing/" {
		t.Errorf("missing: %q", gone.urls)
	}
}

// logEnds writes a line for each request that did not become a page: duplicate, filtered, robots, failed …
func logEnds(w io.Writer) tegenaria.EngineOption {
	return tegenaria.EngineWithEvents(tegenaria.Events{
		RequestSettled: func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
			if outcome != tegenaria.Fetched {
				fmt.Fprintln(w, r.Url, outcome, reason)
			}
		},
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func corners(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	for _, ref := range []string{"/private/", "/missing/", "https://elsewhere.example/", "mailto:me@example.com", page.URL} {
		if err := out.Follow(ref); err != nil {
			return err
		}
	}
	return nil
}

func TestWhyNot(t *testing.T) {
	site := start(t)
	var ends lockedBuffer
	crawl[string](t, tegenaria.NewSpider("corners", tegenaria.Handle(corners), site.URL()+"/corners/"), logEnds(&ends), tegenaria.EngineWithAllowedDomains("127.0.0.1"))
	for _, want := range []string{
		site.URL() + "/private/ robots forbidden", site.URL() + "/missing/ failed status", "https://elsewhere.example/ filtered offsite",
		"mailto:me@example.com filtered scheme", site.URL() + "/corners/ duplicate ",
	} {
		if !strings.Contains(ends.String(), want+"\n") {
			t.Errorf("%q is not in\n%s", want, ends.String())
		}
	}
}

// why prints what happened to a URL and to the pages that led to it. The job must not be running in another process.
func why(ctx context.Context, w io.Writer, dir, url string) (err error) {
	job, err := disk.Open(dir, disk.Existing())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	steps, err := job.ExplainURL(ctx, url)
	for _, step := range steps {
		r, err := step.Record.Request()
		if err != nil {
			return err
		}
		fmt.Fprintln(w, r.Url, step.Why())
	}
	return err
}

func TestExplain(t *testing.T) {
	site, dir := start(t), t.TempDir()
	job := filepath.Join(dir, "job")
	spider := tegenaria.NewSpider("why", tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		if strings.HasSuffix(page.URL, "/page/2/") {
			return nil // else it may be the first to name the others: page 2 is read while the links of page 1 are taken in
		}
		return errors.Join(out.Follow("/quotes/page/2/"), out.Follow("/private/"), out.Follow("https://elsewhere.example/"))
	}), site.URL()+"/quotes/")
	cache, err := disk.Open(job)
	if err != nil {
		t.Fatal(err)
	}
	err = tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithCache(cache), tegenaria.EngineWithAllowedDomains("127.0.0.1"),
		tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithQuiet()).Run(t.Context(), "why")
	if err := errors.Join(err, cache.Close()); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		site.URL() + "/quotes/page/2/": "/quotes/page/2/ fetched, status 200\n/quotes/ fetched, status 200\n",
		site.URL() + "/private/":       "/private/ robots (forbidden): robots.txt of the site forbids it for this user agent (Politeness.UserAgent); choose other URLs, or set Politeness.IgnoreRobots if the site's owner permits it\n/quotes/ fetched, status 200\n",
		"https://elsewhere.example/":   "https://elsewhere.example/ filtered (offsite): name its host in EngineWithAllowedDomains (or ScopeOptions.Domains)\n/quotes/ fetched, status 200\n",
	} {
		var steps bytes.Buffer
		if err := why(t.Context(), &steps, job, url); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(steps.String(), site.URL(), ""); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if err := why(t.Context(), io.Discard, job, site.URL()+"/books/"); !errors.Is(err, disk.ErrUnknown) {
		t.Errorf("a URL that nothing links to: %v", err)
	}
}

// stats serves the statistics of a crawl as JSON.
func stats(engine *tegenaria.SpiderEngine) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(engine.Stats())
	})
}

func TestProgress(t *testing.T) {
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(quotes(start(t))))
	if err := engine.Run(t.Context(), "quotes"); err != nil {
		t.Fatal(err)
	}
	fmt.Println(engine.Summary())
	server := httptest.NewServer(stats(engine))
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Responses int `json:"responses"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Responses != 10 {
		t.Errorf("%d responses, want 10; %v", got.Responses, err)
	}
}

func TestLogAsJSON(t *testing.T) {
	spider := quotes(start(t))
	var file lockedBuffer
	logger := slog.New(slog.NewJSONHandler(&file, nil))
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithSlog(logger.With("job", "nightly")),
	)
	if err := engine.Run(t.Context(), "quotes"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(file.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["job"] != "nightly" || fields["spider"] != "quotes" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if file.Len() == 0 {
		t.Error("nothing was logged")
	}
}

func TestQuiet(t *testing.T) {
	spider := quotes(start(t))
	var file lockedBuffer
	logger := logrus.New()
	logger.SetOutput(&file)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithQuiet(), // warnings and errors only
		tegenaria.EngineWithLogger(logger),
	)
	if err := engine.Run(t.Context(), "quotes"); err != nil {
		t.Fatal(err)
	}
	if file.Len() > 0 {
		t.Errorf("logged %s", file.String())
	}
}

// TestQuotes is the test of the page.
func TestQuotes(t *testing.T) {
	page := spidertest.HTML(`<div class="quote"><span class="text">Call me Ishmael.</span> <small class="author">Melville</small></div>`)
	quotes, requests := spidertest.Parse[quote](t, tegenaria.Handle(parse), page, "https://example.com/quotes/")
	if len(quotes) != 1 || quotes[0].Author != "Melville" {
		t.Errorf("quotes: %+v", quotes)
	}
	if len(requests) > 0 {
		t.Errorf("requests: %v", requests)
	}
}
