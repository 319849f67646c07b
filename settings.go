package tegenaria

import (
	"cmp"
	"maps"
	"slices"
	"time"

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
		s := settingsOf(&e.config)
		edit(&s)
		s.clone().into(&e.config)
	}
}

// settingsOf returns a copy of what was set.
func settingsOf(cfg *config) Settings {
	return Settings{
		Concurrency: cfg.concurrency, SchedulerNum: cfg.parseWorkers, ItemConcurrency: cfg.itemConcurrency, ReadCacheNum: cfg.readers,
		UniqueReq: cfg.filter, FailFast: cfg.failFast, EmptyOK: cfg.emptyOK, Grace: cfg.grace,
		AllowedDomains: cfg.domains, AllowStatusCode: cfg.allowStatus, SecretHeaders: cfg.secretHeaders,
		Politeness: cfg.politeness, Limits: cfg.limits,
	}.clone()
}

// into sets the options.
func (s Settings) into(cfg *config) {
	cfg.concurrency, cfg.parseWorkers, cfg.itemConcurrency, cfg.readers = s.Concurrency, s.SchedulerNum, s.ItemConcurrency, s.ReadCacheNum
	cfg.filter, cfg.failFast, cfg.emptyOK, cfg.grace = s.UniqueReq, s.FailFast, s.EmptyOK, s.Grace
	cfg.domains, cfg.allowStatus, cfg.secretHeaders = s.AllowedDomains, s.AllowStatusCode, s.SecretHeaders
	cfg.politeness, cfg.limits = s.Politeness, s.Limits
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

// filled returns the settings with the defaults in the place of zero fields.
func (s Settings) filled() Settings {
	fillPoliteness(&s.Politeness)
	fillLimits(&s.Limits)
	return s
}

func fillPoliteness(p *Politeness) {
	p.PerSlot = cmp.Or(p.PerSlot, defaultPerSlot)
	p.MaxRetryAfter = cmp.Or(p.MaxRetryAfter, defaultMaxRetryAfter)
	p.MaxCrawlDelay = cmp.Or(p.MaxCrawlDelay, defaultMaxCrawlDelay)
	p.UserAgent = p.agent()
	if p.SlotBy == nil {
		p.SlotBy = SlotHost
	}
	for name, o := range p.Overrides {
		o.PerSlot = cmp.Or(o.PerSlot, defaultPerSlot)
		p.Overrides[name] = o
	}
	if t := p.throttle(); t != nil {
		p.AutoThrottle = &AutoThrottle{Start: t.Start, Max: t.Max, Target: t.Target}
	}
}

func fillLimits(l *Limits) {
	d := Limits{}.withDefaults()
	l.Attempts, l.Pending, l.URLLength = cmp.Or(l.Attempts, d.Attempts), cmp.Or(l.Pending, d.Pending), cmp.Or(l.URLLength, d.URLLength)
	l.Body, l.Spool, l.BodiesInFlight = cmp.Or(l.Body, d.Body), cmp.Or(l.Spool, d.Spool), cmp.Or(l.BodiesInFlight, d.BodiesInFlight)
	l.Nodes, l.Attributes, l.QueueBytes = cmp.Or(l.Nodes, d.Nodes), cmp.Or(l.Attributes, d.Attributes), cmp.Or(l.QueueBytes, d.QueueBytes)
	l.Ratio, l.Header, l.HeaderFields = cmp.Or(l.Ratio, d.Ratio), cmp.Or(l.Header, d.Header), cmp.Or(l.HeaderFields, d.HeaderFields)
	l.Connect, l.Handshake = cmp.Or(l.Connect, d.Connect), cmp.Or(l.Handshake, d.Handshake)
}
