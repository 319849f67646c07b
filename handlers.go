package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Spider is a spider made of funcs: first requests of any kind, named parsers, an error handler, and a func that sends
// first requests. Make one with [NewSpiderOf]:
//
//	spider := tegenaria.NewSpiderOf("shop", tegenaria.Handle(list), tegenaria.NewRequest(url, "POST", nil, tegenaria.RequestWithForm(form))).
//		On("detail", tegenaria.Handle(detail)).
//		OnError(failed)
//
// On, OnError and OnStart return the spider itself; call them before it runs. The engine calls the other methods.
type Spider struct {
	name     string
	parser   Parser
	requests []*Request
	named    map[string]Parser
	start    func(ctx context.Context, emit func(*Request) error) error
	failed   func(err *HandleError, emit func(*Request) error) error
	mistakes []error
}

var (
	_ SpiderInterface = (*Spider)(nil)
	_ Starter         = (*Spider)(nil)
	_ ParserSet       = (*Spider)(nil)
)

func (s *Spider) seeds() (urls []string) {
	for _, r := range s.requests {
		urls = append(urls, r.Url)
	}
	return urls
}

// NewSpiderOf makes a spider from a name, the parser of all requests without a parser of their own, and first requests. These
// are made by [NewRequest], with any method, headers, priority, Meta and so on. A nil parser, a nil request and a request
// with an option that failed are mistakes that Run reports.
//
// Each run sends copies of the requests, so the spider may run several times, in several engines, also concurrently. A
// BodyReader can be read only once, though; use [RequestWithBody] for a body that is sent more than once.
func NewSpiderOf(name string, parser Parser, requests ...*Request) *Spider {
	s := &Spider{name: name, parser: parser, requests: slices.Clone(requests), named: make(map[string]Parser)}
	if parser == nil {
		s.mistaken("the parser is nil")
	}
	for i, r := range requests {
		switch {
		case r == nil:
			s.mistaken("request %d is nil", i+1)
		case r.extras().err != nil:
			s.mistaken("request %d: %w", i+1, r.extras().err)
		}
	}
	return s
}

// On gives a parser a name for this spider's runs, as [SpiderEngine.RegisterParser] does for all spiders of an engine. A
// durable cache stores this name with each request that uses the parser, so do not change it while the job exists.
//
// A parser made by [Handle] is identified by its func if that is a top-level func or a method: RequestWithParser(Handle(detail))
// then finds the name wherever it is written. Receivers are not compared: a durable cache runs a method with the receiver that
// was given to On, and the same method with two names is a mistake that Run reports, like a nil parser, an empty name and a
// name that is given twice. If the func is a func literal, call Handle once, keep the parser in a variable and pass the variable.
func (s *Spider) On(name string, parser Parser) *Spider {
	if _, ok := s.named[name]; ok {
		s.mistaken("On(%q) was called twice", name)
		return s
	}
	if s.named == nil {
		s.named = make(map[string]Parser)
	}
	s.named[name] = parser
	return s
}

// OnError sets the func that is called once for each failed request or item. It may send requests with emit until it returns:
// the failed request again, which is a retry, or others, which are one level deeper. If it returns [CloseSpider], the crawl
// stops; any other error is reported as a failure of the stage [StageError]. The func may be called concurrently. Run reports
// a nil func, and a second call of OnError, as mistakes.
func (s *Spider) OnError(failed func(err *HandleError, emit func(*Request) error) error) *Spider {
	if failed == nil || s.failed != nil {
		s.mistaken("OnError was called with nil, or twice")
	}
	s.failed = failed
	return s
}

// OnStart sets a func that sends first requests with emit, for example from a file or a database. It is called once per crawl,
// after the requests given to NewSpiderOf were sent, and not again if an earlier run of a durable job has completed it. emit
// blocks while Limits.Pending requests are queued. When the crawl stops, ctx is cancelled and emit returns an error, which the
// func should return. If the func returns [CloseSpider], the crawl stops; any other error ends the run as failed. Run reports
// a nil func, and a second call of OnStart, as mistakes.
func (s *Spider) OnStart(start func(ctx context.Context, emit func(*Request) error) error) *Spider {
	if start == nil || s.start != nil {
		s.mistaken("OnStart was called with nil, or twice")
	}
	s.start = start
	return s
}

// GetName returns the name.
func (s *Spider) GetName() string { return s.name }

// Parsers returns the parsers that [Spider.On] named.
func (s *Spider) Parsers() map[string]Parser { return s.named }

// Parser calls the parser that NewSpiderOf was given.
func (s *Spider) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return s.parser(resp, item, req)
}

// StartRequest does the same as [Spider.Start], with a context that is never cancelled.
func (s *Spider) StartRequest(req chan<- *Context) {
	_ = s.Start(context.Background(), req) // the engine calls Start
}

// Start sends the first requests, then calls the func of [Spider.OnStart].
func (s *Spider) Start(ctx context.Context, req chan<- *Context) error {
	e := emitter{ctx: ctx, req: req}
	defer e.close()
	for _, r := range s.requests {
		if err := e.emit(r.clone()); err != nil {
			return err
		}
	}
	if s.start == nil {
		return nil
	}
	return s.start(ctx, e.emit)
}

// ErrorHandler calls the func of [Spider.OnError].
func (s *Spider) ErrorHandler(err *HandleError, req chan<- *Context) { _ = s.tell(err, req) }

// tell is ErrorHandler with an error.
func (s *Spider) tell(err *HandleError, req chan<- *Context) error {
	if s.failed == nil {
		return nil
	}
	e := emitter{ctx: context.Background(), req: req} // the engine receives until the func has returned
	defer e.close()
	return s.failed(err, e.emit)
}

