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

// A queue that a store holds is taken over at once, and handed out entry by entry.
func ExampleTable_Add() {
	tab := slots.New(nil)
	tab.Add("a.example", 1, 3)
	now, taken := time.Now(), 0
	for {
		g, ok := tab.Acquire(now, false)
		if !ok {
			break
		}
		taken++
		tab.Head(g, 1, taken < 3)
		tab.Started(g, now)
		tab.Release(g)
	}
	fmt.Println(taken)
	// Output: 3
}
