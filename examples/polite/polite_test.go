package main

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/spidertest"
)

// The whole crawl, in virtual time.
func TestPolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := spidertest.NewWeb(demosite.Handler())
		defer web.Close()
		var out strings.Builder
		if err := crawl(t.Context(), "http://demo.test", &out, time.Second, "--\n", tegenaria.EngineWithHTTPClient(web.Client())); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"--\nSLOT", "author", "rules", "a callback", "refusals", "/12  ", "filtered by the page budget"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the output does not tell of %q:\n%s", want, &out)
			}
		}
	})
}

func Example_table() {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	const ms = time.Millisecond
	writeTable(os.Stdout, []tegenaria.SlotStatus{
		{Name: "quotes", InFlight: 1, Delay: 150 * ms, SlotDelay: 150 * ms, Next: now.Add(60 * ms)},
		{Name: "books", Pending: 9, Delay: 200 * ms, Pages: 6, MaxPages: 12, Next: now.Add(-time.Second)},
		{Name: "flaky", Pending: 3, Delay: 2 * time.Second, Penalty: 2 * time.Second, Next: now.Add(1400 * ms)},
		{Name: "slow", Delay: 3 * time.Second, AutoThrottle: 3 * time.Second, CrawlDelay: time.Second},
		{Name: "strict", Delay: 4 * time.Second, CrawlDelay: 4 * time.Second},
		{Name: "home"},
	}, now)
	// Output:
	// SLOT    WAITING  IN FLIGHT  BEGUN  DELAY  BECAUSE OF  NEXT IN
	// books   9        0          6/12   200ms  rules       now
	// flaky   3        0          -      2s     refusals    1.4s
	// home    0        0          -      0s     -           now
	// quotes  0        1          -      150ms  a callback  60ms
	// slow    0        0          -      3s     latency     now
	// strict  0        0          -      4s     robots.txt  now
}

// A page of quotes asks for some rest by its Context, which is there in a test too.
func TestRead(t *testing.T) {
	_, requests := spidertest.Parse[any](t, tegenaria.Handle(read), spidertest.HTML(`<a href="/">home</a> <a href="2">next</a>`), "https://demo.example/quotes/")
	if len(requests) != 2 || requests[1].Url != "https://demo.example/quotes/2" {
		t.Errorf("requests: %v", requests)
	}
}
