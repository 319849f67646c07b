// Package graph keeps what a crawler knows of the web: links, and which page has a link to which.
//
//	link := &graph.Link{URL: "https://example.com/"}
//	err := g.UpsertLink(ctx, link)                                  // sets link.ID
//	err = g.UpsertEdge(ctx, &graph.Edge{Src: page.ID, Dst: link.ID}) // page links to it
//	for link, err := range g.Links(ctx, graph.All, time.Now()) {…}
//
// There are two stores, [Memory] and [SQLite], which behave the same: one suite tests both. All
// methods of both may be called concurrently.
//
// # The store's clock
//
// Edges that a page no longer has are found by time: a crawler reads the clock, upserts the edges
// that are there and removes those of the page that are older. So that this is exact there is one
// clock, the store's, and it never gives the same time twice: [Graph.Now] and the times of edges are
// its readings. A crawler on another machine, or two passes within one tick of the system's clock,
// change nothing.
package graph

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Link is a page that is known, fetched or not.
type Link struct {
	// ID is [LinkID] of the URL; UpsertLink sets it.
	ID uuid.UUID
	// URL is absolute and without fragment.
	URL string
	// RetrievedAt is when the page was fetched last, the zero time if never.
	RetrievedAt time.Time
	// Submitted says that somebody asked for this very page. It says nothing about whether it may
	// be trusted.
	Submitted bool
}

// Edge says that the page Src has a link to Dst.
type Edge struct {
	Src, Dst uuid.UUID
	// UpdatedAt is when it was last upserted, by the store's clock; UpsertEdge sets it.
	UpdatedAt time.Time
}

// Graph is a store of links and edges. Errors of the store are returned as they are, a done context's
// is ctx.Err or wraps it.
type Graph interface {
	// UpsertLink adds a link or updates the one with the same URL, and sets every field of link to
	// what is stored then: the ID, the later RetrievedAt of both, and Submitted if either has it.
	UpsertLink(ctx context.Context, link *Link) error
	// Link returns the link with this ID, or an error that wraps ErrNotFound.
	Link(ctx context.Context, id uuid.UUID) (*Link, error)
	// UpsertEdge adds an edge or renews the one between the same links, and sets UpdatedAt. An
	// unknown Src or Dst is an error that wraps ErrUnknownLink.
	UpsertEdge(ctx context.Context, edge *Edge) error
	// RemoveStaleEdges removes the edges of a page whose UpdatedAt is before this time.
	RemoveStaleEdges(ctx context.Context, src uuid.UUID, before time.Time) error
	// Links iterates over the links with an ID in the range that were last retrieved before this
	// time, in the order of their IDs. An error is the last that comes. The loop may use the store;
	// links that are upserted meanwhile may come or not.
	Links(ctx context.Context, ids Range, retrievedBefore time.Time) iter.Seq2[*Link, error]
	// Edges iterates over the edges with a Src in the range that were updated before this time, in
	// the order of Src, then Dst, as Links does.
	Edges(ctx context.Context, srcs Range, updatedBefore time.Time) iter.Seq2[*Edge, error]
	// Now reads the store's clock: later than every time it has given, earlier than every one it
	// will give.
	Now() time.Time
	// Close ends the use of the store.
	Close() error
}

// What the errors of a Graph wrap.
var (
	ErrNotFound    = errors.New("graph: no such link")
	ErrUnknownLink = errors.New("graph: edge of an unknown link")
)

// LinkID returns the ID that a URL has in every store: its UUID of version 5 in the namespace for URLs
// (RFC 9562, section 5.5).
func LinkID(url string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(url)) }

// Range is a part of all IDs: those from First to Last, both included.
type Range struct{ First, Last uuid.UUID }

// All is the range of all IDs.
var All = Range{Last: uuid.Max}

// Partition returns the i-th, from 0, of n ranges of equal size that together are All: what one of n
// workers takes. IDs are spread evenly, so each has about the same number of links. It panics if i is
// not one of n, or n more than 2^32.
func Partition(i, n int) Range {
	if n < 1 || n > 1<<16 || i < 0 || i >= n {
		panic(fmt.Sprintf("graph: partition %d of %d", i, n))
	}
	r := All
	if i > 0 {
		binary.BigEndian.PutUint64(r.First[:], bound(i, n))
	}
	if i < n-1 {
		binary.BigEndian.PutUint64(r.Last[:], bound(i+1, n)-1)
	}
	return r
}

// bound is i/n of 2^64, for 0 < i < n.
func bound(i, n int) uint64 {
	return ^uint64(0)/uint64(n)*uint64(i) + uint64(i)
}

// Contains reports whether an ID is in the range.
func (r Range) Contains(id uuid.UUID) bool {
	return bytes.Compare(r.First[:], id[:]) <= 0 && bytes.Compare(id[:], r.Last[:]) <= 0
}

// clock gives each time once, in nanoseconds since 1970.
type clock struct {
	mu   sync.Mutex // guards last
	last int64
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(time.Now().UnixNano(), c.last+1)
	return fromNano(c.last)
}

// toNano and fromNano convert the times of links: 0 is the zero time.
func toNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
