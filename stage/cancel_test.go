package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

func TestCancelReturnsItsCause(t *testing.T) {
	reason := errors.New("reason")
	contexts := map[string]struct {
		make func(context.Context) (context.Context, func())
		want error
	}{
		"cancelled": {func(ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) }, context.Canceled},
		"cancelled with a cause": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(reason) }
		}, reason},
		"deadline": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			return ctx, func() {
				<-ctx.Done()
				cancel()
			}
		}, context.DeadlineExceeded},
	}
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	places := map[string]func(f *flow, cancel func()) *stage.Pipeline[*parcel]{
		"before the start": func(f *flow, cancel func()) *stage.Pipeline[*parcel] {
			cancel()
			return stage.New(stage.FIFO(process(pass)))
		},
		"in the source": func(f *flow, cancel func()) *stage.Pipeline[*parcel] {
			f.next = func(ctx context.Context, n int) {
				if n == 5 {
					cancel()
					f.err = wait(ctx)
					f.n = 5
				}
			}
			return stage.New(stage.FIFO(process(pass)))
		},
		"in a processor": func(f *flow, cancel func()) *stage.Pipeline[*parcel] {
			return stage.New(stage.FIFO(process(pass)), stage.FIFO(process(func(ctx context.Context, p *parcel) (*parcel, error) {
				if p.id == 5 {
					cancel()
					return nil, wait(ctx)
				}
				return p, nil
			})), stage.FIFO(process(pass)))
		},
		"in the sink": func(f *flow, cancel func()) *stage.Pipeline[*parcel] {
			f.consume = func(ctx context.Context, p *parcel) error {
				if p.id == 5 {
					cancel()
				}
				return nil
			}
			return stage.New(stage.DynamicWorkerPool(process(pass), 4))
		},
		"after the last payload": func(f *flow, cancel func()) *stage.Pipeline[*parcel] {
			f.next = func(ctx context.Context, n int) {
				if n == f.n {
					cancel()
				}
			}
			return stage.New[*parcel]()
		},
	}
	for kind, c := range contexts {
		for place, build := range places {
			t.Run(kind+" "+place, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := c.make(t.Context())
					f := &flow{n: 100}
					p := build(f, cancel)
					if err := p.Process(ctx, f, f); err != c.want {
						t.Errorf("error %v, want just %v", err, c.want)
					}
					f.each(t, -1)
				})
			})
		}
	}
}

// A source's own error is not taken for the cancellation, whenever it comes.
func TestErrorsAfterTheCancellationAreKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	boom := errors.New("boom")
	f := &flow{n: 3, err: boom, next: func(_ context.Context, n int) {
		if n == 3 {
			cancel()
		}
	}}
	err := stage.New[*parcel]().Process(ctx, f, f)
	if !errors.Is(err, boom) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want boom and the cancellation", err)
	}
}

// stuck is a processor that ignores its context for the payloads it is told.
type stuck struct {
	ids     []int
	release chan struct{}
	got     chan context.Context
}

func newStuck(ids ...int) *stuck {
	return &stuck{ids: ids, release: make(chan struct{}), got: make(chan context.Context, 100)}
}

func (s *stuck) Process(ctx context.Context, p *parcel) (*parcel, error) {
	if slices.Contains(s.ids, p.id) {
		s.got <- ctx
		<-s.release
		p.text += "late"
		return p, errors.New("late")
	}
	return p, nil
}

