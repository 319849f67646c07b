package enginetest

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

// Answer is what a page of a world says to a request.
type Answer func(ctx *tegenaria.Context) (*tegenaria.Response, error)

// World is a Downloader that answers from memory, and an independent witness of what was asked when.
type World struct {
	Mu            sync.Mutex // guards the fields below
	pages         map[string]Answer
	Log           []visit
	running, Peak int
}

// visit is one download.
type visit struct {
	Url string
	At  time.Time
	Req tegenaria.Request
}

var _ tegenaria.Downloader = (*World)(nil)

// NewWorld returns a world without pages.
func NewWorld() *World { return &World{pages: make(map[string]Answer)} }

// Page sets what a URL answers.
func (w *World) Page(url string, a Answer) *World {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.pages[url] = a
	return w
}

// Download is part of tegenaria.Downloader.
func (w *World) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	url := ctx.Request.Url
	w.Mu.Lock()
	a, ok := w.pages[url]
	w.Log = append(w.Log, visit{url, time.Now(), *ctx.Request})
	w.running++
	w.Peak = max(w.Peak, w.running)
	w.Mu.Unlock()
	defer func() {
		w.Mu.Lock()
		w.running--
		w.Mu.Unlock()
	}()
	if !ok {
		a = Status(http.StatusNotFound)
	}
	resp, err := a(ctx)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request))
	}
	result <- ctx
}

// CheckStatus is part of tegenaria.Downloader.
func (w *World) CheckStatus(code uint64, allowed []uint64) bool {
	return code < 400 || slices.Contains(allowed, code)
}

// Visits returns the downloads so far, in order.
func (w *World) Visits() []visit {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return slices.Clone(w.Log)
}

// Urls returns what was asked so far, in order.
func (w *World) Urls() (urls []string) {
	for _, v := range w.Visits() {
		urls = append(urls, v.Url)
	}
	return urls
}

// Count returns how often a URL was asked.
func (w *World) Count(url string) (n int) {
	for _, u := range w.Urls() {
		if u == url {
			n++
		}
	}
	return n
}

// Text answers with a body.
func Text(body string) Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, http.StatusOK, nil, []byte(body)), nil
	}
}

// Page answers with an HTML page of links.
func Page(refs ...string) Answer {
	var b strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&b, "<a href=%q>x</a>\n", ref)
	}
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
		return tegenaria.NewResponse(ctx.Request, http.StatusOK, header, []byte(b.String())), nil
	}
}

// Status answers with a code and its text.
func Status(code int) Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, code, nil, []byte(http.StatusText(code))), nil
	}
}

// Redirect answers with a redirect, and optional further headers as name, value …
func Redirect(code int, location string, more ...string) Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		header := map[string][]string{"Location": {location}}
		for i := 0; i+1 < len(more); i += 2 {
			header[more[i]] = []string{more[i+1]}
		}
		return tegenaria.NewResponse(ctx.Request, code, header, nil), nil
	}
}

// Broken answers with an error.
func Broken(err error) Answer {
	return func(*tegenaria.Context) (*tegenaria.Response, error) { return nil, err }
}

// After lets time pass first, unless the request is given up.
func After(d time.Duration, a Answer) Answer {
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

// Hang answers when the request is given up, not before.
func Hang(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// InTurn gives one answer after the other, the last one for ever.
func InTurn(answers ...Answer) Answer {
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

// Spider is a spider made of funcs, which keeps the errors that its ErrorHandler gets.
type Spider struct {
	*tegenaria.BaseSpider
	Start func(req chan<- *tegenaria.Context)
	Parse tegenaria.Parser
	Fail  func(err *tegenaria.HandleError, req chan<- *tegenaria.Context)

	mu   sync.Mutex // guards errs
	errs []*tegenaria.HandleError
}

// NewSpider makes a spider called "test" that follows all links.
func NewSpider(urls ...string) *Spider {
	return &Spider{BaseSpider: &tegenaria.BaseSpider{Name: "test", FeedUrls: urls}, Parse: FollowAll}
}

// FollowAll is a parser that follows all links of a page.
var FollowAll = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
	return out.FollowLinks()
})

// Nothing is a parser without output.
func Nothing(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// StartRequest calls Start, or sends the seeds if that is nil.
func (s *Spider) StartRequest(req chan<- *tegenaria.Context) {
	if s.Start != nil {
		s.Start(req)
		return
	}
	s.BaseSpider.StartRequest(req)
}

// Parser calls parse with the channels that the engine made for it.
func (s *Spider) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return s.Parse(resp, item, req)
}

// ErrorHandler keeps the error for Errors, and calls Fail unless that is nil.
func (s *Spider) ErrorHandler(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
	s.mu.Lock()
	s.errs = append(s.errs, err)
	s.mu.Unlock()
	if s.Fail != nil {
		s.Fail(err, req)
	}
}

// Errors returns the errors that ErrorHandler has got.
func (s *Spider) Errors() []*tegenaria.HandleError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.errs)
}

