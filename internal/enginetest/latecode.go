package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// LateCode runs user code of each kind that does not return in time, and looks at what becomes of its request, and at what the code still
// does: nothing of that may have an effect. Each crawl has a job of its own in a bubble of testing/synctest. durable says that the jobs
// can be resumed, and oneRun that a cache is for one run; newJob makes a job, and returns what opens it. One crawl in so many runs.
//
// The crawl has two pages. The parser of http://late.test/page sends an item. The user code at one place is late with that page; it
// goes on until the other page holds the run no longer, until the run is over, into the next run of the same engine, or for ever.
func LateCode(t *testing.T, durable, oneRun bool, oneIn int, newJob func(t testing.TB) (open func() tegenaria.CacheInterface)) {
	left, n, ran := make(map[string]int), 0, 0
	for _, p := range latePlaces {
		for _, what := range lateActs {
			for _, when := range lateTimes {
				for _, end := range lateEnds {
					k := lateKind{p, what, when, end, durable, oneRun}
					if why := k.leftOut(); why != "" {
						left[why]++
						continue
					}
					if n++; (n+len(k.place.name))%oneIn != 0 {
						continue
					}
					ran++
					t.Run(k.String(), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							c := &lateCrawl{lateKind: k, T: t, open: newJob(t)}
							c.run()
						})
					})
				}
			}
		}
	}
	t.Logf("%d of %d crawls; left out: %v", ran, n, left)
}

// lateGifts say what user code is given: what it can do depends on that.
type lateGifts uint8

const (
	givesItems    lateGifts = 1 << iota // a way to send items
	givesRequests                       // a way to send requests
	givesContext                        // a Context, to call Fetch
	givesRequest                        // the request, to write to its Meta
	givesPage                           // the response
	takesError                          // the code returns an error
)

// latePlace is a kind of user code.
type latePlace struct {
	name  string
	stage tegenaria.Stage // where it is counted
	gives lateGifts
	fails bool          // it is called when the page fails
	after time.Duration // when it is given up

	// how the page ends where the code returns within the second that it has left: its context has ended; "": fetched
	inTime string
}

const (
	lateLimit = 10 * time.Second // Limits.Callback, and the timeout of a user's downloader
	lateGrace = 5 * time.Second  // of a stop
	lateStop  = 3 * time.Second  // when the run is stopped, before lateLimit
	lateOther = 40 * time.Second // the other page takes so long
)

var latePlaces = []latePlace{
	{"StartRequest", tegenaria.StageStart, givesRequests, false, 0, ""},
	{"Start", tegenaria.StageStart, givesRequests | takesError, false, 0, ""},
	{"ProcessRequest", tegenaria.StageRequest, givesContext | givesRequest | takesError, false, lateLimit + time.Second, "failed: download"},
	{"Download", tegenaria.StageDownload, givesContext | givesRequest | takesError, false, lateLimit + 2*time.Second, ""},
	{"Write", tegenaria.StageDownload, takesError, false, lateLimit + 2*time.Second, ""},
	{"ProcessResponse", tegenaria.StageResponse, givesRequests | givesContext | givesRequest | givesPage | takesError, false, lateLimit + time.Second, "failed: parse"},
	{"ProcessError", tegenaria.StageError, givesRequests | givesContext | givesRequest | givesPage | takesError, true, lateLimit + time.Second, "failed: status"},
	{"Parser", tegenaria.StageParse, givesItems | givesRequests | givesContext | givesRequest | givesPage | takesError, false, lateLimit + time.Second, ""},
	{"Handle", tegenaria.StageParse, givesItems | givesRequests | givesContext | givesRequest | givesPage | takesError, false, lateLimit + time.Second, ""},
	{"ProcessItem", tegenaria.StagePipeline, takesError, false, lateLimit + time.Second, ""},
	{"ProcessItemContext", tegenaria.StagePipeline, givesContext | givesRequest | givesPage | takesError, false, lateLimit + time.Second, ""},
	{"Committer", tegenaria.StagePipeline, takesError, false, lateLimit + time.Second, ""},
	{"ErrorHandler", tegenaria.StageError, givesRequests | givesRequest | givesPage, true, lateLimit + time.Second, "failed: status"},
}

func (p latePlace) isStart() bool { return p.stage == tegenaria.StageStart }

