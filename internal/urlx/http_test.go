package urlx_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// httpURLs are URLs with the request target that must arrive.
var httpURLs = []struct{ path, target string }{
	{"/", "/"},
	{"", "/"},
	{"/a/b?c=d&e", "/a/b?c=d&e"},
	{"/a b?c d#e", "/a%20b?c%20d"},
	{"/%zz", "/%zz"},
	{"/a%", "/a%"},
	{"/a|b", "/a|b"},
	{"/a%7Cb", "/a%7Cb"},
	{"/%2f%2F//x/", "/%2f%2F//x/"},
	{"//a", "//a"},
	{"/[a]?b[]=1", "/[a]?b[]=1"},
	{"/?", "/?"},
	{"/?%zz;|", "/?%zz;|"},
	{"/é", "/%C3%A9"},
	{"/a:b@c,;=+$&'()*!~", "/a:b@c,;=+$&'()*!~"},
}

// forHTTP returns a URL as net/http sends it.
func forHTTP(t testing.TB, abs string) *url.URL {
	t.Helper()
	u, err := urlx.HTTP(abs)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestHTTPSendsTheURL reads the bytes from the wire: Go's own server would refuse some targets.
func TestHTTPSendsTheURL(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	targets := make(chan string, 1)
	var server sync.WaitGroup
	server.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed by the test
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			targets <- line
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			_ = conn.Close()
		}
	})
	defer server.Wait()
	defer func() { _ = listener.Close() }()

	transport := &http.Transport{}
	for _, c := range httpURLs {
		u := forHTTP(t, "http://"+listener.Addr().String()+c.path)
		resp, err := transport.RoundTrip(&http.Request{Method: "GET", URL: u, Header: http.Header{}})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got, want := <-targets, "GET "+c.target+" HTTP/1.1\r\n"; got != want {
			t.Errorf("%q: the server got %q, want %q", c.path, got, want)
		}
	}
}

func TestHTTPOverHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.RequestURI)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, c := range append(httpURLs, struct{ path, target string }{"//a|b", "//a|b"}) {
		if strings.HasSuffix(c.path, "%") || strings.Contains(c.path, "/%zz") {
			continue // refused by Go's server
		}
		u := forHTTP(t, server.URL+c.path)
		resp, err := server.Client().Do(&http.Request{Method: "GET", URL: u})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if got, want := string(body), "HTTP/2.0 "+c.target; err != nil || got != want {
			t.Errorf("%q: the server got %q, %v; want %q", c.path, got, err, want)
		}
	}
}

// TestHTTPAbsoluteForm: the request line of the rare path that net/http can send in absolute form
// only.
func TestHTTPAbsoluteForm(t *testing.T) {
	if got, want := requestLine(t, forHTTP(t, "http://example.com:81//a|b?c"), false), "GET http://example.com:81//a|b?c HTTP/1.1"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestForProxy(t *testing.T) {
	for _, c := range httpURLs {
		got := requestLine(t, urlx.ForProxy(forHTTP(t, "http://example.com"+c.path)), true)
		if want := "GET http://example.com" + c.target + " HTTP/1.1"; got != want {
			t.Errorf("the proxy got %q, want %q", got, want)
		}
	}
	u := forHTTP(t, "https://example.com/a|b")
	if urlx.ForProxy(u) != u {
		t.Error("https goes through a tunnel and needs no absolute form")
	}
}

// requestLine returns the first line that net/http writes for u.
func requestLine(t *testing.T, u *url.URL, proxy bool) string {
	t.Helper()
	r := &http.Request{Method: "GET", URL: u, Header: http.Header{}}
	write := r.Write
	if proxy {
		write = r.WriteProxy
	}
	var sent strings.Builder
	if err := write(&sent); err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(sent.String(), "\r\n")
	return line
}

func TestHTTPFields(t *testing.T) {
	u := forHTTP(t, "HTTPS://u%40:p%3Aq@Example.COM:444/%C3%A9|?x#y")
	password, _ := u.User.Password()
	for _, f := range []struct{ name, got, want string }{
		{"Scheme", u.Scheme, "https"},
		{"Host", u.Host, "example.com:444"},
		{"Path", u.Path, "/é|"},
		{"RawPath", u.RawPath, "/%C3%A9|"},
		{"RawQuery", u.RawQuery, "x"},
		{"Fragment", u.Fragment, ""},
		{"user", u.User.Username(), "u@"},
		{"password", password, "p:q"},
	} {
		if f.got != f.want {
			t.Errorf("%s is %q, want %q", f.name, f.got, f.want)
		}
	}
	if u := forHTTP(t, "http://u@a/"); u.User.String() != "u" {
		t.Errorf("a user without password is %v", u)
	}
}

func TestHTTPErrors(t *testing.T) {
	for _, abs := range []string{"ftp://a/", "mailto:a", "file:///a"} {
		if _, err := urlx.HTTP(abs); !errors.Is(err, urlx.ErrNotHTTP) {
			t.Errorf("HTTP(%q): error is %v, want ErrNotHTTP", abs, err)
		}
	}
	for _, abs := range []string{"", "/a", "http://", "http://a b/"} {
		var e *urlx.Error
		if _, err := urlx.HTTP(abs); !errors.As(err, &e) {
			t.Errorf("HTTP(%q): error is %v, want an *Error", abs, err)
		}
	}
}
