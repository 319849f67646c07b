package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
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
	add(server.URL, proxy("http://u:p/s3cret@a.test:80"))
	add("http://u:p/s3cret@a.test/")
	add("http://u:p?s3cret@a.test/")
	add("http:/\\u:s3cret@%zz/")
	add("http://s3cret@nobody.invalid/")
	add(server.URL, proxy("u:s3cret@a.test:80"))

	var mu sync.Mutex // guards the fields below
	var said bytes.Buffer
	failed := 0
	logger := logrus.New()
	logger.SetOutput(&said) // under the logger's lock
	logger.SetLevel(logrus.TraceLevel)
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, r := range requests {
			req <- tegenaria.NewContext(r)
		}
	}
	e := enginetest.NewEngine(nil, s, tegenaria.EngineWithLogger(logger), tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
		mu.Lock()
		defer mu.Unlock()
		failed++
		if text := fmt.Sprint(err, err.Err); strings.Contains(text, "s3cret") {
			t.Errorf("an error tells it: %s", text)
		}
	}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 100}))
	enginetest.MustRun(t, e)
	if failed != len(requests) {
		t.Errorf("%d of %d requests failed", failed, len(requests))
	}
	if said.Len() == 0 {
		t.Error("the log is empty")
	}
	if text := e.Summary().String(); strings.Contains(text, "s3cret") {
		t.Errorf("the summary tells it: %s", text)
	}
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "s3cret") {
			t.Errorf("the log tells it: %s", line)
		}
	}
}

