package tegenaria

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// EngineOption configures an engine under construction. All mistakes are collected, and Run reports them
// together before the first request.
type EngineOption func(e *SpiderEngine)

// config is what options set; a run works on a copy of it.
type config struct {
	Settings
	downloader    Downloader
	dupeFilter    RFPDupeFilterInterface
	cache         CacheInterface
	errorHandler  func(spider SpiderInterface, err *HandleError)
	events        Events
	log           report.Options
	signals       bool // Run and Crawl obey them
	client        *http.Client
	tls           *tls.Config
	fieldCounting fieldCounting
	nilOptions    mistakes
	metaTypes     map[string]reflect.Type
	spiders       []SpiderInterface
	middlewares   Middlewares
	pipelines     ItemPipelines
	downloaders   []namedDownloader
	layers        []func(next Downloader) Downloader
	parsers       []namedParser
	collect       func(ctx context.Context, item *ItemMeta) error // of Crawl
	collected     *typecheck.Check                                // of what that sees
	undone        []string                                        // fields of options that were set, and that a later option of the same name has left out
}

// EngineWithSchedulerNum sets how many parsers run at once (default: the number of CPUs).
func EngineWithSchedulerNum(schedulerNum uint) EngineOption {
	return func(e *SpiderEngine) { e.config.SchedulerNum = schedulerNum }
}

// EngineWithReadCacheNum sets how many workers read the cache at once (default 1). More than one helps only if the cache is
// slow to read. The memory cache is fast and serves one reader at a time.
func EngineWithReadCacheNum(cacheReadNum uint) EngineOption {
	return func(e *SpiderEngine) { e.config.ReadCacheNum = cacheReadNum }
}

// EngineWithConcurrency sets how many downloads run at once (default 16).
func EngineWithConcurrency(n int) EngineOption {
	return func(e *SpiderEngine) { e.config.Concurrency = n }
}

// EngineWithItemConcurrency sets how many items pass the pipelines at once (default 16).
func EngineWithItemConcurrency(n int) EngineOption {
	return func(e *SpiderEngine) { e.config.ItemConcurrency = n }
}

// EngineWithUniqueReq switches deduplication on or off (default true: on). With false every request is accepted.
func EngineWithUniqueReq(uniqueReq bool) EngineOption {
	return func(e *SpiderEngine) { e.config.UniqueReq = uniqueReq }
}

// EngineWithDownloader replaces the default downloader, which all requests without RequestWithDownloader use.
func EngineWithDownloader(d Downloader) EngineOption {
	return func(e *SpiderEngine) { e.config.downloader = d }
}

// EngineWithDupeFilter sets the filter that computes fingerprints. The cache decides which fingerprints were seen; a
// [*RFPDupeFilter] passes its Bloom parameters to the cache. The DoDupeFilter of any other type is called first and may
// reject requests as duplicates: a request that it rejects by mistake is lost.
func EngineWithDupeFilter(f RFPDupeFilterInterface) EngineOption {
	return func(e *SpiderEngine) { e.config.dupeFilter = f }
}

// EngineWithCache sets the store of the queue and of the keys that were seen (default: memory, new for each run). It is
// not an HTTP cache: it stores no responses. The program that opened the cache closes it.
func EngineWithCache(c CacheInterface) EngineOption {
	return func(e *SpiderEngine) { e.config.cache = c }
}

// EngineWithPoliteness sets delays, concurrency per host, robots.txt and the user agent. See [Politeness] for the defaults.
func EngineWithPoliteness(p Politeness) EngineOption {
	return func(e *SpiderEngine) {
		e.config.undone = append(e.config.undone, setting.LeftOut("EngineWithPoliteness: ", e.config.Politeness, p)...)
		e.config.Politeness = p
	}
}

// EngineWithAllowStatusCode lets responses with these codes, of 400 and more, reach the parsers instead of failing.
func EngineWithAllowStatusCode(codes []uint64) EngineOption {
	return func(e *SpiderEngine) { e.config.AllowStatusCode = slices.Clone(codes) }
}

// EngineWithAllowedDomains filters requests to all other hosts as offsite, including seeds. A domain includes its
// subdomains; "host:port" allows that port only. Without domains all hosts are allowed.
func EngineWithAllowedDomains(domains ...string) EngineOption {
	return func(e *SpiderEngine) { e.config.AllowedDomains = slices.Clone(domains) }
}

// EngineWithErrorHandler sets a handler that is called with each error, before the spider's ErrorHandler. It may
// be called concurrently.
func EngineWithErrorHandler(h func(spider SpiderInterface, err *HandleError)) EngineOption {
	return func(e *SpiderEngine) { e.config.errorHandler = h }
}

