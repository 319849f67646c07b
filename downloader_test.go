package tegenaria

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// newTestDownloader makes a downloader that may ask the given servers, and checks that it leaves no goroutine
// behind.
func newTestDownloader(t testing.TB, limits Limits, servers ...*httptest.Server) *httpDownloader {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	loopback := new(fetch.Loopback)
	for _, server := range servers {
		if !loopback.Allow(server.URL) {
			t.Fatalf("%s is not on loopback", server.URL)
		}
	}
	d := newHTTPDownloader(limits.withDefaults(), nil, fetch.Config{Agent: "tegenaria/test", Concurrency: 4, Loopback: loopback})
	t.Cleanup(func() {
		d.close()
		for _, server := range servers {
			server.Close()
		}
		goleak.VerifyNone(t, ignore)
	})
	return d
}

// newServer starts a server on loopback; its owner is the downloader that it is given to.
func newServer(h http.HandlerFunc) *httptest.Server { return httptest.NewServer(h) }

func download(d Downloader, r *Request, opts ...ContextOption) *RequestResult {
	ctx, result := NewContext(r, opts...), make(chan *Context, 1)
	d.Download(ctx, result)
	if got := <-result; got != ctx {
		panic("the result is another Context")
	}
	return ctx.DownloadResult
}

func mustDownload(t testing.TB, d Downloader, r *Request) *Response {
	t.Helper()
	result := download(d, r)
	if result.Error != nil {
		t.Fatalf("download: %v", result.Error)
	}
	return result.Response
}

// wantError checks a result's error: its target, its place, and that there is no response.
func wantError[E error](t *testing.T, result *RequestResult, r *Request) E {
	t.Helper()
	var target E
	if result.Error == nil {
		t.Fatalf("no error, want %T", target)
	}
	if !errors.As(result.Error, &target) {
		t.Fatalf("error is %v (%T), want %T", result.Error, result.Error.Err, target)
	}
	if result.Error.Stage != StageDownload || result.Error.Request != r || result.Error.CtxId == "" {
		t.Errorf("error does not say where it happened: %+v", result.Error)
	}
	return target
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Method", r.Method)
	w.Header().Set("X-Target", r.RequestURI)
	w.Header().Set("X-Host", r.Host)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		w.Header()["Got-"+name] = r.Header[name]
	}
	w.Write(body)
}

