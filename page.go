package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/selector"
	"github.com/tegenaria/tegenaria/stage"
)

// reader takes a page from its slot to the end of its parser, and the pages that its parser fetches inline.
type reader struct {
	limits   *Limits
	frontier *frontier.Frontier[*job]
	ledger   *frontier.Ledger
	watch    *guard.Watch
	flights  *flights
	losses   *losses
	teller   *teller
	stop     *stop
	fetcher  *fetcher
	mill     *mill
	acceptor *acceptor // this and the next two are set when the cache has begun
	failures *failures
	settler  *settler

	parsers *parserTable
	bounds  page.Bounds // of what is made of a page
	queries *page.Queries
	places  *frontier.Parsers
	lane    *frontier.Lane[*job] // those that wait for a call of Fetch
}

func newReader(c *crawl, parsers *parserTable) *reader {
	return &reader{
		limits: &c.limits, frontier: c.frontier, ledger: c.ledger, watch: c.watch, flights: c.flights, losses: &c.losses,
		teller: c.teller, stop: &c.stop, fetcher: c.fetcher, mill: c.mill, parsers: parsers, bounds: page.NewBounds(c.limits.Nodes, c.limits.Attributes, c.limits.Body),
		queries: page.NewQueries(), places: frontier.NewParsers(int(c.cfg.parseWorkers), c.cfg.concurrency), lane: frontier.NewLane[*job](c.ledger, maxNesting),
	}
}

// page takes a job from its slot to the end of its parser, in one goroutine: a body that a worker has just read is
// still in its cache. The job comes with its slot and the right to fetch, and releases both before it is parsed.
func (rd *reader) page(worker context.Context, j *job) (*job, error) {
	j.call.Worker = stage.CallOf(worker)
	waits := false
	defer func() { // also where user code ends this goroutine
		switch {
		case waits: // it waits in line again and must not be touched
		case j.call.GivenUp():
			rd.returned(j)
		default:
			rd.watch.Leave(&j.call)
		}
	}()
	rd.flights.begin(j)
	var parse bool
	if parse, waits = rd.fetchJob(j); waits {
		return nil, stage.ErrDrop
	}
	j.release()
	if parse {
		j.run(rd.watch, StageParse, func() { rd.runParser(j) })
		rd.places.Release(&j.place)
	}
	return nil, stage.ErrDrop
}

// returned goes on with a job whose user code was given up and has returned after all: its request fails.
func (rd *reader) returned(j *job) {
	for j.call.GivenUp() {
		j.closeRequests()
		l, ok := rd.losses.find(&j.call, rd.ledger)
		if !ok {
			j.closeSpools()
			return
		}
		rd.watch.Resurrect(&j.call)
		at := Stage(l.At)
		herr := j.failure(at, abandonedBy(at, l.TooLate), nil)
		j.run(rd.watch, StageError, func() {
			switch {
			case l.atEnd || rd.stop.work.Err() != nil:
				j.leaveUndecided()
			case at == StageError: // the ErrorHandlers themselves have not returned
				rd.teller.failed(herr)
			default:
				rd.failures.handle(j, herr)
			}
			j.decide(Failed, "abandoned")
			j.closeRequests()
		})
	}
	rd.watch.Leave(&j.call)
	j.end()
}

// fetchJob makes the exchange. If parse is true, the job goes on to its parser and holds a place there; if waits is true, it
// will be taken again later.
func (rd *reader) fetchJob(j *job) (parse, waits bool) {
	if j.ctx == nil {
		ctx, err := rd.acceptor.codec.decode(j.rec.Data, j.rec.Live)
		if err != nil {
			j.begin(NewContext(NewRequest("", GET, nil)))
			rd.stop.storeFailed(fmt.Errorf("decoding a stored request: %w", err))
			return false, false
		}
		j.begin(ctx)
	}
	switch {
	case rd.stop.work.Err() != nil:
		return false, false
	case rd.frontier.Starves(j):
		j.decide(Filtered, pageBudget)
		return false, false
	case rd.frontier.IsShort(j), !rd.fetcher.enterGate(j):
		rd.fetcher.putBack(j)
		return false, true
	}
	ok, waits := rd.fetcher.robots.pass(j)
	rd.teller.blocked()
	if !ok {
		return false, waits
	}
	rd.watch.Sit(&j.call, pageRow)
	herr, alive, closed := rd.fetcher.exchange(j)
	if closed {
		rd.watch.Leave(&j.call)
		rd.fetcher.putBack(j)
		return false, true
	}
	if !alive {
		return false, false
	}
	if herr == nil {
		if herr, alive = rd.fetcher.follow(j); !alive {
			return false, false
		}
	}
	if herr == nil && j.undecided() {
		parse = rd.reserve(j) == nil && rd.places.Acquire(rd.stop.work, &j.place) == nil // or else the crawl gives up: the job goes back to the cache
		return parse, false
	}
	j.run(rd.watch, StageError, func() {
		if herr != nil {
			rd.failures.fail(j, herr)
		}
		j.closeRequests()
	})
	return false, false
}

// reserve waits until there is memory for what is likely to be made of the page, as a download waits for its body: the parser
// and all that it calls wait for none. The error is that of a crawl that gives up.
func (rd *reader) reserve(j *job) error {
	resp := j.ctx.Response()
	if resp == nil {
		return nil
	}
	h := (*pageHost)(resp)
	if h.Run() == nil {
		return nil
	}
	n := resp.page.Reserve(h)
	if n == 0 {
		return nil
	}
	return rd.fetcher.bodies.Grow(rd.stop.work, &j.hold, n)
}

