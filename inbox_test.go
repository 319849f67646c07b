package tegenaria_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// A ProcessResponse has a receiver only if it runs for long: more requests than its channel holds, and requests
// followed by a long wait, are accepted a millisecond later at the latest. The first case hangs if watch.look does
// not start the receiver, and so does the second.
func TestProcessResponseSends(t *testing.T) {
	for _, tt := range []struct {
		name     string
		requests int
		wait     time.Duration
		accepted time.Duration // after the beginning, the latest
	}{
		{"none", 0, 0, 0},
		{"few", 3, 0, 0},
		{"as many as the channel holds", 16, 0, 0},
		{"more", 17, 0, time.Millisecond},
		{"many", 1000, 0, time.Millisecond},
		{"few, then a wait", 3, time.Hour, time.Millisecond},
		{"many, then a wait", 1000, time.Hour, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld().page("http://a.test/", page())
				for i := range tt.requests {
					w.page(fmt.Sprintf("http://b.test/%d", i), page())
				}
				m := &hooks{response: func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
					if ctx.Request.Url != "http://a.test/" {
						return nil
					}
					for i := range tt.requests {
						req <- send(fmt.Sprintf("http://b.test/%d", i))
					}
					sleep(tt.wait)
					return nil
				}}
				began := time.Now()
				stats := mustRun(t, newEngine(w, newSpider("http://a.test/"), tegenaria.EngineWithMiddlewares(m)))
				if took := time.Since(began); took < tt.wait || took > tt.wait+tt.accepted {
					t.Errorf("the crawl took %s", took)
				}
				if stats.Outcomes[tegenaria.Fetched] != int64(tt.requests)+1 {
					t.Errorf("%d requests sent, outcomes %v", tt.requests, stats.Outcomes)
				}
				for i, v := range w.visits() {
					if at := v.at.Sub(began); at > tt.accepted {
						t.Fatalf("download %d, of %s, began after %s", i, v.url, at)
					}
				}
			})
		})
	}
}
