package tegenaria

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/setting"
)

// Settings are those options of an engine that are plain values, which a command line or a file can set. Each field is
// that of the option with its name. The JSON names are stable; durations are texts such as "1.5s" there, and
// Politeness.SlotBy is the name of the func.
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
	// EngineWithSecretHeaders, without those that are always secret
	SecretHeaders []string   `json:"secret_headers"`
	Politeness    Politeness `json:"politeness"` // EngineWithPoliteness
	Limits        Limits     `json:"limits"`     // EngineWithLimits
}

// MarshalJSON writes the settings.
func (s Settings) MarshalJSON() ([]byte, error) { return setting.JSON(&s) }

// clone returns a copy that shares nothing.
func (s Settings) clone() Settings {
	s.AllowedDomains, s.AllowStatusCode, s.SecretHeaders = slices.Clone(s.AllowedDomains),
		slices.Clone(s.AllowStatusCode), slices.Clone(s.SecretHeaders)
	s.Politeness.Overrides, s.Politeness.AllowPrivate = maps.Clone(s.Politeness.Overrides),
		slices.Clone(s.Politeness.AllowPrivate)
	if s.Politeness.AutoThrottle != nil {
		throttle := *s.Politeness.AutoThrottle
		s.Politeness.AutoThrottle = &throttle
	}
	return s
}

// Settings returns the settings that the next run has, with the defaults in the place of zero fields; an optional
// struct that is absent stays nil. It is a copy.
func (e *SpiderEngine) Settings() Settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.config.Settings.clone()
	setting.Fill(&s.Limits, Limits{}.withDefaults())
	p := &s.Politeness
	setting.Fill(p, Politeness{PerSlot: defaultPerSlot, MaxRetryAfter: defaultMaxRetryAfter,
		MaxCrawlDelay: defaultMaxCrawlDelay, UserAgent: p.agent(), SlotBy: SlotHost})
	for name, o := range p.Overrides {
		o.PerSlot = cmp.Or(o.PerSlot, defaultPerSlot)
		p.Overrides[name] = o
	}
	if t := p.throttle(); t != nil {
		p.AutoThrottle = (*AutoThrottle)(t)
	}
	return s
}
