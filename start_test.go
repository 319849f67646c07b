package tegenaria_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// A start that panics, and whose ErrorHandler sends what cannot be accepted, does not keep the crawl open.
func TestStartThatPanicsWithABadRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider()
		s.start = func(chan<- *tegenaria.Context) { panic("start") }
		first := true
		s.fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			if first {
				first = false
				req <- send("bad:")
			}
		}
		e := newEngine(newWorld(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Time: time.Minute}))
		mustRun(t, e)
		if len(s.errors()) != 2 {
			t.Errorf("errors %v", s.errors())
		}
	})
}
