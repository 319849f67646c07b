package spidertest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// ParseOption changes how [Parse] calls the parser.
type ParseOption func(p *parsing)

// ParseWithRequest says how the page was asked for: its Meta, method, headers and whatever else a parser looks at.
func ParseWithRequest(opts ...tegenaria.RequestOption) ParseOption {
	return func(p *parsing) { p.request = append(p.request, opts...) }
}

// ParseWithPage adds a page for the parser to Fetch. url is absolute and has to be spelled as the request's Url. Other pages
// cannot be fetched: Fetch returns an error that names this option.
func ParseWithPage(url string, page Page) ParseOption {
	return func(p *parsing) { p.pages[url] = page }
}

// ParseWithError expects the parser to fail, or allows it to: its error goes to *err and does not fail the test. *err is nil if
// there is none. A panic is a *tegenaria.HandleError whose cause is a *tegenaria.PanicError. Errors that steer the
// engine, such as that of tegenaria.Retry, count as errors.
func ParseWithError(err *error) ParseOption {
	return func(p *parsing) { p.asked = err }
}

// Parse calls a parser with a page that came from url, and returns the items and requests that it sent, in their order. Nothing
// is downloaded:
//
//	items, requests := spidertest.Parse[Quote](t, tegenaria.Handle(parse), spidertest.File("testdata/quotes.html"), "https://quotes.example/")
//
// The parser is any tegenaria.Parser: one made by tegenaria.Handle, a func with channels, or a spider's method. It is called
// once, within a crawl of this one page, so that everything works that works in a crawl: Response.Context, Fetch (of the
// pages that [ParseWithPage] names), SlotDelay. Its response has the status of the page, also if a crawl would not let
// that reach a parser. It may send as much as it likes.
//
// Items are of type T; with any, of all types. Requests have passed the checks of the engine, their URLs are absolute and
// their Depth is 1, or 0 with RequestWithSameDepth. Scope, duplicates and robots.txt are not looked at: a link that is
// on the page twice is in the list twice. Request.ParserName says which parser a request names. What Output.Follow
// cannot follow (an empty reference, mailto:) is left out, as in a crawl.
//
// The test ends if the parser returns an error or panics (see [ParseWithError]), and if the page cannot be read. It fails if an
// item is not a T, if a request is one that a crawl refuses, and if the parser uses its channels after it has returned,
// provided that this happens before the end of the test.
//
// Parse may be called in a bubble of testing/synctest.
func Parse[T any](t testing.TB, parser tegenaria.Parser, page Page, url string, opts ...ParseOption) ([]T, []*tegenaria.Request) {
	t.Helper()
	if parser == nil {
		t.Fatal("spidertest: Parse: the parser is nil")
	}
	p := &parsing{t: t, parser: parser, pages: make(map[string]Page), isSent: make(map[*tegenaria.Request]bool), stop: make(chan struct{})}
	for i, opt := range opts {
		if opt == nil {
			t.Fatalf("spidertest: Parse: ParseOption %d is nil; leave it out", i+1)
		}
		opt(p)
	}
	p.run(page, url)
	var items []T
	for _, meta := range p.items {
		var item any
		if meta != nil {
			item = meta.Item
		}
		if v, ok := item.(T); ok {
			items = append(items, v)
		} else {
			t.Errorf("spidertest: Parse: the parser sent an item of type %T, not %s: %v", item, typeName[T](), item)
		}
	}
	return items, p.accepted
}

// typeName is how a type is written, also if it is an interface.
func typeName[T any]() string { return fmt.Sprintf("%T", new(T))[1:] }

