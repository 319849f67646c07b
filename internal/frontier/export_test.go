package frontier

// Left returns the fetch workers and those for inline requests that nobody has a claim on, and the pages that are left.
func (f *Frontier[J]) Left() (free, inline int, pages int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.workers.free, f.workers.inline, f.workers.pages
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

// Slots returns how many slots are known.
func (f *Frontier[J]) Slots() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slots.Len()
}

// Entries returns how much is kept by slot or by job beside the slots themselves.
func (f *Frontier[J]) Entries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requeued.jobs) + len(f.budgets.begun) + len(f.budgets.reserved) + len(f.budgets.short) +
		len(f.suspects.lined) + len(f.suspects.held) + len(f.blocks.told) + len(f.blocks.delays) + len(f.blocks.list)
}
