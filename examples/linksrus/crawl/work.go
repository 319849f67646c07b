package crawl

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Frontier is what a pass needs of the graph besides.
type Frontier interface {
	Links(ctx context.Context, ids graph.Range, retrievedBefore time.Time) iter.Seq2[*graph.Link, error]
	Link(ctx context.Context, id uuid.UUID) (*graph.Link, error)
}

// Work is what a pass has to crawl.
type Work struct {
	From  Frontier
	Scope Scope
	// NewOnly leaves out what was fetched in an earlier pass: a link was submitted, say, and the rest is not due.
	NewOnly bool
}

// due gives the links to crawl in a pass that began at start.
func (w Work) due(ctx context.Context, start time.Time) iter.Seq2[*graph.Link, error] {
	if w.NewOnly {
		start = time.Unix(0, 1) // after the zero time, before all others
	}
	return func(yield func(*graph.Link, error) bool) {
		for link, err := range w.From.Links(ctx, graph.All, start) {
			if err == nil && !link.Submitted && !w.Scope.Has(link.URL) {
				continue
			}
			if !yield(link, err) {
				return
			}
		}
	}
}

// follows reports whether a link that was found is crawled in the same pass.
func (w Work) follows(ctx context.Context, url string) (bool, error) {
	if !w.Scope.Has(url) || !w.NewOnly {
		return w.Scope.Has(url), nil
	}
	switch link, err := w.From.Link(ctx, graph.LinkID(url)); {
	case errors.Is(err, graph.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	default:
		return link.RetrievedAt.IsZero(), nil
	}
}

// Scope is the part of the web that is crawled: whole hosts, and single pages that were submitted. Links that lead
// out of it are in the graph, but not followed. A Scope does not change.
type Scope map[string]bool // by host, without port

// NewScope returns the scope of the hosts of these URLs.
func NewScope(urls ...string) Scope {
	s := make(Scope)
	for _, url := range urls {
		s[urlx.Hostname(url)] = true
	}
	return s
}

// Has reports whether a URL is on one of the hosts.
func (s Scope) Has(url string) bool { return s[urlx.Hostname(url)] }