// parsing is one call of Parse. It is the spider, the middleware and the downloader of a crawl of one page.
type parsing struct {
	t       testing.TB
	parser  tegenaria.Parser
	request []tegenaria.RequestOption
	pages   map[string]Page // by URL
	asked   *error          // of ParseWithError
	stop    chan struct{}   // closed when the test is over
	running sync.WaitGroup  // the collector

	url     string
	answers map[string]answer // by URL

	mu       sync.Mutex // guards the fields below
	called   bool       // the parser
	ended    bool       // it has returned
	returned error      // by the parser
	panicked *tegenaria.HandleError
	items    []*tegenaria.ItemMeta
	sent     []*tegenaria.Context
	isSent   map[*tegenaria.Request]bool // rather than fetched
	accepted []*tegenaria.Request
	refused  []error
}

const parseSpider = "spidertest.Parse"

// run crawls the page.
func (p *parsing) run(page Page, url string) {
	p.t.Helper()
	p.url = url
	p.answers = map[string]answer{url: page.answer(p.t)}
	for u, other := range p.pages {
		if _, twice := p.answers[u]; !twice {
			p.answers[u] = other.answer(p.t)
		}
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(p),
		tegenaria.EngineWithDownloader(p),
		tegenaria.EngineWithMiddlewares(p),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithEvents(tegenaria.Events{Error: p.failed, RequestSettled: p.settled}),
	)
	p.t.Cleanup(func() {
		close(p.stop)
		p.running.Wait()
	})
	err := engine.Run(p.t.Context(), parseSpider)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge(err)
}

// errGoexit is the error of a parser that neither returned nor panicked.
var errGoexit = errors.New("it ended its goroutine (runtime.Goexit); a parser must not call t.FailNow or t.Fatal, but may call t.Error")

// judge fails the test if it has to, and hands the parser's error over. Called with mu held.
func (p *parsing) judge(run error) {
	p.t.Helper()
	err, stack := p.returned, ""
	if p.panicked != nil {
		err, stack = p.panicked, framesOf(p.panicked.Stack)
	}
	if p.called && !p.ended && p.panicked == nil {
		err = errGoexit
	}
	switch {
	case !p.called:
		why := errors.Join(p.refused...)
		if why == nil {
			why = run
		}
		p.t.Fatalf("spidertest: Parse: the parser was not called: %v", why)
	case p.asked != nil:
		*p.asked = err
	case err != nil:
		p.t.Fatalf("spidertest: Parse: the parser failed: %v%s", err, stack)
	}
	for _, err := range p.refused {
		p.t.Errorf("spidertest: Parse: the parser sent a request that a crawl refuses: %v", err)
	}
}

// framesOf returns the frames of a panic's stack, a line each, the user's own first.
func framesOf(stack []byte) string {
	const module = "github.com/tegenaria/tegenaria"
	var b strings.Builder
	for _, f := range report.Frames(stack, func(call string) bool {
		below, ours := strings.CutPrefix(call, module)
		return ours && (strings.HasPrefix(below, ".") || strings.HasPrefix(below, "/")) && !strings.HasPrefix(below, "/examples/") && !strings.Contains(below, "_test.")
	}) {
		b.WriteString("\n\t" + f.Call)
		if f.At != "" {
			b.WriteString("\n\t\t" + f.At)
		}
	}
	return b.String()
}

// GetName is the spider's and the middleware's name.
func (p *parsing) GetName() string { return parseSpider }

// StartRequest sends the page's request.
func (p *parsing) StartRequest(req chan<- *tegenaria.Context) {
	r := tegenaria.NewRequest(p.url, tegenaria.GET, nil, p.request...)
	if status := p.answers[p.url].status; status >= 300 && status < 400 {
		r.AllowRedirects = false // the parser is to see it
	}
	tegenaria.RequestWithParser(p.Parser)(r)
	req <- tegenaria.NewContext(r)
}

// Parser calls the parser under test with channels of its own, and passes the requests on to the engine.
func (p *parsing) Parser(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	items, requests := make(chan *tegenaria.ItemMeta), make(chan *tegenaria.Context)
	returned := make(chan struct{})
	p.running.Go(func() { p.collect(items, requests, returned) })
	p.call(func() error {
		defer func() { returned <- struct{}{} }()
		return p.parser(resp, items, requests)
	})
	p.mu.Lock()
	sent := slices.Clone(p.sent)
	p.mu.Unlock()
	for _, ctx := range sent {
		req <- ctx
	}
	return nil
}

