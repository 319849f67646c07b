package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"compress/gzip"
	"io"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// diary is what a test's layers, and a server, have noted.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := make(map[string]int)
	for _, line := range d.lines {
		n[line]++
	}
	return n
}

// layer notes what passes through it, and answers the URLs that end in one of answers.
type layer struct {
	tegenaria.Downloader
	name    string
	diary   *diary
	answers []string
	fails   string
}

func (l *layer) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	l.diary.note("%s asks for %s", l.name, path(ctx.Request.Url))
	own := make(chan *tegenaria.Context, 1)
	l.Downloader.Download(ctx, own)
	got := <-own
	if resp := got.DownloadResult.Response; resp != nil {
		l.diary.note("%s gets %d of %s", l.name, resp.Status, path(ctx.Request.Url))
	}
	result <- got
}

func (l *layer) Answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	url := path(ctx.Request.Url)
	if l.fails != "" && url == l.fails {
		return nil, errors.New("the archive is damaged")
	}
	if !slices.Contains(l.answers, url) {
		return nil, nil
	}
	return tegenaria.NewResponse(ctx.Request, http.StatusOK, map[string][]string{"Content-Type": {"text/html"}}, []byte("<p>by "+l.name)), nil
}

func (l *layer) Open(context.Context, tegenaria.SpiderInterface) error {
	l.diary.note("%s is opened", l.name)
	return nil
}

func (l *layer) Close(context.Context, string) error {
	l.diary.note("%s is closed", l.name)
	return nil
}

func path(url string) string { return "/" + strings.SplitN(url, "/", 4)[3] }

// elsewhere is a registered downloader.
type elsewhere struct{}

func (elsewhere) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, http.StatusTeapot, nil, []byte("elsewhere"))}
	result <- ctx
}

func (elsewhere) CheckStatus(status uint64, _ []uint64) bool { return status == http.StatusTeapot }

// Layers see the downloads of requests, of Fetch and of robots.txt, the first one outermost; what they answer is not
// downloaded and costs no delay.
func TestDownloaderLayers(t *testing.T) {
	var seen diary
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.note("the server is asked for %s", r.URL.Path)
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n")
			return
		}
		fmt.Fprint(w, "<p>by the server")
	}))
	defer server.Close()
	wrap := func(name string, answers ...string) func(tegenaria.Downloader) tegenaria.Downloader {
		return func(next tegenaria.Downloader) tegenaria.Downloader {
			return &layer{Downloader: next, name: name, diary: &seen, answers: answers, fails: "/damaged"}
		}
	}
	var mu sync.Mutex
	texts := make(map[string]string)
	parse := func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		resp := ctx.Response()
		mu.Lock()
		texts[path(resp.URL)] = resp.String()
		mu.Unlock()
		if path(resp.URL) == "/fetching" {
			got, err := ctx.Fetch(tegenaria.NewRequest(server.URL+"/fetched", "GET", nil))
			if err != nil {
				return err
			}
			mu.Lock()
			texts["/fetched"] = got.String()
			mu.Unlock()
			if _, err := ctx.Fetch(tegenaria.NewRequest(server.URL+"/known", "GET", nil)); err != nil {
				return err
			}
		}
		return nil
	}
	var written bytes.Buffer
	failed := make(map[string]string)
	began := time.Now()
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloaderLayers(wrap("the outer layer", "/outer")),
		tegenaria.EngineWithDownloaderLayers(func(next tegenaria.Downloader) tegenaria.Downloader { return next }, wrap("the inner layer", "/outer", "/inner", "/known", "/writer")),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 10 * time.Millisecond, MaxPages: 4}),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			mu.Lock()
			defer mu.Unlock()
			failed[path(err.Request.Url)] = err.Error()
		}),
		tegenaria.EngineWithQuiet(),
	)
	engine.RegisterDownloader("elsewhere", elsewhere{})
	request := func(path string, opts ...tegenaria.RequestOption) *tegenaria.Request {
		return tegenaria.NewRequest(server.URL+path, "GET", nil, opts...)
	}
	engine.RegisterSpiders(tegenaria.NewSpiderOf("layers", parse,
		request("/outer"), request("/inner"), request("/writer", tegenaria.RequestWithResponseWriter(&written)), request("/secret"),
		request("/damaged"), request("/tea", tegenaria.RequestWithDownloader("elsewhere")), request("/fetching"),
	))
	if err := engine.Run(t.Context(), "layers"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); deep.Checks() && took > time.Minute {
		t.Errorf("it took %s", took)
	}
	want := map[string]string{"/outer": "<p>by the outer layer", "/inner": "<p>by the inner layer", "/writer": "<p>by the inner layer",
		"/tea": "elsewhere", "/fetching": "<p>by the server", "/fetched": "<p>by the server"}
	if !maps.Equal(texts, want) {
		t.Errorf("pages: %q", texts)
	}
	if !strings.Contains(failed["/damaged"], "the archive is damaged") || len(failed) != 1 {
		t.Errorf("failures: %q", failed)
	}
	counts := seen.counts()
	for _, url := range []string{"/robots.txt", "/fetching", "/fetched"} {
		for _, line := range []string{"the outer layer asks for ", "the inner layer asks for ", "the outer layer gets 200 of ", "the server is asked for "} {
			if counts[line+url] != 1 {
				t.Errorf("%s%s: %d times", line, url, counts[line+url])
			}
		}
	}
	for _, line := range []string{"the inner layer gets 418 of /tea", "the outer layer is opened", "the inner layer is closed"} {
		if counts[line] != 1 {
			t.Errorf("%s: %d times", line, counts[line])
		}
	}
	for _, url := range []string{"/outer", "/inner", "/known", "/secret", "/damaged", "/writer"} {
		if counts["the outer layer asks for "+url]+counts["the server is asked for "+url] > 0 {
			t.Errorf("%s was downloaded", url)
		}
	}
	opened := slices.DeleteFunc(slices.Clone(seen.lines), func(line string) bool { return !strings.Contains(line, " is ") || strings.Contains(line, "server") })
	if want := []string{"the inner layer is opened", "the outer layer is opened", "the outer layer is closed", "the inner layer is closed"}; !slices.Equal(opened, want) {
		t.Errorf("%q", opened)
	}
	if s := engine.Stats(); s.Answered != 4 || s.RequestDownloaded != 3 || s.RobotsRequests != 1 {
		t.Errorf("%d answered, %d downloaded, %d of robots.txt", s.Answered, s.RequestDownloaded, s.RobotsRequests)
	}
}

