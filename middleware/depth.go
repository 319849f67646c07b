package middleware

import "github.com/tegenaria/tegenaria"

// Order is the order in which [Depth] visits pages.
type Order int

// The orders. They hold within a host's queue, as priorities do.
const (
	AsFound      Order = iota // priorities are not changed: pages that were found first go first
	BreadthFirst              // pages near the seeds go first
	DepthFirst                // pages far from the seeds go first
)

// DepthOptions say how deep to go, and in which order.
type DepthOptions struct {
	Priority int   // 0: the place in the package comment's table
	Max      int   // links from a seed, 0: no limit, negative: only seeds
	Order    Order // how depth changes Request.Priority
	Weight   int   // by how much a level changes it, 0: 1
}

// Depth refuses pages that are too far from the seeds, as filtered: depth, and changes priorities so that near or far pages
// go first. Redirects and retries keep their depth. For a limit alone the engine's Limits.Depth costs less.
type Depth struct {
	part
	limit  int
	weight int
}

var (
	_ tegenaria.MiddlewaresInterface = (*Depth)(nil)
	_ tegenaria.RequestFilter        = (*Depth)(nil)
)

// NewDepth makes a Depth.
func NewDepth(o DepthOptions) *Depth {
	m := &Depth{part: newPart("depth", o.Priority, priorityDepth), limit: o.Max}
	switch o.Order {
	case BreadthFirst:
		m.weight = -orDefault(o.Weight, 1)
	case DepthFirst:
		m.weight = orDefault(o.Weight, 1)
	}
	return m
}

// AcceptRequest refuses or weighs a request.
func (m *Depth) AcceptRequest(parent *tegenaria.Response, r *tegenaria.Request) error {
	if m.limit > 0 && r.Depth > m.limit || m.limit < 0 && r.Depth > 0 {
		return tegenaria.IgnoreRequest("depth")
	}
	if r.Attempt == 0 && !isRedirectOf(parent, r) { // those were weighed when they first came
		r.Priority += r.Depth * m.weight
	}
	return nil
}
