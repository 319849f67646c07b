package middleware_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// asked makes the Context of a request for url.
func asked(url string, opts ...tegenaria.RequestOption) *tegenaria.Context {
	return tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
}

// answered makes the Context of a request that has a response. The header is name, value …
func answered(url string, status int, body string, header ...string) *tegenaria.Context {
	ctx := asked(url)
	answer(ctx, status, body, header...)
	return ctx
}

func answer(ctx *tegenaria.Context, status int, body string, header ...string) {
	h := make(map[string][]string)
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = append(h[header[i]], header[i+1])
	}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, status, h, []byte(body))}
}

// visit is a request as a server got it.
type visit struct {
	Method, Host, Path string // the path with its query
	Header             http.Header
	Body               string
}

// site is a server that writes down what it was asked: the witness of a crawl.
type site struct {
	*httptest.Server
	mu  sync.Mutex // guards log
	log []visit
}

// serve starts a server.
func serve(t testing.TB, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.log = append(s.log, visit{r.Method, r.Host, r.URL.RequestURI(), r.Header.Clone(), string(body)})
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// visits returns what was asked so far.
func (s *site) visits() []visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// paths returns the paths of that, sorted.
func (s *site) paths() []string {
	var paths []string
	for _, v := range s.visits() {
		paths = append(paths, v.Path)
	}
	slices.Sort(paths)
	return paths
}

// page writes an HTML page of links.
func page(w http.ResponseWriter, links ...string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	for _, link := range links {
		io.WriteString(w, `<a href="`+link+`">x</a>`+"\n")
	}
}

// followAll is a parser that follows all links.
var followAll = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
	return out.FollowLinks()
})

// quiet is a logger that says nothing.
func quiet() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// crawl crawls from seeds with these middlewares and returns the statistics; the ledger must hold.
func crawl(t testing.TB, parser tegenaria.Parser, middlewares []tegenaria.MiddlewaresInterface, seeds ...string) tegenaria.Stats {
	t.Helper()
	return crawlWith(t, tegenaria.NewSpider("test", parser, seeds...), middlewares)
}

// crawlWith crawls with further options.
func crawlWith(t testing.TB, spider tegenaria.SpiderInterface, middlewares []tegenaria.MiddlewaresInterface, opts ...tegenaria.EngineOption) tegenaria.Stats {
	t.Helper()
	e := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithMiddlewares(middlewares...),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLogger(quiet()),
		tegenaria.EngineWithEmptyOK(),
	}, opts...)...)
	if err := e.Run(t.Context(), "test"); err != nil {
		t.Fatalf("Run: %v", err)
	}
	s := e.Stats()
	if open := s.Pending + s.Delayed + s.InFlight; open != 0 || s.Discovered != s.Settled {
		t.Errorf("the ledger does not hold: %+v", s)
	}
	return s
}

// memory is a downloader that answers from a func and writes down what it was asked.
type memory struct {
	answer func(r *tegenaria.Request) (*tegenaria.Response, error)
	mu     sync.Mutex // guards log
	log    []tegenaria.Request
}

func (m *memory) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	m.mu.Lock()
	r := *ctx.Request
	r.Header = maps.Clone(r.Header)
	m.log = append(m.log, r)
	m.mu.Unlock()
	resp, err := m.answer(ctx.Request)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err)
	}
	result <- ctx
}

func (m *memory) CheckStatus(status uint64, allow []uint64) bool {
	return status < 400 || slices.Contains(allow, status)
}

// asked returns what was asked so far.
func (m *memory) asked() []tegenaria.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}

// loopback lets a crawl follow links between the servers of a test.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