// call notes that the parser was called and what it returned. A panic passes through.
func (p *parsing) call(parser func() error) {
	p.mu.Lock()
	p.called = true
	p.mu.Unlock()
	err := parser()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.returned = true, err
}

// collect receives from the parser until the test is over. The channels have no room, so everything that the parser has
// sent before it returned has been received by then.
func (p *parsing) collect(items <-chan *tegenaria.ItemMeta, requests <-chan *tegenaria.Context, returned <-chan struct{}) {
	over := false
	for {
		select {
		case item := <-items:
			if over {
				p.t.Errorf("spidertest: Parse: the parser sent an item after it had returned; wait for its goroutines first")
				continue
			}
			p.mu.Lock()
			p.items = append(p.items, item)
			p.mu.Unlock()
		case ctx := <-requests:
			if over {
				p.t.Errorf("spidertest: Parse: the parser sent a request after it had returned; wait for its goroutines first")
				continue
			}
			p.mu.Lock()
			p.sent = append(p.sent, ctx)
			if ctx != nil {
				p.isSent[ctx.Request] = true
			} else {
				p.isSent[nil] = true
			}
			p.mu.Unlock()
		case <-returned:
			over = true
		case <-p.stop:
			return
		}
	}
}

// AcceptRequest sees each request that the engine has checked. Those of the parser end here.
func (p *parsing) AcceptRequest(parent *tegenaria.Response, r *tegenaria.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if parent == nil || !p.isSent[r] {
		return nil
	}
	p.accepted = append(p.accepted, r)
	return tegenaria.IgnoreRequest(parseSpider)
}

// failed is called for each failure of the crawl. Those of Fetch are the parser's to handle.
func (p *parsing) failed(err *tegenaria.HandleError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err.Stack != nil && p.called && p.panicked == nil && err.Stage == tegenaria.StageParse:
		p.panicked = err
	case !p.called, err.Stage == tegenaria.StageAccept && p.isSent[err.Request]:
		p.refused = append(p.refused, err)
	}
}

// settled is called at the end of each request. One that was refused without an error counts as refused too.
func (p *parsing) settled(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if outcome == tegenaria.Filtered && reason != parseSpider && p.isSent[r] && !slices.ContainsFunc(p.refused, func(err error) bool {
		var failed *tegenaria.HandleError
		return errors.As(err, &failed) && failed.Request == r
	}) {
		p.refused = append(p.refused, fmt.Errorf("%s: %s: %s", urlx.Redact(r.Url), outcome, reason))
	}
}

// ErrorHandler does nothing: Events.Error has seen the error.
func (p *parsing) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

// GetPriority is the middleware's.
func (p *parsing) GetPriority() int { return 0 }

// ProcessRequest lets everything pass.
func (p *parsing) ProcessRequest(*tegenaria.Context) error { return nil }

// ProcessResponse lets everything pass.
func (p *parsing) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

// Download answers with the pages.
func (p *parsing) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	a, known := p.answers[ctx.Request.Url]
	if known {
		resp := tegenaria.NewResponse(ctx.Request, a.status, a.header.Clone(), a.body)
		ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	} else {
		err := fmt.Errorf("spidertest: Parse has no page %s to fetch; add it with ParseWithPage", urlx.Redact(ctx.Request.Url))
		ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request))}
	}
	result <- ctx
}

// CheckStatus lets every status reach the parser.
func (p *parsing) CheckStatus(uint64, []uint64) bool { return true }

var _ interface {
	tegenaria.SpiderInterface
	tegenaria.MiddlewaresInterface
	tegenaria.RequestFilter
	tegenaria.Downloader
} = (*parsing)(nil)