func TestProcessUntilGivesUp(t *testing.T) {
	tests := []struct {
		name  string
		build func(f *flow, s *stuck) []stage.Runner[*parcel]
		want  map[int]int
	}{
		{"processors", func(f *flow, s *stuck) []stage.Runner[*parcel] {
			s.ids = []int{3, 5}
			return []stage.Runner[*parcel]{stage.FIFO(process(pass)), stage.FixedWorkerPool[*parcel](s, 2), stage.FIFO(process(pass))}
		}, map[int]int{1: 2}},
		{"several stages", func(f *flow, s *stuck) []stage.Runner[*parcel] {
			first := newStuck(7)
			first.release = s.release
			s.ids = []int{1, 2}
			return []stage.Runner[*parcel]{stage.FIFO[*parcel](first), stage.DynamicWorkerPool[*parcel](s, 5)}
		}, map[int]int{0: 1, 1: 2}},
		{"one of a broadcast", func(f *flow, s *stuck) []stage.Runner[*parcel] {
			s.ids = []int{4}
			return []stage.Runner[*parcel]{stage.Broadcast[*parcel](process(pass), s, process(pass))}
		}, map[int]int{0: 1}},
		{"the source", func(f *flow, s *stuck) []stage.Runner[*parcel] {
			f.next = func(_ context.Context, n int) {
				if n == 6 {
					<-s.release
				}
			}
			return []stage.Runner[*parcel]{stage.DynamicWorkerPool(process(pass), 3)}
		}, map[int]int{stage.StageSource: 1}},
		{"the sink", func(f *flow, s *stuck) []stage.Runner[*parcel] {
			f.consume = func(_ context.Context, p *parcel) error {
				if p.id == 2 {
					<-s.release
				}
				return nil
			}
			return []stage.Runner[*parcel]{stage.FIFO(process(pass))}
		}, map[int]int{stage.StageSink: 1}},
	}
	for _, test := range tests {
		for _, first := range []string{"giveUp alone", "ctx, then giveUp"} {
			t.Run(test.name+"/"+first, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					giveUp, end := context.WithCancelCause(t.Context())
					f, s := &flow{n: 50}, newStuck()
					p := stage.New(test.build(f, s)...)
					done := make(chan error, 1)
					go func() { done <- p.ProcessUntil(ctx, giveUp, f, f) }()

					reason := errors.New("grace is over")
					want := reason
					if first != "giveUp alone" {
						synctest.Wait()
						cancel()
						want = context.Canceled
					}
					synctest.Wait()
					select {
					case err := <-done:
						t.Fatalf("returned before giveUp: %v", err)
					default:
					}
					start := time.Now()
					end(reason)
					err := <-done
					if waited := time.Since(start); waited != 0 {
						t.Errorf("returned %v after giveUp", waited)
					}
					var abandoned *stage.AbandonedError
					if !errors.Is(err, want) || !errors.As(err, &abandoned) {
						t.Fatalf("error %v, want %v and an *AbandonedError", err, want)
					}
					if fmt.Sprint(abandoned.Stages) != fmt.Sprint(test.want) {
						t.Errorf("left behind: %v, want %v", abandoned.Stages, test.want)
					}
					f.each(t, -1)

					arrived := len(f.arrived)
					close(s.release)
					synctest.Wait()
					f.each(t, -1)
					if test.want[stage.StageSink] == 0 && len(f.arrived) != arrived {
						t.Error("a late result reached the sink")
					}
				})
			})
		}
	}
}

func TestBroadcastMakesNoClonesAfterTheCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &flow{n: 10, next: func(_ context.Context, n int) {
			if n == 5 {
				synctest.Wait()
				cancel()
			}
		}}
		err := stage.New(stage.Broadcast[*parcel](process(pass), process(pass))).Process(ctx, f, f)
		if err != context.Canceled {
			t.Errorf("error %v", err)
		}
		f.each(t, 5*2+1)
	})
}

// deafPayload is a source that hangs when its payload is taken.
type deafPayload struct {
	*flow
	release chan struct{}
}

func (s deafPayload) Payload() *parcel {
	<-s.release
	return s.flow.Payload()
}

func TestPayloadOfAGivenUpSourceIsSettledWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		giveUp, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		f := &flow{n: 5}
		s := deafPayload{f, make(chan struct{})}
		err := stage.New(stage.FIFO(process(pass))).ProcessUntil(t.Context(), giveUp, s, f)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "left behind: source: 1") {
			t.Errorf("error %v", err)
		}
		f.each(t, 0)
		close(s.release)
		synctest.Wait()
		f.each(t, 1)
	})
}

func TestProcessUntilWithoutNeedIsProcess(t *testing.T) {
	giveUp, end := context.WithCancel(t.Context())
	f := &flow{n: 10}
	if err := stage.New(stage.FIFO(process(pass))).ProcessUntil(t.Context(), giveUp, f, f); err != nil {
		t.Fatal(err)
	}
	end()
	f.each(t, 10)

	f = &flow{n: 10}
	if err := stage.New(stage.FIFO(process(pass))).ProcessUntil(t.Context(), giveUp, f, f); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v with a giveUp that is done", err)
	}
	f.each(t, -1)
}

func TestProcessUntilTellsRunnersOfTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		giveUp, end := context.WithCancel(t.Context())
		own := runnerFunc(func(_ context.Context, p stage.Params[*parcel]) {
			p.Settle(<-p.Input)
			<-p.GiveUp
			p.Abandoned(1)
		})
		f := &flow{n: 10}
		done := make(chan error)
		go func() { done <- stage.New[*parcel](own).ProcessUntil(t.Context(), giveUp, f, f) }()
		synctest.Wait()
		end()
		err := <-done
		if err == nil || !strings.Contains(err.Error(), "stage: workers left behind: stage 0: 1") {
			t.Errorf("error %v", err)
		}
		f.each(t, -1)
	})
}

// The end of the grace may come before the end of the context, by the same deadline: that is told once.
func TestSameDeadlineTwice(t *testing.T) {
	deaf := make(chan struct{})
	t.Cleanup(func() { close(deaf) })
	ctx, cancel := context.WithCancelCause(context.Background())
	giveUp, end := context.WithCancelCause(context.Background())
	stuck := stage.ProcessorFunc[string](func(context.Context, string) (string, error) {
		end(context.DeadlineExceeded)
		cancel(context.DeadlineExceeded)
		<-deaf
		return "", nil
	})
	flow := &words{"one"}
	err := stage.New(stage.FIFO(stuck)).ProcessUntil(ctx, giveUp, flow, flow)
	if want := "context deadline exceeded\nstage: workers left behind: stage 0: 1"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

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
