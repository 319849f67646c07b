package spiders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/records"
)

// Records is a spider that reads files of records: XML, CSV, JSON arrays and JSON Lines, as package records does. The
// files are spooled to the disk and read as a stream, so that memory does not grow with them.
//
//	spider := spiders.NewRecords("prices", records.CSV(records.Dialect{Delimiter: ';'}),
//		func(ctx context.Context, row records.Row, out *tegenaria.Output[Price]) error {
//			return out.Item(Price{row.Get("name"), row.Get("price")})
//		}, "https://shop.example/prices.csv")
//
// A file is one request: its items are in the outputs when it was read to its end, and a job that was stopped in the
// middle of it reads it again from its beginning, without any item being there twice. Make one by [NewRecords]. Nothing
// of a Records may be changed while a crawl runs.
type Records struct {
	Name string   // what GetName returns
	URLs []string // of the files

	// Options are for the requests of the files. One that takes longer than a minute needs RequestWithTimeout.
	Options []tegenaria.RequestOption

	// Adapt, unless nil, returns what is read in the place of a body: without a preamble, unpacked, repaired. It is called
	// concurrently for several files.
	Adapt func(page *tegenaria.Response, body io.Reader) (io.Reader, error)

	parser  tegenaria.Parser
	parsers map[string]tegenaria.Parser
}

var (
	_ tegenaria.SpiderInterface = (*Records)(nil)
	_ tegenaria.ParserSet       = (*Records)(nil)
)

// NewRecords makes a spider of a name, the format of the files, a func, and the URLs of the files. The func gets each
// record, and sends items and requests; requests for pages name a parser of [Records.On]. ctx is the request's
// *tegenaria.Context. A record that cannot be read, or for which the func returns an error, does not end the others:
// the request fails at its end, with a [*RecordsError], and its items are kept. The func is called concurrently for
// several files.
func NewRecords[R, T any](name string, format records.Format[R], each func(ctx context.Context, record R, out *tegenaria.Output[T]) error, urls ...string) *Records {
	s := &Records{Name: name, URLs: urls}
	s.parser = tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[T]) error {
		if each == nil {
			return fmt.Errorf("spiders: NewRecords(%q): the func is nil", name)
		}
		return readRecords(s, page, format, func(record R) error { return each(ctx, record, out) })
	})
	return s
}

// On names a parser, for requests with RequestWithParserName, and returns the spider.
func (s *Records) On(name string, parser tegenaria.Parser) *Records {
	if s.parsers == nil {
		s.parsers = make(map[string]tegenaria.Parser)
	}
	s.parsers[name] = parser
	return s
}

// GetName returns Name.
func (s *Records) GetName() string { return s.Name }

// ErrorHandler does nothing: the engine has logged and counted the error already.
func (s *Records) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

// recordsParser is the name of the parser of files. A durable job stores it.
const recordsParser = "records"

// Parsers returns the parser of files and those of On.
func (s *Records) Parsers() map[string]tegenaria.Parser {
	parsers := map[string]tegenaria.Parser{recordsParser: s.parser}
	maps.Copy(parsers, s.parsers)
	return parsers
}

// Parser is for requests that name no parser: there is none for them.
func (s *Records) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return fmt.Errorf("spiders: a request of the spider %q names no parser: name one by On, and send the request with "+
		"RequestWithParserName", s.Name)
}

// StartRequest sends a request for each of URLs.
func (s *Records) StartRequest(req chan<- *tegenaria.Context) {
	for _, url := range s.URLs {
		req <- tegenaria.NewContext(s.Ask(url))
	}
}

// Ask makes a request for a file, for the func that finds further ones: out.Request(spider.Ask(url)).
func (s *Records) Ask(url string) *tegenaria.Request {
	r := tegenaria.NewRequest(url, tegenaria.GET, nil, s.Options...)
	tegenaria.RequestWithParserName(recordsParser)(r)
	tegenaria.RequestWithSpool()(r)
	ignoreTags(r)
	return r
}

// readRecords reads a file.
func readRecords[R any](s *Records, page *tegenaria.Response, format records.Format[R], each func(R) error) error {
	spooled := page.Reader()
	defer spooled.Close()
	body := io.Reader(spooled)
	if s.Adapt != nil {
		var err error
		if body, err = s.Adapt(page, body); err != nil {
			return fmt.Errorf("spiders: adapting %s: %w", urlx.Redact(page.URL), err)
		}
	}
	failed := &RecordsError{URL: page.URL}
	for record, err := range format.Read(body, sourceOf(page)) {
		if err == nil {
			failed.Read++
			err = each(record)
		}
		if err == nil {
			continue
		}
		if failed.add(err); failed.isOver() {
			break
		}
	}
	if failed.Total > 0 {
		return failed
	}
	return nil
}

// maxErrors bounds how many errors a RecordsError has.
const maxErrors = 20

// RecordsError is the failure of a file, or a feed, some records of which have failed.
type RecordsError struct {
	URL   string
	Read  int     // records that could be read
	Total int     // errors, of records that could not be read and of the func that gets them
	Errs  []error // the first 20 of them

	dates int // errors that are a *DateError
}

// DateError says that a date is in no form that is known. The entry was handed over without it.
type DateError struct {
	Entry string // the key of the entry of a feed, or the URL of that of a sitemap
	Date  string // as it is written
}

// Error names the entry and the date.
func (e *DateError) Error() string {
	return fmt.Sprintf("entry %.100q: %.60q is no date that can be read; read it from the entry itself if it is needed", e.Entry, e.Date)
}

func (e *RecordsError) add(err error) {
	if e.Total++; e.Total <= maxErrors {
		e.Errs = append(e.Errs, err)
	}
}

// isOver reports whether the crawl takes no more.
func (e *RecordsError) isOver() bool {
	return len(e.Errs) > 0 && errors.Is(e.Errs[len(e.Errs)-1], tegenaria.ErrOutputClosed)
}

// Error has the number of errors and the first of them.
func (e *RecordsError) Error() string {
	if e.Total == 1 {
		return fmt.Sprintf("spiders: reading %s: %v", urlx.Redact(e.URL), e.Errs[0])
	}
	return fmt.Sprintf("spiders: reading %s: %d errors, the first: %v", urlx.Redact(e.URL), e.Total, e.Errs[0])
}

// Unwrap returns Errs.
func (e *RecordsError) Unwrap() []error { return e.Errs }
