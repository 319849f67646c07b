package slots_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// The delays that Scrapy's AutoThrottle gives: a new slot starts with the larger of both delays; target is latency
// by concurrency; the delay is the mean of old and target, at least target, within the policy's delay and the
// maximum; what is not 200 never lowers it.
func TestThrottle(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type answer struct {
		latency time.Duration
		status  int
	}
	ok := func(latency time.Duration) answer { return answer{latency, 200} }
	auto := func(start, most time.Duration, target float64) slots.Throttle {
		return slots.Throttle{Start: start, Max: most, Target: target}
	}
	for _, tt := range []struct {
		name     string
		policy   time.Duration
		throttle slots.Throttle
		answers  []answer
		want     []time.Duration // before the first answer and after each
	}{
		{"a fast server halves it, down to the mean", 0, auto(5*s, 60*s, 1), []answer{ok(s), ok(s), ok(s)}, []time.Duration{5 * s, 3 * s, 2 * s, 1500 * ms}},
		{"a slow server sets it at once", 0, auto(5*s, 60*s, 1), []answer{ok(9 * s), ok(s)}, []time.Duration{5 * s, 9 * s, 5 * s}},
		{"more at a time", 0, auto(5*s, 60*s, 4), []answer{ok(4 * s), ok(40 * s)}, []time.Duration{5 * s, 3 * s, 10 * s}},
		{"less than one at a time", 0, auto(s, 60*s, 0.5), []answer{ok(2 * s)}, []time.Duration{s, 4 * s}},
		{"not above the maximum", 0, auto(5*s, 8*s, 1), []answer{ok(9 * s)}, []time.Duration{5 * s, 8 * s}},
		{"not below the policy's delay", 2 * s, auto(s, 60*s, 1), []answer{ok(100 * ms), ok(3 * s), ok(100 * ms)}, []time.Duration{2 * s, 2 * s, 3 * s, 2 * s}},
		{"the policy's delay is above the maximum", 20 * s, auto(s, 10*s, 1), []answer{ok(s)}, []time.Duration{20 * s, 20 * s}},
		{"an error never lowers it", 0, auto(5*s, 60*s, 1), []answer{{100 * ms, 404}, {5 * s, 500}, {7 * s, 500}, {ms, 301}}, []time.Duration{5 * s, 5 * s, 5 * s, 7 * s, 7 * s}},
		{"no answer changes nothing", 0, auto(5*s, 60*s, 1), []answer{{0, 0}}, []time.Duration{5 * s, 5 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := slots.New(always(slots.Policy{Delay: tt.policy}))
			tab.SetThrottle(tt.throttle)
			now := at(0)
			for i, want := range tt.want {
				tab.Add("a", 0, 1)
				g := acquire(t, tab, now)
				if g.Slot.Delay() != want {
					t.Fatalf("after %d answers the delay is %v, want %v", i, g.Slot.Delay(), want)
				}
				tab.Started(g, now)
				if i < len(tt.answers) {
					a := tt.answers[i]
					tab.Answered(g, now.Add(a.latency), slots.Answer{Latency: a.latency, OK: a.status == 200})
				}
				tab.Release(g)
				now = now.Add(time.Minute)
			}
		})
	}
}

// begin acquires and starts one piece of work of a slot.
func begin(t *testing.T, tab *slots.Table, name string, now time.Time) *slots.Grant {
	t.Helper()
	tab.Add(name, 0, 1)
	g := acquire(t, tab, now)
	if g.Slot.Name() != name {
		t.Fatalf("got %s, want %s", g.Slot.Name(), name)
	}
	tab.Started(g, now)
	return g
}

// answer ends work with an answer.
func answer(tab *slots.Table, g *slots.Grant, now time.Time, a slots.Answer) {
	tab.Answered(g, now, a)
	tab.Release(g)
}

var (
	refusal = slots.Answer{Latency: time.Millisecond, Refused: true}
	good    = slots.Answer{Latency: time.Millisecond, OK: true}
)

// blockedFor says how long a slot is blocked.
func blockedFor(tab *slots.Table, name string, now time.Time) time.Duration {
	st, _ := tab.Lookup(name)
	return st.Next.Sub(now)
}

