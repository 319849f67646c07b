package spidertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// TestDownloader runs the conformance suite of [tegenaria.Downloader] in crawls of a server on loopback. options
// returns those of the engine that set the downloader under test, or the layers around one:
// [tegenaria.EngineWithDownloader], [tegenaria.EngineWithDownloaderLayers]. It is called for each crawl. The downloader
// must reach the addresses of loopback, take gzip, and answer from the server alone: one that answers from a store
// begins with an empty one each time.
func TestDownloader(t *testing.T, options func(t *testing.T) []tegenaria.EngineOption) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, d *downloading)
	}{
		{"Responses", testResponses},
		{"RequestsAsSent", testRequestsAsSent},
		{"Redirects", testRedirects},
		{"OwnAnswers", testOwnAnswers},
		{"Bodies", testBodies},
		{"Limits", testDownloadLimits},
		{"Failures", testFailures},
		{"Robots", testRobots},
		{"Ends", testEnds},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &downloading{t: t, options: options, asked: make(map[string]int)}
			d.server = httptest.NewServer(d)
			defer d.server.Close()
			tt.run(t, d)
		})
	}
}

// downloading is a server, and crawls of it.
type downloading struct {
	t       *testing.T
	options func(t *testing.T) []tegenaria.EngineOption
	server  *httptest.Server

	mu    sync.Mutex
	asked map[string]int // by method and path
}

// ServeHTTP answers the paths that the tests ask for.
func (d *downloading) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.asked[r.Method+" "+r.URL.RequestURI()]++
	d.mu.Unlock()
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch kind {
	case "robots.txt":
		fmt.Fprint(w, "User-agent: *\nDisallow: /forbidden\n")
	case "status":
		status := 0
		fmt.Sscan(rest, &status)
		w.Header().Set("X-Status", rest)
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			fmt.Fprint(w, "status ", rest)
		}
	case "echo": // what was sent
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Two", "one")
		w.Header().Add("X-Two", "two")
		fmt.Fprintf(w, "%s %s %s|%s|%s|%s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Sent"), r.Header.Get("Content-Type"), r.Header.Get("Cookie"), body)
	case "redirect":
		http.Redirect(w, r, "/echo/"+rest, http.StatusFound)
	case "own": // a body that is nobody else's
		w.Write(ownBody(rest))
	case "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(ownBody(rest))
		z.Close()
	case "cut":
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "the beginning")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case "slow":
		<-r.Context().Done()
	default:
		fmt.Fprint(w, "<title>page</title>")
	}
}

// ownBody is the body of a name: from 0 to about 200 KB.
func ownBody(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return bytes.Repeat([]byte(fmt.Sprintf("%s %x\n", name, sum)), int(sum[0])*int(sum[1])/40)
}

func (d *downloading) count(request string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[request]
}

// outcome is how a request ended.
type outcome struct {
	resp *tegenaria.Response
	text string // of the body, read by the parser
	err  error
}

// crawl has the downloader fetch requests, and returns how they ended, by URL without the host.
func (d *downloading) crawl(opts []tegenaria.EngineOption, requests ...*tegenaria.Request) (ends map[string]outcome, stats tegenaria.Stats, err error) {
	d.t.Helper()
	ends = make(map[string]outcome)
	var mu sync.Mutex
	parse := func(_ context.Context, resp *tegenaria.Response, _ *tegenaria.Output[int]) error {
		body := resp.Reader()
		defer body.Close()
		text, err := io.ReadAll(body)
		mu.Lock()
		defer mu.Unlock()
		ends[strings.TrimPrefix(resp.Request().Url, d.server.URL)] = outcome{resp: resp, text: string(text), err: err}
		return nil
	}
	spider := tegenaria.NewSpiderOf("conformance", tegenaria.Handle(parse), requests...).OnError(func(failed *tegenaria.HandleError, _ func(*tegenaria.Request) error) error {
		mu.Lock()
		defer mu.Unlock()
		ends[strings.TrimPrefix(failed.Request.Url, d.server.URL)] = outcome{resp: failed.Response, err: failed}
		return nil
	})
	all := append([]tegenaria.EngineOption{tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 16}), tegenaria.EngineWithUniqueReq(false)}, d.options(d.t)...)
	e := tegenaria.NewSpiderEngine(append(all, opts...)...)
	err = e.Run(d.t.Context(), "conformance")
	return ends, e.Stats(), err
}

// want crawls without an error.
func (d *downloading) want(requests ...*tegenaria.Request) map[string]outcome {
	d.t.Helper()
	ends, stats, err := d.crawl(nil, requests...)
	if err != nil {
		d.t.Fatal(err)
	}
	if stats.Settled != stats.Discovered || len(ends) == 0 {
		d.t.Errorf("%d of %d requests have ended, %d were seen", stats.Settled, stats.Discovered, len(ends))
	}
	return ends
}

