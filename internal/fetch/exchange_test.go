package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestDownloadRequests(t *testing.T) {
	server := newServer(echo)
	d := newTestClient(t, nil, server)
	host := strings.TrimPrefix(server.URL, "http://")
	withUser := strings.Replace(server.URL, "http://", "http://us%40er:pass@", 1)
	made := 0
	tests := []struct {
		name    string
		url     string
		method  string
		opts    []option
		body    string
		sent    string            // the target, which the answer's URL has too; "": not looked at
		header  map[string]string // of the echoed request
		missing []string
	}{
		{name: "get", url: "/a?b=c", method: http.MethodGet, header: map[string]string{
			"X-Method": "GET", "X-Target": "/a?b=c", "Got-User-Agent": "tegenaria/test", "Got-Accept-Encoding": "gzip, deflate, br, zstd", "X-Host": host},
			missing: []string{"Got-Cookie", "Got-Content-Type", "Got-Authorization", "Got-Referer"}},
		{name: "no method", url: "/", header: map[string]string{"X-Method": "GET"}},
		{name: "no path", url: "", method: http.MethodGet, header: map[string]string{"X-Target": "/"}},
		{name: "own method", url: "/", method: "PURGE", header: map[string]string{"X-Method": "PURGE"}},
		{name: "post bytes", url: "/", method: http.MethodPost, opts: []option{withBody([]byte("hello"))},
			body: "hello", header: map[string]string{"X-Method": "POST"}},
		{name: "post func", url: "/", method: http.MethodPost, opts: []option{withBody([]byte("unused")), func(r *Request) {
			r.ReadBody = func() ([]byte, error) { made++; return fmt.Appendf(nil, "body %d of a func", made), nil }
		}}, body: "body 1 of a func", header: map[string]string{"Got-Content-Length": "16"}},
		{name: "post nothing", url: "/", method: http.MethodPost, header: map[string]string{"Got-Content-Length": "0"}},
		{name: "params", url: "/?a=1&b=old#f", method: http.MethodGet, opts: []option{withParams(map[string]string{"b": "2 3"})},
			sent: "/?a=1&b=2+3"},
		{name: "fragment", url: "/x#frag", sent: "/x"},
		{name: "fragments behind a query", url: "/x?q#a#b", sent: "/x?q"},
		{name: "empty fragment", url: "/#", sent: "/"},
		{name: "no fragment", url: "/x%23y", sent: "/x%23y"},
		{name: "exact path", url: "/a|b/[x]%2fy?a b", method: http.MethodGet, header: map[string]string{"X-Target": "/a|b/[x]%2fy?a%20b"}},
		{name: "two slashes", url: "//x?y", method: http.MethodGet, header: map[string]string{"X-Host": host}},
		{name: "two cookies", url: "/", method: http.MethodGet, opts: []option{withCookies(map[string]string{"b": "2", "a": "1"})},
			header: map[string]string{"Got-Cookie": "a=1; b=2"}},
		{name: "cookies as they are", url: "/", method: http.MethodGet,
			opts:   []option{withCookies(map[string]string{"": "none", "a": "x y", "b": `"q"`, "c": "", "d": `{"k":["v,w"]}`, "e": `\"`, "f": "žluť", "g[h] i": "a=b"})},
			header: map[string]string{"Got-Cookie": `none; a=x y; b="q"; c=; d={"k":["v,w"]}; e=\"; f=žluť; g[h] i=a=b`}},
		{name: "a cookie header as it is", url: "/", method: http.MethodGet,
			opts:   []option{withHeader(map[string]string{"Cookie": `sid=1; flag;sid=2;  b={"k": "v"}; =x; a=` + "\xff"})},
			header: map[string]string{"Got-Cookie": `sid=1; flag;sid=2;  b={"k": "v"}; =x; a=` + "\xff"}},
		{name: "cookies replace those of a header", url: "/", method: http.MethodGet, opts: []option{
			withHeader(map[string]string{"Cookie": `b=1; z="1"; a=1; flag;c=3; b=2;`}), withCookies(map[string]string{"a": "2", "b": "3"})},
			header: map[string]string{"Got-Cookie": `z="1"; flag;c=3; a=2; b=3`}},
		{name: "cookies and a header", url: "/", method: http.MethodGet, opts: []option{
			withHeader(map[string]string{"cookie": "z=9"}), withCookies(map[string]string{"a": "1"})},
			header: map[string]string{"Got-Cookie": "z=9; a=1"}},
		{name: "headers of any case", url: "/", method: http.MethodGet, opts: []option{withHeader(map[string]string{
			"user-agent": "mine", "x-ONE": "1", "HOST": "other.example:81"})},
			header: map[string]string{"Got-User-Agent": "mine", "Got-X-One": "1", "X-Host": "other.example:81"}},
		{name: "two spellings", url: "/", method: http.MethodGet, opts: []option{withHeader(map[string]string{"x-a": "2", "X-A": "1", "y": "3"})},
			header: map[string]string{"Got-X-A": "1,2", "Got-Y": "3"}},
		{name: "credentials", url: withUser + "/p", method: http.MethodGet, header: map[string]string{
			"Got-Authorization": "Basic dXNAZXI6cGFzcw==", "X-Target": "/p"}},
		{name: "credentials and a header", url: withUser, method: http.MethodGet, opts: []option{withHeader(map[string]string{"authorization": "Bearer x"})},
			header: map[string]string{"Got-Authorization": "Bearer x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked := test.url
			if !strings.HasPrefix(asked, "http") {
				asked = server.URL + asked
			}
			resp := mustDownload(t, d, request(asked, test.method, test.opts...))
			if resp.Status != 200 || string(resp.Body) != test.body || resp.Length != int64(len(test.body)) {
				t.Errorf("status %d, body %q of %d bytes, want %q", resp.Status, resp.Body, resp.Length, test.body)
			}
			if resp.Took <= 0 || strings.Contains(resp.URL, "#") {
				t.Errorf("answer is not complete: %+v", resp)
			}
			if got := resp.Header.Get("X-Target"); test.sent != "" && (got != test.sent || resp.URL != server.URL+test.sent) {
				t.Errorf("it asks for %s and comes from %s, want %s", got, resp.URL, test.sent)
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
	d := newTestClient(t, func(s *Config) { s.Limits.Body = 100 }, server)
	header := func(name, value string) option {
		return withHeader(map[string]string{name: value})
	}
	tests := []struct {
		name, url, field string
		opt              option
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
		{name: "cookie name", field: `Cookies["a=b"]`, opt: withCookies(map[string]string{"a=b": "s3cret"})},
		{name: "control character in a cookie name", field: `Cookies["a\nb"]`, opt: withCookies(map[string]string{"a\nb": "s3cret"})},
		{name: "control character in a cookie value", field: `Cookies["a"]`, opt: withCookies(map[string]string{"a": "s3cret\x00"})},
		{name: "cookie of nothing", field: `Cookies[""]`, opt: withCookies(map[string]string{"": "", "b": "s3cret"})},
		{name: "cookie value", field: `Cookies["a"]`, opt: withCookies(map[string]string{"a": "s3cret;b=1"})},
		{name: "proxy without URL", field: "Proxy", opt: through("")},
		{name: "proxy scheme", field: "Proxy", opt: through("ftp://u:s3cret@example.com")},
		{name: "proxy without scheme", field: "Proxy", opt: through("u:s3cret@example.com:8080")},
		{name: "proxy port", field: "Proxy", opt: through("http://u:s3cret@example.com:x")},
		{name: "proxy host", field: "Proxy", opt: through("http://u:s3cret@")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.url == "" && test.field != "Url" {
				test.url = server.URL
			}
			r := request(test.url, http.MethodGet)
			if test.opt != nil {
				test.opt(&r)
			}
			result := download(d, r)
			err := wantError[*RequestError](t, result)
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
	wrong := errors.New("cannot be read")
	if err := download(d, request(server.URL, http.MethodPost, func(r *Request) { r.ReadBody = func() ([]byte, error) { return nil, wrong } })).Error; !errors.Is(err, wrong) {
		t.Errorf("a body that cannot be read: %v", err)
	}
}

// Any status is a response. A counter with a fixed list of codes makes it fail.
func TestAnyStatusIsAResponse(t *testing.T) {
	var status atomic.Int64
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://%zz/")
		w.WriteHeader(int(status.Load()))
		io.WriteString(w, "body")
	})
	d := newTestClient(t, nil, server)
	for _, code := range []int{200, 226, 299, 301, 302, 303, 307, 308, 310, 400, 404, 418, 422, 429, 451, 500, 503, 522, 599, 700, 999} {
		status.Store(int64(code))
		resp := mustDownload(t, d, request(server.URL, http.MethodGet))
		if resp.Status != code || string(resp.Body) != "body" {
			t.Errorf("status %d, body %q; want %d", resp.Status, resp.Body, code)
		}
	}
}

// Each downloader has connections of its own, a user's client is used, and certificates are verified. A
// transport shared by all, or InsecureSkipVerify, makes it fail.
func TestClientsAreSeparateAndVerify(t *testing.T) {
	plain := newServer(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	one := newTestClient(t, nil, plain)
	two := newTestClient(t, nil, plain)
	plainly := request(plain.URL, http.MethodGet)
	first := mustDownload(t, one, plainly).text()
	if again := mustDownload(t, one, plainly).text(); again != first {
		t.Errorf("a downloader does not reuse its connection: %s, then %s", first, again)
	}
	if other := mustDownload(t, two, plainly).text(); other == first {
		t.Error("two downloaders share a connection")
	}
	one.Close()
	if rs := one.routes; rs.transport(rs.connector(rs.guard.dial)).Proxy != nil {
		t.Error("a proxy of the environment is used")
	}

	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	secure.Config.ErrorLog = quiet()
	careful := newTestClient(t, nil, secure)
	r := request(secure.URL, http.MethodGet)
	if err := download(careful, r).Error; err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	own := newTestClient(t, func(s *Config) { s.HTTP = secure.Client() })
	resp := mustDownload(t, own, r)
	if resp.Status != 200 {
		t.Errorf("the user's client was not used: status %d", resp.Status)
	}
	secure.Client().CloseIdleConnections()
}

// Redirects are not followed, bodies are bounded, and a body is read to its end so that its connection
// is used again. net/http's own redirects, or a body left unread, make it fail.
func TestNoRedirectsAndKeepAlive(t *testing.T) {
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
	own := newTestClient(t, nil, server)
	given := newTestClient(t, func(s *Config) { s.HTTP = client })
	for name, d := range map[string]*Client{"own": own, "given": given} {
		conns.Store(0)
		asked.Store(0)
		for range 5 {
			resp := mustDownload(t, d, request(server.URL, http.MethodGet, unfollowed))
			if resp.Status != 302 || resp.Header.Get("Location") != "/next" {
				t.Errorf("%s: status %d, Location %v", name, resp.Status, resp.Header["Location"])
			}
		}
		if asked.Load() != 5 || conns.Load() != 1 {
			t.Errorf("%s: 5 requests became %d on %d connections", name, asked.Load(), conns.Load())
		}
	}
	own.Close()
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
	d := newTestClient(t, func(s *Config) { s.Loopback.Allow(address) })
	result := download(d, request(address, http.MethodGet))
	wantError[*net.OpError](t, result)
	if !errors.Is(result.Error, syscall.ECONNREFUSED) || result.Response != nil {
		t.Errorf("error %v, response %v", result.Error, result.Response)
	}
	if strings.Contains(result.Error.Error(), "s3cret") {
		t.Errorf("the message tells a secret: %v", result.Error)
	}
}

func TestDownloadTruncatedBody(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		conn := hijack(w)
		defer conn.Close()
		switch r.URL.Path {
		case "/known":
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
		case "/chunked":
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
		case "/gzip":
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf")
		}
	})
	d := newTestClient(t, nil, server)
	var file bytes.Buffer
	tests := []struct {
		name, path, body string
		length           int64
		want             int64
		opts             []option
	}{
		{"known length", "/known", "half", 4, 100000, nil},
		{"chunked", "/chunked", "half", 4, -1, nil},
		{"no gzip", "/gzip", "", 0, -1, nil},
		{"to a writer", "/known", "", 4, 100000, []option{withWriter(&file)}},
		{"to a spool", "/known", "", 0, 100000, []option{withSpool}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := request(server.URL+test.path, http.MethodGet, test.opts...)
			result := download(d, r)
			err := wantError[*TruncatedBodyError](t, result)
			if err.Want != test.want || err.URL != r.URL || err.Err == nil {
				t.Errorf("%+v", err)
			}
			resp := result.Response
			if resp == nil {
				t.Fatal("no answer")
			}
			if resp.Status != 200 || string(resp.Body) != test.body || resp.Length != test.length || resp.File != nil {
				t.Errorf("status %d, %q of %d bytes", resp.Status, resp.Body, resp.Length)
			}
			if resp.Transfer.Err != error(err) {
				t.Errorf("the transfer's error is %v", resp.Transfer.Err)
			}
			// On demand it is not a failure, unless nothing is kept.
			r = request(server.URL+test.path, http.MethodGet, append(test.opts, withPartial)...)
			result = download(d, r)
			if r.Spool {
				wantError[*TruncatedBodyError](t, result)
				return
			}
			if result.Error != nil || string(result.Response.Body) != test.body {
				t.Fatalf("with RequestWithPartialBody: %v", result.Error)
			}
			if cut, ok := errors.AsType[*TruncatedBodyError](result.Response.Transfer.Err); !ok || cut.Want != test.want {
				t.Errorf("with RequestWithPartialBody the transfer's error is %v", result.Response.Transfer.Err)
			}
		})
	}
	if file.String() != "halfhalf" {
		t.Errorf("the writer has %q", &file)
	}
}

// onlyFound is a Writer that takes the bodies of responses that are not failures.
type onlyFound struct{ takesAll }

func (onlyFound) Takes(status int) bool { return status < 400 }

// A Writer gets the bodies that it takes, however large, and none of a redirect that is followed. It has failed if it takes less
// than it was given.
func TestStreams(t *testing.T) {
	page := bytes.Repeat([]byte("x"), 1<<20)
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Length", strconv.Itoa(len(page)))
			w.Write(page)
		}
	})
	d := newTestClient(t, func(s *Config) { s.Limits.Body = 1000 }, server)
	for _, test := range []struct {
		name, path string
		opts       []option
		streamed   bool
	}{
		{"page", "/", nil, true},
		{"redirect that is followed", "/moved", nil, false},
		{"redirect that is not", "/moved", []option{unfollowed}, true},
		{"not taken", "/missing", nil, false},
	} {
		var file bytes.Buffer
		a := mustDownload(t, d, request(server.URL+test.path, http.MethodGet, append(test.opts, func(r *Request) { r.Writer = onlyFound{takesAll{&file}} })...))
		if (file.Len() > 0) != test.streamed || (len(a.Body) > 0) == test.streamed || a.Length != int64(file.Len()+len(a.Body)) {
			t.Errorf("%s: %d bytes were written, %d are in memory, the length is %d", test.name, file.Len(), len(a.Body), a.Length)
		}
	}
	if head := mustDownload(t, d, request(server.URL, http.MethodHead)); head.Length != 0 {
		t.Errorf("HEAD brought %d bytes", head.Length)
	}
	full := errors.New("disk full")
	for want, write := range map[error]writerFunc{
		full:             func([]byte) (int, error) { return 0, full },
		io.ErrShortWrite: func(p []byte) (int, error) { return len(p) - 1, nil },
	} {
		if result := download(d, request(server.URL, http.MethodGet, withWriter(write))); !errors.Is(result.Error, want) || result.Response != nil {
			t.Errorf("%v, answer %v; want %v", result.Error, result.Response, want)
		}
	}
}

func TestDownloadCancelled(t *testing.T) {
	arrived := make(chan struct{})
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("first"))
		w.(http.Flusher).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	d := newTestClient(t, nil, server)
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(stopped)
	}()
	r := request(server.URL, http.MethodGet)
	if result := downloadIn(ctx, d, r); !errors.Is(result.Error, stopped) || result.Response != nil {
		t.Errorf("in the body: %v, response %v", result.Error, result.Response)
	}
	if result := downloadIn(ctx, d, r); !errors.Is(result.Error, stopped) {
		t.Errorf("before the start: %v", result.Error)
	}
}