func TestPenalty(t *testing.T) {
	t.Run("doubles up to a minute", func(t *testing.T) {
		tab, now := free(), at(0)
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			answer(tab, begin(t, tab, "a", now), now, refusal)
			if got := blockedFor(tab, "a", now); got != want*time.Second {
				t.Errorf("refusal %d blocks for %v, want %v", i, got, want*time.Second)
			}
			now = now.Add(want * time.Second)
		}
	})
	for _, tt := range []struct {
		name   string
		delay  time.Duration // of the policy
		spread float64
		want   time.Duration
	}{
		{"begins with twice the delay", 5 * time.Second, 0, 10 * time.Second},
		{"leaves a larger delay alone", time.Hour, 0, time.Hour},
		{"is spread by up to a half", 0, 0.5, 1250 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab, a := delayed(tt.delay), refusal
			a.Spread = tt.spread
			answer(tab, begin(t, tab, "a", at(0)), at(0), a)
			if got := blockedFor(tab, "a", at(0)); got != tt.want {
				t.Errorf("blocked for %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("of those under way together one raises it", func(t *testing.T) {
		tab := free()
		first, second := begin(t, tab, "a", at(0)), begin(t, tab, "a", at(0))
		answer(tab, first, at(1), refusal)
		answer(tab, second, at(1.5), refusal)
		if got := blockedFor(tab, "a", at(1.5)); got != time.Second {
			t.Errorf("blocked for %v after the second, want 1s", got)
		}
		if st, _ := tab.Lookup("a"); st.Delay != time.Second {
			t.Errorf("the delay is %v, want 1s", st.Delay)
		}
	})
	t.Run("of work without a grant", func(t *testing.T) {
		tab := free()
		for _, tt := range []struct {
			at   float64
			want time.Duration
		}{{1, time.Second}, {1.5, time.Second}, {2.5, 2 * time.Second}} { // the second one comes within the pause of the first
			tab.Refused("a", at(tt.at), 0, 0)
			if got := blockedFor(tab, "a", at(tt.at)); got != tt.want {
				t.Errorf("the refusal at %vs blocks for %v, want %v", tt.at, got, tt.want)
			}
		}
		tab.Refused("a", at(3), time.Minute, 0)
		tab.Refused("a", at(4), time.Second, 0)
		if got := blockedFor(tab, "a", at(4)); got != 59*time.Second {
			t.Errorf("Retry-After of a minute leaves %v after a second", got)
		}
		tab.Add("a", 0, 1)
		if _, ok := tab.Acquire(at(62), false); ok {
			t.Error("the slot is served within its pause")
		}
	})
	t.Run("good answers take it away by tenths", func(t *testing.T) {
		tab, now := free(), at(0)
		early := begin(t, tab, "a", now)
		answer(tab, begin(t, tab, "a", now), now, refusal)
		answer(tab, early, now, good) // started before the refusal, says nothing
		n := 0
		for want := time.Second; ; n++ {
			st, _ := tab.Lookup("a")
			if st.Delay == 0 {
				break
			}
			if diff := st.Delay - want; diff.Abs() > time.Microsecond {
				t.Fatalf("after %d good answers the delay is %v, want %v", n, st.Delay, want)
			}
			want = time.Duration(float64(want) * 0.9)
			now = now.Add(2 * time.Second)
			g := begin(t, tab, "a", now)
			tab.Add("a", 0, 1) // work keeps the slot
			answer(tab, g, now, good)
		}
		if n != 29 {
			t.Errorf("it took %d good answers, want 29: 0.9^29 < 0.05", n)
		}
	})
	t.Run("Retry-After blocks for just that", func(t *testing.T) {
		tab, a := free(), refusal
		a.RetryAfter, a.Spread = 90*time.Second, 1
		g := begin(t, tab, "a", at(0))
		late := begin(t, tab, "a", at(0))
		answer(tab, g, at(3), a)
		if got := blockedFor(tab, "a", at(3)); got != 90*time.Second {
			t.Errorf("blocked for %v, want 1m30s", got)
		}
		a.RetryAfter = time.Second
		answer(tab, late, at(4), a) // does not shorten it
		if st, _ := tab.Lookup("a"); st.Next != at(93) || st.Delay != 0 {
			t.Errorf("blocked until %v with a delay of %v, want %v and none", st.Next, st.Delay, at(93))
		}
	})
	t.Run("is forgotten after ten minutes without work", func(t *testing.T) {
		tab := free()
		answer(tab, begin(t, tab, "a", at(0)), at(0), refusal)
		tab.Acquire(at(599), false)
		if tab.Len() != 1 {
			t.Error("the slot was forgotten")
		}
		tab.Acquire(at(600), false)
		if tab.Len() != 0 {
			t.Error("the slot was not forgotten")
		}
	})
	t.Run("ended or not begun", func(t *testing.T) {
		tab := free()
		tab.Add("a", 0, 1)
		g := acquire(t, tab, at(0))
		tab.Answered(g, at(0), refusal)
		tab.Started(g, at(0))
		tab.Release(g)
		tab.Answered(g, at(0), refusal)
		if tab.Len() != 0 {
			t.Error("it counted")
		}
	})
}

// Forgive ends penalty and pause of a slot, and nothing else. Work that was under way earns no further penalty.
func TestForgive(t *testing.T) {
	refuse := func(t *testing.T, tab *slots.Table, a slots.Answer) {
		t.Helper()
		answer(tab, begin(t, tab, "a", at(0)), at(0), a)
	}
	paused := slots.Answer{Refused: true, RetryAfter: time.Hour}
	for _, tt := range []struct {
		name     string
		prepare  func(t *testing.T, tab *slots.Table)
		forgiven bool
		blocked  time.Duration // after it
	}{
		{"an unknown slot", func(*testing.T, *slots.Table) {}, false, 0},
		{"a slot that was not refused", func(t *testing.T, tab *slots.Table) { refuse(t, tab, good) }, false, 0},
		{"a penalty", func(t *testing.T, tab *slots.Table) { refuse(t, tab, refusal) }, true, 0},
		{"a Retry-After", func(t *testing.T, tab *slots.Table) { refuse(t, tab, paused) }, true, 0},
		{"a penalty and a Retry-After", func(t *testing.T, tab *slots.Table) {
			refuse(t, tab, refusal)
			tab.Refused("a", at(0), time.Hour, 0)
		}, true, 0},
		{"a block that no answer has earned", func(_ *testing.T, tab *slots.Table) { tab.Block("a", at(0), at(60)) }, false, time.Minute},
		{"a delay that code has asked for", func(t *testing.T, tab *slots.Table) {
			tab.SetDelay("a", slots.Asked, at(0), 5*time.Second)
			refuse(t, tab, paused)
		}, true, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := free()
			tt.prepare(t, tab)
			if got := tab.Forgive("a", at(0)); got != tt.forgiven {
				t.Errorf("forgiven: %t", got)
			}
			if got := max(blockedFor(tab, "a", at(0)), 0); got != tt.blocked {
				t.Errorf("it is blocked for %v, want %v", got, tt.blocked)
			}
			if tab.Forgive("a", at(0)) {
				t.Error("there was more to forgive")
			}
			if st, known := tab.Lookup("a"); known && st.Delays[slots.Penalty] > 0 {
				t.Errorf("the penalty is %v", st.Delays[slots.Penalty])
			}
		})
	}
	t.Run("work that was under way", func(t *testing.T) {
		tab := free()
		first, second := begin(t, tab, "a", at(0)), begin(t, tab, "a", at(0))
		answer(tab, first, at(1), refusal)
		if !tab.Forgive("a", at(1)) {
			t.Error("there was nothing to forgive")
		}
		answer(tab, second, at(1), refusal)
		if st, _ := tab.Lookup("a"); st.Delay != 0 || st.Next.After(at(1)) {
			t.Errorf("the delay is %v, the next start at %v", st.Delay, st.Next.Sub(at(0)))
		}
		answer(tab, begin(t, tab, "a", at(1)), at(1), refusal)
		if st, _ := tab.Lookup("a"); st.Delay != time.Second {
			t.Errorf("a refusal after it earns %v, want the first penalty again", st.Delay)
		}
	})
}

