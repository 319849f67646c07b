package stage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria/stage"
)

// Each test here is a defect that a well-known pipeline of this shape has. It fails when the change
// that its comment names is made. Others are among the rows of TestRetry (a success was never returned), TestRetryEndsWithItsContext
// (no pause between attempts), TestReuseAndConcurrentProcess (a dynamic pool worked once), TestBroadcastIsolatesMutations (the
// original was handed out before its last clone was made) and TestProcessUntilGivesUp (a source that ignored its context).

// Payloads were not marked after an error, a cancellation or a failure of the sink, and a cancelled run returned nil though
// payloads were left. Fails when a receiver stops to receive before its input is closed, when finish settles only what was
// dropped, or when result does not add the context's cause.
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
				if err := p.Process(ctx, f, f); err == nil || end == "cancel" && err != context.Canceled {
					t.Errorf("error %v", err)
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
