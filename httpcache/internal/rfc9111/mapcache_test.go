package rfc9111_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
)

// mapCache is the smallest cache that the state machine drives: its store is a map, its origin any RoundTripper.
type mapCache struct {
	origin http.RoundTripper
	stored map[string][]storedResponse // by URL
}

type storedResponse struct {
	entry rfc9111.Entry
	body  []byte
}

func newMapCache(origin http.RoundTripper) http.RoundTripper {
	return &mapCache{origin: origin, stored: make(map[string][]storedResponse)}
}

func (c *mapCache) RoundTrip(r *http.Request) (*http.Response, error) {
	url := r.URL.String()
	var entries []rfc9111.Entry
	for _, s := range c.stored[url] {
		entries = append(entries, s.entry)
	}
	d := rfc9111.Decide(rfc9111.Request{Method: r.Method, URL: url, Header: r.Header}, entries, time.Now())
	switch d.Action {
	case rfc9111.Serve, rfc9111.ServeStale, rfc9111.ServeWhileRevalidating:
		return reply(r, d.Reply, c.stored[url][d.Entry].body), nil
	case rfc9111.Refuse:
		return reply(r, rfc9111.Reply{Status: http.StatusGatewayTimeout}, nil), nil
	}
	return c.ask(r, url, d)
}

// ask sends a request to the origin and does what follows from the answer.
func (c *mapCache) ask(r *http.Request, url string, d rfc9111.Decision) (*http.Response, error) {
	out := r.Clone(r.Context())
	maps.Copy(out.Header, d.Condition)
	requested := time.Now()
	resp, err := c.origin.RoundTrip(out)
	if err != nil {
		if stale, ok := d.Failed(time.Now()); ok {
			return reply(r, stale, c.stored[url][d.Entry].body), nil
		}
		return nil, err
	}
	received := time.Now()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	outcome := d.Answered(rfc9111.Response{Status: resp.StatusCode, Header: resp.Header, Requested: requested, Received: received})
	var chosen []byte
	if d.Entry >= 0 {
		chosen = c.stored[url][d.Entry].body
	}
	list := c.stored[url]
	if outcome.Change == rfc9111.Update {
		outcome.Entry.Length = list[d.Entry].entry.Length
		list[d.Entry].entry = outcome.Entry
	}
	for _, i := range slices.Backward(outcome.Drop) {
		list = slices.Delete(list, i, i+1)
	}
	if outcome.Change == rfc9111.Store {
		outcome.Entry.Length = int64(len(body))
		list = append(list, storedResponse{outcome.Entry, body})
	}
	c.stored[url] = list
	for _, invalid := range outcome.Invalidate {
		delete(c.stored, invalid)
	}
	switch {
	case outcome.Change == rfc9111.Again:
		d.Condition = nil
		return c.ask(r, url, d)
	case outcome.Reply != nil:
		return reply(r, *outcome.Reply, chosen), nil
	}
	return resp, nil
}

// reply makes a response of the cache's own.
func reply(r *http.Request, reply rfc9111.Reply, body []byte) *http.Response {
	if part := reply.Range; part != nil {
		body = body[part.Start : part.Start+part.Length]
	}
	if r.Method == http.MethodHead || reply.Status == http.StatusNotModified {
		body = nil
	}
	return response(r, reply.Status, reply.Header, body)
}

func response(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	if header == nil {
		header = make(http.Header)
	}
	return &http.Response{Status: strconv.Itoa(status), StatusCode: status, Header: header, Request: r,
		Body: io.NopCloser(bytes.NewReader(body))}
}
