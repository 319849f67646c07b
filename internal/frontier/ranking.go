package frontier

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// A look at all slots of a large table takes long: a fifth of a second for a million. So it is taken at most so often that it costs half
// a percent of the time, or each rankingKept; in between only those of the highest ranks are looked at again.
const (
	largeTable  = 20_000 // slots
	rankedLeast = 100    // slots that are looked at again
	rankingCost = 200
	rankingKept = 30 * time.Second
)

// lastRanking has the slots of the highest ranks of the last look at a large table.
type lastRanking struct {
	until time.Time // when all are to be looked at again
	most  int       // so many were to be found
	names []string
}

// top returns how the n slots of the highest ranks are doing, the highest first, without those whose numbers are 0. last is of the same
// order.
func (f *Frontier[J]) top(n int, last *lastRanking, rankOf func(s *slots.Slot) rank) []Status {
	if n <= 0 {
		return nil
	}
	began := f.now()
	if all, ok := f.topAgain(n, last, began, rankOf); ok {
		return all
	}
	best, most := ranking(nil), max(n, rankedLeast)
	f.walk(func(s *slots.Slot) {
		one := ranked{rank: rankOf(s)}
		if one.isNothing() || len(best) == most && !one.above(best[0].rank) {
			return
		}
		one.status = f.statusOf(f.slots.State(s))
		if len(best) < most {
			heap.Push(&best, one)
		} else {
			best[0] = one
			heap.Fix(&best, 0)
		}
	})
	all := best.first(n)
	f.mu.Lock()
	defer f.mu.Unlock()
	*last = lastRanking{}
	if now := f.now(); f.slots.Len() >= largeTable {
		*last = lastRanking{until: now.Add(min(rankingCost*now.Sub(began), rankingKept)), most: most, names: best.names()}
	}
	return all
}

// topAgain is top for the slots of the last look at all of them. ok is false if that was too long ago, or of too few slots, or most of
// what is asked for has no rank any more.
func (f *Frontier[J]) topAgain(n int, last *lastRanking, now time.Time, rankOf func(s *slots.Slot) rank) (all []Status, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.Before(last.until) || n > last.most {
		return nil, false
	}
	var best ranking
	for _, name := range last.names {
		if s := f.slots.Get(name); s != nil {
			if r := rankOf(s); !r.isNothing() {
				best = append(best, ranked{r, f.statusOf(f.slots.State(s))})
			}
		}
	}
	return best.first(n), 2*len(best) >= min(n, len(last.names))
}

// rank is by what slots are ordered: the first number, or else the second, or else the name.
type rank struct {
	first, second int
	name          string
}

func (r rank) above(other rank) bool {
	return cmp.Or(cmp.Compare(r.first, other.first), cmp.Compare(r.second, other.second), strings.Compare(other.name, r.name)) > 0
}

// isNothing reports whether the numbers are 0.
func (r rank) isNothing() bool { return r.first == 0 && r.second == 0 }

// ranked is a slot with its rank.
type ranked struct {
	rank
	status Status
}

// ranking is a heap, with the slot of the lowest rank on top.
type ranking []ranked

func (r ranking) Len() int           { return len(r) }
func (r ranking) Less(i, j int) bool { return r[j].above(r[i].rank) }
func (r ranking) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranking) Push(s any)        { *r = append(*r, s.(ranked)) }

func (r *ranking) Pop() any {
	last := len(*r) - 1
	s := (*r)[last]
	*r = (*r)[:last]
	return s
}

// first sorts a ranking, and returns the first n.
func (r ranking) first(n int) []Status {
	slices.SortFunc(r, func(a, b ranked) int {
		if a.above(b.rank) {
			return -1
		}
		return 1
	})
	all := make([]Status, min(n, len(r)))
	for i := range all {
		all[i] = r[i].status
	}
	return all
}

func (r ranking) names() []string {
	names := make([]string, len(r))
	for i := range r {
		names[i] = r[i].status.Name
	}
	return names
}
