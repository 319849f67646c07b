package report_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/report"
)

func TestProgress(t *testing.T) {
	var p report.Progress
	for _, tt := range []struct {
		sample report.Sample
		want   string
	}{
		{report.Sample{At: time.Minute, Pages: 1203, Items: 1, Waiting: 4000, InFlight: 16}, "after 1m: 1,203 pages (1,203/min), 1 item (1.0/min), 4,000 waiting, 16 in flight"},
		{report.Sample{At: 3 * time.Minute, Pages: 1203, Items: 21, InFlight: 1, Failed: 12, Retried: 3},
			"after 3m: 1,203 pages (0/min), 21 items (10/min), 0 waiting, 1 in flight, 12 failed, 3 retried"},
		{report.Sample{At: 4 * time.Minute, Pages: 1300, Items: 21, Waiting: 5, Busiest: report.Busy{Slot: "a.test", Waiting: 5, For: 12300 * time.Millisecond, Why: "Retry-After"}},
			"after 4m: 1,300 pages (97/min), 21 items (0/min), 5 waiting, 0 in flight; busiest host: a.test with 5 waiting, the next in 12.3s, held back by Retry-After"},
		{report.Sample{At: 5 * time.Minute, Pages: 1300, Items: 21, Waiting: 5, Busiest: report.Busy{Slot: "a.test", Waiting: 1}, Slowest: report.Slow{Slot: "b.test", Latency: 1234 * time.Millisecond}},
			"after 5m: 1,300 pages (0/min), 21 items (0/min), 5 waiting, 0 in flight; busiest host: a.test with 1 waiting; slowest host: b.test with a latency of 1.23s"},
	} {
		if got := p.Line(tt.sample).Text; got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
