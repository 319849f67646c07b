package tegenaria

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// newTestDownloader makes a downloader that may ask the given servers, and checks that it leaves no goroutine
// behind.
func newTestDownloader(t testing.TB, change func(s *downloadSettings), servers ...*httptest.Server) *httpDownloader {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	s := downloadSettings{limits: Limits{}.withDefaults(), agent: "tegenaria/test", concurrency: 4, loopback: new(loopbackSet)}
	for _, server := range servers {
		if !s.loopback.allow(server.URL) {
			t.Fatalf("%s is not on loopback", server.URL)
		}
	}
	if change != nil {
		change(&s)
	}
	d := newHTTPDownloader(s)
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
	d := newTestDownloader(t, nil, server)
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
		{name: "no path", url: "", method: GET, header: map[string]string{"X-Target": "/"}},
		{name: "own method", url: "/", method: "PURGE", header: map[string]string{"X-Method": "PURGE"}},
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
		{name: "exact path", url: "/a|b/[x]%2fy?a b", method: GET, header: map[string]string{"X-Target": "/a|b/[x]%2fy?a%20b"}},
		{name: "two slashes", url: "//x?y", method: GET, header: map[string]string{"X-Host": host}},
		{name: "two cookies", url: "/", method: GET, opts: []RequestOption{RequestWithRequestCookies(map[string]string{"b": "2", "a": "1"})},
			header: map[string]string{"Got-Cookie": "a=1; b=2"}},
		{name: "quoted cookies", url: "/", method: GET, opts: []RequestOption{RequestWithRequestCookies(map[string]string{"a": "x y", "b": `"q"`, "c": ""})},
			header: map[string]string{"Got-Cookie": `a="x y"; b="q"; c=`}},
		{name: "cookies and a header", url: "/", method: GET, opts: []RequestOption{
			RequestWithRequestHeader(map[string]string{"cookie": "z=9"}), RequestWithRequestCookies(map[string]string{"a": "1"})},
			header: map[string]string{"Got-Cookie": "z=9; a=1"}},
		{name: "headers of any case", url: "/", method: GET, opts: []RequestOption{RequestWithRequestHeader(map[string]string{
			"user-agent": "mine", "x-ONE": "1", "HOST": "other.example:81"})},
			header: map[string]string{"Got-User-Agent": "mine", "Got-X-One": "1", "X-Host": "other.example:81"}},
		{name: "two spellings", url: "/", method: GET, opts: []RequestOption{RequestWithRequestHeader(map[string]string{"x-a": "2", "X-A": "1", "y": "3"})},
			header: map[string]string{"Got-X-A": "1,2", "Got-Y": "3"}},
		{name: "credentials", url: withUser + "/p", method: GET, header: map[string]string{
			"Got-Authorization": "Basic dXNAZXI6cGFzcw==", "X-Target": "/p"}},
		{name: "credentials and a header", url: withUser, method: GET, opts: []RequestOption{RequestWithRequestHeader(map[string]string{"authorization": "Bearer x"})},
			header: map[string]string{"Got-Authorization": "Bearer x"}},
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
	d := newTestDownloader(t, func(s *downloadSettings) { s.limits.Body = 100 }, server)
	header := func(name, value string) RequestOption {
		return RequestWithRequestHeader(map[string]string{name: value})
	}
	proxy := func(u string) RequestOption { return RequestWithRequestProxy(Proxy{ProxyUrl: u}) }
	tests := []struct {
		name, url, field string
		opt              RequestOption
	}{
		{name: "no scheme", url: "example.com/s3cret", field: "Url"},
		{name: "other scheme", url: "ftp://u:s3cret@example.com/", field: "Url"},
		{name: "no host", url: "http://", field: "Url"},
		{name: "bad port", url: "http://u:s3cret@example.com:99999/", field: "Url"},
		{name: "empty", url: "", field: "Url"},
		{name: "method", field: "Method", opt: func(r *Request) { r.Method = "A B" }},
		{name: "header name", field: `Header["a b"]`, opt: header("a b", "s3cret")},
		{name: "header value", field: `Header["a"]`, opt: header("a", "s3cret\r\nx: y")},
		{name: "host header", field: `Header["Host"]`, opt: header("Host", "s3cret/x y")},
		{name: "cookie name", field: `Cookies["a b"]`, opt: RequestWithRequestCookies(map[string]string{"a b": "s3cret"})},
		{name: "cookie value", field: `Cookies["a"]`, opt: RequestWithRequestCookies(map[string]string{"a": "s3cret;b=1"})},
		{name: "body reader fails", field: "BodyReader", opt: RequestWithBodyReader(io.MultiReader(failing{}))},
		{name: "body reader too large", field: "BodyReader", opt: RequestWithBodyReader(strings.NewReader(strings.Repeat("x", 101)))},
		{name: "proxy without URL", field: "Proxy", opt: proxy("")},
		{name: "proxy scheme", field: "Proxy", opt: proxy("ftp://u:s3cret@example.com")},
		{name: "proxy without scheme", field: "Proxy", opt: proxy("u:s3cret@example.com:8080")},
		{name: "proxy port", field: "Proxy", opt: proxy("http://u:s3cret@example.com:x")},
		{name: "proxy host", field: "Proxy", opt: proxy("http://u:s3cret@")},
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

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("cannot be read") }

// T02: any status is a response. A counter with a fixed list of codes makes it fail.
func TestT02AnyStatusIsAResponse(t *testing.T) {
	var status atomic.Int64
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://%zz/")
		w.WriteHeader(int(status.Load()))
		io.WriteString(w, "body")
	})
	d := newTestDownloader(t, nil, server)
	for _, code := range []int{200, 226, 299, 301, 302, 303, 307, 308, 310, 400, 404, 418, 422, 429, 451, 500, 503, 522, 599, 700, 999} {
		status.Store(int64(code))
		resp := mustDownload(t, d, NewRequest(server.URL, GET, nil))
		if resp.Status != code || resp.String() != "body" {
			t.Errorf("status %d, body %q; want %d", resp.Status, resp, code)
		}
		allowed := d.CheckStatus(uint64(code), nil)
		if allowed != (code < 400) || !d.CheckStatus(uint64(code), []uint64{1, uint64(code)}) {
			t.Errorf("CheckStatus(%d) = %v", code, allowed)
		}
	}
}

