package stage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

func TestRetry(t *testing.T) {
	transient, fatal := errors.New("transient"), errors.New("fatal")
	only := func(err error) bool { return errors.Is(err, transient) }
	tests := []struct {
		name    string
		policy  stage.RetryPolicy
		results []error // of the attempts; the last one repeats
		calls   int
		took    time.Duration
		text    string
	}{
		{"good at once", stage.RetryPolicy{}, []error{nil}, 1, 0, ""},
		{"good the second time", stage.RetryPolicy{}, []error{transient, nil}, 2, 100 * time.Millisecond, ""},
		{"good the last time", stage.RetryPolicy{}, []error{transient, transient, nil}, 3, 300 * time.Millisecond, ""},
		{"never good", stage.RetryPolicy{}, []error{transient}, 3, 300 * time.Millisecond, "after 3 attempts: transient"},
		{"one attempt", stage.RetryPolicy{Attempts: 1}, []error{transient}, 1, 0, "transient"},
		{"not transient", stage.RetryPolicy{Transient: only}, []error{fatal}, 1, 0, "fatal"},
		{"no longer transient", stage.RetryPolicy{Transient: only}, []error{transient, fatal}, 2, 100 * time.Millisecond, "fatal"},
		{"dropped", stage.RetryPolicy{}, []error{stage.ErrDrop}, 1, 0, stage.ErrDrop.Error()},
		{"dropped the second time", stage.RetryPolicy{}, []error{transient, stage.ErrDrop}, 2, 100 * time.Millisecond, stage.ErrDrop.Error()},
		{"greatest wait", stage.RetryPolicy{Attempts: 6, Backoff: time.Second, MaxBackoff: 3 * time.Second}, []error{transient},
			6, (1 + 2 + 3 + 3 + 3) * time.Second, "after 6 attempts: transient"},
		{"first wait above the greatest", stage.RetryPolicy{Attempts: 3, Backoff: time.Minute, MaxBackoff: time.Second}, []error{transient},
			3, 2 * time.Second, "after 3 attempts: transient"},
		{"no wait", stage.RetryPolicy{Attempts: 5, Backoff: -1}, []error{transient}, 5, 0, "after 5 attempts: transient"},
		{"wait that would overflow", stage.RetryPolicy{Attempts: 3, Backoff: 1 << 61, MaxBackoff: 1<<63 - 1}, []error{transient},
			3, 3 << 61, "after 3 attempts: transient"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				p := stage.Retry(stage.ProcessorFunc[int](func(_ context.Context, n int) (int, error) {
					err := test.results[min(calls, len(test.results)-1)]
					calls++
					return n + 1, err
				}), test.policy)
				start := time.Now()
				got, err := p.Process(t.Context(), 41)
				text := ""
				if err != nil {
					text = err.Error()
				}
				if text != test.text || err == nil && got != 42 {
					t.Errorf("got %d, error %q, want %q", got, text, test.text)
				}
				if calls != test.calls {
					t.Errorf("%d calls, want %d", calls, test.calls)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
}

func TestRetryJitterShortensTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stage.Retry(stage.ProcessorFunc[int](func(context.Context, int) (int, error) {
			return 0, errors.New("no")
		}), stage.RetryPolicy{Attempts: 2, Backoff: time.Second, Jitter: 0.25})
		seen := make(map[time.Duration]bool)
		for range 50 {
			start := time.Now()
			_, _ = p.Process(t.Context(), 0)
			took := time.Since(start)
			if took < 750*time.Millisecond || took > time.Second {
				t.Fatalf("waited %v, want 750 ms to 1 s", took)
			}
			seen[took] = true
		}
		if len(seen) < 10 {
			t.Errorf("%d different waits of 50", len(seen))
		}
	})
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		no, reason := errors.New("no"), errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		calls := 0
		p := stage.Retry(stage.ProcessorFunc[int](func(context.Context, int) (int, error) {
			calls++
			return 0, no
		}), stage.RetryPolicy{Attempts: 100, Backoff: time.Hour, MaxBackoff: time.Hour})
		start := time.Now()
		time.AfterFunc(90*time.Minute, func() { cancel(reason) })
		_, err := p.Process(ctx, 0)
		if !errors.Is(err, no) || !errors.Is(err, reason) {
			t.Errorf("error %v, want both the last and the cause", err)
		}
		if took := time.Since(start); took != 90*time.Minute || calls != 2 {
			t.Errorf("%d calls in %v, want 2 in 1h30m", calls, took)
		}
		calls = 0
		if _, err := p.Process(ctx, 0); calls != 1 || !errors.Is(err, reason) {
			t.Errorf("with a context that is done: %d calls, error %v", calls, err)
		}
	})
}

func ExampleRetry() {
	busy := errors.New("busy")
	attempts := 0
	store := stage.ProcessorFunc[string](func(_ context.Context, page string) (string, error) {
		if attempts++; attempts < 3 {
			return "", busy
		}
		return page + " stored", nil
	})
	patient := stage.Retry(store, stage.RetryPolicy{
		Attempts:  5,
		Backoff:   time.Millisecond,
		Transient: func(err error) bool { return errors.Is(err, busy) },
	})
	out, err := patient.Process(context.Background(), "page")
	fmt.Println(out, err, attempts)
	// Output: page stored <nil> 3
}