func TestMistakesOfLayers(t *testing.T) {
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithDownloaderLayers(nil, func(tegenaria.Downloader) tegenaria.Downloader { return nil }), tegenaria.EngineWithQuiet())
	engine.RegisterSpiders(tegenaria.NewSpiderOf("x", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }))
	err := engine.Run(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), "layer 1 is nil") || !strings.Contains(err.Error(), "argument 2 is nil") {
		t.Error(err)
	}
}

// recorder is a layer that keeps what came, and a downloader that answers with it.
type recorder struct {
	tegenaria.Downloader
	mu   sync.Mutex
	kept map[string]*kept
}

type kept struct {
	status int
	header http.Header
	wire   bytes.Buffer
	sent   http.Header
	host   string
}

func (r *recorder) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	one := new(kept)
	ctx.CopyWire(&one.wire)
	own := make(chan *tegenaria.Context, 1)
	r.Downloader.Download(ctx, own)
	got := <-own
	if resp := got.DownloadResult.Response; resp != nil {
		one.status, one.header = resp.Status, http.Header(resp.Header).Clone()
		for name, values := range resp.Transfer().Removed() {
			one.header[name] = values
		}
		one.sent, one.host = resp.Transfer().Sent()
		r.mu.Lock()
		r.kept[ctx.Request.Url] = one
		r.mu.Unlock()
	}
	result <- got
}

// replay answers with what a recorder has kept.
type replay struct {
	kept   map[string]*kept
	modify func(body io.Reader) io.Reader
}

func (r *replay) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	one, ok := r.kept[ctx.Request.Url]
	ctx.DownloadResult = &tegenaria.RequestResult{}
	if !ok {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, errors.New("it was not kept"))
		result <- ctx
		return
	}
	resp, err := ctx.Respond(one.status, one.header, r.modify(bytes.NewReader(one.wire.Bytes())))
	ctx.DownloadResult.Response = resp
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err)
	}
	result <- ctx
}

func (r *replay) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

