package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/funcname"
)

// SpiderInterface defines the first requests of a crawl and the code that reads its pages. The engine recovers panics
// in all four methods. It receives from the channels until the method returns, and never closes them.
type SpiderInterface interface {
	// StartRequest sends the seeds and returns. It is called once per crawl, in its own goroutine. Sending
	// blocks while Limits.Pending requests are queued.
	StartRequest(req chan<- *Context)

	// Parser reads the responses to requests without a parser of their own. It is called
	// concurrently, by up to EngineWithSchedulerNum workers.
	Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error

	// ErrorHandler is called once for each failed request or item, and may send new requests. Sending the
	// failed request again is a retry; Limits.Attempts bounds the number of retries. Other requests
	// are one level deeper than the failed one. It may be called concurrently.
	ErrorHandler(err *HandleError, req chan<- *Context)

	// GetName returns the name by which Execute starts the spider: unique within an engine and
	// not empty.
	GetName() string
}

// Starter is an optional interface of spiders. Its Start is called instead of StartRequest: ctx is cancelled when the
// crawl stops, and an error ends the run as failed.
type Starter interface {
	Start(ctx context.Context, req chan<- *Context) error
}

// ParserSet is an optional interface of spiders: parsers by name, as if each had been registered with
// [SpiderEngine.RegisterParser], but only for the runs of this spider.
type ParserSet interface {
	Parsers() map[string]Parser
}

// BaseSpider has all methods of a spider except Parser: embed a *BaseSpider, set its fields, and write Parser. A nil
// *BaseSpider is a mistake that Run reports.
type BaseSpider struct {
	Name     string   // what GetName returns
	FeedUrls []string // the seeds
}

// StartRequest sends a GET request for each of FeedUrls.
func (s *BaseSpider) StartRequest(req chan<- *Context) {
	for _, url := range s.FeedUrls {
		req <- NewContext(NewRequest(url, GET, nil))
	}
}

// ErrorHandler does nothing: the engine has logged and counted the error already.
func (s *BaseSpider) ErrorHandler(err *HandleError, req chan<- *Context) {}

// GetName returns Name.
func (s *BaseSpider) GetName() string { return s.Name }

// seeder is a spider of this package, or one that embeds it: it knows the URLs of its first requests beforehand.
type seeder interface{ seeds() []string }

// requestSeeder is a seeder that knows the requests themselves.
type requestSeeder interface{ first() []*Request }

// seedsOf returns the URLs of the first requests that a spider says beforehand. Others are sent by its code.
func seedsOf(s SpiderInterface) []string {
	if named, ok := s.(seeder); ok {
		return named.seeds()
	}
	return nil
}

func (s *BaseSpider) seeds() []string { return s.FeedUrls }

// NewSpider makes a spider from a name, a parser, and the URLs of its first requests, which are sent with GET. The
// parser reads every page whose request has no parser of its own; [Spider.On] gives further ones names. A nil parser is a mistake that Run
// reports. See also [NewSpiderOf].
func NewSpider(name string, parser Parser, urls ...string) *Spider {
	s := &Spider{name: name, parser: parser, urls: urls, maker: "NewSpider"}
	s.needParser()
	return s
}

// Parsers combines several parsers into one, which calls them in this order for each response. Their items and requests
// are merged and their errors joined. If one fails, the next ones still run.
func Parsers(ps ...Parser) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		var errs []error
		for _, p := range ps {
			if p == nil {
				errs = append(errs, errtext.New("Parsers: nil parser"))
				continue
			}
			errs = append(errs, p(resp, item, req))
		}
		return errors.Join(errs...)
	}
}

// Spider is a spider made of funcs: first requests of any kind, named parsers, an error handler, and a func that sends
// first requests. Make one with [NewSpider], or with [NewSpiderOf]:
//
//	spider := tegenaria.NewSpiderOf("shop", tegenaria.Handle(list), tegenaria.NewRequest(url, "POST", nil, tegenaria.RequestWithForm(form))).
//		On("detail", tegenaria.Handle(detail)).
//		OnError(failed)
//
// On, OnError and OnStart return the spider itself; call them before it runs. The engine calls the other methods.
type Spider struct {
	name     string
	parser   Parser
	maker    string // the func that has made it
	urls     []string
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
	if len(s.requests) == 0 {
		return s.urls
	}
	for _, r := range s.requests {
		urls = append(urls, r.Url)
	}
	return urls
}

