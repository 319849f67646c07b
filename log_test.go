package tegenaria_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

// logTo returns an option whose engine writes its log to the buffer, as text without colours.
func logTo(log *bytes.Buffer) tegenaria.EngineOption {
	logger := logrus.New()
	logger.SetOutput(log)
	logger.SetFormatter(&logrus.TextFormatter{DisableColors: true, DisableTimestamp: true, DisableQuote: true})
	return tegenaria.EngineWithLogger(logger)
}

// lineWith returns the first line of a log that has a text.
func lineWith(t *testing.T, log *bytes.Buffer, text string) string {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("no line has %q:\n%s", text, log)
	return ""
}

// A failure names the page that led to it, whatever the cache keeps of it: for a link, a redirect, and a request without any response.
func TestFailuresNameTheirPage(t *testing.T) {
	for _, durable := range []bool{false, true} {
		name := "memory"
		if durable {
			name = "disk"
		}
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/linked", "/moved", "/broken")).
				Page("http://a.test/moved", enginetest.Redirect(http.StatusFound, "/target")).
				Page("http://a.test/broken", enginetest.Broken(errBroken))
			s := enginetest.NewSpider("http://a.test/", "http://a.test/seed")
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				for _, l := range ctx.Response().Links() {
					req <- enginetest.Send(l.URL)
				}
				return nil
			}
			var log bytes.Buffer
			opts := []tegenaria.EngineOption{tegenaria.EngineWithSpiders(s), tegenaria.EngineWithDownloader(w), logTo(&log),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})}
			if durable {
				store, err := disk.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				opts = append(opts, tegenaria.EngineWithCache(store))
			}
			enginetest.MustRun(t, tegenaria.NewSpiderEngine(opts...))
			for url, from := range map[string]string{
				"http://a.test/linked": "http://a.test/", "http://a.test/target": "http://a.test/moved",
				"http://a.test/broken": "http://a.test/",
			} {
				if line := lineWith(t, &log, "url="+url); !strings.Contains(line, "referrer="+from) {
					t.Errorf("the line does not name %s: %s", from, line)
				}
			}
			if line := lineWith(t, &log, "url=http://a.test/seed"); strings.Contains(line, "referrer") {
				t.Errorf("a seed came from a page: %s", line)
			}
		})
	}
}

// A crawl that does not ask for robots.txt says what is wrong with the network without naming robots.txt, and prints no password of a
// proxy. What is said where robots.txt cannot be asked for is in the golden files of e2e/transcripts.
func TestWordsOfFailures(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := free.Addr().String()
	free.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer site.Close()
	proxy := []tegenaria.RequestOption{tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://me:s3cret@" + dead})}
	quick := []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(middleware.NewRetry(middleware.RetryOptions{Times: 1, Backoff: time.Millisecond}))}
	for _, tt := range []struct {
		name, url string
		opts      []tegenaria.EngineOption
		via       []tegenaria.RequestOption
		want      string
	}{
		{name: "certificate", url: secure.URL, want: "EngineWithTLSConfig"},
		{"dead proxy", site.URL, nil, proxy, "the proxy http://me:xxxxx@" + dead + " failed: "},
		{"dead proxy, TLS", secure.URL, nil, proxy, "the proxy http://me:xxxxx@" + dead + " failed: "},
		{"dead proxy, after Retry", site.URL, quick, proxy, "given up after 2 attempts: the proxy http://me:xxxxx@" + dead + " failed: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) { req <- enginetest.Send(tt.url, tt.via...) }
			s.Parse = enginetest.Nothing
			e := tegenaria.NewSpiderEngine(append(tt.opts, tegenaria.EngineWithSpiders(s), logTo(&log),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))...)
			err := e.Run(t.Context(), s.GetName())
			text := fmt.Sprintf("%v\n%s", err, &log)
			if !strings.Contains(text, tt.want) {
				t.Errorf("%q is not in:\n%s", tt.want, text)
			}
			for _, not := range []string{"s3cret", "cannot be reached"} {
				if strings.Contains(text, not) {
					t.Errorf("%q is in:\n%s", not, text)
				}
			}
		})
	}
}

// errorOf returns the failure of a request with an option; nil if it is fetched.
func errorOf(t *testing.T, opt tegenaria.RequestOption) (failed error) {
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) { req <- enginetest.Send("http://a.test/", opt) }
	engine := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { failed = err.Err }))
	if err := engine.Run(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	return failed
}

// At debug level there is a line for each request, with slot, status, time, size, depth and the page it came from.
func TestDebugLines(t *testing.T) {
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	logger.SetLevel(logrus.DebugLevel)
	logger.SetFormatter(&logrus.JSONFormatter{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			io.WriteString(w, `<a href="/two">2</a><a href="/gone">3</a>`)
		case "/two":
			io.WriteString(w, "four")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	spider := enginetest.NewSpider(server.URL + "/")
	spider.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		for _, link := range ctx.Response().Links() {
			req <- tegenaria.NewContext(tegenaria.NewRequest(link.URL, tegenaria.GET, nil))
		}
		if ctx.Request.Depth > 0 {
			return nil
		}
		_, err := ctx.Fetch(tegenaria.NewRequest(server.URL+"/two?inline", tegenaria.GET, nil))
		return err
	}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithLogger(logger), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	if err := engine.Run(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	type line struct {
		Level, URL, Slot, Outcome, Referrer, Took string
		Status, Depth, Bytes                      int
	}
	lines := make(map[string]line)
	for text := range strings.Lines(log.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Level == "debug" && l.Outcome != "" {
			lines[strings.TrimPrefix(l.URL, server.URL)] = l
		}
	}
	for url, want := range map[string]line{
		"/": {Outcome: "fetched", Status: 200, Bytes: 41}, "/two": {Outcome: "fetched", Status: 200, Bytes: 4, Depth: 1, Referrer: server.URL + "/"},
		"/gone": {Outcome: "failed", Status: 404, Bytes: 19, Depth: 1, Referrer: server.URL + "/"}, "/two?inline": {Outcome: "fetched", Status: 200, Bytes: 4, Referrer: server.URL + "/"},
	} {
		got := lines[url]
		if took, err := time.ParseDuration(got.Took); err != nil || took <= 0 {
			t.Errorf("%s took %q", url, got.Took)
		}
		want.Level, want.URL, want.Slot, want.Took = "debug", server.URL+url, "127.0.0.1", got.Took
		if got != want {
			t.Errorf("%s: %+v, want %+v", url, got, want)
		}
	}
}
