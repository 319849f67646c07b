package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// link is the network between a worker and its servers. It may be slow, closed for a time, lose answers, and end with
// the worker.
type link struct {
	name     string // of the job
	patience time.Duration

	mu      sync.Mutex // guards the fields below
	random  *rand.Rand
	slow    time.Duration // the longest time there or back
	loses   float64       // the share of answers that are lost
	closed  time.Time     // until when nothing gets through
	diesAt  int           // the number of the step at which the worker dies, 0: none
	steps   int
	dead    bool
	onDeath func() // called once, when it dies; set before the first step
}

// step passes the link once, there or back. It fails when ctx ends, when the worker has died, and when the link was
// closed for too long.
func (w *link) step(ctx context.Context, doing string) error {
	w.mu.Lock()
	w.steps++
	dies := w.steps == w.diesAt
	w.dead = w.dead || dies
	dead, pause := w.dead, time.Duration(w.random.Int64N(int64(w.slow)+1))
	w.mu.Unlock()
	if dies {
		w.onDeath()
	}
	began := time.Now()
	for {
		w.mu.Lock()
		shut := time.Until(w.closed)
		w.mu.Unlock()
		if dead || shut > 0 && time.Since(began) > w.patience {
			return &Error{Job: w.name, Doing: doing, Away: 1, Err: errors.New("nothing gets through")}
		}
		if shut <= 0 && pause == 0 {
			return nil
		}
		timer := time.NewTimer(cmp.Or(min(max(shut, 0), 100*time.Millisecond), pause))
		pause = 0
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("cluster: %s the job %s: %w", doing, w.name, context.Cause(ctx))
		}
	}
}

// through does something at the other end of the link, again if the answer is lost.
func (w *link) through(ctx context.Context, doing string, do func() error) error {
	for {
		if err := w.step(ctx, doing); err != nil {
			return err
		}
		err := do()
		if away := w.step(ctx, doing); away != nil {
			return away
		}
		w.mu.Lock()
		lost := w.random.Float64() < w.loses
		w.mu.Unlock()
		if !lost {
			return err
		}
	}
}

// isDead reports whether the worker has died.
func (w *link) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}
