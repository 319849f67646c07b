package inbox_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria/internal/inbox"
)

// fence is no value that the tests send.
const fence = -1

// taker keeps what it takes, by batches.
type taker struct {
	added  []int
	stored [][]int
	closed int // how often user code has closed the channel
}

func (t *taker) Fence() int    { return fence }
func (t *taker) ClosedByUser() { t.closed++ }
func (t *taker) Add(v int)     { t.added = append(t.added, v) }
func (t *taker) Store() {
	if len(t.added) > 0 {
		t.stored, t.added = append(t.stored, t.added), nil
	}
}

func (t *taker) all() []int { return slices.Concat(t.stored...) }

// An inbox takes all that was sent before Close, in its order, whether it has a receiver or not; what comes later stays where it is.
func TestInbox(t *testing.T) {
	for name, start := range map[string]bool{"with a receiver": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var to taker
				var in inbox.Inbox[int, *taker]
				in.Init(&to, 4)
				if start {
					in.Start()
					in.Start() // a second receiver would be left
				}
				for i := range 3 {
					in.C <- i
				}
				in.Close()
				in.Start() // it is closed
				in.C <- 3
				synctest.Wait()
				if got := to.all(); !slices.Equal(got, []int{0, 1, 2}) || len(in.C) != 1 || to.closed > 0 {
					t.Errorf("took %v, %d wait, closed %d times", got, len(in.C), to.closed)
				}
			})
		})
	}
}

// Values that come together are stored together, and none waits for the next one to be stored.
func TestInboxStoresTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to taker
		var in inbox.Inbox[int, *taker]
		in.Init(&to, 4)
		in.C <- 1
		in.C <- 2
		in.Start()
		synctest.Wait()
		if len(to.stored) != 1 || len(to.stored[0]) != 2 {
			t.Errorf("stored %v, want both together", to.stored)
		}
		in.Close()
	})
}

// User code that closes the channel is reported, and what it has sent before is taken.
func TestInboxClosedByUser(t *testing.T) {
	for name, start := range map[string]bool{"with a receiver": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var to taker
				var in inbox.Inbox[int, *taker]
				in.Init(&to, 4)
				in.C <- 1
				close(in.C)
				if start {
					in.Start()
					synctest.Wait()
				}
				in.Close()
				if got := to.all(); !slices.Equal(got, []int{1}) || to.closed != 1 {
					t.Errorf("took %v, closed %d times", got, to.closed)
				}
			})
		})
	}
}

// With Discard everything is discarded, however much comes.
func TestInboxDiscards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in inbox.Inbox[int, inbox.Discard[int]]
		in.Init(inbox.Discard[int]{Mark: fence}, 1)
		in.Start()
		for i := range 10 {
			in.C <- i
		}
		close(in.C)
		in.Close()
	})
}
