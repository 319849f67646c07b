package frontier

import (
	"errors"
	"sync/atomic"
)

// Why a download may not begin.
var (
	ErrSpent = errors.New("the slot has had its pages")
	ErrShort = errors.New("the pages that the slot has left are reserved for others")
	ErrOver  = errors.New("the request was settled before its download began")
)

// budgets count the downloads of slots that have a page budget. The Frontier's mutex guards all but some.
type budgets[J any] struct {
	some     atomic.Bool    // some slot has one
	begun    map[string]int // by slot: downloads begun, and those announced that have not
	reserved map[string]int // by slot: those announced
	short    map[string][]J // by slot: those of a queue that wait for a page that is reserved
}

// IsSpent reports whether the downloads of all pages of a slot's budget have begun. A page that is only reserved may be given
// back, so that requests which come to the slot meanwhile have to wait.
func (f *Frontier[J]) IsSpent(slot string) bool {
	if !f.budgets.some.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isSpent(slot)
}

// Starves reports whether a job can have no page: its slot has none left, and none is reserved for it. A job of a queue is
// short only if others may give back what is reserved for them.
func (f *Frontier[J]) Starves(j J) bool {
	if !f.budgets.some.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := j.Claim()
	return !c.reserved && f.pagesLeft(c.Slot()) == 0 && !f.isShort(c)
}

// IsShort reports whether a job of a queue has to wait, since the pages that its slot has left are reserved for others. It is
// to be put back, and comes again when one of them begins or comes back. An inline job does not wait: what the reservation
// waits for may be its caller's worker. Nor does a suspect, which runs alone.
func (f *Frontier[J]) IsShort(j J) bool {
	if !f.budgets.some.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isShort(j.Claim())
}

// isShort is IsShort. The caller holds mu.
func (f *Frontier[J]) isShort(c *Claim[J]) bool {
	return !c.Inline && c.suspect == nil && !c.reserved && f.budgets.reserved[c.Slot()] > 0 &&
		f.pagesLeft(c.Slot()) == 0 && !f.isSpent(c.Slot())
}

// isSpent is IsSpent. The caller holds mu.
func (f *Frontier[J]) isSpent(slot string) bool {
	budget := f.rules.of(slot).Pages
	return budget > 0 && f.begun(slot) >= budget
}

// begun returns how many downloads have begun in a slot, without those that are only announced: what is announced when the
// process dies begins again. The caller holds mu.
func (f *Frontier[J]) begun(slot string) int { return f.budgets.begun[slot] - f.budgets.reserved[slot] }

// Reserve counts the page of a job whose download is announced before it begins. The error is ErrSpent or ErrOver: the
// download may not begin; or ErrShort: the job has to wait, as IsShort says.
func (f *Frontier[J]) Reserve(j J) error {
	c := j.Claim()
	if !f.counts(c) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	counted, err := f.countPage(c)
	if counted {
		f.budgets.reserved[c.Slot()]++
		c.reserved = true
	}
	return err
}

// Spend counts the page of a job whose download has just begun, unless that is reserved. The error is ErrSpent or ErrOver:
// the download may not begin. After the last page nothing that still waits in the slot needs to wait any longer.
func (f *Frontier[J]) Spend(j J) error {
	c := j.Claim()
	if !f.counts(c) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.countPage(c); err != nil {
		return err
	}
	if c.reserved {
		f.dropReservation(c)
	}
	f.waive(c.Slot())
	return nil
}

// countPage counts a job's page, if its slot has a budget and none is reserved for the job. The error says why its download
// may not begin. The caller holds mu.
func (f *Frontier[J]) countPage(c *Claim[J]) (counted bool, err error) {
	left := f.pagesLeft(c.Slot())
	switch {
	case c.over:
		return false, ErrOver
	case c.reserved || left < 0:
		return false, nil
	case left == 0 && f.isShort(c):
		return false, ErrShort
	case left == 0:
		return false, ErrSpent
	}
	f.budgets.begun[c.Slot()]++
	return true, nil
}

// counts reports whether a job that begins has to be looked at: a slot has a page budget, or it is an inline request,
// which may have been given up.
func (f *Frontier[J]) counts(c *Claim[J]) bool { return c.Inline || f.budgets.some.Load() }

// Overrule lets no download of a job begin any more, and uncounts the page that is reserved for it.
func (f *Frontier[J]) Overrule(j J) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := j.Claim()
	c.over = true
	if c.reserved {
		if f.budgets.begun[c.Slot()]--; f.budgets.begun[c.Slot()] == 0 {
			delete(f.budgets.begun, c.Slot())
		}
		f.dropReservation(c)
		f.waive(c.Slot()) // it may have fewer pages since
	}
}

// dropReservation ends the one of a job. The caller holds mu.
func (f *Frontier[J]) dropReservation(c *Claim[J]) {
	c.reserved = false
	if f.budgets.reserved[c.Slot()]--; f.budgets.reserved[c.Slot()] == 0 {
		delete(f.budgets.reserved, c.Slot())
	}
	f.requeueShort(c.Slot())
}

// requeueShort puts the jobs that wait for a page of a slot into its queue. The caller holds mu.
func (f *Frontier[J]) requeueShort(slot string) {
	jobs := f.budgets.short[slot]
	delete(f.budgets.short, slot)
	for _, j := range jobs {
		f.requeueNow(j)
	}
}

// waive lets everything that waits in a slot come and be filtered, if nothing will begin in it. The caller holds mu.
func (f *Frontier[J]) waive(slot string) {
	if f.pagesLeft(slot) == 0 && f.budgets.reserved[slot] == 0 {
		f.slots.Waive(slot)
		f.signal()
	}
}

// pagesLeft returns how many downloads may still begin in a slot; −1 if there is no limit. The caller holds mu.
func (f *Frontier[J]) pagesLeft(slot string) int {
	budget := f.rules.of(slot).Pages
	if budget == 0 {
		return -1
	}
	return max(budget-f.budgets.begun[slot], 0)
}
