package session_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/session"
)

// The requests to a host that blocks them all end when it is given up, also those that wait for a proxy or a session. What is not
// sent counts as no block, and makes no sessions.
func TestLostHost(t *testing.T) {
	login := func(*session.Login) error { return nil }
	for name, tt := range map[string]struct {
		sessions *session.Options
		names    int // of sessions
	}{
		"proxies":        {nil, 0},
		"nameless":       {&session.Options{Size: 5}, 0},
		"nameless login": {&session.Options{Size: 5, Login: login}, 0},
		"named":          {new(session.Options), 7},
		"named login":    {&session.Options{Login: login}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const pages = 200
				var asked, last atomic.Int64 // last: when an answer came
				pool := proxies()
				middlewares := []tegenaria.MiddlewaresInterface{pool, middleware.NewCookies(middleware.CookieOptions{}),
					middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})}
				if tt.sessions != nil {
					tt.sessions.Proxies = pool
					middlewares = append(middlewares, session.NewPool(*tt.sessions))
				}
				spider := enginetest.NewSpider()
				spider.Start = func(req chan<- *tegenaria.Context) {
					for i := range pages {
						r := tegenaria.NewRequest(fmt.Sprintf("http://site.test/%d", i), tegenaria.GET, nil)
						if tt.names > 0 {
							session.As(fmt.Sprint("user", i%tt.names))(r)
						}
						req <- tegenaria.NewContext(r)
					}
				}
				e := enginetest.NewEngine(enginetest.NewWorld(), spider, tegenaria.EngineWithMiddlewares(middlewares...),
					tegenaria.EngineWithDownloader(answers{func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
						asked.Add(1)
						enginetest.Sleep(100 * time.Millisecond)
						last.Store(time.Now().UnixNano())
						return tegenaria.NewResponse(ctx.Request, 403, nil, []byte("no")), nil
					}}), tegenaria.EngineWithConcurrency(8),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 8, IgnoreRobots: true}))
				stats := enginetest.MustRun(t, e)
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.GaveUp: pages})
				if stats.Reasons["gave-up: blocked: status 403"] != pages || asked.Load() < 50 || asked.Load() > 60 || stats.Blocked != asked.Load() {
					t.Errorf("%d answers, %+v", asked.Load(), stats)
				}
				var lost tegenaria.ProxyStats
				for _, p := range stats.Proxies {
					lost.Requests += p.Requests
					lost.Blocked += p.Blocked
				}
				if lost.Requests != asked.Load() || lost.Blocked != asked.Load() {
					t.Errorf("%d answers, the proxies say %+v", asked.Load(), lost)
				}
				if late := time.Now().UnixNano() - last.Load(); late > 0 {
					t.Errorf("the rest ended %s after the last answer", time.Duration(late))
				}
			})
		})
	}
}
