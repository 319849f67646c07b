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
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// EngineOption sets up an engine under construction. Mistakes are collected and reported by Run, all
// at once, before the first request.
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
	logger                       *logrus.Logger
	grace                        time.Duration
	limits                       Limits
	client                       *http.Client
	tls                          *tls.Config
	secretHeaders                []string // beside those that isCredential knows
	failFast                     bool
	nilOptions                   []int // which options are nil, from 1
	metaTypes                    map[string]reflect.Type
	spiders                      []SpiderInterface
	middlewares                  Middlewares
	pipelines                    ItemPipelines
	downloaders                  []namedDownloader
	parsers                      []namedParser
	collect                      func(ctx context.Context, item *ItemMeta) error // of Crawl
	collected                    *typecheck.Check                                // of what that sees
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

// EngineWithReadCacheNum sets how many workers read the cache at a time (default 1). More than one helps only if the cache is
// slow to read. The cache in memory is not, and lets in one after the other.
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

// EngineWithUniqueReq switches deduplication (default true). Without it every request is accepted.
func EngineWithUniqueReq(uniqueReq bool) EngineOption {
	return func(e *SpiderEngine) { e.config.filter = uniqueReq }
}

// EngineWithDownloader replaces the downloader that requests without RequestWithDownloader use.
func EngineWithDownloader(d Downloader) EngineOption {
	return func(e *SpiderEngine) { e.config.downloader = d }
}

// EngineWithDupeFilter sets the filter that computes fingerprints. A [*RFPDupeFilter] hands its Bloom
// parameters to the cache, which alone decides which keys were seen; the DoDupeFilter of any other type is asked
// first, as a veto: a request that it takes for a duplicate by mistake is lost.
func EngineWithDupeFilter(f RFPDupeFilterInterface) EngineOption {
	return func(e *SpiderEngine) { e.config.dupeFilter = f }
}

// EngineWithCache sets the cache in which requests wait and that remembers them (default: memory, new for each
// run). The program that opened the cache closes it.
func EngineWithCache(c CacheInterface) EngineOption {
	return func(e *SpiderEngine) { e.config.cache = c }
}

// EngineWithPoliteness sets how hosts are treated.
func EngineWithPoliteness(p Politeness) EngineOption {
	return func(e *SpiderEngine) { e.config.politeness = p }
}

// EngineWithAllowStatusCode names codes of 400 and over that reach the parsers of all requests.
func EngineWithAllowStatusCode(codes []uint64) EngineOption {
	return func(e *SpiderEngine) { e.config.allowStatus = slices.Clone(codes) }
}

// EngineWithAllowedDomains filters requests to other hosts as offsite, seeds too. A domain stands for
// itself and its sub-domains; "host:port" for that port alone. No domains allow all.
func EngineWithAllowedDomains(domains ...string) EngineOption {
	return func(e *SpiderEngine) { e.config.domains = slices.Clone(domains) }
}

// EngineWithErrorHandler sets a handler that sees each error before the spider's ErrorHandler. It may
// be called concurrently.
func EngineWithErrorHandler(h func(spider SpiderInterface, err *HandleError)) EngineOption {
	return func(e *SpiderEngine) { e.config.errorHandler = h }
}

// EngineWithEvents sets the funcs that are called when something happens.
func EngineWithEvents(events Events) EngineOption {
	return func(e *SpiderEngine) { e.config.events = events }
}

// EngineWithLogger sets the logger (default: warnings and errors to stderr). At debug level it says
// what happens to each request.
func EngineWithLogger(logger *logrus.Logger) EngineOption {
	return func(e *SpiderEngine) { e.config.logger = logger }
}

// EngineWithGrace sets how long a stopping crawl waits for work in hand (default 20 s).
func EngineWithGrace(d time.Duration) EngineOption {
	return func(e *SpiderEngine) { e.config.grace = d }
}

// EngineWithLimits bounds the crawl.
func EngineWithLimits(l Limits) EngineOption {
	return func(e *SpiderEngine) { e.config.limits = l }
}

// EngineWithHTTPClient makes the default downloader use this client as it is, with redirects off. Its
// transport is not guarded against private addresses, and odd answers are handled as it does: its owner answers for both.
// It is a mistake beside [EngineWithDownloader], which replaces the default downloader.
func EngineWithHTTPClient(client *http.Client) EngineOption {
	return func(e *SpiderEngine) { e.config.client = client }
}

