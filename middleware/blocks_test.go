package middleware_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

// Each rule recognises what it is about, with the evidence, and nothing else.
func TestBlockRules(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	rules := middleware.BlockRules{
		Status: []int{403}, Header: map[string]string{"X-Guard": "", "Server": "wall"}, Text: []string{"Are you a robot"}, Redirect: []string{"/challenge"},
		Func: func(page *tegenaria.Response) string { return page.CSS("#blocked").Text() },
	}
	for _, tt := range []struct {
		status         int
		header         map[string][]string
		body           string
		rule, evidence string
	}{
		{200, nil, "<p>a page</p>", "", ""},
		{404, nil, "no such page", "", ""},
		{200, map[string][]string{"Server": {"nginx"}}, "x", "", ""},
		{302, map[string][]string{"Location": {"/elsewhere"}}, "", "", ""},
		{200, nil, long + "are you a robot", "", ""},
		{403, nil, "<p>Go\n away</p>", "status 403", "<p>Go away</p>"},
		{200, map[string][]string{"X-Guard": {"on"}}, "x", "header X-Guard", "on"},
		{200, map[string][]string{"Server": {"firewall/2"}}, "x", "header Server", "firewall/2"},
		{200, nil, "<p>Please: ARE YOU A ROBOT?</p>", "text: Are you a robot", "<p>please: are you a robot?</p>"},
		{302, map[string][]string{"Location": {"/challenge?x"}}, "", "redirect to /challenge", "/challenge?x"},
		{200, nil, "<p id=blocked>you</p>", "own rule", "you"},
		{403, nil, long, "status 403", strings.Repeat("x", 80) + "…"},
	} {
		r := tegenaria.NewRequest("http://a.test/", tegenaria.GET, nil)
		ctx := tegenaria.NewContext(r)
		if tt.header == nil {
			tt.header = map[string][]string{}
		}
		tt.header["Content-Type"] = []string{"text/html; charset=utf-8"}
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(r, tt.status, tt.header, []byte(tt.body))}
		err := middleware.NewBlocks(rules).ProcessResponse(ctx, nil)
		var blocked *tegenaria.BlockedError
		if errors.As(err, &blocked) != (tt.rule != "") || blocked != nil && (blocked.Rule != tt.rule || blocked.Evidence != tt.evidence) {
			t.Errorf("%d %v %.30q: %+v, want %s (%s)", tt.status, tt.header, tt.body, blocked, tt.rule, tt.evidence)
		}
	}
}

// Blocks are counted for each host and port, anew in each run, and an answer to a login is no page between them.
func TestBlockedHostIsCounted(t *testing.T) {
	m := middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})
	lost := m.Group(nil)[0]
	ask := func(url string, status int, login bool) bool {
		ctx := tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil))
		ctx.Request.SetSession("ann", repeated(login))
		if lost.ProcessRequest(ctx) != nil {
			return false
		}
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, status, nil, []byte("x"))}
		m.ProcessResponse(ctx, nil)
		return true
	}
	for range 60 {
		ask("http://a.test:81/login", 200, true)
		ask("http://a.test:81/", 403, false)
	}
	if ask("http://a.test:81/", 200, false) || !ask("http://a.test:82/", 200, false) {
		t.Error("the port that blocks all, and another one")
	}
	if err := m.Open(t.Context(), nil); err != nil || !ask("http://a.test:81/", 200, false) {
		t.Errorf("in the next run: %v", err)
	}
}

// The func of the rules is not asked about robots.txt: it is about pages.
func TestBlockFuncAndRobots(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/robots.txt", enginetest.Text("User-agent: *\nDisallow: /private")).
		Page("http://a.test/", enginetest.Text("price"))
	s := enginetest.NewSpider("http://a.test/", "http://a.test/private")
	rules := middleware.BlockRules{Func: func(page *tegenaria.Response) string {
		if page.String() != "price" {
			return "a page without a price"
		}
		return ""
	}}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(middleware.NewBlocks(rules)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{}), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1})))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Robots: 1})
}

// A blocked answer is tried again after a pause that grows, is not parsed, and in the last attempt it is what the request has given up for.
func TestBlockedAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Status(403)).
			Page("http://b.test/", enginetest.InTurn(enginetest.Status(403), enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/", "http://b.test/")
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})),
			tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 3}))
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.GaveUp: 1})
		if stats.Reasons["gave-up: blocked: status 403"] != 1 || stats.Blocked != 4 || stats.Retries != 3 {
			t.Errorf("stats: %+v", stats)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s, want pauses of 1 s and 2 s", took)
		}
	})
}

// After 50 blocked answers without a page between them a host is not asked any more; another one is.
func TestBlockedHost(t *testing.T) {
	for _, pageBetween := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://b.test/", enginetest.Text("x"))
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				for i := range 100 {
					url := fmt.Sprintf("http://a.test/%d", i)
					answer := enginetest.Status(403)
					if pageBetween && i == 40 {
						answer = enginetest.Text("x")
					}
					w.Page(url, answer)
					req <- enginetest.Send(url)
				}
				req <- enginetest.Send("http://b.test/")
			}
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})),
				tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1}), tegenaria.EngineWithConcurrency(1))
			stats := enginetest.MustRun(t, e)
			asked, fetched := int64(51), int64(1)
			if pageBetween {
				asked, fetched = 40+1+50+1, 2
			}
			if stats.Responses != asked || stats.Outcomes[tegenaria.Fetched] != fetched || stats.Outcomes[tegenaria.GaveUp] != 101-fetched {
				t.Errorf("page between: %v: %d answers, want %d; %v", pageBetween, stats.Responses, asked, stats.Outcomes)
			}
		})
	}
}
