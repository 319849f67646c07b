package tegenaria

import (
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// BlockCause says why nothing is asked of a slot for a while.
type BlockCause string

// The causes. The delays that the user's own code asks for are none.
const (
	BlockRetryAfter   BlockCause = "Retry-After"    // of 429 and 503
	BlockRefusals     BlockCause = "refusals"       // 429 and 503 without Retry-After, with AutoThrottle timeouts and broken connections too
	BlockRobots       BlockCause = "robots.txt"     // it cannot be had, or was answered with Retry-After
	BlockCrawlDelay   BlockCause = "Crawl-delay"    // of robots.txt, for each request; needs a MaxCrawlDelay above a minute
	BlockAutoThrottle BlockCause = "AutoThrottle"   // for each request
	BlockEarlierRun   BlockCause = "an earlier run" // of the durable job, which was to wait until then
)

// SlotBlock says that for more than a minute nothing will be asked of a slot.
type SlotBlock struct {
	Slot  string // its name, usually the host
	Cause BlockCause
	Until time.Time // when the next request may start, as far as is known
}

const (
	longBlock    = time.Minute // what is longer is told
	blocksLogged = 20          // lines of the log in a minute
)

// slotBlocks are the blocked slots that are to be told, and those that were. The mutex of the scheduler guards it.
type slotBlocks struct {
	some   atomic.Bool // there are some to be told
	list   []SlotBlock
	told   map[toldBlock]time.Time     // until when
	delays map[toldBlock]time.Duration // of those that hold for each request
	since  time.Time                   // of the present minute of the log
	logged int
}

type toldBlock struct {
	slot  string
	cause BlockCause
}

// add notes that a slot is blocked, unless it was told for about as long.
func (b *slotBlocks) add(slot string, cause BlockCause, now, until time.Time) {
	if until.Sub(now) <= longBlock || until.Sub(b.told[toldBlock{slot: slot}]) <= longBlock {
		return
	}
	if b.told == nil {
		b.told = make(map[toldBlock]time.Time)
	}
	if len(b.told) >= 1024 && len(b.told)&(len(b.told)-1) == 0 { // now and then: those that are over
		for key, until := range b.told {
			if until.Before(now) {
				delete(b.told, key)
			}
		}
	}
	b.told[toldBlock{slot: slot}] = until
	b.tell(SlotBlock{slot, cause, until})
}

// addDelay notes that a cause blocks a slot for so long after each request; it is told again when it has grown by
// another minute. least is the shortest that is told.
func (b *slotBlocks) addDelay(slot string, cause BlockCause, delay, least time.Duration, now, until time.Time) {
	key := toldBlock{slot, cause}
	before, known := b.delays[key]
	switch {
	case delay < least:
		delete(b.delays, key)
	case known && delay-before <= longBlock || !until.After(now):
	default:
		if b.delays == nil || len(b.delays) >= robotsgate.MaxOrigins { // some are told again then
			b.delays = make(map[toldBlock]time.Duration)
		}
		b.delays[key] = delay
		b.tell(SlotBlock{slot, cause, until})
	}
}

func (b *slotBlocks) tell(block SlotBlock) {
	b.list = append(b.list, block)
	b.some.Store(true)
}

// answeredBlock looks whether an answer has blocked a slot. The caller holds mu.
func (s *scheduler) answeredBlock(slot string, a answer, refused bool, now time.Time) {
	state, ok := s.slots.Lookup(slot)
	switch {
	case !ok || state.Next.Before(state.Until): // nothing starts there any more
	case refused && a.after > 0:
		s.blocks.add(slot, BlockRetryAfter, now, state.Until)
	case refused:
		s.blocks.add(slot, BlockRefusals, now, state.Until)
	}
	if s.throttled {
		s.blocks.addDelay(slot, BlockAutoThrottle, state.Delays[slots.Throttled], min(longBlock+1, max(s.maxThrottle, longBlock)), now, state.Next)
	}
}

// restoredBlock looks whether what an earlier run has stored blocks a slot for longer than its own delay does. The
// caller holds mu.
func (s *scheduler) restoredBlock(slot string, now, until time.Time) {
	own := s.rules.of(slot)
	if own.Jitter != nil {
		own.Delay *= 2
	}
	if until.Sub(now) > own.Delay {
		s.blocks.add(slot, BlockEarlierRun, now, until)
	}
}

// noteBlock has it told that nothing of a slot is asked until then.
func (s *scheduler) noteBlock(slot string, cause BlockCause, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks.add(slot, cause, s.now(), until)
}

// takeBlocks returns the blocked slots that are to be told, and how many of them may be logged; last reports whether
// the log is told that it is the last one for now.
func (s *scheduler) takeBlocks() (list []SlotBlock, log int, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.blocks
	b.some.Store(false)
	list, b.list = b.list, nil
	if now := s.now(); now.Sub(b.since) >= time.Minute {
		b.since, b.logged = now, 0
	}
	log = min(len(list), blocksLogged-b.logged)
	b.logged += log
	return list, log, log > 0 && b.logged == blocksLogged
}

// tellBlocks tells about slots that were blocked meanwhile. The caller holds no locks.
func (c *crawl) tellBlocks() {
	if !c.sched.blocks.some.Load() {
		return
	}
	list, log, last := c.sched.takeBlocks()
	for i, block := range list {
		if i < log {
			c.teller.log.blocked(block, last && i == log-1)
		}
		if f := c.cfg.events.SlotBlocked; f != nil {
			c.teller.event(func() { f(block) })
		}
	}
}
