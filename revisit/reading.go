package revisit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/selector"
)

// Text says which part of a page is compared with that of the page when it was read last: [MainText], or the text of
// all elements that a CSS selector finds. The links in it are compared too, other attributes of elements are not. "" is
// none.
type Text string

// MainText is the title and the main text of a page, as [content.Extract] finds them.
const MainText Text = "@main"

// mistake returns why there is no such text.
func (t Text) mistake() error {
	if t == "" || t == MainText {
		return nil
	}
	if _, err := selector.Compile(string(t)); err != nil {
		return fmt.Errorf("revisit: Options.Text is neither MainText nor a CSS selector: %w", err)
	}
	return nil
}

// digest is the beginning of a SHA-256; zero: there is none.
type digest [16]byte

func digestOf(parts ...[]byte) digest {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	return digest(h.Sum(nil))
}

// of returns the digest of the text of a page, none if the page has no such text. Another selector makes other digests, and so does another
// version of the extraction.
func (t Text) of(page *tegenaria.Response) digest {
	var text string
	version := 0
	switch t {
	case "":
		return digest{}
	case MainText:
		article, err := page.Article()
		if err != nil {
			return digest{}
		}
		version, text = content.Version, article.Title+"\n"+article.Markdown()
	default:
		var b strings.Builder
		for _, one := range page.CSS(string(t)).All() {
			b.WriteString(one.Text())
			b.WriteString("\x00" + one.Attr("href"))
			for _, link := range one.CSS("[href]").All() {
				b.WriteString("\x00" + link.Attr("href"))
			}
			b.WriteString("\x00\x00")
		}
		if b.Len() == 0 {
			return digest{}
		}
		text = b.String()
	}
	return digestOf([]byte(t), binary.AppendUvarint(nil, uint64(version)), []byte(text))
}

// source is what a parser is given.
type source struct {
	body    digest // of body, status and URL
	text    digest // of Options.Text
	request digest // of the request
}

// sourceOf returns what the parser of a page is given. Of a body that is not in memory there are no digests, and neither of a page whose
// status is no success.
func (o *Options) sourceOf(page *tegenaria.Response) (s source) {
	if body := page.Bytes(); body != nil && page.Status >= 200 && page.Status <= 299 {
		s.body = digestOf(body, binary.AppendUvarint(nil, uint64(page.Status)), []byte(page.URL))
		s.text = o.Text.of(page)
	}
	return s
}

// hasText reports whether two pages have the same text.
func (s *source) hasText(other *source) bool { return s.text == other.text && s.text != digest{} }

// isOf reports whether a parser that depends on the request and the body, or on the text, gives the same.
func (s *source) isOf(other *source) bool {
	return s.request == other.request && s.request != digest{} && (s.body == other.body && s.body != digest{} || s.hasText(other))
}

// reading is what is remembered of how a page was read last: what its parser was given, and what it has sent.
type reading struct {
	source
	whole bool     // the page can be skipped: items and sent are all that it has given
	items []uint64 // of each item of the page: the beginning of the hash of its JSON
	sent  [][]byte // as in a Settlement
}

func (r *reading) encode() []byte {
	b := slices.Concat(r.body[:], r.text[:], r.request[:])
	if !r.whole {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(r.items)))
	for _, one := range r.items {
		b = binary.BigEndian.AppendUint64(b, one)
	}
	for _, one := range r.sent {
		b = appendText(b, one)
	}
	return b
}

func decodeReading(b []byte) (r reading, err error) {
	d := decoder{rest: b}
	for _, part := range []*digest{&r.body, &r.text, &r.request} {
		*part = digest(d.take(len(digest{})))
	}
	if r.whole = len(d.rest) > 0; !r.whole {
		return r, d.err
	}
	for range d.number() {
		r.items = append(r.items, binary.BigEndian.Uint64(d.take(8)))
		if d.err != nil {
			return r, d.err
		}
	}
	for len(d.rest) > 0 && d.err == nil {
		r.sent = append(r.sent, bytes.Clone(d.text()))
	}
	return r, d.err
}

// textOf is the beginning of the hash of an item's JSON.
func textOf(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// sources are what the parsers of pages were given that have not settled.
type sources struct {
	mu  sync.Mutex // guards all
	all map[tegenaria.Key]source
}

func (s *sources) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = make(map[tegenaria.Key]source)
}

func (s *sources) put(key tegenaria.Key, one source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[key] = one
}

// take returns one, and forgets it.
func (s *sources) take(key tegenaria.Key) source {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	delete(s.all, key)
	return one
}

// with notes the request of a page, and returns what its parser is given.
func (s *sources) with(key tegenaria.Key, request []byte) source {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	one.request = digestOf(request)
	s.all[key] = one
	return one
}

