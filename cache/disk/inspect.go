package disk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
)

// State says where a request of a job is.
type State string

// The states.
const (
	Waiting State = "waiting" // in its slot's queue; after a crash also what was in flight
	Delayed State = "delayed" // in the due list
	Settled State = "settled"
	Refused State = "refused" // not accepted, for example because of a filter: it never waited, has no Number, and is not in Outcomes
)

// Info is the data that a job has about one request.
type Info struct {
	tegenaria.Settled           // the record; of a settled request also outcome, reason, status and time
	State             State     // where it is
	Number            uint64    // counts the requests of a job in the order in which they were found; never 0
	Parent            uint64    // number of the request that emitted it; 0 for seeds
	NotBefore         time.Time // of a delayed one
}

// Status is the summary of a job.
type Status struct {
	Spider   string           // "" before the first run
	Started  bool             // StartRequest has finished
	Finished bool             // nothing is left to do
	Reason   string           // why it is finished
	Waiting  int64            // in the queues, or in flight
	Delayed  int64            // in the due list
	Settled  int64            // requests that were stored and have ended; duplicates and refused requests do not count
	Dead     int64            // settled requests that failed or were given up: see DeadLetters
	Lost     int64            // see ExpectedLoss
	Counters map[string]int64 // of the engine, as last settled: "discovered", "outcome/fetched" …
	Hosts    []tegenaria.SlotState
	Oldest   *Info  // the request that has waited longest, nil if none waits
	Suspects []Info // requests that were in flight when the process died: they run alone when the job is resumed
}

// IsFinished reports what Status has as Finished, without reading the job.
func (c *Cache) IsFinished() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.finished
}

