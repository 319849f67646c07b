package tegenaria_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The delay of a host runs from the moment a download starts. Between pick and start a request may pass
// slow middlewares; stamped at the pick, two downloads would start as close together as these end.
//
// It fails if slots.Acquire stamps the slot (s.last = now) and Started no longer does, and also if a
// slot with a delay is not hidden from pick to start (held in internal/slots/slot.go).
func TestTrapStampAtStartNotAtPick(t *testing.T) {
	const delay = time.Second
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var urls []string
		for i := range 8 {
			urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
			w.Page(urls[i], enginetest.Text("x"))
		}
		s := enginetest.NewSpider(urls...)
		s.Parse = enginetest.Nothing
		// The first request of each pair takes 950 ms from pick to start, the second one none: stamped at the
		// pick they start 50 ms apart.
		turn := 0
		slow := &enginetest.Hooks{Name: "slow", Request: func(ctx *tegenaria.Context) error {
			turn++
			if turn%2 == 1 {
				return enginetest.Wait(ctx, 950*time.Millisecond)
			}
			return nil
		}}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(slow),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: delay})))
		visits := w.Visits()
		if len(visits) != len(urls) {
			t.Fatalf("%d downloads, want %d", len(visits), len(urls))
		}
		for i := range visits[1:] {
			if gap := visits[i+1].At.Sub(visits[i].At); gap < delay {
				t.Errorf("downloads %d and %d start %s apart, want %s", i, i+1, gap, delay)
			}
		}
	})
}
