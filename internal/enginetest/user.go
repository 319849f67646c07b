package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// finish ends user code of a page as planned.
func (c *Crawl) finish(f harnessFault, page, attempt int) error {
	switch f {
	case faultError:
		return ErrPlanned
	case faultPanic:
		panic(ErrPlanned)
	case faultIgnore:
		return fmt.Errorf("not this one: %w", tegenaria.ErrIgnoreRequest)
	case faultRetry:
		return tegenaria.Retry(c.p.after(page, attempt), ErrPlanned)
	case faultClose:
		c.stop()
		return tegenaria.CloseSpider("closed by plan")
	case faultStuck:
		c.refuse()
	}
	return nil
}

// work lets some time pass in user code.
func (c *Crawl) work(ctx context.Context, place string, page int) {
	if c.p.slow > 0 {
		r := c.p.draw("work "+place, page, 0)
		Wait(ctx, time.Duration(r.Float64()*float64(c.p.slow)/2))
	}
}

// request makes the request of a link.
func (c *Crawl) request(ref string, l harnessLink, what string) *tegenaria.Request {
	opts := []tegenaria.RequestOption{
		tegenaria.RequestWithDoNotFilter(l.unfiltered), tegenaria.RequestWithPriority(l.priority),
		tegenaria.RequestWithTimeout(harnessTimeout),
	}
	if !c.p.plain {
		opts = append(opts, tegenaria.RequestWithRequestMeta(map[string]any{"serial": c.mark(what + " " + ref)}))
	}
	if l.later > 0 {
		opts = append(opts, tegenaria.RequestWithNotBefore(time.Now().Add(l.later)))
	}
	return tegenaria.NewRequest(ref, tegenaria.GET, nil, opts...)
}

// mark gives an emission its serial number.
func (c *Crawl) mark(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	c.sent[c.serial] = what
	return c.serial
}

// unmark takes an emission back that was not sent after all.
func (c *Crawl) unmark(r *tegenaria.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if serial, ok := r.Meta["serial"].(int); ok {
		delete(c.sent, serial)
	}
}

// sendTo sends a request by a channel. While the crawl ends nobody may be left to settle it.
func (c *Crawl) sendTo(req chan<- *tegenaria.Context, r *tegenaria.Request) {
	req <- tegenaria.NewContext(r)
	c.touch()
}

// harnessSpider is the spider of all crawls.
type harnessSpider struct{ *Crawl }

// harnessStarter is the same with Start.
type harnessStarter struct{ *harnessSpider }

func (s *harnessSpider) GetName() string { return "harness" }

func (s *harnessSpider) StartRequest(req chan<- *tegenaria.Context) {
	s.start(context.Background(), req)
}

func (s harnessStarter) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	s.start(ctx, req)
	return ctx.Err()
}

func (s *harnessSpider) start(ctx context.Context, req chan<- *tegenaria.Context) {
	c := s.Crawl
	c.touch()
	defer c.touch()
	r := c.p.draw("start", 0, 0)
	for i, l := range c.p.seeds {
		if c.p.slow > 0 && r.IntN(3) == 0 {
			Wait(ctx, time.Duration(r.Float64()*float64(c.p.slow)*5))
		}
		c.sendTo(req, c.request(l.ref, l, fmt.Sprint("seed ", i)))
	}
	stuck := c.p.stuck && c.p.ending != endLimit && c.p.ending != endNone // nobody gives the start up
	switch {
	case stuck && r.IntN(3) == 0: // endless
		c.mu.Lock()
		c.refused++
		c.mu.Unlock()
		for i := 0; ; i++ {
			select {
			case req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("http://h0.test/endless/%d", i), tegenaria.GET, nil,
				tegenaria.RequestWithNotBefore(time.Now().Add(1000*time.Hour)))):
			case <-c.release:
				return
			}
			Wait(context.Background(), time.Second)
		}
	case stuck && r.IntN(3) == 0:
		c.refuse()
	case r.Float64() < c.p.faulty && !c.p.starter:
		panic(ErrPlanned)
	}
}

// harnessOut is where a parser sends to, one way or the other.
type harnessOut struct {
	item func(v *harnessItem)
	link func(i int, l harnessLink)
}

func (s *harnessSpider) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	if s.p.output {
		return s.handled(resp, item, req)
	}
	return s.parse(resp, harnessOut{
		item: func(v *harnessItem) { item <- tegenaria.NewItem(resp, v) },
		link: func(i int, l harnessLink) {
			what := fmt.Sprint("link ", i, " of page ", harnessPageOf(resp.Request.Url))
			ref := l.ref
			if l.follow {
				r, err := resp.Response().Follow(l.ref)
				if err != nil {
					return
				}
				ref = r.Url
			}
			s.sendTo(req, s.request(ref, l, what))
		},
	})
}