func TestDownloadRequests(t *testing.T) {
	server := newServer(echo)
	d := newTestDownloader(t, Limits{}, server)
	host := strings.TrimPrefix(server.URL, "http://")
	withUser := strings.Replace(server.URL, "http://", "http://us%40er:pass@", 1)
	tests := []struct {
		name    string
		url     string
		method  string
		opts    []RequestOption
		body    string
		header  map[string]string // of the echoed request
		missing []string
	}{
		{name: "get", url: "/a?b=c", method: GET, header: map[string]string{
			"X-Method": "GET", "X-Target": "/a?b=c", "Got-User-Agent": "tegenaria/test", "Got-Accept-Encoding": "gzip, deflate, br, zstd", "X-Host": host},
			missing: []string{"Got-Cookie", "Got-Content-Type", "Got-Authorization", "Got-Referer"}},
		{name: "no method", url: "/", header: map[string]string{"X-Method": "GET"}},
		{name: "post map", url: "/", method: POST, opts: []RequestOption{RequestWithRequestBody(map[string]any{"k": 1})},
			body: `{"k":1}`, header: map[string]string{"Got-Content-Type": "application/json", "Got-Content-Length": "7"}},
		{name: "post bytes", url: "/", method: POST, opts: []RequestOption{RequestWithBody([]byte("hello"))},
			body: "hello", header: map[string]string{"X-Method": "POST"}},
		{name: "post reader", url: "/", method: POST, opts: []RequestOption{RequestWithBodyReader(strings.NewReader("from a reader"))},
			body: "from a reader", header: map[string]string{"Got-Content-Length": "13"}},
		{name: "post form", url: "/", method: POST, opts: []RequestOption{RequestWithForm(url.Values{"a": {"1", "ü"}})},
			body: "a=1&a=%C3%BC", header: map[string]string{"Got-Content-Type": "application/x-www-form-urlencoded"}},
		{name: "post nothing", url: "/", method: POST, header: map[string]string{"Got-Content-Length": "0"}},
		{name: "params", url: "/?a=1&b=old#f", method: GET, opts: []RequestOption{RequestWithRequestParams(map[string]string{"b": "2 3"})},
			header: map[string]string{"X-Target": "/?a=1&b=2+3"}},
		{name: "two cookies", url: "/", method: GET, opts: []RequestOption{RequestWithRequestCookies(map[string]string{"b": "2", "a": "1"})},
			header: map[string]string{"Got-Cookie": "a=1; b=2"}},
		{name: "headers of any case", url: "/", method: GET, opts: []RequestOption{RequestWithRequestHeader(map[string]string{
			"user-agent": "mine", "x-ONE": "1", "HOST": "other.example:81"})},
			header: map[string]string{"Got-User-Agent": "mine", "Got-X-One": "1", "X-Host": "other.example:81"}},
		{name: "credentials", url: withUser + "/p", method: GET, header: map[string]string{
			"Got-Authorization": "Basic dXNAZXI6cGFzcw==", "X-Target": "/p"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked := test.url
			if !strings.HasPrefix(asked, "http") {
				asked = server.URL + asked
			}
			r := NewRequest(asked, test.method, nil, test.opts...)
			resp := mustDownload(t, d, r)
			if resp.Status != 200 || resp.String() != test.body || resp.Buffer.String() != test.body || resp.ContentLength != len(test.body) {
				t.Errorf("status %d, body %q of %d bytes, want %q", resp.Status, resp.String(), resp.ContentLength, test.body)
			}
			if resp.Request() != r || resp.Context() == nil || resp.Delay <= 0 || strings.Contains(resp.URL, "#") {
				t.Errorf("response is not complete: %+v", resp)
			}
			for name, want := range test.header {
				if got := strings.Join(resp.Header[name], ","); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			for _, name := range test.missing {
				if got, ok := resp.Header[name]; ok {
					t.Errorf("%s is %q, want none", name, got)
				}
			}
		})
	}
}

func TestDownloadRefusesRequests(t *testing.T) {
	var asked atomic.Int64
	server := newServer(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	d := newTestDownloader(t, Limits{Body: 100}, server)
	header := func(name, value string) RequestOption {
		return RequestWithRequestHeader(map[string]string{name: value})
	}
	proxy := func(u string) RequestOption { return RequestWithRequestProxy(Proxy{ProxyUrl: u}) }
	tests := []struct {
		name, url, field string
		opt              RequestOption
	}{
		{name: "no scheme", url: "example.com/s3cret", field: "Url"},
		{name: "method", field: "Method", opt: func(r *Request) { r.Method = "A B" }},
		{name: "header value", field: `Header["a"]`, opt: header("a", "s3cret\r\nx: y")},
		{name: "cookie value", field: `Cookies["a"]`, opt: RequestWithRequestCookies(map[string]string{"a": "s3cret;b=1"})},
		{name: "body reader fails", field: "BodyReader", opt: RequestWithBodyReader(io.MultiReader(failing{}))},
		{name: "body reader too large", field: "BodyReader", opt: RequestWithBodyReader(strings.NewReader(strings.Repeat("x", 101)))},
		{name: "proxy without URL", field: "Proxy", opt: proxy("")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.url == "" && test.field != "Url" {
				test.url = server.URL
			}
			r := NewRequest(test.url, GET, nil)
			if test.opt != nil {
				test.opt(r)
			}
			result := download(d, r)
			err := wantError[*RequestError](t, result, r)
			if field := strings.ReplaceAll(err.Field, `"HOST"`, `"Host"`); field != test.field {
				t.Errorf("field is %s, want %s", field, test.field)
			}
			if text := result.Error.Error(); strings.Contains(text, "s3cret") && test.name != "no scheme" {
				t.Errorf("the message tells a secret: %s", text)
			}
			if result.Response != nil {
				t.Error("there is a response")
			}
		})
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if err := download(d, nil).Error; !errors.Is(err, errNoRequest) {
		t.Errorf("without a request: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("cannot be read") }

// Any status is a response, and up to 399 one that goes to its parser. A list of good codes makes it fail.
func TestStatusesForParsers(t *testing.T) {
	d := newTestDownloader(t, Limits{})
	for _, code := range []uint64{200, 226, 299, 301, 308, 399, 400, 404, 451, 500, 599, 700, 999} {
		if allowed := d.CheckStatus(code, nil); allowed != (code < 400) || !d.CheckStatus(code, []uint64{1, code}) {
			t.Errorf("CheckStatus(%d) = %v", code, allowed)
		}
	}
}

// What a request and its crawl say reaches the exchange. A timeout that is taken for another one makes it fail.
func TestRequestOfExchange(t *testing.T) {
	d := newTestDownloader(t, Limits{})
	for _, tt := range []struct {
		opts []RequestOption
		want time.Duration
	}{
		{nil, DefaultTimeout}, {[]RequestOption{RequestWithTimeout(time.Second)}, time.Second}, {[]RequestOption{RequestWithTimeout(-1)}, 0},
	} {
		r := NewRequest("http://x.example/", GET, nil, tt.opts...)
		if got := d.request(NewContext(r), r); got.Timeout != tt.want {
			t.Errorf("timeout %s, want %s", got.Timeout, tt.want)
		}
	}
	for follows, opts := range map[bool][]RequestOption{true: nil, false: {RequestWithMaxRedirects(0)}} {
		r := NewRequest("http://x.example/", GET, nil, opts...)
		if got := d.request(NewContext(r), r); got.Follows != follows {
			t.Errorf("follows: %v", got.Follows)
		}
	}
	ctx := NewContext(NewRequest("http://x.example/", GET, nil))
	j := &visit{job: job{ctx: ctx}}
	ctx.run = j
	if got := d.request(ctx, ctx.Request); got.Unbounded || got.Hold != &j.hold {
		t.Errorf("the body of a job's own request: %+v", got)
	}
	inline := NewContext(ctx.Request)
	inline.run = &visit{job: job{ctx: inline, caller: &j.job}}
	if got := d.request(inline, ctx.Request); !got.Unbounded || got.Hold != &j.hold {
		t.Errorf("the body of an inline request: %+v", got)
	}
	own := NewContext(ctx.Request, WithContext(&internalContext{Context: t.Context()}))
	if got := d.request(own, ctx.Request); !got.Unbounded || got.Beginning != internalBody || got.Hold != &own.internal().hold {
		t.Errorf("the body of a request of the engine's own: %+v", got)
	}
}

func TestDownloadTruncatedBody(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		conn, out, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		switch r.URL.Path {
		case "/known":
			out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
		case "/chunked":
			out.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
		case "/gzip":
			out.WriteString("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf")
		}
		out.Flush()
	})
	d := newTestDownloader(t, Limits{}, server)
	var file bytes.Buffer
	tests := []struct {
		name, path, body string
		length           int
		want             int64
		opts             []RequestOption
	}{
		{"known length", "/known", "half", 4, 100000, nil},
		{"chunked", "/chunked", "half", 4, -1, nil},
		{"no gzip", "/gzip", "", 0, -1, nil},
		{"to a writer", "/known", "", 4, 100000, []RequestOption{RequestWithResponseWriter(&file)}},
		{"to a spool", "/known", "", 0, 100000, []RequestOption{RequestWithSpool()}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := NewRequest(server.URL+test.path, GET, nil, test.opts...)
			result := download(d, r)
			err := wantError[*TruncatedBodyError](t, result, r)
			if err.Want != test.want || err.URL != r.Url || err.Err == nil {
				t.Errorf("%+v", err)
			}
			resp := result.Response
			if resp == nil || resp != result.Error.Response {
				t.Fatalf("responses %v and %v", resp, result.Error.Response)
			}
			if resp.Status != 200 || resp.String() != test.body || resp.ContentLength != test.length || resp.Buffer == nil {
				t.Errorf("status %d, %q of %d bytes", resp.Status, resp, resp.ContentLength)
			}
			if resp.Transfer().Err != error(err) {
				t.Errorf("the transfer's error is %v", resp.Transfer().Err)
			}
			// On demand it is not a failure, unless nothing is kept.
			r = NewRequest(server.URL+test.path, GET, nil, append(test.opts, RequestWithPartialBody())...)
			result = download(d, r)
			if r.spool {
				wantError[*TruncatedBodyError](t, result, r)
				return
			}
			if result.Error != nil || result.Response.String() != test.body {
				t.Fatalf("with RequestWithPartialBody: %v", result.Error)
			}
			var cut *TruncatedBodyError
			if !errors.As(result.Response.Transfer().Err, &cut) || cut.Want != test.want {
				t.Errorf("with RequestWithPartialBody the transfer's error is %v", result.Response.Transfer().Err)
			}
		})
	}
	if file.String() != "halfhalf" {
		t.Errorf("the writer has %q", &file)
	}
}

func TestDownloadStreams(t *testing.T) {
	page := bytes.Repeat([]byte("x"), 1<<20)
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		default:
			w.Write(page)
		}
	})
	d := newTestDownloader(t, Limits{}, server)
	d.allowStatus = []uint64{410}
	tests := []struct {
		name, path string
		opts       []RequestOption
		streamed   bool
	}{
		{"page", "/", nil, true},
		{"redirect that is followed", "/moved", nil, false},
		{"redirect that is not", "/moved", []RequestOption{RequestWithAllowRedirects(false)}, true},
		{"failure", "/missing", nil, false},
		{"allowed failure", "/missing", []RequestOption{RequestWithAllowedStatusCode([]uint64{404})}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			r := NewRequest(server.URL+test.path, GET, nil, append(test.opts, RequestWithResponseWriter(&file))...)
			resp := mustDownload(t, d, r)
			if resp.Buffer == nil || (file.Len() > 0) != test.streamed || (resp.Buffer.Len() > 0) == test.streamed {
				t.Errorf("%d bytes were written, %d are in the response", file.Len(), len(resp.Bytes()))
			}
			if resp.ContentLength != file.Len()+len(resp.Bytes()) {
				t.Errorf("length %d", resp.ContentLength)
			}
		})
	}
	full := errors.New("disk full")
	r := NewRequest(server.URL, GET, nil, RequestWithResponseWriter(writerFunc(func([]byte) (int, error) { return 0, full })))
	if result := download(d, r); !errors.Is(result.Error, full) || result.Response != nil {
		t.Errorf("a writer that fails: %v, response %v", result.Error, result.Response)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestDownloadSpool(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		for range 40 {
			w.Write(bytes.Repeat([]byte("x"), 10_000))
		}
	})
	d := newTestDownloader(t, Limits{Body: 1000}, server)
	resp := mustDownload(t, d, NewRequest(server.URL, GET, nil, RequestWithSpool()))
	if resp.Buffer != nil || resp.Bytes() != nil || resp.ContentLength != 400_000 {
		t.Errorf("Buffer %v, %d bytes", resp.Buffer, resp.ContentLength)
	}
	for range 2 {
		if body, err := io.ReadAll(resp.Reader()); len(body) != 400_000 || err != nil {
			t.Errorf("read %d bytes, %v", len(body), err)
		}
	}
	reader := resp.Reader()
	resp.closeSpool()
	resp.closeSpool()
	if _, err := io.ReadAll(reader); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after closeSpool: %v", err)
	}
	moved := mustDownload(t, d, NewRequest(server.URL+"/moved", HEAD, nil, RequestWithSpool()))
	if moved.isSpooled() || moved.Buffer == nil || moved.ContentLength != 0 {
		t.Errorf("a redirect was spooled: %+v", moved)
	}
	moved.closeSpool()
}

