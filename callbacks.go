package tegenaria

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// Callback says how long a callback took: user code that the engine calls.
type Callback struct {
	// Stage is where it is called: StageStart, StageParse, StageError, StageRequest and StageResponse of middlewares,
	// StagePipeline, and StageSettle for the Prepare of a [Committer].
	Stage Stage
	// Name is that under which a parser was registered, that of a func without one, that of a middleware, that of the
	// spider for its start, the FeedStats.Name of a feed, else a type. The spider's own parser is "Parser". Callbacks
	// of one stage and one name count together.
	Name   string
	Calls  int64 // that have ended; one that was given up counts when it returns
	Errors int64 // calls that panicked or returned an error other than Retry, DropItem and the like, which are no failures
	// Time is that of all calls together, less the time in which they waited for the engine: for the response of Fetch,
	// for room for an item, and for the cache that stores their requests. Of the start it is the time in which the
	// engine waited for the next request, also of a call that goes on.
	Time time.Duration
	// Counts are the calls by their time: Counts[i] took as long as the i-th of [CallbackBounds] at most, and longer
	// than the one before; the last count is of those that took longer than all of them.
	Counts []int64
}

// CallbackBounds returns the upper bounds of [Callback].Counts, in ascending order: 21 of them, from 1/32 ms, each
// twice the one before, to 32.768 s.
func CallbackBounds() []time.Duration { return guard.TimeBounds() }

// Mean returns the mean time of a call, 0 without calls.
func (c Callback) Mean() time.Duration { return c.Time / time.Duration(max(c.Calls, 1)) }

// Quantile returns the time that the part q of all calls took at most, such as 0.95, as Counts says it: within a bound the
// calls are taken to be spread evenly. It is 0 without calls, and the last bound if it is longer than that.
func (c Callback) Quantile(q float64) time.Duration {
	rank, below := 0.0, time.Duration(0)
	for _, n := range c.Counts {
		rank += q * float64(n)
	}
	if rank <= 0 {
		return 0
	}
	for i, bound := range CallbackBounds() {
		n := float64(c.Counts[i])
		if rank <= n {
			return below + time.Duration(math.Round(float64(bound-below)*rank/n))
		}
		rank, below = rank-n, bound
	}
	return below
}

// EngineWithCallbackTimes measures how long each callback takes, for [SpiderEngine.Callbacks]. By default nothing is
// measured. It costs about 1 µs a page. Package dashboard and package telemetry set it.
func EngineWithCallbackTimes(measure bool) EngineOption {
	return func(e *SpiderEngine) { e.config.timeCallbacks = measure }
}

// Callbacks returns the callbacks that were called in the current run, or else in the last one, those that took the most
// time first. It is empty without [EngineWithCallbackTimes]. It takes some microseconds and may be called at any time; the
// numbers of one callback may differ by calls that end meanwhile.
func (e *SpiderEngine) Callbacks() []Callback {
	e.mu.Lock()
	c, last := e.crawl, e.lastCallbacks
	e.mu.Unlock()
	if c == nil {
		return slices.Clone(last)
	}
	return c.callbacks.list()
}

// callbacks measures the callbacks of a run. Nil measures nothing.
type callbacks struct {
	clock guard.Clock
	known atomic.Pointer[map[callbackKey]*callback]
	mu    sync.Mutex // held while known is replaced
}

// callbackKey tells callbacks apart. A func without a name is found by its code, without its name being made.
type callbackKey struct {
	stage Stage
	name  string
	code  uintptr
}

type callback struct {
	stage Stage
	name  string
	guard.Times
}

func newCallbacks() *callbacks {
	c := &callbacks{clock: guard.NewClock()}
	c.known.Store(&map[callbackKey]*callback{})
	return c
}

// of returns the callback of a name, nil if nothing is measured.
func (c *callbacks) of(stage Stage, name string) *callback {
	if c == nil {
		return nil
	}
	key := callbackKey{stage: stage, name: name}
	if known := (*c.known.Load())[key]; known != nil {
		return known
	}
	return c.add(key, name)
}

// add adds a callback, unless there is one. Those of one name are one.
func (c *callbacks) add(key callbackKey, name string) *callback {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := maps.Clone(*c.known.Load())
	byName := callbackKey{stage: key.stage, name: name}
	if known[byName] == nil {
		known[byName] = &callback{stage: key.stage, name: name}
	}
	known[key] = known[byName]
	c.known.Store(&known)
	return known[key]
}

// ofParser returns the callback of the parser of a request.
func (c *callbacks) ofParser(table *parserTable, r *Request) *callback {
	if c == nil {
		return nil
	}
	name, ok := r.parserName, r.parser == nil || r.named
	if !ok {
		name, ok = table.Name(r.parser)
	}
	if ok {
		return c.of(StageParse, cmp.Or(name, "Parser"))
	}
	f, made := insideOf(r.parser)
	if !made {
		f = funcname.Of(r.parser)
	}
	key := callbackKey{stage: StageParse, code: f.Code()}
	if known := (*c.known.Load())[key]; known != nil {
		return known
	}
	return c.add(key, funcTitle(f))
}