func (s *Spider) first() []*Request { return s.requests }

func (s *Spider) mistake() error { return errors.Join(s.mistakes...) }

func (s *Spider) mistaken(format string, args ...any) {
	s.mistakes = append(s.mistakes, fmt.Errorf("NewSpiderOf(%q): "+format, slices.Concat([]any{s.name}, args)...))
}

// askErrorHandler calls the ErrorHandler of the spider whose request has failed. The error is that of a func of OnError, which may close
// the spider.
func askErrorHandler(c *crawl, by *guard.Call, herr *HandleError, req chan<- *Context) error {
	s, ok := c.spider.(*Spider)
	if !ok {
		c.spider.ErrorHandler(herr, req)
		return nil
	}
	err := s.tell(herr, req)
	reason, closing := asCloseSpider(err)
	if closing && !by.GivenUp() {
		c.closeSpider(reason)
	}
	if closing {
		return nil
	}
	return err
}

// emitter sends requests to a channel while the func that it was given to runs.
type emitter struct {
	ctx context.Context
	req chan<- *Context

	mu     sync.RWMutex // held for reading while a request is sent
	closed bool
}

func (e *emitter) emit(r *Request) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return ErrOutputClosed
	}
	select {
	case e.req <- NewContext(r):
		return nil
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	}
}

func (e *emitter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// UnnamedParserError ends a run with a durable cache, in a [*RunError], when a request has a parser that has no name: the cache
// stores parsers by their names. The page that sent the request is not settled: after the missing line was added, the job
// continues with that page.
type UnnamedParserError struct {
	URL  string // of the request
	Func string // the parser, or what [Handle] made it of: "main.detail", "main.(*shop).detail", "main.main.func1"
	Line string // what to write, with a name that can be replaced by any other

	made string // "made by Handle of ", if it was
}

// Error contains the line to add.
func (e *UnnamedParserError) Error() string {
	return fmt.Sprintf("the parser of %s, %s%s, has no name under which a durable cache can store it; write %s", urlx.Redact(e.URL), e.made, e.Func, e.Line)
}

// unnamedParser makes the error of a request whose parser has no name. namer is how users call the method that names parsers.
func unnamedParser(r *Request, namer string) error {
	h, handled := insideOf(r.parser)
	made, call, literal := "made by Handle of ", "tegenaria.Handle(%s)", "tegenaria.Handle(…)"
	if !handled {
		h, made, call, literal = funcname.Of(r.parser), "", "%s", "…"
	}
	d := funcname.Describe(h)
	e := &UnnamedParserError{URL: r.Url, Func: d.Symbol, made: made}
	switch {
	case d.Literal:
		e.Line = fmt.Sprintf(`detail := %s once, before the crawl, then %s("detail", detail), and pass that variable; or make the func literal a top-level func or a method`, literal, namer)
	case d.Method:
		e.Line = fmt.Sprintf("%s(%q, %s), where s is the value whose method was passed", namer, d.Last, fmt.Sprintf(call, "s."+d.Last))
	default:
		e.Line = fmt.Sprintf("%s(%q, %s)", namer, d.Last, fmt.Sprintf(call, d.Last))
	}
	if namer != namerOn {
		e.Line += "; or make the spider by NewSpiderOf, and call spider.On in the same way"
	}
	return e
}

const namerOn = "spider.On"

// namerOf returns how users call the method that names parsers of this spider.
func namerOf(spider SpiderInterface) string {
	if _, ok := spider.(interface {
		On(name string, parser Parser) *Spider
	}); ok {
		return namerOn
	}
	return "engine.RegisterParser"
}

// checkFirst finds a mistake in the first requests of a spider, as far as they are known: a durable cache has to know their parsers.
func (a *acceptor) checkFirst() error {
	s, ok := a.crawl.spider.(interface{ first() []*Request })
	if !ok || !a.codec.durable {
		return nil
	}
	var errs []error
	for _, r := range s.first() {
		switch _, ok := a.codec.nameOf(r); {
		case ok:
		case r.named:
			errs = append(errs, a.codec.unknownParser(r.Url, r.parserName))
		default:
			errs = append(errs, unnamedParser(r, a.codec.names))
		}
	}
	return errors.Join(errs...)
}

// unknownNameError is that of a request for a durable cache whose parser has a name that nothing was registered under.
type unknownNameError struct{ wrong *RequestError }

// Error is that of the request.
func (e *unknownNameError) Error() string { return e.wrong.Error() }

// Unwrap returns the error of the request.
func (e *unknownNameError) Unwrap() error { return e.wrong }

// endsRun ends the run if a request was refused because of a mistake that all requests of its parser have. Its sender runs again when
// the job is resumed.
func (a *acceptor) endsRun(from emission, no *refusal) bool {
	var unnamed *UnnamedParserError
	var unknown *unknownNameError
	var mistake error
	switch {
	case errors.As(no.err, &unnamed):
		mistake = unnamed
	case errors.As(no.err, &unknown):
		mistake = unknown.wrong
	default:
		return false
	}
	a.notTaken(from)
	a.crawl.ending.Break(&RunError{Op: "wiring", Err: mistake})
	return true
}

// notTaken keeps the sender of requests that could not be taken from being settled.
func (a *acceptor) notTaken(from emission) {
	if from.parent != nil {
		from.parent.root().leaveUndecided()
	} else {
		a.crawl.unsown.Store(true)
	}
}
