package tegenaria_test

import (
	"errors"
	"slices"
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

// ForgiveSlot ends penalty and pause of a slot at once, by the times at which downloads begin.
func TestForgiveSlot(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		header string
		after  time.Duration // when it is forgiven; 0: never
		want   []time.Duration
	}{
		{"Retry-After", "120", 10 * s, []time.Duration{0, 10 * s, 10 * s}},
		{"Retry-After, not forgiven", "120", 0, []time.Duration{0, 120 * s, 120 * s}},
		{"penalty", "", s / 10, []time.Duration{0, s / 10, s / 10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seeds := []string{"http://a.test/0", "http://a.test/1", "http://a.test/2"}
				w := enginetest.NewWorld().Page(seeds[0], refuse(429, is(tt.header)))
				for _, seed := range seeds[1:] {
					w.Page(seed, enginetest.Text("x"))
				}
				e := polite(w, tegenaria.Politeness{PerSlot: 1}, seeds)
				if _, err := e.ForgiveSlot("a.test"); err == nil {
					t.Error("a slot was forgiven before the run")
				}
				began := time.Now()
				done := make(chan struct{})
				go func() {
					defer close(done)
					if tt.after == 0 {
						return
					}
					enginetest.Sleep(tt.after)
					for i, want := range []bool{true, false} {
						if forgiven, err := e.ForgiveSlot("A.test"); forgiven != want || err != nil {
							t.Errorf("call %d: forgiven %t, %v", i, forgiven, err)
						}
					}
					if slot, err := e.SlotOf(seeds[0]); err != nil || slot.Penalty != 0 || slot.Delay != 0 || slot.Next.After(time.Now()) {
						t.Errorf("the forgiven slot is %+v, %v", slot, err)
					}
					if forgiven, err := e.ForgiveSlot("b.test"); forgiven || err != nil {
						t.Errorf("a slot that nobody knows: forgiven %t, %v", forgiven, err)
					}
				}()
				enginetest.MustRun(t, e)
				<-done
				if got := w.StartsOf("a.test", began); !slices.Equal(got, tt.want) {
					t.Errorf("downloads began at %v, want %v", got, tt.want)
				}
			})
		})
	}
}
