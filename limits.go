package tegenaria

import (
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

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
	BodiesInFlight int64 // sum of bodies and of what is made of them (trees, texts, links), between download and settling, and of what decoders keep above 4 MiB each; those of Fetch count, but do not wait (0: 64 MiB)
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
