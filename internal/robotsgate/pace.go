package robotsgate

import (
	"slices"
	"time"
)

// pace is how far apart the robots.txt of an origin wants its requests to be.
type pace struct {
	delay time.Duration // 0: it does not say
	slots []string      // that keep it, as a rule one
}

// paces sets how far apart the requests of each slot have to be. A slot may have several origins, http and https of
// one host for instance, and keeps the pace of the slowest. It belongs to a Gate, whose mutex guards it.
type paces struct {
	delay func(slot string, d time.Duration)
	slots map[string]map[*pace]bool // those that each slot keeps
}

// set notes the delay of an origin's new robots.txt, and the slot that asked for it.
func (p *paces) set(of *pace, delay time.Duration, slot string) {
	of.delay = delay
	for _, slot := range of.slots { // also if nothing has changed: they remember it no longer than the file holds
		p.tell(slot)
	}
	p.join(of, slot)
}

// join has a slot keep the pace of an origin that it has requests of.
func (p *paces) join(of *pace, slot string) {
	if of.delay == 0 || slices.Contains(of.slots, slot) {
		return
	}
	of.slots = append(of.slots, slot)
	if p.slots[slot] == nil {
		p.slots[slot] = make(map[*pace]bool)
	}
	p.slots[slot][of] = true
	p.tell(slot)
}

// forget takes the pace of an origin that is forgotten out of the books. Its slots keep it: the next request of the
// origin asks for robots.txt again.
func (p *paces) forget(of *pace) {
	for _, slot := range of.slots {
		if delete(p.slots[slot], of); len(p.slots[slot]) == 0 {
			delete(p.slots, slot)
		}
	}
	of.slots = nil
}

// tell hands the pace of a slot on.
func (p *paces) tell(slot string) {
	longest := time.Duration(0)
	for of := range p.slots[slot] {
		longest = max(longest, of.delay)
	}
	p.delay(slot, longest)
}
