package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

func TestAwait(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration // when it is done
		took  time.Duration
		want  bool
	}{
		{"at once", 0, 0, true},
		{"in time", guard.CancelGrace - 1, guard.CancelGrace - 1, true},
		{"too late", guard.CancelGrace + 1, guard.CancelGrace, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := make(chan struct{})
				began := time.Now()
				if tt.after == 0 {
					close(done)
				} else {
					time.AfterFunc(tt.after, func() { close(done) })
				}
				if got := guard.Await(done); got != tt.want || time.Since(began) != tt.took {
					t.Errorf("%t after %s, want %t after %s", got, time.Since(began), tt.want, tt.took)
				}
			})
		})
	}
}
