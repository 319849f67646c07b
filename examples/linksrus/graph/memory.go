package graph

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Memory is a Graph in memory: for tests, and for crawls that need not be kept.
type Memory struct {
	clock clock

	mu    sync.RWMutex // guards the maps and what they hold
	links map[uuid.UUID]*Link
	edges map[uuid.UUID]map[uuid.UUID]int64 // src → dst → when it was updated
}

// NewMemory returns an empty graph.
func NewMemory() *Memory {
	return &Memory{links: make(map[uuid.UUID]*Link), edges: make(map[uuid.UUID]map[uuid.UUID]int64)}
}

var _ Graph = (*Memory)(nil)

// UpsertLink implements Graph.
func (m *Memory) UpsertLink(ctx context.Context, link *Link) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := LinkID(link.URL)
	stored := m.links[id]
	if stored == nil {
		stored = &Link{ID: id, URL: link.URL}
		m.links[id] = stored
	}
	stored.Submitted = stored.Submitted || link.Submitted
	if link.RetrievedAt.After(stored.RetrievedAt) {
		stored.RetrievedAt = fromNano(toNano(link.RetrievedAt))
	}
	*link = *stored
	return nil
}

// Link implements Graph.
func (m *Memory) Link(ctx context.Context, id uuid.UUID) (*Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	link := m.copied(id)
	if link == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return link, nil
}

// copied returns a link of the caller's own, nil if there is none.
func (m *Memory) copied(id uuid.UUID) *Link {
	m.mu.RLock()
	defer m.mu.RUnlock()
	stored := m.links[id]
	if stored == nil {
		return nil
	}
	link := *stored
	return &link
}

// UpsertEdge implements Graph.
func (m *Memory) UpsertEdge(ctx context.Context, edge *Edge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range []uuid.UUID{edge.Src, edge.Dst} {
		if m.links[id] == nil {
			return fmt.Errorf("%w: %s", ErrUnknownLink, id)
		}
	}
	edge.UpdatedAt = m.clock.now()
	from := m.edges[edge.Src]
	if from == nil {
		from = make(map[uuid.UUID]int64)
		m.edges[edge.Src] = from
	}
	from[edge.Dst] = edge.UpdatedAt.UnixNano()
	return nil
}

// RemoveStaleEdges implements Graph.
func (m *Memory) RemoveStaleEdges(ctx context.Context, src uuid.UUID, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for dst, updated := range m.edges[src] {
		if updated < toNano(before) {
			delete(m.edges[src], dst)
		}
	}
	return nil
}

// Links implements Graph. It looks at the links one by one, so the store is free in between.
func (m *Memory) Links(ctx context.Context, ids Range, retrievedBefore time.Time) iter.Seq2[*Link, error] {
	return func(yield func(*Link, error) bool) {
		for _, id := range keys(&m.mu, m.links, ids) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if link := m.copied(id); link.RetrievedAt.Before(retrievedBefore) && !yield(link, nil) {
				return
			}
		}
	}
}

// Edges implements Graph.
func (m *Memory) Edges(ctx context.Context, srcs Range, updatedBefore time.Time) iter.Seq2[*Edge, error] {
	return func(yield func(*Edge, error) bool) {
		for _, src := range keys(&m.mu, m.edges, srcs) {
			for _, edge := range m.edgesOf(src, toNano(updatedBefore)) {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				if !yield(edge, nil) {
					return
				}
			}
		}
	}
}

func (m *Memory) edgesOf(src uuid.UUID, before int64) []*Edge {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var edges []*Edge
	for dst, updated := range m.edges[src] {
		if updated < before {
			edges = append(edges, &Edge{Src: src, Dst: dst, UpdatedAt: fromNano(updated)})
		}
	}
	slices.SortFunc(edges, func(a, b *Edge) int { return bytes.Compare(a.Dst[:], b.Dst[:]) })
	return edges
}

// Now implements Graph.
func (m *Memory) Now() time.Time { return m.clock.now() }

// Close implements Graph: it does nothing.
func (m *Memory) Close() error { return nil }

// keys returns the keys of a map in a range, in order.
func keys[V any](mu *sync.RWMutex, of map[uuid.UUID]V, ids Range) []uuid.UUID {
	mu.RLock()
	defer mu.RUnlock()
	var found []uuid.UUID
	for id := range of {
		if ids.Contains(id) {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return found
}
