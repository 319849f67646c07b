package tegenaria

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/setting"
)

// Settings are those options of an engine that are plain values, which a command line or a file can set. Each field is that of the
// option with its name. The JSON names are stable; durations are texts such as "1.5s" there, and Politeness.SlotBy is the name of the func.
type Settings struct {
	Concurrency     int           `json:"concurrency"`      // EngineWithConcurrency
	SchedulerNum    uint          `json:"scheduler_num"`    // EngineWithSchedulerNum
	ItemConcurrency int           `json:"item_concurrency"` // EngineWithItemConcurrency
	ReadCacheNum    uint          `json:"read_cache_num"`   // EngineWithReadCacheNum
	UniqueReq       bool          `json:"unique_req"`       // EngineWithUniqueReq
	FailFast        bool          `json:"fail_fast"`        // EngineWithFailFast
	EmptyOK         bool          `json:"empty_ok"`         // EngineWithEmptyOK
	Grace           time.Duration `json:"grace"`            // EngineWithGrace
	AllowedDomains  []string      `json:"allowed_domains"`  // EngineWithAllowedDomains
	AllowStatusCode []uint64      `json:"allow_status_code"`
	SecretHeaders   []string      `json:"secret_headers"` // EngineWithSecretHeaders, without those that are always secret
	Politeness      Politeness    `json:"politeness"`     // EngineWithPoliteness
	Limits          Limits        `json:"limits"`         // EngineWithLimits
}

// MarshalJSON writes the settings.
func (s Settings) MarshalJSON() ([]byte, error) { return setting.JSON(&s) }

// EngineWithSettings edits the settings that the options before it have made; options after it may change them again. As in these
// options, a zero field of Politeness and Limits stands for the default. The func is called once, while the engine is made. A nil func is a mistake that Run reports.
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

// clone returns a copy that shares nothing.
func (s Settings) clone() Settings {
	s.AllowedDomains, s.AllowStatusCode, s.SecretHeaders = slices.Clone(s.AllowedDomains), slices.Clone(s.AllowStatusCode), slices.Clone(s.SecretHeaders)
	s.Politeness.Overrides, s.Politeness.AllowPrivate = maps.Clone(s.Politeness.Overrides), slices.Clone(s.Politeness.AllowPrivate)
	if s.Politeness.AutoThrottle != nil {
		throttle := *s.Politeness.AutoThrottle
		s.Politeness.AutoThrottle = &throttle
	}
	return s
}

// Settings returns the settings that the next run has, with the defaults in the place of zero fields; an optional struct that is
// absent stays nil. It is a copy.
func (e *SpiderEngine) Settings() Settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.config.Settings.clone()
	setting.Fill(&s.Limits, Limits{}.withDefaults())
	p := &s.Politeness
	setting.Fill(p, Politeness{PerSlot: defaultPerSlot, MaxRetryAfter: defaultMaxRetryAfter, MaxCrawlDelay: defaultMaxCrawlDelay, UserAgent: p.agent(), SlotBy: SlotHost})
	for name, o := range p.Overrides {
		o.PerSlot = cmp.Or(o.PerSlot, defaultPerSlot)
		p.Overrides[name] = o
	}
	if t := p.throttle(); t != nil {
		p.AutoThrottle = (*AutoThrottle)(t)
	}
	return s
}

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
	defaultBody           = 32 << 20
	defaultBodiesInFlight = 64 << 20
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
	l.Attempts = orDefault(l.Attempts, 10, unlimited)
	l.Pending = orDefault(l.Pending, 100_000, unlimited)
	l.URLLength = orDefault(l.URLLength, 16<<10, unlimited)
	l.Body = orDefault(l.Body, defaultBody, unlimited)
	l.Spool = orDefault(l.Spool, 1<<30, unlimited)
	l.Nodes = orDefault(l.Nodes, 250_000, unlimited)
	l.Attributes = orDefault(l.Attributes, 250_000, unlimited)
	l.BodiesInFlight = orDefault(l.BodiesInFlight, defaultBodiesInFlight, unlimited)
	l.QueueBytes = orDefault(l.QueueBytes, 1<<30, 0)
	l.Ratio = orDefault(l.Ratio, httpx.DefaultRatio, -1)
	l.Header = orDefault(l.Header, 1<<20, unlimited)
	l.HeaderFields = orDefault(l.HeaderFields, 1000, unlimited)
	l.Connect = orDefault(l.Connect, 30*time.Second, 0)
	l.Handshake = orDefault(l.Handshake, 30*time.Second, 0)
	return l
}