// lateAct is what the code does at last.
type lateAct struct {
	name  string
	needs lateGifts
	do    func(c *lateCrawl, g lateGiven) error
}

// lateGiven is what the code was given; what it was not given is nil.
type lateGiven struct {
	ctx      *tegenaria.Context
	request  *tegenaria.Request
	response *tegenaria.Response
	items    chan<- *tegenaria.ItemMeta
	requests chan<- *tegenaria.Context
	out      *tegenaria.Output[string]
}

const (
	latePage = "http://late.test/page"
	slowPage = "http://late.test/other"
	lateSent = "http://late.test/sent/" // with a number
	lateMany = 100                      // more than any channel has room for
)

var errLate = errors.New("too late")

var lateActs = []lateAct{
	{"return", 0, func(*lateCrawl, lateGiven) error { return nil }},
	{"panic", 0, func(*lateCrawl, lateGiven) error { panic(errLate) }},
	{"Goexit", 0, func(*lateCrawl, lateGiven) error { runtime.Goexit(); return nil }},
	{"error", takesError, func(*lateCrawl, lateGiven) error { return errLate }},
	{"Retry", takesError, func(*lateCrawl, lateGiven) error { return tegenaria.Retry(time.Second, errLate) }},
	{"CloseSpider", takesError, func(*lateCrawl, lateGiven) error { return tegenaria.CloseSpider("too late") }},
	{"items", givesItems, func(c *lateCrawl, g lateGiven) error {
		for range lateMany {
			if g.items != nil {
				g.items <- tegenaria.NewItem(g.ctx, "late")
			} else if err := g.out.Item("late"); !errors.Is(err, tegenaria.ErrOutputClosed) {
				c.Errorf("Item: %v", err)
			}
		}
		return nil
	}},
	{"requests", givesRequests, func(c *lateCrawl, g lateGiven) error {
		for i := range lateMany {
			url := fmt.Sprint(lateSent, i)
			if g.requests != nil {
				g.requests <- Send(url)
			} else if err := g.out.Request(tegenaria.NewRequest(url, tegenaria.GET, nil)); !errors.Is(err, tegenaria.ErrOutputClosed) {
				c.Errorf("Request: %v", err)
			}
		}
		return nil
	}},
	{"Fetch", givesContext, func(c *lateCrawl, g lateGiven) error {
		fetch := g.ctx.Fetch
		if g.out != nil {
			fetch = g.out.Fetch
		}
		if _, err := fetch(tegenaria.NewRequest(lateSent, tegenaria.GET, nil)); err == nil {
			c.Error("Fetch returned no error")
		}
		return nil
	}},
	{"body", givesPage, func(c *lateCrawl, g lateGiven) error {
		if g.response == nil {
			c.Error("there is no response")
			return nil
		}
		if _, err := io.Copy(io.Discard, g.response.Reader()); !errors.Is(err, os.ErrClosed) {
			c.Errorf("reading the file of the body: %v", err)
		}
		return nil
	}},
	{"parse", givesPage, func(_ *lateCrawl, g lateGiven) error {
		_ = g.response.CSS("a").All()
		return nil
	}},
	{"Meta", givesRequest, func(_ *lateCrawl, g lateGiven) error {
		if g.request.Meta == nil {
			g.request.Meta = make(map[string]any)
		}
		g.request.Meta["late"] = true
		return nil
	}},
}

// lateTime is when the code does that.
type lateTime string

const (
	lateNot   lateTime = "within the second after the limit"
	lateInRun lateTime = "late"
	lateAfter lateTime = "after the run"
	lateNext  lateTime = "in the next run"
	lateNever lateTime = "never"
)

var lateTimes = []lateTime{lateNot, lateInRun, lateAfter, lateNext, lateNever}

// lateEnd is why the code is given up.
type lateEnd string

const (
	lateOnce    lateEnd = "overruns once"
	lateAlways  lateEnd = "overruns always"
	lateStopped lateEnd = "stopped"
)

var lateEnds = []lateEnd{lateOnce, lateAlways, lateStopped}

// lateKind is one of the crawls.
type lateKind struct {
	place   latePlace
	act     lateAct
	when    lateTime
	end     lateEnd
	durable bool
	oneRun  bool
}

