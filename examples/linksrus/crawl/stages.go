package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/stage"
)

// processor is a stage of the pipeline. What is wrong with a page is a *PageError, which costs that page; every
// other error, of the graph or the index, ends the crawl.
type processor = stage.ProcessorFunc[*payload]

// deadLetters decorates a processor: a page that is wrong is reported and dropped, and the pipeline goes on.
func deadLetters(p processor, report func(url string, why error)) processor {
	return func(ctx context.Context, page *payload) (*payload, error) {
		out, err := p(ctx, page)
		var wrong *PageError
		if !errors.As(err, &wrong) {
			return out, err
		}
		report(wrong.URL, wrong.Err)
		return nil, fmt.Errorf("%w: %w", stage.ErrDrop, err)
	}
}

// NewClient returns the pipeline's client: it dials what guard permits, after redirects too, and uses no proxy, as
// that would dial in its place.
func NewClient(guard *Guard) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            guard.DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        30 * time.Second,
			TLSHandshakeTimeout:    30 * time.Second,
			MaxResponseHeaderBytes: 1 << 20,
		},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if len(via) >= tegenaria.DefaultMaxRedirects {
				return fmt.Errorf("more than %d redirects", tegenaria.DefaultMaxRedirects)
			}
			if !guard.Permits(to.URL.String()) {
				return ErrForbidden
			}
			return nil
		},
	}
}

// fetch is the first stage. A redirected page is the one it was redirected to from here on.
func (c Config) fetch(ctx context.Context, p *payload) (*payload, error) {
	if !mayBePage(p.url) {
		return nil, &PageError{p.url, ErrNotPage}
	}
	if !c.Guard.Permits(p.url) {
		return nil, &PageError{p.url, ErrForbidden}
	}
	err := c.get(ctx, p)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, &PageError{p.url, err}
	}
	return p, nil
}

// get reads a page. Everything about it counts as the page's fault.
func (c Config) get(ctx context.Context, p *payload) error {
	target, err := urlx.HTTP(p.url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request := &http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: http.Header{
		"User-Agent": {"tegenaria/" + tegenaria.Version}, "Accept": {"text/html"}}}
	response, err := c.Client.Do(request.WithContext(ctx))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if !isPage(response.StatusCode, response.Header) {
		return fmt.Errorf("%w: %s, %q", ErrNotPage, response.Status, response.Header.Get("Content-Type"))
	}
	switch n, err := io.Copy(&p.body, io.LimitReader(response.Body, c.MaxBody+1)); {
	case err != nil:
		return fmt.Errorf("reading the body: %w", err)
	case n > c.MaxBody:
		return fmt.Errorf("%w: more than %d bytes", ErrBodyTooLarge, c.MaxBody)
	}
	if response.Request != nil && response.Request.URL != target { // it is nil in responses made by hand
		if p.url, err = Normalize(response.Request.URL.String()); err != nil {
			return err
		}
		if p.visit.scope != nil && !p.visit.scope.Has(p.url) {
			return ErrOutOfScope
		}
	}
	text, encoding, _ := charset.Decode(p.body.Bytes(), response.Header.Get("Content-Type"))
	p.encoding = encoding
	p.body.Reset()
	p.body.Write(text) // which may be a part of the buffer itself
	return nil
}

// extractLinks is the second stage.
func (c Config) extractLinks(_ context.Context, p *payload) (*payload, error) {
	follow, noFollow := outLinks(p.body.Bytes(), p.url, p.encoding, c.Guard)
	p.links, p.noFollow = append(p.links, follow...), append(p.noFollow, noFollow...)
	return p, nil
}

// extractText is the third stage, and the last that needs the body.
func (c Config) extractText(_ context.Context, p *payload) (*payload, error) {
	var err error
	if p.title, p.text, err = readText(p.body.Bytes()); err != nil {
		return nil, &PageError{p.url, err}
	}
	p.body.Reset()
	return p, nil
}

// updateGraph and indexText are the two branches of the last stage.
func (c Config) updateGraph(ctx context.Context, p *payload) (*payload, error) {
	return p, updateGraph(ctx, c.Graph, p.url, p.links, p.noFollow)
}

func (c Config) indexText(ctx context.Context, p *payload) (*payload, error) {
	return p, indexText(ctx, c.Indexer, p.url, p.title, p.text)
}

// updateGraph puts a page and its links into the graph: links with rel=nofollow without edges. Edges that the page
// had before and has no more are those that are older than the store's clock was before the first new one.
func updateGraph(ctx context.Context, g Graph, url string, links, noFollow []string) error {
	page := &graph.Link{URL: url, RetrievedAt: g.Now()}
	if err := g.UpsertLink(ctx, page); err != nil {
		return err
	}
	for _, url := range noFollow {
		if err := g.UpsertLink(ctx, &graph.Link{URL: url}); err != nil {
			return err
		}
	}
	start := g.Now()
	for _, url := range links {
		target := &graph.Link{URL: url}
		if err := g.UpsertLink(ctx, target); err != nil {
			return err
		}
		if err := g.UpsertEdge(ctx, &graph.Edge{Src: page.ID, Dst: target.ID}); err != nil {
			return err
		}
	}
	return g.RemoveStaleEdges(ctx, page.ID, start)
}

func indexText(ctx context.Context, indexer Indexer, url, title, text string) error {
	return indexer.Index(ctx, &index.Document{
		LinkID: graph.LinkID(url), URL: url, Title: title, Content: text, IndexedAt: time.Now(),
	})
}
