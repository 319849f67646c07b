package tegenaria

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// EngineOption configures an engine under construction. All mistakes are collected, and Run reports them
// together before the first request.
type EngineOption func(e *SpiderEngine)

// config is what options set; a run works on a copy of it.
type config struct {
	parseWorkers, readers        uint
	concurrency, itemConcurrency int
	filter                       bool
	downloader                   Downloader
	dupeFilter                   RFPDupeFilterInterface
	cache                        CacheInterface
	politeness                   Politeness
	allowStatus                  []uint64
	domains                      []string
	errorHandler                 func(spider SpiderInterface, err *HandleError)
	events                       Events
	log                          report.Options
	emptyOK                      bool // a run may get no page
	signals                      bool // Run and Crawl obey them
	grace                        time.Duration
	limits                       Limits
	client                       *http.Client
	tls                          *tls.Config
	secretHeaders                []string // beside those that isCredential knows
	failFast                     bool
	fieldCounting                fieldCounting
	nilOptions                   []int // which options are nil, from 1
	metaTypes                    map[string]reflect.Type
	spiders                      []SpiderInterface
	middlewares                  Middlewares
	pipelines                    ItemPipelines
	downloaders                  []namedDownloader
	layers                       []func(next Downloader) Downloader
	parsers                      []namedParser
	collect                      func(ctx context.Context, item *ItemMeta) error // of Crawl
	collected                    *typecheck.Check                                // of what that sees
	undone                       []string                                        // fields of options that were set, and that a later option of the same name has left out
}

type namedDownloader struct {
	name       string
	downloader Downloader
}

type namedParser struct {
	name   string
	parser Parser
}

// EngineWithSchedulerNum sets how many parsers run at once (default: the number of CPUs).
func EngineWithSchedulerNum(schedulerNum uint) EngineOption {
	return func(e *SpiderEngine) { e.config.parseWorkers = schedulerNum }
}

// EngineWithReadCacheNum sets how many workers read the cache at once (default 1). More than one helps only if the cache is
// slow to read. The memory cache is fast and serves one reader at a time.
func EngineWithReadCacheNum(cacheReadNum uint) EngineOption {
	return func(e *SpiderEngine) { e.config.readers = cacheReadNum }
}

// EngineWithConcurrency sets how many downloads run at once (default 16).
func EngineWithConcurrency(n int) EngineOption {
	return func(e *SpiderEngine) { e.config.concurrency = n }
}

// EngineWithItemConcurrency sets how many items pass the pipelines at once (default 16).
func EngineWithItemConcurrency(n int) EngineOption {
	return func(e *SpiderEngine) { e.config.itemConcurrency = n }
}

// EngineWithUniqueReq switches deduplication on or off (default true: on). With false every request is accepted.
func EngineWithUniqueReq(uniqueReq bool) EngineOption {
	return func(e *SpiderEngine) { e.config.filter = uniqueReq }
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
		e.config.undone = append(e.config.undone, leftOut("EngineWithPoliteness", e.config.politeness, p)...)
		e.config.politeness = p
	}
}

// EngineWithAllowStatusCode lets responses with these codes, of 400 and more, reach the parsers instead of failing.
func EngineWithAllowStatusCode(codes []uint64) EngineOption {
	return func(e *SpiderEngine) { e.config.allowStatus = slices.Clone(codes) }
}

// EngineWithAllowedDomains filters requests to all other hosts as offsite, including seeds. A domain includes its
// subdomains; "host:port" allows that port only. Without domains all hosts are allowed.
func EngineWithAllowedDomains(domains ...string) EngineOption {
	return func(e *SpiderEngine) { e.config.domains = slices.Clone(domains) }
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
	return func(e *SpiderEngine) { e.config.grace = d }
}