// NewSpiderOf makes a spider from a name, the parser of all requests without a parser of their own, and first requests.
// These are made by [NewRequest], with any method, headers, priority, Meta and so on. A nil parser, a nil request and a
// request with an option that failed are mistakes that Run reports.
//
// Each run sends copies of the requests, so the spider may run several times, in several engines, also concurrently. A
// BodyReader can be read only once, though; use [RequestWithBody] for a body that is sent more than once.
func NewSpiderOf(name string, parser Parser, requests ...*Request) *Spider {
	s := &Spider{name: name, parser: parser, requests: slices.Clone(requests), maker: "NewSpiderOf"}
	s.needParser()
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

// On gives a parser a name for this spider's runs, as [SpiderEngine.RegisterParser] does for all spiders of an engine.
// A durable cache stores this name with each request that uses the parser, so do not change it while the job exists.
//
// A parser made by [Handle] is identified by its func if that is a top-level func or a method:
// RequestWithParser(Handle(detail)) then finds the name wherever it is written. Receivers are not compared: a durable
// cache runs a method with the receiver that was given to On, and the same method with two names is a mistake that Run
// reports, like a nil parser, an empty name and a name that is given twice. If the func is a func literal, call Handle
// once, keep the parser in a variable and pass the variable.
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

// OnError sets the func that is called once for each failed request or item. It may send requests with emit until it
// returns: the failed request again, which is a retry, or others, which are one level deeper. If it returns
// [CloseSpider], the crawl stops; any other error is reported as a failure of the stage [StageError]. The func may be
// called concurrently. Run reports a nil func, and a second call of OnError, as mistakes.
func (s *Spider) OnError(failed func(err *HandleError, emit func(*Request) error) error) *Spider {
	if failed == nil || s.failed != nil {
		s.mistaken("OnError was called with nil, or twice")
	}
	s.failed = failed
	return s
}

// OnStart sets a func that sends first requests with emit, for example from a file or a database. It is called once per
// crawl, after the requests that the spider was made with were sent, and not again if an earlier run of a durable job has
// completed it. emit blocks while Limits.Pending requests are queued. When the crawl stops, ctx is cancelled and emit
// returns an error, which the func should return. If the func returns [CloseSpider], the crawl stops; any other error
// ends the run as failed. Run reports a nil func, and a second call of OnStart, as mistakes.
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

// Parser calls the parser that the spider was made with.
func (s *Spider) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return s.parser(resp, item, req)
}

// StartRequest does the same as [Spider.Start], with a context that is never cancelled.
func (s *Spider) StartRequest(req chan<- *Context) {
	_ = s.Start(context.Background(), req) // the engine calls Start
}

// Start sends the first requests, then calls the func of [Spider.OnStart].
func (s *Spider) Start(ctx context.Context, req chan<- *Context) error {
	emit, end := emitTo(ctx, req)
	defer end()
	for _, url := range s.urls {
		if err := emit(NewRequest(url, GET, nil)); err != nil {
			return err
		}
	}
	for _, r := range s.requests {
		if err := emit(r.clone()); err != nil {
			return err
		}
	}
	if s.start == nil {
		return nil
	}
	return s.start(ctx, emit)
}

// ErrorHandler calls the func of [Spider.OnError].
func (s *Spider) ErrorHandler(err *HandleError, req chan<- *Context) { _ = s.tell(err, req) }

// tell is ErrorHandler with an error.
func (s *Spider) tell(err *HandleError, req chan<- *Context) error {
	if s.failed == nil {
		return nil
	}
	emit, end := emitTo(context.Background(), req) // the engine receives until the func has returned
	defer end()
	return s.failed(err, emit)
}

func (s *Spider) first() []*Request { return s.requests }

func (s *Spider) mistake() error { return errors.Join(s.mistakes...) }

func (s *Spider) mistaken(format string, args ...any) {
	s.mistakes = append(s.mistakes, fmt.Errorf("%s(%q): "+format, slices.Concat([]any{s.maker, s.name}, args)...))
}

func (s *Spider) needParser() {
	if s.parser == nil {
		s.mistaken("the parser is nil")
	}
}

type namedParser struct {
	name   string
	parser Parser
}

// parserTable knows the parsers of a run by name, and finds the name of a func value. "" is the spider's own Parser. It
// is safe for concurrent use once it is made.
type parserTable = funcname.Parsers[Parser]

// newParserTable collects the parsers of a run: those registered with the engine, then those of the
// spider. The error joins all mistakes.
func newParserTable(spider SpiderInterface, named []namedParser) (*parserTable, error) {
	t := &parserTable{Inside: insideOf}
	var errs []error
	for _, p := range named {
		errs = append(errs, t.Add(p.name, p.parser))
	}
	if set, ok := spider.(ParserSet); ok {
		parsers := set.Parsers()
		for _, name := range slices.Sorted(maps.Keys(parsers)) {
			errs = append(errs, t.Add(name, parsers[name]))
		}
	}
	switch s := spider.(type) {
	case nil:
	case *Spider: // the parser as it was given, so that one made by Handle is seen to be one
		errs = append(errs, t.SetOwn(s.parser, nil))
	default:
		errs = append(errs, t.SetOwn(s.Parser, reflect.TypeOf(s)))
	}
	return t, errors.Join(errs...)
}

// checkFirst finds a mistake in the first requests of a spider, as far as they are known: a durable cache has to know
// their parsers.
func (c *codec) checkFirst(spider SpiderInterface) error {
	s, ok := spider.(requestSeeder)
	if !ok || !c.durable {
		return nil
	}
	var errs []error
	for _, r := range s.first() {
		_, err := (&encoder{codec: c, request: r}).parser()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
