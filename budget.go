package tegenaria

// pageBudget is the reason of requests that are filtered because their slot has had its Politeness.MaxPages.
const pageBudget = "page-budget"

// exhausted tells whether a slot has had its pages.
func (s *scheduler) exhausted(slot string) bool {
	if !s.budgets.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left(slot) == 0
}

// spend counts a download that is about to begin in a slot. False: there is none left. What still waits in the slot
// need not wait any longer then.
func (s *scheduler) spend(slot string) bool {
	if !s.budgets.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left(slot)
	switch left {
	case -1:
		return true
	case 0:
		return false
	}
	s.begun[slot]++
	if left == 1 {
		s.slots.Waive(slot)
		s.signal()
	}
	return true
}

// left tells how many downloads may still begin in a slot; −1 if there is no limit. The caller holds mu.
func (s *scheduler) left(slot string) int {
	budget := s.rules.of(slot).pages
	if budget == 0 {
		return -1
	}
	return max(budget-s.begun[slot], 0)
}
