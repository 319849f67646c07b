package tegenaria

import (
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
)

// work is what a crawl is at beside its downloads, as far as it may hold them up. Its methods take no lock of the frontier,
// which calls them.
type work struct {
	parsers int64 // that may run at once
	workers int64 // that run pipelines
	ledger  *frontier.Ledger
	permits *frontier.ParsePermits

	accepting atomic.Int64 // callbacks whose requests a cache stores that may take its time
	puts      atomic.Int64 // parsers that wait because the buffer of the items is full
	inFeeds   atomic.Int64 // items that a feed has in hand
	settling  atomic.Int32
}

// What a settler may be at that takes its time.
const (
	settlesNothing int32 = iota
	settlesFeeds         // the committers make items durable
	settlesStore         // the cache stores how requests have ended
)

// withoutPermits names what holds up pages that wait for a permit to parse.
func (w *work) withoutPermits() frontier.PlaceCause {
	switch {
	case 2*w.accepting.Load() >= w.parsers:
		return frontier.PlaceStore
	case 2*w.puts.Load() >= w.parsers:
		return w.ofItems()
	}
	return frontier.PlaceParsers
}

// ofItems names what holds up items.
func (w *work) ofItems() frontier.PlaceCause {
	if 2*w.inFeeds.Load() >= w.workers {
		return frontier.PlaceFeeds
	}
	return frontier.PlaceItems
}

// withoutMemory names what holds up the memory of bodies: they count until their requests are settled.
func (w *work) withoutMemory() frontier.PlaceCause {
	switch w.settling.Load() {
	case settlesFeeds:
		return frontier.PlaceFeeds
	case settlesStore:
		return frontier.PlaceStore
	}
	return frontier.PlaceMemory
}

// withoutRequests names what holds up requests while none waits and none is downloaded.
func (w *work) withoutRequests() frontier.PlaceCause {
	free, _ := w.permits.Count()
	switch parsing := w.parsers - int64(free); {
	case w.accepting.Load() > 0:
		return frontier.PlaceStore
	case w.puts.Load() > 0:
		return w.ofItems()
	case parsing > 0:
		return frontier.PlaceParsers
	case w.inFeeds.Load() > 0:
		return frontier.PlaceFeeds
	case w.ledger.Items.Load() > 0:
		return frontier.PlaceItems
	case w.settling.Load() != settlesNothing:
		return w.withoutMemory()
	}
	return frontier.PlaceEmpty
}

// progress tells the frontier how far a download is.
type progress struct{ frontier.Progress }

var stepCauses = [...]frontier.PlaceCause{
	fetch.StepLookup: frontier.PlaceLookup, fetch.StepConnect: frontier.PlaceConnect,
	fetch.StepFirstByte: frontier.PlaceFirstByte, fetch.StepBody: frontier.PlaceBody,
	fetch.StepMemory: frontier.PlaceMemory,
}

// Enter notes what the download is in from now on.
func (p progress) Enter(step fetch.Step) { p.Progress.Enter(stepCauses[step]) }

// phasesOf returns the parts of a download.
func phasesOf(t *Transfer) frontier.Phases {
	return frontier.Phases{Lookup: t.Lookup, Connect: t.Connect + t.Handshake, FirstByte: t.FirstByte, Body: t.Body}
}

// areFeeds reports which pipelines are feeds.
func (p ItemPipelines) areFeeds() []bool {
	are := make([]bool, len(p))
	for i := range p {
		_, are[i] = p[i].(FeedCounter)
	}
	return are
}