// A spooled body is read into memory by what needs it there, up to Limits.Body; above that it fails, and is not empty.
func TestSpooledBodyInMemory(t *testing.T) {
	page := "<html><head><base href='/dir/'></head><body><p>one</p><a href=x>link</a>" + strings.Repeat(" ", 100<<10) + "</body></html>"
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, page)
	})
	spool := func(body int64) *Response {
		d := newTestDownloader(t, Limits{Body: body}, server)
		resp := mustDownload(t, d, NewRequest(server.URL, GET, nil, RequestWithSpool()))
		t.Cleanup(resp.closeSpool)
		return resp
	}
	uses := map[string]func(r *Response) string{
		"String": func(r *Response) string { return r.String()[:6] },
		"Text":   func(r *Response) string { text, _ := r.Text(); return text[:6] },
		"CSS":    func(r *Response) string { return r.CSS("p::text").Get() },
		"XPath":  func(r *Response) string { return r.XPath("//p/text()").Get() },
		"Links":  func(r *Response) string { return fmt.Sprint(r.Links()[0].URL == server.URL+"/dir/x") },
	}
	want := map[string]string{"String": "<html>", "Text": "<html>", "CSS": "one", "XPath": "one", "Links": "true"}
	for name, use := range uses {
		if got := use(spool(int64(len(page)))); got != want[name] {
			t.Errorf("%s: %q", name, got)
		}
	}
	resp := spool(int64(len(page)))
	if resp.Bytes() != nil || resp.Buffer != nil {
		t.Error("Bytes and Buffer are not nil")
	}
	if r, err := resp.Follow("x"); err != nil || r.Url != server.URL+"/dir/x" {
		t.Errorf("Follow: %+v, %v", r, err)
	}
	resp.closeSpool()
	if text, err := resp.Text(); err != nil || text != page {
		t.Errorf("what was read is gone with the file: %v", err)
	}
	failure := func(use func(*Response) string, r *Response) (err error) {
		defer func() { err, _ = recover().(error) }()
		use(r)
		return nil
	}
	closed := spool(int64(len(page)))
	closed.closeSpool()
	for name, use := range uses {
		large := spool(int64(len(page)) - 1)
		var tooLarge *BodyTooLargeError
		if name == "Text" {
			_, err := large.Text()
			use = func(r *Response) string { panic(err) }
		}
		if err := failure(use, large); !errors.As(err, &tooLarge) || tooLarge.Limit != int64(len(page))-1 || tooLarge.Spooled {
			t.Errorf("%s of a larger one: %v", name, err)
		}
		if name == "Text" {
			_, err := closed.Text()
			use = func(r *Response) string { panic(err) }
		}
		if err := failure(use, closed); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s of a closed one: %v", name, err)
		}
	}
	if _, err := spool(5).Follow("x"); !errors.As(err, new(*BodyTooLargeError)) {
		t.Errorf("Follow without the document's base: %v", err)
	}
}