// handled is the parser as Handle makes it.
func (s *harnessSpider) handled(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return tegenaria.Handle(func(ctx context.Context, r *tegenaria.Response, out *tegenaria.Output[*harnessItem]) error {
		return s.parse(r.Context(), harnessOut{
			item: func(v *harnessItem) { s.noteItem(v, out.Item(v)) },
			link: func(i int, l harnessLink) {
				what := fmt.Sprint("link ", i, " of page ", harnessPageOf(r.Request().Url))
				switch {
				case !l.follow:
					request := s.request(l.ref, l, what)
					if out.Request(request) != nil {
						s.unmark(request)
					}
				case s.p.plain && !l.unfiltered && l.later == 0:
					out.Follow(l.ref)
				default:
					request := s.request(l.ref, l, what)
					err := out.Follow(l.ref, func(r *tegenaria.Request) {
						url := r.Url
						*r = *request
						r.Url = url
					})
					if err != nil || l.to < 0 {
						s.unmark(request)
					}
				}
			},
		})
	})(resp, item, req)
}

// noteItem takes an item back that was not sent.
func (c *Crawl) noteItem(v *harnessItem, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.items, v.serial)
	if !c.stopping && c.refused == 0 && c.p.ending == endNone && c.p.limits.Callback == 0 {
		c.violationLocked("sending an item: %v", err)
	}
}

func (s *harnessSpider) parse(ctx *tegenaria.Context, out harnessOut) error {
	c := s.Crawl
	page, attempt := harnessPageOf(ctx.Request.Url), ctx.Request.Attempt
	c.touch()
	defer c.touch()
	if got, want := ctx.Response().String(), c.p.body(page); got != want {
		c.violation("the parser of page %d got the body %q, want %q", page, got, want)
	}
	if d := c.p.slotDelay; d > 0 {
		slot := c.p.slot(strings.ToLower(strings.Split(ctx.Request.Url, "/")[2]))
		ctx.SlotDelay(d)
		c.mu.Lock()
		if c.slowed[slot].IsZero() {
			c.slowed[slot] = time.Now()
		}
		c.mu.Unlock()
	}
	c.work(ctx, "parse", page)
	before, after := c.p.parserFaults(page, attempt)
	c.log("parser of page %d, attempt %d: faults %d, %d", page, attempt, before, after)
	if before != faultNone {
		return c.finish(before, page, attempt)
	}
	c.fetch(ctx, "parse", page, -1)
	for i, l := range c.p.pages[page].links {
		out.link(i, l)
	}
	for i := range c.p.pages[page].items {
		c.mu.Lock()
		c.itemsOf++
		v := &harnessItem{serial: c.itemsOf, page: page, n: i, attempt: attempt, ctx: ctx}
		c.items[v.serial] = 0
		c.mu.Unlock()
		out.item(v)
	}
	c.work(ctx, "parse", page)
	return c.finish(after, page, attempt)
}

// fetch asks for some pages inline, at once, and checks what comes. above bounds the pages, so that
// requests inside of requests come to an end.
func (c *Crawl) fetch(ctx *tegenaria.Context, place string, page, above int) {
	r := c.p.draw("fetch "+place, page, 0)
	if ctx == nil || r.Float64() >= c.p.fetches {
		return
	}
	first := slices.IndexFunc(c.p.pages, func(p harnessPage) bool { return p.inline })
	first = max(first, above+1)
	if first >= len(c.p.pages) {
		return
	}
	var all sync.WaitGroup
	for range 1 + r.IntN(3) {
		to := first + r.IntN(len(c.p.pages)-first)
		all.Go(func() { c.fetchOne(ctx, place, to) })
	}
	all.Wait()
}

func (c *Crawl) fetchOne(ctx *tegenaria.Context, place string, to int) {
	defer c.touch()
	link := harnessLink{to: to}
	request := c.request(c.p.url(to), link, "fetch from "+place)
	c.unmark(request) // a Fetch that is tried again settles more than once
	resp, err := ctx.Fetch(request)
	c.mu.Lock()
	excused := c.stopping || c.refused > 0 || c.p.ending != endNone || c.p.limits.Callback > 0 || c.p.policy.MaxPages > 0
	c.mu.Unlock()
	switch {
	case err == nil && harnessPageOf(resp.URL) >= 0 && resp.String() != c.p.body(harnessPageOf(resp.URL)):
		c.violation("Fetch of page %d brought %q", to, resp.String())
	case !excused && (err == nil) != c.p.fetchWorks(to):
		c.violation("Fetch of page %d from %s: error %v, it should work: %v", to, place, err, c.p.fetchWorks(to))
	}
}

