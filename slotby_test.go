package tegenaria_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// A SlotBy that panics is told once, and the host is the slot.
func TestSlotByThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), newSpider()
		for i := range 5 {
			u := fmt.Sprintf("http://a.test/%d", i)
			w.page(u, page())
			s.FeedUrls = append(s.FeedUrls, u)
		}
		w.page("http://a.test/again", page())
		s.fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			req <- send("http://a.test/again") // SlotBy is asked for it as well
			req <- send("bad:")
		}
		began := time.Now()
		stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, Delay: time.Second, SlotBy: func(*url.URL) string { panic("slot") },
		})))
		var panicked *tegenaria.PanicError
		herr := s.errors()[0]
		if !errors.As(herr, &panicked) || herr.Stage != tegenaria.StageAccept || !strings.Contains(herr.Error(), "SlotBy of http://a.test/0") || herr.Stack == nil {
			t.Errorf("ErrorHandler got %v", herr)
		}
		told := 0
		for _, herr := range s.errors() {
			if errors.As(herr, &panicked) {
				told++
			}
		}
		if took := time.Since(began); told != 1 || took != 5*time.Second || stats.Outcomes[tegenaria.Fetched] != 6 {
			t.Errorf("told %d times, it took %s, stats %+v", told, took, stats)
		}
	})
}
