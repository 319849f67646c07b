package frontier

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// A parser that comes for a place again goes before those that have had none; one that gives up waiting takes none along. It
// fails if a place is lost, or goes to who came last.
func TestParsersInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsers(1, 0)
		if err := p.Acquire(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		var order []string
		served := make(chan struct{})
		wait := func(ctx context.Context, name string, again bool) {
			go func() {
				if err := p.Acquire(ctx, again); err != nil {
					name = err.Error()
				}
				order = append(order, name)
				served <- struct{}{}
			}()
			synctest.Wait()
		}
		why := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		wait(t.Context(), "first", false)
		wait(ctx, "never", true)
		wait(t.Context(), "again", true)
		wait(t.Context(), "second", false)
		cancel(why)
		<-served
		for range 3 {
			p.Release()
			<-served
		}
		if got := fmt.Sprint(order); got != "[gave up again first second]" {
			t.Error(got)
		}
		if free(p) != 0 {
			t.Errorf("%d places are free, want none", free(p))
		}
		if p.Release(); free(p) != 1 {
			t.Errorf("%d places are free, want one", free(p))
		}
	})
}

// A place that comes at the moment when its waiter gives up is neither lost nor lent twice. It fails if the waiter keeps it
// and returns the error.
func TestPlaceComesToWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsers(1, 0)
		for round := range 200 {
			if err := p.Acquire(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- p.Acquire(ctx, round%2 == 0) }()
			synctest.Wait()
			cancel() // wakes the waiter, which is not in time to leave the line in most rounds
			p.Release()
			if err := <-served; err == nil {
				p.Release()
			}
			if free(p) != 1 {
				t.Fatalf("round %d: %d places are free, want one", round, free(p))
			}
		}
	})
}

func free(p *Parsers) int {
	free, _ := p.Count()
	return free
}
