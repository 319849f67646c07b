package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/typecheck"
)

// SpiderInterface says where a crawl starts and how its pages are read. The engine recovers panics
// of all four methods and receives from the channels until a method returns; it never closes them.
type SpiderInterface interface {
	// StartRequest sends the seeds and returns. It runs once per crawl, in a goroutine of its own, and
	// is held back while Limits.Pending requests wait.
	StartRequest(req chan<- *Context)

	// Parser reads the responses of requests that name no parser of their own. It may be called
	// concurrently, from EngineWithSchedulerNum workers.
	Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error

	// ErrorHandler sees each failed request and item once, and may send new requests. Sending the
	// failed request itself again is a retry; Limits.Attempts bounds their number. Other requests
	// are one level deeper than the failed one. It may be called concurrently.
	ErrorHandler(err *HandleError, req chan<- *Context)

	// GetName returns the name by which Execute starts the spider: unique within an engine and
	// not empty.
	GetName() string
}

// Starter is an optional ability of spiders, used instead of StartRequest: it is told when the crawl
// stops, and its error ends the run as failed.
type Starter interface {
	Start(ctx context.Context, req chan<- *Context) error
}

// ParserSet is an optional ability of spiders: parsers by name, as if each had been given to
// [SpiderEngine.RegisterParser], for this spider's runs alone.
type ParserSet interface {
	Parsers() map[string]Parser
}

// BaseSpider is a spider without a Parser: embed *BaseSpider, set, and write Parser alone. A nil one is a
// mistake that Run reports.
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

type funcSpider struct {
	*BaseSpider
	parser Parser
}

func (s *funcSpider) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return s.parser(resp, item, req)
}

func (s *funcSpider) mistake() error {
	if s.parser == nil {
		return fmt.Errorf("NewSpider(%q): the parser is nil", s.Name)
	}
	return nil
}

// NewSpider makes a spider of a name, a parser and seeds. A nil parser is a mistake that Run reports.
func NewSpider(name string, parser Parser, urls ...string) SpiderInterface {
	return &funcSpider{&BaseSpider{Name: name, FeedUrls: urls}, parser}
}

// Parsers combines parsers over one response: each sees the whole body, in this order; their items
// and requests are merged and their errors joined. One that fails does not keep the next from running.
func Parsers(ps ...Parser) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		var errs []error
		for _, p := range ps {
			if p == nil {
				errs = append(errs, errors.New("tegenaria: Parsers: nil parser"))
				continue
			}
			if err := p(resp, item, req); err != nil {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
}

// errLeft keeps an item that the loop of Crawl did not take from being counted.
var errLeft = errors.New("the loop was left")

// Crawl runs a spider and yields its items of type T after they have passed the pipelines; other items
// are not yielded. The error of Run, if there is one, comes last, with a zero T. Leaving the loop stops
// the crawl and waits until it is over.
//
//	for quote, err := range tegenaria.Crawl[Quote](ctx, spider) {
func Crawl[T any](ctx context.Context, spider SpiderInterface, opts ...EngineOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		items, result := make(chan T), make(chan error, 1)
		left := make(chan struct{}) // closed when the loop was left
		e := NewSpiderEngine(opts...)
		name := ""
		if spider != nil {
			e.RegisterSpiders(spider)
			guard.Protect(func() error { name = spider.GetName(); return nil })
		}
		check := typecheck.New[T]("Crawl")
		e.config.collected = check
		e.config.collect = func(ctx context.Context, item *ItemMeta) error {
			v, ok := item.Item.(T)
			check.Saw(item.Item, ok)
			if !ok {
				return nil
			}
			select {
			case items <- v:
				return nil
			case <-left:
				return errLeft
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		go func() { // ends with the crawl; waited for below
			result <- e.Run(ctx, name)
		}()
		for {
			select {
			case v := <-items:
				if yield(v, nil) {
					continue
				}
				close(left)
				cancel()
				<-result
				return
			case err := <-result:
				if err != nil {
					var none T
					yield(none, err)
				}
				return
			}
		}
	}
}

// parserTable knows the parsers of a run by name, and finds the name of a func value. "" is the spider's own Parser. It is
// safe for concurrent use once it is made.
type parserTable = funcname.Parsers[Parser, SpiderInterface]

// newParserTable collects the parsers of a run: those registered with the engine, then those of the
// spider. The error joins all mistakes.
func newParserTable(spider SpiderInterface, named []namedParser) (*parserTable, error) {
	t := &parserTable{}
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
	if spider != nil {
		own := spider.Parser
		if s, ok := spider.(*funcSpider); ok && s.parser != nil {
			own = s.parser // as it was given, so that a parser made by Handle is seen to be one
		}
		t.SetOwn(own, spider, "Parser")
	}
	return t, errors.Join(errs...)
}

// findSpider returns the spider of that name.
func findSpider(spiders []SpiderInterface, name string) (SpiderInterface, error) {
	var errs []error
	byName := make(map[string]SpiderInterface, len(spiders))
	for i, s := range spiders {
		if err := notNil(s, "RegisterSpiders", i); err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := nameOf(s)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: %w", err))
		case n == "":
			errs = append(errs, fmt.Errorf("RegisterSpiders: spider %d has no name; set BaseSpider.Name", i+1))
		case byName[n] != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: two spiders are called %q", n))
		default:
			byName[n] = s
		}
	}
	switch spider := byName[name]; {
	case spider == nil:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders", name))
	default:
		errs = append(errs, mistakeOf(spider))
	}
	return byName[name], errors.Join(errs...)
}

// nameOf asks a spider for its name, unless it lacks the BaseSpider that would answer.
func nameOf(s SpiderInterface) (name string, err error) {
	if typecheck.EmbedsNil[*BaseSpider](s) { // GetName would panic, and StartRequest too
		return "", fmt.Errorf("the *BaseSpider embedded in %T is nil; set it: &tegenaria.BaseSpider{Name: …}, or embed BaseSpider by value", s)
	}
	if _, err := guard.Protect(func() error { name = s.GetName(); return nil }); err != nil {
		return "", fmt.Errorf("GetName of %T: %w", s, err)
	}
	return name, nil
}