// No password of a reference is in the error about it, wherever it stood: in a page, its base, a refresh or a Location,
// and with a client of the user's too.
func TestSecretsOfReferences(t *testing.T) {
	pages := map[string]string{
		"/link":    `<a href="http://u:s3cret@%zz/">x</a>`,
		"/base":    `<base href="http://u:s3cret@%zz/"><a href="x">x</a>`,
		"/refresh": `<meta http-equiv="refresh" content="0; url=http://u:s3cret@%zz/">`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if page, ok := pages[r.URL.Path]; ok {
			io.WriteString(w, page)
			return
		}
		w.Header()["Location"] = []string{"http://u:s3cret@%zz/"}
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	at := "http://u:s3cret@" + strings.TrimPrefix(server.URL, "http://")
	given := &http.Client{Transport: &http.Transport{}}
	defer given.CloseIdleConnections()
	for name, opts := range map[string][]tegenaria.EngineOption{"own": nil, "given": {tegenaria.EngineWithHTTPClient(given)}} {
		var said bytes.Buffer
		logger := logrus.New()
		logger.SetOutput(&said)
		logger.SetLevel(logrus.TraceLevel)
		var mu sync.Mutex // guards texts
		var texts []string
		s := enginetest.NewSpider(at+"/link", at+"/base", at+"/refresh", at+"/location")
		s.Parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			err := out.FollowLinks()
			for _, ref := range []string{"http://u:s3cret@%zz/", "u:s3cret@%zz/", "//u:s3cret@%zz/", "http://s3cret@%zz/"} {
				_, bad := r.Follow(ref)
				err = errors.Join(err, bad, out.Follow(ref))
			}
			return err
		})
		e := enginetest.NewEngine(nil, s, append(opts, tegenaria.EngineWithLogger(logger), tegenaria.EngineWithMiddlewares(middleware.NewMetaRefresh(middleware.MetaRefreshOptions{})),
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
				mu.Lock()
				defer mu.Unlock()
				texts = append(texts, err.Error(), fmt.Sprint(err.Err))
			}))...)
		enginetest.MustRun(t, e)
		if len(texts) == 0 || said.Len() == 0 {
			t.Errorf("%s: nothing was told", name)
		}
		for line := range strings.Lines(said.String() + strings.Join(texts, "\n")) {
			if strings.Contains(line, "s3cret") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// Secret headers stay at their origin, whatever their spelling and however the page sends its reader on; what a parser
// follows inherits none. It fails when dropCredentials does not ask isCredential or the engine's own list.
func TestSecretHeadersStayAtTheirOrigin(t *testing.T) {
	secrets := []string{"Authorization", "COOKIE", "proxy-authorization", "Proxy-Own", "x-api-key", "X-Auth-Token", "Api-Key", "token", "X-Shop-SESSION"}
	header := map[string]string{"X-Own": "1", "Accept-Language": "en"}
	for _, name := range secrets {
		header[name] = "secret"
	}
	refresh := enginetest.Text(`<meta http-equiv="refresh" content="0; url=http://b.test/">`)
	for _, tt := range []struct {
		name, target string
		first        enginetest.Answer
		stays        bool
	}{
		{"same origin", "http://a.test/to", enginetest.Redirect(302, "/to"), false},
		{"other host", "http://b.test/", enginetest.Redirect(302, "http://b.test/"), true},
		{"sub-domain", "http://x.a.test/", enginetest.Redirect(308, "http://x.a.test/"), true},
		{"other scheme", "https://a.test/", enginetest.Redirect(301, "https://a.test/"), true},
		{"other port", "http://a.test:81/", enginetest.Redirect(307, "http://a.test:81/"), true},
		{"refresh", "http://b.test/", refresh, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				resp, err := tt.first(ctx)
				if resp != nil && resp.Header["Content-Type"] == nil {
					resp.Header["Content-Type"] = []string{"text/html"}
				}
				return resp, err
			}).Page(tt.target, enginetest.Text(`<a href="/next">x</a>`)).Page(strings.TrimSuffix(tt.target, "to")+"next", enginetest.Text("x"))
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil, tegenaria.RequestWithRequestHeader(maps.Clone(header))))
			}
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if strings.HasSuffix(ctx.Request.Url, "next") {
					return nil
				}
				r, err := ctx.Response().Follow("/next")
				if err == nil {
					req <- tegenaria.NewContext(r)
				}
				return err
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(middleware.NewMetaRefresh(middleware.MetaRefreshOptions{})),
				tegenaria.EngineWithSecretHeaders("Token", "X-Shop-Session"),
			))
			visits := w.Visits()
			if len(visits) != 3 || visits[1].Url != tt.target {
				t.Fatalf("%+v", visits)
			}
			want := maps.Clone(header)
			if tt.stays {
				want = map[string]string{"X-Own": "1", "Accept-Language": "en"}
			}
			if got := visits[1].Req.Header; !maps.Equal(got, want) {
				t.Errorf("%s was asked with %v", tt.target, got)
			}
			if got := visits[2].Req.Header; len(got) > 0 {
				t.Errorf("a followed link was asked with %v", got)
			}
		})
	}
}

// A name that no header can have is a wiring mistake. It fails when config.mistakes does not look at the names.
func TestSecretHeaderNames(t *testing.T) {
	for _, name := range []string{"", "X Y", "X:", "Ü"} {
		err := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithSecretHeaders("Token", name)).Run(context.Background(), "test")
		var wiring *tegenaria.RunError
		if !errors.As(err, &wiring) || !strings.Contains(err.Error(), "EngineWithSecretHeaders") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A reference that cannot be resolved is told without the password of the page's URL, and of its own.
func TestBadReferencesTellNoSecrets(t *testing.T) {
	w := enginetest.NewWorld().Page("http://user:hidden@a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, http.StatusFound, map[string][]string{"Location": {"http://me:hidden@[::1/%zz"}}, nil), nil
	}).Page("http://user:hidden@b.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://user:hidden@a.test/", "http://user:hidden@b.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		_, err := ctx.Response().Follow("http://me:hidden@[::1/%zz")
		return err
	})
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
	for _, herr := range s.Errors() {
		if text := herr.Error(); strings.Contains(text, "hidden") {
			t.Error(text)
		}
	}
	if n := len(s.Errors()); n != 2 {
		t.Errorf("%d errors", n)
	}
}
