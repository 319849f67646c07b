package tegenaria

import (
	"context"
	"errors"
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

// mill takes items from the parsers, through an elastic buffer, and passes each through all pipelines.
type mill struct {
	spider   SpiderInterface
	cfg      *config
	limits   *Limits
	ledger   *frontier.Ledger
	watch    *guard.Watch
	entries  *guard.Door // items are inside while they are added
	losses   *losses
	failures *failures // set when the cache has begun
	teller   *teller
	stop     *stop

	buffer     *buffer.Pool[*itemTask]
	pipelines  ItemPipelines
	collect    func(ctx context.Context, item *ItemMeta) error // of Crawl, may be nil
	typeChecks []*typecheck.Check
	nils       atomic.Int64 // items without a value
	sent       atomic.Bool  // there was an item
}

func newMill(c *crawl) *mill {
	m := &mill{
		spider: c.spider, cfg: &c.cfg, limits: &c.limits, ledger: c.ledger, watch: c.watch, entries: c.entries, losses: &c.losses,
		teller: c.teller, stop: &c.stop, collect: c.cfg.collect,
	}
	m.buffer, _ = buffer.NewPool[*itemTask](itemBufferCap, itemBuffers) // its sizes are right
	m.pipelines, m.typeChecks = c.cfg.pipelines.forRun()
	if check := c.cfg.collected; check != nil {
		m.typeChecks = append(m.typeChecks, check)
	}
	return m
}

// itemTask is an item on its way. It holds its request open: the ledger cannot reach zero while a
// pipeline may still fail and an ErrorHandler ask for another request.
type itemTask struct {
	mill    *mill
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
		j := &job{pages: t.job.pages, caller: t.job, rec: t.job.rec}
		j.ofItem, j.call.Owner, j.call.Caller = true, j, &t.call
		t.ctx = &Context{Request: t.job.ctx.Request, CtxId: t.came.CtxId, Ctx: &t.call.Life, run: j}
		if resp := t.job.ctx.Response(); resp != nil {
			t.ctx.DownloadResult = &RequestResult{Response: resp}
		}
		j.ctx = t.ctx
	}
	return t.ctx
}

// MarkAsProcessed ends the item's way. An item that never reached the pipelines because the crawl gave up
// is not lost: its request goes back to the cache.
func (t *itemTask) MarkAsProcessed() {
	if !t.started.Load() {
		t.job.leaveUndecided()
	}
	t.mill.ledger.Items.Add(-1)
	t.job.end()
}

var errNilItem = errors.New("the parser sent a nil item; make items with NewItem(ctx, value)")

// add puts an item of a job into the buffer, and waits while it is full. It returns false if the crawl gives up.
func (m *mill) add(j *job, meta *ItemMeta) bool {
	if j.call.GivenUp() {
		return false
	}
	if !m.sent.Load() {
		m.sent.Store(true)
	}
	if meta == nil {
		m.failures.handle(j, j.failure(StageParse, errNilItem, nil))
		return true
	}
	if meta.Item == nil {
		m.nils.Add(1)
	}
	// The parser may be abandoned from here on, and its job with it. The run waits for the entry: a job that is
	// still open when the settler has closed is neither settled nor put back.
	if !m.entries.Enter() {
		return false
	}
	defer m.entries.Leave()
	root := j.root()
	if !root.openToSend() {
		return false
	}
	m.ledger.Items.Add(1)
	task := &itemTask{mill: m, job: root, meta: meta, came: *meta}
	task.call.Owner, task.call.Life.Parent, task.fate.Parent = task, m.stop.work, m.stop.work
	if err := m.put(j, task); err != nil {
		if m.stop.work.Err() == nil { // the page alone is given up: it fails, and the item with it
			task.started.Store(true)
			m.teller.counters.Failed.Add(1)
			root.loseItem(err)
		}
		task.MarkAsProcessed()
		return false
	}
	return true
}

// put puts a task into the buffer; the time that the parser has to wait is not its own.
func (m *mill) put(j *job, t *itemTask) error {
	if j.ctx.Err() == nil && m.buffer.TryPut(t) {
		return nil
	}
	m.watch.Pause(&j.call)
	defer m.watch.Resume(&j.call)
	return m.buffer.Put(j.ctx, t)
}

// pipe is the stage of the items: one item passes all pipelines.
func (m *mill) pipe(worker context.Context, t *itemTask) (*itemTask, error) {
	call := &t.call
	call.Worker = stage.CallOf(worker)
	m.watch.Sit(call, itemRow)
	defer m.leave(t)
	var stack []byte
	var err error
	alive := m.watch.Run(call, string(StagePipeline), nil, func() {
		t.started.Store(true)
		stack, err = m.process(t)
		if err == nil && m.collect != nil && !t.call.GivenUp() {
			m.watch.Pause(call) // until the loop over Crawl comes round
			err = m.collect(&t.fate, t.meta)
			m.watch.Resume(call)
		}
	})
	if alive { // or else it was given up, and that was its end, or it goes back to the cache with its request
		t.ended = true
		m.done(t, err, stack)
	}
	return nil, stage.ErrDrop
}

// leave follows the pipelines of an item, also where user code has ended the goroutine.
func (m *mill) leave(t *itemTask) {
	if t.call.GivenUp() {
		m.returned(t)
	} else {
		m.watch.Leave(&t.call)
	}
	t.call.Life.Cancel(context.Canceled)
	t.fate.Cancel(context.Canceled)
}

