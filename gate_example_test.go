package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// quota is a middleware that lets so many requests through at once, and then pauses.
type quota struct {
	gate  *tegenaria.Gate // made by tegenaria.NewGate("the quota")
	most  int
	pause time.Duration

	mu   sync.Mutex // guards the field below
	used int
}

func (q *quota) ProcessRequest(ctx *tegenaria.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.gate.IsClosed():
		return tegenaria.NotNow(q.gate)
	case q.used == q.most:
		q.used = 0
		q.gate.CloseFor(q.pause)
		return tegenaria.NotNow(q.gate)
	}
	q.used++
	return nil
}

func ExampleNotNow() {
	q := &quota{gate: tegenaria.NewGate("the quota"), most: 2, pause: 10 * time.Millisecond}
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return errors.Join(out.Item(page.URL), out.FollowLinks())
	}
	began := time.Now()
	for url, err := range tegenaria.Crawl[string](context.Background(), tegenaria.NewSpider("site", tegenaria.Handle(parse), "http://example.com/"),
		tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "quota", Request: q.ProcessRequest}),
		tegenaria.EngineWithDownloader(offline{}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})) {
		fmt.Println(url, err)
	}
	fmt.Println("with a pause:", time.Since(began) > q.pause)
	// Unordered output:
	// http://example.com/ <nil>
	// http://example.com/one <nil>
	// http://example.com/two <nil>
	// with a pause: true
}
