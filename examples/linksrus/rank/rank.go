// Package rank computes PageRank: how likely a reader is to be on a page who follows links at random and
// now and then begins anew somewhere else.
//
//	ranks, err := rank.Compute(g.Links(ctx, graph.All, now), g.Edges(ctx, graph.All, now), rank.Options{})
//
// It is the algorithm of L. Page, S. Brin, R. Motwani and T. Winograd, "The PageRank Citation Ranking:
// Bringing Order to the Web" (1999), by power iteration, with what pages without links have given to all pages
// alike. Ranks are probabilities: they add up to 1.
package rank

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
)

// Options say how ranks are computed. The zero value has the usual constants.
type Options struct {
	// Damping is the probability of following a link, above 0 and below 1; 0 means 0.85.
	Damping float64
	// Tolerance ends the iteration: the sum of all changes of one step; 0 means 1e-12.
	Tolerance float64
	// Steps is the largest number of steps; 0 means 1,000, which the tolerance of 1e-12 needs only with a
	// damping above 0.97.
	Steps int
}

// Rank is the rank of one page.
type Rank struct {
	LinkID uuid.UUID
	Value  float64 // above 0; all together are 1
}

// Compute returns the rank of every link, in the order of their IDs. Two edges between the same pages count
// as one; edges of a page to itself, and those of links that are not among links, not at all. Equal links
// and edges give equal ranks to the last bit, in whatever order they come.
//
// The error is the first of the iterators, or about options that are out of their bounds.
func Compute(links iter.Seq2[*graph.Link, error], edges iter.Seq2[*graph.Edge, error], o Options) ([]Rank, error) {
	if o.Damping == 0 {
		o.Damping = 0.85
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-12
	}
	if o.Steps == 0 {
		o.Steps = 1000
	}
	if !(o.Damping > 0 && o.Damping < 1 && o.Tolerance > 0 && o.Steps > 0) {
		return nil, fmt.Errorf("rank: damping %v must be between 0 and 1, tolerance %v and steps %d above 0", o.Damping, o.Tolerance, o.Steps)
	}
	ids, err := collect(links)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	w, err := newWeb(ids, edges)
	if err != nil {
		return nil, err
	}
	values := w.iterate(o)
	ranks := make([]Rank, len(ids))
	for i, id := range ids {
		ranks[i] = Rank{id, values[i]}
	}
	return ranks, nil
}

// collect returns the IDs in order, each once.
func collect(links iter.Seq2[*graph.Link, error]) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for link, err := range links {
		if err != nil {
			return nil, err
		}
		ids = append(ids, link.ID)
	}
	slices.SortFunc(ids, compare)
	return slices.Compact(ids), nil
}

func compare(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// web is the graph with small numbers for pages, which keep an edge small.
type web struct {
	sources [][]int32 // by page: which pages link to it, in order
	out     []int32   // by page: how many pages it links to
}

func newWeb(ids []uuid.UUID, edges iter.Seq2[*graph.Edge, error]) (*web, error) {
	number := make(map[uuid.UUID]int32, len(ids))
	for i, id := range ids {
		number[id] = int32(i)
	}
	w := &web{sources: make([][]int32, len(ids)), out: make([]int32, len(ids))}
	for edge, err := range edges {
		if err != nil {
			return nil, err
		}
		src, known := number[edge.Src]
		dst, alsoKnown := number[edge.Dst]
		if known && alsoKnown && src != dst {
			w.sources[dst] = append(w.sources[dst], src)
		}
	}
	for dst, srcs := range w.sources {
		slices.Sort(srcs)
		w.sources[dst] = slices.Compact(srcs)
		for _, src := range w.sources[dst] {
			w.out[src]++
		}
	}
	return w, nil
}

// iterate returns the ranks by page.
func (w *web) iterate(o Options) []float64 {
	n := float64(len(w.out))
	now, next := make([]float64, len(w.out)), make([]float64, len(w.out))
	for i := range now {
		now[i] = 1 / n
	}
	for range o.Steps {
		var dangling sum
		for i, out := range w.out {
			if out == 0 {
				dangling.add(now[i])
			}
		}
		anywhere := (1-o.Damping)/n + o.Damping*dangling.value()/n
		var total, change sum
		for i, srcs := range w.sources {
			var voted sum
			for _, src := range srcs {
				voted.add(now[src] / float64(w.out[src]))
			}
			next[i] = anywhere + o.Damping*voted.value()
			total.add(next[i])
		}
		// What rounding has added or taken would otherwise grow from step to step.
		for i := range next {
			next[i] /= total.value()
			change.add(math.Abs(next[i] - now[i]))
		}
		now, next = next, now
		if change.value() <= o.Tolerance {
			break
		}
	}
	return now
}

// sum adds many small numbers without losing their last digits (Kahan and Neumaier).
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	t := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

func (s *sum) value() float64 { return s.high + s.low }
