package guard_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// A door waits for code that it let in to run apart, also where that ends its goroutine. It fails if Go does not leave then.
func TestDoorGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := guard.NewDoor()
		var ended atomic.Int32
		for i := range 10 {
			if !door.Go(func() {
				pause(time.Duration(i+1) * time.Second)
				if ended.Add(1); i%2 == 0 {
					runtime.Goexit()
				}
			}) {
				t.Error("the door is open")
			}
		}
		<-door.Close()
		if ended.Load() != 10 {
			t.Errorf("%d of 10 have ended", ended.Load())
		}
		if door.Go(func() { t.Error("inside of a closed door") }) {
			t.Error("the door is closed")
		}
	})
}