func (k lateKind) String() string {
	return strings.Join([]string{k.place.name, k.act.name, string(k.when), string(k.end)}, "/")
}

// leftOut returns why there is no such crawl; "" if there is.
func (k lateKind) leftOut() string {
	switch {
	case k.act.needs&^k.place.gives != 0:
		return "the code is not given what it needs"
	case k.act.name != "return" && (k.when == lateNot || k.when == lateNever || k.end == lateAlways):
		return "how it returns makes no difference: it returns in time, never, or like the time before"
	case k.when == lateNot && k.end != lateOnce:
		return "it is not given up"
	case k.place.isStart() && k.end != lateStopped:
		return "a start has no limit"
	case k.end == lateStopped && k.when == lateInRun:
		return "the run ends with the grace"
	case k.end == lateAlways && (!k.durable || k.when == lateNext):
		return "there is one attempt in memory, and a job that has given up is finished"
	case k.when == lateNext && k.end == lateOnce && k.durable:
		return "a job that has finished has no next run"
	case k.when == lateNext && k.oneRun:
		return "the cache is for one run"
	case k.place.name == "Write" && k.durable:
		return "a durable job takes no ResponseWriter"
	}
	return ""
}

// lateCrawl is a crawl, and the witness of what comes of it.
type lateCrawl struct {
	*testing.T
	lateKind
	open func() tegenaria.CacheInterface

	over, next, release chan struct{} // closed when the first run is over, when the next one is under way, and at last
	calls               int

	mu        sync.Mutex // guards the fields below
	asked     map[string]int
	settled   map[string][]string
	accepted  map[string]int
	abandoned []tegenaria.Stage
	errs      []error
	told      int // ErrorHandler
	retried   int
	attempts  map[string]bool // CtxIds of calls of the code
	returned  int             // calls of it that have
	output    lateOutput
}

// late is the user code: it is late with its first call, or with all.
func (c *lateCrawl) late(url string, g lateGiven) (err error) {
	if url != latePage {
		return nil
	}
	c.mu.Lock()
	c.calls++
	call := c.calls
	if g.ctx != nil {
		if c.attempts[g.ctx.CtxId] {
			c.Errorf("attempt %d has the CtxId of another one", call)
		}
		c.attempts[g.ctx.CtxId] = true
	}
	if g.request != nil && g.request.Meta["late"] != nil {
		c.Errorf("attempt %d sees what an earlier one has written", call)
	}
	c.mu.Unlock()
	if call > 1 && c.end != lateAlways {
		return nil
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.returned++
	}()
	switch c.when {
	case lateNot:
		Sleep(lateLimit + 500*time.Millisecond)
	case lateInRun:
		Sleep(c.place.after + time.Second)
	case lateAfter:
		<-c.over
	case lateNext:
		<-c.next
	case lateNever:
		<-c.release
	}
	return c.act.do(c, g)
}

func (c *lateCrawl) at(place string) bool { return c.place.name == place }

// lateBody is longer than what of a spooled body stays in memory.
var lateBody = append([]byte(`<a href="/sent/link">x</a>`), bytes.Repeat([]byte("x"), 100<<10)...)

// RoundTrip is the web.
func (c *lateCrawl) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := c.answer(r.Context(), r.URL.String())
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func (c *lateCrawl) answer(ctx context.Context, url string) (status int, body []byte) {
	c.mu.Lock()
	c.asked[url]++
	first := url == latePage && c.asked[url] == 1
	c.mu.Unlock()
	if url == slowPage {
		Wait(ctx, lateOther)
	}
	if c.place.fails && url == latePage && (first || c.end == lateAlways) {
		return http.StatusInternalServerError, lateBody
	}
	return http.StatusOK, lateBody
}

// lateDownloader is the user's own.
type lateDownloader struct{ *lateCrawl }

func (c lateDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	url := ctx.Request.Url
	status, body := c.answer(ctx, url)
	err := c.late(url, lateGiven{ctx: ctx, request: ctx.Request})
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, status, nil, body)}
	if err != nil {
		ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request))}
	}
	result <- ctx
	for range lateMany { // there is room for two
		if ctx.Err() != nil && c.when != lateNot { // it is given up
			result <- ctx
		}
	}
}

func (c lateDownloader) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