// mistakes lists the fields that make no sense.
func (l Limits) mistakes() error {
	var errs mistakes
	for name, value := range setting.Negative(l, "Pages", "Items", "Errors", "Time", "Bytes", "Callback", "FirstByte", "Idle", "MinRate") {
		errs = append(errs, fmt.Errorf("the limit Limits.%s is %d; it must not be negative (0 is no limit)", name, value))
	}
	errs.addIf(l.Depth < OnlySeeds, "the limit Limits.Depth is %d; use 0 for no limit and OnlySeeds for seeds alone", l.Depth)
	return errors.Join(errs...)
}

// tooDeep reports whether a request of that depth is not accepted.
func (l *Limits) tooDeep(depth int) bool {
	return l.Depth > 0 && depth > l.Depth || l.Depth == OnlySeeds && depth > 0
}

// mistakes are what is wrong with the options of a run.
type mistakes []error

// addIf adds a mistake that was made if wrong is true.
func (m *mistakes) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

// mistakeOf returns the mistake in how a part was made, if it remembers one; nil otherwise.
func mistakeOf(part any) error {
	switch m := part.(type) {
	case interface{ mistake() error }: // a part made by this package
		return m.mistake()
	case interface{ Mistake() error }: // see PipelinesInterface
		return m.Mistake()
	}
	return nil
}

// notNil refuses nil parts, nil pointers and funcs in an interface too.
func notNil(part any, where string, i int) error {
	v := reflect.ValueOf(part)
	if part == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil() {
		return fmt.Errorf("%s: argument %d is nil", where, i+1)
	}
	return nil
}

// mistakes lists the options that make no sense.
func (cfg *config) mistakes() error {
	var errs mistakes
	atLeastOne := func(option string, n int) { errs.addIf(n < 1, "%s is %d; it must be 1 or more", option, n) }
	atLeastOne("EngineWithSchedulerNum", int(cfg.SchedulerNum))
	atLeastOne("EngineWithReadCacheNum", int(cfg.ReadCacheNum))
	atLeastOne("EngineWithConcurrency", cfg.Concurrency)
	atLeastOne("EngineWithItemConcurrency", cfg.ItemConcurrency)
	errs = append(errs, cfg.nilOptions...)
	errs.addIf(cfg.Grace < 0, "EngineWithGrace is %s; it must not be negative", cfg.Grace)
	errs.addIf(cfg.Politeness.PerIP > 0 && (cfg.downloader != nil || cfg.client != nil), "Politeness.PerIP needs the default downloader, which knows the address of each connection; remove EngineWithDownloader and EngineWithHTTPClient, or PerIP")
	for _, name := range cfg.SecretHeaders {
		errs.addIf(!httpguts.ValidHeaderFieldName(name), "EngineWithSecretHeaders: %q is no name of a header", name)
	}
	switch {
	case cfg.downloader != nil && (cfg.client != nil || cfg.tls != nil):
		errs = append(errs, errors.New("EngineWithHTTPClient and EngineWithTLSConfig are for the default downloader, which EngineWithDownloader replaces"))
	case cfg.client != nil && cfg.tls != nil:
		errs = append(errs, errors.New("EngineWithTLSConfig is for the downloader's own connections, which EngineWithHTTPClient replaces; set it in the client's Transport"))
	}
	return errors.Join(errs...)
}
