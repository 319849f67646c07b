package slots_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// measure has work of a slot answered after a latency.
func measure(t *testing.T, tab *slots.Table, name string, now time.Time, latency time.Duration) {
	t.Helper()
	tab.Add(name, math.MaxInt32, 1)
	g := acquire(t, tab, now)
	if g.Slot.Name() != name {
		t.Fatalf("got work of %s, want %s", g.Slot.Name(), name)
	}
	s, _ := tab.Lookup(name)
	tab.Head(g, 0, s.Pending > 0)
	tab.Started(g, now)
	tab.Measured(g, now.Add(latency), latency)
	tab.Release(g)
}

// The 95th percentile is that of the sorted latencies, to a sixteenth of it, from less than a millisecond to minutes.
func TestLatency95(t *testing.T) {
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 2))
	for _, n := range []int{1, 2, 19, 20, 21, 100, 5000} {
		for _, scale := range []time.Duration{200 * time.Microsecond, 3 * time.Millisecond, 400 * time.Millisecond, 20 * time.Second} {
			tab, name := free(), "a.test"
			all := make([]time.Duration, n)
			for i := range all {
				all[i] = 1 + time.Duration(random.ExpFloat64()*float64(scale))
				measure(t, tab, name, at(0), all[i])
			}
			slices.Sort(all)
			want := min(all[(n*95+99)/100-1], 2*time.Minute)
			got := tab.Latency95(name, at(60))
			if off := (got - want).Abs(); off > max(want/16, time.Millisecond/16) {
				t.Errorf("%d latencies around %v: %v, want %v (seed %d)", n, scale, got, want, seed)
			}
		}
	}
}

// The percentile is that of five minutes, the mean that of all answers, of which the newest counts an eighth.
func TestLatencyForgets(t *testing.T) {
	tab, name := delayed(time.Hour), "a.test"
	tab.Add(name, 0, 1) // the table keeps the slot
	answer := func(now, latency time.Duration) {
		t.Helper()
		tab.SetDelay(name, slots.User, at(now.Seconds()), 0)
		measure(t, tab, name, at(now.Seconds()), latency)
	}
	for _, step := range []struct {
		now, latency, mean, p95 time.Duration
	}{
		{0, 8 * time.Second, 8 * time.Second, 8 * time.Second},
		{2 * time.Minute, 16 * time.Second, 9 * time.Second, 16 * time.Second},
		{4 * time.Minute, time.Second, 8 * time.Second, 16 * time.Second},
		{8 * time.Minute, time.Second, 7125 * time.Millisecond, time.Second},
	} {
		answer(step.now, step.latency)
		now := at(step.now.Seconds() + 1)
		s, _ := tab.Lookup(name)
		if got := tab.Latency95(name, now); s.Latency != step.mean || (got-step.p95).Abs() > step.p95/16 {
			t.Errorf("after %v: mean %v, percentile %v, want %v and %v", step.now, s.Latency, got, step.mean, step.p95)
		}
	}
	if got := tab.Latency95(name, at(14*60)); got != 0 {
		t.Errorf("the percentile is %v after five minutes without an answer", got)
	}
	if got := tab.Latency95("b.test", at(14*60)); got != 0 {
		t.Errorf("the percentile of an unknown slot is %v", got)
	}
}

// A slot that is forgotten and born again has its recent mean, and no old one.
func TestLatencyOutlivesSlot(t *testing.T) {
	for _, tt := range []struct {
		after, want time.Duration
	}{{time.Minute, time.Second}, {6 * time.Minute, 0}} {
		tab := free()
		measure(t, tab, "a.test", at(0), time.Second)
		if _, ok := tab.Lookup("a.test"); ok {
			t.Fatal("the slot without work is kept")
		}
		finish(tab, acquireOf(t, tab, "b.test", at(tt.after.Seconds())), at(tt.after.Seconds()))
		tab.Add("a.test", 0, 1)
		if s, _ := tab.Lookup("a.test"); s.Latency != tt.want {
			t.Errorf("after %v: the mean is %v, want %v", tt.after, s.Latency, tt.want)
		}
	}
}

func acquireOf(t *testing.T, tab *slots.Table, name string, now time.Time) *slots.Grant {
	t.Helper()
	tab.Add(name, 0, 1)
	return acquire(t, tab, now)
}

// The percentiles of a thousand slots are known: of those that are busy, if they are more.
func TestLatency95OfManySlots(t *testing.T) {
	tab := free()
	known := func(now time.Time) (n int) {
		for i := range 1200 {
			if tab.Latency95(fmt.Sprint("host", i), now) > 0 {
				n++
			}
		}
		return n
	}
	for i := range 1200 {
		name := fmt.Sprint("host", i)
		tab.Add(name, 0, 4)
		measure(t, tab, name, at(float64(i)/100), time.Second)
	}
	if n := known(at(12)); n != 1000 {
		t.Errorf("percentiles of %d slots, want 1000", n)
	}
	busy := func(name string, entries int, now time.Time) bool {
		tab.Add(name, 0, entries)
		measure(t, tab, name, now, time.Second)
		return tab.Latency95(name, now.Add(time.Second)) > 0
	}
	for _, tt := range []struct {
		name    string
		entries int
		at      float64
		want    bool
	}{
		{"as busy as the others", 4, 20, false},
		{"twice as busy", 8, 30, false},
		{"busier", 9, 40, true},
		{"busier, too soon after the one before", 9, 40.05, false},
		{"nothing recent of the others", 1, 400, true},
	} {
		if got := busy(tt.name, tt.entries, at(tt.at)); got != tt.want {
			t.Errorf("%s: the percentile is known: %t", tt.name, got)
		}
	}
}
