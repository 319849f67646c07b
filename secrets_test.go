package tegenaria_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// However a request fails, no password, cookie or header value of it is in an error or in the log.
func TestSecretsAreNotTold(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/loop":
			http.Redirect(w, r, "http://u:s3cret@"+r.Host+"/loop", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://u:s3cret@10.0.0.1/", http.StatusFound)
		case "/short":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "short")
		case "/both":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n")
		case "/slow":
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	at := "http://u:s3cret@" + strings.TrimPrefix(server.URL, "http://")
	proxy := func(url string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: url})
	}
	header := func(name, value string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: value})
	}
	var requests []*tegenaria.Request
	add := func(url string, opts ...tegenaria.RequestOption) {
		opts = append(opts, tegenaria.RequestWithDoNotFilter(true), tegenaria.RequestWithTimeout(200*time.Millisecond))
		requests = append(requests, tegenaria.NewRequest(url, "GET", nil, opts...))
	}
	for _, path := range []string{"/missing", "/loop", "/away", "/short", "/both", "/slow"} {
		add(at+path, tegenaria.RequestWithRequestCookies(map[string]string{"a": "s3cret"}), header("Authorization", "s3cret"))
	}
	add("http://u:s3cret@" + nobody.Addr().String() + "/")
	add("http://u:s3cret@10.0.0.1/")
	add("http://u:s3cret@nobody.invalid/")
	add("http://u:s3cret@%zz/")
	add("http://u:s3cret@s3cret@%zz/")
	add("u:s3cret@a.test/")
	add("u:s3cret@ho st/")
	add("ftp://u:s3cret@a.test/")
	add(server.URL, header("Authorization", "s3cret\n"))
	add(server.URL, header("Host", "s3cret/ x"))
	add(server.URL, tegenaria.RequestWithRequestCookies(map[string]string{"a": "s3cret;"}))
	for _, scheme := range []string{"http", "https", "socks5", "ftp"} {
		for _, target := range []string{"http://a.test/", "https://a.test/", at} {
			add(target, proxy(scheme+"://u:s3cret@"+nobody.Addr().String()))
		}
	}
	add(server.URL, proxy("http://u:s3cret@%zz"))
	add(server.URL, proxy("u:s3cret@a.test:80"))

	var mu sync.Mutex // guards what follows
	var said bytes.Buffer
	failed := 0
	logger := logrus.New()
	logger.SetOutput(&said) // under the logger's lock
	logger.SetLevel(logrus.TraceLevel)
	s := newSpider()
	s.start = func(req chan<- *tegenaria.Context) {
		for _, r := range requests {
			req <- tegenaria.NewContext(r)
		}
	}
	e := newEngine(nil, s, tegenaria.EngineWithLogger(logger), tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
		mu.Lock()
		defer mu.Unlock()
		failed++
		if text := fmt.Sprint(err, err.Err); strings.Contains(text, "s3cret") {
			t.Errorf("an error tells it: %s", text)
		}
	}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 100}))
	mustRun(t, e)
	if failed != len(requests) {
		t.Errorf("%d of %d requests failed", failed, len(requests))
	}
	if said.Len() == 0 {
		t.Error("the log is empty")
	}
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "s3cret") {
			t.Errorf("the log tells it: %s", line)
		}
	}
}