func (d *downloading) get(path string, opts ...tegenaria.RequestOption) *tegenaria.Request {
	return tegenaria.NewRequest(d.server.URL+path, tegenaria.GET, nil, opts...)
}

// Status, header, body and URL of responses are those that the server sent.
func testResponses(t *testing.T, d *downloading) {
	codes := []int{200, 201, 204, 304, 400, 403, 404, 410, 418, 451, 599}
	var requests []*tegenaria.Request
	for _, code := range codes {
		requests = append(requests, d.get(fmt.Sprint("/status/", code)))
	}
	ends := d.want(requests...)
	for _, code := range codes {
		path := fmt.Sprint("/status/", code)
		end := ends[path]
		if end.resp == nil || end.resp.Status != code || end.resp.URL != d.server.URL+path || !slices.Equal(end.resp.Header["X-Status"], []string{fmt.Sprint(code)}) {
			t.Errorf("%s: %+v, %v", path, end.resp, end.err)
			continue
		}
		if passes := code < 400; passes != (end.err == nil) {
			t.Errorf("%s: the error is %v", path, end.err)
		}
		if body := string(end.resp.Bytes()); code >= 400 && body != fmt.Sprint("status ", code) {
			t.Errorf("%s: the body is %q", path, body)
		}
	}
}

// Method, header, cookies, parameters and body reach the server.
func testRequestsAsSent(t *testing.T, d *downloading) {
	header := tegenaria.RequestWithRequestHeader(map[string]string{"X-Sent": "yes"})
	ends := d.want(
		d.get("/echo/get", header),
		tegenaria.NewRequest(d.server.URL+"/echo/post", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte("the body")), header),
		tegenaria.NewRequest(d.server.URL+"/echo/put", tegenaria.PUT, nil, tegenaria.RequestWithBody(bytes.Repeat([]byte("x"), 1<<20))),
		tegenaria.NewRequest(d.server.URL+"/echo/json", tegenaria.POST, nil, tegenaria.RequestWithJSON(map[string]int{"n": 1})),
		d.get("/echo/query", tegenaria.RequestWithRequestParams(map[string]string{"a": "b c"})),
		d.get("/echo/cookies", tegenaria.RequestWithRequestCookies(map[string]string{"k": "v"})),
		tegenaria.NewRequest(d.server.URL+"/echo/head", tegenaria.HEAD, nil),
	)
	for path, want := range map[string]string{
		"/echo/get": "GET /echo/get yes|||", "/echo/post": "POST /echo/post yes||", "/echo/put": "PUT /echo/put ", "/echo/json": "POST /echo/json |application/json",
		"/echo/query": "GET /echo/query?a=b+c |", "/echo/cookies": "GET /echo/cookies ||k=v|", "/echo/head": "",
	} {
		end := ends[path]
		if end.err != nil || !strings.HasPrefix(end.text, want) {
			t.Errorf("%s: the server got %.200q, want %q; %v", path, end.text, want, end.err)
		}
	}
	if text := ends["/echo/post"].text; !strings.HasSuffix(text, "|the body") {
		t.Errorf("the body of a POST arrives as %q", text)
	}
	if n := len(ends["/echo/put"].text); n < 1<<20 {
		t.Errorf("%d bytes of a large body arrive", n)
	}
	if two := ends["/echo/get"].resp.Header["X-Two"]; !slices.Equal(two, []string{"one", "two"}) {
		t.Errorf("a field of two values has %q", two)
	}
	if head := ends["/echo/head"]; head.text != "" || head.resp.Status != http.StatusOK {
		t.Errorf("HEAD: %q", head.text)
	}
}

// The engine follows redirects; the downloader delivers them.
func testRedirects(t *testing.T, d *downloading) {
	ends := d.want(d.get("/redirect/a"), d.get("/redirect/b", tegenaria.RequestWithAllowRedirects(false)))
	if end := ends["/echo/a"]; end.err != nil || !strings.HasPrefix(end.text, "GET /echo/a") {
		t.Errorf("the target of a redirect: %+v", end)
	}
	if end := ends["/redirect/b"]; end.resp == nil || end.resp.Status != http.StatusFound || !slices.Equal(end.resp.Header["Location"], []string{"/echo/b"}) {
		t.Errorf("a redirect that is not followed: %+v", end)
	}
	if d.count("GET /echo/b") != 0 {
		t.Error("a redirect was followed that must not be")
	}
}

