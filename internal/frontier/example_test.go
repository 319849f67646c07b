package frontier_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// Three requests of two slots, one of which has a delay. The store and the job are those of the tests.
func ExampleFrontier() {
	ledger, source := frontier.NewLedger(int(outcomes)), newStore()
	f := frontier.New(frontier.Config[*job]{
		Source:   source,
		Ledger:   ledger,
		Rules:    frontier.NewRules(frontier.Rule{Policy: slots.Policy{Delay: time.Millisecond, Limit: 8}}, nil),
		Now:      time.Now,
		Fetchers: 1,
		HandOver: func() {},
		Suspect:  func(*job) {},
		Keep:     func(string) {},
	})
	ledger.Discover(3)
	var stored frontier.Stored
	for id, slot := range []string{"a.test", "a.test", "b.test"} {
		source.add(record{id: id, slot: slot})
		stored.Queue(slot, 0)
	}
	f.Accepted(stored)
	ledger.Started()
	for {
		j, ok, err := f.Take(context.Background())
		if !ok || err != nil {
			break // nothing is open any more, or the source has failed
		}
		started, ok := f.Start(j)
		if !ok {
			break // the crawl stops
		}
		f.Answered(j, frontier.Answer{}, started)
		f.Release(j, false)
		ledger.Settle(fetched, "")
	}
	fmt.Println(ledger.IsFinished(), ledger.Counts().Settled)
	// Output: true 3
}

func ExampleLedger() {
	l := frontier.NewLedger(3)
	l.Discover(1)
	l.Started()
	l.Take()
	l.Settle(1, "")
	fmt.Println(l.IsFinished(), l.Counts().Settled)
	// Output: true 1
}
