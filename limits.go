package tegenaria

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/setting"
)

// Limits bound a crawl. The zero value of a field takes the default named with it; where that is "no
// limit" a negative value is a mistake, elsewhere it means "no limit".
type Limits struct {
	Pages  int           `json:"pages"`  // stop after this many responses (0: no limit)
	Items  int           `json:"items"`  // stop after this many scraped items; items in hand still pass (0: no limit)
	Errors int           `json:"errors"` // stop after this many errors (0: no limit)
	Time   time.Duration `json:"time"`   // stop after this time (0: no limit)
	Bytes  int64         `json:"bytes"`  // stop after this many bytes of bodies (0: no limit)

	// requests deeper than this are filtered (0: no limit; OnlySeeds: only seeds)
	Depth int `json:"depth"`
	// how often a request is tried in all, retries of an ErrorHandler included (0: 10)
	Attempts  int `json:"attempts"`
	Pending   int `json:"pending"`    // StartRequest waits while this many requests wait (0: 100,000)
	URLLength int `json:"url_length"` // longer URLs are filtered, in bytes (0: 16,384)
	// a callback, or Write of a ResponseWriter, that runs longer is abandoned, and its request fails; waiting for the
	// engine does not count (0: never)
	Callback time.Duration `json:"callback"`

	Body  int64 `json:"body"`  // largest body in memory, in bytes (0: 32 MiB)
	Spool int64 `json:"spool"` // largest body of RequestWithSpool, in bytes (0: 1 GiB)
	// largest tree of a page, in nodes, but never more than html.DefaultNodes, and largest number of links that Links
	// returns (0: 250,000)
	Nodes      int `json:"nodes"`
	Attributes int `json:"attributes"` // largest number of attributes of a page (0: 250,000)
	// bytes of all bodies in memory and of what is likely to be made of HTML and XML, from the download until the
	// request is settled; headers above 64 KiB and memory of decoders above 4 MiB count too; bodies of Fetch count, but
	// do not wait (0: 64 MiB)
	BodiesInFlight int64 `json:"bodies_in_flight"`
	// memory for waiting requests of a memory cache (0: 1 GiB); when it is 7/8 full, one host may hold at most half of
	// it
	QueueBytes int64 `json:"queue_bytes"`

	// how many times larger decoding may make a body, above its first MiB (0: 1,000)
	Ratio        int64         `json:"ratio"`
	Header       int64         `json:"header"`        // size of a response's header, in bytes (0: 1 MiB)
	HeaderFields int           `json:"header_fields"` // number of its fields (0: 1,000)
	Connect      time.Duration `json:"connect"`       // to connect to one address (0: 30 s)
	Handshake    time.Duration `json:"handshake"`     // of TLS (0: 30 s)
	// from the end of the request to the header of the response (0: as long as the request's timeout)
	FirstByte time.Duration `json:"first_byte"`
	// the longest pause between two bytes of a body (0: as long as the request's timeout)
	Idle    time.Duration `json:"idle"`
	MinRate int64         `json:"min_rate"` // bytes of a body per second, after its first 10 s (0: any)
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

const (
	unlimited      = 1 << 62
	unlimitedCount = math.MaxInt >> 1 // of what an int counts, which may have 32 bits
)

func (l Limits) withDefaults() Limits {
	l.Attempts = orDefault(l.Attempts, 10, unlimitedCount)
	l.Pending = orDefault(l.Pending, 100_000, unlimitedCount)
	l.URLLength = orDefault(l.URLLength, 16<<10, unlimitedCount)
	l.Body = orDefault(l.Body, defaultBody, unlimited)
	l.Spool = orDefault(l.Spool, 1<<30, unlimited)
	l.Nodes = orDefault(l.Nodes, 250_000, unlimitedCount)
	l.Attributes = orDefault(l.Attributes, 250_000, unlimitedCount)
	l.BodiesInFlight = orDefault(l.BodiesInFlight, defaultBodiesInFlight, unlimited)
	l.QueueBytes = orDefault(l.QueueBytes, 1<<30, 0)
	l.Ratio = orDefault(l.Ratio, httpx.DefaultRatio, -1)
	l.Header = orDefault(l.Header, 1<<20, unlimited)
	l.HeaderFields = orDefault(l.HeaderFields, 1000, unlimitedCount)
	l.Connect = orDefault(l.Connect, 30*time.Second, 0)
	l.Handshake = orDefault(l.Handshake, 30*time.Second, 0)
	return l
}

// mistakes lists the fields that make no sense.
func (l Limits) mistakes() error {
	var errs mistakes
	for path, value := range setting.Negative(l, "limits.", "Pages", "Items", "Errors", "Time", "Bytes", "Callback", "FirstByte",
		"Idle", "MinRate") {
		errs = append(errs, fmt.Errorf("the limit %s is %d; it must not be negative (0 is no limit)", remedy.Setting(path).Name(), value))
	}
	errs.addIf(l.Depth < OnlySeeds, "the limit %s is %d; use 0 for no limit and OnlySeeds for seeds alone",
		remedy.Depth.Name(), l.Depth)
	return errors.Join(errs...)
}

// tooDeep reports whether a request of that depth is not accepted.
func (l *Limits) tooDeep(depth int) bool {
	return l.Depth > 0 && depth > l.Depth || l.Depth == OnlySeeds && depth > 0
}
