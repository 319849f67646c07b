package frontier_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// What is stored of a slot is what it has learnt: when the next download may start, delay, penalty and pages. Nothing is stored of
// one that has nothing to remember, but what a slot has unlearnt is: the cache may hold it.
func TestSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{}, map[string]frontier.Rule{
			"few": {Pages: 5}, "slow": {Policy: slots.Policy{Delay: time.Minute}},
		})
		a := newAnswering(frontier.Config[*job]{Rules: rules, Throttle: &slots.Throttle{Max: time.Hour, Target: 1}})
		saved := func(when, slot string, want frontier.Saved, some bool) {
			t.Helper()
			want.Name = slot
			if got, ok := a.Save(slot); ok != some || ok && got != want {
				t.Errorf("%s: %+v is stored (%t), want %+v (%t)", when, got, ok, want, some)
			}
		}
		saved("unknown", "a", frontier.Saved{}, false)
		good := frontier.Answer{Came: true, OK: true, Latency: time.Second}
		a.answer(t, "a", 0, good)
		saved("throttled", "a", frontier.Saved{NextAllowed: in(time.Second), Delay: time.Second, AutoThrottle: time.Second}, true)
		a.answer(t, "a", 0, frontier.Answer{Came: true, Refused: true})
		s := a.state("a")
		saved("refused", "a", frontier.Saved{
			NextAllowed: s.Next, Delay: s.Delay, AutoThrottle: s.Delays[slots.Throttled], Penalty: s.Delays[slots.Penalty],
		}, s.Delays[slots.Penalty] > 0)

		a = newAnswering(frontier.Config[*job]{Rules: rules})
		a.answer(t, "plain", 0, good)
		saved("plain", "plain", frontier.Saved{}, false)
		a.Heed("blocked", time.Minute)
		saved("blocked", "blocked", frontier.Saved{NextAllowed: in(time.Minute)}, true)
		a.answer(t, "slow", 0, good)
		saved("its own delay", "slow", frontier.Saved{NextAllowed: in(time.Minute), Delay: time.Minute}, true)
		a.SetCrawlDelay("unlearnt", time.Minute)
		a.send(0, record{id: 1, slot: "unlearnt"})
		a.SetCrawlDelay("unlearnt", 0)
		saved("unlearnt", "unlearnt", frontier.Saved{}, true)
		a.finish(t, a.take(t))

		a.send(0, record{id: 1, slot: "few"}, record{id: 2, slot: "few"}, record{id: 3, slot: "few"})
		for i := range 2 {
			j := a.take(t)
			if i == 0 {
				if err := a.Reserve(j); err != nil {
					t.Error(err)
				}
			}
			if err := a.Spend(j); err != nil {
				t.Error(err)
			}
			a.finish(t, j)
		}
		if s := a.Status(); len(s) == 0 || a.state("few").Pending != 1 {
			t.Errorf("the slots are %+v", s)
		}
		if err := a.Reserve(a.take(t)); err != nil {
			t.Error(err)
		}
		saved("two pages and one that is reserved", "few", frontier.Saved{Pages: 2, NextAllowed: in(0)}, true)
		for _, s := range a.Status() {
			if s.Name == "few" && (s.Pages != 2 || s.MaxPages != 5) || s.Name != "few" && (s.Pages != 0 || s.MaxPages != 0) {
				t.Errorf("%s has %d of %d pages", s.Name, s.Pages, s.MaxPages)
			}
		}
	})
}

