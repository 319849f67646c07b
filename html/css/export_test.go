package css

import (
	"math"

	"github.com/tegenaria/tegenaria/html"
)

// Work returns how many elements a query tested and how many steps it took.
func (s *Selector) Work(root html.Node) int {
	m := newMatcher(s, root.Document())
	defer m.release()
	m.appendAll(nil, root, math.MaxInt32)
	return m.work
}
