package stage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

// Each test here is a defect that a well-known pipeline of this shape has. It fails when the change
// that its comment names is made.

// The retry decorator never returned a success.
// Fails when Retry goes on, or returns the error of the last attempt, after an attempt without an error.
func TestRetryReturnsSuccess(t *testing.T) {
	calls := 0
	good := process(func(_ context.Context, p *parcel) (*parcel, error) {
		calls++
		return p, nil
	})
	f := &flow{n: 2}
	err := stage.New(stage.FIFO(stage.Retry(good, stage.RetryPolicy{Attempts: 3}))).Process(t.Context(), f, f)
	if err != nil || calls != 2 || len(f.arrived) != 2 {
		t.Errorf("%d calls for 2 good payloads, %d arrived, error %v", calls, len(f.arrived), err)
	}
	f.each(t, 2)
}

// The retry decorator did not pause between attempts, and ignored its context.
// Fails when Retry does not wait, or waits without looking at the context.
func TestRetryWaitsUntilCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		calls := 0
		bad := process(func(context.Context, *parcel) (*parcel, error) {
			calls++
			return nil, errors.New("busy")
		})
		f := &flow{n: 1}
		start := time.Now()
		policy := stage.RetryPolicy{Attempts: 1000, Backoff: time.Minute, MaxBackoff: time.Minute}
		err := stage.New(stage.FIFO(stage.Retry(bad, policy))).Process(ctx, f, f)
		if !errors.Is(err, context.DeadlineExceeded) || calls != 2 || time.Since(start) != 90*time.Second {
			t.Errorf("%d calls in %v, error %v; want 2 in 1m30s and the deadline", calls, time.Since(start), err)
		}
		f.each(t, 1)
	})
}

// A dynamic pool worked once: the second Process hung.
// Fails when the crew, or any count of its workers, becomes a field of pool and so outlives a Run.
func TestDynamicWorkerPoolIsReusable(t *testing.T) {
	p := stage.New(stage.DynamicWorkerPool(process(pass), 3))
	for run := range 4 {
		f := &flow{n: 20}
		if err := p.Process(t.Context(), f, f); err != nil || len(f.arrived) != 20 {
			t.Fatalf("run %d: %d arrived, error %v", run, len(f.arrived), err)
		}
	}
}

// A cancelled run returned nil though payloads were left.
// Fails when result does not add the context's cause.
func TestCancelledRunReturnsAnError(t *testing.T) {
	for kind := range runners(process(pass)) {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			last := runners(process(func(_ context.Context, p *parcel) (*parcel, error) {
				if p.id == 4 {
					cancel()
				}
				return p, nil
			}))[kind]
			f := &flow{n: 1000}
			if err := stage.New(last).Process(ctx, f, f); err != context.Canceled {
				t.Errorf("error %v, want context.Canceled", err)
			}
			if len(f.arrived) == f.n {
				t.Error("all payloads arrived, the test shows nothing")
			}
		})
	}
}

// Payloads were not marked after an error, a cancellation or a failure of the sink.
// Fails when a receiver stops to receive before its input is closed, or when finish settles only
// what was dropped.
func TestEveryEndMarksAllPayloads(t *testing.T) {
	boom := errors.New("boom")
	ends := map[string]func(f *flow, cancel func()) stage.ProcessorFunc[*parcel]{
		"error": func(*flow, func()) stage.ProcessorFunc[*parcel] {
			return func(_ context.Context, p *parcel) (*parcel, error) {
				if p.id == 20 {
					return nil, boom
				}
				return p, nil
			}
		},
		"cancel": func(_ *flow, cancel func()) stage.ProcessorFunc[*parcel] {
			return func(_ context.Context, p *parcel) (*parcel, error) {
				if p.id == 20 {
					cancel()
				}
				return p, nil
			}
		},
		"sink": func(f *flow, _ func()) stage.ProcessorFunc[*parcel] {
			f.consume = func(_ context.Context, p *parcel) error {
				if p.id == 20 {
					return boom
				}
				return nil
			}
			return pass
		},
		"source": func(f *flow, _ func()) stage.ProcessorFunc[*parcel] {
			f.n, f.err = 20, boom
			return pass
		},
	}
	for end, build := range ends {
		for kind := range runners(process(pass)) {
			t.Run(end+"/"+kind, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f := &flow{n: 50}
				middle := runners(build(f, cancel))[kind]
				p := stage.New(runners(process(pass))[kind], middle, runners(process(pass))[kind])
				if err := p.Process(ctx, f, f); err == nil {
					t.Error("no error")
				}
				if f.produced < 20 {
					t.Errorf("only %d payloads left the source", f.produced)
				}
				f.each(t, f.produced)
			})
		}
	}
}

