package stage_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/stage"
)

var seed = flag.Uint64("seed", 0, "seed of the first random pipeline; 0 takes 1, or a new one in a deep check")

// TestEveryPayloadIsSettledOnce runs random pipelines with everything that can happen to a payload.
func TestEveryPayloadIsSettledOnce(t *testing.T) {
	first := *seed
	if first == 0 {
		first = deep.Seed() >> 1
	}
	rounds := uint64(400)
	if testing.Short() {
		rounds = 50
	}
	for s := first; s < first+rounds && !t.Failed(); s++ {
		synctest.Test(t, func(t *testing.T) { newTrial(s).run(t) })
		if t.Failed() {
			t.Logf("run again with: go test ./stage -run EveryPayloadIsSettledOnce -seed %d", s)
		}
	}
}

// trial is one random pipeline. What happens to a payload in a processor depends on the seed, the
// processor and the payload only, not on the order in which goroutines run.
type trial struct {
	seed                           uint64
	fails, drops, sticks, detaches float64 // how probable each is, per call
	retries                        bool
	cancelAt, giveUpAt             time.Duration
	f                              *flow
	pipeline                       *stage.Pipeline[*parcel]

	mu       sync.Mutex
	returned []error // by processors, source and sink
}

const never = time.Duration(0)

func newTrial(seed uint64) *trial {
	r := rand.New(rand.NewPCG(seed, 1))
	some := func(p float64) float64 {
		if r.IntN(2) == 0 {
			return 0
		}
		return p * r.Float64()
	}
	tr := &trial{
		seed: seed, fails: some(0.02), drops: some(0.3), sticks: some(0.05), detaches: some(0.1),
		retries: r.IntN(2) == 0, f: &flow{n: r.IntN(200)},
	}
	if r.IntN(2) == 0 {
		tr.cancelAt = 1 + time.Duration(r.Int64N(int64(500*time.Millisecond)))
	}
	if tr.sticks > 0 || r.IntN(3) == 0 {
		tr.giveUpAt = tr.cancelAt + 1 + time.Duration(r.Int64N(int64(time.Second)))
	}
	var chain []stage.Runner[*parcel]
	for i := range r.IntN(5) {
		p := process(func(ctx context.Context, p *parcel) (*parcel, error) { return tr.process(ctx, uint64(i), p) })
		switch r.IntN(5) {
		case 0:
			chain = append(chain, stage.FIFO(p))
		case 1:
			chain = append(chain, stage.FixedWorkerPool(p, 1+r.IntN(5)))
		case 2:
			chain = append(chain, stage.DynamicWorkerPool(p, 1+r.IntN(5)))
		case 3:
			chain = append(chain, stage.Broadcast[*parcel](p, process(pass), p))
		case 4:
			// A second attempt fails as the first one does, but with an error of its own.
			policy := stage.RetryPolicy{Attempts: 2, Transient: func(error) bool { return tr.retries }}
			chain = append(chain, stage.FIFO(stage.Retry(p, policy)))
		}
	}
	tr.pipeline = stage.New(chain...)
	tr.f.next = func(ctx context.Context, n int) {
		r := tr.dice(1000, n)
		switch {
		case r.Float64() < tr.sticks/5:
			<-time.After(time.Hour)
		case r.IntN(4) == 0:
			tr.wait(ctx, r)
		}
		if r.Float64() < tr.fails/5 {
			tr.f.n = n
			tr.f.err = tr.failed("source %d", n)
		}
	}
	tr.f.consume = func(ctx context.Context, p *parcel) error {
		_, err := tr.process(ctx, 1001, p)
		if errors.Is(err, stage.ErrDrop) {
			return nil
		}
		return err
	}
	return tr
}

func (tr *trial) dice(place uint64, payload int) *rand.Rand {
	return rand.New(rand.NewPCG(tr.seed, place<<32|uint64(payload)))
}

func (tr *trial) failed(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.returned = append(tr.returned, err)
	return err
}

func (tr *trial) wait(ctx context.Context, r *rand.Rand) error {
	select {
	case <-time.After(time.Duration(r.Int64N(int64(20 * time.Millisecond)))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (tr *trial) process(ctx context.Context, place uint64, p *parcel) (*parcel, error) {
	r := tr.dice(place, p.id)
	call := stage.CallOf(ctx)
	if r.Float64() < tr.detaches {
		// Now, at the same time as the return, or by a timer that may be late.
		switch at := time.Duration(r.Int64N(int64(20 * time.Millisecond))); r.IntN(3) {
		case 0:
			call.Detach()
		case 1:
			time.AfterFunc(0, func() { call.Detach() })
		case 2:
			time.AfterFunc(at, func() { call.Detach() })
		}
	}
	if r.Float64() < tr.sticks {
		<-time.After(time.Duration(1+r.IntN(60)) * time.Minute)
	} else if r.IntN(2) == 0 {
		if err := tr.wait(ctx, r); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Float64() < tr.fails:
		return nil, tr.failed("place %d, payload %d", place, p.id)
	case r.Float64() < tr.drops:
		return nil, stage.ErrDrop
	case r.IntN(5) == 0:
		return p.replaced(), nil
	}
	return p, nil
}

func (tr *trial) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if tr.cancelAt != never {
		time.AfterFunc(tr.cancelAt, cancel)
	}
	var giveUp context.Context
	if tr.giveUpAt != never {
		var end func()
		giveUp, end = context.WithTimeout(context.Background(), tr.giveUpAt)
		defer end()
	}

	start := time.Now()
	err := tr.pipeline.ProcessUntil(ctx, giveUp, tr.f, tr.f)
	took := time.Since(start)
	stopped := ctx.Err() != nil

	tr.f.each(t, -1)
	if giveUp != nil && took > tr.giveUpAt {
		t.Errorf("returned after %v, giveUp was at %v", took, tr.giveUpAt)
	}
	tr.mu.Lock()
	returned := append([]error(nil), tr.returned...)
	tr.mu.Unlock()
	if tr.sticks == 0 && tr.detaches == 0 && !tr.retries && tr.giveUpAt == never {
		for _, e := range returned {
			if !errors.Is(err, e) {
				t.Errorf("the error %q is lost in: %v", e, err)
			}
		}
		var abandoned *stage.AbandonedError
		if errors.As(err, &abandoned) {
			t.Errorf("left behind without a reason: %v", err)
		}
	}
	if stopped && err == nil {
		t.Error("no error of a cancelled run")
	}
	if err == nil && tr.f.produced != tr.f.n {
		t.Errorf("no error, but only %d of %d payloads were taken", tr.f.produced, tr.f.n)
	}

	<-time.After(5 * time.Hour) // all of them return
	tr.f.each(t, -1)
}