// T07: a fragment is not sent. Parsing the URL as a request target, which has none, makes it fail.
func TestT07FragmentIsNotSent(t *testing.T) {
	server := newServer(echo)
	d := newTestDownloader(t, nil, server)
	for asked, want := range map[string]string{"/x#frag": "/x", "/x?q#a#b": "/x?q", "/#": "/", "/x%23y": "/x%23y"} {
		resp := mustDownload(t, d, NewRequest(server.URL+asked, GET, nil))
		if got := firstHeader(resp.Header, "X-Target"); got != want || resp.URL != server.URL+want {
			t.Errorf("%s asks for %s and comes from %s, want %s", asked, got, resp.URL, want)
		}
	}
}

// T08: Params are added to the URL's query. Replacing RawQuery makes it fail.
func TestT08ParamsKeepTheQuery(t *testing.T) {
	server := newServer(echo)
	d := newTestDownloader(t, nil, server)
	resp := mustDownload(t, d, NewRequest(server.URL+"/?a=1", GET, nil, RequestWithRequestParams(map[string]string{"b": "2"})))
	if got := firstHeader(resp.Header, "X-Target"); got != "/?a=1&b=2" || resp.URL != server.URL+got {
		t.Errorf("asked for %s, response of %s", got, resp.URL)
	}
}

// T06: a body larger than any buffer arrives whole when the request has a timeout. Cancelling the context
// before the body was read makes it fail.
func TestT06TimeoutLetsTheBodyArrive(t *testing.T) {
	page := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	server := newServer(func(w http.ResponseWriter, r *http.Request) { w.Write(page) })
	d := newTestDownloader(t, nil, server)
	resp := mustDownload(t, d, NewRequest(server.URL, GET, nil, RequestWithTimeout(30*time.Second)))
	if !bytes.Equal(resp.Bytes(), page) {
		t.Errorf("%d bytes of %d", len(resp.Bytes()), len(page))
	}
}

