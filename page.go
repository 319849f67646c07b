package tegenaria

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// page takes a job from its slot to the end of its parser, in one goroutine: what a worker has just read is
// still near. It comes with its slot and the right to fetch; before it is parsed it gives both back.
func (c *crawl) page(worker context.Context, j *job) (*job, error) {
	j.call.Worker = stage.CallOf(worker)
	c.beginFlight(j)
	parse, waits := c.fetchJob(j)
	if waits { // it stands in line again and must not be touched
		return nil, stage.ErrDrop
	}
	j.letGo()
	switch {
	case parse:
		c.parse(j)
	case j.call.GivenUp():
		j.closeRequests() // its user code has returned after all
		j.closeSpools()
	}
	c.watch.Leave(&j.call)
	return nil, stage.ErrDrop
}

// fetchJob makes the exchange. parse tells that the job goes on to its parser and holds a place there; waits that
// it will come again.
func (c *crawl) fetchJob(j *job) (parse, waits bool) {
	if j.ctx == nil {
		ctx, err := c.acceptor.codec.decode(j.rec.Data, j.rec.Live)
		if err != nil {
			j.begin(NewContext(NewRequest("", GET, nil)))
			c.storeFailed(fmt.Errorf("decoding a stored request: %w", err))
			return false, false
		}
		j.begin(ctx)
	}
	switch {
	case c.work.Err() != nil:
		return false, false
	case c.sched.starves(j):
		j.decide(Filtered, pageBudget)
		return false, false
	case !c.fetcher.enterGate(j):
		c.fetcher.standBack(j)
		return false, true
	}
	ok, waits := c.fetcher.robots.pass(j)
	c.tellBlocks()
	if !ok {
		return false, waits
	}
	c.watch.Sit(&j.call, pageRow)
	herr, alive, closed := c.fetcher.exchange(j)
	if closed {
		c.watch.Leave(&j.call)
		c.fetcher.standBack(j)
		return false, true
	}
	if !alive {
		return false, false
	}
	if herr == nil {
		if herr, alive = c.fetcher.follow(j); !alive {
			return false, false
		}
	}
	if herr == nil && j.undecided() {
		if c.parseGate.acquire(c.work, false) != nil {
			return false, false // the crawl gives up: the job goes back to the cache
		}
		j.beginParsing()
		return true, false
	}
	c.guard(j, StageError, func() {
		if herr != nil {
			c.fail(j, herr)
		}
		j.closeRequests()
	})
	return false, false
}

// guard runs user code that the watch keeps an eye on. It returns false if the code was abandoned, or must not run any
// more because the crawl gives up; the job is not to be touched.
func (c *crawl) guard(j *job, at Stage, code func()) bool {
	call := &j.call
	if call.GivenUp() {
		return false
	}
	if !call.Joined() {
		c.watch.Join(call)
		defer c.watch.Leave(call)
	}
	if j.ctx != nil {
		j.before = snapshot{j.ctx.CtxId, j.ctx.Response()}
	}
	if at == StageResponse && j.inbox != nil {
		return c.watch.Run(call, string(at), j.inbox, code)
	}
	return c.watch.Run(call, string(at), nil, code)
}

// parse lets the request's parser read the response. What it sends is received until it returns; then the job
// has its outcome.
func (c *crawl) parse(j *job) {
	c.guard(j, StageParse, func() { c.runParser(j) })
	if j.call.GivenUp() { // it has given its place back already
		j.closeSpools()
	} else {
		j.endParsing()
	}
}

func (c *crawl) runParser(j *job) {
	parser, err := c.parserOf(j.ctx.Request)
	if err != nil {
		c.fail(j, j.failure(StageParse, err, nil))
		return
	}
	items, closeItems := c.itemsOf(j, parser)
	var requests chan<- *Context
	if items != nil {
		requests = j.requests()
	}
	stack, err := j.callParser(parser, items, requests, closeItems)
	if j.call.GivenUp() {
		return
	}
	if err == nil {
		err = j.lostItem()
	}
	switch {
	case c.work.Err() != nil: // who knows what it has left out
		j.leaveUndecided()
	case err != nil:
		c.parserFailed(j, j.failure(StageParse, err, stack))
		j.closeRequests()
	default:
		j.decide(Fetched, "")
	}
}

// callParser returns when the parser has, and all that it sent is taken: also where it ends its goroutine.
func (j *job) callParser(parser Parser, items chan<- *ItemMeta, requests chan<- *Context, closeItems func()) ([]byte, error) {
	defer j.closeRequests()
	defer closeItems()
	return guard.Protect(func() error { return parser(j.ctx, items, requests) })
}

// parserFailed obeys the verbs that a parser returned and hands the rest to the ErrorHandlers.
func (c *crawl) parserFailed(j *job, herr *HandleError) {
	if reason, ok := asCloseSpider(herr.Err); ok {
		c.requestStop(reason, nil)
		j.decide(Fetched, "")
		return
	}
	c.fail(j, herr)
}

// parserOf finds the parser of a request: the one it was sent with, the named one, or the spider's.
func (c *crawl) parserOf(r *Request) (Parser, error) {
	if r.parser != nil && !r.named {
		return r.parser, nil
	}
	parser, ok := c.parsers.lookup(r.parserName)
	if !ok {
		return nil, fmt.Errorf("no parser is registered as %q; use RegisterParser or the spider's Parsers()", r.parserName)
	}
	return parser, nil
}

// itemsOf makes the channel that a parser sends items to, and the func that waits until all are taken. A
// parser made by Handle needs none: its Output hands items over directly.
func (c *crawl) itemsOf(j *job, parser Parser) (chan<- *ItemMeta, func()) {
	if isHandled(parser) {
		return nil, func() {}
	}
	items := make(chan *ItemMeta)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for item := range items {
			if item == itemFence {
				return
			}
			c.mill.add(j, item)
		}
	}()
	return items, func() {
		if sendFence(items, itemFence) {
			c.closedByUser(emission{parent: j})
		}
		<-done
	}
}

// itemFence follows the last item of a parser.
var itemFence = new(ItemMeta)
