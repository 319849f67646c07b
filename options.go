package tegenaria

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/net/http/httpguts"

	"github.com/tegenaria/tegenaria/internal/remedy"
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
	keepAlive     bool // the crawl waits for requests of Add
	client        *http.Client
	tls           *tls.Config
	fieldCounting fieldCounting
	timeCallbacks bool
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
	// fields of options that were set, and that a later option of the same name has left out
	undone []string
}

// EngineWithSchedulerNum sets how many parsers run at once (default: the number of CPUs).
func EngineWithSchedulerNum(schedulerNum uint) EngineOption {
	return func(e *SpiderEngine) { e.config.SchedulerNum = schedulerNum }
}

// EngineWithReadCacheNum sets how many workers read the cache at once (default 1). More than one helps only if the
// cache is slow to read. The memory cache is fast and serves one reader at a time.
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

// EngineWithPoliteness sets delays, concurrency per host, robots.txt and the user agent. See [Politeness] for the
// defaults.
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

// EngineWithEvents adds funcs that are called when something happens, after those of earlier options. A panic in one
// does not keep the others from being called.
func EngineWithEvents(events Events) EngineOption {
	return func(e *SpiderEngine) { e.config.events = e.config.events.and(events) }
}

// EngineWithLogger sets the logger (default: info level and above, to stderr). Info level has the start, progress and
// result of the crawl; debug level adds a line for each request. [EngineWithSlog] takes a logger of log/slog,
// [EngineWithQuiet] logs less.
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

// EngineWithHTTPClient makes the default downloader use this client; only its following of redirects is switched off.
// The client's transport is responsible for refusing private addresses and malformed responses. Together with
// [EngineWithDownloader], which replaces the default downloader, it is a mistake.
func EngineWithHTTPClient(client *http.Client) EngineOption {
	return func(e *SpiderEngine) { e.config.client = client }
}

// EngineWithTLSConfig sets the TLS configuration of the default downloader, for servers and https proxies: your own
// root certificates, client certificates, minimum version (default, or nil: the system's roots, TLS 1.2 and newer, no
// client certificate). The config is cloned. Its NextProtos are the protocols offered (nil: HTTP/2 and HTTP/1.1), so
// []string{"http/1.1"} switches HTTP/2 off; connections to proxies always use HTTP/1.1. A ServerName in it is used for
// every server.
//
// Together with [EngineWithHTTPClient] or [EngineWithDownloader], which make their own TLS connections, it is a
// mistake.
func EngineWithTLSConfig(config *tls.Config) EngineOption {
	config = config.Clone()
	return func(e *SpiderEngine) { e.config.tls = config }
}

// EngineWithSecretHeaders names request headers that are removed when a redirect leads to another scheme, host or port.
// Authorization, Cookie, X-Api-Key, X-Auth-Token, Api-Key and all headers that begin with Proxy- are always removed.
// Case does not matter. All other headers are sent to the redirect's target, as in net/http.
func EngineWithSecretHeaders(names ...string) EngineOption {
	return func(e *SpiderEngine) { e.config.SecretHeaders = slices.Clone(names) }
}

// EngineWithEmptyOK allows a run to end without a page, or with parsers that have all failed, and pages without items:
// Run then returns nil instead of a [*NothingError], and the log does not warn that no item was sent.
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
			errs = append(errs, fmt.Errorf("%s: %w", remedy.Domains.Name(), err))
		}
	}
	return set, errors.Join(errs...)
}

func (cfg config) clone() config {
	cfg.spiders = slices.Clone(cfg.spiders)
	cfg.middlewares = slices.Clone(cfg.middlewares)
	cfg.pipelines = slices.Clone(cfg.pipelines)
	cfg.downloaders = slices.Clone(cfg.downloaders)
	cfg.parsers = slices.Clone(cfg.parsers)
	return cfg
}

// mistakes lists the options that make no sense.
func (cfg *config) mistakes() error {
	var errs mistakes
	atLeastOne := func(s remedy.Setting, n int) { errs.addIf(n < 1, "%s is %d; it must be 1 or more", s.Name(), n) }
	atLeastOne(remedy.SchedulerNum, int(cfg.SchedulerNum))
	atLeastOne(remedy.ReadCacheNum, int(cfg.ReadCacheNum))
	atLeastOne(remedy.Concurrency, cfg.Concurrency)
	atLeastOne(remedy.ItemConcurrency, cfg.ItemConcurrency)
	errs = append(errs, cfg.nilOptions...)
	errs.addIf(cfg.Grace < 0, "%s is %s; it must not be negative", remedy.Grace.Name(), cfg.Grace)
	errs.addIf(cfg.Politeness.PerIP > 0 && (cfg.downloader != nil || cfg.client != nil),
		"%s needs the default downloader, which knows the address of each connection; remove EngineWithDownloader and "+
			"EngineWithHTTPClient, or %[1]s",
		remedy.PerIP.Name())
	_, isShared := cfg.cache.(SharedCache)
	errs.addIf(cfg.keepAlive && isShared, "%s is for a cache of one program, and %T is of several, whose job ends when "+
		"none of them has work left; remove the option",
		keepAliveOption, cfg.cache)
	for _, name := range cfg.SecretHeaders {
		errs.addIf(!httpguts.ValidHeaderFieldName(name), "%s: %q is no name of a header", remedy.SecretHeaders.Name(), name)
	}
	switch {
	case cfg.downloader != nil && (cfg.client != nil || cfg.tls != nil):
		errs = append(errs, errors.New("EngineWithHTTPClient and EngineWithTLSConfig are for the default downloader, which "+
			"EngineWithDownloader replaces"))
	case cfg.client != nil && cfg.tls != nil:
		errs = append(errs, errors.New("EngineWithTLSConfig is for the downloader's own connections, which "+
			"EngineWithHTTPClient replaces; set it in the client's Transport"))
	}
	return errors.Join(errs...)
}

