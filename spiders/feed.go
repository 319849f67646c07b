package spiders

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/records"
)

// Feed is a spider that reads feeds (RSS, Atom, JSON Feed), once or again and again, and hands over their new entries: each entry once.
//
//	spider := spiders.NewFeed("news", func(ctx context.Context, entry *records.Entry, out *tegenaria.Output[Article]) error {
//		return out.Item(Article{entry.Title, entry.URL})
//	}, "https://news.example/feed.xml")
//	spider.Every = time.Hour
//
// A feed that is asked for again is asked with the ETag and the Last-Modified of its last answer, so that the server
// need not send what has not changed. These, and which entries were handed over, are kept with the job: a durable job
// that was stopped, or whose process died, goes on as if nothing had happened. Entries are known by
// [records.Entry.Key], so that one whose text is corrected does not come again; entries of one answer that have the
// same key and differ otherwise are different entries, which are known by all that they say. Of each feed the newest
// 20,000 are remembered, and no more are read of one answer.
//
// Make one by [NewFeed]. Nothing of a Feed may be changed while a crawl runs, and it runs one crawl at a time.
type Feed struct {
	Name string   // what GetName returns
	URLs []string // of the feeds

	// Every is how long after an answer a feed is asked for again. The crawl goes on until it is stopped then. 0: each
	// feed is asked for once, and the crawl ends. A feed that answers with an error is asked for again, too; one that
	// cannot be reached only as often in a row as Limits.Attempts allows.
	Every time.Duration

	// State is the path of a file in which a new job finds what earlier jobs have handed over, for programs that begin a
	// new job each time: it is read when a job begins, and written when a run ends. When the process dies before, the
	// entries of that run are handed over again by the next job. "": a new job knows nothing.
	State string

	// Options are for the requests of feeds.
	Options []tegenaria.RequestOption

	// Reading are the limits of the feeds.
	Reading []records.Option

	parser  tegenaria.Parser
	parsers map[string]tegenaria.Parser
	memory  feedMemory
}

var (
	_ tegenaria.SpiderInterface = (*Feed)(nil)
	_ tegenaria.ParserSet       = (*Feed)(nil)
	_ tegenaria.Committer       = (*Feed)(nil)
	_ tegenaria.Closer          = (*Feed)(nil)
)

// NewFeed makes a spider of a name, a func and the URLs of feeds. The func gets each new entry, and sends items and
// requests; requests for pages of entries name a parser of [Feed.On]. ctx is the request's *tegenaria.Context. An entry
// for which it returns an error is a failure of the feed's request: the other entries are read, and this one counts as
// new the next time. An entry with a date that cannot be read is handed over like the others, and is a failure too, a
// [*DateError]. It is called concurrently for several feeds.
func NewFeed[T any](name string, each func(ctx context.Context, entry *records.Entry, out *tegenaria.Output[T]) error, urls ...string) *Feed {
	s := &Feed{Name: name, URLs: urls}
	if each == nil {
		return s
	}
	s.parser = tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[T]) error {
		return s.read(page, func(entry *records.Entry) error { return each(ctx, entry, out) }, out.Request)
	})
	return s
}

// On names a parser, for requests with RequestWithParserName, and returns the spider.
func (s *Feed) On(name string, parser tegenaria.Parser) *Feed {
	if s.parsers == nil {
		s.parsers = make(map[string]tegenaria.Parser)
	}
	s.parsers[name] = parser
	return s
}

// GetName returns Name.
func (s *Feed) GetName() string { return s.Name }

// feedParser is the name of the parser of feeds. A durable job stores it.
const feedParser = "feed"

// The keys in Request.Meta of a request for a feed: which one of URLs it is, and the how-manieth request for it.
const (
	metaFeed  = "feed: url"
	metaRound = "feed: round"
)

// Parsers returns the parser of feeds and those of On.
func (s *Feed) Parsers() map[string]tegenaria.Parser {
	parsers := maps.Clone(s.parsers)
	if parsers == nil {
		parsers = make(map[string]tegenaria.Parser)
	}
	if s.parser != nil {
		parsers[feedParser] = s.parser
	}
	return parsers
}

// Parser is for requests that name no parser: there is none for them.
func (s *Feed) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return fmt.Errorf("spiders: a request of the spider %q names no parser: name one by On, and send the request with "+
		"RequestWithParserName", s.Name)
}

// StartRequest sends a request for each of URLs.
func (s *Feed) StartRequest(req chan<- *tegenaria.Context) {
	sent := make(map[string]bool)
	for _, url := range s.URLs {
		if !sent[url] {
			sent[url] = true
			req <- tegenaria.NewContext(s.ask(url, 1, s.memory.known(url), time.Time{}))
		}
	}
}

// ask makes a request for a feed.
func (s *Feed) ask(url string, round int, known answer, at time.Time) *tegenaria.Request {
	header := make(map[string]string)
	if known.ETag != "" {
		header["If-None-Match"] = known.ETag
	}
	if known.Modified != "" {
		header["If-Modified-Since"] = known.Modified
	}
	r := tegenaria.NewRequest(url, tegenaria.GET, nil, s.Options...)
	for _, option := range []tegenaria.RequestOption{
		tegenaria.RequestWithParserName(feedParser), tegenaria.RequestWithSpool(), tegenaria.RequestWithSameDepth(), tegenaria.RequestWithDoNotFilter(true),
		tegenaria.RequestWithAllowedStatusCode(noFeed()), tegenaria.RequestWithRequestHeader(header), tegenaria.RequestWithNotBefore(at), ignoreTags,
		tegenaria.RequestWithRequestMeta(map[string]any{metaFeed: url, metaRound: round}),
	} {
		option(r)
	}
	return r
}

