package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// RetryPolicy says how often and when [Retry] tries again. The zero value makes three attempts, the
// second after 100 ms, the third after another 200 ms.
type RetryPolicy struct {
	// Attempts is the greatest number of calls, the first one included; 0 means 3.
	Attempts int
	// Backoff is the wait before the second attempt, doubled for each further one; 0 means 100 ms,
	// less than 0 no wait.
	Backoff time.Duration
	// MaxBackoff is what the wait grows to at most; 0 means 10 s.
	MaxBackoff time.Duration
	// Jitter shortens each wait at random by up to this part of it, 0 to 1, so that workers that
	// failed together do not come back together.
	Jitter float64
	// Transient says whether another attempt makes sense after err; nil means after every error.
	// It is not asked about ErrDrop. It may be called concurrently.
	Transient func(err error) bool
}

// Retry returns a processor that calls p again after a transient error. It returns the first result
// without an error or with [ErrDrop], and otherwise the last error: as it is if it is not transient
// or the only attempt, with the number of attempts if they are used up, joined with the cause of the
// cancellation if ctx was done before the next attempt. Waiting ends when ctx is done.
//
// Every attempt gets the payload as the one before left it. Retry panics if the policy is not within
// the limits above.
func Retry[T any](p Processor[T], policy RetryPolicy) Processor[T] {
	if policy.Attempts < 0 || policy.MaxBackoff < 0 || !(policy.Jitter >= 0 && policy.Jitter <= 1) {
		panic(fmt.Sprintf("stage: Retry: Attempts %d and MaxBackoff %v must not be negative, Jitter %v must be 0 to 1",
			policy.Attempts, policy.MaxBackoff, policy.Jitter))
	}
	if policy.Attempts == 0 {
		policy.Attempts = 3
	}
	if policy.Backoff == 0 {
		policy.Backoff = 100 * time.Millisecond
	}
	if policy.MaxBackoff == 0 {
		policy.MaxBackoff = 10 * time.Second
	}
	return &retrier[T]{processor: p, policy: policy}
}

type retrier[T any] struct {
	processor Processor[T]
	policy    RetryPolicy
}

func (r *retrier[T]) Process(ctx context.Context, payload T) (T, error) {
	wait := min(r.policy.Backoff, r.policy.MaxBackoff)
	for attempt := 1; ; attempt++ {
		out, err := r.processor.Process(ctx, payload)
		switch {
		case err == nil || errors.Is(err, ErrDrop):
			return out, err
		case r.policy.Transient != nil && !r.policy.Transient(err), r.policy.Attempts == 1:
			return out, err
		case attempt >= r.policy.Attempts:
			return out, fmt.Errorf("after %d attempts: %w", attempt, err)
		}
		if !pause(ctx, r.shortened(wait)) {
			if cause := context.Cause(ctx); !errors.Is(err, cause) && !errors.Is(err, ctx.Err()) {
				err = errors.Join(err, cause)
			}
			return out, err
		}
		wait += min(wait, r.policy.MaxBackoff-wait)
	}
}

func (r *retrier[T]) shortened(wait time.Duration) time.Duration {
	if r.policy.Jitter == 0 {
		return wait
	}
	return wait - time.Duration(r.policy.Jitter*rand.Float64()*float64(wait))
}

// pause waits for d and reports whether ctx is still not done.
func pause(ctx context.Context, d time.Duration) bool {
	if d > 0 && ctx.Err() == nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
