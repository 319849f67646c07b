// Package sitemap reads the lists of pages that sites publish: sitemaps and sitemap indexes of the
// protocol of sitemaps.org, in XML or as plain text, with the extensions for images, videos, news and translated
// pages, and feeds in place of them, RSS 2.0 and 1.0, Atom 1.0 and 0.3. Each may be compressed with gzip.
//
//	for entry, err := range sitemap.Parse(body, "https://example.com/sitemap.xml") {
//		if err != nil {
//			log.Print(err)
//			continue
//		}
//		fmt.Println(entry.URL, entry.LastMod)
//	}
//
// [Parse] detects the format. It reads a stream, one entry at a time, so that memory does not grow
// with the size of a sitemap, and stops at the limits of the protocol, 50 MB and 50,000 URLs. Document types are
// skipped, but one that declares entities is refused; external resources are never fetched.
//
// Sitemaps are read as tolerantly as the big search engines do: namespaces are ignored, an element that is
// not closed ends with its entry, an & need not be escaped, and unknown elements are skipped.
package sitemap

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/xmlstream"
)

// The limits of the protocol (sitemaps.org, "Using Sitemap index files").
const (
	DefaultMaxBytes = 50 << 20 // uncompressed
	DefaultMaxURLs  = 50_000
)

// Entry is one page, or one further sitemap, that a sitemap names. It belongs to the caller.
type Entry struct {
	URL     string // absolute
	Sitemap bool   // true: the URL of a sitemap that an index names; false: of a page

	LastMod    time.Time  // when the page was last changed; zero if missing or invalid
	UnreadDate string     // as it is written: the first date of the entry that could not be read
	ChangeFreq ChangeFreq // how often it changes; "" if missing or invalid
	Priority   float64    // compared with other pages of the site, 0 to 1; 0.5 if missing

	Alternates []Alternate // the same page for others: xhtml:link with rel=alternate
	Images     []Image
	Videos     []Video
	News       *News // nil: no news article
}

// ChangeFreq is how often a page changes, as its site says.
type ChangeFreq string

// The values of the protocol.
const (
	Always  ChangeFreq = "always"
	Hourly  ChangeFreq = "hourly"
	Daily   ChangeFreq = "daily"
	Weekly  ChangeFreq = "weekly"
	Monthly ChangeFreq = "monthly"
	Yearly  ChangeFreq = "yearly"
	Never   ChangeFreq = "never"
)

func parseChangeFreq(s string) ChangeFreq {
	switch f := ChangeFreq(lower(s)); f {
	case Always, Hourly, Daily, Weekly, Monthly, Yearly, Never:
		return f
	}
	return ""
}

// Option changes how [Parse] reads.
type Option func(*config)

type config struct {
	maxBytes int64
	maxURLs  int
}

// MaxBytes limits how many bytes are read, counted after decompression. The default is [DefaultMaxBytes]; 0 or less sets no limit.
func MaxBytes(n int64) Option { return func(c *config) { c.maxBytes = n } }

// MaxURLs limits how many entries are read. The default is [DefaultMaxURLs]; 0 or less sets no limit.
func MaxURLs(n int) Option { return func(c *config) { c.maxURLs = n } }

// Parse iterates over the entries of a sitemap that comes from the URL base, in their order. URLs that are not
// absolute are resolved against base as browsers do; if base is "" or no URL they are errors.
//
// A [*URLError] concerns one entry, whose URL is unusable; the iteration goes on. Any other error ends the iteration: a
// [*FormatError] if the document is not a sitemap or breaks off, a [*LimitError], or an error of reader. The entries before it are
// valid.
//
// The iterator can be used once. It reads from reader only as far as the caller iterates, plus one buffer.
func Parse(reader io.Reader, base string, options ...Option) iter.Seq2[Entry, error] {
	c := config{DefaultMaxBytes, DefaultMaxURLs}
	for i, option := range options {
		if option == nil {
			return func(yield func(Entry, error) bool) {
				yield(Entry{}, fmt.Errorf("sitemap: option %d is nil; leave it out", i+1))
			}
		}
		option(&c)
	}
	return func(yield func(Entry, error) bool) {
		p := &parser{maxURLs: c.maxURLs, yield: yield}
		p.base, _ = urlx.ParseBase(base)
		if err := p.parse(reader, c.maxBytes); err != nil && !p.stopped {
			yield(Entry{}, ownError(err))
		}
	}
}

// parser is one iteration.
type parser struct {
	base    *urlx.Base // nil: only absolute URLs are understood
	maxURLs int
	yield   func(Entry, error) bool
	stopped bool // the caller wants no more
	entries int
	buf     []byte // for resolving
}

func (p *parser) parse(reader io.Reader, maxBytes int64) error {
	in, err := xmlstream.Open(reader, maxBytes, "")
	if err != nil {
		return err
	}
	markup, err := startsMarkup(in)
	if err != nil {
		return err
	}
	if !markup {
		return p.parseText(in)
	}
	d := &document{parser: p, Scanner: xmlstream.Scanner{In: xmlstream.NewTape(in)}}
	return d.parse()
}

// send hands an entry to the caller. raw is its URL as written. It returns false, and the error of the
// iteration, if that is over.
func (p *parser) send(e Entry, raw string) (bool, error) {
	if p.maxURLs > 0 && p.entries == p.maxURLs {
		return false, &LimitError{What: "URLs", Limit: int64(p.maxURLs)}
	}
	p.entries++
	url, err := p.resolve(raw)
	if err != nil {
		var bare *urlx.Error
		if errors.As(err, &bare) {
			err = bare.Err
		}
		e, err = Entry{}, &URLError{URL: raw, Err: err}
	}
	e.URL = url
	p.stopped = !p.yield(e, err)
	return !p.stopped, nil
}

// resolve makes a URL absolute.
func (p *parser) resolve(raw string) (url string, err error) {
	if p.base == nil {
		url, err = urlx.Parse(raw)
		return urlx.WithoutUserinfo(url), err
	}
	if p.buf, err = p.base.Resolve(p.buf[:0], raw); err != nil {
		return "", err
	}
	return string(p.buf), nil
}
