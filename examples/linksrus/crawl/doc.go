// Package crawl fills the link graph and the text index of Links 'R' Us, in two ways.
//
// [Pipeline] is the crawler as a pipeline of package stage. Links come out of the graph and pass
//
//	fetch, in parallel → links → text → to both of: graph, index
//
// What a page links to goes into the graph and is crawled in the next round, until nothing new comes.
//
// [Spider] does the same job on the engine: a parser reads the page and follows its links, an item pipeline writes to
// graph and index. What each of the two buys stands in the documentation of the command, one folder above.
//
// Both read pages by the same functions, so they make the same graph of the same pages. Only responses with a
// status of 2xx and some kind of HTML count; a page that could not be fetched keeps what was last known of it.
package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Graph is what a crawler needs of the link graph.
type Graph interface {
	UpsertLink(ctx context.Context, link *graph.Link) error
	UpsertEdge(ctx context.Context, edge *graph.Edge) error
	RemoveStaleEdges(ctx context.Context, src uuid.UUID, before time.Time) error
	Now() time.Time
}

// Indexer is what a crawler needs of the text index.
type Indexer interface {
	Index(ctx context.Context, doc *index.Document) error
}

// Client sends requests, as *http.Client does. A request's context bounds the whole exchange, the body included.
type Client interface {
	Do(*http.Request) (*http.Response, error)
}

// Config says what a crawler works with. Graph and Indexer must be given.
type Config struct {
	Graph   Graph
	Indexer Indexer
	// Guard judges URLs; nil is one that trusts nothing. The Client has to have the same one.
	Guard *Guard
	// Client is what the pipeline fetches with; nil is NewClient(Guard), whose connections end with each crawl. The
	// spider's pages are fetched by the engine.
	Client Client
	// Workers is the number of pages that are fetched at the same time; 0 means 8.
	Workers int
	// Timeout is the longest time that one page may take to fetch; 0 means 30 s.
	Timeout time.Duration
	// MaxBody is the largest page in bytes, decoded; 0 means 8 MiB.
	MaxBody int64
	// Dropped, unless nil, is called for every page that is dropped, with the reason: where a dead letter queue
	// goes. It may be called concurrently and holds up the crawl.
	Dropped func(url string, why error)
}

func (c Config) withDefaults() Config {
	if c.Graph == nil || c.Indexer == nil {
		panic("crawl: Config needs a Graph and an Indexer")
	}
	if c.Workers == 0 {
		c.Workers = 8
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxBody == 0 {
		c.MaxBody = 8 << 20
	}
	if c.Dropped == nil {
		c.Dropped = func(string, error) {}
	}
	return c
}

// PageError is why a page was dropped. The crawl goes on without it.
type PageError struct {
	URL string
	Err error
}

func (e *PageError) Error() string { return fmt.Sprintf("crawl: %s: %v", e.URL, e.Err) }

// Unwrap returns the cause.
func (e *PageError) Unwrap() error { return e.Err }

// What a PageError may wrap, beside errors of the network.
var (
	ErrNotPage      = errors.New("not a page: no HTML, or no status of 2xx")
	ErrBodyTooLarge = errors.New("page is too large")
	ErrForbidden    = errors.New("private address, or another scheme than http and https")
	ErrOutOfScope   = errors.New("redirect out of the scope")
)

// Report says what became of a crawl.
type Report struct {
	Pages   int // put into graph and index; two links that redirect to one page may count twice
	Dropped int // not there, no HTML, forbidden, cancelled …
	// Total and Longest are how long pages took to their end: together, and the slowest of them. A page of the
	// pipeline begins when it leaves the source, one of the spider when its download begins; waiting between
	// stages is part of it.
	Total, Longest time.Duration
}

// Mean is the time that a page took on average.
func (r Report) Mean() time.Duration {
	if n := r.Pages + r.Dropped; n > 0 {
		return r.Total / time.Duration(n)
	}
	return 0
}

func (r *Report) add(other Report) {
	r.Pages += other.Pages
	r.Dropped += other.Dropped
	r.Total += other.Total
	r.Longest = max(r.Longest, other.Longest)
}

// Normalize returns an absolute http or https URL as the graph has it: as browsers serialise it, without
// fragment. The error says what is wrong with another one.
func Normalize(url string) (string, error) {
	parsed, err := urlx.Parse(url)
	if err != nil {
		return "", err
	}
	parsed, _ = urlx.CutFragment(parsed)
	if scheme := urlx.Scheme(parsed); scheme != "http" && scheme != "https" {
		return "", &urlx.Error{Op: "parsing", URL: url, Err: urlx.ErrNotHTTP}
	}
	return parsed, nil
}
