package tegenaria_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// SlotOf tells the state of a URL's slot, whether it has requests or not, by the names that the crawl gives its slots.
func TestSlotOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		seeds := []string{"http://www.a.test/0", "http://www.a.test/1", "http://a.test/2"}
		for _, seed := range seeds {
			w.Page(seed, enginetest.Text("x"))
		}
		spider := enginetest.NewSpider(seeds...)
		spider.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, Delay: time.Minute, PerSlot: 3, SlotBy: tegenaria.SlotRegistrableDomain,
			Overrides: map[string]tegenaria.SlotPolicy{"b.test": {Delay: time.Hour, PerSlot: 2, MaxPages: 7}},
		}))
		if _, err := e.SlotOf(seeds[0]); err == nil {
			t.Error("there is a slot before the run")
		}
		began := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			enginetest.Sleep(time.Second)
			s, err := e.SlotOf("http://other.a.test/")
			if err != nil || s.Name != "a.test" || s.Pending != 2 || s.Delay != time.Minute || s.PerSlot != 3 || !s.Next.Equal(began.Add(time.Minute)) {
				t.Errorf("a slot with requests: %+v, %v", s, err)
			}
			want := tegenaria.SlotStatus{Name: "b.test", PerSlot: 2, Delay: time.Hour, MaxPages: 7}
			if s, err := e.SlotOf("http://x.B.test:8080/"); err != nil || s != want {
				t.Errorf("a slot without requests: %+v, %v, want %+v", s, err, want)
			}
			var wrong *tegenaria.RequestError
			if s, err := e.SlotOf("ftp://a.test/"); !errors.As(err, &wrong) {
				t.Errorf("a URL that cannot be requested: %+v, %v", s, err)
			}
		}()
		enginetest.MustRun(t, e)
		<-done
	})
}
