package dashboard

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/webguard"
)

// Options configure a [Board]. The zero value is a sensible default.
type Options struct {
	// Token is what controls the crawl; "" makes one, see [NewToken]. One to view is made of it.
	Token string
	// Names are the names of hosts under which the board may be asked, beside those of this machine on a loopback address. On other
	// addresses it may be asked under any name if there are none.
	Names []string
	// Metrics, unless nil, answers GET /metrics, for those who may view: the handler of a registry with package telemetry's Metrics.
	Metrics http.Handler
	// Logger, unless nil, is that of the engine, which the page of the log shows: [New] adds a hook to it. Without it the page has no lines.
	Logger *logrus.Logger
	// Secret, unless nil, reports whether the value of a setting, such as "politeness.user_agent", is not to be shown.
	Secret func(setting string) bool
	// Explain, unless nil, asks the durable job of the run for the request of a URL: it comes first, then those through which it was found.
	// The error says why there is none, such as that the job does not know it. It may be called concurrently. Without it the board knows
	// the last 10,000 requests that have ended.
	Explain func(ctx context.Context, url string) ([]JobRequest, error)
	// Runs, unless nil, reads the earlier runs, the newest first. With an error it returns those that can be read. It is
	// called by one goroutine at a time, every ten seconds at most.
	Runs func() ([]PastRun, error)
	// Changed, unless nil, is called with what a user of the board has changed, in words: "paused". It may be called concurrently.
	Changed func(what string)
}

// Board is the pages and the API of an engine as an http.Handler: it shows its runs, one after the other, and keeps the
// last one's numbers when that is over. Make it with [New]. It may be used concurrently.
type Board struct {
	engine  *tegenaria.SpiderEngine
	options Options
	access  access
	handler http.Handler
	made    map[string]page // by name

	failures failures // of the run, or of the last one
	items    items    // of the same run
	ends     ends     // of the same run, if no durable job is asked
	lines    logLines // of all runs
	past     pastRuns
	log      changes

	life  context.Context // ends by Close
	close context.CancelFunc

	sampling sync.WaitGroup
	mu       sync.Mutex         // guards the fields below
	end      context.CancelFunc // of the sampling of a run; nil: there is none
	samples  samples
	settings []Setting // of the run; nil: none has begun
}

// New makes a board. It adds events to the engine and has it measure its callbacks, so it has to be called before
// [tegenaria.SpiderEngine.Run]; a run that is on is shown without rates.
func New(engine *tegenaria.SpiderEngine, o Options) *Board {
	b := &Board{engine: engine, options: o, access: newAccess(o.Token), made: make(map[string]page)}
	b.life, b.close = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	b.routes(mux)
	b.pages(mux)
	b.handler = webguard.Handler(mux, webguard.StyleAndScript, o.Names...)
	b.ends.seed = maphash.MakeSeed()
	events := tegenaria.Events{
		Started: func(tegenaria.SpiderInterface) { b.begin() },
		Closed:  func(string) { b.over() },
		Error:   b.failures.add, ItemEnded: b.items.add,
	}
	if o.Explain == nil {
		events.RequestEnded = b.ends.add
	}
	tegenaria.EngineWithEvents(events)(engine)
	tegenaria.EngineWithCallbackTimes(true)(engine)
	if o.Logger != nil {
		o.Logger.AddHook(&b.lines)
	}
	return b
}

// ServeHTTP answers a request.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.handler.ServeHTTP(w, r) }

// Close ends the streams of the board, so that the server around it can end. It keeps no further lines of the log.
func (b *Board) Close() {
	b.close()
	b.lines.end()
	b.over()
}

// ControlToken returns the token of [Options], or the one that was made.
func (b *Board) ControlToken() string { return b.access.control }

// ViewToken returns the token with which everything can be seen, and nothing changed.
func (b *Board) ViewToken() string { return b.access.view }

// changed tells about a change.
func (b *Board) changed(what string) {
	b.log.add(what)
	if b.options.Changed != nil {
		b.options.Changed(what)
	}
}

// begin begins to sample the counters of a run.
func (b *Board) begin() {
	ctx, end := context.WithCancel(b.life)
	settings := settingsOf(b.engine, b.options.Secret)
	b.mu.Lock()
	b.samples, b.end, b.settings = samples{}, end, settings
	b.mu.Unlock()
	b.failures.reset()
	b.items.reset()
	b.ends.reset()
	b.sampling.Go(func() { // over waits for it
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			b.sample()
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// sample keeps the counters of this moment.
func (b *Board) sample() {
	s := b.engine.Stats()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.samples.add(sample{at: s.Elapsed, pages: s.Responses, items: s.ItemScraped, errors: s.ErrorCount, bytes: s.Bytes,
		settled: s.Settled, open: s.Pending + s.Delayed + s.InFlight})
}

// over ends the sampling.
func (b *Board) over() {
	b.mu.Lock()
	end := b.end
	b.end = nil
	b.mu.Unlock()
	if end != nil {
		end()
	}
	b.sampling.Wait()
}

// run returns the run as it is now.
func (b *Board) run() Run {
	r := Run{Summary: b.engine.Summary(), Concurrency: b.engine.Concurrency(), Places: placesOf(b.engine.Places())}
	if b.isRunning() {
		b.mu.Lock()
		defer b.mu.Unlock()
		r.Rates, r.End = b.samples.rates(10*time.Second), b.samples.estimate()
	}
	return r
}

// curve returns the curve of the run.
func (b *Board) curve() Curve {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.samples.curve()
}

// wired returns the settings of the run, or of the next one before there was any.
func (b *Board) wired() Settings {
	b.mu.Lock()
	list := b.settings
	b.mu.Unlock()
	if list == nil {
		list = settingsOf(b.engine, b.options.Secret)
	}
	return Settings{Settings: list, Concurrency: b.engine.Concurrency(), Changed: changedIn(b.engine), Changes: b.log.newest()}
}
