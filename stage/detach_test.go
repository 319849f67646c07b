package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

func TestDetachFreesThePlaceAtOnce(t *testing.T) {
	for _, kind := range []string{"FIFO", "FixedWorkerPool", "DynamicWorkerPool", "Broadcast"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// As many stuck payloads as there are workers, and then as many again.
				s := newStuck(0, 1, 2, 3, 10, 11, 12, 13)
				f := &flow{n: 20}
				done := make(chan error, 1)
				go func() { done <- stage.New(runners(s)[kind], stage.FIFO(process(pass))).Process(t.Context(), f, f) }()
				for range 8 {
					ctx := <-s.got
					if !stage.Detach(ctx) {
						t.Error("Detach of a running call did nothing")
					}
					if stage.Detach(ctx) {
						t.Error("Detach worked twice")
					}
					if context.Cause(ctx) != stage.ErrDetached {
						t.Errorf("the worker's context: %v, want ErrDetached", context.Cause(ctx))
					}
				}
				err := <-done
				if abandoned, ok := errors.AsType[*stage.AbandonedError](err); !ok || abandoned.Stages[0] != 8 || len(abandoned.Stages) != 1 {
					t.Errorf("error %v, want just 8 workers left behind", err)
				}
				var typed *stage.StageError
				if errors.As(err, &typed) {
					t.Errorf("error %v of a run that was not cancelled", err)
				}
				want := []int{4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19}
				if got := f.sortedIDs(); !slices.Equal(got, want) {
					t.Errorf("arrived: %v, want %v", got, want)
				}
				f.each(t, 20)
				close(s.release)
				synctest.Wait()
				f.each(t, 20)
			})
		})
	}
}

func TestDetachedWorkerThatCameBackIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := process(func(ctx context.Context, p *parcel) (*parcel, error) {
			if p.id == 2 {
				stage.Detach(ctx)
				<-ctx.Done()
				return p, errors.New("late")
			}
			<-time.After(time.Second)
			return p, nil
		})
		f := &flow{n: 10}
		if err := stage.New(stage.FIFO(slow)).Process(t.Context(), f, f); err != nil {
			t.Error(err)
		}
		if got := f.ids(); !slices.Equal(got, []int{0, 1, 3, 4, 5, 6, 7, 8, 9}) {
			t.Errorf("arrived: %v", got)
		}
		f.each(t, 10)
	})
}

func TestDetachTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := &flow{n: 5, consume: func(ctx context.Context, p *parcel) error {
			if p.id == 1 {
				stage.Detach(ctx)
				<-release
				return errors.New("late")
			}
			return nil
		}}
		err := stage.New[*parcel]().Process(t.Context(), f, f)
		if err == nil || err.Error() != "stage: workers left behind: sink: 1" {
			t.Errorf("error %v", err)
		}
		if got := f.ids(); !slices.Equal(got, []int{0, 2, 3, 4}) {
			t.Errorf("arrived: %v", got)
		}
		f.each(t, 5)
		close(release)
	})
}

// A worker's context serves all its payloads; a Call is of one only.
func TestCallThatIsOverDetachesNothing(t *testing.T) {
	var calls []stage.Call
	f := &flow{n: 5}
	work := process(func(ctx context.Context, p *parcel) (*parcel, error) {
		for _, old := range calls {
			if old.Detach() {
				t.Errorf("the call of an earlier payload hit payload %d", p.id)
			}
		}
		calls = append(calls, stage.CallOf(ctx))
		return p, nil
	})
	if err := stage.New(stage.FIFO(work)).Process(t.Context(), f, f); err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		if call.Detach() {
			t.Error("a call could be given up after the run")
		}
	}
	f.each(t, 5)
}

func TestDetachOfOtherContexts(t *testing.T) {
	if stage.Detach(t.Context()) {
		t.Error("Detach of a foreign context did something")
	}
	f := &flow{n: 5, next: func(ctx context.Context, _ int) {
		if stage.Detach(ctx) {
			t.Error("Detach of the source's context did something")
		}
	}}
	if err := stage.New[*parcel]().Process(t.Context(), f, f); err != nil {
		t.Error(err)
	}
	derived := process(func(ctx context.Context, p *parcel) (*parcel, error) {
		child, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if !stage.Detach(child) {
			t.Error("Detach of a derived context did nothing")
		}
		if child.Err() == nil {
			t.Error("the derived context is not cancelled")
		}
		return p, nil
	})
	f = &flow{n: 1}
	_ = stage.New(stage.FIFO(derived)).Process(t.Context(), f, f)
	f.each(t, 1)
}

// Whoever is first wins, return or Detach, and exactly one of them settles.
func TestDetachRacesWithTheReturn(t *testing.T) {
	const payloads = 5000
	type ask struct {
		call stage.Call
		p    *parcel
	}
	asks := make(chan ask, 16)
	var detached atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for a := range asks {
			if a.call.Detach() {
				detached.Add(1)
				if n := a.p.marks.Load(); n != 1 {
					t.Errorf("payload %d was marked %d times when Detach returned", a.p.id, n)
				}
			}
		}
	}()
	work := process(func(ctx context.Context, p *parcel) (*parcel, error) {
		asks <- ask{stage.CallOf(ctx), p}
		return p, nil
	})
	f := &flow{n: payloads}
	err := stage.New(stage.DynamicWorkerPool(work, 8)).Process(t.Context(), f, f)
	close(asks)
	<-done
	if _, ok := errors.AsType[*stage.AbandonedError](err); err != nil && !ok {
		t.Error(err)
	}
	if got := len(f.arrived) + int(detached.Load()); got != payloads {
		t.Errorf("%d arrived and %d were given up, of %d", len(f.arrived), detached.Load(), payloads)
	}
	f.each(t, payloads)
}

func ExampleCall_Detach() {
	watched := stage.ProcessorFunc[string](func(ctx context.Context, page string) (string, error) {
		// The timer may come late: the call it gives up is of this page, never of the next.
		call := stage.CallOf(ctx)
		limit := time.AfterFunc(50*time.Millisecond, func() { call.Detach() })
		defer limit.Stop()
		if page == "endless" {
			<-ctx.Done() // here a call that is given up hears of it; others might never return
		}
		return page, nil
	})
	f := &values[string]{in: []string{"one", "endless", "two"}}
	_ = stage.New(stage.FIFO(watched)).Process(context.Background(), f, f)
	fmt.Println(f.out)
	// Output: [one two]
}