// Each of many requests at once gets its own answer, and each is asked for once.
func testOwnAnswers(t *testing.T, d *downloading) {
	const many = 200
	var requests []*tegenaria.Request
	for i := range many {
		requests = append(requests, d.get(fmt.Sprint([]string{"/own/", "/gzip/"}[i%2], i)))
	}
	ends := d.want(requests...)
	for i := range many {
		path := fmt.Sprint([]string{"/own/", "/gzip/"}[i%2], i)
		if end := ends[path]; end.err != nil || end.text != string(ownBody(fmt.Sprint(i))) {
			t.Errorf("%s: %d bytes, %v", path, len(end.text), end.err)
		}
		if n := d.count("GET " + path); n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

// A body goes where its request wants it.
func testBodies(t *testing.T, d *downloading) {
	var buffer bytes.Buffer
	ends := d.want(d.get("/own/spooled", tegenaria.RequestWithSpool()), d.get("/gzip/spooled", tegenaria.RequestWithSpool()),
		d.get("/gzip/written", tegenaria.RequestWithResponseWriter(&buffer)))
	for _, path := range []string{"/own/spooled", "/gzip/spooled"} {
		if end := ends[path]; end.err != nil || end.text != string(ownBody("spooled")) {
			t.Errorf("%s: %d bytes, %v", path, len(end.text), end.err)
		}
	}
	if end := ends["/gzip/written"]; end.err != nil || end.text != "" || !bytes.Equal(buffer.Bytes(), ownBody("written")) {
		t.Errorf("a ResponseWriter got %d bytes, and the response %d; %v", buffer.Len(), len(end.text), end.err)
	}
}

// Bodies in memory are bounded.
func testDownloadLimits(t *testing.T, d *downloading) {
	name := "a"
	for len(ownBody(name)) < 50_000 {
		name += "a"
	}
	ends, _, err := d.crawl([]tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})}, d.get("/own/"+name), d.get("/gzip/"+name), d.get("/page"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/own/" + name, "/gzip/" + name} {
		var large *tegenaria.BodyTooLargeError
		if end := ends[path]; !errors.As(end.err, &large) || large.Limit != 1000 {
			t.Errorf("%s: %v", path, end.err)
		}
	}
	if end := ends["/page"]; end.err != nil {
		t.Errorf("a small page: %v", end.err)
	}
}

// What goes wrong is an error of its request alone.
func testFailures(t *testing.T, d *downloading) {
	gone := httptest.NewServer(nil)
	gone.Close()
	ends := d.want(d.get("/cut/1"), d.get("/slow/1", tegenaria.RequestWithTimeout(200*time.Millisecond)), d.get("/page"),
		tegenaria.NewRequest(gone.URL+"/", tegenaria.GET, nil))
	if end := ends["/cut/1"]; end.err == nil {
		t.Error("a body that broke off is no error")
	}
	if end := ends["/slow/1"]; end.err == nil || end.resp != nil {
		t.Errorf("a server that does not answer: %+v", end)
	}
	if end := ends[gone.URL+"/"]; end.err == nil || end.resp != nil {
		t.Errorf("a server that is gone: %+v", end)
	}
	if end := ends["/page"]; end.err != nil {
		t.Errorf("a page beside them: %v", end.err)
	}
}

// robots.txt comes through the downloader, and is obeyed.
func testRobots(t *testing.T, d *downloading) {
	ends, stats, err := d.crawl(nil, d.get("/forbidden/1"), d.get("/page"))
	if err != nil {
		t.Fatal(err)
	}
	if _, seen := ends["/forbidden/1"]; seen || d.count("GET /forbidden/1") > 0 || stats.Outcomes[tegenaria.Robots] != 1 {
		t.Errorf("robots.txt is not obeyed: %v", stats.Outcomes)
	}
	if n := d.count("GET /robots.txt"); n != 1 {
		t.Errorf("robots.txt was asked for %d times", n)
	}
}

// A crawl that is stopped ends, also while the downloader waits for a server.
func testEnds(t *testing.T, d *downloading) {
	var begun atomic.Bool
	started := make(chan struct{})
	events := tegenaria.Events{RequestStarted: func(*tegenaria.Request) {
		if begun.CompareAndSwap(false, true) {
			close(started)
		}
	}}
	parse := func(context.Context, *tegenaria.Response, *tegenaria.Output[int]) error { return nil }
	var requests []*tegenaria.Request
	for i := range 20 {
		requests = append(requests, d.get(fmt.Sprint("/slow/", i)))
	}
	e := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{tegenaria.EngineWithQuiet(), tegenaria.EngineWithEvents(events), tegenaria.EngineWithGrace(100 * time.Millisecond),
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("conformance", tegenaria.Handle(parse), requests...))}, d.options(t)...)...)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context(), "conformance") }()
	<-started
	if err := e.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case err := <-ended:
		var stopped *tegenaria.StoppedError
		if !errors.As(err, &stopped) {
			t.Errorf("Run: %v", err)
		}
	case <-late.C:
		t.Fatal("the crawl goes on a minute after Stop: Download does not return when its Context is done")
	}
	if stats := e.Stats(); len(stats.Abandoned) > 0 {
		t.Errorf("calls were given up: %v", stats.Abandoned)
	}
}