// A response that was made by hand has no transfer, and a writer that is in use says whose.
func TestWithoutExchange(t *testing.T) {
	if got := NewResponse(nil, 200, nil, nil).Transfer(); got == nil || *got != (Transfer{}) {
		t.Error("a response made by hand has a transfer")
	}
	const want = "the ResponseWriter of http://u:xxxxx@x.example/p has not returned from a Write of a request that was given up; use another one"
	if got := (&WriterBusyError{"http://u:s3cret@x.example/p"}).Error(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if limits := (Limits{}).withDefaults(); limits.Spool != 1<<30 {
		t.Errorf("the default of Limits.Spool is %d", limits.Spool)
	}
}

// cannedTransport answers at once from memory.
type cannedTransport struct {
	header http.Header
	body   []byte
}

func (c *cannedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: c.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: int64(len(c.body)), Request: req,
	}, nil
}

// BenchmarkDownloader measures the downloader's own cost: beside it a bare loop over the same transport, with the same
// timeout and the same limit of the body.
func BenchmarkDownloader(b *testing.B) {
	page := bytes.Repeat([]byte("<p>some text</p>"), 256)
	canned := &cannedTransport{header: http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Server": {"canned"}}, body: page}
	client := &http.Client{Transport: canned}
	limits := Limits{}.withDefaults()
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), DefaultTimeout)
			req, err := http.NewRequestWithContext(ctx, GET, "http://example.com/page.html", nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("User-Agent", "test")
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			body, err := io.ReadAll(io.LimitReader(resp.Body, limits.Body+1))
			resp.Body.Close()
			cancel()
			if err != nil || len(body) != len(page) {
				b.Fatal(err)
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		d := newHTTPDownloader(limits, nil, fetch.Config{Agent: "test", Concurrency: 4, HTTP: client, Bodies: fetch.NewBudget(1<<30, nil)})
		defer d.close()
		result := make(chan *Context, 1)
		b.ReportAllocs()
		for b.Loop() {
			r := &Request{Url: "http://example.com/page.html", Method: GET, AllowRedirects: true}
			d.Download(&Context{Request: r, Ctx: b.Context()}, result)
			if got := <-result; got.DownloadResult.Error != nil || got.Response().ContentLength != len(page) {
				b.Fatal(got.DownloadResult.Error)
			}
		}
	})
}