// warnings are about middlewares and pipelines that are registered more than once: each of them works on every request
// or item, so that it is done twice.
func (cfg *config) warnings() (texts []string) {
	for _, field := range cfg.undone {
		texts = append(texts, field+" was set, and a later option of this name, which replaces it, leaves it out: give the "+
			"option once, with all fields")
	}
	var twice typecheck.Repeated
	for _, m := range cfg.middlewares {
		name, _ := askName(m)
		twice.Add(name, m)
	}
	if parts := twice.Words(); len(parts) > 0 {
		text := "middlewares of the same name are registered, and each of them works on every request: " +
			strings.Join(parts, ", ") +
			"; leave one out, or give them different names (GetName)"
		if len(parts) > 1 {
			text += "; register middleware.Standard() only once"
		}
		texts = append(texts, text)
	}
	twice = typecheck.Repeated{}
	for _, p := range cfg.pipelines {
		twice.Add("", p)
	}
	if parts := twice.Words(); len(parts) > 0 {
		texts = append(texts, fmt.Sprintf("the same pipeline is registered more than once, and gets every item as often: "+
			"%s; leave one out", strings.Join(parts, ", ")))
	}
	return texts
}

// EngineWithDownloaderLayers puts layers around the engine's downloaders, its own as well as given ones: each download
// passes through the first layer, which passes it on to the second one, and the last one passes it on to the request's
// downloader. A layer sees the downloads of requests, of Fetch and of robots.txt, after the middlewares and the wait
// for the slot, with the header fields that the middlewares have set. It keeps the contract of [Downloader]; usually it
// calls next.Download with a channel of its own, looks at the result and sends it on. Its CheckStatus is not called:
// that of the request's downloader decides. A layer may be an [Opener], a [Closer], a [Committer] and an [Answerer]. A
// func that returns next adds no layer.
//
// Options that are given several times add up. The funcs are called once for each run.
func EngineWithDownloaderLayers(layers ...func(next Downloader) Downloader) EngineOption {
	return func(e *SpiderEngine) { e.config.layers = append(e.config.layers, layers...) }
}

// EngineWithSettings edits the settings that the options before it have made; options after it may change them again.
// As in these options, a zero field of Politeness and Limits stands for the default. The func is called once, while the
// engine is made. A nil func is a mistake that Run reports.
func EngineWithSettings(edit func(s *Settings)) EngineOption {
	if edit == nil {
		return nil
	}
	return func(e *SpiderEngine) {
		s := e.config.Settings.clone()
		edit(&s)
		e.config.Settings = s.clone()
	}
}

// EngineWithQuiet logs only warnings and errors, not the start, progress and result of the crawl. To log less, set the
// level of your own logger.
func EngineWithQuiet() EngineOption {
	return func(e *SpiderEngine) { e.config.log.Quiet = true }
}

// EngineWithSlog makes the engine log to l, with the same lines and fields as [EngineWithLogger], which is used if both
// are given. A nil l means the default: info level and above, to stderr.
func EngineWithSlog(l *slog.Logger) EngineOption {
	return func(e *SpiderEngine) { e.config.log.Slog = l }
}

// EngineWithoutPipelines leaves out the pipelines that were registered before it, without opening or closing them. It
// is for programs that look at a few pages with the options of a crawl, and must not write to its outputs.
func EngineWithoutPipelines() EngineOption {
	return func(e *SpiderEngine) { e.config.pipelines = nil }
}

// EngineWithoutOutputs leaves out those of the pipelines that were registered before it that are a [Committer], such as
// feeds and databases, without opening or closing them; the others stay. It is for programs that want the items of a
// crawl, and must not write to its outputs.
func EngineWithoutOutputs() EngineOption {
	return func(e *SpiderEngine) {
		e.config.pipelines = slices.DeleteFunc(slices.Clone(e.config.pipelines), func(p PipelinesInterface) bool { return isCommitter(p) })
	}
}

// EngineWithFieldCounts counts the fields of all items that pass the pipelines, those built by hand too:
// [FieldStats].Items and Filled. Without this option only the fields that [Response.Unmarshal] and [Each] fill are
// counted; with false none are. Structs are counted by the rules of encoding/json, other items by the members of the
// object that they become in JSON, which costs as much as writing it.
func EngineWithFieldCounts(count bool) EngineOption {
	return func(e *SpiderEngine) {
		if e.config.fieldCounting = countNothing; count {
			e.config.fieldCounting = countItems
		}
	}
}

// fieldCounting is what EngineWithFieldCounts says.
type fieldCounting uint8

const (
	countExtracted fieldCounting = iota // the default
	countItems                          // and items of all kinds
	countNothing
)

// EngineWithSignals makes Run and [Crawl] obey SIGINT (Ctrl-C) and SIGTERM, as Execute does: the first one stops the
// crawl gracefully, and the items of the work in hand are still yielded; the second one cancels the work in hand; the
// third one returns without waiting for it.
func EngineWithSignals() EngineOption {
	return func(e *SpiderEngine) { e.config.signals = true }
}

// EngineWithKeepAlive makes the crawl wait for requests of [SpiderEngine.Add] when nothing is left to do, instead of
// ending: it runs until Stop, a limit, a signal, CloseSpider or the end of Run's context. If nothing is left to do then,
// and a page was fetched or nothing was requested, Run returns nil. A durable job is not marked as finished, so that the
// next run can go on with it. With a cache of several programs, such as that of package cluster, it is a mistake: their
// job ends when none of them has work left.
func EngineWithKeepAlive() EngineOption {
	return func(e *SpiderEngine) { e.config.keepAlive = true }
}
