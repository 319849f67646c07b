package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/buffer"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/selector"
	"github.com/tegenaria/tegenaria/stage"
)

// The elastic buffer between parsers and pipelines: a burst makes it grow up to itemBuffers buffers of
// itemBufferCap items; then parsers wait.
const (
	itemBufferCap = 64
	itemBuffers   = 16
)

// items takes items from the parsers, through an elastic buffer, and passes each through all pipelines.
type items struct {
	spider    SpiderInterface
	cfg       *config
	limits    *Limits
	ledger    *frontier.Ledger
	watch     *guard.Watch
	entries   *guard.InFlight // items are inside while they are added
	settler   *settler
	abandoned *abandonment
	failures  *failures
	report    *reporter
	stop      *stop

	buffer     *buffer.Pool[*itemTask]
	pipelines  ItemPipelines
	feeds      []bool // by pipeline: it is a FeedCounter
	callbacks  *callbacks
	timed      []*callback // the pipelines; nil: not measured
	work       *work
	typeChecks []*typecheck.Check
	nils       atomic.Int64 // items without a value
	sent       atomic.Bool  // there was an item
}

// itemTask is an item on its way. It holds its request open: the ledger cannot reach zero while a
// pipeline may still fail and an ErrorHandler ask for another request.
type itemTask struct {
	items   *items
	job     *job
	meta    *ItemMeta
	came    ItemMeta      // as it came from its parser
	call    guard.Call    // its Life is that of its PipelineFuncs
	fate    guard.Context // ends when the item is given up
	started atomic.Bool   // it reached the pipelines
	ended   bool          // its outcome has been counted; set between two calls
	ctx     *Context      // of its ContextPipelines; nil: none was called
}

// context returns the Context that the item's ContextPipelines are given. Only the worker that runs them may ask.
func (t *itemTask) context() *Context {
	if t.ctx == nil {
		of := t.job.ctx
		t.ctx = &Context{Request: of.Request, CtxId: t.came.CtxId, Ctx: &t.call.Life}
		if resp := of.Response(); resp != nil {
			t.ctx.DownloadResult = &RequestResult{Response: resp}
		}
		of.run.lend(t.ctx, &t.call)
	}
	return t.ctx
}

// waits returns those of its ContextPipelines for the engine; nil: there are none, or they are not measured.
func (t *itemTask) waits() *guard.Waits {
	if t.ctx == nil {
		return nil
	}
	return jobOf(t.ctx).waits
}

// MarkAsProcessed ends the item's way. An item that never reached the pipelines because the crawl gave up
// is not lost: its request goes back to the cache.
func (t *itemTask) MarkAsProcessed() {
	if !t.started.Load() {
		t.job.leaveUndecided()
	}
	t.items.ledger.Items.Add(-1)
	t.items.settler.end(t.job)
}

var errNilItem = errors.New("the parser sent a nil item; make items with NewItem(ctx, value)")

// add puts an item of a job into the buffer, and waits while it is full. It returns false if the crawl gives up.
func (s *items) add(j *job, meta *ItemMeta) bool {
	if j.call.GivenUp() {
		return false
	}
	if j.linksOnly {
		return true
	}
	if !s.sent.Load() {
		s.sent.Store(true)
	}
	if meta == nil {
		s.failures.handle(j, j.failure(StageParse, errNilItem))
		return true
	}
	if meta.Item == nil {
		s.nils.Add(1)
	}
	// The parser may be abandoned from here on, and its job with it. The run waits for the entry: a job that is
	// still open when the settler has closed is neither settled nor put back.
	if !s.entries.Enter() {
		return false
	}
	defer s.entries.Leave()
	root := j.root()
	if !root.openToSend() {
		return false
	}
	s.ledger.Items.Add(1)
	task := &itemTask{items: s, job: root, meta: meta, came: *meta}
	task.call.Owner, task.call.Life.Parent, task.fate.Parent = task, s.stop.work, s.stop.work
	if err := s.put(j, task); err != nil {
		if s.stop.work.Err() == nil { // the page alone is given up: it fails, and the item with it
			task.started.Store(true)
			s.report.lostItem(root, itemFailed, &HandleError{Err: err, Request: root.ctx.Request, Item: meta})
			root.loseItem(err)
		}
		task.MarkAsProcessed()
		return false
	}
	return true
}

