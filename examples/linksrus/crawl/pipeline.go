package crawl

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/stage"
)

// Pipeline is the crawler as a pipeline. It holds nothing of its crawls: it may be used concurrently.
type Pipeline struct {
	config Config
	stages *stage.Pipeline[*payload]
	done   func() // after each crawl
}

// NewPipeline puts the stages together. It panics without Graph or Indexer.
func NewPipeline(config Config) *Pipeline {
	c := config.withDefaults()
	done := func() {}
	if c.Client == nil {
		client := NewClient(c.Guard)
		c.Client, done = client, client.CloseIdleConnections
	}
	letters := func(p processor) stage.Processor[*payload] { return deadLetters(p, c.Dropped) }
	return &Pipeline{config: c, done: done, stages: stage.New(
		stage.FixedWorkerPool(letters(c.fetch), c.Workers),
		stage.FIFO(letters(c.extractLinks)),
		stage.FIFO(letters(c.extractText)),
		stage.Broadcast(letters(c.updateGraph), letters(c.indexText)),
	)}
}

// Crawl fetches these links once and puts what it finds into graph and index. It returns when all of them are
// through and nothing of it runs any more. Pages that are wrong are dropped. An error is that of the links,
// the graph or the index, or, if ctx was done, its cause; the report is about what was done until then.
//
// links is iterated over in a goroutine other than the caller's, but not after Crawl has returned. One that waits
// has to stop when ctx is done.
func (p *Pipeline) Crawl(ctx context.Context, links iter.Seq2[*graph.Link, error]) (Report, error) {
	return p.crawl(ctx, links, nil)
}

func (p *Pipeline) crawl(ctx context.Context, links iter.Seq2[*graph.Link, error], scope Scope) (Report, error) {
	next, stop := iter.Pull2(links)
	defer stop()
	defer p.done()
	source := &linkSource{next: next, scope: scope}
	err := p.stages.Process(ctx, source, arrival{})
	return source.tally.sum(), err
}

// Pass crawls everything in the scope once: the links that are in the graph, in the next round those that were
// found there, until a round brings none. A page that a link redirects to out of the scope is not kept, unless the
// link was submitted. A link that could not be fetched is tried again in the next pass.
func (p *Pipeline) Pass(ctx context.Context, w Work) (Report, error) {
	start := p.config.Graph.Now()
	tried := make(map[uuid.UUID]bool)
	var total Report
	for {
		before := len(tried)
		report, err := p.crawl(ctx, func(yield func(*graph.Link, error) bool) {
			for link, err := range w.due(ctx, start) {
				if err == nil && tried[link.ID] {
					continue
				}
				if err == nil {
					tried[link.ID] = true
				}
				if !yield(link, err) {
					return
				}
			}
		}, w.Scope)
		total.add(report)
		if err != nil || len(tried) == before {
			return total, err
		}
	}
}

// linkSource makes the graph's links payloads.
type linkSource struct {
	next  func() (*graph.Link, error, bool)
	scope Scope // of redirects; nil: everything
	link  *graph.Link
	err   error
	tally tally
}

// Next implements stage.Source.
func (s *linkSource) Next(context.Context) bool {
	var ok bool
	s.link, s.err, ok = s.next()
	return ok && s.err == nil
}

// Payload implements stage.Source.
func (s *linkSource) Payload() *payload {
	v := &visit{began: time.Now(), end: s.tally.add}
	if !s.link.Submitted {
		v.scope = s.scope
	}
	return newPayload(v, s.link)
}

// Error implements stage.Source.
func (s *linkSource) Error() error { return s.err }

// arrival is the sink: what comes here is in the stores.
type arrival struct{}

// Consume implements stage.Sink.
func (arrival) Consume(_ context.Context, p *payload) error {
	p.stored = true
	return nil
}

// tally makes the report.
type tally struct {
	mu     sync.Mutex // guards report
	report Report
}

func (t *tally) add(v *visit) {
	page := Report{Pages: 1}
	if v.lost.Load() {
		page = Report{Dropped: 1}
	}
	page.Total = time.Since(v.began)
	page.Longest = page.Total
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.add(page)
}

// sum is the report on what has been counted by now.
func (t *tally) sum() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report
}
