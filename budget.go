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

// starves reports whether a job can have no page any more: its slot has had its pages, and none is reserved for it.
func (s *scheduler) starves(j *job) bool {
	if !s.budgets.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !j.reserved && s.left(j.rec.Slot) == 0
}

// reserve counts the page of a job whose download is announced before it begins. The error says why it may not begin.
func (s *scheduler) reserve(j *job) error {
	if !s.counts(j) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	counted, err := s.countPage(j)
	if counted {
		s.reserved[j.rec.Slot]++
		j.reserved = true
	}
	return err
}

// spend counts the page of a job whose download has just begun, unless that is reserved. The error says why it may not
// begin. After the last page nothing that still waits in the slot needs to wait any longer.
func (s *scheduler) spend(j *job) error {
	if !s.counts(j) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.countPage(j); err != nil {
		return err
	}
	if j.reserved {
		s.dropReservation(j)
	}
	s.waive(j.rec.Slot)
	return nil
}

// countPage counts a job's page, if its slot has a budget and none is reserved for the job. The error says why its download
// may not begin. Called with mu held.
func (s *scheduler) countPage(j *job) (counted bool, err error) {
	left := s.left(j.rec.Slot)
	switch {
	case j.over:
		return false, ErrOutputClosed
	case j.reserved || left < 0:
		return false, nil
	case left == 0:
		return false, IgnoreRequest(pageBudget)
	}
	s.begun[j.rec.Slot]++
	return true, nil
}

// counts reports whether a job that begins has to be looked at: a slot has a page budget, or it is an inline request,
// which may have been given up.
func (s *scheduler) counts(j *job) bool { return j.caller != nil || s.budgets.Load() }

// overrule lets no download of a job begin any more, and takes back the page that is reserved for it.
func (s *scheduler) overrule(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.over = true
	if j.reserved {
		s.begun[j.rec.Slot]--
		s.dropReservation(j)
		s.waive(j.rec.Slot) // it may have fewer pages since
	}
}

// dropReservation ends the one of a job. Called with mu held.
func (s *scheduler) dropReservation(j *job) {
	j.reserved = false
	if s.reserved[j.rec.Slot]--; s.reserved[j.rec.Slot] == 0 {
		delete(s.reserved, j.rec.Slot)
	}
}

// waive lets everything that waits in a slot come and be filtered, if nothing will begin in it. Called with mu held.
func (s *scheduler) waive(slot string) {
	if s.isSpent(slot) {
		s.slots.Waive(slot)
		s.signal()
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
