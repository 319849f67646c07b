package tegenaria

// pageBudget is the reason of requests that are filtered because their slot has had its Politeness.MaxPages.
const pageBudget = "page-budget"

// exhausted reports whether a slot has had its pages.
func (s *scheduler) exhausted(slot string) bool {
	if !s.budgets.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left(slot) == 0
}

// spend counts a download that has just begun in a slot, unless a page is reserved for it. It returns false if no page
// is left. After the last one nothing that still waits in the slot needs to wait any longer.
func (s *scheduler) spend(slot string, reserved bool) bool {
	if !s.budgets.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left(slot)
	switch {
	case reserved:
		s.dropReservation(slot)
	case left == 0:
		return false
	case left > 0:
		s.begun[slot]++
	}
	if s.isSpent(slot) {
		s.slots.Waive(slot)
		s.signal()
	}
	return true
}

// reserve counts a download that is announced before it begins. ok is false if no page is left; reserved is false
// where pages are not counted.
func (s *scheduler) reserve(slot string) (reserved, ok bool) {
	if !s.budgets.Load() {
		return false, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left(slot)
	if left > 0 {
		s.begun[slot]++
		s.reserved[slot]++
	}
	return left > 0, left != 0
}

// unreserve takes back what reserve counted: the download does not begin.
func (s *scheduler) unreserve(slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[slot]--
	s.dropReservation(slot)
}

// dropReservation ends one. Called with mu held.
func (s *scheduler) dropReservation(slot string) {
	if s.reserved[slot]--; s.reserved[slot] == 0 {
		delete(s.reserved, slot)
	}
}

// isSpent reports whether nothing will begin in a slot any more because it has had its pages. Called with mu held.
func (s *scheduler) isSpent(slot string) bool { return s.left(slot) == 0 && s.reserved[slot] == 0 }

// left returns how many downloads may still begin in a slot; −1 if there is no limit. The caller holds mu.
func (s *scheduler) left(slot string) int {
	budget := s.rules.of(slot).pages
	if budget == 0 {
		return -1
	}
	return max(budget-s.begun[slot], 0)
}
