package tegenaria

import (
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
)

// PlaceCause is what a place for a download was used for, or why nothing started in one that was free. Its text is for
// readers.
type PlaceCause string

// The causes of free places: why no request could start. Of several at once it is the one that was likely to end first.
const (
	PlaceEmpty        PlaceCause = "nothing queued"
	PlaceNotBefore    PlaceCause = "waiting for their time" // requests to be tried again, or with a time of their own
	PlaceDelay        PlaceCause = "delay"                  // Politeness.Delay, a SlotPolicy's or Context.SlotDelay
	PlaceCrawlDelay   PlaceCause = "Crawl-delay"            // of robots.txt
	PlaceAutoThrottle PlaceCause = "AutoThrottle"
	PlaceRefusals     PlaceCause = "refusals"    // pause and delay after 429 and 503 without Retry-After
	PlaceRetryAfter   PlaceCause = "Retry-After" // of 429 and 503
	PlaceBlocked      PlaceCause = "blocked"     // robots.txt cannot be had, or an earlier run of the job was to wait
	PlacePerSlot      PlaceCause = "PerSlot"     // as many downloads of the host as may run at once
	PlaceGate         PlaceCause = "gate"        // PerIP, PerProxy or a Capacity that is used up, or a closed Gate; Of names it
	PlaceRobots       PlaceCause = "robots.txt"  // it is fetched; that of the place which fetches it counts too
	PlacePages        PlaceCause = "page budget" // Limits.Pages, less the downloads under way
	PlaceAlone        PlaceCause = "one alone"   // a request that may have ended the process runs alone
	PlaceNotOurs      PlaceCause = "other programs"
	PlacePaused       PlaceCause = "paused"
	PlaceStopping     PlaceCause = "stopping"
)

// The causes of places that are used.
const (
	PlaceEngine      PlaceCause = "engine" // its own work, beside all others
	PlaceMiddlewares PlaceCause = "middlewares"
	PlaceLookup      PlaceCause = "name"       // of the host, in DNS
	PlaceConnect     PlaceCause = "connection" // with TLS
	PlaceFirstByte   PlaceCause = "first byte"
	PlaceBody        PlaceCause = "body"
	PlaceDownload    PlaceCause = "download" // what is not known better: layers, and downloaders that are not the engine's
	PlaceMemory      PlaceCause = "memory"   // Limits.BodiesInFlight
)

// What holds up places where a page has come and no parser is free, and memory that is not given back. Where no request waits and none is
// downloaded, they are causes of free places.
const (
	PlaceParsers PlaceCause = "parsers"
	PlaceItems   PlaceCause = "items" // pipelines
	PlaceFeeds   PlaceCause = "feeds"
	PlaceStore   PlaceCause = "store" // the cache of a durable job
)

// placeCauses names the causes of the frontier.
var placeCauses = [frontier.PlaceCauses]PlaceCause{
	frontier.PlaceEmpty: PlaceEmpty, frontier.PlaceNotBefore: PlaceNotBefore, frontier.PlaceDelay: PlaceDelay,
	frontier.PlaceCrawlDelay: PlaceCrawlDelay, frontier.PlaceAutoThrottle: PlaceAutoThrottle,
	frontier.PlaceRefusals: PlaceRefusals, frontier.PlaceRetryAfter: PlaceRetryAfter, frontier.PlaceBlocked: PlaceBlocked,
	frontier.PlacePerSlot: PlacePerSlot, frontier.PlaceGate: PlaceGate, frontier.PlaceRobots: PlaceRobots,
	frontier.PlacePages: PlacePages, frontier.PlaceAlone: PlaceAlone, frontier.PlaceNotOurs: PlaceNotOurs,
	frontier.PlacePaused: PlacePaused, frontier.PlaceStopping: PlaceStopping, frontier.PlaceEngine: PlaceEngine,
	frontier.PlaceMiddlewares: PlaceMiddlewares, frontier.PlaceLookup: PlaceLookup, frontier.PlaceConnect: PlaceConnect,
	frontier.PlaceFirstByte: PlaceFirstByte, frontier.PlaceBody: PlaceBody, frontier.PlaceDownload: PlaceDownload,
	frontier.PlaceMemory: PlaceMemory, frontier.PlaceParsers: PlaceParsers, frontier.PlaceItems: PlaceItems,
	frontier.PlaceFeeds: PlaceFeeds, frontier.PlaceStore: PlaceStore,
}

// Places says where the time of the places for downloads went, used or not. A place is the right to one download at a
// time: there are as many as [EngineWithConcurrency] says, or SetConcurrency since. At each moment each of them counts
// for one cause, so the times of all Causes add up to Time.
type Places struct {
	Number int           // of the places there are
	Time   time.Duration // of all places together: 16 of them have 16 minutes a minute
	Causes []PlaceTime   // those that have taken some time, the longest first

	// Fetch is the time of downloads of Context.Fetch in places that are reserved for them, which are no part of Time.
	Fetch time.Duration
}