// OnlyError returns the one error that ErrorHandler has got.
func (s *Spider) OnlyError(t testing.TB) *tegenaria.HandleError {
	t.Helper()
	errs := s.Errors()
	if len(errs) != 1 {
		t.Fatalf("ErrorHandler was called %d times, want once: %v", len(errs), errs)
	}
	return errs[0]
}

// Quiet returns a logger that writes nothing.
func Quiet() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// NewEngine makes an engine for one spider that downloads from w, does not ask for robots.txt and does not
// log; opts may change all that.
func NewEngine(w tegenaria.Downloader, s tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	all := []tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(s),
		func(e *tegenaria.SpiderEngine) {
			tegenaria.EngineWithLogger(Quiet())(e)
			tegenaria.EngineWithEmptyOK()(e) // many tests are about pages that fail
		},
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	}
	if w != nil {
		all = append(all, tegenaria.EngineWithDownloader(w))
	}
	return tegenaria.NewSpiderEngine(append(all, opts...)...)
}

// Run runs the spider "test" and checks the ledger.
func Run(t testing.TB, e *tegenaria.SpiderEngine) error {
	t.Helper()
	err := e.Run(t.Context(), "test")
	CheckLedger(t, e)
	return err
}

// MustRun runs the spider "test", which must finish.
func MustRun(t testing.TB, e *tegenaria.SpiderEngine) tegenaria.Stats {
	t.Helper()
	if err := Run(t, e); err != nil {
		t.Fatalf("Run: %v", err)
	}
	s := e.Stats()
	if open := s.Pending + s.Delayed + s.InFlight + s.Items; open != 0 {
		t.Errorf("finished with open work: %+v", s)
	}
	return s
}

// CheckLedger checks that as many requests were discovered as are settled, waiting and in flight.
func CheckLedger(t testing.TB, e *tegenaria.SpiderEngine) {
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

// WantOutcomes checks how the requests ended.
func WantOutcomes(t testing.TB, s tegenaria.Stats, want map[tegenaria.Outcome]int64) {
	t.Helper()
	for _, o := range []tegenaria.Outcome{tegenaria.Fetched, tegenaria.Redirected, tegenaria.Duplicate, tegenaria.Filtered,
		tegenaria.Robots, tegenaria.Dropped, tegenaria.Failed, tegenaria.GaveUp} {
		if s.Outcomes[o] != want[o] {
			t.Errorf("%d requests ended as %s, want %d (all: %v, %v)", s.Outcomes[o], o, want[o], s.Outcomes, s.Reasons)
		}
	}
}

// WantStopped checks that a crawl ended early for a reason.
func WantStopped(t testing.TB, err error, reason string) {
	t.Helper()
	var stopped *tegenaria.StoppedError
	if !errors.As(err, &stopped) || stopped.Reason != reason {
		t.Fatalf("Run returned %v, want a *StoppedError with the reason %q", err, reason)
	}
}

// WantAbandoned checks that a crawl has finished, and says that it has left callbacks behind.
func WantAbandoned(t testing.TB, err error) {
	t.Helper()
	var abandoned *tegenaria.AbandonedError
	var stopped *tegenaria.StoppedError
	if !errors.As(err, &abandoned) || errors.As(err, &stopped) {
		t.Errorf("Run returned %v, want an *AbandonedError alone", err)
	}
}

// Send is NewContext(NewRequest(…)) in short.
func Send(url string, opts ...tegenaria.RequestOption) *tegenaria.Context {
	return tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
}

// Collector is a pipeline that keeps items.
type Collector struct {
	Priority int
	mu       sync.Mutex // guards items
	items    []any
}

// GetPriority returns Priority.
func (c *Collector) GetPriority() int { return c.Priority }

// ProcessItem keeps the item.
func (c *Collector) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = append(c.items, item.Item)
	return nil
}

