package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

func TestDataFlowsThroughTenStages(t *testing.T) {
	for kind := range runners(process(pass)) {
		t.Run(kind, func(t *testing.T) {
			var chain []stage.Runner[*parcel]
			for i := range 10 {
				chain = append(chain, runners(process(func(_ context.Context, p *parcel) (*parcel, error) {
					p.text += string(rune('0' + i))
					return p, nil
				}))[kind])
			}
			f := &flow{n: 50}
			if err := stage.New(chain...).Process(t.Context(), f, f); err != nil {
				t.Fatal(err)
			}
			if got := f.sortedIDs(); !slices.Equal(got, upTo(50)) {
				t.Errorf("arrived: %v", got)
			}
			for _, p := range f.arrived {
				if p.text != "0123456789" {
					t.Errorf("payload %d went through the stages as %q", p.id, p.text)
				}
			}
			f.each(t, 50)
		})
	}
}

func TestErrorTexts(t *testing.T) {
	boom := errors.New("boom")
	failing := stage.FIFO(process(func(_ context.Context, p *parcel) (*parcel, error) { return nil, boom }))
	passing := stage.FIFO(process(pass))
	tests := []struct {
		name   string
		stages []stage.Runner[*parcel]
		flow   *flow
		where  int
		text   string
	}{
		{"processor of the first stage", []stage.Runner[*parcel]{failing, passing}, &flow{n: 1}, 0, "stage 0: boom"},
		{"processor of the third stage", []stage.Runner[*parcel]{passing, passing, failing}, &flow{n: 1}, 2, "stage 2: boom"},
		{"source", []stage.Runner[*parcel]{passing}, &flow{n: 3, err: boom}, stage.StageSource, "source: boom"},
		{"source without payloads", nil, &flow{err: boom}, stage.StageSource, "source: boom"},
		{"sink", []stage.Runner[*parcel]{passing}, &flow{n: 1, consume: func(context.Context, *parcel) error { return boom }},
			stage.StageSink, "sink: boom"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := stage.New(test.stages...).Process(t.Context(), test.flow, test.flow)
			if err == nil || err.Error() != test.text {
				t.Fatalf("error %v, want %q", err, test.text)
			}
			if typed, ok := errors.AsType[*stage.StageError](err); !ok || typed.Stage != test.where || !errors.Is(err, boom) {
				t.Errorf("error %#v, want a *StageError of stage %d around boom", err, test.where)
			}
			test.flow.each(t, -1)
		})
	}
}

func TestDroppingMarksAll(t *testing.T) {
	drops := map[string]error{
		"ErrDrop": stage.ErrDrop,
		"wrapped": fmt.Errorf("too old: %w", stage.ErrDrop),
	}
	for name, drop := range drops {
		for kind, runner := range runners(process(func(_ context.Context, p *parcel) (*parcel, error) {
			if p.id%2 == 1 {
				return nil, drop
			}
			return p, nil
		})) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				f := &flow{n: 10}
				if err := stage.New(runner).Process(t.Context(), f, f); err != nil {
					t.Fatal(err)
				}
				if got := f.sortedIDs(); !slices.Equal(got, []int{0, 2, 4, 6, 8}) {
					t.Errorf("arrived: %v", got)
				}
				f.each(t, 10)
			})
		}
	}
}

// The one that is passed on is settled, for both.
func TestReplacedPayload(t *testing.T) {
	f := &flow{n: 5}
	swap := process(func(_ context.Context, p *parcel) (*parcel, error) {
		p = p.replaced()
		p.text = "new"
		return p, nil
	})
	if err := stage.New(stage.FIFO(swap)).Process(t.Context(), f, f); err != nil {
		t.Fatal(err)
	}
	for _, p := range f.arrived {
		if p.text != "new" {
			t.Errorf("payload %d arrived as it was", p.id)
		}
	}
	f.each(t, 5)
}

// values is a source and sink of payloads that want nothing.
type values[T any] struct{ in, out []T }

func (v *values[T]) Next(context.Context) bool { return len(v.in) > 0 }
func (v *values[T]) Payload() T                { p := v.in[0]; v.in = v.in[1:]; return p }
func (v *values[T]) Error() error              { return nil }
func (v *values[T]) Consume(_ context.Context, p T) error {
	v.out = append(v.out, p)
	return nil
}

