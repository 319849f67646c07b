package sitemap

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/xmlstream"
)

// errStopped ends the reading when the caller wants no more. It is not returned.
var errStopped = errors.New("stopped")

// maxDepth bounds how deep elements lie. The deepest that is read is on level 5.
const maxDepth = 256

// maxParts bounds what is kept of one entry: its alternates, images and videos together. Google reads a thousand images.
const maxParts = 10_000

// kind is what a document is, by its root element.
type kind uint8

const (
	unknownKind kind = iota
	urlSet
	sitemapIndex
	rss
	atom
)

// within is the part of an entry that a field belongs to.
type within uint8

const (
	inEntry within = iota
	inImage
	inVideo
	inNews
)

// document is an XML document that is being read. Elements are known by their local names: of the namespaces in the
// wild many are misspelt.
type document struct {
	*parser
	xmlstream.Scanner
	kind  kind
	depth int // of the element that is open

	entry   Entry
	open    int    // the depth of the entry that is open, 0: none
	url     string // of the entry, as written
	spare   string // what stands for it if there is none
	dated   byte   // the rank of LastMod, see date
	part    within
	partAt  int // its depth
	skipped int // the depth of an element in the entry that is not understood, 0: none

	field   string // the element whose text is wanted, "": none
	fieldAt int    // its depth
	extra   string // of its attributes, what belongs to its value
}

func (d *document) parse() error {
	for {
		token, err := d.Scan()
		switch {
		case err != nil:
			return err
		case token == xmlstream.EndOfInput && d.kind == unknownKind:
			return &FormatError{Reason: "the document has no elements"}
		case token == xmlstream.EndOfInput:
			return &FormatError{Reason: "the document breaks off"}
		}
		d.fold()
		switch {
		case token == xmlstream.StartTag:
			if err := d.start(); err != nil {
				return err
			}
			if !d.Closed {
				continue
			}
			fallthrough
		default:
			over, err := d.end()
			if over || err != nil {
				return err
			}
		}
	}
}

// fold writes the name of an element of a sitemap in lower case: some templates print it in capitals. Feeds have names in both.
func (d *document) fold() {
	if d.kind == rss || d.kind == atom || !bytes.ContainsFunc(d.Name, isCapital) {
		return
	}
	if lower := bytes.ToLower(d.Name); d.kind != unknownKind || kindOf(string(lower)) == urlSet || kindOf(string(lower)) == sitemapIndex {
		d.Name = lower
	}
}

func isCapital(r rune) bool { return 'A' <= r && r <= 'Z' }

// kindOf knows a document by the name of its root.
func kindOf(root string) kind {
	switch root {
	case "urlset":
		return urlSet
	case "sitemapindex":
		return sitemapIndex
	case "rss", "RDF":
		return rss
	case "feed":
		return atom
	}
	return unknownKind
}

// isEntry reports whether elements of this name are entries.
func (k kind) isEntry(name []byte) bool {
	switch k {
	case urlSet, sitemapIndex:
		return string(name) == "url" || string(name) == "sitemap"
	case rss:
		return string(name) == "item"
	}
	return string(name) == "entry"
}

// start reads a start tag.
func (d *document) start() error {
	if d.depth++; d.depth > maxDepth {
		return &LimitError{What: "levels of elements", Limit: maxDepth}
	}
	if d.kind == unknownKind {
		if d.kind = kindOf(string(d.Name)); d.kind == unknownKind {
			return &FormatError{Reason: "<" + strings.ToValidUTF8(string(d.Name[:min(len(d.Name), 40)]), "?") + "> is the root " +
				"of no sitemap or feed"}
		}
		return nil
	}
	if d.kind.isEntry(d.Name) && (d.open == 0 || d.part == inEntry) {
		if d.open != 0 { // its end tag is missing
			d.depth = d.open
			if more, err := d.finish(); !more || err != nil {
				return stop(more, err)
			}
			d.depth++
		}
		d.begin()
		return nil
	}
	if d.open == 0 || d.skipped != 0 {
		return nil
	}
	if d.field == "" || d.fieldAt == d.open {
		d.endField() // text of the entry itself, so far
		d.child()
		if e := &d.entry; len(e.Alternates)+len(e.Images)+len(e.Videos) > maxParts {
			return &LimitError{What: "alternates, images and videos of one URL", Limit: maxParts}
		}
	}
	return nil
}

// stop is the error that ends the reading where the caller wants no more.
func stop(more bool, err error) error {
	if err == nil && !more {
		return errStopped
	}
	return err
}

// begin opens an entry.
func (d *document) begin() {
	d.entry = Entry{Priority: 0.5, Sitemap: string(d.Name) == "sitemap"}
	d.open, d.url, d.spare, d.dated, d.part, d.skipped = d.depth, "", "", 0, inEntry, 0
	d.field = ""
	if d.kind == urlSet || d.kind == sitemapIndex {
		d.gather("loc") // some write the URL without an element of its own
	} else if d.kind == rss {
		d.spare = d.Attribute("about") // RSS 1.0
	}
}

// gather begins to collect the text of the element that is open.
func (d *document) gather(field string) {
	d.field, d.fieldAt, d.extra = field, d.depth, ""
	d.Capture()
}