func (s *harnessSpider) ErrorHandler(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
	c := s.Crawl
	c.touch()
	defer c.touch()
	if err.Request == nil {
		if err.Stage != tegenaria.StageStart {
			c.violation("an error without a request: %v", err)
		}
		return
	}
	if _, own := err.Err.(*tegenaria.AbandonedError); own {
		c.violation("the ErrorHandler was told of code that has not returned: %v", err)
	}
	page, attempt, stage := harnessPageOf(err.Request.Url), err.Request.Attempt, string(err.Stage)
	if stage == "accept" {
		attempt = 0
	}
	c.log("ErrorHandler: %v", err)
	if page >= 0 && c.p.pages[page].inline {
		c.violation("the ErrorHandler was told of an inline request: %v", err)
		return
	}
	if err.Response != nil {
		c.fetch(err.Response.Context(), "handler", page, -1)
	}
	if c.p.handlerRetries(stage, page, attempt) {
		again := *err.Request
		again.Meta = nil
		if !c.p.plain {
			again.Meta = map[string]any{"serial": c.mark(fmt.Sprint("retry of page ", page))}
		}
		c.sendTo(req, &again)
	}
	if leaf, ok := c.p.handlerSends(stage, page, attempt); ok {
		c.sendTo(req, c.request(c.p.url(leaf), harnessLink{to: leaf}, "handler of "+stage))
	}
	r := c.p.draw("handler end", page, attempt)
	switch {
	case r.Float64() < c.p.faulty && c.p.stuck && r.IntN(3) == 0:
		c.refuse()
	case r.Float64() < c.p.faulty:
		panic(ErrPlanned)
	}
}

// harnessMiddleware has all abilities of a middleware.
type harnessMiddleware struct{ *Crawl }

var (
	_ tegenaria.MiddlewaresInterface = (*harnessMiddleware)(nil)
	_ tegenaria.ErrorMiddleware      = (*harnessMiddleware)(nil)
	_ tegenaria.RequestFilter        = (*harnessMiddleware)(nil)
)

func (m *harnessMiddleware) GetName() string    { return "harness" }
func (m *harnessMiddleware) GetPriority() int   { return 1 }
func (m *harnessMiddleware) SeesInternal() bool { return m.p.seed%2 == 0 }

func (m *harnessMiddleware) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	m.touch()
	page := harnessPageOf(r.Url)
	if page < 0 {
		return nil
	}
	f := m.p.fault("filter", page, 0)
	switch f {
	case faultRetry, faultAnswer, faultStuck:
		return nil
	}
	return m.finish(f, page, 0)
}

// above is the bound for inline requests of inline requests.
func (m *harnessMiddleware) above(page int) int {
	if m.p.pages[page].inline {
		return page
	}
	return -1
}

func (m *harnessMiddleware) ProcessRequest(ctx *tegenaria.Context) error {
	m.touch()
	defer m.touch()
	page, attempt := harnessPageOf(ctx.Request.Url), ctx.Request.Attempt
	if page < 0 {
		return nil // robots.txt, or the endless start
	}
	ctx.Request.Header["X-Attempt"] = strconv.Itoa(attempt)
	m.work(ctx, "request", page)
	m.fetch(ctx, "request", page, m.above(page))
	f := m.p.requestStep(page, attempt)
	m.log("ProcessRequest of page %d, attempt %d: fault %d", page, attempt, f)
	if f == faultAnswer {
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200,
			map[string][]string{"Content-Type": {"text/html"}}, []byte(m.p.body(page)))}
		return nil
	}
	return m.finish(f, page, attempt)
}

func (m *harnessMiddleware) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	m.touch()
	defer m.touch()
	page, attempt := harnessPageOf(ctx.Request.Url), ctx.Request.Attempt
	if page < 0 {
		return nil
	}
	m.work(ctx, "response", page)
	m.fetch(ctx, "response", page, m.above(page))
	if leaf, ok := m.p.responseSends(page, attempt); ok && !m.p.pages[page].inline {
		m.sendTo(req, m.request(m.p.url(leaf), harnessLink{to: leaf}, "response"))
	}
	return m.finish(m.p.responseStep(page, attempt), page, attempt)
}

func (m *harnessMiddleware) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	m.touch()
	defer m.touch()
	page, attempt := harnessPageOf(ctx.Request.Url), ctx.Request.Attempt
	var herr *tegenaria.HandleError
	if page < 0 || errors.As(err, &herr) && herr.Stage == tegenaria.StageRedirect {
		return err
	}
	switch f := m.p.fault("error", page, attempt); f {
	case faultIgnore:
		return nil
	case faultRetry, faultClose, faultPanic, faultStuck:
		if e := m.finish(f, page, attempt); e != nil {
			return e
		}
	}
	return err
}
