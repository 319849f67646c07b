package frontier

import (
	"sync/atomic"
	"time"
)

// Cause is why no request of a slot starts for a while.
type Cause uint8

// The causes. The delays that the user's own code asks for are none.
const (
	RetryAfter   Cause = iota // of a refusal
	Refusals                  // without a Retry-After
	Robots                    // robots.txt cannot be had, or was answered with Retry-After
	CrawlDelay                // of robots.txt, for each request
	AutoThrottle              // for each request
	EarlierRun                // of the durable job, which was to wait until then
	Causes                    // how many there are
)

// Block says that no request of a slot will start for more than a minute.
type Block struct {
	Slot  string
	Cause Cause
	Until time.Time // when the next request may start, as far as is known
}

const (
	longBlock    = time.Minute // longer blocks are reported
	blocksLogged = 20          // lines of the log in a minute
	blocksKnown  = 1 << 16     // delays of slots that are remembered as reported; if there are more, some are reported again
)

// blocks are the blocked slots that are to be reported, and those that were. The Frontier's mutex guards all but some.
type blocks struct {
	some   atomic.Bool // there are some to be reported
	list   []Block
	told   map[string]time.Time        // by slot: until when
	delays map[toldDelay]time.Duration // of those that hold for each request
	since  time.Time                   // of the present minute of the log
	logged int
}

type toldDelay struct {
	slot  string
	cause Cause
}

// add notes that a slot is blocked, unless a block of about the same end was reported.
func (b *blocks) add(slot string, cause Cause, now, until time.Time) {
	if until.Sub(now) <= longBlock || until.Sub(b.told[slot]) <= longBlock {
		return
	}
	if b.told == nil {
		b.told = make(map[string]time.Time)
	}
	if len(b.told) >= 1024 && len(b.told)&(len(b.told)-1) == 0 { // now and then: those that are over
		for slot, until := range b.told {
			if until.Before(now) {
				delete(b.told, slot)
			}
		}
	}
	b.told[slot] = until
	b.tell(Block{slot, cause, until})
}

// addDelay notes that a cause blocks a slot for that long after each request; it is reported again when it has grown by
// another minute. least is the shortest delay that is reported.
func (b *blocks) addDelay(slot string, cause Cause, delay, least time.Duration, now, until time.Time) {
	key := toldDelay{slot, cause}
	before, known := b.delays[key]
	switch {
	case delay < least:
		delete(b.delays, key)
	case known && delay-before <= longBlock || !until.After(now):
	default:
		if b.delays == nil || len(b.delays) >= blocksKnown {
			b.delays = make(map[toldDelay]time.Duration)
		}
		b.delays[key] = delay
		b.tell(Block{slot, cause, until})
	}
}

func (b *blocks) tell(block Block) {
	b.list = append(b.list, block)
	b.some.Store(true)
}

// NoteBlock has TakeBlocks report that no request of a slot starts until then. It does not block the slot.
func (f *Frontier[J]) NoteBlock(slot string, cause Cause, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blocks.add(slot, cause, f.now(), until)
}

// HasBlocks reports whether TakeBlocks would return a slot. It takes no lock.
func (f *Frontier[J]) HasBlocks() bool { return f.blocks.some.Load() }

// TakeBlocks returns the slots that were blocked since it was called, and how many of them may be logged; last reports
// whether the log should say that it is the last one for now.
func (f *Frontier[J]) TakeBlocks() (list []Block, log int, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := &f.blocks
	b.some.Store(false)
	list, b.list = b.list, nil
	if now := f.now(); now.Sub(b.since) >= time.Minute {
		b.since, b.logged = now, 0
	}
	log = min(len(list), blocksLogged-b.logged)
	b.logged += log
	return list, log, log > 0 && b.logged == blocksLogged
}
