package tegenaria

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// SlotStatus is the state of a slot of a running crawl.
type SlotStatus struct {
	Name     string
	Pending  int       // requests that wait in its queue; one more at times, until the next is taken
	InFlight int       // downloads in progress or about to start
	PerSlot  int       // the limit of InFlight; RequestWithMaxConnsPerHost may have lowered it
	Next     time.Time // when the next download may start; zero if none was started yet

	Delay        time.Duration // in force, before jitter: the largest of the slot's own and those that follow
	SlotDelay    time.Duration // set by a callback, 0: none
	CrawlDelay   time.Duration // of robots.txt, 0: none
	AutoThrottle time.Duration // that of AutoThrottle, 0: none
	Penalty      time.Duration // after refusals, 0: none

	// Latency is the time from the start of a download to the first byte of its answer, with the look-up of the name and
	// the connection: a mean in which the newest answer counts an eighth. With a downloader other than the engine's own it
	// is the time to the whole response. Downloads without a response do not count. 0: none has come.
	Latency time.Duration
	// Latency95 is the 95th percentile of the last five minutes, to about a twentieth of it. It is 0 if no answer came in
	// this time, and for the less busy ones of more than a thousand slots.
	Latency95 time.Duration

	Pages, MaxPages int // downloads begun, and their limit; both 0 without a page budget

	// Gate names what the slot waits at: "PerIP of 192.0.2.1", "PerProxy of proxy.example:8080" or a Capacity that is used up, or a
	// [Gate] that is closed. It is "" if it does not wait at any.
	Gate string
}

func slotStatuses(known []frontier.Status) []SlotStatus {
	all := make([]SlotStatus, len(known))
	for i, s := range known {
		all[i] = SlotStatus{
			Name: s.Name, Pending: s.Pending, InFlight: s.InFlight, PerSlot: s.Limit, Next: s.Next,
			Delay:     s.Delay,
			SlotDelay: max(s.Delays[slots.Asked], 0), CrawlDelay: max(s.Delays[slots.Robots], 0),
			AutoThrottle: max(s.Delays[slots.Throttled], 0), Penalty: max(s.Delays[slots.Penalty], 0),
			Latency: s.Latency, Latency95: s.Latency95, Pages: s.Pages, MaxPages: s.MaxPages,
		}
		if s.Gated {
			all[i].Gate = s.Gate
		}
	}
	return all
}

// SlotCounts are the numbers of slots by what their requests wait for. They add up to the number of slots that have work or
// a state to keep.
type SlotCounts struct {
	Ready   int // a request may start, as soon as a place for a download is free
	Delayed int // the requests wait for their time: a delay or a pause
	AtLimit int // as many downloads are in flight as may be at once
	Robots  int // robots.txt is being fetched
	Gated   int // the IP address, proxy or downloader is at its limit
	Empty   int // no request waits: the last ones are in flight, or the slot only has a state to keep
}

// BlockCause is the reason why a slot is blocked.
type BlockCause string

// The causes. The delays that the user's own code asks for are none.
const (
	BlockRetryAfter BlockCause = "Retry-After" // of 429 and 503
	// 429 and 503 without Retry-After, with AutoThrottle timeouts and broken connections too
	BlockRefusals BlockCause = "refusals"
	BlockRobots   BlockCause = "robots.txt" // it cannot be had, or was answered with Retry-After
	// of robots.txt, for each request; needs a MaxCrawlDelay above a minute
	BlockCrawlDelay   BlockCause = "Crawl-delay"
	BlockAutoThrottle BlockCause = "AutoThrottle"   // for each request
	BlockEarlierRun   BlockCause = "an earlier run" // of the durable job, which was to wait until then
)

// SlotBlock says that no request of a slot starts for more than a minute.
type SlotBlock struct {
	Slot  string // its name, usually the host
	Cause BlockCause
	Until time.Time // when the next request may start, as far as is known
}

// blockCauses names the causes of the frontier.
var blockCauses = [frontier.Causes]BlockCause{
	frontier.RetryAfter: BlockRetryAfter, frontier.Refusals: BlockRefusals, frontier.Robots: BlockRobots,
	frontier.CrawlDelay: BlockCrawlDelay, frontier.AutoThrottle: BlockAutoThrottle, frontier.EarlierRun: BlockEarlierRun,
}
