package stage_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

// well gives n parcels to whoever asks; then it has none.
type well struct {
	depot
	n     int32
	given atomic.Int32
	wait  func(ctx context.Context, n int32) // before it gives parcel n; nil: nothing
}

func (w *well) next(ctx context.Context) (*parcel, bool) {
	n := w.given.Add(1) - 1
	if w.wait != nil {
		w.wait(ctx, n)
	}
	if n >= w.n || ctx.Err() != nil {
		return nil, false
	}
	return w.parcel(int(n), ""), true
}

func TestPullProcessesEachOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 7, 100} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			const payloads = 1000
			var processed [payloads]atomic.Int32
			w := &well{n: payloads}
			err := stage.Pull(t.Context(), workers, w.next, process(func(_ context.Context, p *parcel) (*parcel, error) {
				processed[p.id].Add(1)
				if p.id%3 == 0 {
					return nil, stage.ErrDrop
				}
				return p, nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			for id := range processed {
				if n := processed[id].Load(); n != 1 {
					t.Errorf("payload %d was processed %d times, want once", id, n)
				}
			}
			w.each(t, payloads)
		})
	}
}

func TestPullStartsWorkersAsTheyAreNeeded(t *testing.T) {
	const limit = 5
	for _, c := range []struct {
		name     string
		takes    time.Duration // a payload; one comes every 10 ms
		min, max int           // workers
	}{
		{"each done at once", 0, 1, 2},
		{"three at a time", 25 * time.Millisecond, 3, 4},
		{"more than there may be", time.Second, limit, limit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inside gauge
				var workers sync.Map
				turn := make(chan struct{}, 1) // one waits for what comes next
				turn <- struct{}{}
				w := &well{n: 100, wait: func(context.Context, int32) {
					<-turn
					<-time.After(10 * time.Millisecond)
					turn <- struct{}{}
				}}
				err := stage.Pull(t.Context(), limit, w.next, process(func(ctx context.Context, p *parcel) (*parcel, error) {
					inside.enter()
					defer inside.leave()
					workers.Store(stage.CallOf(ctx).Worker(), true)
					<-time.After(c.takes)
					return p, nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for range workers.Range {
					n++
				}
				if n < c.min || n > c.max {
					t.Errorf("%d workers, want %d to %d", n, c.min, c.max)
				}
				if peak := int(inside.peak.Load()); peak > limit {
					t.Errorf("%d payloads at the same time, the limit is %d", peak, limit)
				}
				w.each(t, 100)
			})
		})
	}
}

// A limit that is raised while all workers are busy takes effect at once.
func TestLimitIsRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside gauge
		limit := stage.NewLimit(2)
		w := &well{n: 100, wait: func(context.Context, int32) {}}
		done := make(chan error, 1)
		go func() {
			done <- stage.PullUpTo(t.Context(), limit, w.next, process(func(_ context.Context, p *parcel) (*parcel, error) {
				inside.enter()
				defer inside.leave()
				<-time.After(time.Second)
				return p, nil
			}))
		}()
		for _, n := range []int{2, 7, 5, 20} {
			limit.Raise(n)
			synctest.Wait()
			if got, want := inside.peak.Load(), int64(max(n, 7)); n > 2 && int64(got) != want {
				t.Errorf("raised to %d: %d payloads at the same time, want %d", n, got, want)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		limit.Raise(30) // nothing is to be started any more
		w.each(t, 100)
	})
}

func TestPullEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		processed := 0
		w := &well{n: 10, wait: func(ctx context.Context, n int32) {
			if n == 3 {
				<-ctx.Done()
			}
		}}
		late := func(ctx context.Context) (*parcel, bool) { // gives one all the same
			p, more := w.next(ctx)
			if !more && w.given.Load() == 4 {
				return w.parcel(99, ""), true
			}
			return p, more
		}
		done := make(chan error, 1)
		go func() {
			done <- stage.Pull(ctx, 1, late, process(func(_ context.Context, p *parcel) (*parcel, error) {
				processed++
				return p, nil
			}))
		}()
		synctest.Wait()
		cancel(why)
		if err := <-done; err != why {
			t.Errorf("error %v, want the cause", err)
		}
		if processed != 3 {
			t.Errorf("%d were processed, want 3: none after the cancellation", processed)
		}
		w.each(t, 4) // also the one that came too late
	})
}

func TestPullStopsAtAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		w := &well{n: 1000}
		err := stage.Pull(t.Context(), 4, w.next, process(func(ctx context.Context, p *parcel) (*parcel, error) {
			if p.id == 3 {
				return nil, boom
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}))
		if err == nil || err.Error() != "stage 0: boom" || !errors.Is(err, boom) {
			t.Errorf("error %v, want boom once", err)
		}
		if n := w.given.Load(); n > 8 {
			t.Errorf("%d were asked for, want no more than two for each worker", n)
		}
		w.each(t, -1)
	})
}

func TestPullReplacesADetachedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStuck(0, 5)
		w := &well{n: 10}
		done := make(chan error, 1)
		go func() { done <- stage.Pull(t.Context(), 1, w.next, stage.Processor[*parcel](s)) }()
		for range 2 {
			if !stage.Detach(<-s.got) {
				t.Error("Detach of a running call did nothing")
			}
		}
		var abandoned *stage.AbandonedError
		if err := <-done; !errors.As(err, &abandoned) || abandoned.Stages[0] != 2 {
			t.Errorf("error %v, want two workers left behind", err)
		}
		w.each(t, 10)
		close(s.release)
		synctest.Wait()
		w.each(t, 10)
	})
}
