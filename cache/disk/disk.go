package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
)

// Cache is a job in a directory. Its methods may be called concurrently.
type Cache struct {
	dir     string
	fs      *guard
	db      *pebble.DB
	lock    interface{ Close() error }
	mark    *mark
	notes   *flightnotes.Notes
	every   time.Duration // between two commits
	closing chan struct{} // closed by Close
	loading sync.WaitGroup

	bloomOnly bool

	mu       sync.Mutex // guards the fields below
	ready    bool       // Begin was called
	closed   bool
	changes  changes // gathered since the last commit
	gathered int     // settled requests among them
	state    state
	dirty    []*slot
	idle     []*slot // without work, remembered for their politeness

	slots     map[string]*slot
	lastSlot  *slot
	flights   map[tegenaria.Key]*flight
	workbench workbench
	nextDue   instant // earliest in the due list, if state.delayed > 0

	recent      *recent
	journal     journal
	filter      *bloomFilter
	filterWhole bool // every key that was seen is in the filter
	looked      []looked

	checkpoints map[string][]byte
	counters    []byte // as stored; nil: none are

	keyBuf, valueBuf []byte

	refusals refusals

	syncing sync.Mutex // held during a commit; guards the fields below
	durable uint64     // number of the last commit that is
	synced  time.Time  // when it was
}

var (
	_ tegenaria.CacheInterface  = (*Cache)(nil)
	_ tegenaria.FlightRecorder  = (*Cache)(nil)
	_ tegenaria.RefusalRecorder = (*Cache)(nil)
)

// Begin is described at [tegenaria.CacheInterface]. A job of another spider, or whose keys were made by other rules,
// is refused with a [*MismatchError].
func (c *Cache) Begin(_ context.Context, job tegenaria.Job) (tegenaria.State, error) {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.open(); err != nil {
		return tegenaria.State{}, err
	}
	switch {
	case c.state.spider == "":
	case c.state.spider != job.Spider:
		return tegenaria.State{}, &MismatchError{Dir: c.dir, What: "spider", Stored: c.state.spider, Asked: job.Spider}
	case c.state.keyVersion != job.KeyVersion:
		return tegenaria.State{}, &MismatchError{
			Dir: c.dir, What: "key version", Stored: fmt.Sprint(c.state.keyVersion), Asked: fmt.Sprint(job.KeyVersion),
		}
	}
	c.state.spider, c.state.keyVersion = job.Spider, job.KeyVersion
	if err := c.load(job); err != nil {
		return tegenaria.State{}, err
	}
	c.ready = true
	s := tegenaria.State{
		Durable: true, Started: c.state.started, Finished: c.state.finished, Reason: c.state.reason,
		Delayed: c.state.delayed, Checkpoints: maps.Clone(c.checkpoints),
	}
	var err error
	if s.Suspects, s.Unread, err = c.takeSuspects(); err != nil {
		return tegenaria.State{}, err
	}
	s.Counters, err = c.counts()
	return s, err
}

