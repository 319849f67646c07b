package slots_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// at is the instant so many seconds after the epoch.
func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

func always(p slots.Policy) func(string) slots.Policy {
	return func(string) slots.Policy { return p }
}

func free() *slots.Table { return slots.New(nil) }

func delayed(d time.Duration) *slots.Table { return slots.New(always(slots.Policy{Delay: d})) }

// acquire wants a grant.
func acquire(t *testing.T, tab *slots.Table, now time.Time) *slots.Grant {
	t.Helper()
	g, ok := tab.Acquire(now, false)
	if !ok {
		t.Fatalf("Acquire at %v: nothing ready", now.Sub(epoch))
	}
	return g
}

// none wants no grant.
func none(t *testing.T, tab *slots.Table, now time.Time) {
	t.Helper()
	if g, ok := tab.Acquire(now, false); ok {
		t.Fatalf("Acquire at %v: got slot %s, want none", now.Sub(epoch), g.Slot.Name())
	}
}

// next wants that instant from Next.
func next(t *testing.T, tab *slots.Table, want time.Time) {
	t.Helper()
	if got, ok := tab.Next(); !ok || !got.Equal(want) {
		t.Fatalf("Next: %v %v, want %v", got, ok, want)
	}
}

// finish starts and releases at once.
func finish(tab *slots.Table, g *slots.Grant, now time.Time) {
	tab.Started(g, now)
	tab.Release(g)
}

func TestOrder(t *testing.T) {
	tests := []struct {
		name string
		add  string // slots, "a:3" with a priority, "!" takes one
		want string
	}{
		{"two slots take turns", "a a b b", "a b a b"},
		{"three slots take turns", "a a b c", "a b c a"},
		{"priority before turn", "a b:5 c:3 b:5", "b b c a"},
		{"best priority of a slot counts", "a b:1 a:2", "a a b"},
		{"served longest ago", "a a a b b b ! ! !", "b a b"},
		{"a newcomer takes its turn", "a a a b b ! c ! d", "a c b d a"},
		{"a slot that comes back does not wait anew", "b a a c c ! ! ! a", "a c a"},
		{"extreme priorities", fmt.Sprintf("a:%d b:%d c", math.MinInt, math.MaxInt), "b c a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := free()
			for _, word := range strings.Fields(tt.add) {
				if word == "!" {
					finish(tab, acquire(t, tab, epoch), epoch)
					continue
				}
				name, p, _ := strings.Cut(word, ":")
				priority := 0
				if p != "" {
					if _, err := fmt.Sscan(p, &priority); err != nil {
						t.Fatal(err)
					}
				}
				tab.Add(name, priority, 1)
			}
			var got []string
			var open []*slots.Grant
			for {
				g, ok := tab.Acquire(epoch, false)
				if !ok {
					break
				}
				got = append(got, g.Slot.Name())
				open = append(open, g)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("order %q, want %q", s, tt.want)
			}
			for _, g := range open {
				finish(tab, g, epoch)
			}
			if tab.Len() != 0 {
				t.Errorf("%d slots left", tab.Len())
			}
		})
	}
}

// Stamping a slot when it is picked instead of when its work starts gives starts that are much
// closer than the delay when all workers are busy: all grants of an hour would start together.
func TestSpacingIsBetweenStarts(t *testing.T) {
	tab := delayed(time.Second)
	for range 3 {
		tab.Add("a", 0, 1)
	}
	first := acquire(t, tab, at(0))
	none(t, tab, at(1)) // picked long ago, but not started: the slot stays hidden
	none(t, tab, at(50))
	if _, ok := tab.Next(); ok {
		t.Error("Next promises an instant although the start alone decides")
	}
	tab.Started(first, at(50))
	none(t, tab, at(50.9))
	next(t, tab, at(51))
	second := acquire(t, tab, at(51))
	tab.Release(first)
	none(t, tab, at(53)) // the release of the first says nothing about the start of the second
	tab.Started(second, at(54))
	none(t, tab, at(54.9))
	acquire(t, tab, at(55))
}

