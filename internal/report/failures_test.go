package report_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/report"
)

func TestFailures(t *testing.T) {
	var f report.Failures
	add := func(stage, cause string, n int) (logged int) {
		for i := range n {
			if f.Add(report.Failure{Stage: stage, Cause: cause, URL: fmt.Sprintf("http://a.test/%d", i)}) {
				logged++
			}
		}
		return logged
	}
	if held := f.Held(); len(held) != 0 || len(f.All()) != 0 {
		t.Errorf("new: %v", held)
	}
	if a, b, c := add("status", "status 404", 10), add("parse", "panic", 2), add("status", "status 500", 4); a != 3 || b != 2 || c != 3 {
		t.Errorf("logged %d, %d, %d", a, b, c)
	}
	print := func(kinds []report.Kind) (text string) {
		for _, k := range kinds {
			text += fmt.Sprintf("%s/%s %d %s; ", k.Example.Stage, k.Example.Cause, k.Count, k.Example.URL)
		}
		return text
	}
	if got, want := print(f.Held()), "status/status 404 7 http://a.test/0; status/status 500 1 http://a.test/0; "; got != want {
		t.Errorf("held %q, want %q", got, want)
	}
	add("status", "status 500", 2)
	if got, want := print(f.Held()), "status/status 500 2 http://a.test/0; "; got != want {
		t.Errorf("then held %q, want %q", got, want)
	}
	if got, want := print(f.All()), "status/status 404 10 http://a.test/0; status/status 500 6 http://a.test/0; parse/panic 2 http://a.test/0; "; got != want {
		t.Errorf("all %q, want %q", got, want)
	}
}

// Causes that never repeat, as texts of users' errors may be, take a bounded amount of memory, and none is lost.
func TestFailuresAreBounded(t *testing.T) {
	var f report.Failures
	var adding sync.WaitGroup
	for part := range 4 {
		adding.Go(func() {
			for i := range 5000 {
				f.Add(report.Failure{Stage: "parse", Cause: fmt.Sprint(part, i)})
			}
		})
	}
	adding.Wait()
	all, sum := f.All(), int64(0)
	for _, k := range all {
		sum += k.Count
	}
	if len(all) != 1001 || sum != 20000 || all[0].Example.Cause != "other" {
		t.Errorf("%d kinds of %d failures, the first %v", len(all), sum, all[0])
	}
}
