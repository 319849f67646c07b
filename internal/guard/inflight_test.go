package guard_test

import (
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// A closed count waits for the calls that are in flight, and lets none begin. It fails if Close does not count itself.
func TestDoor(t *testing.T) {
	for range 200 {
		calls := guard.NewInFlight()
		var inside, all sync.WaitGroup
		inside.Add(4)
		for range 4 {
			all.Go(func() {
				if !calls.Enter() {
					t.Error("calls are let in")
				}
				inside.Done()
				inside.Wait()
				if calls.Enter() { // it may be closed already
					calls.Leave()
				}
				calls.Leave()
			})
		}
		inside.Wait()
		empty := calls.Close()
		<-empty
		if calls.Enter() {
			t.Fatal("the count is closed")
		}
		all.Wait()
	}
}
