package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
)

// open prepares the parts and takes over what the cache holds. What it calls is told by its context when the
// crawl is to stop, since there is no work in hand that could be finished; what does not return when the
// grace is over is left behind.
func (c *crawl) open() (state State, err error) {
	ctx, cancel := context.WithCancel(c.work) // parts may keep it: it ends with the work
	defer context.AfterFunc(c.intake, cancel)()
	job := Job{Spider: c.spider.GetName(), KeyVersion: identity.Version, QueueBytes: c.limits.QueueBytes}
	dupes := newDuplicates(c.cfg.dupeFilter, c.limits.Body)
	if dupes.keys != nil {
		job.BloomBits, job.BloomHashes = dupes.keys.bloomParameters()
	}
	var found State // belongs to Begin until it has returned
	err = c.opening(fmt.Sprintf("Begin of the cache %T", c.cache), func() (err error) {
		found, err = c.cache.Begin(ctx, job)
		return err
	})
	if err != nil {
		return state, &RunError{Op: "store", Err: err}
	}
	state = found
	c.acceptor, c.settler = newAcceptor(c, state, dupes), newSettler(c, state)
	if state.Finished {
		return state, nil
	}
	c.fetcher.loopback.Add(loopbackOf(state)...)
	for _, part := range c.parts {
		if opener, ok := part.(Opener); ok {
			what := fmt.Sprintf("opening %T", part)
			if err := c.opening(what, func() error { return opener.Open(ctx, c.spider) }); err != nil {
				return state, &RunError{Op: "start", Err: err}
			}
		}
		c.opened = append(c.opened, part)
	}
	if err := c.restore(ctx, state); err != nil {
		return state, &RunError{Op: "store", Err: err}
	}
	return state, c.resume(ctx, state)
}

// opening runs code of a registered part, or of the cache, that may be left behind.
func (c *crawl) opening(what string, code func() error) error {
	var failed error // belongs to the code until it has returned
	err := c.watch.Apart(&guard.Call{Owner: outsider{c}}, string(StageOpen), func() { _, failed = guard.Protect(code) })
	switch {
	case err == guard.ErrClosed:
		return fmt.Errorf("%s: %w", what, context.Canceled)
	case err != nil:
		return fmt.Errorf("%s: it did not return when its context was cancelled: %w", what, abandonedBy(StageOpen, nil))
	case failed != nil:
		return fmt.Errorf("%s: %w", what, failed)
	}
	return nil
}

// resume tells ledger and scheduler what waits in a durable cache.
func (c *crawl) resume(ctx context.Context, state State) error {
	suspects := make(map[string]bool) // slots that have some
	for i := range state.Suspects {
		suspects[state.Suspects[i].Slot] = true
	}
	c.takeSuspects(state)
	found := int64(0) // belongs to the loop until it has ended
	err := c.opening(fmt.Sprintf("Slots of the cache %T", c.cache), func() error {
		for slot, err := range c.cache.Slots(ctx) {
			if err != nil {
				return err
			}
			found += int64(slot.Pending)
			c.sched.restore(slot, suspects[slot.Name])
		}
		return nil
	})
	if err != nil {
		return &RunError{Op: "store", Err: err}
	}
	c.ledger.Resume(found, state.Delayed)
	if state.Delayed > 0 {
		c.sched.lookAtDue()
	}
	return nil
}

// restore gives the committers their checkpoints. One that has none prepares a first one, which is stored
// before anything is staged.
func (c *crawl) restore(ctx context.Context, state State) error {
	if !state.Durable {
		ctx = context.WithValue(ctx, forgetsKey{}, true)
	}
	first := make(map[string][]byte)
	for _, committer := range c.committers {
		key := committer.CommitKey()
		checkpoint, stored := state.Checkpoints[key]
		if !stored {
			checkpoint = nil
		}
		var prepared []byte // belongs to the committer until it has returned
		err := c.opening(fmt.Sprintf("committer %s: restore", key), func() (err error) {
			if err := committer.Restore(ctx, checkpoint); err != nil || stored {
				return err
			}
			prepared, err = committer.Prepare(ctx, nil)
			return err
		})
		if err != nil {
			return err
		}
		if !stored {
			first[key] = prepared
		}
	}
	if len(first) == 0 {
		return nil
	}
	return c.opening(fmt.Sprintf("Settle of the cache %T", c.cache), func() error {
		return c.cache.Settle(ctx, Batch{Checkpoints: first})
	})
}

// notOpened ends a run whose parts could not be opened.
func (c *crawl) notOpened(ctx context.Context, err error) error {
	if !c.refusing.Load() {
		c.breakDown(err)
		return c.end(ctx)
	}
	told := errors.Is(err, context.Canceled) || c.work.Err() != nil && errors.Is(err, context.Cause(c.work))
	var left *AbandonedError
	if told && !errors.As(err, &left) {
		err = nil // it has but returned when it was told to
	}
	return errors.Join(c.end(ctx), err)
}

// close closes the parts in reverse order of opening.
func (c *crawl) close(reason string) error {
	close(c.closing)
	c.mill.warnOfTypes()
	var errs []error
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.work), c.cfg.grace)
	defer cancel()
	select {
	case <-c.hurry: // the work was in a hurry: that does not cut the closing short
	default:
	}
	for i := len(c.opened) - 1; i >= 0; i-- {
		closer, ok := c.opened[i].(Closer)
		if !ok {
			continue
		}
		if err := c.closePart(ctx, cancel, closer, reason); err != nil {
			errs = append(errs, fmt.Errorf("tegenaria: closing %T: %w", closer, err))
		}
	}
	c.noMore()
	c.giveUp(context.Canceled)
	c.abandonStore()
	if c.fetcher.http != nil {
		c.fetcher.http.close()
	}
	c.fetcher.bodies.Close()
	c.took.Store(int64(time.Since(c.began)))
	c.teller.close()
	if f := c.cfg.events.Closed; f != nil {
		c.teller.call(func() { f(reason) })
	}
	return errors.Join(errs...)
}

// closePart closes one part. One that does not return soon after its context has ended is left behind. If somebody is in
// a hurry cut ends ctx, which all parts have.
func (c *crawl) closePart(ctx context.Context, cut context.CancelFunc, closer Closer, reason string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error // belongs to the part until it has returned
	part := guard.Go(func() { _, err = guard.Protect(func() error { return closer.Close(ctx, reason) }) })
	select {
	case <-part.Done():
	case <-c.hurry:
		cut()
	case <-ctx.Done():
	}
	bye := time.NewTimer(farewell)
	defer bye.Stop()
	select {
	case <-part.Done():
		if part.Returned() {
			return err
		}
	case <-bye.C:
	}
	c.watch.Count(string(StageClose))
	c.teller.lost(guard.Loss{At: string(StageClose)}, nil, "", nil)
	return fmt.Errorf("it did not return when its context was cancelled: %w", abandonedBy(StageClose, nil))
}