// EngineWithEvents adds funcs that are called when something happens, after those of earlier options. A panic in one does not keep
// the others from being called.
func EngineWithEvents(events Events) EngineOption {
	return func(e *SpiderEngine) { e.config.events = e.config.events.and(events) }
}

// EngineWithLogger sets the logger (default: info level and above, to stderr). Info level has the start, progress and result
// of the crawl; debug level adds a line for each request. [EngineWithSlog] takes a logger of log/slog, [EngineWithQuiet] logs less.
func EngineWithLogger(logger *logrus.Logger) EngineOption {
	return func(e *SpiderEngine) { e.config.log.Logrus = logger }
}

// EngineWithGrace sets how long a stopping crawl waits for work in hand (default 20 s).
func EngineWithGrace(d time.Duration) EngineOption {
	return func(e *SpiderEngine) { e.config.Grace = d }
}

// EngineWithLimits bounds the crawl.
func EngineWithLimits(l Limits) EngineOption {
	return func(e *SpiderEngine) {
		e.config.undone = append(e.config.undone, setting.LeftOut("EngineWithLimits: ", e.config.Limits, l)...)
		e.config.Limits = l
	}
}

// EngineWithHTTPClient makes the default downloader use this client; only its following of redirects is switched off. The
// client's transport is responsible for refusing private addresses and malformed responses. Together with
// [EngineWithDownloader], which replaces the default downloader, it is a mistake.
func EngineWithHTTPClient(client *http.Client) EngineOption {
	return func(e *SpiderEngine) { e.config.client = client }
}

// EngineWithTLSConfig sets the TLS configuration of the default downloader, for servers and https proxies: your own root
// certificates, client certificates, minimum version (default, or nil: the system's roots, TLS 1.2 and newer, no client
// certificate). The config is cloned. Its NextProtos are the protocols offered (nil: HTTP/2 and HTTP/1.1), so
// []string{"http/1.1"} switches HTTP/2 off; connections to proxies always use HTTP/1.1. A ServerName in it is used for
// every server.
//
// Together with [EngineWithHTTPClient] or [EngineWithDownloader], which make their own TLS connections, it is a mistake.
func EngineWithTLSConfig(config *tls.Config) EngineOption {
	config = config.Clone()
	return func(e *SpiderEngine) { e.config.tls = config }
}

// EngineWithSecretHeaders names request headers that are removed when a redirect leads to another scheme, host or port.
// Authorization, Cookie, X-Api-Key, X-Auth-Token, Api-Key and all headers that begin with Proxy- are always removed. Case
// does not matter. All other headers are sent to the redirect's target, as in net/http.
func EngineWithSecretHeaders(names ...string) EngineOption {
	return func(e *SpiderEngine) { e.config.SecretHeaders = slices.Clone(names) }
}

// EngineWithEmptyOK allows a run to end without a page, or with parsers that have all failed, and pages without items: Run then returns
// nil instead of a [*NothingError], and the log does not warn that no item was sent.
func EngineWithEmptyOK() EngineOption {
	return func(e *SpiderEngine) { e.config.EmptyOK = true }
}

// EngineWithFailFast sets whether an item ends at its first pipeline error (default true). With false it still passes
// the remaining pipelines, and their errors are joined.
func EngineWithFailFast(failFast bool) EngineOption {
	return func(e *SpiderEngine) { e.config.FailFast = failFast }
}

// EngineWithSpiders is [SpiderEngine.RegisterSpiders] as an option.
func EngineWithSpiders(spiders ...SpiderInterface) EngineOption {
	return func(e *SpiderEngine) { e.RegisterSpiders(spiders...) }
}

// EngineWithMiddlewares is [SpiderEngine.RegisterDownloadMiddlewares] as an option.
func EngineWithMiddlewares(middlewares ...MiddlewaresInterface) EngineOption {
	return func(e *SpiderEngine) { e.RegisterDownloadMiddlewares(middlewares...) }
}

// EngineWithPipelines is [SpiderEngine.RegisterPipelines] as an option.
func EngineWithPipelines(pipelines ...PipelinesInterface) EngineOption {
	return func(e *SpiderEngine) { e.RegisterPipelines(pipelines...) }
}

// EngineWithMetaType registers a type of values in Request.Meta with a durable cache, which stores them as JSON under
// this name. Do not change the name while the job exists.
func EngineWithMetaType[T any](name string) EngineOption {
	return func(e *SpiderEngine) {
		if e.config.metaTypes == nil {
			e.config.metaTypes = make(map[string]reflect.Type)
		}
		e.config.metaTypes[name] = reflect.TypeFor[T]()
	}
}