// put puts a task into the buffer; the time that the parser has to wait is not its own.
func (s *items) put(j *job, t *itemTask) error {
	if j.ctx.Err() == nil && s.buffer.TryPut(t) {
		return nil
	}
	s.watch.Pause(&j.call)
	defer s.watch.Resume(&j.call)
	j.waits.Begin()
	defer j.waits.End()
	s.work.puts.Add(1)
	defer s.work.puts.Add(-1)
	return s.buffer.Put(j.ctx, t)
}

// pipe is the stage of the items: one item passes all pipelines.
func (s *items) pipe(worker context.Context, t *itemTask) (*itemTask, error) {
	call := &t.call
	call.Worker = stage.CallOf(worker)
	s.watch.JoinPool(call, itemPool)
	defer s.leave(t)
	err := s.watch.Run(call, string(StagePipeline), nil, func() error {
		t.started.Store(true)
		err := s.process(t)
		if err == nil && s.cfg.collect != nil && !t.call.GivenUp() {
			s.watch.Pause(call) // until the loop over Crawl comes round
			err = s.cfg.collect(&t.fate, t.meta)
			s.watch.Resume(call)
		}
		return err
	})
	if err != guard.ErrGivenUp { // or else that was its end, or it goes back to the cache with its request
		t.ended = true
		s.done(t, err)
	}
	return nil, stage.ErrDrop
}

// leave follows the pipelines of an item, also where user code has ended the goroutine.
func (s *items) leave(t *itemTask) {
	if t.call.GivenUp() {
		s.abandoned.unreturned.done(&t.call)
	} else {
		s.watch.Leave(&t.call)
	}
	t.call.Life.Cancel(context.Canceled)
	t.fate.Cancel(context.Canceled)
}

// Slow reports that the item's user code has been running for long.
func (t *itemTask) Slow(at string, took time.Duration) { t.job.call.Owner.Slow(at, took) }

// Abandon ends the item, and its request: user code of it was given up.
func (t *itemTask) Abandon(l guard.Loss) {
	s := t.items
	t.call.Life.Cancel(errItemGone)
	t.fate.Cancel(errItemGone)
	item := &t.came // the code may be at work on the item itself
	if t.ended {
		item = nil
	}
	s.abandoned.giveUp(t.job, &t.call, item, l)
}

var errItemGone = errors.New("the item's pipelines were given up")

// process takes an item through the pipelines.
func (s *items) process(t *itemTask) error {
	var errs []error
	item := t.meta
	for i, p := range s.pipelines {
		if t.call.GivenUp() { // a Committer must not stage an item that was discarded
			break
		}
		if _, fetches := p.(ContextPipeline); fetches && s.timed != nil {
			t.context() // that its waits are known
		}
		took := s.callbacks.begin(t.waits())
		err := guard.Protect(func() error {
			if s.feeds[i] {
				s.work.inFeeds.Add(1)
				defer s.work.inFeeds.Add(-1)
			}
			switch p := p.(type) {
			case livedPipeline:
				return p.processItem(&t.call.Life, item)
			case ContextPipeline:
				return p.ProcessItemContext(t.context(), item)
			}
			return p.ProcessItem(s.spider, item)
		})
		took.end(callbackAt(s.timed, i), err)
		if err == nil {
			continue
		}
		errs = append(errs, err)
		if s.cfg.FailFast || isA[*dropItemError](err) {
			break
		}
	}
	if len(errs) == 0 && s.cfg.fieldCounting == countItems && !t.call.GivenUp() {
		_ = guard.Protect(func() error { t.job.tally().Item(item.Item, selector.TypeName); return nil })
	}
	return errors.Join(errs...)
}

var errNoReason = errors.New("no reason given")

