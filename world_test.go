package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// answer is what a page of a world says to a request.
type answer func(ctx *tegenaria.Context) (*tegenaria.Response, error)

// world is a Downloader that answers from memory, and an independent witness of what was asked when.
type world struct {
	mu            sync.Mutex // guards what follows
	pages         map[string]answer
	log           []visit
	running, peak int
}

// visit is one download.
type visit struct {
	url string
	at  time.Time
	req tegenaria.Request
}

var _ tegenaria.Downloader = (*world)(nil)

func newWorld() *world { return &world{pages: make(map[string]answer)} }

// page sets what an URL answers.
func (w *world) page(url string, a answer) *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[url] = a
	return w
}

func (w *world) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	url := ctx.Request.Url
	w.mu.Lock()
	a, ok := w.pages[url]
	w.log = append(w.log, visit{url, time.Now(), *ctx.Request})
	w.running++
	w.peak = max(w.peak, w.running)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running--
		w.mu.Unlock()
	}()
	if !ok {
		a = status(http.StatusNotFound)
	}
	resp, err := a(ctx)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request))
	}
	result <- ctx
}

func (w *world) CheckStatus(code uint64, allowed []uint64) bool {
	return code < 400 || slices.Contains(allowed, code)
}

// visits returns the downloads so far, in order.
func (w *world) visits() []visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// urls returns what was asked so far, in order.
func (w *world) urls() (urls []string) {
	for _, v := range w.visits() {
		urls = append(urls, v.url)
	}
	return urls
}

// count returns how often an URL was asked.
func (w *world) count(url string) (n int) {
	for _, u := range w.urls() {
		if u == url {
			n++
		}
	}
	return n
}

// text answers with a body.
func text(body string) answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, http.StatusOK, nil, []byte(body)), nil
	}
}

// page answers with an HTML page of links.
func page(refs ...string) answer {
	var b strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&b, "<a href=%q>x</a>\n", ref)
	}
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
		return tegenaria.NewResponse(ctx.Request, http.StatusOK, header, []byte(b.String())), nil
	}
}

// status answers with a code and its text.
func status(code int) answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, code, nil, []byte(http.StatusText(code))), nil
	}
}

// redirect answers with a redirect, and optional further headers as name, value …
func redirect(code int, location string, more ...string) answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		header := map[string][]string{"Location": {location}}
		for i := 0; i+1 < len(more); i += 2 {
			header[more[i]] = []string{more[i+1]}
		}
		return tegenaria.NewResponse(ctx.Request, code, header, nil), nil
	}
}

// broken answers with an error.
func broken(err error) answer {
	return func(*tegenaria.Context) (*tegenaria.Response, error) { return nil, err }
}

// after lets time pass first, unless the request is given up.
func after(d time.Duration, a answer) answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return a(ctx)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// hang answers when the request is given up, not before.
func hang(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// inTurn gives one answer after the other, the last one for ever.
func inTurn(answers ...answer) answer {
	var mu sync.Mutex
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		mu.Lock()
		a := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		mu.Unlock()
		return a(ctx)
	}
}

// testSpider is a spider made of funcs, which keeps the errors that it was told.
type testSpider struct {
	*tegenaria.BaseSpider
	start func(req chan<- *tegenaria.Context)
	parse tegenaria.Parser
	fail  func(err *tegenaria.HandleError, req chan<- *tegenaria.Context)

	mu   sync.Mutex // guards errs
	errs []*tegenaria.HandleError
}

// newSpider makes a spider called "test" that follows all links.
func newSpider(urls ...string) *testSpider {
	return &testSpider{BaseSpider: &tegenaria.BaseSpider{Name: "test", FeedUrls: urls}, parse: followAll}
}

var followAll = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
	return out.FollowLinks()
})

// nothing is a parser without output.
func nothing(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

func (s *testSpider) StartRequest(req chan<- *tegenaria.Context) {
	if s.start != nil {
		s.start(req)
		return
	}
	s.BaseSpider.StartRequest(req)
}

// Parser calls parse with the channels that the engine made for it.
func (s *testSpider) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return s.parse(resp, item, req)
}

func (s *testSpider) ErrorHandler(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
	s.mu.Lock()
	s.errs = append(s.errs, err)
	s.mu.Unlock()
	if s.fail != nil {
		s.fail(err, req)
	}
}

// errors returns what ErrorHandler was told.
func (s *testSpider) errors() []*tegenaria.HandleError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.errs)
}

// onlyError returns the one error that ErrorHandler was told.
func (s *testSpider) onlyError(t testing.TB) *tegenaria.HandleError {
	t.Helper()
	errs := s.errors()
	if len(errs) != 1 {
		t.Fatalf("ErrorHandler was called %d times, want once: %v", len(errs), errs)
	}
	return errs[0]
}

func quiet() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// newEngine makes an engine for one spider that downloads from w, does not ask for robots.txt and does not
// log; opts may change all that.
func newEngine(w tegenaria.Downloader, s tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	all := []tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(s),
		tegenaria.EngineWithLogger(quiet()),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	}
	if w != nil {
		all = append(all, tegenaria.EngineWithDownloader(w))
	}
	return tegenaria.NewSpiderEngine(append(all, opts...)...)
}