func TestPayloadTypes(t *testing.T) {
	t.Run("plain value", func(t *testing.T) {
		double := stage.ProcessorFunc[int](func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		f := &values[int]{in: []int{1, 2, 3000}}
		if err := stage.New(stage.FIFO(double)).Process(t.Context(), f, f); err != nil || !slices.Equal(f.out, []int{2, 4, 6000}) {
			t.Errorf("got %v, %v", f.out, err)
		}
	})
	t.Run("interface, some of whose values want to be marked", func(t *testing.T) {
		var d depot
		f := &values[any]{in: []any{1, d.parcel(1, ""), nil, d.parcel(2, "")}}
		if err := stage.New[any]().Process(t.Context(), f, f); err != nil || len(f.out) != 4 || f.out[0] != 1 || f.out[2] != nil {
			t.Errorf("got %v, %v", f.out, err)
		}
		d.each(t, 2)
	})
}

func TestFIFOKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := process(func(ctx context.Context, p *parcel) (*parcel, error) {
			<-time.After(time.Duration(10-p.id%10) * time.Millisecond)
			return p, nil
		})
		f := &flow{n: 40}
		if err := stage.New(stage.FIFO(late), stage.FIFO(late)).Process(t.Context(), f, f); err != nil {
			t.Fatal(err)
		}
		if got := f.ids(); !slices.Equal(got, upTo(40)) {
			t.Errorf("arrived: %v", got)
		}
	})
}

// Every worker waits until the test has seen how many there are.
func TestPoolsReachTheirSize(t *testing.T) {
	const size, payloads = 7, 30
	pools := map[string]func(stage.Processor[*parcel], int) stage.Runner[*parcel]{
		"FixedWorkerPool":   stage.FixedWorkerPool[*parcel],
		"DynamicWorkerPool": stage.DynamicWorkerPool[*parcel],
	}
	for name, pool := range pools {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inside gauge
				release := make(chan struct{})
				hold := process(func(_ context.Context, p *parcel) (*parcel, error) {
					inside.enter()
					defer inside.leave()
					<-release
					return p, nil
				})
				f := &flow{n: payloads}
				done := make(chan error)
				go func() { done <- stage.New(pool(hold, size)).Process(t.Context(), f, f) }()
				synctest.Wait()
				if n := inside.now.Load(); n != size {
					t.Errorf("%d workers are busy, want %d", n, size)
				}
				close(release)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if n := inside.peak.Load(); n != size {
					t.Errorf("%d workers were busy at the same time, want %d", n, size)
				}
				f.each(t, payloads)
			})
		})
	}
}

func TestDynamicWorkerPoolReusesWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		workers := make(map[context.Context]bool)
		wait := time.Duration(0)
		work := process(func(ctx context.Context, p *parcel) (*parcel, error) {
			mu.Lock()
			workers[ctx] = true
			mu.Unlock()
			<-time.After(wait)
			return p, nil
		})
		pool := stage.New(stage.DynamicWorkerPool(work, 50))

		// One payload every 10 ms, each done at once: one worker, and one that is ready.
		f := &flow{n: 1000, next: func(context.Context, int) { <-time.After(10 * time.Millisecond) }}
		if err := pool.Process(t.Context(), f, f); err != nil {
			t.Fatal(err)
		}
		if len(workers) > 2 {
			t.Errorf("%d workers for a trickle of payloads, want at most 2", len(workers))
		}

		// Each takes 35 ms: four at the same time, and one that is ready.
		clear(workers)
		wait = 35 * time.Millisecond
		f = &flow{n: 1000, next: f.next}
		if err := pool.Process(t.Context(), f, f); err != nil {
			t.Fatal(err)
		}
		if n := len(workers); n < 4 || n > 6 {
			t.Errorf("%d workers for four payloads at a time, want 4 to 6", n)
		}
	})
}

// Real threads, many payloads that take no time: the moments at which the last place is taken.
func TestDynamicWorkerPoolNeverExceedsItsMax(t *testing.T) {
	for round := range 300 {
		limit := 2 + round%6
		var workers sync.Map
		work := process(func(ctx context.Context, p *parcel) (*parcel, error) {
			workers.Store(ctx, true)
			return p, nil
		})
		f := &flow{n: 100}
		if err := stage.New(stage.DynamicWorkerPool(work, limit)).Process(t.Context(), f, f); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range workers.Range {
			n++
		}
		if n > limit {
			t.Fatalf("%d workers, the limit is %d", n, limit)
		}
	}
}

func TestBroadcastIsolatesMutations(t *testing.T) {
	const n = 20
	var ps []stage.Processor[*parcel]
	for i := range 4 {
		ps = append(ps, process(func(_ context.Context, p *parcel) (*parcel, error) {
			if p.text != "" {
				return nil, fmt.Errorf("processor %d got payload %d with %q of another", i, p.id, p.text)
			}
			p.text = fmt.Sprint(i)
			return p, nil
		}))
	}
	f := &flow{n: n}
	if err := stage.New(stage.Broadcast(ps...)).Process(t.Context(), f, f); err != nil {
		t.Fatal(err)
	}
	byProcessor := make(map[string][]int)
	for _, p := range f.arrived {
		byProcessor[p.text] = append(byProcessor[p.text], p.id)
	}
	for i := range ps {
		if got := byProcessor[fmt.Sprint(i)]; !slices.Equal(got, upTo(n)) {
			t.Errorf("processor %d sent %v, want all in order", i, got)
		}
	}
	f.each(t, n*len(ps))
}

