//go:build unix

package main

import (
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/site"
)

// kind is what is done with the contestants of a scenario.
type kind int

const (
	crawling kind = iota // each crawls the site to its end
	growing              // the site has no end; memory is measured twice, then they are killed
	scaling              // without a network, on one CPU and on two; what two crawls do at once is the most that is possible
)

// scenario is one table.
type scenario struct {
	name        string
	title       string // what follows the number of pages, if there is one
	kind        kind
	plan        site.Plan
	concurrency int
	tls         bool
	more        int // rounds than others, since they are short
	who         []string
}

// The two points at which a growing crawl is measured, in pages.
const (
	growthStart = 2_000
	growthEnd   = 20_000
)

// fewest is how many pages a scenario is scaled down to at most.
const fewest = 100

var (
	ourForms = []string{contestant.OursStandard, contestant.OursSimplest, contestant.OursTyped, contestant.OursChannels, contestant.OursDurable}
	wayForms = []string{contestant.OursLinks, contestant.OursAttrs} // other ways to follow links
	rawForms = []string{contestant.RawSame, contestant.RawTokenizer, contestant.RawGoquery}

	peers         = []string{contestant.CollyAsync, contestant.Geziyor, contestant.Katana, contestant.Scrapy, contestant.Crawlee}
	peersAndQueue = join(peers, []string{contestant.CollyQueue})
)

func join(lists ...[]string) (all []string) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

var scenarios = []scenario{
	{name: "a", title: "pages of 20 KB", plan: site.Plan{Pages: 10_000, Bytes: 20_000, Links: 34}, concurrency: 16,
		who: join(ourForms, []string{contestant.OursLong}, wayForms, rawForms, peersAndQueue)},
	{name: "b", title: "pages of 2 KB", plan: site.Plan{Pages: 50_000, Bytes: 2_000, Links: 13}, concurrency: 16,
		who: join(ourForms, rawForms, peers)},
	{name: "l", title: "pages of 100 KB", plan: site.Plan{Pages: 3_000, Bytes: 100_000, Links: 100}, concurrency: 16,
		who: join([]string{contestant.OursStandard, contestant.OursSimplest, contestant.OursChannels}, wayForms, rawForms, peers)},
	{name: "r", title: "pages of 20 KB, real markup, links in five spellings",
		plan: site.Plan{Pages: 10_000, Bytes: 20_000, Links: 34, Markup: true}, concurrency: 16,
		who: join(ourForms[:4], wayForms, rawForms, peers)},
	{name: "c", title: "pages of 20 KB, 50 ms latency, 128 at once",
		plan: site.Plan{Pages: 5_000, Bytes: 20_000, Links: 34, Latency: 50 * time.Millisecond}, concurrency: 128,
		who: join([]string{contestant.OursStandard, contestant.OursSimplest, contestant.OursDurable, contestant.RawTokenizer, contestant.RawGoquery}, peers)},
	{name: "d", title: "50 new links on every page", kind: growing, plan: site.Plan{FanOut: 50}, concurrency: 16,
		who: join([]string{contestant.OursStandard, contestant.OursSimplest, contestant.OursDurable, contestant.RawTokenizer}, peersAndQueue)},
	{name: "e", title: "pages, start to exit", plan: site.Plan{Pages: 10, Bytes: 20_000, Links: 34}, concurrency: 16, more: 2,
		who: join(ourForms, rawForms, peersAndQueue)},
	{name: "q", title: "pages with queries, some linked with permuted parameters",
		plan: site.Plan{Pages: 2_000, Bytes: 2_000, Links: 13, Queries: true}, concurrency: 16,
		who: join(ourForms, []string{contestant.RawTokenizer}, peersAndQueue)},
	{name: "g", title: "pages of 20 KB, gzip", plan: site.Plan{Pages: 5_000, Bytes: 20_000, Links: 34, Gzip: true}, concurrency: 16,
		who: join([]string{contestant.OursStandard, contestant.OursSimplest, contestant.RawSame, contestant.RawTokenizer}, peers)},
	{name: "t", title: "pages of 20 KB, TLS and HTTP/2", plan: site.Plan{Pages: 5_000, Bytes: 20_000, Links: 34},
		concurrency: 16, tls: true,
		who: []string{contestant.OursStandard, contestant.OursSimplest, contestant.RawSame, contestant.RawTokenizer, contestant.CollyAsync, contestant.Geziyor}},
	{name: "h", title: "pages of 20 KB on 1,000 hosts",
		plan: site.Plan{Pages: 10_000, Bytes: 20_000, Links: 34, Hosts: 1_000}, concurrency: 16,
		who: []string{contestant.OursStandard, contestant.OursSimplest, contestant.OursLong, contestant.RawSame, contestant.RawTokenizer}},
	{name: "m", title: "pages of 2 KB from memory, GOMAXPROCS 1 and 2", kind: scaling,
		plan: site.Plan{Pages: 50_000, Bytes: 2_000, Links: 13}, concurrency: 16, more: 2, who: []string{contestant.OursMemory}},
}

// scaled is a scenario with fewer or more pages. One that has few pages keeps them.
func (s scenario) scaled(by float64) scenario {
	if s.plan.Pages > fewest {
		s.plan.Pages = max(fewest, int(float64(s.plan.Pages)*by))
	}
	return s
}

// rounds is how often a contestant runs if most are to run so often: those that take minutes run once.
func (s scenario) rounds(c *contestant.Contestant, most int) int {
	if s.more == 0 && (c.Slow || s.kind == growing && !c.Ours()) {
		return 1
	}
	return most + s.more
}
