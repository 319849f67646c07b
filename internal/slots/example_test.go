package slots_test

import (
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

func Example() {
	tab := slots.New(func(string) slots.Policy { return slots.Policy{Delay: time.Second} })
	tab.Add("a.example", 0, 1)
	tab.Add("a.example", 0, 1)
	tab.Add("b.example", 0, 1)

	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for now := start; ; {
		if g, ok := tab.Acquire(now, false); ok {
			tab.Started(g, now)
			fmt.Println(now.Sub(start), g.Slot.Name())
			tab.Release(g)
			continue
		}
		at, ok := tab.Next()
		if !ok {
			break
		}
		now = at
	}
	// Output:
	// 0s a.example
	// 0s b.example
	// 1s a.example
}