// child looks at an element of the entry.
func (d *document) child() {
	name := names[string(d.Name)]
	switch d.part {
	case inEntry:
		d.entryChild(name)
	case inNews:
		if name != "publication" {
			d.gather(name)
		}
	case inVideo:
		d.gather(name)
		switch name {
		case "restriction", "platform":
			d.extra = d.Attribute("relationship")
		case "uploader":
			if info := d.Attribute("info"); info != "" {
				d.extra = d.address(info)
			}
		}
	case inImage:
		d.gather(name)
	}
}

// entryChild looks at a child of the entry itself.
func (d *document) entryChild(name string) {
	switch d.kind {
	case atom:
		switch name {
		case "link":
			if rel := d.Attribute("rel"); d.url == "" && (rel == "" || rel == "alternate") {
				d.url = d.Attribute("href")
			}
		case "updated", "modified", "published", "issued", "created":
			d.gather(name)
		default:
			d.skipped = d.depth
		}
		return
	case rss:
		switch name {
		case "link", "guid", "pubDate", "date", "modified":
			d.gather(name)
		default:
			d.skipped = d.depth
		}
		return
	}
	switch name {
	case "loc", "lastmod", "changefreq", "priority":
		d.gather(name)
	case "link":
		if href := d.Attribute("href"); href != "" && strings.EqualFold(d.Attribute("rel"), "alternate") {
			d.entry.Alternates = append(d.entry.Alternates, Alternate{
				URL: d.address(href), Lang: d.Attribute("hreflang"), Media: d.Attribute("media"),
			})
		}
		d.skipped = d.depth
	case "image":
		d.entry.Images = append(d.entry.Images, Image{})
		d.part, d.partAt = inImage, d.depth
	case "video":
		d.entry.Videos = append(d.entry.Videos, Video{})
		d.part, d.partAt = inVideo, d.depth
	case "news":
		d.entry.News = new(News)
		d.part, d.partAt = inNews, d.depth
	default:
		d.skipped = d.depth
	}
}

// end reads an end tag. over: the document has ended.
func (d *document) end() (over bool, err error) {
	if d.open != 0 && (d.depth == d.open || d.part == inEntry && d.kind.isEntry(d.Name)) {
		d.depth = d.open - 1
		more, err := d.finish()
		return !more, err
	}
	if d.open == 0 && kindOf(string(d.Name)) == d.kind {
		return true, nil
	}
	if d.field != "" && d.fieldAt == d.depth {
		d.endField()
	}
	if d.part != inEntry && d.partAt == d.depth {
		d.part = inEntry
	}
	if d.skipped == d.depth {
		d.skipped = 0
	}
	d.depth = max(d.depth-1, 1)
	return false, nil
}

// finish hands the entry that is open to the caller.
func (d *document) finish() (more bool, err error) {
	d.endField()
	d.open = 0
	raw := d.url
	if raw == "" {
		raw = d.spare
	}
	if raw == "" {
		return true, nil
	}
	entry := d.entry
	d.entry = Entry{}
	return d.send(entry, raw)
}

// endField notes the text that was collected.
func (d *document) endField() {
	if d.field == "" {
		return
	}
	field := d.field
	d.field = ""
	text := d.Take()
	if len(text) == 0 {
		return
	}
	value := toUTF8(string(text))
	switch d.part {
	case inImage:
		d.imageField(field, value)
	case inVideo:
		d.videoField(field, value)
	case inNews:
		d.newsField(field, value)
	default:
		d.entryField(field, value)
	}
}

// entryField notes a child element of the entry itself.
func (d *document) entryField(name, value string) {
	switch name {
	case "loc", "link":
		if d.url == "" {
			d.url = value
		}
	case "guid":
		if isWeb(value) {
			d.spare = value
		}
	case "changefreq":
		d.entry.ChangeFreq = parseChangeFreq(value)
	case "priority":
		d.entry.Priority = between(value, 0, 1, 0.5)
	default:
		d.date(name, value)
	}
}

// date notes when the entry was changed: of several dates the best one.
func (d *document) date(name, value string) {
	var rank byte
	switch name {
	case "lastmod", "updated", "modified":
		rank = 3
	case "pubDate", "published", "issued", "date":
		rank = 2
	case "created":
		rank = 1
	}
	if rank <= d.dated {
		return
	}
	if t := d.time(value); !t.IsZero() {
		d.entry.LastMod, d.dated = t, rank
	}
}

// time reads a date; one that cannot be read is noted.
func (d *document) time(value string) time.Time {
	t, err := ParseTime(value)
	if err != nil && value != "" && d.entry.UnreadDate == "" {
		d.entry.UnreadDate = value
	}
	return t
}

// names are the elements that mean something. Looking a name up makes no string.
var names = func() map[string]string {
	known := make(map[string]string)
	for _, name := range []string{
		"loc", "lastmod", "changefreq", "priority", "link", "image", "video", "news", "publication",
		"guid", "pubDate", "date", "updated", "modified", "published", "issued", "created",
		"title", "caption", "geo_location", "license",
		"description", "thumbnail_loc", "content_loc", "player_loc", "duration", "publication_date", "expiration_date",
		"rating", "view_count", "tag", "category", "uploader", "restriction", "platform", "family_friendly",
		"requires_subscription", "live", "name", "language", "access", "genres", "keywords", "stock_tickers",
	} {
		known[name] = name
	}
	return known
}()
