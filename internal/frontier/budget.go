package frontier

import (
	"errors"
	"sync/atomic"
)

// Why a download may not begin.
var (
	ErrSpent = errors.New("the slot has had its pages")
	ErrOver  = errors.New("the request was settled before its download began")
)

// budgets count the downloads of slots that have a page budget. The Frontier's mutex guards all but some.
type budgets struct {
	some     atomic.Bool    // some slot has one
	begun    map[string]int // by slot: downloads begun, and those announced that have not
	reserved map[string]int // by slot: those announced
}

// IsSpent reports whether a slot has had its pages for good: their downloads have begun. A page that is reserved may come
// back, so what comes to the slot meanwhile has to wait.
func (f *Frontier[J]) IsSpent(slot string) bool {
	if !f.budgets.some.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	budget := f.rules.of(slot).Pages
	return budget > 0 && f.budgets.begun[slot]-f.budgets.reserved[slot] >= budget
}

// Starves reports whether a job can have no page any more: its slot has had its pages, and none is reserved for it.
func (f *Frontier[J]) Starves(j J) bool {
	if !f.budgets.some.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := j.Claim()
	return !c.reserved && f.pagesLeft(c.Slot) == 0
}

// Reserve counts the page of a job whose download is announced before it begins. The error is ErrSpent or ErrOver: the
// download may not begin.
func (f *Frontier[J]) Reserve(j J) error {
	c := j.Claim()
	if !f.counts(c) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	counted, err := f.countPage(c)
	if counted {
		f.budgets.reserved[c.Slot]++
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
	f.waive(c.Slot)
	return nil
}

// countPage counts a job's page, if its slot has a budget and none is reserved for the job. The error says why its download
// may not begin. The caller holds mu.
func (f *Frontier[J]) countPage(c *Claim[J]) (counted bool, err error) {
	left := f.pagesLeft(c.Slot)
	switch {
	case c.over:
		return false, ErrOver
	case c.reserved || left < 0:
		return false, nil
	case left == 0:
		return false, ErrSpent
	}
	f.budgets.begun[c.Slot]++
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
		f.budgets.begun[c.Slot]--
		f.dropReservation(c)
		f.waive(c.Slot) // it may have fewer pages since
	}
}

// dropReservation ends the one of a job. The caller holds mu.
func (f *Frontier[J]) dropReservation(c *Claim[J]) {
	c.reserved = false
	if f.budgets.reserved[c.Slot]--; f.budgets.reserved[c.Slot] == 0 {
		delete(f.budgets.reserved, c.Slot)
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
