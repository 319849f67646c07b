package frontier_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

func Example() {
	l := frontier.NewLedger(3)
	l.Discover(1)
	l.Started()
	l.Take()
	l.Settle(1, "")
	fmt.Println(l.IsFinished(), l.Counts().Settled)
	// Output: true 1
}
