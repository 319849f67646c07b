package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// A call counts within the first bound that it does not exceed.
func TestTimesCounts(t *testing.T) {
	bounds := guard.TimeBounds()
	for i, bound := range bounds {
		for took, at := range map[time.Duration]int{bound - 1: i, bound: i, bound + 1: i + 1} {
			var times guard.Times
			times.Add(took, i%2 == 0)
			failed, total, counts := times.Read()
			if counts[at] != 1 || total != took || failed != int64(1-i%2) {
				t.Errorf("%v: count %v, total %v, %d failed", took, counts, total, failed)
			}
		}
	}
	var times guard.Times
	times.Add(-1, false)
	times.Add(time.Hour, false)
	if _, _, counts := times.Read(); counts[0] != 1 || counts[len(bounds)] != 1 {
		t.Errorf("the counts of the shortest and the longest call: %v", counts)
	}
}

// Waits that overlap count once, and one that is open counts until now.
func TestWaitsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := guard.NewClock()
		w := guard.NewWaits(clock)
		step := func() { <-time.NewTimer(time.Second).C }
		w.Begin()
		step()
		w.Begin()
		step()
		w.End()
		step()
		if got := w.Until(clock.Now()); got != 3*time.Second {
			t.Errorf("%v were waited while a wait is open", got)
		}
		w.End()
		step()
		if got := w.Until(clock.Now()); got != 3*time.Second {
			t.Errorf("%v were waited", got)
		}
	})
}
