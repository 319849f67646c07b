package rfc9111_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
)

// A response is stored, used while it is fresh, and renewed by a 304.
func Example() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	request := rfc9111.Request{Method: http.MethodGet, URL: "https://a.example/", Header: http.Header{}}

	d := rfc9111.Decide(request, nil, now)
	fmt.Println(d.Action == rfc9111.Fetch)
	outcome := d.Answered(rfc9111.Response{Status: 200, Requested: now, Received: now,
		Header: http.Header{"Cache-Control": {"max-age=60"}, "Etag": {`"1"`}}})
	entries := []rfc9111.Entry{outcome.Entry}

	now = now.Add(30 * time.Second)
	d = rfc9111.Decide(request, entries, now)
	fmt.Println(d.Action == rfc9111.Serve, d.Reply.Header["Age"])

	now = now.Add(30 * time.Second)
	d = rfc9111.Decide(request, entries, now)
	fmt.Println(d.Action == rfc9111.Validate, d.Condition)
	outcome = d.Answered(rfc9111.Response{Status: 304, Requested: now, Received: now, Header: http.Header{}})
	fmt.Println(outcome.Change == rfc9111.Update, outcome.Reply.Status)
	// Output:
	// true
	// true [30]
	// true map[If-None-Match:["1"]]
	// true 200
}
