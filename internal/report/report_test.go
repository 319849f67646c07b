package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/report"
)

// logged returns the lines that write makes in a log of this level.
func logged(level logrus.Level, write func(report.Log)) string {
	var out bytes.Buffer
	l := logrus.New()
	l.SetOutput(&out)
	l.SetLevel(level)
	l.SetFormatter(&logrus.TextFormatter{DisableTimestamp: true})
	write(report.NewLog(report.Options{Logrus: l, Spider: "quotes"}))
	return out.String()
}

func TestLog(t *testing.T) {
	until := time.Date(2030, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600))
	tests := []struct {
		name  string
		write func(report.Log)
		level logrus.Level // the lowest at which it is written
		want  []string
	}{
		{"failure", func(l report.Log) {
			l.Failure("broke", nil, report.Fields{URL: "http://a.test/x", Stage: "status", Status: 404, Referrer: "http://a.test/"})
		}, logrus.WarnLevel, []string{"level=warning", "msg=broke", "url=\"http://a.test/x\"", "stage=status", "status=404", "referrer=\"http://a.test/\""}},
		{"panic", func(l report.Log) { l.Failure("broke", []byte("at x.go"), report.Fields{}) }, logrus.ErrorLevel, []string{"level=error", "msg=broke", `stack="at x.go"`}},
		{"settled", func(l report.Log) {
			l.Settled("fetched", "why", report.Fields{URL: "http://a.test/", Status: 200, Depth: 2, Took: 12 * time.Millisecond, Bytes: 99, Attempt: 1})
		}, logrus.DebugLevel, []string{"http://a.test/", "outcome=fetched", "reason=why", "status=200", "depth=2", "took=12ms", "bytes=99", "attempt=1"}},
		{"crowded", func(l report.Log) { l.Crowded("a.test", 1234, "queue-share") }, logrus.WarnLevel, []string{"slot=a.test", "1234 bytes", "queue-share", "cache/disk"}},
		{"crashed", func(l report.Log) { l.Crashed("http://a.test/", 2) }, logrus.WarnLevel, []string{"crashes=2", "http://a.test/", "runs alone"}},
		{"slow", func(l report.Log) { l.Slow("parse", "http://a.test/", 61400*time.Millisecond) }, logrus.WarnLevel, []string{"stage=parse", "1m1s"}},
		{"abandoned", func(l report.Log) { l.Abandoned("parse", "http://a.test/") }, logrus.ErrorLevel, []string{"stage=parse", "the parser did not return and was left behind"}},
		{"blocked", func(l report.Log) { l.Blocked("a.test", "Retry-After", until, false) }, logrus.WarnLevel, []string{"slot=a.test", "cause=Retry-After", "2030-01-02T03:04:05Z"}},
		{"blocked last", func(l report.Log) { l.Blocked("a.test", "Retry-After", until, true) }, logrus.WarnLevel, []string{"slot=a.test", "further blocked slots"}},
		{"warn", func(l report.Log) { l.Warn("look") }, logrus.WarnLevel, []string{"msg=look"}},
		{"warnf", func(l report.Log) { l.Warnf("look at %d", 7) }, logrus.WarnLevel, []string{`msg="look at 7"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := logged(tt.level, tt.write)
			for _, want := range append(tt.want, "spider=quotes") {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %q", want, got)
				}
			}
			if lines := strings.Count(got, "\n"); lines != 1 && tt.name != "blocked last" {
				t.Errorf("%d lines: %q", lines, got)
			}
			if got := logged(tt.level-1, tt.write); got != "" {
				t.Errorf("written below its level: %q", got)
			}
		})
	}
}

// A server can make an error as long as it likes.
func TestLogBoundsMessages(t *testing.T) {
	got := logged(logrus.WarnLevel, func(l report.Log) { l.Failure(strings.Repeat("x", 1<<20), nil, report.Fields{}) })
	if len(got) > 2200 || !strings.Contains(got, "xx…") {
		t.Errorf("a line of %d bytes", len(got))
	}
}

// failing is a handler of slog that cannot write.
type failing struct{ slog.Handler }

func (failing) Enabled(context.Context, slog.Level) bool  { return true }
func (failing) Handle(context.Context, slog.Record) error { return errors.New("the disk is full") }
func (f failing) WithAttrs([]slog.Attr) slog.Handler      { return f }

// It fails if logrus writes to stderr that its hook has failed.
func TestLogDropsErrorsOfSlog(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	report.NewLog(report.Options{Slog: slog.New(failing{})}).Info("look", nil)
	os.Stderr = stderr
	write.Close()
	if text, err := io.ReadAll(read); err != nil || len(text) > 0 {
		t.Errorf("stderr has %q, %v", text, err)
	}
}

func TestLogHasDebug(t *testing.T) {
	for level, want := range map[logrus.Level]bool{logrus.InfoLevel: false, logrus.DebugLevel: true, logrus.TraceLevel: true} {
		if logged(level, func(l report.Log) {
			if l.HasDebug() != want {
				t.Errorf("HasDebug at %s is %t", level, !want)
			}
		}) != "" {
			t.Error("HasDebug writes")
		}
	}
}

// missed is the error of a number of missed errors.
type missed int64

func (m missed) Error() string { return fmt.Sprintf("%d missed", int64(m)) }

func subscribe(f *report.Subscriptions) <-chan error {
	return f.Subscribe(func(n int64) error { return missed(n) })
}

// read returns what is in a channel now, with numbers for errors and negative ones for missed ones.
func read(t *testing.T, ch <-chan error, most int) (got []int, open bool) {
	t.Helper()
	for range most {
		select {
		case err, more := <-ch:
			if !more {
				return got, false
			}
			var n missed
			if errors.As(err, &n) {
				got = append(got, -int(n))
				continue
			}
			var number int
			if _, err := fmt.Sscan(err.Error(), &number); err != nil {
				t.Fatal(err)
			}
			got = append(got, number)
		default:
			return got, true
		}
	}
	return got, true
}

func publish(f *report.Subscriptions, from, to int) {
	for i := from; i < to; i++ {
		f.Publish(errors.New(fmt.Sprint(i)))
	}
}

// Each subscription gets each error once, in order, and is closed.
func TestSubscriptions(t *testing.T) {
	var f report.Subscriptions
	publish(&f, 0, 3) // nobody listens
	a := subscribe(&f)
	publish(&f, 3, 5)
	b := subscribe(&f)
	publish(&f, 5, 6)
	f.Close()
	for _, tt := range []struct {
		ch   <-chan error
		want string
	}{{a, "[3 4 5]"}, {b, "[5]"}} {
		if got, open := read(t, tt.ch, 10); fmt.Sprint(got) != tt.want || open {
			t.Errorf("got %v, open %t, want %s", got, open, tt.want)
		}
	}
	c := subscribe(&f)
	publish(&f, 6, 7)
	if got, open := read(t, c, 10); fmt.Sprint(got) != "[6]" || !open {
		t.Errorf("after Close: %v, open %t", got, open)
	}
	f.Close()
}

// Whatever a slow reader does, the errors that it gets and the numbers of those it has missed add up, in order.
func TestSubscriptionsMissed(t *testing.T) {
	const all = report.Depth + 500
	var f report.Subscriptions
	ch := subscribe(&f)
	publish(&f, 0, all) // 500 are missed
	got, _ := read(t, ch, 1)
	publish(&f, all, all+1) // no room for the number and an error: missed as well
	more, _ := read(t, ch, 1)
	publish(&f, all+1, all+2) // the number and the error
	got = append(got, more...)
	rest, open := read(t, ch, all)
	got = append(got, rest...)
	want := make([]int, report.Depth)
	for i := range want {
		want[i] = i
	}
	want = append(want, -501, all+1)
	if fmt.Sprint(got) != fmt.Sprint(want) || !open {
		t.Errorf("got %v …", got[max(0, len(got)-5):])
	}
	publish(&f, 0, report.Depth+7)
	f.Close() // the number has a place even in a full channel
	got, open = read(t, ch, all)
	if len(got) != report.Depth+1 || got[report.Depth] != -7 || open {
		t.Errorf("at the end %d errors, the last %v, open %t", len(got), got[len(got)-1], open)
	}
}

func TestSubscriptionsConcurrently(t *testing.T) {
	var f report.Subscriptions
	ch := subscribe(&f)
	var sending sync.WaitGroup
	for range 4 {
		sending.Go(func() { publish(&f, 0, 5000) })
	}
	total := make(chan int)
	go func() {
		n := 0
		for err := range ch {
			if m := missed(0); errors.As(err, &m) {
				n += int(m)
			} else {
				n++
			}
		}
		total <- n
	}()
	sending.Wait()
	f.Close()
	if n := <-total; n != 20000 {
		t.Errorf("%d errors came or were missed, want 20000", n)
	}
}

func TestCounters(t *testing.T) {
	var c report.Counters
	if r, b, status := c.Responses(); r != 0 || b != 0 || status == nil || len(status) != 0 {
		t.Errorf("new: %d, %d, %v", r, b, status)
	}
	for _, status := range []int{200, 200, 404, 0, 999, 1000, -7, 1000} {
		c.Response(status, 10)
	}
	responses, bytes := c.Response(200, 5)
	if responses != 9 || bytes != 85 {
		t.Errorf("Response returned %d, %d", responses, bytes)
	}
	responses, bytes, status := c.Responses()
	want := map[int]int64{200: 3, 404: 1, 0: 1, 999: 1, 1000: 2, -7: 1}
	if responses != 9 || bytes != 85 || !maps.Equal(status, want) {
		t.Errorf("got %d, %d, %v", responses, bytes, status)
	}
	status[1000] = 99 // the caller's
	if _, _, again := c.Responses(); !maps.Equal(again, want) {
		t.Errorf("then %v", again)
	}
}

// panicking is a handler that panics.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("the disk is full") }
func (f panicking) WithAttrs([]slog.Attr) slog.Handler      { return f }
func (f panicking) WithGroup(string) slog.Handler           { return f }

// A slog handler that panics ends nothing.
func TestHandlerThatPanics(t *testing.T) {
	log := report.NewLog(report.Options{Slog: slog.New(panicking{}), Spider: "test"})
	log.Lines([]report.Line{{Text: "a line"}})
}