// run runs the spider "test" and checks the ledger.
func run(t testing.TB, e *tegenaria.SpiderEngine) error {
	t.Helper()
	err := e.Run(t.Context(), "test")
	checkLedger(t, e)
	return err
}

// mustRun runs the spider "test", which must finish.
func mustRun(t testing.TB, e *tegenaria.SpiderEngine) tegenaria.Stats {
	t.Helper()
	if err := run(t, e); err != nil {
		t.Fatalf("Run: %v", err)
	}
	s := e.Stats()
	if open := s.Pending + s.Delayed + s.InFlight + s.Items; open != 0 {
		t.Errorf("finished with open work: %+v", s)
	}
	return s
}

// checkLedger checks the law of conservation.
func checkLedger(t testing.TB, e *tegenaria.SpiderEngine) {
	t.Helper()
	s := e.Stats()
	if s.Discovered != s.Settled+s.Pending+s.Delayed+s.InFlight {
		t.Errorf("ledger: discovered %d != settled %d + pending %d + delayed %d + in flight %d",
			s.Discovered, s.Settled, s.Pending, s.Delayed, s.InFlight)
	}
	sum := int64(0)
	for _, n := range s.Outcomes {
		sum += n
	}
	if sum != s.Settled {
		t.Errorf("ledger: outcomes %v do not sum up to settled %d", s.Outcomes, s.Settled)
	}
}

// wantOutcomes checks how the requests ended.
func wantOutcomes(t testing.TB, s tegenaria.Stats, want map[tegenaria.Outcome]int64) {
	t.Helper()
	for _, o := range []tegenaria.Outcome{tegenaria.Fetched, tegenaria.Redirected, tegenaria.Duplicate, tegenaria.Filtered,
		tegenaria.Robots, tegenaria.Dropped, tegenaria.Failed, tegenaria.GaveUp} {
		if s.Outcomes[o] != want[o] {
			t.Errorf("%d requests ended as %s, want %d (all: %v, %v)", s.Outcomes[o], o, want[o], s.Outcomes, s.Reasons)
		}
	}
}

// wantStopped checks that a crawl ended early for a reason.
func wantStopped(t testing.TB, err error, reason string) {
	t.Helper()
	var stopped *tegenaria.StoppedError
	if !errors.As(err, &stopped) || stopped.Reason != reason {
		t.Fatalf("Run returned %v, want a *StoppedError with the reason %q", err, reason)
	}
}

// send is NewContext(NewRequest(…)) in short.
func send(url string, opts ...tegenaria.RequestOption) *tegenaria.Context {
	return tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
}

// collector is a pipeline that keeps items.
type collector struct {
	priority int
	mu       sync.Mutex // guards items
	items    []any
}

func (c *collector) GetPriority() int { return c.priority }

func (c *collector) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = append(c.items, item.Item)
	return nil
}

func (c *collector) all() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.items)
}

// pipelineFunc is a pipeline of a func that sees the meta.
type pipelineFunc struct {
	priority int
	f        func(item *tegenaria.ItemMeta) error
}

func (p pipelineFunc) GetPriority() int { return p.priority }

func (p pipelineFunc) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	return p.f(item)
}

// hooks is a middleware of funcs; nil ones do nothing.
type hooks struct {
	name     string
	priority int
	request  func(ctx *tegenaria.Context) error
	response func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error
}

func (h *hooks) GetName() string  { return h.name }
func (h *hooks) GetPriority() int { return h.priority }

func (h *hooks) ProcessRequest(ctx *tegenaria.Context) error {
	if h.request == nil {
		return nil
	}
	return h.request(ctx)
}

func (h *hooks) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	if h.response == nil {
		return nil
	}
	return h.response(ctx, req)
}

// errorHooks is a middleware that sees errors.
type errorHooks struct {
	hooks
	failed func(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error
}

func (h *errorHooks) ProcessError(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
	return h.failed(ctx, err, req)
}

// filterHooks is a middleware that is asked for every request.
type filterHooks struct {
	hooks
	accept func(parent *tegenaria.Response, r *tegenaria.Request) error
}

func (h *filterHooks) AcceptRequest(parent *tegenaria.Response, r *tegenaria.Request) error {
	return h.accept(parent, r)
}

// asked is what a loopback server was asked.
type asked struct{ method, target, agent, body string }

// serve starts a server on loopback that knows some bodies by path, and returns its URL and its log.
func serve(t testing.TB, bodies map[string]string) (url string, log func() []asked) {
	t.Helper()
	return serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		if strings.HasPrefix(body, "<") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		io.WriteString(w, body)
	})
}

// serveFunc is serve for a handler.
func serveFunc(t testing.TB, h http.HandlerFunc) (url string, log func() []asked) {
	t.Helper()
	var mu sync.Mutex
	var all []asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, asked{r.Method, r.RequestURI, r.UserAgent(), string(body)})
		mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []asked {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// sleep lets virtual time pass in a synctest bubble.
func sleep(d time.Duration) { <-time.NewTimer(d).C }

// isA reports whether an error is, or wraps, one of a type.
func isA[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}
