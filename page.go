package tegenaria

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// reader takes a page from its slot to the end of its parser, and the pages that its parser fetches inline.
type reader struct {
	crawl    *crawl
	parsers  *parserTable
	options  parserOptions
	places   *frontier.Places
	lent     atomic.Int64 // parsers that lend their place
	fetching fetching
}

func newReader(c *crawl, parsers *parserTable) *reader {
	return &reader{crawl: c, parsers: parsers, options: newParserOptions(c.limits), places: frontier.NewPlaces(int(c.cfg.parseWorkers))}
}

// page takes a job from its slot to the end of its parser, in one goroutine: what a worker has just read is
// still near. It comes with its slot and the right to fetch; before it is parsed it gives both back.
func (rd *reader) page(worker context.Context, j *job) (*job, error) {
	c := rd.crawl
	j.call.Worker = stage.CallOf(worker)
	c.beginFlight(j)
	parse, waits := rd.fetchJob(j)
	if waits { // it stands in line again and must not be touched
		return nil, stage.ErrDrop
	}
	j.letGo()
	switch {
	case parse:
		rd.parse(j)
	case j.call.GivenUp():
		j.closeRequests() // its user code has returned after all
		j.closeSpools()
	}
	c.watch.Leave(&j.call)
	return nil, stage.ErrDrop
}

// fetchJob makes the exchange. parse tells that the job goes on to its parser and holds a place there; waits that
// it will come again.
func (rd *reader) fetchJob(j *job) (parse, waits bool) {
	c := rd.crawl
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
		if rd.places.Acquire(c.work, false) != nil {
			return false, false // the crawl gives up: the job goes back to the cache
		}
		j.beginParsing()
		return true, false
	}
	c.guard(j, StageError, func() {
		if herr != nil {
			c.teller.fail(j, herr)
		}
		j.closeRequests()
	})
	return false, false
}

// parse lets the request's parser read the response. What it sends is received until it returns; then the job
// has its outcome.
func (rd *reader) parse(j *job) {
	rd.crawl.guard(j, StageParse, func() { rd.runParser(j) })
	if j.call.GivenUp() { // it has given its place back already
		j.closeSpools()
	} else {
		j.endParsing()
	}
}

func (rd *reader) runParser(j *job) {
	c := rd.crawl
	parser, err := rd.parserOf(j.ctx.Request)
	if err != nil {
		c.teller.fail(j, j.failure(StageParse, err, nil))
		return
	}
	items, closeItems := rd.itemsOf(j, parser)
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
		rd.parserFailed(j, j.failure(StageParse, err, stack))
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
func (rd *reader) parserFailed(j *job, herr *HandleError) {
	c := rd.crawl
	if reason, ok := asCloseSpider(herr.Err); ok {
		c.requestStop(reason, nil)
		j.decide(Fetched, "")
		return
	}
	c.teller.fail(j, herr)
}

// parserOf finds the parser of a request: the one it was sent with, the named one, or the spider's.
func (rd *reader) parserOf(r *Request) (Parser, error) {
	if r.parser != nil && !r.named {
		return r.parser, nil
	}
	parser, ok := rd.parsers.lookup(r.parserName)
	if !ok {
		return nil, fmt.Errorf("no parser is registered as %q; use RegisterParser or the spider's Parsers()", r.parserName)
	}
	return parser, nil
}

// itemsOf makes the channel that a parser sends items to, and the func that waits until all are taken. A
// parser made by Handle needs none: its Output hands items over directly.
func (rd *reader) itemsOf(j *job, parser Parser) (chan<- *ItemMeta, func()) {
	c := rd.crawl
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
			c.acceptor.closedByUser(emission{parent: j})
		}
		<-done
	}
}

// itemFence follows the last item of a parser.
var itemFence = new(ItemMeta)