// BenchmarkDownloaderConnection fetches a page over a kept connection on loopback: beside it a bare transport.
func BenchmarkDownloaderConnection(b *testing.B) {
	page := bytes.Repeat([]byte("<p>some text</p>"), 256)
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/chunks" {
			w.WriteHeader(http.StatusOK)
			for part := range slices.Chunk(page, 512) {
				w.Write(part)
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		w.Write(page)
	})
	defer server.Close()
	for _, path := range []string{"/length", "/chunks"} {
		b.Run("bare"+path, func(b *testing.B) {
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), GET, server.URL+path, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || len(body) != len(page) {
					b.Fatal(err)
				}
			}
		})
		b.Run("ours"+path, func(b *testing.B) {
			loopback := new(fetch.Loopback)
			loopback.Allow(server.URL)
			d := newHTTPDownloader(Limits{}.withDefaults(), nil, fetch.Config{Agent: "test", Concurrency: 4, Bodies: fetch.NewBudget(1<<30, nil), Loopback: loopback})
			defer d.close()
			result := make(chan *Context, 1)
			b.ReportAllocs()
			for b.Loop() {
				d.Download(&Context{Request: &Request{Url: server.URL + path, Method: GET}, Ctx: b.Context()}, result)
				if got := <-result; got.DownloadResult.Error != nil || got.Response().ContentLength != len(page) {
					b.Fatal(got.DownloadResult.Error)
				}
			}
		})
	}
}