// noFeed are the status codes that come without a feed. The parser gets them: so the feed is asked for again.
func noFeed() (codes []uint64) {
	codes = append(codes, http.StatusNotModified)
	for code := uint64(400); code < 600; code++ {
		codes = append(codes, code)
	}
	return codes
}

// ErrorHandler asks for a feed again that could not be reached. The engine has logged and counted the error already.
func (s *Feed) ErrorHandler(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
	if s.Every <= 0 || err.Item != nil || err.Stage == tegenaria.StageParse || err.Request == nil {
		return
	}
	if url, ok := err.Request.Meta[metaFeed].(string); ok {
		round, _ := err.Request.Meta[metaRound].(int)
		req <- tegenaria.NewContext(s.ask(url, round, s.memory.known(url), time.Now().Add(s.Every)))
	}
}

// settling is how long a request waits for the one before it to settle; it grows fourfold with each attempt.
const settling = 25 * time.Millisecond

var errUnsettled = errors.New("the request for this feed before it has not settled")

// read reads an answer.
func (s *Feed) read(page *tegenaria.Response, each func(*records.Entry) error, send func(*tegenaria.Request) error) (err error) {
	request, id := page.Request(), page.Context().CtxId
	url, _ := request.Meta[metaFeed].(string)
	round, _ := request.Meta[metaRound].(int)
	known, state := s.memory.claim(url, round, id)
	switch state {
	case isRead:
		return nil
	case isBusy:
		return tegenaria.Retry(settling<<(2*min(max(request.Attempt, 1), 10)), errUnsettled)
	}
	now := known // what is known of the feed behind this answer
	now.Round = round
	again := time.Now().Add(s.Every)
	defer func() { // also if the func panics
		s.memory.stage(id, url, now)
		if s.Every > 0 {
			if failed := send(s.ask(url, round+1, now, again)); err == nil {
				err = failed
			}
		}
	}()
	switch {
	case page.Status == http.StatusNotModified:
		if request.Header["If-None-Match"] != known.ETag || request.Header["If-Modified-Since"] != known.Modified {
			now.ETag, now.Modified, again = "", "", time.Now() // the answer that it was asked by was not read to its end
		}
		return nil
	case page.Status >= 400:
		return &tegenaria.StatusError{Status: page.Status, URL: page.URL}
	}
	now.ETag, now.Modified = "", ""
	failed := s.entries(page, known, &now, each)
	if failed.Total == failed.dates { // all entries were handed over
		header := http.Header(page.Header)
		now.ETag, now.Modified = header.Get("ETag"), header.Get("Last-Modified")
	}
	if failed.Total > 0 {
		return failed
	}
	return nil
}

// entries hands the new entries over, and notes those that need not be handed over again: also if the func panics.
//
// An entry is known by its key, so that one whose text was corrected does not come again. A key that entries with different contents
// share in one answer tells nothing: from then on the entries of this key are known by their contents.
func (s *Feed) entries(page *tegenaria.Response, known answer, now *answer, each func(*records.Entry) error) *RecordsError {
	failed := &RecordsError{URL: page.URL}
	shared := s.shared(page, known)
	before, here := newEntrySet(known.Entries), newEntrySet(nil)
	var read []entryID
	defer func() {
		slices.Reverse(read) // feeds begin with their newest entry
		for _, id := range known.Entries {
			if !here.has(id, shared[id.Key]) {
				now.Entries = append(now.Entries, id)
			}
		}
		now.Entries = append(now.Entries, read...)
		now.Entries = now.Entries[max(len(now.Entries)-maxKnown, 0):]
		now.Shared = nil
		for _, id := range now.Entries {
			if shared[id.Key] {
				delete(shared, id.Key) // it is noted once
				now.Shared = append(now.Shared, id.Key)
			}
		}
	}()
	now.Entries = nil
	body := page.Reader()
	defer body.Close()
	_, entries := records.ReadFeed(body, sourceOf(page), s.Reading...)
	for entry, err := range entries {
		if err != nil {
			failed.add(err)
			continue
		}
		failed.Read++
		id := idOf(entry)
		if here.has(id, shared[id.Key]) {
			continue
		}
		if len(read) == maxKnown {
			failed.add(fmt.Errorf("the feed has more than %d entries; the rest of it is not read", maxKnown))
			break
		}
		if !before.has(id, shared[id.Key]) {
			if err := each(entry); err != nil {
				if failed.add(fmt.Errorf("entry %.100q: %w", entry.Key(), err)); failed.isOver() {
					break
				}
				continue
			}
			if entry.UnreadDate != "" {
				failed.dates++
				failed.add(&DateError{Entry: entry.Key(), Date: entry.UnreadDate})
			}
		}
		here.add(id)
		read = append(read, id)
	}
	return failed
}

// shared returns the keys that entries with different contents share, in this answer or in an earlier one.
func (s *Feed) shared(page *tegenaria.Response, known answer) map[uint64]bool {
	shared, first := make(map[uint64]bool), make(map[uint64]uint64)
	for _, key := range known.Shared {
		shared[key] = true
	}
	body := page.Reader()
	defer body.Close()
	_, entries := records.ReadFeed(body, sourceOf(page), s.Reading...)
	for entry, err := range entries {
		if err != nil {
			continue
		}
		id := idOf(entry)
		if contents, isThere := first[id.Key]; isThere && contents != id.Contents {
			shared[id.Key] = true
		} else if first[id.Key] = id.Contents; len(first) == maxKnown {
			break
		}
	}
	return shared
}

// sourceOf says where a body comes from.
func sourceOf(page *tegenaria.Response) records.Source {
	return records.Source{URL: page.URL, ContentType: http.Header(page.Header).Get("Content-Type")}
}