// lateWriter is the ResponseWriter of the page.
type lateWriter struct{ *lateCrawl }

func (w lateWriter) Write(p []byte) (int, error) { return len(p), w.late(latePage, lateGiven{}) }

// lateOutput is a Committer.
type lateOutput struct {
	*lateCrawl
	staged    map[string][]string
	committed []string
}

func (o *lateOutput) GetPriority() int  { return 9 }
func (o *lateOutput) CommitKey() string { return "output" }

func (o *lateOutput) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	var err error
	if o.at("Committer") {
		err = o.late(latePage, lateGiven{})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.staged[item.CtxId] = append(o.staged[item.CtxId], item.Item.(string))
	return err
}

func (o *lateOutput) Restore(context.Context, []byte) error { return nil }

func (o *lateOutput) Prepare(_ context.Context, ids []string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		o.committed = append(o.committed, o.staged[id]...)
		delete(o.staged, id)
	}
	return []byte("checkpoint"), nil
}

func (o *lateOutput) Discard(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.staged, id)
}

// lateSpider has the start, the parser and the ErrorHandler.
type lateSpider struct {
	*tegenaria.BaseSpider
	*lateCrawl
}

// seeds makes the requests of both pages.
func (c *lateCrawl) seeds() []*tegenaria.Request {
	opts := []tegenaria.RequestOption{tegenaria.RequestWithTimeout(time.Hour)}
	if c.act.name == "body" {
		opts = append(opts, tegenaria.RequestWithSpool())
	}
	other := tegenaria.NewRequest(slowPage, tegenaria.GET, nil, opts...)
	switch {
	case c.at("Download"):
		opts = append(opts, tegenaria.RequestWithTimeout(lateLimit))
	case c.at("Write"):
		opts = append(opts, tegenaria.RequestWithResponseWriter(&lateWriter{c}))
	}
	return []*tegenaria.Request{tegenaria.NewRequest(latePage, tegenaria.GET, nil, opts...), other}
}

func (s lateSpider) begin(req chan<- *tegenaria.Context) error {
	for _, r := range s.seeds() {
		req <- tegenaria.NewContext(r)
	}
	if s.place.isStart() {
		return s.late(latePage, lateGiven{requests: req})
	}
	return nil
}

func (s lateSpider) StartRequest(req chan<- *tegenaria.Context) { _ = s.begin(req) }

func (s lateSpider) Parser(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	if ctx.Request.Url == latePage {
		item <- tegenaria.NewItem(ctx, "item")
	}
	if !s.at("Parser") {
		return nil
	}
	return s.late(ctx.Request.Url, lateGiven{ctx: ctx, request: ctx.Request, response: ctx.Response(), items: item, requests: req})
}

func (s lateSpider) ErrorHandler(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
	s.hear()
	if s.at("ErrorHandler") {
		_ = s.late(err.Request.Url, lateGiven{request: err.Request, response: err.Response, requests: req})
	}
}

// hear counts a call of the ErrorHandler.
func (c *lateCrawl) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told++
}

// lateStarter is a lateSpider with a Start.
type lateStarter struct{ lateSpider }

func (s lateStarter) Start(_ context.Context, req chan<- *tegenaria.Context) error {
	return s.begin(req)
}

// spider makes the spider.
func (c *lateCrawl) spider() tegenaria.SpiderInterface {
	s := lateSpider{&tegenaria.BaseSpider{Name: "test"}, c}
	switch c.place.name {
	case "Start":
		return lateStarter{s}
	case "Handle":
		return tegenaria.NewSpiderOf("test", tegenaria.Handle(c.parse), c.seeds()...).OnError(func(*tegenaria.HandleError, func(*tegenaria.Request) error) error {
			c.hear()
			return nil
		})
	}
	return s
}

// parse is a parser for Handle.
func (c *lateCrawl) parse(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
	if r.Request().Url != latePage {
		return nil
	}
	if err := out.Item("item"); err != nil {
		return err
	}
	return c.late(latePage, lateGiven{ctx: r.Context(), request: r.Request(), response: r, out: out})
}

// lateContextPipeline is a pipeline that is given a Context.
type lateContextPipeline struct {
	PipelineFunc
	*lateCrawl
}

