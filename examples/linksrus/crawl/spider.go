package crawl

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/middleware"
)

// Spider is the crawler as a spider on the engine. It holds nothing of its crawls: it may be used concurrently.
type Spider struct {
	config  Config
	options []tegenaria.EngineOption
}

// NewSpider returns a crawler whose engine has these options, besides those for Workers, Timeout and MaxBody.
// Config.Client is not used. It panics without Graph or Indexer.
func NewSpider(config Config, options ...tegenaria.EngineOption) *Spider {
	return &Spider{config.withDefaults(), options}
}

// Pass crawls everything in the scope once: the links that are in the graph, and those that are found there. It
// returns when all of them are through. An error is that of the graph or the index, the cause if ctx was
// done, or why the engine did not run.
func (s *Spider) Pass(ctx context.Context, w Work) (Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &pass{
		BaseSpider: &tegenaria.BaseSpider{Name: "linksrus", FeedUrls: s.config.Guard.Trusted()}, // which the engine may dial
		Config:     s.config, Work: w, start: s.config.Graph.Now(), cancel: cancel,
	}
	p.parse = tegenaria.Handle(p.read)
	engine := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithConcurrency(s.config.Workers),
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: s.config.MaxBody}),
		tegenaria.EngineWithSpiders(p),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithMiddlewares(entrance{p}),
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(0, p.store)),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: p.settled}),
		tegenaria.EngineWithEmptyOK(), // nothing may be new
	}, s.options...)...)
	err := engine.Run(ctx, p.Name)
	if err == nil {
		err = context.Cause(ctx)
	}
	return p.tally.sum(), err
}

// page is the item: what was read, on its way into the stores.
type page struct {
	url, title, text string
	links, noFollow  []string
	began            time.Time
}

// The keys in Request.Meta.
const (
	metaSubmitted = "submitted" // the page alone was asked for, wherever it is: its redirects are followed, too
	metaBegan     = "began"     // when its download began
)

// pass is one crawl: the spider that the engine runs.
type pass struct {
	*tegenaria.BaseSpider
	Config
	Work
	parse  tegenaria.Parser
	start  time.Time
	cancel context.CancelCauseFunc
	tally  tally
}

var _ tegenaria.Starter = (*pass)(nil)

// Start sends the links that the graph has, in place of FeedUrls. None of them is a seed that the engine may trust: see entrance.
func (p *pass) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	for link, err := range p.due(ctx, p.start) {
		if err != nil {
			return err
		}
		request := tegenaria.NewRequest(link.URL, tegenaria.GET, nil)
		if link.Submitted {
			request.Meta = map[string]any{metaSubmitted: true}
		}
		select {
		case req <- tegenaria.NewContext(request):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Parser implements tegenaria.SpiderInterface.
func (p *pass) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return p.parse(resp, item, req)
}

// read is the parser.
func (p *pass) read(ctx context.Context, resp *tegenaria.Response, out *tegenaria.Output[*page]) error {
	header := http.Header(resp.Header)
	began, _ := resp.Request().Meta[metaBegan].(time.Time)
	if !isPage(resp.Status, header) {
		p.drop(resp.Request(), ErrNotPage)
		return nil
	}
	url, err := Normalize(resp.URL)
	if err != nil {
		return err
	}
	body, encoding, _ := charset.Decode(resp.Bytes(), header.Get("Content-Type"))
	item := &page{url: url, began: began}
	item.links, item.noFollow = outLinks(body, url, encoding, p.Guard)
	if item.title, item.text, err = readText(body); err != nil {
		return err
	}
	for _, list := range [][]string{item.links, item.noFollow} {
		for _, link := range list {
			follows, err := p.follows(ctx, link)
			if err != nil {
				p.cancel(err)
				return err
			}
			if !follows {
				continue
			}
			if err := out.Follow(link); err != nil {
				return err
			}
		}
	}
	return out.Item(item)
}

// store is the item pipeline. What goes wrong here is no page's fault and ends the crawl.
func (p *pass) store(ctx context.Context, item *page) (*page, error) {
	err := updateGraph(ctx, p.Graph, item.url, item.links, item.noFollow)
	if err == nil {
		err = indexText(ctx, p.Indexer, item.url, item.title, item.text)
	}
	if err != nil {
		p.cancel(err)
		return item, err
	}
	p.tally.page(Report{Pages: 1}, item.began)
	return item, nil
}

// settled hears of every request that has ended. Pages that were read have been counted by then.
func (p *pass) settled(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
	switch outcome {
	case tegenaria.Robots, tegenaria.Dropped, tegenaria.Failed, tegenaria.GaveUp:
		p.drop(r, errors.New(outcome.String()+": "+reason))
	}
}

func (p *pass) drop(r *tegenaria.Request, why error) {
	began, _ := r.Meta[metaBegan].(time.Time)
	p.tally.page(Report{Dropped: 1}, began)
	p.Dropped(r.Url, why)
}

// entrance is a middleware. The engine trusts a loopback address that a seed names; here links out of the graph are
// sent as seeds, which anybody may have submitted. So nothing passes that the guard does not permit.
type entrance struct{ *pass }

var _ tegenaria.RequestFilter = entrance{}

// AcceptRequest implements tegenaria.RequestFilter.
func (e entrance) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	submitted, _ := r.Meta[metaSubmitted].(bool)
	switch {
	case !e.Guard.Permits(r.Url):
		return tegenaria.IgnoreRequest("private address")
	case !mayBePage(r.Url):
		return tegenaria.IgnoreRequest("no page")
	case !submitted && !e.Scope.Has(r.Url):
		return tegenaria.IgnoreRequest("out of scope")
	}
	return nil
}

// GetName implements tegenaria.MiddlewaresInterface.
func (e entrance) GetName() string { return "entrance" }

// GetPriority implements tegenaria.MiddlewaresInterface.
func (e entrance) GetPriority() int { return 1000 }

// ProcessRequest implements tegenaria.MiddlewaresInterface: the page's time begins, and its timeout.
func (e entrance) ProcessRequest(ctx *tegenaria.Context) error {
	tegenaria.RequestWithTimeout(e.Timeout)(ctx.Request)
	if ctx.Request.Meta == nil {
		ctx.Request.Meta = make(map[string]any)
	}
	ctx.Request.Meta[metaBegan] = time.Now()
	return nil
}

// ProcessResponse implements tegenaria.MiddlewaresInterface.
func (e entrance) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

// page counts a page that began then, or never, if its time is zero.
func (t *tally) page(r Report, began time.Time) {
	if !began.IsZero() {
		r.Total = time.Since(began)
		r.Longest = r.Total
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.add(r)
}