// What a layer has kept of a crawl, in the coding in which it came, makes the same crawl without a server: bodies go to memory, files
// and writers, within the limits.
func TestKeptAnswers(t *testing.T) {
	text := strings.Repeat("<p>a paragraph</p>", 20_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/plain":
			fmt.Fprint(w, "plain")
		case "/moved":
			http.Redirect(w, r, "/plain?moved", http.StatusFound)
		default:
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			io.WriteString(z, text)
		}
	}))
	defer server.Close()
	crawl := func(opts ...tegenaria.EngineOption) (pages map[string]string, failed map[string]error, written string, stats tegenaria.Stats) {
		var mu sync.Mutex
		var writer bytes.Buffer
		pages, failed = make(map[string]string), make(map[string]error)
		parse := func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			body, err := io.ReadAll(ctx.Response().Reader())
			mu.Lock()
			defer mu.Unlock()
			pages[path(ctx.Request.Url)] = fmt.Sprintf("%d %d %s", ctx.Response().Status, len(body), body[:min(len(body), 20)])
			return err
		}
		engine := tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithQuiet(), tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}),
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
				mu.Lock()
				defer mu.Unlock()
				failed[path(err.Request.Url)] = err.Err
			}))...)
		request := func(path string, opts ...tegenaria.RequestOption) *tegenaria.Request {
			return tegenaria.NewRequest(server.URL+path, "GET", nil, opts...)
		}
		engine.RegisterSpiders(tegenaria.NewSpiderOf("kept", parse, request("/plain"), request("/moved"), request("/coded"),
			request("/spooled", tegenaria.RequestWithSpool()), request("/written", tegenaria.RequestWithResponseWriter(&writer))))
		if err := engine.Run(t.Context(), "kept"); err != nil {
			t.Fatal(err)
		}
		return pages, failed, writer.String(), engine.Stats()
	}
	records, outer := &recorder{kept: make(map[string]*kept)}, &recorder{kept: make(map[string]*kept)}
	pages, failed, written, _ := crawl(tegenaria.EngineWithDownloaderLayers(func(next tegenaria.Downloader) tegenaria.Downloader {
		outer.Downloader = next
		return outer
	}, func(next tegenaria.Downloader) tegenaria.Downloader {
		records.Downloader = next
		return records
	}))
	for url, one := range records.kept {
		if !bytes.Equal(one.wire.Bytes(), outer.kept[url].wire.Bytes()) {
			t.Errorf("%s: the outer layer has %d bytes, the inner one %d", url, outer.kept[url].wire.Len(), one.wire.Len())
		}
	}
	if len(pages) != 5 || len(failed) > 0 || written != text {
		t.Fatalf("%q, %v, %d bytes", pages, failed, len(written))
	}
	coded := records.kept[server.URL+"/coded"]
	if z, err := gzip.NewReader(bytes.NewReader(coded.wire.Bytes())); err != nil {
		t.Error(err)
	} else if body, err := io.ReadAll(z); err != nil || string(body) != text {
		t.Errorf("%v, %d bytes", err, len(body))
	}
	if coded.header.Get("Content-Encoding") != "gzip" || coded.sent.Get("Accept-Encoding") == "" || !strings.HasPrefix(server.URL, "http://"+coded.host) {
		t.Errorf("%v, sent %v to %s", coded.header, coded.sent, coded.host)
	}
	server.Close()
	whole := func(body io.Reader) io.Reader { return body }
	again, failed, writtenAgain, _ := crawl(tegenaria.EngineWithDownloader(&replay{records.kept, whole}))
	if fmt.Sprint(again) != fmt.Sprint(pages) || len(failed) > 0 || writtenAgain != text {
		t.Errorf("%q, %v, %d bytes", again, failed, len(writtenAgain))
	}
	cut := func(body io.Reader) io.Reader { return io.LimitReader(body, 100) }
	_, failed, _, _ = crawl(tegenaria.EngineWithDownloader(&replay{records.kept, cut}))
	for _, url := range []string{"/coded", "/spooled", "/written"} {
		if truncated := (*tegenaria.TruncatedBodyError)(nil); !errors.As(failed[url], &truncated) {
			t.Errorf("%s: %v", url, failed[url])
		}
	}
	large := func(body io.Reader) io.Reader {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range 200 {
			z.Write(make([]byte, 10<<10))
		}
		z.Close()
		return &b
	}
	_, failed, _, _ = crawl(tegenaria.EngineWithDownloader(&replay{records.kept, large}))
	if tooLarge := (*tegenaria.BodyTooLargeError)(nil); !errors.As(failed["/coded"], &tooLarge) {
		t.Errorf("%v", failed["/coded"])
	}
}

// Outside of a run Respond makes a response in memory.
func TestRespondOutsideOfARun(t *testing.T) {
	ctx := tegenaria.NewContext(tegenaria.NewRequest("http://a.test/x#part", "GET", nil))
	resp, err := ctx.Respond(http.StatusNotFound, map[string][]string{"X": {"1"}}, strings.NewReader("gone"))
	if err != nil || resp.Status != http.StatusNotFound || resp.String() != "gone" || resp.Header["X"][0] != "1" || resp.Request() != ctx.Request {
		t.Errorf("%v, %+v", err, resp)
	}
	if resp, err := ctx.Respond(http.StatusNoContent, nil, nil); err != nil || len(resp.Bytes()) > 0 || resp.Header == nil {
		t.Errorf("%v, %+v", err, resp)
	}
	if header, host := resp.Transfer().Sent(); header != nil || host != "" || resp.Transfer().Removed() != nil {
		t.Errorf("%v to %q", header, host)
	}
}

// meter counts the bytes of what is downloaded: the layer of the guide.
type meter struct {
	tegenaria.Downloader // the next one
	bytes                atomic.Int64
}

func (m *meter) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	own := make(chan *tegenaria.Context, 1)
	m.Downloader.Download(ctx, own)
	got := <-own
	if resp := got.DownloadResult.Response; resp != nil {
		m.bytes.Add(int64(resp.ContentLength))
	}
	result <- got
}

// A layer that passes on what it sees counts each byte once.
func TestMeter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer server.Close()
	m := new(meter)
	layers := tegenaria.EngineWithDownloaderLayers(func(next tegenaria.Downloader) tegenaria.Downloader {
		m.Downloader = next
		return m
	})
	parse := func(context.Context, *tegenaria.Response, *tegenaria.Output[int]) error { return nil }
	engine := tegenaria.NewSpiderEngine(layers, tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("metered", tegenaria.Handle(parse), server.URL+"/a", server.URL+"/bcd")))
	if err := engine.Run(t.Context(), "metered"); err != nil {
		t.Fatal(err)
	}
	if n := m.bytes.Load(); n != int64(len("/robots.txt")+len("/a")+len("/bcd")) {
		t.Errorf("%d bytes", n)
	}
}
