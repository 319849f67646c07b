package frontier

// Left returns the fetch workers and those of the lane that nobody has a claim on, and the pages that are left.
func (f *Frontier[J]) Left() (free, lane int, pages int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.workers.free, f.workers.lane, f.workers.pages
}

// Reserved returns how many pages are reserved in all slots.
func (f *Frontier[J]) Reserved() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, reserved := range f.budgets.reserved {
		n += reserved
	}
	return n
}
