package httpx_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{" 7 ", 7 * time.Second, true},
		{"99999999999999999999999", (1 << 31) * time.Second, true},
		{"Sat, 21 Nov 2026 12:00:30 GMT", 30 * time.Second, true},
		{"Saturday, 21-Nov-26 12:00:30 GMT", 30 * time.Second, true},
		{"Sat Nov 21 12:00:30 2026", 30 * time.Second, true},
		{"Sat, 21 Nov 2026 11:00:00 GMT", 0, true},
		{"", 0, false}, {"-5", 0, false}, {"1.5", 0, false}, {"5s", 0, false}, {"tomorrow", 0, false},
	} {
		if got, ok := httpx.RetryAfter(tt.value, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %s, %v; want %s, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzRetryAfter: a wait is never negative nor beyond what a Duration holds, and a date that is written is the one
// that is read.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "Wed, 09 Jun 2027 10:18:14 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "-1", "99999999999999999999", ""} {
		f.Add(seed, int64(3600))
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if wait, ok := httpx.RetryAfter(text, now); wait < 0 || !ok && wait != 0 {
			t.Fatalf("%q is %s, %v", text, wait, ok)
		}
		want := time.Duration(uint64(seconds)%1e9) * time.Second
		if got, ok := httpx.RetryAfter(now.Add(want).Format(http.TimeFormat), now); !ok || got != want {
			t.Fatalf("a date in %s is read as %s", want, got)
		}
	})
}
