package robotsgate_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

// page is a request that waits for robots.txt.
type page struct{ path string }

// Park has nothing to give back: a page of this example holds no slot.
func (*page) Park() {}

// closed allows all paths but those below a prefix.
type closed string

func (c closed) Allowed(path string) bool { return !strings.HasPrefix(path, string(c)) }

// The first page of an origin asks for robots.txt, the second one waits for what the first one learns.
func ExampleGate() {
	gate := robotsgate.New[*page](func(slot string, delay time.Duration) { fmt.Println(slot, delay) })
	look := func(p *page) robotsgate.Answer {
		return gate.Look(p, robotsgate.Place{Origin: "https://a.example", Path: p.path, Slot: "a.example"}, true).Answer
	}
	first, second := &page{"/1"}, &page{"/private/2"}
	fmt.Println(look(first) == robotsgate.Ask, look(second) == robotsgate.Wait)

	released := gate.Known(first, robotsgate.Rules{Group: closed("/private/"), Delay: time.Second}, robotsgate.Refresh)
	fmt.Println(look(first) == robotsgate.Allow, look(released.Waiting[0].Job) == robotsgate.Forbid)
	// Output:
	// true true
	// a.example 1s
	// true true
}
