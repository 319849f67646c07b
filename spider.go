package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/typecheck"
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

// seedsOf returns the URLs of the first requests that a spider says beforehand. Others are sent by its code.
func seedsOf(s SpiderInterface) []string {
	if named, ok := s.(interface{ seeds() []string }); ok {
		return named.seeds()
	}
	return nil
}

func (s *BaseSpider) seeds() []string { return s.FeedUrls }

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

// NewSpider makes a spider from a name, a parser, and the URLs of its first requests, which are sent with GET. The parser
// reads every page whose request has no parser of its own. A nil parser is a mistake that Run reports. See also [NewSpiderOf].
func NewSpider(name string, parser Parser, urls ...string) SpiderInterface {
	return &funcSpider{&BaseSpider{Name: name, FeedUrls: urls}, parser}
}

// Parsers combines several parsers into one, which calls them in this order for each response. Their items and requests
// are merged and their errors joined. If one fails, the next ones still run.
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

// Crawl runs a spider in a new engine with these options, and yields the items of type T that have passed the pipelines.
// Items of other types are not yielded. If [SpiderEngine.Run] returns an error, it is yielded last, with a zero T.
// Leaving the loop stops the crawl and waits until it has ended.
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
		e.RegisterSpiders(spider)
		guard.Protect(func() error { name = spider.GetName(); return nil }) // Run reports that it is nil
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
	case *funcSpider: // the parser as it was given, so that one made by Handle is seen to be one
		errs = append(errs, t.SetOwn(s.parser, nil))
	case *Spider:
		errs = append(errs, t.SetOwn(s.parser, nil))
	default:
		errs = append(errs, t.SetOwn(s.Parser, reflect.TypeOf(s)))
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
	case spider == nil && len(byName) > 0:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders, or run one of %q", name, slices.Sorted(maps.Keys(byName))))
	case spider == nil && len(errs) == 0:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders", name))
	case spider == nil: // none is any good, which was said
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