// Status returns a summary of the job. Hosts lists the hosts with waiting requests, sorted by name.
func (c *Cache) Status(ctx context.Context) (Status, error) {
	st := Status{}
	for row, err := range c.rows(ctx, rangeSlot) {
		if err != nil {
			return st, err
		}
		s, err := parseSlot(string(row.key[1:]), row.value)
		if err != nil {
			return st, damage(c.dir, "", err)
		}
		if s.waiting > 0 {
			st.Hosts = append(st.Hosts, stateOf(s))
		}
	}
	for _, err := range c.numbers(ctx, rangeDeadLetter) {
		if err != nil {
			return st, err
		}
		st.Dead++
	}
	for info, err := range c.Pending(ctx) {
		if err != nil {
			return st, err
		}
		if st.Oldest == nil || info.Number < st.Oldest.Number {
			st.Oldest = &info
		}
		if info.Record.Crashes > 0 {
			st.Suspects = append(st.Suspects, info)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	st.Spider, st.Started, st.Finished, st.Reason = s.spider, s.started, s.finished, s.reason
	st.Waiting, st.Delayed, st.Settled, st.Lost = s.waiting, s.delayed, s.settled, int64(s.lost)
	err := c.get([]byte{rangeCounters}, func(value []byte) (err error) {
		st.Counters, err = parseCounters(value)
		return err
	})
	return st, err
}

// Pending lists the requests that wait: the queues, host by host in the order in which they will be fetched, then the
// due list by time.
func (c *Cache) Pending(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		names, err := c.slotNames(ctx)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for row, err := range c.rows(ctx, rangeQueue) {
			info := Info{State: Waiting}
			if err == nil {
				err = c.readWaiting(&info, names, row)
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
		for row, err := range c.rows(ctx, rangeDue) {
			info := Info{State: Delayed}
			if err == nil {
				err = c.readDelayed(&info, row)
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

func (c *Cache) slotNames(ctx context.Context) (map[uint32]string, error) {
	names := make(map[uint32]string)
	for row, err := range c.rows(ctx, rangeSlot) {
		if err != nil {
			return nil, err
		}
		s, err := parseSlot(string(row.key[1:]), row.value)
		if err != nil {
			return nil, damage(c.dir, "", err)
		}
		names[s.id] = s.name
	}
	return names, nil
}

func (c *Cache) readWaiting(info *Info, names map[uint32]string, row row) error {
	id, p, err := parseQueueKey(row.key)
	if err != nil {
		return damage(c.dir, "", err)
	}
	rec, err := parseRecord(row.value, p.order)
	if err != nil {
		return damage(c.dir, "", err)
	}
	return c.describe(info, rec, names[id], p.priority)
}

func (c *Cache) readDelayed(info *Info, row row) error {
	at, order, err := parseDueKey(row.key)
	if err != nil {
		return damage(c.dir, "", err)
	}
	slot, priority, rec, err := parseDue(row.value, order)
	if err != nil {
		return damage(c.dir, "", err)
	}
	info.NotBefore = at.time()
	return c.describe(info, rec, slot, priority)
}

// describe describes a record that waits.
func (c *Cache) describe(info *Info, rec record, slot string, priority int64) error {
	c.mu.Lock()
	err := c.readLowered(&rec)
	c.mu.Unlock()
	info.Number, info.Parent = rec.seq, rec.parent
	info.Record = tegenaria.Record{
		Key: rec.key, Slot: slot, Priority: int(priority), Depth: rec.depth, Attempt: rec.attempt,
		NotBefore: info.NotBefore, Seq: rec.seq, ParentSeq: rec.parent, Data: slices.Clone(rec.data), Crashes: c.notes.Crashes((*flightnotes.Key)(&rec.key)),
	}
	return err
}

// Outcomes lists the requests that have ended, in the order in which they were found.
func (c *Cache) Outcomes(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for row, err := range c.rows(ctx, rangeOutcome) {
			var info Info
			if err == nil {
				info, err = parseInfo(row)
			}
			if err != nil {
				err = damage(c.dir, "", err)
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

func parseInfo(row row) (info Info, err error) {
	info.State = Settled
	if info.Number, err = parseSeqKey(row.key); err != nil {
		return info, err
	}
	info.Settled, info.Parent, err = parseOutcome(row.value, info.Number)
	return info, err
}

// DeadLetters is described at [tegenaria.CacheInterface]; they come in the order in which they were found.
func (c *Cache) DeadLetters(ctx context.Context) iter.Seq2[tegenaria.Settled, error] {
	return func(yield func(tegenaria.Settled, error) bool) {
		for seq, err := range c.numbers(ctx, rangeDeadLetter) {
			var info Info
			if err == nil {
				info, err = c.outcome(seq)
			}
			if !yield(info.Settled, err) || err != nil {
				return
			}
		}
	}
}

// byNumber finds a request by its number: most likely it is settled. If not, all that wait are looked at.
func (c *Cache) byNumber(ctx context.Context, number uint64) (Info, error) {
	info, err := c.outcome(number)
	if !errors.Is(err, ErrUnknown) {
		return info, err
	}
	for info, err := range c.Pending(ctx) {
		if err != nil || info.Number == number {
			return info, err
		}
	}
	return info, ErrUnknown
}

// outcome reads how a request has ended.
func (c *Cache) outcome(number uint64) (info Info, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, found := seqKey(nil, rangeOutcome, number), false
	err = c.get(key, func(value []byte) (err error) {
		found = true
		info, err = parseInfo(row{key, value})
		return err
	})
	if err == nil && !found {
		err = ErrUnknown
	}
	return info, err
}

// snapshotState makes visible what was gathered, and returns what the job knows of itself.
func (c *Cache) snapshotState() (state, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.open(); err != nil {
		return state{}, err
	}
	c.refusals.gather(&c.changes)
	if len(c.changes.list) > 0 || !c.journal.empty() {
		if err := c.merge(); err != nil {
			return state{}, err
		}
	}
	return c.state, nil
}

// row is a key of the store and its value.
type row struct{ key, value []byte }

// rows lists a range of the store as it is now. A row is valid until the next one.
func (c *Cache) rows(ctx context.Context, in byte) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		if _, err := c.snapshotState(); err != nil {
			yield(row{}, err)
			return
		}
		iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: []byte{in}, UpperBound: []byte{in + 1}})
		if err != nil {
			yield(row{}, damage(c.dir, "", err))
			return
		}
		defer iter.Close()
		for more := iter.First(); more; more = iter.Next() {
			value, err := iter.ValueAndErr()
			switch {
			case err != nil:
				err = damage(c.dir, "", err)
			case ctx.Err() != nil:
				err = ctx.Err()
			}
			if !yield(row{iter.Key(), value}, err) || err != nil {
				return
			}
		}
		if err := iter.Error(); err != nil {
			yield(row{}, damage(c.dir, "", err))
		}
	}
}

// numbers lists a range whose keys are numbers of requests.
func (c *Cache) numbers(ctx context.Context, in byte) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for row, err := range c.rows(ctx, in) {
			var seq uint64
			if err == nil {
				seq, err = parseSeqKey(row.key)
			}
			if !yield(seq, err) || err != nil {
				return
			}
		}
	}
}

// String returns the summary in one line, without the hosts and the counters.
func (s Status) String() string {
	state := "not started"
	switch {
	case s.Finished:
		state = s.Reason
	case s.Started:
		state = "started"
	case s.Spider != "":
		state = "starting"
	}
	line := fmt.Sprintf("%s: %s, %d waiting at %s, %d delayed, %d settled, %d of them %s",
		s.Spider, state, s.Waiting, count(len(s.Hosts), "host"), s.Delayed, s.Settled, s.Dead, plural(s.Dead, "dead letter"))
	if len(s.Suspects) > 0 {
		line += ", " + count(len(s.Suspects), "request") + " in flight when the process died"
	}
	return line
}

// count says how many things of a name there are.
func count(n int, thing string) string { return fmt.Sprint(n, " ", plural(n, thing)) }

// plural returns the name of n things.
func plural[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return thing
	}
	return thing + "s"
}
