package lifecycle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/lifecycle"
)

// Stop waits for a run that ends in its grace, hurries it when that is over or a moment before ctx's deadline, and does not wait for a run
// that nothing ends.
func TestStop(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		deadline, work time.Duration // 0: there is none, nothing ends the work
		took           time.Duration
		late           bool
		err            error
	}{
		"in its grace":        {0, 5 * s, 5 * s, false, nil},
		"before the deadline": {8 * s, 5 * s, 5 * s, false, nil},
		"at the deadline":     {8 * s, time.Hour, 7 * s, false, context.DeadlineExceeded},
		"a short deadline":    {s, time.Hour, 750 * time.Millisecond, false, context.DeadlineExceeded},
		"never":               {0, 0, 21*s + s/2, true, nil},
		"never, hurried":      {8 * s, 0, 7*s + 2*s + s/2, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cancelled := make(chan struct{})
				again := false
				e := lifecycle.NewEnding(lifecycle.Steps{
					Grace: 20 * s, CancelGrace: s, Now: time.Now, Over: errOver, Stop: func() {}, Leave: func() {}, Abandon: func() {},
					Cancel: func(error) bool {
						if again {
							return false
						}
						again = true
						close(cancelled)
						return true
					},
				})
				go e.Supervise(t.Context())
				go func() {
					if tt.work == 0 {
						<-t.Context().Done()
					}
					select {
					case <-time.After(tt.work):
					case <-cancelled:
					}
					e.Over()
					e.Gone()
				}()
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				began := time.Now()
				late, err := e.Stop(ctx)
				if took := time.Since(began); late != tt.late || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) || took != tt.took {
					t.Errorf("after %s late is %t, and the error %v; want %s, %t, %v", took, late, err, tt.took, tt.late, tt.err)
				}
			})
		})
	}
}