// EngineWithTLSConfig sets how the default downloader makes TLS, to servers and to https proxies: roots of an authority
// of your own, client certificates, oldest version (default, or nil: the system's roots, TLS 1.2 and newer, no client
// certificate). The config is cloned. Its NextProtos are the protocols offered (nil: HTTP/2 and HTTP/1.1), so that
// []string{"http/1.1"} switches HTTP/2 off; proxies are spoken to in HTTP/1.1. A ServerName in it is that of every
// server.
//
// It is a mistake beside [EngineWithHTTPClient] or [EngineWithDownloader]: those make TLS themselves.
func EngineWithTLSConfig(config *tls.Config) EngineOption {
	config = config.Clone()
	return func(e *SpiderEngine) { e.config.tls = config }
}

// EngineWithSecretHeaders names headers of requests that stay at their origin: when a redirect leads to another scheme,
// host or port they are left out, as Authorization, Cookie, X-Api-Key, X-Auth-Token, Api-Key and everything that begins
// with Proxy- always are. Case does not matter. All other headers go along, as in net/http.
func EngineWithSecretHeaders(names ...string) EngineOption {
	return func(e *SpiderEngine) { e.config.secretHeaders = slices.Clone(names) }
}

// EngineWithFailFast says what an item's first pipeline error does (default true: it ends the item;
// false: the remaining pipelines see it all the same, and their errors are joined).
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

// EngineWithMetaType lets values of type T travel in Request.Meta through a durable cache, encoded as
// JSON under this name. The name is stored: keep it.
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
	Pages  int           // stop after this many responses (0: no limit)
	Items  int           // stop after this many scraped items; those in hand still pass (0: no limit)
	Errors int           // stop after this many errors (0: no limit)
	Time   time.Duration // stop after this time (0: no limit)
	Bytes  int64         // stop after this many bytes of bodies (0: no limit)

	Depth     int           // requests deeper than this are filtered (0: no limit; OnlySeeds: depth 0 alone)
	Attempts  int           // how often a request is tried in all, also by an ErrorHandler (0: 10)
	Pending   int           // StartRequest waits while this many requests wait (0: 100,000)
	URLLength int           // longer URLs are filtered, in bytes (0: 16,384)
	Callback  time.Duration // a callback, or Write of a ResponseWriter, that runs longer, not counting what the engine makes it wait, is abandoned (0: never)

	Body           int64 // largest body in memory, in bytes (0: 32 MiB)
	Spool          int64 // largest body of RequestWithSpool, in bytes (0: 1 GiB)
	Nodes          int   // largest tree of a page, in nodes, but never more than html.DefaultNodes (0: 1,000,000)
	Attributes     int   // largest number of attributes of a page (0: 1,000,000)
	BodiesInFlight int64 // sum of bodies and of what is made of them (trees, texts, links), between download and settling, and of what decoders keep above 4 MiB each; headers of more than 64 KiB count too; those of Fetch count, but do not wait (0: 64 MiB)
	QueueBytes     int64 // memory for waiting requests of a memory cache (0: 1 GiB); one host has no more than half once 7/8 are taken

	Ratio        int64         // how many times larger decoding may make a body, above its first MiB (0: 1,000)
	Header       int64         // size of a response's header, in bytes (0: 1 MiB)
	HeaderFields int           // number of its fields (0: 1,000)
	Connect      time.Duration // to connect to one address (0: 30 s)
	Handshake    time.Duration // of TLS (0: 30 s)
	FirstByte    time.Duration // from the request, its body included, to the header of the response (0: as long as the request's timeout)
	Idle         time.Duration // without another byte of a body (0: as long as the request's timeout)
	MinRate      int64         // bytes of a body per second, after its first 10 s (0: any)
}

// OnlySeeds as Limits.Depth filters everything but seeds.
const OnlySeeds = -1

const (
	defaultAttempts       = 10
	defaultPending        = 100_000
	defaultURLLength      = 16 << 10
	defaultBody           = 32 << 20
	defaultSpool          = 1 << 30
	defaultNodes          = 1_000_000
	defaultAttributes     = 1_000_000
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
