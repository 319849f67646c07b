package tegenaria

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// SlotStatus is the state of a slot of a running crawl.
type SlotStatus struct {
	Name     string
	Pending  int       // requests that wait in its queue
	InFlight int       // downloads in progress or about to start
	PerSlot  int       // the limit of InFlight; RequestWithMaxConnsPerHost may have lowered it
	Next     time.Time // when the next download may start; zero if none was started yet

	Delay        time.Duration // in force, before jitter: the largest of the slot's own and those that follow
	SlotDelay    time.Duration // set by a callback, 0: none
	CrawlDelay   time.Duration // of robots.txt, 0: none
	AutoThrottle time.Duration // that of AutoThrottle, 0: none
	Penalty      time.Duration // after refusals, 0: none

	Pages, MaxPages int  // downloads begun, and their limit; both 0 without a page budget
	Gated           bool // it waits because its IP address, proxy or downloader is at its limit
}

func slotStatuses(known []frontier.Status) []SlotStatus {
	all := make([]SlotStatus, len(known))
	for i, s := range known {
		all[i] = SlotStatus{
			Name: s.Name, Pending: s.Pending, InFlight: s.InFlight, PerSlot: s.Limit, Next: s.Next,
			Delay:     s.Delay,
			SlotDelay: max(s.Delays[slots.Asked], 0), CrawlDelay: max(s.Delays[slots.Robots], 0),
			AutoThrottle: max(s.Delays[slots.Throttled], 0), Penalty: max(s.Delays[slots.Penalty], 0),
			Pages: s.Pages, MaxPages: s.MaxPages, Gated: s.Gated,
		}
	}
	return all
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