func TestSetPolicy(t *testing.T) {
	tab := delayed(10 * time.Second)
	tab.SetPolicy("unknown", slots.Policy{})
	begin(t, tab, "a", at(0))
	tab.Add("a", 0, 1)
	next(t, tab, at(10))
	tab.SetPolicy("a", slots.Policy{Delay: 30 * time.Second, Limit: 3})
	next(t, tab, at(30))
	tab.SetPolicy("a", slots.Policy{Delay: time.Second, Limit: 1})
	none(t, tab, at(20)) // one is in flight
	tab.SetPolicy("a", slots.Policy{Delay: time.Second, Limit: 2})
	acquire(t, tab, at(20))
	if tab.Len() != 1 {
		t.Errorf("%d slots, want one", tab.Len())
	}
}

func TestWaive(t *testing.T) {
	tab := delayed(time.Hour)
	tab.Waive("unknown")
	g := begin(t, tab, "a", at(0))
	tab.Block("a", at(0), at(1e6))
	for range 5 {
		tab.Add("a", 0, 1)
	}
	tab.Waive("a")
	for range 5 {
		tab.Release(acquire(t, tab, at(1)))
	}
	tab.Release(g)
	if tab.Len() != 0 {
		t.Errorf("%d slots are left", tab.Len())
	}
}