// A slot that comes from a durable cache goes on as it was: its requests wait, nothing starts before it may, what it has learnt of
// late is known, and its pages are counted.
func TestRestore(t *testing.T) {
	now := time.Now()
	hour, throttle := time.Hour, &slots.Throttle{Max: 10 * time.Second, Target: 1}
	rule := func(delay time.Duration, pages int) frontier.Rule {
		return frontier.Rule{Policy: slots.Policy{Delay: delay}, Pages: pages}
	}
	jitter := rule(2*time.Minute, 0)
	jitter.Jitter = func() float64 { return 1 }
	for _, tt := range []struct {
		name     string
		rule     frontier.Rule
		throttle *slots.Throttle
		saved    frontier.Saved
		next     time.Duration // until when nothing starts
		suspects bool
		reported bool
		check    func(s frontier.Status) bool
	}{
		{name: "its next start", saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(hour)}, next: hour, reported: true},
		{name: "that is over", saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(-hour)}},
		{name: "of its own delay", rule: rule(2*time.Minute, 0), saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(2 * time.Minute)}, next: 2 * time.Minute},
		{name: "of its own jitter", rule: jitter, saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(4 * time.Minute)}, next: 4 * time.Minute},
		{name: "the delay of the rule", rule: rule(time.Minute, 0), saved: frontier.Saved{Pending: 2}, next: time.Minute},
		{name: "the delay that was stored", rule: rule(time.Minute, 0), saved: frontier.Saved{Pending: 1, Delay: hour}, next: hour},
		{name: "the delay of a suspect", saved: frontier.Saved{Delay: hour}, suspects: true, next: hour},
		{name: "the delay of nothing", saved: frontier.Saved{Delay: hour}, check: func(s frontier.Status) bool { return s.Name == "" }},
		{name: "a penalty", saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(-time.Minute), Penalty: time.Second}, next: time.Second,
			check: func(s frontier.Status) bool { return s.Delays[slots.Penalty] == time.Second && s.Delay == time.Second }},
		{name: "a penalty of yesterday", saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(-slots.AnswerMemory), Penalty: time.Second},
			check: func(s frontier.Status) bool { return s.Delay == 0 && !s.Learnt }},
		{name: "a throttle", throttle: throttle, saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(0), AutoThrottle: 5 * time.Second}, next: 5 * time.Second,
			check: func(s frontier.Status) bool { return s.Delays[slots.Throttled] == 5*time.Second }},
		{name: "a throttle above its bound", throttle: throttle, saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(0), AutoThrottle: hour}, next: 10 * time.Second,
			check: func(s frontier.Status) bool { return s.Delay == 10*time.Second }},
		{name: "a throttle that is off", saved: frontier.Saved{Pending: 1, NextAllowed: now.Add(0), AutoThrottle: hour},
			check: func(s frontier.Status) bool { return s.Delay == 0 }},
		{name: "pages", rule: rule(0, 3), saved: frontier.Saved{Pending: 1, Pages: 2},
			check: func(s frontier.Status) bool { return s.Pages == 2 && s.MaxPages == 3 }},
		{name: "all pages", rule: rule(hour, 2), saved: frontier.Saved{Pending: 1, Pages: 2, NextAllowed: now.Add(hour)},
			check: func(s frontier.Status) bool { return s.Pages == 2 && s.Next.IsZero() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(frontier.Config[*job]{Rules: frontier.NewRules(tt.rule, nil), Throttle: tt.throttle, Now: func() time.Time { return now }})
			tt.saved.Name = "a"
			w.Restore(tt.saved, tt.suspects)
			var s frontier.Status
			if all := w.Status(); len(all) > 0 {
				s = all[0]
			}
			if next := max(s.Next.Sub(now), 0); next != tt.next || s.Pending != tt.saved.Pending {
				t.Errorf("%d requests wait, the next start is in %v, want %d in %v", s.Pending, next, tt.saved.Pending, tt.next)
			}
			if tt.check != nil && !tt.check(s) {
				t.Errorf("the slot is %+v", s)
			}
			if list, _, _ := w.TakeBlocks(); len(list) > 0 != tt.reported || tt.reported && list[0].Cause != frontier.EarlierRun {
				t.Errorf("%+v are reported, want that: %t", list, tt.reported)
			}
			if got := w.IsSpent("a"); got != (tt.rule.Pages > 0 && tt.saved.Pages >= tt.rule.Pages) {
				t.Errorf("IsSpent is %t", got)
			}
		})
	}
}

// Of many slots the busiest are returned, in their order: those with most requests, then those with more in flight,
// then by name. It fails if one is left out, or one without work is not.
func TestBusiest(t *testing.T) {
	w := newWorld(frontier.Config[*job]{})
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	type slot struct {
		name    string
		pending int
	}
	var want []slot
	for i := range 5000 {
		s := slot{fmt.Sprintf("host%04d", i), 1 + random.IntN(5)}
		for n := range s.pending {
			w.send(0, record{id: 10*i + n, slot: s.name})
		}
		want = append(want, s)
	}
	slices.SortFunc(want, func(a, b slot) int {
		return cmp.Or(b.pending-a.pending, strings.Compare(a.name, b.name))
	})
	for _, n := range []int{-1, 0, 1, 7, 3000, 5000, 9000} {
		var got []slot
		for _, s := range w.Busiest(n) {
			got = append(got, slot{s.Name, s.Pending})
		}
		if most := max(0, min(n, len(want))); !slices.Equal(got, want[:most]) {
			t.Fatalf("the %d busiest: %d are not those %d (seed %d)", n, len(got), most, seed)
		}
	}
	j := w.take(t)
	w.Start(j)
	busy := w.Busiest(9000)
	at := slices.IndexFunc(busy, func(s frontier.Status) bool { return s.Name == j.slot })
	if busy[at].InFlight != 1 || at > 0 && busy[at-1].Pending == busy[at].Pending {
		t.Errorf("the slot with a request in flight is number %d of its equals (seed %d)", at, seed)
	}
}

// Of many slots those with a request in flight are returned, and no others.
func TestInFlight(t *testing.T) {
	w := newWorld(frontier.Config[*job]{})
	if got := w.InFlight(); len(got) != 0 {
		t.Errorf("in flight before anything is: %v", got)
	}
	for i := range 5000 {
		w.send(0, record{id: i, slot: fmt.Sprintf("host%04d", i)})
	}
	j := w.take(t)
	w.Start(j)
	if got := w.InFlight(); len(got) != 1 || got[j.slot] != 1 {
		t.Errorf("in flight: %v, want one request of %s", got, j.slot)
	}
}
