package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// Feed is what a feed says about itself. URLs are absolute, and what the document does not say is empty.
type Feed struct {
	Kind        string    `json:"kind"`    // "rss", "atom" or "json"
	Version     string    `json:"version"` // of the format: "0.91" to "2.0", "0.3" or "1.0", "1" or "1.1"; "": not given
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	URL         string    `json:"url,omitempty"`      // of the site that the feed is about
	FeedURL     string    `json:"feed_url,omitempty"` // that the feed calls its own
	Language    string    `json:"language,omitempty"`
	Copyright   string    `json:"copyright,omitempty"`
	Generator   string    `json:"generator,omitempty"`
	Image       string    `json:"image,omitempty"` // a URL
	Published   time.Time `json:"published,omitzero"`
	Updated     time.Time `json:"updated,omitzero"`
	UnreadDate  string    `json:"unread_date,omitempty"` // as it is written: the first date of the feed that could not be read
	Authors     []Person  `json:"authors,omitempty"`
	Categories  []string  `json:"categories,omitempty"`

	// TTL is how long the feed may be kept before it is asked for again (RSS: ttl); 0: not given.
	TTL time.Duration `json:"ttl,omitempty"`

	raw raw
}

// Entry is one entry of a feed: an item of RSS and of JSON Feed, an entry of Atom. URLs are absolute, and what the
// document does not say is empty. It does not change.
type Entry struct {
	Feed *Feed `json:"-"` // the feed, as far as it was read when the entry was

	ID         string      `json:"id,omitempty"`  // guid of RSS, id of the others, as it is written
	URL        string      `json:"url,omitempty"` // of the page
	Title      string      `json:"title,omitempty"`
	Summary    string      `json:"summary,omitempty"`  // HTML or text, as the feed has it
	Content    string      `json:"content,omitempty"`  // HTML or text, as the feed has it
	Base       string      `json:"base,omitempty"`     // what relative references in Summary and Content are resolved against
	Comments   string      `json:"comments,omitempty"` // a URL
	Image      string      `json:"image,omitempty"`    // a URL
	Published  time.Time   `json:"published,omitzero"`
	Updated    time.Time   `json:"updated,omitzero"`
	UnreadDate string      `json:"unread_date,omitempty"` // as it is written: the first date of the entry that could not be read
	Authors    []Person    `json:"authors,omitempty"`
	Categories []string    `json:"categories,omitempty"`
	Enclosures []Enclosure `json:"enclosures,omitempty"`

	raw raw
}

// Person is an author.
type Person struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Enclosure is a file that belongs to an entry, such as the sound of a podcast.
type Enclosure struct {
	URL    string `json:"url"`
	Type   string `json:"type,omitempty"`   // of its content: "audio/mpeg"
	Length int64  `json:"length,omitempty"` // in bytes; 0: not given
}

// raw is what a feed or an entry was read from.
type raw struct {
	element *selector.Selection
	json    json.RawMessage
}

// XML returns the element of the entry, for what Entry has no field for: entry.XML().XPath("podcast:transcript/@url").
// It is empty for an entry of a JSON Feed.
func (e *Entry) XML() *selector.Selection { return e.raw.element }

// JSON returns the object of the entry of a JSON Feed, nil for one of XML. It must not be changed.
func (e *Entry) JSON() json.RawMessage { return e.raw.json }

// XML returns the element that the feed is about itself, as it was read last: that of RSS has channel in it. It is empty for a JSON Feed.
func (f *Feed) XML() *selector.Selection { return f.raw.element }

// Key identifies the entry among those of its feed: by its ID, or else its URL, or else by all that it says. Some feeds
// give several entries one ID, or none and one URL: these have one key. spiders.Feed tells them apart.
func (e *Entry) Key() string {
	switch {
	case e.ID != "":
		return e.ID
	case e.URL != "":
		return e.URL
	}
	h := fnv.New128a()
	fmt.Fprintf(h, "%q %q %q %s", e.Title, e.Summary, e.Content, e.Published)
	return fmt.Sprintf("#%x", h.Sum(nil))
}

// ReadFeed reads a feed: RSS 0.9 to 2.0, Atom 0.3 and 1.0, JSON Feed 1 and 1.1. It detects which one it is. The entries
// are read as the loop goes on, and the Feed is filled when the first of them has come; what follows the entries is
// known when the loop has ended.
//
//	feed, entries := records.ReadFeed(body, records.Source{URL: "https://example.com/feed"})
//	for entry, err := range entries {
//		…
//		fmt.Println(feed.Title, entry.Title, entry.URL)
//	}
//
// Feeds in the wild are often wrong, and are read as far as they can be understood: see selector.XML; an item that is
// not closed ends where the next one begins, namespaces that are not declared are known by their usual prefixes. Errors
// are as those of [Format.Read]. The iterator may be used once.
func ReadFeed(body io.Reader, from Source, options ...Option) (*Feed, iter.Seq2[*Entry, error]) {
	feed := new(Feed)
	c, err := newConfig(DefaultMaxFeed, options)
	format := Format[*Entry]{config: c, err: err, read: func(s *source, yield func(*Entry, error) bool) error {
		r := &feedReader{source: s, feed: feed, yield: yield}
		r.base, _ = urlx.ParseBase(s.URL)
		return r.read()
	}}
	return feed, format.Read(body, from)
}

// feedReader is one iteration over the entries of a feed.
type feedReader struct {
	*source
	feed  *Feed
	yield func(*Entry, error) bool
	base  *urlx.Base
}

func (r *feedReader) read() error {
	j := &jsonScanner{r.source}
	c, err := j.peek()
	switch {
	case errors.Is(err, io.EOF):
		return r.broken("the document is empty", nil)
	case err != nil:
		return r.fail(err)
	case c == '{':
		return r.readJSON(j)
	case c == '<':
		return r.readXML()
	}
	return r.broken("it is no feed: neither XML nor a JSON object", nil)
}

// send hands an entry over.
func (r *feedReader) send(e *Entry, wrong *Error) error {
	if !give(r.yield, e, wrong) {
		return errStopped
	}
	return nil
}

// resolve makes a reference absolute; one that cannot be is left as it is written.
func (*feedReader) resolve(base *urlx.Base, ref string) string {
	if ref == "" {
		return ""
	}
	if base == nil {
		if url, err := urlx.Parse(ref); err == nil {
			return url
		}
		return ref
	}
	if b, err := base.Resolve(nil, ref); err == nil {
		return string(b)
	}
	return ref
}