func TestReuseAndConcurrentProcess(t *testing.T) {
	chain := func() *stage.Pipeline[*parcel] {
		return stage.New(
			stage.DynamicWorkerPool(process(pass), 3),
			stage.FixedWorkerPool(process(pass), 3),
			stage.Broadcast[*parcel](process(pass), process(pass)),
			stage.FIFO(process(pass)),
		)
	}
	check := func(t *testing.T, p *stage.Pipeline[*parcel]) {
		f := &flow{n: 30}
		if err := p.Process(t.Context(), f, f); err != nil {
			t.Error(err)
		}
		if len(f.arrived) != 60 {
			t.Errorf("%d payloads arrived, want 60", len(f.arrived))
		}
		f.each(t, 60)
	}
	t.Run("one after the other", func(t *testing.T) {
		p := chain()
		for range 5 {
			check(t, p)
		}
	})
	t.Run("at the same time", func(t *testing.T) {
		p := chain()
		var runs sync.WaitGroup
		for range 10 {
			runs.Go(func() { check(t, p) })
		}
		runs.Wait()
	})
	t.Run("after an error", func(t *testing.T) {
		p := chain()
		f := &flow{n: 5, err: errors.New("boom")}
		if err := p.Process(t.Context(), f, f); err == nil {
			t.Error("no error")
		}
		check(t, p)
	})
}

func TestConstructionPanics(t *testing.T) {
	nop := stage.ProcessorFunc[int](func(_ context.Context, n int) (int, error) { return n, nil })
	tests := []struct {
		name, text string
		make       func()
	}{
		{"fixed pool of none", "FixedWorkerPool: n is 0", func() { stage.FixedWorkerPool(nop, 0) }},
		{"fixed pool of less", "FixedWorkerPool: n is -1", func() { stage.FixedWorkerPool(nop, -1) }},
		{"dynamic pool of none", "DynamicWorkerPool: max is 0", func() { stage.DynamicWorkerPool(nop, 0) }},
		{"pull without workers", "stage: Pull: max is 0, must be 1 or more", func() { _ = stage.Pull[int](t.Context(), 0, nil, nop) }},
		{"broadcast to none", "at least one processor", func() { stage.Broadcast[int]() }},
		{"broadcast of what can not be cloned", "int needs a method Clone() int", func() { stage.Broadcast[int](nop, nop) }},
		{"negative attempts", "Attempts -1", func() { stage.Retry(nop, stage.RetryPolicy{Attempts: -1}) }},
		{"too much jitter", "Jitter 1.5", func() { stage.Retry(nop, stage.RetryPolicy{Jitter: 1.5}) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, test.text) {
					t.Errorf("panic %q, want it to say %q", got, test.text)
				}
			}()
			test.make()
		})
	}
}

// runnerFunc is a Runner of the test's own.
type runnerFunc func(context.Context, stage.Params[*parcel])

func (f runnerFunc) Run(ctx context.Context, p stage.Params[*parcel]) { f(ctx, p) }

func TestRunnersOfTheUser(t *testing.T) {
	t.Run("sends, settles and fails", func(t *testing.T) {
		boom := errors.New("boom")
		own := runnerFunc(func(_ context.Context, p stage.Params[*parcel]) {
			for payload := range p.Input {
				switch {
				case payload.id == 9:
					p.Fail(boom)
					p.Settle(payload)
				case payload.id%3 == 0:
					p.Output <- payload
				default:
					p.Settle(payload)
				}
			}
		})
		f := &flow{n: 10}
		err := stage.New(stage.FIFO(process(pass)), own).Process(t.Context(), f, f)
		if err == nil || err.Error() != "stage 1: boom" {
			t.Errorf("error %v", err)
		}
		f.each(t, 10)
	})
	t.Run("wraps another one", func(t *testing.T) {
		seen := 0
		counting := runnerFunc(func(ctx context.Context, p stage.Params[*parcel]) {
			inner, input := p, make(chan *parcel)
			inner.Input = input
			var running sync.WaitGroup
			running.Go(func() { stage.FixedWorkerPool(process(pass), 2).Run(ctx, inner) })
			for payload := range p.Input {
				seen++
				input <- payload
			}
			close(input)
			running.Wait()
		})
		f := &flow{n: 10}
		if err := stage.New[*parcel](counting).Process(t.Context(), f, f); err != nil || seen != 10 {
			t.Errorf("saw %d payloads, error %v", seen, err)
		}
		f.each(t, 10)
	})
	t.Run("that leaves early is an error", func(t *testing.T) {
		leaver := runnerFunc(func(_ context.Context, p stage.Params[*parcel]) { p.Output <- <-p.Input })
		f := &flow{n: 10}
		err := stage.New[*parcel](leaver).Process(t.Context(), f, f)
		if err == nil || err.Error() != "stage 0: runner returned before its input was closed" {
			t.Errorf("error %v", err)
		}
		f.each(t, -1)
	})
	t.Run("without a pipeline", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		stage.FIFO(process(pass)).Run(t.Context(), stage.Params[*parcel]{})
	})
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