func (p lateContextPipeline) ProcessItemContext(ctx *tegenaria.Context, _ *tegenaria.ItemMeta) error {
	return p.late(latePage, lateGiven{ctx: ctx, request: ctx.Request, response: ctx.Response()})
}

// engine makes the engine.
func (c *lateCrawl) engine() *tegenaria.SpiderEngine {
	opts := []tegenaria.EngineOption{
		tegenaria.EngineWithCache(c.open()), tegenaria.EngineWithPipelines(&c.output), tegenaria.EngineWithGrace(lateGrace),
		tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithItemConcurrency(1),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Callback: lateLimit, Attempts: 2}),
		tegenaria.EngineWithEvents(tegenaria.Events{
			RequestAccepted: func(r *tegenaria.Request) { c.note(func() { c.accepted[r.Url]++ }) },
			RequestSettled: func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
				c.note(func() {
					c.settled[r.Url] = append(c.settled[r.Url], strings.TrimSuffix(outcome.String()+": "+reason, ": "))
				})
			},
			RequestRetried: func(*tegenaria.Request, time.Duration, error) { c.note(func() { c.retried++ }) },
			Abandoned: func(stage tegenaria.Stage, _ *tegenaria.Request) {
				c.note(func() { c.abandoned = append(c.abandoned, stage) })
			},
			Error: func(err *tegenaria.HandleError) { c.note(func() { c.errs = append(c.errs, err) }) },
		}),
	}
	hooks := &ErrorHooks{Hooks: Hooks{Name: "late"}, Failed: func(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
		if c.at("ProcessError") {
			if late := c.late(ctx.Request.Url, lateGiven{ctx: ctx, request: ctx.Request, response: ctx.Response(), requests: req}); late != nil {
				return late
			}
		}
		return err
	}}
	switch c.place.name {
	case "ProcessRequest":
		hooks.Request = func(ctx *tegenaria.Context) error {
			return c.late(ctx.Request.Url, lateGiven{ctx: ctx, request: ctx.Request})
		}
	case "ProcessResponse":
		hooks.Response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
			return c.late(ctx.Request.Url, lateGiven{ctx: ctx, request: ctx.Request, response: ctx.Response(), requests: req})
		}
	case "ProcessItem":
		opts = append(opts, tegenaria.EngineWithPipelines(PipelineFunc{Process: func(*tegenaria.ItemMeta) error { return c.late(latePage, lateGiven{}) }}))
	case "ProcessItemContext":
		opts = append(opts, tegenaria.EngineWithPipelines(lateContextPipeline{lateCrawl: c}))
	}
	opts = append(opts, tegenaria.EngineWithMiddlewares(hooks))
	if c.at("Download") {
		return NewEngine(lateDownloader{c}, c.spider(), opts...)
	}
	return NewEngine(nil, c.spider(), append(opts, tegenaria.EngineWithHTTPClient(&http.Client{Transport: c}))...)
}

// note changes what is guarded by mu.
func (c *lateCrawl) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// run runs the crawl, twice if it is stopped, and looks at what has come of it.
func (c *lateCrawl) run() {
	c.over, c.next, c.release = make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.asked, c.settled, c.accepted, c.attempts = make(map[string]int), make(map[string][]string), make(map[string]int), make(map[string]bool)
	c.output = lateOutput{lateCrawl: c, staged: make(map[string][]string)}
	e := c.engine()
	if c.end == lateStopped {
		stop := time.AfterFunc(lateStop, func() { _ = e.Stop(context.Background()) })
		defer stop.Stop()
	}
	err := Run(c, e)
	c.checkFirst(e.Stats(), err)
	close(c.over)
	synctest.Wait()
	if again := c.when == lateNext || c.end == lateStopped && c.durable && !c.oneRun; again {
		c.mu.Lock()
		clear(c.settled)
		clear(c.accepted)
		c.abandoned, c.errs, c.told, c.retried, c.output.committed = nil, nil, 0, 0, nil
		c.mu.Unlock()
		time.AfterFunc(lateOther/2, func() { close(c.next) })
		c.checkNext(e.Stats, Run(c, e))
	}
	close(c.release)
	Sleep(time.Minute) // code that is late may be at work still
	synctest.Wait()
	c.checkLast(e.Stats())
}

