package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli/internal/shell"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
)

// session fetches the pages of a shell, one after the other, in one crawl, which begins with the first page and goes on
// until Close: cookies, delays and what robots.txt says are kept from page to page. It is the spider of that crawl.
type session struct {
	run     *Run
	signals bool                           // end a fetch
	got     func(page *tegenaria.Response) // is called with each page
	begun   bool
	seeds   chan *tegenaria.Context
	cancel  context.CancelFunc
	over    *guard.Apart // the crawl
	err     error        // of the crawl, once that is over

	mu   sync.Mutex // guards the visit
	last int        // the number of the last visit
	now  *visited   // nil between two of them
}

// visited is what becomes of a request and its redirects.
type visited struct {
	number int
	page   *tegenaria.Response
	failed error
	end    chan error // has room for one
}

// visitNumber is the key of Meta for the number of a visit: what one that was given up still does is not of the next.
const visitNumber = "shell.visit"

// newSession makes a session with the settings and options of the program, and a cache unless that is nil.
func (c *call) newSession(l *layers, cache tegenaria.EngineOption) (*session, error) {
	s := &session{signals: c.signals, got: c.sayCached, seeds: make(chan *tegenaria.Context)}
	var err error
	if s.run, err = c.looking(l, s, cache, tegenaria.EngineWithSettings(func(s *tegenaria.Settings) {
		s.FailFast = false // of limits of a crawl, none ends a session
		s.Limits.Pages, s.Limits.Items, s.Limits.Errors, s.Limits.Time, s.Limits.Bytes, s.Limits.Callback = 0, 0, 0, 0, 0, 0
	}), tegenaria.EngineWithEvents(tegenaria.Events{Error: s.failed, RequestSettled: s.settled})); err != nil {
		return nil, err
	}
	return s, nil
}

// Fetch gets a page, whatever its status. It must not be called concurrently.
func (s *session) Fetch(ctx context.Context, url string) (*tegenaria.Response, error) {
	if err := checkURL(url); err != nil {
		return nil, err
	}
	if s.signals {
		var end context.CancelFunc
		ctx, end = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer end()
	}
	if !s.begun {
		s.begun = true
		var work context.Context
		work, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
		s.over = guard.Go(func() { s.err = s.run.engine.Run(work, s.GetName()) })
	}
	s.mu.Lock()
	s.last++
	v := &visited{number: s.last, end: make(chan error, 1)}
	s.now = v
	s.mu.Unlock()
	request := tegenaria.NewRequest(url, tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true),
		tegenaria.RequestWithAllowedStatusCode(everyStatus()), tegenaria.RequestWithRequestMeta(map[string]any{visitNumber: v.number}))
	seeds := s.seeds
	for {
		select {
		case seeds <- tegenaria.NewContext(request, tegenaria.WithContext(ctx)):
			seeds = nil
		case err := <-v.end:
			return v.page, err
		case <-s.over.Done():
			return nil, s.err
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			s.now = nil
			return nil, &tegenaria.StoppedError{Reason: "interrupted"}
		}
	}
}

// Close ends the crawl, and waits for that.
func (s *session) Close() {
	if !s.begun {
		return
	}
	s.cancel()
	<-s.over.Done()
}

// GetName is the name of the spider.
func (s *session) GetName() string { return "shell" }

// Start sends the requests of the session.
func (s *session) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	for {
		select {
		case seed := <-s.seeds:
			req <- seed
		case <-ctx.Done():
			return nil
		}
	}
}

// StartRequest is not called: there is Start.
func (s *session) StartRequest(chan<- *tegenaria.Context) {}

// Parser keeps the page.
func (s *session) Parser(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	s.visit(resp.Request, func(v *visited) {
		s.got(resp.Response())
		v.page = shell.Keep(resp.Response())
		delete(v.page.Request().Meta, visitNumber)
	})
	return nil
}

// ErrorHandler does nothing: the event has reported the error.
func (s *session) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

// visit calls a func with the visit that a request is of, unless that was given up.
func (s *session) visit(r *tegenaria.Request, do func(v *visited)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil && r != nil && r.Meta[visitNumber] == s.now.number {
		do(s.now)
	}
}

func (s *session) failed(err *tegenaria.HandleError) {
	s.visit(err.Request, func(v *visited) { v.failed = err.Err })
}

// settled ends the visit, unless it goes on elsewhere.
func (s *session) settled(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
	if outcome == tegenaria.Redirected {
		return
	}
	s.visit(r, func(v *visited) {
		var err error
		if v.page == nil {
			end := &tegenaria.SeedError{URL: r.Url, Outcome: outcome, Reason: reason, Err: v.failed, Remedy: report.Remedy(outcome.String(), reason)}
			if v.failed != nil && end.Remedy == "" {
				end.Remedy = report.Advice(report.Failure{Cause: fetch.Cause(v.failed)}, report.Wired{Retry: true, Cookies: true})
			}
			err = end
		}
		s.now = nil
		v.end <- err
	})
}

var _ tegenaria.Starter = (*session)(nil)