// runParser lets the request's parser read the response. What it sends is received until it returns; then the job
// has its outcome.
func (rd *reader) runParser(j *job) {
	parser, err := rd.parserOf(j.ctx.Request)
	if err != nil {
		rd.failures.fail(j, j.failure(StageParse, err, nil))
		return
	}
	rd.teller.counters.Read.Add(1)
	rd.teller.leadsOn(j)
	items, closeItems := rd.itemsOf(j, parser)
	var requests chan<- *Context
	if items != nil {
		requests = j.requests()
	}
	url := j.ctx.Request.Url // an ErrorHandler of its items may change it
	stack, err := rd.callParser(j, parser, items, requests, closeItems)
	if j.call.GivenUp() {
		return
	}
	if err == nil {
		err = j.lostItem()
	}
	switch {
	case rd.stop.work.Err() != nil: // it may have left something out
		j.leaveUndecided()
	case err != nil:
		rd.parserFailed(j, j.failure(StageParse, err, stack))
		j.closeRequests()
	default:
		rd.teller.counters.ParsedPage(url)
		j.decide(Fetched, "")
	}
}

// callParser returns when the parser has, and all that it sent is taken: also where it ends its goroutine.
func (rd *reader) callParser(j *job, parser Parser, items chan<- *ItemMeta, requests chan<- *Context, closeItems func()) ([]byte, error) {
	defer j.closeRequests()
	defer closeItems()
	return guard.Protect(func() error { return parser(j.ctx, items, requests) })
}

// parserFailed obeys the verbs that a parser returned and hands the rest to the ErrorHandlers.
func (rd *reader) parserFailed(j *job, herr *HandleError) {
	if reason, ok := asCloseSpider(herr.Err); ok {
		rd.failures.closedBy(j, reason, Fetched, "")
		return
	}
	rd.failures.fail(j, herr)
}

// parserOf finds the parser of a request: the one it was sent with, the named one, or the spider's.
func (rd *reader) parserOf(r *Request) (Parser, error) {
	if r.parser != nil && !r.named {
		return r.parser, nil
	}
	parser, ok := rd.parsers.Lookup(r.parserName)
	if !ok {
		return nil, fmt.Errorf("no parser is registered as %q; use RegisterParser or the spider's Parsers()", r.parserName)
	}
	return parser, nil
}

// itemsOf makes the channel that a parser sends items to, and the func that waits until all are taken. A
// parser made by Handle needs none: its Output hands items over directly.
func (rd *reader) itemsOf(j *job, parser Parser) (chan<- *ItemMeta, func()) {
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
			rd.mill.add(j, item)
		}
	}()
	return items, func() {
		if sendFence(items, itemFence) {
			j.emission().closedByUser(rd.teller)
		}
		<-done
	}
}

// itemFence follows the last item of a parser.
var itemFence = new(ItemMeta)

// answerOf reads from the result of a download what its slot has to know.
func answerOf(ctx *Context, herr *HandleError) (a frontier.Answer) {
	if herr == nil && ctx.DownloadResult != nil {
		herr = ctx.DownloadResult.Error
	}
	resp := ctx.Response()
	if resp == nil {
		a.Overload = herr != nil && isOverload(herr.Err)
		return a
	}
	a.Came, a.OK = true, resp.Status == http.StatusOK
	// The host says that it has too much to do (RFC 6585 §4, RFC 9110 §15.6.4).
	a.Refused = resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
	if resp.transfer != nil {
		a.Latency = max(time.Duration(resp.Delay*float64(time.Second))-resp.transfer.Body, 0)
	}
	if a.Refused {
		a.After, _ = httpx.RetryAfter(fetch.FirstHeader(resp.Header, "Retry-After"), time.Now())
	}
	return a
}

// isOverload reports whether a failure looks like that of a host that has too much to do.
func isOverload(err error) bool {
	var silent *NoResultError
	return errors.As(err, &silent) || fetch.IsOverload(err)
}

// pageShare is a job as the share of a request in the memory of its crawl. What is made of a page counts in
// Limits.BodiesInFlight with the page's body, and is given back with it.
type pageShare job

// Bounds returns the bounds of all pages of the crawl.
func (s *pageShare) Bounds() *page.Bounds { return &s.pages.bounds }

// Queries returns where the queries on the pages of the crawl are counted.
func (s *pageShare) Queries() *page.Queries { return s.pages.queries }

// Add counts bytes that the page takes beside what reader.reserve has waited for. Code that asks for a page does not wait: the
// request that has to give memory back may wait for it.
func (s *pageShare) Add(n int64) { s.pages.fetcher.bodies.Add(&(*job)(s).root().hold, n) }

// Extracted counts the fields of a struct that was filled from a page.
func (s *pageShare) Extracted(keys []string, counts []selector.FieldCount) {
	if s.pages.mill.cfg.fieldCounting == countNothing {
		return
	}
	(*job)(s).root().tally().Extracted(keys, func(sum []fieldcount.Counts) {
		for i, n := range counts {
			sum[i].LookedFor += int64(n.LookedFor)
			sum[i].Defaulted += int64(n.Defaulted)
			sum[i].Missing += int64(n.Missing)
			sum[i].Failed += int64(n.Failed)
		}
	})
}
