package slots_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// Slots come and go between the parts, so many that the table grows, shrinks and moves what it has. It fails if a slot
// that was there all the time is not visited exactly once, or a part is much larger than it was asked for.
func TestPart(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 200 {
		tab := delayed(0)
		stays := random.IntN(300)
		for i := range stays {
			tab.Add(fmt.Sprint("stays", i), 0, 1)
		}
		others := map[string]bool{}
		visited := map[string]int{}
		for from := uint64(0); ; {
			largest := 1 + random.IntN(50)
			size := 0
			from = tab.Part(from, largest, func(s *slots.Slot) {
				visited[s.Name()]++
				size++
				if state := tab.State(s); state.Pending != s.Pending() || state.Name != s.Name() {
					t.Fatalf("%+v of %s", state, s.Name())
				}
			})
			if size > 3*largest+20 {
				t.Fatalf("a part of %d slots, asked for %d (seed %d)", size, largest, seed)
			}
			if from == 0 {
				break
			}
			for range random.IntN(100) {
				name := fmt.Sprint("other", random.IntN(2000))
				if others[name] {
					tab.Park(name) // and what was added goes, so that it is forgotten
					tab.Unpark(name)
					continue
				}
				others[name] = true
				tab.Add(name, 1, 1)
			}
			if random.IntN(3) == 0 {
				for range random.IntN(100) {
					if g, ok := tab.Acquire(at(float64(round)), false); ok && others[g.Slot.Name()] {
						delete(others, g.Slot.Name())
						finish(tab, g, at(float64(round)))
					} else if ok {
						tab.Add(g.Slot.Name(), 0, 1)
						tab.Head(g, 0, true)
						finish(tab, g, at(float64(round)))
					}
				}
			}
		}
		for i := range stays {
			if n := visited[fmt.Sprint("stays", i)]; n != 1 {
				t.Fatalf("round %d: slot %d was visited %d times (seed %d)", round, i, n, seed)
			}
		}
	}
}

// BenchmarkPart reports how long 99 of 100 parts take of a million slots: so long their owner's lock is held.
func BenchmarkPart(b *testing.B) {
	tab := delayed(time.Second)
	for _, name := range names(1_000_000) {
		tab.Add(name, 0, 1)
	}
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		for from := uint64(0); ; {
			begin, most := time.Now(), 0
			from = tab.Part(from, 512, func(s *slots.Slot) { most = max(most, s.Pending()) })
			took = append(took, time.Since(begin))
			if from == 0 {
				break
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "µs/part")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "µs/part-p99")
}
