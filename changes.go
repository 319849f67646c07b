package tegenaria

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Changes are what is in force in a running crawl in place of its settings, because it was changed while the crawl, or an
// earlier run of its durable job, was running.
type Changes struct {
	Concurrency int                   // of SetConcurrency; 0: as in the settings
	Slots       map[string]SlotPolicy // of SetSlot, by the name of the slot; nil: none
}

// Changes returns what was changed in the running crawl with SetConcurrency and SetSlot, and in the earlier runs of its
// durable job, and was not undone. Without a crawl it is the zero value. The caller may keep and change the map.
func (e *SpiderEngine) Changes() Changes {
	c := e.current()
	if c == nil {
		return Changes{}
	}
	c.changes.mu.Lock()
	defer c.changes.mu.Unlock()
	return Changes{c.changes.now.Concurrency, maps.Clone(c.changes.now.Slots)}
}

// changes makes the changes of a running crawl, and keeps them for the next run of a durable job.
type changes struct {
	frontier   *frontier.Frontier[*job]
	resize     func(n int) // sets how many downloads run at once
	configured int         // downloads at once, by the settings

	mu       sync.Mutex // guards the fields below; held while a change is made, so that what is kept is what is in force
	now      Changes
	unstored map[string]bool // names of the state that has changed since it was stored
	restored string          // what of an earlier run is in force again, in words; "" if nothing is
}

var _ commit.Keeper = (*changes)(nil)

// setSlot gives a slot a policy; nil undoes it.
func (c *changes) setSlot(name string, p *SlotPolicy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == nil {
		for _, name := range c.frontier.ResetRule(name) {
			if _, ok := c.now.Slots[name]; ok {
				delete(c.now.Slots, name)
				c.note(slotState + name)
			}
		}
		return
	}
	for _, name := range c.frontier.SetRule(name, p.rule()) {
		c.has(name, *p)
		c.note(slotState + name)
	}
}

// has notes that a slot has a policy. Called with mu held.
func (c *changes) has(name string, p SlotPolicy) {
	if c.now.Slots == nil {
		c.now.Slots = make(map[string]SlotPolicy)
	}
	c.now.Slots[name] = p
}

// setConcurrency sets how many downloads run at once; 0 undoes it.
func (c *changes) setConcurrency(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 {
		c.resize(n)
	} else {
		c.resize(c.configured)
	}
	c.now.Concurrency = n
	c.note(concurrencyState)
}

// note has the next batch store what has changed. Called with mu held.
func (c *changes) note(name string) {
	if c.unstored == nil {
		c.unstored = make(map[string]bool)
	}
	c.unstored[name] = true
}

// The names of what is stored: of the number of downloads at once, and the beginning of those of the slots.
const (
	concurrencyState = "concurrency"
	slotState        = "slot/"
)

// StateKey is part of [commit.Keeper].
func (c *changes) StateKey() string { return "tegenaria.changes" }

// RestoreState puts in force what earlier runs have changed, except what this run has changed already.
func (c *changes) RestoreState(state map[string][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if value := state[key]; len(value) > 0 && !c.unstored[key] {
			if err := c.restore(key, value); err != nil {
				return fmt.Errorf("the change %q of an earlier run: %w", key, err)
			}
		}
	}
	if c.now.Concurrency > 0 || len(c.now.Slots) > 0 {
		c.restored = c.now.words()
	}
	return nil
}

// restore puts one of them in force. Called with mu held.
func (c *changes) restore(key string, value []byte) error {
	if key == concurrencyState {
		var n int
		if err := json.Unmarshal(value, &n); err != nil {
			return err
		}
		c.resize(n)
		c.now.Concurrency = n
		return nil
	}
	var p SlotPolicy
	if err := json.Unmarshal(value, &p); err != nil {
		return err
	}
	for _, name := range c.frontier.SetRule(strings.TrimPrefix(key, slotState), p.rule()) {
		c.has(name, p)
	}
	return nil
}

// ChangedState returns what has changed since the last call: its versions are not needed.
func (c *changes) ChangedState(uint64) (state map[string][]byte, version uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unstored) == 0 {
		return nil, 0, nil
	}
	state = make(map[string][]byte, len(c.unstored))
	for key := range c.unstored {
		var value []byte // "": it was undone
		if name, isSlot := strings.CutPrefix(key, slotState); !isSlot {
			if n := c.now.Concurrency; n > 0 {
				value, err = json.Marshal(n)
			}
		} else if p, ok := c.now.Slots[name]; ok {
			value, err = json.Marshal(p)
		}
		if err != nil {
			return nil, 0, err
		}
		state[key] = value
	}
	clear(c.unstored)
	return state, 0, nil
}

// restoredFrom returns what of an earlier run is in force again, in words; "" if nothing is.
func (c *changes) restoredFrom() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restored
}

// namedChanges is how many slots the log names.
const namedChanges = 5

// words says what is changed.
func (c Changes) words() string {
	var all []string
	if c.Concurrency > 0 {
		all = append(all, fmt.Sprintf("%d downloads at once", c.Concurrency))
	}
	names := slices.Sorted(maps.Keys(c.Slots))
	for i, name := range names {
		if i == namedChanges {
			all = append(all, report.Count(int64(len(names)-i), "more host"))
			break
		}
		all = append(all, name+": "+c.Slots[name].words())
	}
	return strings.Join(all, "; ")
}

// words says what a policy is.
func (p SlotPolicy) words() string {
	text := fmt.Sprintf("delay %s, jitter %g, per_slot %d", p.Delay, p.Jitter, p.rule().Limit)
	if p.MaxPages > 0 {
		text += fmt.Sprintf(", max_pages %d", p.MaxPages)
	}
	return text
}

// change makes a change of a running crawl. In a durable job it returns once the change is stored. One that is made
// before the crawl takes requests is stored with the first batch.
func (c *crawl) change(do func()) error {
	a := c.adder.Load()
	if a == nil || !a.acceptor.codec.durable {
		do()
		return nil
	}
	if !a.acceptor.entries.Enter() { // nothing is stored any more, and nothing is left that the change is for
		return errNotRunning
	}
	defer a.acceptor.entries.Leave()
	do()
	if err := a.acceptor.settler.sync(); err != nil {
		a.stop.storeFailed(err)
		return errtext.Failed("storing the change for the next runs of the job", "", "", err)
	}
	return nil
}