func TestReleaseWithoutStartLeavesNoStamp(t *testing.T) {
	tab := delayed(time.Second)
	tab.Add("a", 0, 1)
	tab.Add("a", 0, 1)
	g := acquire(t, tab, at(0))
	tab.Release(g)
	g = acquire(t, tab, at(0))
	tab.Started(g, at(0))
	tab.Started(g, at(5)) // does nothing
	tab.Release(g)
	tab.Release(g)        // does nothing
	tab.Started(g, at(6)) // does nothing
	tab.Add("a", 0, 1)
	if g = acquire(t, tab, at(6)); g.Slot.InFlight() != 1 {
		t.Errorf("in flight %d, want 1", g.Slot.InFlight())
	}
}

func TestWaiters(t *testing.T) {
	tab := delayed(time.Second)
	tab.Add("a", 9, 1)
	tab.Add("b", 9, 1)
	tab.Ask("b", 1)
	two := tab.Ask("b", 2)
	tab.Ask("a", 3)
	four := tab.Ask("b", 4)
	if !tab.Withdraw(two) || tab.Withdraw(two) {
		t.Error("Withdraw: want true, then false")
	}
	var got []string
	for now := range 4 {
		for {
			g, ok := tab.Acquire(at(float64(now)), false)
			if !ok {
				break
			}
			got = append(got, fmt.Sprintf("%d %s %v", now, g.Slot.Name(), g.Waiter))
			finish(tab, g, at(float64(now)))
		}
	}
	want := []string{"0 b 1", "0 a 3", "1 b 4", "1 a <nil>", "2 b <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if tab.Withdraw(four) {
		t.Error("Withdraw after the grant gave true")
	}
}

func TestDelays(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name  string
		set   func(tab *slots.Table)
		want  float64 // when the second grant is given, the first having started at 0
		delay time.Duration
	}{
		{"policy alone", func(tab *slots.Table) {}, 2, 2 * s},
		{"a smaller one changes nothing", func(tab *slots.Table) { tab.SetDelay("a", slots.Robots, at(0), s) }, 2, 2 * s},
		{"the largest counts", func(tab *slots.Table) {
			tab.SetDelay("a", slots.Robots, at(0), 5*s)
			tab.SetDelay("a", slots.Throttled, at(0), 7*s)
			tab.SetDelay("a", slots.Penalty, at(0), 3*s)
		}, 7, 7 * s},
		{"each is kept by itself", func(tab *slots.Table) {
			tab.SetDelay("a", slots.Robots, at(0), 5*s)
			tab.SetDelay("a", slots.Penalty, at(0), 9*s)
			tab.SetDelay("a", slots.Penalty, at(0), 0)
		}, 5, 5 * s},
		{"user stands in for the policy", func(tab *slots.Table) { tab.SetDelay("a", slots.User, at(0), s) }, 1, s},
		{"user may ask for none", func(tab *slots.Table) { tab.SetDelay("a", slots.User, at(0), 0) }, 0, 0},
		{"user takes it back", func(tab *slots.Table) {
			tab.SetDelay("a", slots.User, at(0), s)
			tab.SetDelay("a", slots.User, at(0), -1)
		}, 2, 2 * s},
		{"block", func(tab *slots.Table) { tab.Block("a", at(0), at(30)) }, 30, 2 * s},
		{"block that is shorter than the delay", func(tab *slots.Table) { tab.Block("a", at(0), at(1)) }, 2, 2 * s},
		{"of two blocks the later", func(tab *slots.Table) {
			tab.Block("a", at(0), at(30))
			tab.Block("a", at(0), at(20))
		}, 30, 2 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := delayed(2 * s)
			tab.Add("a", 0, 1)
			tab.Add("a", 0, 1)
			finish(tab, acquire(t, tab, at(0)), at(0))
			tt.set(tab)
			if tt.want > 0 {
				none(t, tab, at(tt.want).Add(-1))
				next(t, tab, at(tt.want))
			}
			if g := acquire(t, tab, at(tt.want)); g.Slot.Delay() != tt.delay {
				t.Errorf("delay in force %v, want %v", g.Slot.Delay(), tt.delay)
			}
		})
	}
}