// All returns the items so far.
func (c *Collector) All() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.items)
}

// PipelineFunc is a pipeline of a func that sees the meta.
type PipelineFunc struct {
	Priority int
	Process  func(item *tegenaria.ItemMeta) error
}

// GetPriority returns Priority.
func (p PipelineFunc) GetPriority() int { return p.Priority }

// ProcessItem calls Process.
func (p PipelineFunc) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	return p.Process(item)
}

// Hooks is a middleware of funcs; nil ones do nothing.
type Hooks struct {
	Name     string
	Priority int
	Request  func(ctx *tegenaria.Context) error
	Response func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error
}

// GetName returns Name.
func (h *Hooks) GetName() string { return h.Name }

// GetPriority returns Priority.
func (h *Hooks) GetPriority() int { return h.Priority }

// ProcessRequest calls Request.
func (h *Hooks) ProcessRequest(ctx *tegenaria.Context) error {
	if h.Request == nil {
		return nil
	}
	return h.Request(ctx)
}

// ProcessResponse calls Response.
func (h *Hooks) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	if h.Response == nil {
		return nil
	}
	return h.Response(ctx, req)
}

// ErrorHooks is a middleware that sees errors.
type ErrorHooks struct {
	Hooks
	Failed func(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error
}

// ProcessError calls Failed.
func (h *ErrorHooks) ProcessError(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
	return h.Failed(ctx, err, req)
}

// FilterHooks is a middleware that is asked for every request.
type FilterHooks struct {
	Hooks
	Accept func(parent *tegenaria.Response, r *tegenaria.Request) error
}

// AcceptRequest calls Accept.
func (h *FilterHooks) AcceptRequest(parent *tegenaria.Response, r *tegenaria.Request) error {
	return h.Accept(parent, r)
}

// Asked is what a loopback server was asked.
type Asked struct{ Method, Target, Agent, Body string }

// Serve starts a server on loopback that knows some bodies by path, and returns its URL and its log.
func Serve(t testing.TB, bodies map[string]string) (url string, log func() []Asked) {
	t.Helper()
	return ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
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

// ServeFunc is serve for a handler.
func ServeFunc(t testing.TB, h http.HandlerFunc) (url string, log func() []Asked) {
	t.Helper()
	var mu sync.Mutex
	var all []Asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, Asked{r.Method, r.RequestURI, r.UserAgent(), string(body)})
		mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []Asked {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// Sleep lets virtual time pass in a synctest bubble.
func Sleep(d time.Duration) { <-time.NewTimer(d).C }

// IsA reports whether an error is, or wraps, one of a type.
func IsA[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

// When says how long after began a URL was asked, -1 if it was not.
func (w *World) When(began time.Time, url string) time.Duration {
	for _, v := range w.Visits() {
		if v.Url == url {
			return v.At.Sub(began).Truncate(time.Millisecond)
		}
	}
	return -1
}

// StartsOf returns when the downloads of a host began, counted from an instant.
func (w *World) StartsOf(host string, since time.Time) (starts []time.Duration) {
	for _, v := range w.Visits() {
		if hostOf(v.Url) == host {
			starts = append(starts, v.At.Sub(since))
		}
	}
	return starts
}

func hostOf(url string) string {
	r, _ := http.NewRequest("GET", url, nil)
	return r.URL.Host
}
