package frontier_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

func Example() {
	l := frontier.NewLedger(3)
	l.Discover(1)
	l.Started()
	l.Mu.Lock()
	l.TakeLocked()
	l.Mu.Unlock()
	l.Settle(1, "")
	<-l.Finished()
	fmt.Println(l.Counts().Settled)
	// Output: 1
}