func TestHugeDelayDoesNotOverflow(t *testing.T) {
	tab := delayed(math.MaxInt64)
	tab.Add("a", 0, 1)
	tab.Add("a", 0, 1)
	finish(tab, acquire(t, tab, at(0)), at(10))
	none(t, tab, at(1e9))
	tab.Block("b", at(0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	tab.Add("b", 0, 1)
	none(t, tab, at(1e9))
	tab.Block("c", at(0), time.Time{})
	tab.Add("c", 0, 1)
	acquire(t, tab, at(1e9))
}

func TestJitter(t *testing.T) {
	factors := []float64{0.5, 1.5, math.NaN(), -1, math.Inf(1)}
	want := []time.Duration{5, 15, 10, 10, 10} // seconds
	calls := 0
	tab := slots.New(always(slots.Policy{Delay: 10 * time.Second, Jitter: func() float64 {
		calls++
		return factors[calls-1]
	}}))
	now := at(0)
	for i := range factors {
		tab.Add("a", 0, 1)
		tab.Add("a", 0, 1)
		finish(tab, acquire(t, tab, now), now)
		now = now.Add(want[i] * time.Second)
		next(t, tab, now)
		tab.SetDelay("a", slots.Robots, at(0), 8*time.Second) // is never undercut
		next(t, tab, now.Add(max(0, 8-want[i])*time.Second))
		tab.SetDelay("a", slots.Robots, at(0), 0)
		next(t, tab, now) // the same draw
	}
}

func TestHead(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, since []int // priorities of what is added before the grant, and until Head is told
		priority      int
		more          bool
		want          [2]int // pending, priority
	}{
		{"brings the new priority", []int{9, 1}, nil, 1, true, [2]int{1, 1}},
		{"keeps what was added since", []int{5, 5}, []int{0, 3}, 2, true, [2]int{3, 3}},
		{"an empty store empties the queue but for what was added", []int{7, 7, 7, 7, 7}, []int{2}, 0, false, [2]int{1, 2}},
		{"more than counted", []int{0}, nil, 4, true, [2]int{1, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := free()
			for _, priority := range tt.before {
				tab.Add("a", priority, 1)
			}
			g := acquire(t, tab, epoch)
			for _, priority := range tt.since {
				tab.Add("a", priority, 1)
			}
			tab.Head(g, tt.priority, tt.more)
			if st, _ := tab.Lookup("a"); [2]int{st.Pending, st.Priority} != tt.want {
				t.Errorf("%d pending at %d, want %d at %d", st.Pending, st.Priority, tt.want[0], tt.want[1])
			}
		})
	}
	t.Run("what is added is never missed", func(t *testing.T) { // but may be counted twice, until its queue is empty
		tab := free()
		tab.Add("a", 0, 1)
		tab.Head(acquire(t, tab, epoch), 0, true) // an entry that is stored, of which Add tells later
		acquire(t, tab, epoch)                    // takes that one; nothing more is stored, as the grant says
		tab.Add("a", 0, 1)
		tab.Add("a", 0, 1)
		if st, _ := tab.Lookup("a"); st.Pending < 2 {
			t.Errorf("pending %d, want 2 at least", st.Pending)
		}
	})
	t.Run("what Head has told of is not counted again", func(t *testing.T) {
		tab := free()
		tab.Add("a", 0, 1)
		for range 2 { // ten entries are stored, of which Add tells later; one of them is taken
			tab.Head(acquire(t, tab, epoch), 0, true)
		}
		tab.Add("a", 0, 10)
		if st, _ := tab.Lookup("a"); st.Pending != 9 {
			t.Errorf("pending %d, want 9", st.Pending)
		}
		tab.Add("a", 0, 1)
		if st, _ := tab.Lookup("a"); st.Pending != 10 {
			t.Errorf("pending %d, want 10", st.Pending)
		}
	})
	t.Run("late news is ignored", func(t *testing.T) {
		tab := free()
		for range 3 {
			tab.Add("a", 7, 1)
		}
		old := acquire(t, tab, epoch)
		young := acquire(t, tab, epoch)
		tab.Head(old, 0, false)
		if st, _ := tab.Lookup("a"); st.Pending != 1 {
			t.Errorf("pending %d, want 1", st.Pending)
		}
		tab.Ask("a", "w")
		waiter := acquire(t, tab, epoch)
		tab.Head(waiter, 0, false)
		tab.Head(young, 3, true)
		if st, _ := tab.Lookup("a"); st.Pending != 1 || st.Priority != 3 {
			t.Errorf("pending %d at %d, want 1 at 3", st.Pending, st.Priority)
		}
		for _, g := range []*slots.Grant{old, young, waiter} {
			tab.Release(g)
		}
		last := acquire(t, tab, epoch)
		tab.Release(last)
		tab.Head(last, 9, true) // the slot is forgotten
		if tab.Len() != 0 {
			t.Error("Head after Release brought the slot back")
		}
	})
}

// Work that begins later than it was started is the last of its slot, and waits for what was started or asked for meanwhile.
func TestDelayed(t *testing.T) {
	tab := delayed(10 * time.Second)
	tab.Add("a", 0, 5)
	start := func(seconds float64) *slots.Grant {
		g := acquire(t, tab, at(seconds))
		tab.Started(g, at(seconds))
		return g
	}
	want := func(g *slots.Grant, now, begins, then float64) {
		t.Helper()
		if got := tab.Delayed(g, at(now)); !got.Equal(at(begins)) {
			t.Errorf("at %v it begins at %v, want %v", now, got.Sub(epoch), begins)
		}
		next(t, tab, at(then))
	}
	first := start(0)
	want(first, 3, 3, 13) // nothing else has been started
	second := start(13)
	third := start(23)
	want(second, 25, 33, 43) // after the third
	want(third, 25, 43, 53)  // after the second
	tab.Block("a", at(25), at(70))
	want(third, 44, 70, 80)
	tab.Release(first)
	want(first, 45, 45, 80)
	if got := tab.Delayed(acquire(t, tab, at(80)), at(81)); !got.Equal(at(81)) {
		t.Errorf("what was not started begins at %v, want 81s", got.Sub(epoch))
	}
}

// Of slots without work at Resume it is not known when the table before has started something there: their delay passes first.
func TestResume(t *testing.T) {
	table, now := slots.New(func(string) slots.Policy { return slots.Policy{Delay: time.Second} }), at(0)
	table.Add("before", 0, 1)
	table.Block("known", now, now.Add(time.Second/2))
	table.Resume(now)
	table.Add("known", 0, 1)
	table.Add("after", 0, 1)
	started := func(at time.Time) (names []string) {
		for {
			g, ok := table.Acquire(at, false)
			if !ok {
				return names
			}
			names = append(names, g.Slot.Name())
		}
	}
	if got := started(now.Add(time.Second - 1)); !slices.Equal(got, []string{"before"}) {
		t.Errorf("before the delay has passed %q were started", got)
	}
	if got := started(now.Add(time.Second)); !slices.Equal(got, []string{"known", "after"}) {
		t.Errorf("then %q were started", got)
	}
	table.Add("late", 0, 1)
	if got := started(now.Add(time.Second)); !slices.Equal(got, []string{"late"}) {
		t.Errorf("after that %q were started", got)
	}
}

func TestForgetting(t *testing.T) {
	tab := delayed(10 * time.Second)
	tab.Add("a", 0, 1)
	tab.Add("b", 0, 1)
	tab.SetDelay("b", slots.Robots, at(0), time.Second)
	for range 2 {
		finish(tab, acquire(t, tab, at(0)), at(0))
	}
	tab.Acquire(at(9), false)
	if tab.Len() != 2 {
		t.Errorf("a was forgotten before its delay was over: %d slots", tab.Len())
	}
	if _, ok := tab.Next(); ok {
		t.Error("Next promises a slot without work")
	}
	tab.Acquire(at(10), false)
	if _, ok := tab.Lookup("a"); ok {
		t.Error("a was not forgotten")
	}
	const day = 24 * 60 * 60
	tab.Acquire(at(day-1), false)
	if _, ok := tab.Lookup("b"); !ok {
		t.Error("b was forgotten with its delay")
	}
	tab.Acquire(at(day), false)
	if _, ok := tab.Lookup("b"); ok {
		t.Error("b was not forgotten when a new robots.txt was due")
	}
	tab.SetDelay("b", slots.Robots, at(day), time.Second)
	tab.SetDelay("b", slots.Robots, at(day), 0)
	tab.SetDelay("c", slots.Penalty, at(day), 0)
	if tab.Len() != 0 {
		t.Errorf("%d slots left", tab.Len())
	}
	tab.SetDelay("d", slots.Asked, at(day), time.Second)
	tab.Acquire(at(1e9), false)
	if _, ok := tab.Lookup("d"); !ok {
		t.Error("d was forgotten with a delay that was asked for")
	}
}

func TestStarvation(t *testing.T) {
	t.Run("new slots without end", func(t *testing.T) {
		tab := free()
		for range 200 {
			tab.Add("old", 0, 1)
		}
		served := 0
		for i := range 1000 {
			tab.Add(fmt.Sprint("new", i), 0, 1)
			g := acquire(t, tab, epoch)
			if g.Slot.Name() == "old" {
				served++
			}
			finish(tab, g, epoch)
		}
		if served < 5 {
			t.Errorf("in 1000 grants old was served %d times", served)
		}
	})
	t.Run("a slot that is forgotten and born again each time", func(t *testing.T) {
		tab := free()
		for range 20 {
			tab.Add("big", 0, 1)
		}
		big := 0
		for range 20 {
			tab.Add("chain", 0, 1)
			for {
				g := acquire(t, tab, epoch)
				finish(tab, g, epoch)
				if g.Slot.Name() == "chain" {
					break
				}
				big++
			}
		}
		if big < 15 {
			t.Errorf("big was served %d times beside 20 of chain, want about as often", big)
		}
	})
}

func TestSnapshot(t *testing.T) {
	tab := slots.New(always(slots.Policy{Delay: time.Second, Limit: 4}))
	tab.Add("a", 3, 1)
	tab.Add("a", 3, 1)
	tab.Ask("b", 1)
	tab.Ask("b", 2)
	tab.Park("b")
	tab.SetDelay("b", slots.Throttled, at(0), 3*time.Second)
	finish(tab, acquire(t, tab, at(0)), at(0))
	got := map[string]slots.State{}
	for s := range tab.Snapshot() {
		got[s.Name] = s
	}
	want := map[string]slots.State{
		"a": {Name: "a", Pending: 1, Priority: 3, Limit: 4, Delay: time.Second, Next: at(1), Delays: slots.Delays{-1, -1, -1, -1, -1}},
		"b": {Name: "b", Waiting: 2, Parked: 1, Limit: 4, Delay: 3 * time.Second, Learnt: true, Delays: slots.Delays{-1, -1, -1, 3 * time.Second, -1}},
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("slot %s:\ngot  %+v\nwant %+v", name, got[name], w)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d slots, want 2", len(got))
	}
}

func TestAskNilPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	free().Ask("a", nil)
}