// Errors beyond the room of the error channel were lost.
// Fails when fail keeps the first error only, or puts errors into a channel that can be full.
func TestNoErrorIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 50
		together := make(chan struct{})
		failing := process(func(_ context.Context, p *parcel) (*parcel, error) {
			<-together
			return nil, fmt.Errorf("payload %d", p.id)
		})
		f := &flow{n: workers}
		done := make(chan error)
		go func() { done <- stage.New(stage.FixedWorkerPool(failing, workers)).Process(t.Context(), f, f) }()
		synctest.Wait()
		close(together)
		joined, ok := (<-done).(interface{ Unwrap() []error })
		if !ok {
			t.Fatal("the error is not joined of several")
		}
		texts := make(map[string]bool)
		for _, err := range joined.Unwrap() {
			texts[err.Error()] = true
		}
		for i := range workers {
			if !texts[fmt.Sprintf("stage 0: payload %d", i)] {
				t.Errorf("the error of payload %d is lost", i)
			}
		}
		f.each(t, workers)
	})
}

// page is a payload with something to read up.
type page struct {
	body    bytes.Buffer
	seen    string
	touched bool
	t       *testing.T
}

func (p *page) Clone() *page {
	if p.touched {
		p.t.Error("a payload is cloned after a processor had it")
	}
	c := &page{t: p.t}
	c.body.Write(p.body.Bytes())
	return c
}

// Clone took the content away from the original. Whether that showed depended on the order of the stages.
// Fails when page.Clone copies with io.Copy(&c.body, &p.body), against the contract of Cloner, or
// when Broadcast hands out the original before the last clone was made.
func TestCloneLeavesTheOriginal(t *testing.T) {
	const text = "the whole body"
	reader := stage.ProcessorFunc[*page](func(_ context.Context, p *page) (*page, error) {
		p.touched = true
		b, err := io.ReadAll(&p.body)
		p.seen = string(b)
		return p, err
	})
	f := &values[*page]{}
	for range 30 {
		p := &page{t: t}
		p.body.WriteString(text)
		f.in = append(f.in, p)
	}
	if err := stage.New(stage.Broadcast[*page](reader, reader, reader)).Process(t.Context(), f, f); err != nil {
		t.Fatal(err)
	}
	if len(f.out) != 90 {
		t.Errorf("%d payloads, want 90", len(f.out))
	}
	for _, p := range f.out {
		if p.seen != text {
			t.Errorf("a processor saw %q", p.seen)
		}
	}
}

// A source that ignored its context held the run up for ever.
// Fails when ProcessUntil does not give up the pump, or closes its output only when it has left.
func TestSourceThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		giveUp, end := context.WithTimeout(t.Context(), 2*time.Second)
		defer end()
		deaf := make(chan struct{})
		f := &flow{n: 10, next: func(_ context.Context, n int) {
			if n == 5 {
				<-deaf
			}
		}}
		start := time.Now()
		err := stage.New(stage.DynamicWorkerPool(process(pass), 2)).ProcessUntil(ctx, giveUp, f, f)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("returned after %v, want 2 s", took)
		}
		var abandoned *stage.AbandonedError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &abandoned) || abandoned.Stages[stage.StageSource] != 1 {
			t.Errorf("error %v, want the deadline and one source left behind", err)
		}
		f.each(t, 5)
		close(deaf)
		synctest.Wait()
		f.each(t, 5) // what it would have produced stays with it
	})
}

// A select between the input and the context could process a payload after the cancellation.
// Fails when a worker looks at the context only in a select with its input.
func TestNothingIsProcessedAfterTheCancellation(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		consumed := make(chan int, 100)
		processed := 0
		last := process(func(_ context.Context, p *parcel) (*parcel, error) {
			processed++
			if p.id == 5 {
				for <-consumed != 4 { // the sink has nothing to do
				}
				cancel()
			}
			return p, nil
		})
		f := &flow{n: 100, consume: func(_ context.Context, p *parcel) error {
			consumed <- p.id
			return nil
		}}
		if err := stage.New(stage.FixedWorkerPool(process(pass), 3), stage.FIFO(inOrder(last))).Process(ctx, f, f); err != context.Canceled {
			t.Fatalf("error %v", err)
		}
		if processed != 6 || len(f.arrived) != 5 {
			t.Fatalf("%d payloads processed and %d consumed, want 6 and 5", processed, len(f.arrived))
		}
		f.each(t, -1)
	}
}

// inOrder numbers payloads anew, as a pool before may have mixed them.
func inOrder(next stage.Processor[*parcel]) stage.Processor[*parcel] {
	n := 0
	return process(func(ctx context.Context, p *parcel) (*parcel, error) {
		p.id = n
		n++
		return next.Process(ctx, p)
	})
}
