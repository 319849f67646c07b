package guard_test

import (
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// A closed door waits for those who are inside and lets nobody in. It fails if Close does not count itself.
func TestDoor(t *testing.T) {
	for range 200 {
		door := guard.NewDoor()
		var inside, all sync.WaitGroup
		inside.Add(4)
		for range 4 {
			all.Go(func() {
				if !door.Enter() {
					t.Error("the door is open")
				}
				inside.Done()
				inside.Wait()
				if door.Enter() { // it may be closed already
					door.Leave()
				}
				door.Leave()
			})
		}
		inside.Wait()
		empty := door.Close()
		<-empty
		if door.Enter() {
			t.Fatal("the door is closed")
		}
		all.Wait()
	}
}