// T10: each downloader has connections of its own, a user's client is used, and certificates are verified. A
// transport shared by all, or InsecureSkipVerify, makes it fail.
func TestT10ClientsAreSeparateAndVerify(t *testing.T) {
	plain := newServer(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	one := newTestDownloader(t, nil, plain)
	two := newTestDownloader(t, nil, plain)
	request := func() *Request { return NewRequest(plain.URL, GET, nil) }
	first := mustDownload(t, one, request()).String()
	if again := mustDownload(t, one, request()).String(); again != first {
		t.Errorf("a downloader does not reuse its connection: %s, then %s", first, again)
	}
	if other := mustDownload(t, two, request()).String(); other == first {
		t.Error("two downloaders share a connection")
	}
	one.close()
	if rs := one.routes; rs.transport(rs.connector(rs.guard.dial)).Proxy != nil {
		t.Error("a proxy of the environment is used")
	}

	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	secure.Config.ErrorLog = quiet()
	careful := newTestDownloader(t, nil, secure)
	r := NewRequest(secure.URL, GET, nil)
	if err := download(careful, r).Error; err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	own := newTestDownloader(t, func(s *downloadSettings) { s.client = secure.Client() })
	resp := mustDownload(t, own, r)
	if resp.Status != 200 {
		t.Errorf("the user's client was not used: status %d", resp.Status)
	}
	secure.Client().CloseIdleConnections()
}

// T21: redirects are not followed, bodies are bounded, and a body is read to its end so that its connection
// is used again. net/http's own redirects, or a body left unread, make it fail.
func TestT21NoRedirectsAndKeepAlive(t *testing.T) {
	var conns, asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/next", http.StatusFound)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	client := &http.Client{Transport: &http.Transport{}}
	own := newTestDownloader(t, nil, server)
	given := newTestDownloader(t, func(s *downloadSettings) { s.client = client })
	for name, d := range map[string]Downloader{"own": own, "given": given} {
		conns.Store(0)
		asked.Store(0)
		for range 5 {
			resp := mustDownload(t, d, NewRequest(server.URL, GET, nil, RequestWithMaxRedirects(0)))
			if resp.Status != 302 || firstHeader(resp.Header, "Location") != "/next" {
				t.Errorf("%s: status %d, Location %v", name, resp.Status, resp.Header["Location"])
			}
		}
		if asked.Load() != 5 || conns.Load() != 1 {
			t.Errorf("%s: 5 requests became %d on %d connections", name, asked.Load(), conns.Load())
		}
	}
	own.close()
	if client.CheckRedirect != nil {
		t.Error("the user's client was changed")
	}
	client.CloseIdleConnections()
}

func TestDownloadRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://u:s3cret@" + listener.Addr().String() + "/"
	listener.Close()
	d := newTestDownloader(t, func(s *downloadSettings) { s.loopback.allow(address) })
	r := NewRequest(address, GET, nil)
	result := download(d, r)
	wantError[*net.OpError](t, result, r)
	if !errors.Is(result.Error, syscall.ECONNREFUSED) || result.Response != nil {
		t.Errorf("error %v, response %v", result.Error, result.Response)
	}
	if strings.Contains(result.Error.Error(), "s3cret") {
		t.Errorf("the message tells a secret: %v", result.Error)
	}
}