// allowedDomains reads the domains of EngineWithAllowedDomains; nil if there are none, which allows all.
func allowedDomains(domains []string) (*urlx.HostSet, error) {
	if len(domains) == 0 {
		return nil, nil
	}
	set := urlx.NewHostSet()
	var errs []error
	for _, domain := range domains {
		if err := set.Add(domain); err != nil {
			errs = append(errs, fmt.Errorf("EngineWithAllowedDomains: %w", err))
		}
	}
	return set, errors.Join(errs...)
}

// Status is the state of an engine: one of the constants below. Its String is the name in lower case: "started".
type Status = lifecycle.Status

// The statuses of an engine.
const (
	StatusUninitialized = lifecycle.Uninitialized
	StatusInitializing  = lifecycle.Initializing
	StatusInitialized   = lifecycle.Initialized
	StatusStarting      = lifecycle.Starting
	StatusStarted       = lifecycle.Started
	StatusStopping      = lifecycle.Stopping
	StatusStopped       = lifecycle.Stopped
	StatusPaused        = lifecycle.Paused
)

// SpiderEngine runs spiders. Make one with [NewSpiderEngine], register the parts of a crawl, then call
// [SpiderEngine.Execute] or [SpiderEngine.Run]. An engine can run any number of times, one run at a time. Runs share
// nothing except the job of a durable cache, and two engines share nothing.
//
// All methods may be called concurrently. Parts that are registered during a run are used from the next run on.
type SpiderEngine struct {
	mu     sync.Mutex // guards the fields below
	config config
	crawl  any      // the *crawl that is on, nil if none: options and parts know nothing of it
	last   *Summary // of the newest run that has ended

	errs report.Subscriptions // of ErrorChan
	life lifecycle.Machine
}

// NewSpiderEngine makes an engine. A nil option is a mistake that Run reports.
func NewSpiderEngine(opts ...EngineOption) *SpiderEngine {
	e := &SpiderEngine{config: config{Settings: Settings{
		SchedulerNum:    uint(runtime.GOMAXPROCS(0)),
		ReadCacheNum:    1,
		Concurrency:     16,
		ItemConcurrency: 16,
		UniqueReq:       true,
		Grace:           20 * time.Second,
		FailFast:        true,
	}}}
	for i, opt := range opts {
		e.config.nilOptions.addIf(opt == nil, "engine option %d is nil; leave it out", i+1)
		if opt != nil {
			opt(e)
		}
	}
	return e
}

// RegisterSpiders adds spiders. A nil spider, an empty name and a name that is used twice are mistakes that Run reports.
func (e *SpiderEngine) RegisterSpiders(s ...SpiderInterface) {
	e.register(func(cfg *config) { cfg.spiders = append(cfg.spiders, s...) })
}

// RegisterDownloadMiddlewares adds middlewares; they are called by priority, see [MiddlewaresInterface].
func (e *SpiderEngine) RegisterDownloadMiddlewares(m ...MiddlewaresInterface) {
	e.register(func(cfg *config) { cfg.middlewares = append(cfg.middlewares, m...) })
}

// RegisterPipelines adds pipelines; they are called by priority, see [PipelinesInterface].
func (e *SpiderEngine) RegisterPipelines(p ...PipelinesInterface) {
	e.register(func(cfg *config) { cfg.pipelines = append(cfg.pipelines, p...) })
}

// RegisterDownloader adds a downloader for requests that name it (RequestWithDownloader). Several under
// one name share the load: the least busy and healthiest gets the next request.
func (e *SpiderEngine) RegisterDownloader(name string, d Downloader) {
	e.register(func(cfg *config) { cfg.downloaders = append(cfg.downloaders, namedDownloader{name, d}) })
}

// RegisterParser gives a parser a name for all spiders of the engine. A durable cache stores this name, and
// RequestWithParserName refers to it. [Spider.On] says how a parser is identified.
func (e *SpiderEngine) RegisterParser(name string, p Parser) {
	e.register(func(cfg *config) { cfg.parsers = append(cfg.parsers, namedParser{name, p}) })
}

// register adds parts for the runs to come.
func (e *SpiderEngine) register(add func(cfg *config)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	add(&e.config)
}

func (cfg config) clone() config {
	cfg.spiders = slices.Clone(cfg.spiders)
	cfg.middlewares = slices.Clone(cfg.middlewares)
	cfg.pipelines = slices.Clone(cfg.pipelines)
	cfg.downloaders = slices.Clone(cfg.downloaders)
	cfg.parsers = slices.Clone(cfg.parsers)
	return cfg
}