// load reads what a run needs to know from the beginning: a few values, and the slots. The queues stay where they
// are.
func (c *Cache) load(job tegenaria.Job) error {
	if _, err := c.apply(false); err != nil { // what an earlier run of this process has gathered
		return err
	}
	c.slots = make(map[string]*slot)
	c.flights = make(map[tegenaria.Key]*flight)
	c.workbench = workbench{budget: c.workbench.budget}
	c.recent = newRecent()
	c.lastSlot, c.idle = nil, nil
	c.checkpoints, c.counters = make(map[string][]byte), nil
	err := c.scan([]byte{rangeSlot}, []byte{rangeSlot + 1}, func(key, value []byte) error {
		s, err := parseSlot(string(key[1:]), value)
		if err != nil {
			return err
		}
		if newer, ok := c.journal.slot(s.id); ok {
			if s, err = parseSlot(s.name, newer); err != nil {
				return err
			}
		}
		c.slots[s.name] = s
		if s.waiting > 0 {
			c.workbench.slots++
		} else {
			c.touch(s) // it is forgotten when its time is over
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.scan([]byte{rangeCheckpoint}, []byte{rangeCheckpoint + 1}, func(key, value []byte) error {
		c.checkpoints[string(key[1:])] = slices.Clone(value)
		return nil
	})
	if err != nil {
		return err
	}
	err = c.get([]byte{rangeCounters}, func(value []byte) error {
		c.counters = append([]byte{}, value...)
		return nil
	})
	if err != nil {
		return err
	}
	if c.state.delayed > 0 {
		found := false
		err = c.scan([]byte{rangeDue}, []byte{rangeDue + 1}, func(key, _ []byte) (err error) {
			c.nextDue, _, err = parseDueKey(key)
			found = true
			return errors.Join(err, errEnough)
		})
		if err == nil && !found {
			err = c.failure(fmt.Errorf("the due list is empty, %d records are missing", c.state.delayed))
		}
		if err != nil {
			return err
		}
	}
	if err := c.loadRefusals(); err != nil {
		return err
	}
	return c.loadFilter(job)
}

// errEnough ends a scan without being its error.
var errEnough = errors.New("enough")

// scan reads a part of the store in the order of the keys.
func (c *Cache) scan(from, to []byte, read func(key, value []byte) error) error {
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return c.failure(err)
	}
	defer iter.Close()
	for more := iter.First(); more; more = iter.Next() {
		value, err := iter.ValueAndErr()
		if err == nil {
			err = read(iter.Key(), value)
		}
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return c.failure(fmt.Errorf("reading key %x: %w", iter.Key(), err))
		}
	}
	if err := iter.Error(); err != nil {
		return c.failure(err)
	}
	return nil
}

// Slots is described at [tegenaria.CacheInterface].
func (c *Cache) Slots(context.Context) iter.Seq2[tegenaria.SlotState, error] {
	return func(yield func(tegenaria.SlotState, error) bool) {
		c.mu.Lock()
		err := c.begun()
		now := time.Now()
		states := make([]tegenaria.SlotState, 0, len(c.slots))
		for _, s := range c.slots {
			if s.waiting > 0 || s.suspected || s.remembers(now) {
				states = append(states, stateOf(s))
			}
		}
		c.mu.Unlock()
		if err != nil {
			yield(tegenaria.SlotState{}, err)
			return
		}
		for _, state := range states {
			if !yield(state, nil) {
				return
			}
		}
	}
}

// Counters is described at [tegenaria.CacheInterface].
func (c *Cache) Counters(context.Context) (map[string]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begun(); err != nil {
		return nil, err
	}
	return c.counts()
}

func (c *Cache) counts() (map[string]int64, error) {
	if c.counters == nil {
		return nil, nil
	}
	counters, err := parseCounters(c.counters)
	return counters, c.failure(err)
}

// ExpectedLoss estimates how many requests [BloomOnly] has lost so far: new requests that were taken for known ones. It is 0
// without that option.
func (c *Cache) ExpectedLoss() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(math.Round(c.state.lost))
}

// Close writes all pending changes to disk and closes the job. Requests that were in flight wait again when the job is opened. If
// the disk has failed, Close returns the error that ended the crawl.
func (c *Cache) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.closing)
	c.mu.Unlock()
	c.loading.Wait()
	c.syncing.Lock()
	defer c.syncing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := errors.Join(c.finish(), c.notes.Close())
	err = errors.Join(err, c.db.Close())
	err = errors.Join(err, c.mark.close())
	if err == nil {
		// No commit will have the witness of what replaces these. Should that be damaged, the store lacks tables, and says so.
		c.fs.release(c.fs.held())
		err = c.removeLogs()
	}
	return errors.Join(err, c.lock.Close())
}

// removeLogs removes the store's logs but the newest. The store keeps them to write over them; all they say has been
// flushed.
func (c *Cache) removeLogs() error {
	dir := c.fs.PathJoin(c.dir, storeDir)
	names, err := c.fs.List(dir)
	if err != nil {
		return damage(c.dir, storeDir, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isLog(name) })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), cmp.Compare(a, b)) })
	names = names[:max(len(names)-1, 0)]
	for i, name := range names {
		names[i] = c.fs.PathJoin(dir, name)
	}
	c.fs.remove(names)
	return c.broken()
}

// finish stores what makes the next opening fast.
func (c *Cache) finish() error {
	if err := c.broken(); err != nil {
		return err
	}
	if err := c.saveFilter(); err != nil {
		return err
	}
	// All tables are written, or the log would be read again, and take space until then. A last commit, of the state
	// alone, is the witness of that.
	if err := c.merge(); err != nil {
		return err
	}
	c.fs.end() // with this the last log begins, which will have one commit
	if err := c.db.Flush(); err != nil {
		return c.failure(err)
	}
	done, err := c.apply(true)
	if err != nil {
		return err
	}
	return c.wait(done)
}

// open reports whether the cache is closed or broken.
func (c *Cache) open() error {
	if c.closed {
		return errClosed
	}
	return c.broken()
}

// begun reports whether the cache can be used.
func (c *Cache) begun() error {
	if !c.ready && !c.closed {
		return errNotBegun
	}
	return c.open()
}

var (
	errClosed   = errors.New("disk: the cache is closed")
	errNotBegun = errors.New("disk: Begin was not called")
)

// broken returns what has ended the job's use of the disk.
func (c *Cache) broken() error { return c.fs.failed() }

// failure notes an error that the job cannot go on after.
func (c *Cache) failure(err error) error {
	if err == nil {
		return nil
	}
	if broken := c.fs.failed(); broken != nil {
		return broken
	}
	err = damage(c.dir, "", err)
	c.fs.fail(err)
	return err
}