// done counts and reports the end of an item.
func (s *items) done(t *itemTask, err error) {
	if err == nil {
		scraped := s.report.counters.Scraped.Add(1)
		s.report.countForJob(t.job, func(c *jobCounts) { c.scraped++ })
		if s.report.log.HasDebug() {
			r, _ := s.pageOf(t.job)
			s.report.log.Item(itemScraped, "", fmt.Sprintf("%T", t.meta.Item), urlOf(r))
		}
		if f := s.cfg.events.ItemScraped; f != nil {
			s.tell(t, StageEvent, func() { s.report.event(func() { f(t.meta) }) })
		}
		if s.cfg.events.ItemEnded != nil {
			r, _ := s.pageOf(t.job)
			s.tellEnd(t, ItemEnd{Item: t.meta, Request: r, Outcome: itemScraped})
		}
		if limit := int64(s.limits.Items); limit > 0 && scraped >= limit {
			s.stop.requestStop("limit: items", nil)
		}
		return
	}
	if s.stop.work.Err() != nil || err == errLeft {
		t.job.leaveUndecided()
		return
	}
	r, resp := s.pageOf(t.job)
	herr := NewError(t.meta.CtxId, err, ErrorWithRequest(r), ErrorWithResponse(resp), ErrorWithItem(t.meta),
		ErrorWithStage(StagePipeline))
	if drop, ok := errors.AsType[*dropItemError](err); ok {
		why := *herr
		if why.Err = drop.reason; why.Err == nil {
			why.Err = errNoReason
		}
		reason := s.report.lostItem(t.job, itemDropped, &why)
		if f := s.cfg.events.ItemDropped; f != nil {
			s.tell(t, StageEvent, func() { s.report.event(func() { f(herr) }) })
		}
		s.tellEnd(t, ItemEnd{Item: t.meta, Request: r, Outcome: itemDropped, Reason: reason, Err: why.Err})
		return
	}
	if reason, ok := asCloseSpider(err); ok {
		s.tellEnd(t, ItemEnd{Item: t.meta, Request: r, Outcome: itemDropped, Reason: s.report.lostItem(t.job, itemDropped, herr), Err: err})
		s.stop.closeSpider(reason)
		return
	}
	s.tellEnd(t, ItemEnd{Item: t.meta, Request: r, Outcome: itemFailed, Reason: s.report.lostItem(t.job, itemFailed, herr), Err: err})
	s.tell(t, StageError, func() {
		s.report.failed(herr)
		failed := &failedRequest{request: r, depth: t.job.rec.Depth, attempt: t.job.rec.Attempt}
		s.failures.tellHandlers(t.job, failed, &t.call, herr)
	})
}

// pageOf returns request and response of the page of an item: the request as it was accepted alone, if code of the page
// was given up and may be at work on them.
func (s *items) pageOf(j *job) (*Request, *Response) {
	if j.isGivenUp() {
		return s.abandoned.codec.requestOf(&j.rec), nil
	}
	return j.ctx.Request, j.ctx.Response()
}

// tellEnd calls ItemEnded, if there is one.
func (s *items) tellEnd(t *itemTask, end ItemEnd) {
	if f := s.cfg.events.ItemEnded; f != nil {
		s.tell(t, StageEvent, func() { s.report.event(func() { f(end) }) })
	}
}

// tell runs an event handler or ErrorHandlers at an item's end.
func (s *items) tell(t *itemTask, at Stage, code func()) {
	_ = s.watch.Run(&t.call, string(at), nil, func() error { code(); return nil })
}

// drain ends the way of the items that a crawl has not come to because it gave up.
func (s *items) drain() {
	for {
		t, err := s.buffer.Get(context.Background()) // it is closed: this does not wait
		if err != nil {
			return
		}
		t.MarkAsProcessed()
	}
}

// run moves items from the buffer through the pipelines until the buffer is closed and empty.
func (s *items) run() error {
	next := func(ctx context.Context) (*itemTask, bool) {
		t, err := s.buffer.Get(ctx)
		return t, err == nil
	}
	return s.stop.stageError(stage.Pull(s.stop.work, s.cfg.ItemConcurrency, next, stage.ProcessorFunc[*itemTask](s.pipe)))
}

// close lets nothing be added any more.
func (s *items) close() { s.buffer.Close() }

// warnOfTypes logs the findings of the type checks.
func (s *items) warnOfTypes() {
	for _, t := range s.typeChecks {
		if text := t.Warning(); text != "" {
			s.report.log.Warn(text)
		}
	}
	if n := s.nils.Load(); n > 0 {
		s.report.log.Lines([]report.Line{{Warn: true, Text: report.Count(n, "item") + " had no value (nil): look at what the parser sends",
			Numbers: report.Numbers{"items": n}}})
	}
}
