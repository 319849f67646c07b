package dashboard_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/dashboard"
)

// The estimate of the end is exact where nothing new is found, and has a range, or no end, where something is.
func TestEstimate(t *testing.T) {
	for _, test := range []struct {
		name                 string
		seconds              int
		found, settled, open int64 // found and settled in each second; open at the end
		want                 string
	}{
		{"too early", 3, 0, 10, 100, ""},
		{"nothing new", 100, 0, 10, 600, "about 1m0s more"},
		{"half as many as end", 100, 5, 10, 600, "1m0s to 2m0s more"},
		{"as many as end", 100, 10, 10, 600, "at least 1m0s more"},
		{"more than end", 5000, 20, 10, 600, "at least 1m0s more"},
		{"nothing ends", 100, 0, 0, 600, ""},
		{"almost nothing ends", 100, 0, 1, 1 << 60, "about 87600h0m0s more"},
	} {
		at := make([]dashboard.Counts, test.seconds)
		for i := range at {
			left := int64(test.seconds - 1 - i)
			at[i] = dashboard.Counts{At: time.Duration(i) * time.Second, Settled: int64(i) * test.settled, Open: test.open + left*(test.settled-test.found)}
		}
		if got := dashboard.EstimateOf(at).InWords(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
