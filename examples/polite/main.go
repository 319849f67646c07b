// Command polite shows what politeness does, live: the demo site of this repository is served on loopback by the
// program itself, each of its sections is a slot with rules of its own, and a table shows the state of the slots.
//
//		go run ./examples/polite
//
//		SLOT    WAITING  IN FLIGHT  BEGUN  DELAY  BECAUSE OF  NEXT IN
//		author  17       0          -      100ms  rules       40ms
//		books   31       0          6/12   200ms  rules       120ms
//		flaky   0        0          -      2s     refusals    1.4s
//		quotes  9        1          -      150ms  a callback  now
//
//	  - author has a delay of its own, varied by jitter,
//	  - books has a page budget: further requests after 12 pages are filtered,
//	  - flaky answers 503 at first: the slot pauses, twice as long each time; it has a page budget too,
//	  - quotes is slower than the others after a callback has asked for it by SlotDelay,
//	  - all others have the common delay.
//
// On a terminal the table is drawn in place; elsewhere it is written once a second.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
)

func main() {
	site := demosite.MustStart()
	defer site.Close()
	every, home := time.Second, ""
	if info, err := os.Stdout.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		every, home = 100*time.Millisecond, "\x1b[H\x1b[J" // to the corner, and clear
	}
	if err := crawl(context.Background(), site.URL(), os.Stdout, every, home); err != nil {
		fmt.Fprintln(os.Stderr, "polite:", err)
		os.Exit(1)
	}
}

// section is the slot of a URL: the first part of its path.
func section(u *url.URL) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return cmp.Or(name, "home")
}

// politeness are the rules of the sections.
func politeness() tegenaria.Politeness {
	return tegenaria.Politeness{
		SlotBy:  section,
		Delay:   100 * time.Millisecond,
		PerSlot: 2,
		Overrides: map[string]tegenaria.SlotPolicy{
			"author": {Delay: 100 * time.Millisecond, Jitter: 0.5},
			"books":  {Delay: 200 * time.Millisecond, MaxPages: 12},
			"flaky":  {PerSlot: 1, MaxPages: 3},
		},
	}
}

// read follows all links. A page of quotes asks for some rest.
func read(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
	if strings.Contains(page.URL, "/quotes/") {
		page.Context().SlotDelay(150 * time.Millisecond)
	}
	return out.FollowLinks()
}

// crawl crawls the site and writes the table every so often, with what goes before it.
func crawl(ctx context.Context, site string, w io.Writer, every time.Duration, before string, more ...tegenaria.EngineOption) error {
	logger := logrus.New()
	logger.SetLevel(logrus.ErrorLevel) // warnings, of a 404 say, would tear the table
	engine := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("polite", tegenaria.Handle(read), site+"/")),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithPoliteness(politeness()),
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 3}),
	}, more...)...)
	over := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprint(w, before)
				writeTable(w, engine.Slots(), time.Now())
			case <-over:
				return
			}
		}
	})
	err := engine.Run(ctx, "polite")
	close(over)
	writer.Wait()
	stats := engine.Stats()
	fmt.Fprintf(w, "%d requests, %d retries, %d filtered by the page budget, %s\n", stats.RequestDownloaded, stats.Retries,
		stats.Reasons["filtered: page-budget"], stats.Elapsed.Round(100*time.Millisecond))
	return err
}

// writeTable writes a line for each slot.
func writeTable(w io.Writer, slots []tegenaria.SlotStatus, now time.Time) {
	slices.SortFunc(slots, func(a, b tegenaria.SlotStatus) int { return strings.Compare(a.Name, b.Name) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SLOT\tWAITING\tIN FLIGHT\tBEGUN\tDELAY\tBECAUSE OF\tNEXT IN")
	for _, s := range slots {
		begun, next := "-", "now"
		if s.MaxPages > 0 {
			begun = fmt.Sprintf("%d/%d", s.Pages, s.MaxPages)
		}
		if wait := s.Next.Sub(now); wait > 0 {
			next = wait.Round(10 * time.Millisecond).String()
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", s.Name, s.Pending, s.InFlight, begun, s.Delay.Round(time.Millisecond), because(s), next)
	}
	fmt.Fprintln(table)
	table.Flush()
}

// because tells what the delay in force comes from.
func because(s tegenaria.SlotStatus) string {
	switch s.Delay {
	case 0:
		return "-"
	case s.Penalty:
		return "refusals"
	case s.AutoThrottle:
		return "latency"
	case s.CrawlDelay:
		return "robots.txt"
	case s.SlotDelay:
		return "a callback"
	}
	return "rules"
}