// funcTitle names a func for readers: "main.detail", "main.(*shop).detail".
func funcTitle(f funcname.Func) string {
	symbol := funcname.Describe(f).Symbol
	return cmp.Or(symbol[strings.LastIndexByte(symbol, '/')+1:], "unknown")
}

// middlewareTimes are the callbacks of middlewares, in their order; the zero value: nothing is measured.
type middlewareTimes struct{ request, response []*callback }

func (c *callbacks) ofMiddlewares(m Middlewares) middlewareTimes {
	return middlewareTimes{ofParts(c, StageRequest, m), ofParts(c, StageResponse, m)}
}

// ofParts returns the callbacks of middlewares, pipelines and committers, in their order; nil if nothing is measured.
func ofParts[T any](c *callbacks, stage Stage, parts []T) []*callback {
	if c == nil {
		return nil
	}
	list := make([]*callback, len(parts))
	for i, one := range parts {
		name := ""
		switch part := any(one).(type) {
		case FeedCounter:
			_ = guard.Protect(func() error { name = part.FeedStats().Name; return nil })
		case MiddlewaresInterface:
			name, _ = askName(part)
		case titled:
			name = part.title()
		}
		list[i] = c.of(stage, cmp.Or(name, strings.TrimPrefix(fmt.Sprintf("%T", one), "*")))
	}
	return list
}

// titled is a part of this package that is made of a func.
type titled interface{ title() string }

// newWaits makes a sum of waits of a job; nil if nothing is measured.
func (c *callbacks) newWaits() *guard.Waits {
	if c == nil {
		return nil
	}
	return guard.NewWaits(c.clock)
}

// timing is a call of a callback that is measured. The zero value measures nothing.
type timing struct {
	of     *callbacks
	waits  *guard.Waits
	start  time.Duration
	waited time.Duration // before
}

// begin begins to measure a call. What waits says that it waits is not its own time; nil: it does not wait.
func (c *callbacks) begin(waits *guard.Waits) (t timing) {
	if c == nil {
		return t
	}
	now := c.clock.Now()
	return timing{c, waits, now, waits.Until(now)}
}

// end counts the call.
func (t timing) end(of *callback, err error) {
	if t.of == nil || of == nil {
		return
	}
	now := t.of.clock.Now()
	of.Add(max(now-t.start-(t.waits.Until(now)-t.waited), 0), err != nil && isFailure(err))
}

// callbackAt returns the i-th of a list that is nil if nothing is measured.
func callbackAt(list []*callback, i int) *callback {
	if list == nil {
		return nil
	}
	return list[i]
}

// isFailure reports whether an error is none of those that only say what is to happen.
func isFailure(err error) bool {
	_, closing := asCloseSpider(err)
	return !closing && asRetry(err) == nil && asGiveUp(err) == nil && !errors.Is(err, ErrIgnoreRequest) &&
		!isA[*dropItemError](err)
}

// list returns what was measured.
func (c *callbacks) list() []Callback {
	list := []Callback{}
	if c == nil {
		return list
	}
	for key, one := range *c.known.Load() {
		if key.code != 0 { // it is there by its name too
			continue
		}
		b := Callback{Stage: one.stage, Name: one.name}
		b.Errors, b.Time, b.Counts = one.Read()
		for _, n := range b.Counts {
			b.Calls += n
		}
		if b.Calls > 0 || b.Time > 0 {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b Callback) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// startTiming measures the start of a spider. A request that it sends is received once there is room for it, so it
// cannot be seen from outside when it begins to wait: its time is that in which the engine waits for its next request.
type startTiming struct {
	clock   guard.Clock
	of      *callback
	waiting time.Duration // since when the engine waits; belongs to the receiver until it has ended
	own     time.Duration // so far, as waiting
}

// ofStart measures the start of a spider; nil if nothing is measured.
func (c *callbacks) ofStart(spider SpiderInterface) *startTiming {
	if c == nil {
		return nil
	}
	name, _ := askName(spider)
	return &startTiming{clock: c.clock, of: c.of(StageStart, name), waiting: c.clock.Now()}
}

// ready says that the engine waits for the next request.
func (t *startTiming) ready() {
	if t != nil {
		t.waiting = t.clock.Now()
	}
}

// came says that a request came.
func (t *startTiming) came() {
	if t != nil {
		t.until(t.clock.Now())
	}
}

func (t *startTiming) until(now time.Duration) {
	took := max(now-t.waiting, 0)
	t.own += took
	t.of.AddTime(took)
}

// returned is called when the start has returned. The func that it returns counts it once the receiver has ended.
func (t *startTiming) returned(err error) (count func()) {
	if t == nil {
		return func() {}
	}
	now := t.clock.Now()
	return func() {
		t.until(now)
		t.of.Count(t.own, err != nil && isFailure(err))
	}
}
