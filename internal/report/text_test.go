package report_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/report"
)

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 14059: "14,059", 999999: "999,999", 1234567: "1,234,567",
		-5: "-5", -999: "-999", -1000: "-1,000", -123456: "-123,456"} {
		if got := report.Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 items", 1: "1 item", 2: "2 items", 1000: "1,000 items"} {
		if got := report.Count(n, "item"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 1234: "1.23 kB", 9995: "10.0 kB", 52_149: "52.1 kB", 99_950: "100 kB", 521_499: "521 kB",
		999_499: "999 kB", 999_500: "1.00 MB", 5_210_000: "5.21 MB", 31_000_000_000: "31.0 GB", 1_204_000_000_000: "1,204 GB"} {
		if got := report.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234 * time.Nanosecond: "1µs", 850*time.Millisecond + 300*time.Microsecond: "850ms", 2134 * time.Millisecond: "2.13s",
		12345 * time.Millisecond: "12.3s", 80*time.Second + 400*time.Millisecond: "1m20s", time.Minute: "1m", 3*time.Hour + 4*time.Minute + 10*time.Second: "3h4m", 48 * time.Hour: "48h",
	} {
		if got := report.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	tests := []struct {
		n    int64
		in   time.Duration
		want string
	}{{5, 0, "0"}, {0, time.Minute, "0"}, {1, 3 * time.Minute, "0.3"}, {19, 2 * time.Minute, "9.5"}, {10, time.Minute, "10"}, {500, 30 * time.Second, "1,000"}, {99, 10 * time.Minute, "9.9"}}
	for _, tt := range tests {
		if got := report.Rate(tt.n, tt.in); got != tt.want {
			t.Errorf("Rate(%d, %s) = %q, want %q", tt.n, tt.in, got, tt.want)
		}
	}
}

func TestManners(t *testing.T) {
	m := report.Manners{8, 1500 * time.Millisecond, true, true}
	if got, want := m.Words(), "at most 8 requests at once per host, 1.5s between them, AutoThrottle, robots.txt is ignored"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
