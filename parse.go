package tegenaria

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/guard"
)

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
