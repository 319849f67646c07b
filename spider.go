package tegenaria

import (
	"context"
	"errors"
	"fmt"
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
	// failed request itself again is a retry, of which Limits.Attempts bounds the number. Other requests
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

// Parsers combines parsers over one response: each sees the whole body, in this order; what they send
// is merged and their errors are joined. One that fails does not keep the next from running.
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