func TestDownloadBodyTooLarge(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunked" {
			w.(http.Flusher).Flush()
		}
		size := 100_000
		if r.URL.Path == "/known" {
			w.Header().Set("Content-Length", strconv.Itoa(size+len(r.URL.RawQuery)/len("over")))
		}
		if r.URL.Query().Has("over") {
			size++
		}
		w.Write(make([]byte, size))
	})
	budget := fetch.NewBudget(1<<30, nil)
	d := newTestDownloader(t, func(s *downloadSettings) { s.limits.Body, s.bodies = 100_000, budget }, server)
	for _, path := range []string{"/known", "/chunked"} {
		if resp := mustDownload(t, d, NewRequest(server.URL+path, GET, nil)); resp.ContentLength != 100_000 {
			t.Errorf("%s: %d bytes", path, resp.ContentLength)
		}
		r := NewRequest(server.URL+path+"?over", GET, nil)
		result := download(d, r)
		if err := wantError[*BodyTooLargeError](t, result, r); err.Limit != 100_000 || err.URL != r.Url {
			t.Errorf("%s: %+v", path, err)
		}
		if result.Response != nil {
			t.Errorf("%s: a body that is cut was handed out", path)
		}
		var file bytes.Buffer
		r = NewRequest(server.URL+path+"?over", GET, nil, RequestWithResponseWriter(&file))
		if head := mustDownload(t, d, NewRequest(server.URL+path+"?over", HEAD, nil)); head.ContentLength != 0 {
			t.Errorf("%s: HEAD brought %d bytes", path, head.ContentLength)
		}
		if resp := mustDownload(t, d, r); resp.ContentLength != 100_001 || file.Len() != 100_001 {
			t.Errorf("%s: the writer got %d bytes, response says %d", path, file.Len(), resp.ContentLength)
		}
	}
}

// gzip is asked for and removed; what counts is the size that the body has in memory.
func TestDownloadGzip(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	zip.Write(make([]byte, 1<<20))
	zip.Close()
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip was not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	})
	d := newTestDownloader(t, func(s *downloadSettings) { s.limits.Body = 1 << 20 }, server)
	if resp := mustDownload(t, d, NewRequest(server.URL, GET, nil)); resp.ContentLength != 1<<20 || len(resp.Header["Content-Encoding"]) != 0 {
		t.Errorf("%d bytes, %v", resp.ContentLength, resp.Header)
	}
	own := mustDownload(t, d, NewRequest(server.URL, GET, nil, RequestWithRequestHeader(map[string]string{"accept-encoding": "gzip"})))
	if own.ContentLength != 1<<20 || len(own.Header["Content-Encoding"]) != 0 {
		t.Errorf("the request's own Accept-Encoding: %d bytes of %d, %v", own.ContentLength, packed.Len(), own.Header)
	}
	d.limits.Body--
	r := NewRequest(server.URL, GET, nil)
	wantError[*BodyTooLargeError](t, download(d, r), r)
}

