package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
	"github.com/tegenaria/tegenaria/examples/linksrus/rank"
	"github.com/tegenaria/tegenaria/examples/linksrus/web"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// service is the application: two stores, a crawler that fills them, and what is said about it.
type service struct {
	graph   graph.Graph
	index   index.Index
	crawler interface {
		Pass(ctx context.Context, w crawl.Work) (crawl.Report, error)
	}
	guard *crawl.Guard
	scope crawl.Scope
	wake  chan struct{} // room for one: a link was submitted

	mu  sync.Mutex // guards log
	log io.Writer
}

// open opens the stores and puts the URLs of the command line into the graph. These alone are trusted.
func open(ctx context.Context, o *options, log io.Writer) (*service, error) {
	s := &service{
		graph: graph.NewMemory(), index: index.NewMemory(),
		guard: crawl.NewGuard(o.urls...), scope: crawl.NewScope(o.urls...),
		wake: make(chan struct{}, 1), log: log,
	}
	if o.db != "" {
		if err := s.openStores(o.db); err != nil {
			return nil, err
		}
	}
	for _, url := range o.urls {
		if err := s.graph.UpsertLink(ctx, &graph.Link{URL: url}); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	config := crawl.Config{Graph: s.graph, Indexer: s.index, Guard: s.guard, Workers: o.workers,
		Dropped: func(url string, why error) { s.printf("dropped %s: %v", url, why) }}
	if o.pipeline {
		s.crawler = crawl.NewPipeline(config)
	} else {
		logger := logrus.New()
		logger.SetOutput(log)
		logger.SetLevel(logrus.ErrorLevel) // Dropped tells the rest
		s.crawler = crawl.NewSpider(config, tegenaria.EngineWithLogger(logger))
	}
	return s, nil
}

func (s *service) openStores(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	g, err := graph.OpenSQLite(filepath.Join(dir, "graph.db"))
	if err != nil {
		return err
	}
	idx, err := index.OpenBleve(filepath.Join(dir, "index"))
	if err != nil {
		return errors.Join(err, g.Close())
	}
	s.graph, s.index = g, idx
	return nil
}

func (s *service) close() error { return errors.Join(s.index.Close(), s.graph.Close()) }

// printf writes a line to the log.
func (s *service) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.log, format+"\n", args...)
}

// round crawls once, ranks all pages, and gives the index their ranks.
func (s *service) round(ctx context.Context, newOnly bool) error {
	began := time.Now()
	report, err := s.crawler.Pass(ctx, crawl.Work{From: s.graph, Scope: s.scope, NewOnly: newOnly})
	if err != nil {
		return err
	}
	crawled := time.Since(began)
	now := s.graph.Now()
	ranks, err := rank.Compute(s.graph.Links(ctx, graph.All, now), s.graph.Edges(ctx, graph.All, now), rank.Options{})
	if err != nil {
		return err
	}
	// Links that were never fetched have a rank, too, but no document.
	if err := s.index.UpdateScores(ctx, func(yield func(uuid.UUID, float64) bool) {
		for _, r := range ranks {
			if !yield(r.LinkID, r.Value) {
				return
			}
		}
	}); err != nil {
		return err
	}
	s.printf("crawled %d pages in %v, dropped %d; a page took %v, the slowest %v; ranked %d links in %v",
		report.Pages, crawled.Round(time.Millisecond), report.Dropped, report.Mean().Round(time.Millisecond),
		report.Longest.Round(time.Millisecond), len(ranks), (time.Since(began) - crawled).Round(time.Millisecond))
	return nil
}

// submit takes a link from the page. It gets no trust with it: a private address stays refused, here if the URL
// names it, and where it is dialled otherwise.
func (s *service) submit(ctx context.Context, url string) error {
	normal, err := crawl.Normalize(url)
	if err != nil {
		return fmt.Errorf("%w: write it as http://host/path or https://host/path", web.ErrRefused)
	}
	if parsed, err := urlx.HTTP(normal); err != nil || parsed.User != nil {
		return fmt.Errorf("%w: leave out the name and the password, everybody would see them", web.ErrRefused)
	}
	if !s.guard.Permits(normal) {
		return fmt.Errorf("%w: %s is on a private address", web.ErrRefused, normal)
	}
	if err := s.graph.UpsertLink(ctx, &graph.Link{URL: normal, Submitted: true}); err != nil {
		return err
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
	return nil
}

// loop crawls everything, then what is submitted at once and everything again after each recrawl, until ctx is done,
// which is not an error.
func (s *service) loop(ctx context.Context, recrawl time.Duration) error {
	var due <-chan time.Time // never
	if recrawl > 0 {
		ticker := time.NewTicker(recrawl)
		defer ticker.Stop()
		due = ticker.C
	}
	newOnly := false
	for {
		if err := s.round(ctx, newOnly); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-due:
			newOnly = false
		case <-s.wake:
			newOnly = true
		case <-ctx.Done():
			return nil
		}
	}
}

// serve shows the page while the loop runs. It returns when ctx is done or a store fails.
func (s *service) serve(ctx context.Context, o *options, stdout io.Writer) error {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	server := &http.Server{
		Handler: web.New(web.Config{Index: s.index, Submit: s.submit, Fault: func(err error) { s.printf("%v", err) }}),
		// A reader who is slow on purpose holds no connection for long.
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	var serving sync.WaitGroup
	var serveErr error
	serving.Go(func() {
		if serveErr = server.Serve(listener); errors.Is(serveErr, http.ErrServerClosed) {
			serveErr = nil
		}
		cancel(serveErr)
	})
	fmt.Fprintf(stdout, "Links 'R' Us is at http://%s/\n", listener.Addr())
	err = s.loop(ctx, o.recrawl)

	last, end := context.WithTimeout(context.Background(), 5*time.Second)
	defer end()
	if server.Shutdown(last) != nil {
		server.Close() // somebody is still reading
	}
	serving.Wait()
	return errors.Join(err, serveErr)
}

// answer crawls once and prints what a query finds.
func (s *service) answer(ctx context.Context, text string, w io.Writer) error {
	if err := s.round(ctx, false); err != nil {
		return err
	}
	query := index.ParseQuery(text)
	found, err := s.index.Search(ctx, query)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d pages found\n", found.Total)
	for _, doc := range found.Documents {
		fmt.Fprintf(w, "\n%.4f  %s\n        %s\n        ", doc.Score, doc.Title, doc.URL)
		for _, part := range index.Excerpt(doc.Content, query, 20) {
			fmt.Fprint(w, part.Text)
		}
		fmt.Fprintln(w)
	}
	return nil
}
