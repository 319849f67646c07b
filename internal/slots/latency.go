package slots

import (
	"math"
	"math/bits"
	"time"
)

// Recent is how far back the 95th percentile of a slot's latency looks, in whole minutes that began after that.
const Recent = 5 * time.Minute

const (
	newest      = 8                      // the newest latency is this part of the mean, as in RFC 6298 §2.3
	maxWindows  = 1000                   // slots whose recent latencies are known
	searchEvery = 100 * time.Millisecond // least time between two searches for a window to be replaced
	minutes     = int64(Recent / time.Minute)
)

// window counts the recent latencies of one slot. It stays when the table forgets the slot, so that a slot that has work
// only now and then keeps its mean.
type window struct {
	mean    uint32 // microseconds
	minutes [minutes]struct {
		minute int64 // since the table's base, that the counts are of; 0: none
		counts [classes]uint32
	}
}

// Latencies are counted in classes: eight linear ones of an eighth of a millisecond, then eight for each doubling. The last
// has all above two minutes.
const (
	classUnit = time.Millisecond / 8
	classes   = 144
)

func classOf(latency time.Duration) int {
	n := uint64(latency / classUnit)
	if n < 8 {
		return int(n)
	}
	doublings := bits.Len64(n) - 4
	return min(8*doublings+int(n>>doublings), classes-1)
}

// middleOf returns the latency in the middle of a class.
func middleOf(class int) time.Duration {
	if class < 8 {
		return time.Duration(class)*classUnit + classUnit/2
	}
	doublings := class/8 - 1
	return time.Duration(class%8+8)<<doublings*classUnit + classUnit<<doublings/2
}

// minuteOf numbers the minute of an instant, from 1.
func minuteOf(instant int64) int64 { return max(instant, 0)/int64(time.Minute) + 1 }

// isRecent reports whether a minute is among those that count in another one.
func isRecent(minute, now int64) bool { return minute > 0 && minute > now-minutes }

func (w *window) add(latency time.Duration, minute int64) {
	m := &w.minutes[minute%minutes]
	if m.minute > minute {
		return
	}
	if m.minute < minute {
		clear(m.counts[:])
		m.minute = minute
	}
	m.counts[classOf(latency)]++
}

// hasRecent reports whether a latency was added recently.
func (w *window) hasRecent(now int64) bool {
	for i := range w.minutes {
		if isRecent(w.minutes[i].minute, now) {
			return true
		}
	}
	return false
}

// percentile95 returns the 95th percentile of the recent latencies, to about a twentieth of it; 0 if there are none.
func (w *window) percentile95(now int64) time.Duration {
	var counts [classes]uint64
	total := uint64(0)
	for i := range w.minutes {
		m := &w.minutes[i]
		if !isRecent(m.minute, now) {
			continue
		}
		for class, n := range m.counts {
			counts[class] += uint64(n)
			total += uint64(n)
		}
	}
	if total == 0 {
		return 0
	}
	rank, seen := (total*95+99)/100, uint64(0)
	for class, n := range counts {
		if seen += n; seen >= rank {
			return middleOf(class)
		}
	}
	return middleOf(classes - 1)
}

// Measured reports the latency of an answer: the time from the start of the work of an open grant to the first byte, which came at at.
// The delays do not depend on it. With more than a thousand slots that have had answers, a call may look at all of the
// thousand whose recent latencies are kept, ten times a second at most.
func (t *Table) Measured(g *Grant, at time.Time, latency time.Duration) {
	if g.released || latency <= 0 {
		return
	}
	s := g.Slot
	mean, micros := int64(s.latency), min(latency.Round(time.Microsecond).Microseconds(), math.MaxUint32)
	if mean == 0 {
		mean = micros
	}
	s.latency = uint32(mean + (micros-mean)/newest)
	minute := minuteOf(t.instant(at))
	if w := t.windowOf(s, minute); w != nil {
		w.mean = s.latency
		w.add(latency, minute)
	}
}

// Latency returns the mean of the latencies of the slot's answers, of which the newest counts an eighth; 0 if none has come.
func (s *Slot) Latency() time.Duration { return time.Duration(s.latency) * time.Microsecond }

// Latency95 returns the 95th percentile of the latencies that the slot of that name had in the last [Recent], to about a
// twentieth of it; 0 if it had none, or is not among the thousand slots of which that is known: when there are more, a slot
// takes the place of one with less than half as many entries in its queue, or of one that had no answer recently.
func (t *Table) Latency95(name string, now time.Time) time.Duration {
	if w := t.windows[name]; w != nil {
		return w.percentile95(minuteOf(t.instant(now)))
	}
	return 0
}

// recall gives a slot that is born the mean that it had recently.
func (t *Table) recall(s *Slot) {
	if w := t.windows[s.name]; w != nil && w.hasRecent(minuteOf(t.now)) {
		s.latency = w.mean
	}
}

// windowOf returns the window of a slot, nil if it has none.
func (t *Table) windowOf(s *Slot, minute int64) *window {
	if w := t.windows[s.name]; w != nil {
		return w
	}
	if len(t.windows) >= maxWindows && !t.dropWindow(int(s.pending), minute) {
		return nil
	}
	w := new(window)
	t.windows[s.name] = w
	return w
}

// dropWindow makes room for the window of a slot with so many entries. It returns false if all others are needed more.
func (t *Table) dropWindow(pending int, minute int64) bool {
	if t.now < later(t.searched, searchEvery) {
		return false
	}
	t.searched = t.now
	least, fewest := "", math.MaxInt
	for name, w := range t.windows {
		n := -1
		if w.hasRecent(minute) {
			n = 0
			if s := t.slots.get(name); s != nil {
				n = int(s.pending)
			}
		}
		if n < fewest {
			least, fewest = name, n
		}
	}
	if pending <= 2*fewest {
		return false
	}
	delete(t.windows, least)
	return true
}