// pageBefore returns a page as the history has it, and how it was read last if that is remembered.
func (c *changes) pageBefore(key tegenaria.Key) (before page, last reading, err error) {
	store := newChange(c.db)
	text, err := store.get(pageAt(key))
	if err != nil || text == nil {
		return before, last, err
	}
	if before, err = decodePage(text); err != nil || !before.remembered {
		return before, last, err
	}
	if text, err = store.get(readingAt(key)); err == nil {
		last, err = decodeReading(text)
	}
	return before, last, err
}

// ChangeOf is part of tegenaria.PageHistory. An error of the store ends the run when the page settles.
func (c *changes) ChangeOf(key tegenaria.Key, resp *tegenaria.Response) tegenaria.PageChange {
	var now source
	if c.history.options.remembers() {
		now = c.history.options.sourceOf(resp)
		c.sources.put(key, now)
	}
	before, last, err := c.pageBefore(key)
	switch {
	case err != nil:
		return tegenaria.ChangeUnknown
	case before.read == 0:
		return tegenaria.ChangeNew
	case resp.Cached().State == tegenaria.CacheRevalidated && before.read == before.asked:
		return tegenaria.ChangeNotModified
	case now.hasText(&last.source):
		return tegenaria.ChangeSameText
	}
	return tegenaria.ChangeUnknown
}

// remembers reports whether readings are stored.
func (o *Options) remembers() bool { return o.SkipUnchanged || o.Text != "" }

// SkipsUnchanged is part of tegenaria.UnchangedPages.
func (c *changes) SkipsUnchanged() bool { return c.history.options.SkipUnchanged }

// Unchanged is part of tegenaria.UnchangedPages. A page is skipped if its parser is given what it was given when the page was read last, by
// the same spider, and if the table has what it gave then.
func (c *changes) Unchanged(key tegenaria.Key, request []byte, _ *tegenaria.Response) (sent [][]byte, unchanged bool) {
	now := c.sources.with(key, request)
	before, last, err := c.pageBefore(key)
	if err != nil || before.read == 0 || !last.whole || !now.isOf(&last.source) || len(before.items) != len(last.items) {
		return nil, false
	}
	if alike, err := c.isAlike(before.read); err != nil || !alike {
		return nil, false
	}
	store := newChange(c.db)
	for i, id := range before.items {
		known, is, err := c.history.known(store, id)
		if err != nil || !is || textOf(known.text) != last.items[i] {
			return nil, false
		}
	}
	return last.sent, true
}

// remember stores how a page was read, and what it has given; whole says that this is all.
func (b *batch) remember(s *tegenaria.Settlement, next *page, items []given, whole bool) error {
	if _, err := b.store.get(readingAt(s.Key)); err != nil {
		return err
	}
	r := reading{source: b.changes.sources.take(s.Key)}
	if r.whole = whole && b.changes.history.options.SkipUnchanged; r.whole {
		r.sent = s.Sent
		for _, id := range next.items {
			i := slices.IndexFunc(items, func(one given) bool { return idOf(one.key) == id })
			r.items = append(r.items, textOf(items[i].text))
		}
	}
	next.remembered = true
	b.store.set(readingAt(s.Key), r.encode())
	return nil
}

// forget removes what is stored of how a page was read, if there is anything.
func (b *batch) forget(key tegenaria.Key, before *page) error {
	if !before.remembered {
		return nil
	}
	_, err := b.store.get(readingAt(key))
	b.store.set(readingAt(key), nil)
	return err
}

// skipped enters that a page was skipped: it gives what it gave before.
func (b *batch) skipped(s *tegenaria.Settlement, next *page) error {
	_, last, err := b.changes.pageBefore(s.Key)
	if err == nil && len(last.items) != len(next.items) {
		err = b.damaged(fmt.Errorf("of the page %s there are other items than was remembered", s.URL))
	}
	if err != nil {
		return err
	}
	b.changes.sources.take(s.Key)
	b.run.Pages++
	b.run.Skipped++
	next.read = b.run.Number
	for i, id := range next.items {
		known, is, err := b.known(id)
		if err != nil || !is {
			return err
		}
		if b.changes.history.options.Key == nil && known.key == string(known.text) { // the whole item is its key
			b.run.Keyless++
		}
		switch {
		case known.seen != b.run.Number:
			known.seen, known.url = b.run.Number, s.URL
			b.run.Unchanged++
			b.store.set(itemAt(id), known.encode())
		case textOf(known.text) != last.items[i]:
			b.clashed(&known, s.URL)
		}
	}
	return nil
}
