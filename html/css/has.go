package css

import "slices"

// hasTest is :has (Selectors Level 4, section 4.5) and cascadia's :haschild. It is answered from the
// elements that the argument selects, found once for a query, not by a search below each element.
type hasTest struct {
	list []chain
	set  int
}

func (t hasTest) match(m *matcher, k int32) bool {
	for _, r := range m.relations(t, k) {
		if r.of(m, k) {
			return true
		}
	}
	return false
}

// relation answers which elements have one of others in a place: below, among their children, next
// to them, after them.
type relation struct {
	by    combinator
	list  []int32         // descendant: the others; child, next: the elements themselves; in order
	after map[int32]int32 // subsequent: the last of the others by parent
}

func (m *matcher) relate(by combinator, others []int32) relation {
	r := relation{by: by}
	switch by {
	case descendant:
		r.list = others
	case child, next:
		r.list = make([]int32, 0, len(others))
		for _, k := range others {
			at := m.el[k].Parent
			if by == next {
				at = m.kin(k).Prev
			}
			if at != 0 {
				r.list = append(r.list, at)
			}
		}
		slices.Sort(r.list)
	case subsequent:
		r.after = make(map[int32]int32)
		for _, k := range others { // in order, so the last one stays
			r.after[m.el[k].Parent] = k
		}
	}
	return r
}

// of reports whether an element has one of the others in that place.
func (r *relation) of(m *matcher, k int32) bool {
	m.work++
	e := &m.el[k]
	switch r.by {
	case descendant:
		i, _ := slices.BinarySearch(r.list, k+1)
		return i < len(r.list) && r.list[i] < e.End
	case subsequent:
		return r.after[e.Parent] > k
	}
	_, found := slices.BinarySearch(r.list, k)
	return found
}

// relations returns what answers the test for an element: made for the range that is searched and,
// if elements outside of it are asked for, once more for the whole document.
func (m *matcher) relations(t hasTest, k int32) []relation {
	if len(m.sets) < 2*m.sel.sets {
		m.sets = make([][]relation, 2*m.sel.sets)
	}
	// Inside of the range stand all descendants of its elements and all siblings but those of root.
	inside := m.lo < k && k < m.hi || m.root == 0 ||
		k == m.lo && !slices.ContainsFunc(t.list, func(c chain) bool { return c.lead == next || c.lead == subsequent })
	number := 2 * t.set
	if !inside {
		number++
	}
	if m.sets[number] != nil {
		return m.sets[number]
	}
	lo, hi := m.lo, m.hi
	if !inside {
		lo, hi = 1, int32(len(m.el))
	}
	relations := make([]relation, len(t.list))
	for i := range t.list {
		relations[i] = m.anchors(&t.list[i], lo, hi)
	}
	m.sets[number] = relations
	return relations
}

// anchors finds the elements from lo to without hi that a relative selector selects, going from its
// subject to the left, and relates them to what may be its anchor.
func (m *matcher) anchors(c *chain, lo, hi int32) relation {
	found := m.matching(c.links[:1], lo, hi, nil)
	for i := 1; i < len(c.links); i++ {
		r := m.relate(c.links[i-1].by, found)
		found = m.matching(c.links[i:i+1], lo, hi, &r)
	}
	return m.relate(c.lead, found)
}

// matching returns the elements from lo to without hi that the compound of the one link matches and
// that have the relation, if one is given.
func (m *matcher) matching(one []link, lo, hi int32, r *relation) []int32 {
	c := &one[0].compound
	p := m.plan(one)
	if !p.all {
		list := within(p.full, lo, hi)
		if p.exact && r == nil {
			return list
		}
		found := make([]int32, 0, len(list))
		for _, k := range list {
			if (r == nil || r.of(m, k)) && m.is(c, k) {
				found = append(found, k)
			}
		}
		return found
	}
	var found []int32
	for k := lo; k < hi; k++ {
		if (r == nil || r.of(m, k)) && m.is(c, k) {
			found = append(found, k)
		}
	}
	return found
}
