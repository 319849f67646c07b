package css

import (
	"math"

	"github.com/tegenaria/tegenaria/html"
)

// Work returns how many elements a query by the index tested and how many steps it took.
func (s *Selector) Work(root html.Node) int {
	m := newMatcher(s, root.Document())
	defer m.release()
	m.appendAll(nil, root, math.MaxInt32)
	return m.work
}

// Indexed is Select by the index.
func (s *Selector) Indexed(root html.Node) []html.Ref {
	m := newMatcher(s, root.Document())
	defer m.release()
	return m.appendAll(nil, root, math.MaxInt32)
}

// Swept is Select by a sweep of at most so many steps. It is not ok if that cannot answer.
func (s *Selector) Swept(root html.Node, limit int) (found []html.Ref, steps int, ok bool) {
	if !s.swept || root.Document().IsXML() {
		return nil, 0, false
	}
	var w sweep
	w.begin(s, root.Document(), limit)
	found = w.appendAll(nil, root, math.MaxInt32)
	return found, w.End(), !w.Over()
}