// Slow reports that the item's user code has been running for long.
func (t *itemTask) Slow(at string, took time.Duration) { t.job.Slow(at, took) }

// Abandon reports that the item's user code was given up.
func (t *itemTask) Abandon(l guard.Loss) {
	m := t.mill
	t.call.Life.Cancel(errItemGone)
	t.fate.Cancel(errItemGone)
	m.losses.add(loss{Loss: l, job: t.job, item: t, call: &t.call, atEnd: m.stop.work.Err() != nil})
	m.teller.abandoned(Stage(l.At), t.job.asAccepted())
}

var errItemGone = errors.New("the item's pipelines were given up")

// returned goes on with an item whose user code was given up and has returned after all: the item fails, unless it has ended before.
func (m *mill) returned(t *itemTask) {
	for t.call.GivenUp() {
		l, ok := m.losses.find(&t.call, m.ledger)
		if !ok {
			return
		}
		m.watch.Resurrect(&t.call)
		m.watch.Join(&t.call)
		if l.atEnd {
			t.job.leaveUndecided()
		}
		if !t.ended {
			t.ended = true
			m.done(t, abandonedBy(Stage(l.At), l.TooLate), nil)
		}
	}
	m.watch.Leave(&t.call)
	t.job.end()
}

// process takes an item through the pipelines. The stack is that of the last one that panicked.
func (m *mill) process(t *itemTask) (stack []byte, err error) {
	var errs []error
	item := t.meta
	for _, p := range m.pipelines {
		if t.call.GivenUp() { // a Committer must not stage an item that was discarded
			break
		}
		panicked, err := guard.Protect(func() error {
			switch p := p.(type) {
			case livedPipeline:
				return p.processItem(&t.call.Life, item)
			case ContextPipeline:
				return p.ProcessItemContext(t.context(), item)
			}
			return p.ProcessItem(m.spider, item)
		})
		if err == nil {
			continue
		}
		if errs = append(errs, err); panicked != nil {
			stack = panicked
		}
		var drop *dropItemError
		if m.cfg.failFast || errors.As(err, &drop) {
			break
		}
	}
	if len(errs) == 0 && m.cfg.fieldCounting == countItems && !t.call.GivenUp() {
		_, _ = guard.Protect(func() error { t.job.tally().Item(item.Item, selector.TypeName); return nil })
	}
	return stack, errors.Join(errs...)
}

// done counts and reports the end of an item.
func (m *mill) done(t *itemTask, err error, stack []byte) {
	if err == nil {
		scraped := m.teller.counters.Scraped.Add(1)
		if f := m.cfg.events.ItemScraped; f != nil {
			m.tell(t, StageEvent, func() { m.teller.event(func() { f(t.meta) }) })
		}
		if limit := int64(m.limits.Items); limit > 0 && scraped >= limit {
			m.stop.requestStop("limit: items", nil)
		}
		return
	}
	if m.stop.work.Err() != nil || err == errLeft {
		t.job.leaveUndecided()
		return
	}
	herr := &HandleError{CtxId: t.meta.CtxId, Err: err, Request: t.job.ctx.Request, Response: t.job.ctx.Response(),
		Item: t.meta, Stage: StagePipeline, Stack: stack}
	var drop *dropItemError
	if errors.As(err, &drop) {
		m.teller.counters.Dropped.Add(1)
		if f := m.cfg.events.ItemDropped; f != nil {
			m.tell(t, StageEvent, func() { m.teller.event(func() { f(herr) }) })
		}
		return
	}
	if reason, ok := asCloseSpider(err); ok {
		m.teller.counters.Dropped.Add(1)
		m.stop.closeSpider(reason)
		return
	}
	m.teller.counters.Failed.Add(1)
	m.tell(t, StageError, func() {
		m.teller.failed(herr)
		m.failures.tellHandlers(t.job, failureOf(t.job), &t.call, herr)
	})
}

// tell runs an event handler or ErrorHandlers at an item's end.
func (m *mill) tell(t *itemTask, at Stage, code func()) {
	m.watch.Run(&t.call, string(at), nil, code)
}

// drain ends the way of the items that a crawl has not come to because it gave up.
func (m *mill) drain() {
	for {
		t, err := m.buffer.Get(context.Background()) // it is closed: this does not wait
		if err != nil {
			return
		}
		t.MarkAsProcessed()
	}
}

// run moves items from the buffer through the pipelines until the buffer is closed and empty.
func (m *mill) run() error {
	next := func(ctx context.Context) (*itemTask, bool) {
		t, err := m.buffer.Get(ctx)
		return t, err == nil
	}
	return m.stop.stageError(stage.Pull(m.stop.work, m.cfg.itemConcurrency, next, stage.ProcessorFunc[*itemTask](m.pipe)))
}

// close lets nothing be added any more.
func (m *mill) close() { m.buffer.Close() }

// warnOfTypes logs the findings of the type checks.
func (m *mill) warnOfTypes() {
	for _, t := range m.typeChecks {
		if text := t.Warning(); text != "" {
			m.teller.log.Warn(text)
		}
	}
	if n := m.nils.Load(); n > 0 {
		m.teller.log.Warnf("%s had no value (nil): look at what the parser sends", report.Count(n, "item"))
	}
}
