package tegenaria_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// An entry of Overrides inherits nothing: its zero Delay is no delay, its zero PerSlot is 8.
func TestOverridesInheritNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		for _, host := range []string{"free.test", "slow.test"} {
			for i := range 20 {
				url := fmt.Sprintf("http://%s/%d", host, i)
				s.FeedUrls = append(s.FeedUrls, url)
				w.Page(url, enginetest.After(time.Second, enginetest.Text("x")))
			}
		}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(100), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, Delay: time.Minute, PerSlot: 1, Overrides: map[string]tegenaria.SlotPolicy{"free.test": {}},
		})))
		at := make(map[time.Duration]int)
		for _, v := range w.Visits() {
			if strings.Contains(v.Url, "free.test") {
				at[v.At.Sub(began)]++
			}
		}
		if at[0] != 8 || at[time.Second] != 8 || at[2*time.Second] != 4 {
			t.Errorf("downloads of the free host by time: %v, want 8, 8 and 4", at)
		}
		if took := time.Since(began); took != 19*time.Minute+time.Second {
			t.Errorf("the slow host took %s", took)
		}
	})
}

// A host in Overrides and SetSlot may be spelled as in URLs; a slot's own name goes before another spelling of it.
func TestSlotSpelling(t *testing.T) {
	const slow = 7 * time.Second
	for _, tt := range []struct {
		name string
		host string
		keys map[string]time.Duration
		set  string // for SetSlot
		slot string // of the requests, "": the host's
		want time.Duration
	}{
		{"upper case", "a.test", map[string]time.Duration{"A.Test": slow}, "", "", slow},
		{"below a domain", "x.a.test", map[string]time.Duration{"*.A.Test": slow}, "", "", slow},
		{"a name in Unicode", "xn--bcher-kva.test", map[string]time.Duration{"Bücher.test": slow}, "", "", slow},
		{"two spellings", "a.test", map[string]time.Duration{"A.Test": time.Second, "a.test": slow}, "", "", slow},
		{"the domain itself", "a.test", map[string]time.Duration{"*.A.Test": slow}, "", "", 0},
		{"SetSlot", "a.test", nil, "A.Test", "", slow},
		{"a slot of another name", "a.test", map[string]time.Duration{"Group A": slow}, "", "Group A", slow},
		{"SetSlot of another name", "a.test", nil, "GroupA", "GroupA", slow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1, Overrides: make(map[string]tegenaria.SlotPolicy)}
				for key, delay := range tt.keys {
					p.Overrides[key] = tegenaria.SlotPolicy{Delay: delay}
				}
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				var e *tegenaria.SpiderEngine
				s.Start = func(req chan<- *tegenaria.Context) {
					if tt.set != "" {
						if err := e.SetSlot(tt.set, tegenaria.SlotPolicy{Delay: slow}); err != nil {
							t.Error(err)
						}
					}
					for i := range 2 {
						url := fmt.Sprintf("http://%s/%d", tt.host, i)
						w.Page(url, enginetest.Page())
						req <- enginetest.Send(url, tegenaria.RequestWithSlot(tt.slot))
					}
				}
				began := time.Now()
				e = enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(p))
				enginetest.MustRun(t, e)
				if got := w.StartsOf(tt.host, began); !slices.Equal(got, []time.Duration{0, tt.want}) {
					t.Errorf("downloads began at %v, want %v apart", got, tt.want)
				}
			})
		})
	}
}
