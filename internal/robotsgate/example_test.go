package robotsgate_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

// page is a request that waits for robots.txt.
type page struct{ path string }

// closed allows all paths but those below a prefix, and wants a second between two requests.
type closed string

func (c closed) Allowed(path string) bool         { return !strings.HasPrefix(path, string(c)) }
func (closed) CrawlDelay() (time.Duration, bool)  { return time.Second, true }
func (closed) RequestRate() (time.Duration, bool) { return 0, false }

// The first page of an origin asks for robots.txt, the second one waits for what the first one learns. The file has moved.
func ExampleGate() {
	site := map[string]robotsgate.Response{
		"https://a.example/robots.txt": {Status: 301, Header: map[string][]string{"Location": {"/rules"}}},
		"https://a.example/rules":      {Status: 200, Body: []byte("/private/")},
	}
	parse := func(body []byte) robotsgate.Group { return closed(body) }
	gate := robotsgate.New(parse, func(slot string, delay time.Duration) { fmt.Println(slot, delay) }, func(*page) {})
	look := func(p *page) robotsgate.Answer {
		return gate.Look(p, robotsgate.Place{Origin: "https://a.example", Path: p.path, Slot: "a.example"}, true).Answer
	}
	first, second := &page{"/1"}, &page{"/private/2"}
	fmt.Println(look(first) == robotsgate.Ask, look(second) == robotsgate.Wait)

	end, err := gate.Ask(first, "https://a.example", func(url string, left time.Duration, first bool) (robotsgate.Response, error) {
		fmt.Println("asks for", url)
		return site[url], nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(look(first) == robotsgate.Allow, look(end.Waiting[0].Job) == robotsgate.Forbid)
	// Output:
	// true true
	// asks for https://a.example/robots.txt
	// asks for https://a.example/rules
	// a.example 1s
	// true true
}