// checkFirst looks at what has come of the first run.
func (c *lateCrawl) checkFirst(stats tegenaria.Stats, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := 1 // that code was given up
	want := lateResult{page: "failed: abandoned", other: "fetched", errs: 1}
	switch {
	case c.when == lateNot:
		times, want.page, want.errs, want.items = 0, "fetched", 0, 1
		if c.place.inTime != "" {
			want.page, want.errs, want.told, want.items = c.place.inTime, 1, 1, 0
		}
	case c.end == lateStopped:
		want = lateResult{errs: 1} // both pages go back as they are
		if c.place.isStart() {
			want.page, want.items = "fetched", 1
		}
	case c.end == lateAlways:
		times, want.page, want.errs, want.retried = 2, "gave-up: abandoned", 2, 1
	case c.durable:
		want.page, want.retried, want.items = "fetched", 1, 1
	}
	if c.at("ErrorHandler") && c.when != lateNot { // it was told of the page before
		want.errs, want.told = want.errs+times, times
	}
	c.checkResult(want, err)
	if len(c.abandoned) != times || times > 0 && c.abandoned[0] != c.place.stage || stats.Abandoned[c.place.stage] != times {
		c.Errorf("given up: %v, %v; want %d of the stage %s", c.abandoned, stats.Abandoned, times, c.place.stage)
	}
	if left := times - c.returned; c.when != lateNot && stats.Unreturned != left {
		c.Errorf("%d have not returned, want %d", stats.Unreturned, left)
	}
	switch {
	case c.end == lateStopped:
		var stopped *tegenaria.StoppedError
		if !errors.As(err, &stopped) || stopped.Reason != "stopped" {
			c.Errorf("Run returned %v", err)
		}
	case c.when == lateNot:
		if err != nil {
			c.Errorf("Run returned %v", err)
		}
	default:
		WantAbandoned(c, err)
	}
}

// lateResult is what a run shall come to.
type lateResult struct {
	page, other         string // outcomes; "": none
	errs, told, retried int
	items               int
}

// checkResult looks at what a run has come to. The caller holds mu.
func (c *lateCrawl) checkResult(want lateResult, err error) {
	for url, outcome := range map[string]string{latePage: want.page, slowPage: want.other} {
		if got := strings.Join(c.settled[url], ", "); got != outcome {
			c.Errorf("%s was settled as %q, want %q (%v)", url, got, outcome, err)
		}
	}
	if got := (lateResult{want.page, want.other, len(c.errs), c.told, c.retried, len(c.output.committed)}); got != want {
		c.Errorf("%+v, want %+v: %v", got, want, c.errs)
	}
	if len(c.output.staged) != 0 {
		c.Errorf("neither committed nor discarded: %v", c.output.staged)
	}
}

// checkNext looks at what has come of a run in which no code is late, while that of the run before may act.
func (c *lateCrawl) checkNext(stats func() tegenaria.Stats, err error) {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	want := lateResult{page: "fetched", other: "fetched", items: 1}
	if c.place.isStart() && c.durable { // the page was fetched before, and both are sent once more
		want = lateResult{page: "duplicate", other: "duplicate, fetched"}
	}
	c.checkResult(want, err)
	if s := stats(); err != nil || len(c.abandoned) != 0 || s.Unreturned != 0 || len(s.Abandoned) != 0 {
		c.Errorf("Run returned %v; given up: %v, %v; %d have not returned", err, c.abandoned, s.Abandoned, s.Unreturned)
	}
}

// checkLast looks at what is left when all code has returned.
func (c *lateCrawl) checkLast(stats tegenaria.Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if returned := c.when == lateNot || c.when == lateInRun && c.end == lateOnce; returned && stats.Unreturned != 0 {
		c.Errorf("%d have not returned", stats.Unreturned)
	}
	if c.returned == 0 {
		c.Error("the code has not come to its end: the test shows nothing")
	}
	for url, n := range c.asked {
		if strings.HasPrefix(url, lateSent) {
			c.Errorf("%s was sent late, and downloaded %d times", url, n)
		}
	}
	for url := range c.accepted {
		if strings.HasPrefix(url, lateSent) {
			c.Errorf("%s was sent late, and accepted", url)
		}
	}
	if slices.Contains(c.output.committed, "late") {
		c.Error("an item was sent late, and committed")
	}
}