// PlaceTime is how long places counted for a cause.
type PlaceTime struct {
	Cause PlaceCause
	Time  time.Duration // of all places together
	Share float64       // of Places.Time, from 0 to 1
	// Of names the slot, usually a host, that at least half of the time was for; "" if there is none, or the cause has
	// nothing to do with slots. For PlaceGate it is the gate, as SlotStatus has it.
	Of    string
	Delay time.Duration // of a cause that is a delay: the one last in force in Of; 0 without Of
}

// Places returns where the time of the places for downloads has gone in the current run, or else in the last one. It
// takes some microseconds, and may be called at any time.
func (e *SpiderEngine) Places() Places {
	e.mu.Lock()
	c, last := e.crawl, e.lastPlaces
	e.mu.Unlock()
	if c == nil {
		return last
	}
	return c.places()
}

// places returns where the time of the places has gone.
func (c *crawl) places() Places {
	times := c.frontier.PlaceTimes()
	p := Places{Number: times.Places, Time: times.Total, Fetch: times.Inline}
	for _, t := range times.Causes {
		one := PlaceTime{Cause: placeCauses[t.Cause], Time: t.Time}
		if p.Time > 0 {
			one.Share = float64(t.Time) / float64(p.Time)
		}
		if 2*t.For >= t.Time {
			one.Of = t.Top
			if isDelay[one.Cause] {
				one.Delay = t.Delay
			}
		}
		p.Causes = append(p.Causes, one)
	}
	return p
}

// isDelay has the causes that are a delay between requests.
var isDelay = map[PlaceCause]bool{
	PlaceDelay: true, PlaceCrawlDelay: true, PlaceAutoThrottle: true, PlaceRefusals: true,
}

// mostShare is the share from which on one cause is said of all downloads.
const mostShare = 0.9

// String says in one sentence what most of the time was for, such as "97 % of the time all downloads waited for
// shop.example: a delay of 10 s by its robots.txt". It is "" if there was no time.
func (p Places) String() string {
	if len(p.Causes) == 0 || p.Time <= 0 {
		return ""
	}
	top := p.Causes[0]
	share := fmt.Sprintf("%.0f %%", 100*top.Share)
	if top.Share >= mostShare {
		return share + " of the time all downloads " + top.words()
	}
	return "on average " + share + " of the downloads " + top.words()
}

// inSeconds prints a duration, a small one of whole seconds as "10 s".
func inSeconds(d time.Duration) string {
	if d < 2*time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return report.Duration(d)
}

// words says what downloads were at, after "downloads".
func (t PlaceTime) words() string {
	host, its := t.Of, "its"
	if host == "" {
		host, its = "their hosts", "their"
	}
	delay := "the delay"
	if t.Delay > 0 {
		delay = "a delay of " + inSeconds(t.Delay)
	}
	host = "waited for " + host + ": "
	switch t.Cause {
	case PlaceEmpty:
		return "waited for requests: nothing was queued"
	case PlaceNotBefore:
		return "waited until the time of the requests came that are to run later"
	case PlaceDelay:
		return host + delay + " of the crawl's own settings"
	case PlaceCrawlDelay:
		return host + delay + " by " + its + " robots.txt"
	case PlaceAutoThrottle:
		return host + delay + " by AutoThrottle"
	case PlaceRefusals:
		return host + "pauses after status 429 or 503"
	case PlaceRetryAfter:
		return host + "pauses that " + its + " Retry-After asked for"
	case PlaceBlocked:
		return host + its + " robots.txt could not be had, or an earlier run was to wait"
	case PlacePerSlot:
		return host + "as many downloads as may ran there at once (per_slot)"
	case PlaceGate:
		if t.Of == "" {
			return "waited for addresses, proxies or downloaders at their limit, or for gates that middlewares have closed"
		}
		return "waited for " + t.Of + ", which was at its limit or closed"
	case PlaceRobots:
		return host + its + " robots.txt was fetched"
	case PlacePages:
		return "waited for those under way, which may complete the number of pages (limits.pages)"
	case PlaceAlone:
		return "waited for one that ran alone, because the process may have died of it"
	case PlaceNotOurs:
		return "waited for the other programs of the job"
	case PlacePaused:
		return "waited because the crawl was paused"
	case PlaceStopping:
		return "waited because the crawl was to stop"
	case PlaceMiddlewares:
		return "were in middlewares"
	case PlaceLookup:
		return host + "the look-up of " + its + " name"
	case PlaceConnect:
		return host + "the connection"
	case PlaceFirstByte:
		return host + "the first byte of " + its + " answers"
	case PlaceBody:
		return host + "the bodies of " + its + " answers"
	case PlaceDownload:
		return host + its + " answers"
	case PlaceMemory:
		return "waited for memory (limits.bodies_in_flight)"
	case PlaceParsers:
		return "waited for parsers"
	case PlaceItems:
		return "waited for pipelines, which are slower than the parsers"
	case PlaceFeeds:
		return "waited for feeds, which are slower than the parsers"
	case PlaceStore:
		return "waited for the store of the job"
	}
	return "were prepared and ended by the engine"
}
