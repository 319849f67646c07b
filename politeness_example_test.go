package tegenaria_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria"
)

// The code of docs/guides/politeness.md.

func ExamplePoliteness_jitter() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			UserAgent: "mybot/1.0 (+https://example.com/bot)",
			Delay:     time.Second, // between the starts of two downloads of a host
			Jitter:    0.5,         // each delay is between 0.5 and 1.5 of that, as in Scrapy
			PerSlot:   2,           // downloads of a host in flight
		}),
	)
	engine.RegisterSpiders(tegenaria.NewSpider("nothing", nothing))
	fmt.Println(engine.Run(context.Background(), "nothing"))
	// Output: <nil>
}

func ExampleSlotPolicy() {
	p :=
		tegenaria.Politeness{
			Delay: time.Second,
			Overrides: map[string]tegenaria.SlotPolicy{
				"api.example.com": {Delay: 5 * time.Second, PerSlot: 1},
				"*.example.com":   {Delay: 2 * time.Second, Jitter: 0.3}, // all below it, itself not
				"big.example.org": {PerSlot: 4, MaxPages: 10_000},
			},
		}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPoliteness(p))
	engine.RegisterSpiders(tegenaria.NewSpider("nothing", nothing))
	fmt.Println(engine.Run(context.Background(), "nothing"))
	// Output: <nil>
}

func ExampleAutoThrottle() {
	p :=
		tegenaria.Politeness{AutoThrottle: &tegenaria.AutoThrottle{Target: 2}}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPoliteness(p))
	engine.RegisterSpiders(tegenaria.NewSpider("nothing", nothing))
	fmt.Println(engine.Run(context.Background(), "nothing"))
	// Output: <nil>
}

func ExampleSpiderEngine_SetSlot() {
	var engine *tegenaria.SpiderEngine
	look := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
		err := engine.SetSlot("www.example.com", tegenaria.SlotPolicy{Delay: 10 * time.Second, PerSlot: 1})
		for _, s := range engine.Slots() {
			fmt.Println(s.Name, s.Pending, s.InFlight, s.Delay)
		}
		return err
	}
	engine = tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloader(newWorld().page("http://www.example.com/", text("a page"))),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Hour, IgnoreRobots: true}),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("one page", look, "http://www.example.com/")),
	)
	fmt.Println(engine.Run(context.Background(), "one page"))
	// Output:
	// www.example.com 0 0 10s
	// <nil>
}