// Slots that hang on one gate share its limit, best first, and others are not held up.
func TestGate(t *testing.T) {
	tab := free()
	enter := func(name, gate string, limit int) (*slots.Grant, bool) {
		t.Helper()
		tab.Add(name, 0, 1)
		g := acquire(t, tab, at(0))
		if g.Slot.Name() != name {
			t.Fatalf("got %s, want %s", g.Slot.Name(), name)
		}
		return g, tab.Enter(g, slots.Gate{Name: gate, Limit: limit, Stays: true})
	}
	// What is refused is added before it is given back.
	back := func(g *slots.Grant, priority int) {
		tab.Add(g.Slot.Name(), priority, 1)
		tab.Release(g)
	}
	a, ok := enter("a", "ip", 1)
	if !ok {
		t.Fatal("an open gate let nothing in")
	}
	b, ok := enter("b", "ip", 1)
	if ok {
		t.Fatal("a closed gate let something in")
	}
	back(b, 1)
	c, _ := enter("c", "ip", 1)
	back(c, 7)
	none(t, tab, at(0))
	if st, _ := tab.Lookup("c"); st.Gate != "ip" || !st.Gated {
		t.Errorf("c hangs on %q, gated: %v", st.Gate, st.Gated)
	}
	other, ok := enter("d", "", 1)
	if !ok {
		t.Error("no gate let nothing in")
	}
	tab.Ask("b", "fetch") // waiters go first, at the gate too
	none(t, tab, at(0))
	tab.Release(a)
	var got []string
	for {
		g, ok := tab.Acquire(at(0), false)
		if !ok {
			break
		}
		got = append(got, fmt.Sprint(g.Slot.Name(), g.Waiter))
		if !tab.Enter(g, slots.Gate{Name: "ip", Limit: 1, Stays: true}) {
			t.Error("what was acquired does not count in its gate")
		}
		none(t, tab, at(0))
		tab.Release(g)
	}
	if fmt.Sprint(got) != "[bfetch c<nil> b<nil>]" {
		t.Errorf("order %v", got)
	}
	tab.Release(other)
	if tab.Len() != 0 {
		t.Errorf("%d slots are left", tab.Len())
	}
}

// What was picked, and takes its time before it starts, may find that it must not any more.
func TestStartable(t *testing.T) {
	tab := free()
	for range 4 {
		tab.Add("a", 0, 1)
	}
	one, two, three := acquire(t, tab, at(0)), acquire(t, tab, at(0)), acquire(t, tab, at(0))
	want := func(g *slots.Grant, now float64, want bool) {
		t.Helper()
		if got := tab.Startable(g, at(now)); got != want {
			t.Errorf("at %v s Startable is %v", now, got)
		}
	}
	want(one, 1, true)
	tab.Block("a", at(1), at(5))
	want(one, 4.9, false)
	want(one, 5, true)
	tab.SetDelay("a", slots.Robots, at(5), 2*time.Second)
	want(one, 6, false) // of three that were picked without a delay one may go
	tab.Release(two)
	tab.Release(three)
	want(one, 6, true)
	tab.Started(one, at(6))
	want(one, 9, false) // for something else
	g := acquire(t, tab, at(9))
	want(g, 9, true)
	tab.Waive("a")
	want(one, 9, true)
}

// Work that has to pass two gates is counted in both or in neither.
func TestTwoGates(t *testing.T) {
	tab := free()
	first, second := slots.Gate{Name: "proxy", Limit: 2}, slots.Gate{Name: "downloader", Limit: 1}
	take := func(name string) *slots.Grant {
		t.Helper()
		tab.Add(name, 0, 1)
		g := acquire(t, tab, at(0))
		if g.Slot.Name() != name {
			t.Fatalf("got %s, want %s", g.Slot.Name(), name)
		}
		return g
	}
	a, b := take("a"), take("b")
	if !tab.Enter(a, first, second) || tab.Enter(b, first, second) {
		t.Fatal("the second gate let in none or two, want one")
	}
	tab.Add("b", 0, 1)
	tab.Release(b)
	none(t, tab, at(0))
	c, d := take("c"), take("d")
	if !tab.Enter(c, first) || tab.Enter(d, first) {
		t.Error("what was refused at the second gate is counted in the first one, or what passed is not")
	}
	tab.Release(d)
	tab.Release(a)
	if b = acquire(t, tab, at(0)); b.Slot.Name() != "b" || !tab.Enter(b, first, second) {
		t.Error("b does not pass gates that are open")
	}
	if !tab.Enter(b) || !tab.Enter(c, first, second) { // both leave what they no longer name
		t.Error("a gate that was left is closed")
	}
	tab.Release(b)
	tab.Release(c)
	if tab.Len() != 0 {
		t.Errorf("%d slots are left", tab.Len())
	}
}