// EngineWithLimits bounds the crawl.
func EngineWithLimits(l Limits) EngineOption {
	return func(e *SpiderEngine) {
		e.config.undone = append(e.config.undone, leftOut("EngineWithLimits", e.config.limits, l)...)
		e.config.limits = l
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
	return func(e *SpiderEngine) { e.config.secretHeaders = slices.Clone(names) }
}

// EngineWithFailFast sets whether an item ends at its first pipeline error (default true). With false it still passes
// the remaining pipelines, and their errors are joined.
func EngineWithFailFast(failFast bool) EngineOption {
	return func(e *SpiderEngine) { e.config.failFast = failFast }
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

// Version is the version of this module.
const Version = "0.1.0"

// Limits bound a crawl. The zero value of a field takes the default named with it; where that is "no
// limit" a negative value is a mistake, elsewhere it means "no limit".
type Limits struct {
	Pages  int           `json:"pages"`  // stop after this many responses (0: no limit)
	Items  int           `json:"items"`  // stop after this many scraped items; items in hand still pass (0: no limit)
	Errors int           `json:"errors"` // stop after this many errors (0: no limit)
	Time   time.Duration `json:"time"`   // stop after this time (0: no limit)
	Bytes  int64         `json:"bytes"`  // stop after this many bytes of bodies (0: no limit)

	Depth     int           `json:"depth"`      // requests deeper than this are filtered (0: no limit; OnlySeeds: only seeds)
	Attempts  int           `json:"attempts"`   // how often a request is tried in all, retries of an ErrorHandler included (0: 10)
	Pending   int           `json:"pending"`    // StartRequest waits while this many requests wait (0: 100,000)
	URLLength int           `json:"url_length"` // longer URLs are filtered, in bytes (0: 16,384)
	Callback  time.Duration `json:"callback"`   // a callback, or Write of a ResponseWriter, that runs longer is abandoned; waiting for the engine does not count (0: never)

	Body           int64 `json:"body"`             // largest body in memory, in bytes (0: 32 MiB)
	Spool          int64 `json:"spool"`            // largest body of RequestWithSpool, in bytes (0: 1 GiB)
	Nodes          int   `json:"nodes"`            // largest tree of a page, in nodes, but never more than html.DefaultNodes, and largest number of links that Links returns (0: 250,000)
	Attributes     int   `json:"attributes"`       // largest number of attributes of a page (0: 250,000)
	BodiesInFlight int64 `json:"bodies_in_flight"` // bytes of all bodies in memory and of what is likely to be made of HTML and XML, from the download until the request is settled; headers above 64 KiB and memory of decoders above 4 MiB count too; bodies of Fetch count, but do not wait (0: 64 MiB)
	QueueBytes     int64 `json:"queue_bytes"`      // memory for waiting requests of a memory cache (0: 1 GiB); when it is 7/8 full, one host may hold at most half of it

	Ratio        int64         `json:"ratio"`         // how many times larger decoding may make a body, above its first MiB (0: 1,000)
	Header       int64         `json:"header"`        // size of a response's header, in bytes (0: 1 MiB)
	HeaderFields int           `json:"header_fields"` // number of its fields (0: 1,000)
	Connect      time.Duration `json:"connect"`       // to connect to one address (0: 30 s)
	Handshake    time.Duration `json:"handshake"`     // of TLS (0: 30 s)
	FirstByte    time.Duration `json:"first_byte"`    // from the end of the request to the header of the response (0: as long as the request's timeout)
	Idle         time.Duration `json:"idle"`          // the longest pause between two bytes of a body (0: as long as the request's timeout)
	MinRate      int64         `json:"min_rate"`      // bytes of a body per second, after its first 10 s (0: any)
}

// OnlySeeds as Limits.Depth filters everything but seeds.
const OnlySeeds = -1

const (
	defaultAttempts       = 10
	defaultPending        = 100_000
	defaultURLLength      = 16 << 10
	defaultBody           = 32 << 20
	defaultSpool          = 1 << 30
	defaultNodes          = 250_000
	defaultAttributes     = 250_000
	defaultBodiesInFlight = 64 << 20
	defaultQueueBytes     = 1 << 30
	defaultHeader         = 1 << 20
	defaultHeaderFields   = 1000
	defaultConnect        = 30 * time.Second
	defaultHandshake      = 30 * time.Second
)

// orDefault returns def for zero, and unlimited for a negative value.
func orDefault[N int | int64 | time.Duration](v, def, unlimited N) N {
	switch {
	case v == 0:
		return def
	case v < 0:
		return unlimited
	}
	return v
}

const unlimited = 1 << 62

func (l Limits) withDefaults() Limits {
	l.Attempts = orDefault(l.Attempts, defaultAttempts, unlimited)
	l.Pending = orDefault(l.Pending, defaultPending, unlimited)
	l.URLLength = orDefault(l.URLLength, defaultURLLength, unlimited)
	l.Body = orDefault(l.Body, defaultBody, unlimited)
	l.Spool = orDefault(l.Spool, defaultSpool, unlimited)
	l.Nodes = orDefault(l.Nodes, defaultNodes, unlimited)
	l.Attributes = orDefault(l.Attributes, defaultAttributes, unlimited)
	l.BodiesInFlight = orDefault(l.BodiesInFlight, defaultBodiesInFlight, unlimited)
	l.QueueBytes = orDefault(l.QueueBytes, defaultQueueBytes, 0)
	l.Ratio = orDefault(l.Ratio, httpx.DefaultRatio, -1)
	l.Header = orDefault(l.Header, defaultHeader, unlimited)
	l.HeaderFields = orDefault(l.HeaderFields, defaultHeaderFields, unlimited)
	l.Connect = orDefault(l.Connect, defaultConnect, 0)
	l.Handshake = orDefault(l.Handshake, defaultHandshake, 0)
	return l
}

// mistakes lists the fields that make no sense.
func (l Limits) mistakes() error {
	var errs []error
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Pages", int64(l.Pages)}, {"Items", int64(l.Items)}, {"Errors", int64(l.Errors)},
		{"Time", int64(l.Time)}, {"Bytes", l.Bytes}, {"Callback", int64(l.Callback)},
		{"FirstByte", int64(l.FirstByte)}, {"Idle", int64(l.Idle)}, {"MinRate", l.MinRate},
	} {
		if field.value < 0 {
			errs = append(errs, fmt.Errorf("the limit Limits.%s is %d; it must not be negative (0 is no limit)", field.name, field.value))
		}
	}
	if l.Depth < OnlySeeds {
		errs = append(errs, fmt.Errorf("the limit Limits.Depth is %d; use 0 for no limit and OnlySeeds for seeds alone", l.Depth))
	}
	return errors.Join(errs...)
}

// tooDeep reports whether a request of that depth is not accepted.
func (l *Limits) tooDeep(depth int) bool {
	return l.Depth > 0 && depth > l.Depth || l.Depth == OnlySeeds && depth > 0
}