// The transport of one's own speaks HTTP/2 where the server does, and a stream that breaks off is noticed.
func TestDownloadHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
		if r.URL.Path == "/breaks" {
			w.Write([]byte("half"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "whole")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	d := newTestDownloader(t, func(s *downloadSettings) { s.tls = trust(server) }, server)
	resp := mustDownload(t, d, NewRequest(server.URL, GET, nil))
	if firstHeader(resp.Header, "X-Proto") != "HTTP/2.0" || resp.String() != "whole" {
		t.Errorf("%v, body %q", resp.Header, resp)
	}
	r := NewRequest(server.URL+"/breaks", GET, nil)
	result := download(d, r)
	wantError[*TruncatedBodyError](t, result, r)
	if result.Response == nil || result.Response.String() != "half" {
		t.Errorf("response %v", result.Response)
	}
}

func TestDownloadErrorTexts(t *testing.T) {
	const asked = "http://u:s3cret@x.example/p"
	for _, test := range []struct {
		err  error
		want string
	}{
		{&BodyTooLargeError{URL: asked, Limit: 5}, "the body of http://u:xxxxx@x.example/p is larger than Limits.Body = 5 bytes; raise the limit, or use RequestWithSpool or RequestWithResponseWriter"},
		{&TimeoutError{URL: asked, Limit: time.Second}, "http://u:xxxxx@x.example/p took longer than 1s; RequestWithTimeout allows more"},
		{&TruncatedBodyError{asked, 4, 9, io.ErrUnexpectedEOF}, "the body of http://u:xxxxx@x.example/p broke off after 4 of 9 bytes: unexpected EOF"},
		{&TruncatedBodyError{asked, 4, -1, io.ErrUnexpectedEOF}, "the body of http://u:xxxxx@x.example/p broke off after 4 bytes: unexpected EOF"},
		{&TimeoutError{URL: asked, Limit: time.Second, Phase: PhaseConnect}, "connecting to http://u:xxxxx@x.example/p took longer than 1s; Limits.Connect allows more"},
		{&TimeoutError{URL: asked, Limit: time.Second, Phase: PhaseConnect, Proxy: "http://u:xxxxx@p"}, "connecting to http://u:xxxxx@x.example/p through the proxy http://u:xxxxx@p took longer than 1s; Limits.Connect allows more"},
		{&TimeoutError{URL: asked, Limit: time.Second, Phase: PhaseHandshake, Proxy: "https://p"}, "the TLS handshake with the proxy https://p took longer than 1s; Limits.Handshake allows more"},
		{&BodyTooLargeError{URL: asked, Limit: 5, Spooled: true}, "the body of http://u:xxxxx@x.example/p is larger than Limits.Spool = 5 bytes; raise the limit, or use RequestWithResponseWriter"},
		{&BodyTooLargeError{URL: "http://token@x.example/", Limit: 5, Spooled: true}, "the body of http://xxxxx@x.example/ is larger than Limits.Spool = 5 bytes; raise the limit, or use RequestWithResponseWriter"},
		{&UnansweredError{asked, 5}, "5 connections were made for http://u:xxxxx@x.example/p, and none of them took the request"},
		{&WriterBusyError{asked}, "the ResponseWriter of http://u:xxxxx@x.example/p has not returned from a Write of a request that was given up; use another one"},
		{&TooSlowError{asked, 10, 12 * time.Second, 5}, "the body of http://u:xxxxx@x.example/p comes too slowly: 10 bytes in 12s, Limits.MinRate is 5 a second"},
		{&RatioError{asked, 100, 5, 1000}, "the body of http://u:xxxxx@x.example/p grows from 5 to 1000 bytes in decoding, more than Limits.Ratio = 100 times"},
		{&CorruptBodyError{asked, io.ErrUnexpectedEOF}, "the body of http://u:xxxxx@x.example/p cannot be decoded: unexpected EOF"},
		{&HeaderTooLargeError{URL: asked, Limit: 5}, "the header of the response of http://u:xxxxx@x.example/p is larger than Limits.Header = 5 bytes"},
		{&HeaderTooLargeError{URL: asked, Fields: 5}, "the response of http://u:xxxxx@x.example/p has more than Limits.HeaderFields = 5 header fields"},
		{&FramingError{asked, "its end is nowhere"}, "the response of http://u:xxxxx@x.example/p is framed wrongly: its end is nowhere"},
		{&UnexpectedStatusError{101, asked}, "unexpected status 101 from http://u:xxxxx@x.example/p: nobody asked for another protocol"},
		{&PrivateAddressError{"x.example", netip.MustParseAddr("10.0.0.1")}, "x.example is at 10.0.0.1, which is no public address; Politeness.AllowPrivate allows it (10.0.0.1/32, say)"},
		{&PrivateAddressError{"::1", netip.MustParseAddr("::1")}, "::1 is no public address; Politeness.AllowPrivate allows it (::1/128, say)"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
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
	d := newTestDownloader(t, nil, server)
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
			// On demand it is no failure, unless nothing is kept.
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
	d := newTestDownloader(t, func(s *downloadSettings) { s.allowStatus = []uint64{410} }, server)
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
	d := newTestDownloader(t, func(s *downloadSettings) { s.limits.Body = 1000 }, server)
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
	if moved.file != nil || moved.Buffer == nil || moved.ContentLength != 0 {
		t.Errorf("a redirect was spooled: %+v", moved)
	}
	moved.closeSpool()
}

func TestDownloadCancelled(t *testing.T) {
	arrived := make(chan struct{})
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("first"))
		w.(http.Flusher).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	d := newTestDownloader(t, nil, server)
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(stopped)
	}()
	r := NewRequest(server.URL, GET, nil)
	if result := download(d, r, WithContext(ctx)); !errors.Is(result.Error, stopped) || result.Response != nil {
		t.Errorf("in the body: %v, response %v", result.Error, result.Response)
	}
	if result := download(d, r, WithContext(ctx)); !errors.Is(result.Error, stopped) {
		t.Errorf("before the start: %v", result.Error)
	}
}
