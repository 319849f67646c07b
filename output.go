package tegenaria

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// Output is what a handler made by [Handle] sends by: items of one type, and requests. Its methods may
// be called concurrently until the handler returns; after that they return [ErrOutputClosed].
//
// In a unit test, outside a run, an Output writes to the two channels that the Parser was given.
type Output[T any] struct{ *output }

// output is the part of an Output that does not depend on its type.
type output struct {
	ctx  *Context
	item chan<- *ItemMeta
	req  chan<- *Context

	mu     sync.RWMutex // held for reading while something is sent
	closed bool
}

// Handle makes a Parser of a func that sees the response and sends by an Output. ctx is the request's
// context, r.Context(). Items and requests go to the engine directly, without a channel; references that
// are known already cost neither a request nor a string.
func Handle[T any](h func(ctx context.Context, r *Response, out *Output[T]) error) Parser {
	return handled(func(c *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		resp := c.Response()
		if resp == nil {
			return errors.New("tegenaria: Handle: the Context has no response")
		}
		out := &output{ctx: c, item: item, req: req}
		defer out.close()
		return h(c, resp, &Output[T]{out})
	})
}

// handled marks a parser as one that needs no channels: all parsers that it returns share their code.
//
//go:noinline
func handled(p Parser) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		return p(resp, item, req)
	}
}

var handledCode = codeOf(funcOf(handled(nil)))

func isHandled(p Parser) bool { return codeOf(funcOf(p)) == handledCode }

// Item sends an item on to the pipelines. It waits while they are busy.
func (o *Output[T]) Item(v T) error {
	return o.send(func() bool { return o.sendItem(&ItemMeta{CtxId: o.ctx.CtxId, Item: v}) })
}

// Request sends a request, a child of this page.
func (o *Output[T]) Request(r *Request) error {
	return o.send(func() bool { return o.sendRequest(r) })
}

// Follow sends a GET request of a reference found in the page, resolved against the document's base as
// browsers do, without its fragment. A reference that cannot be followed (empty, malformed, of another
// scheme) settles as filtered, and is no error here.
func (o *Output[T]) Follow(ref string, opts ...RequestOption) error {
	return o.send(func() bool { return o.follow(ref, opts) })
}

// FollowLinks sends a GET request for each link of the page that the options accept. See package links.
func (o *Output[T]) FollowLinks(opts ...links.Option) error {
	return o.send(func() bool { return o.followLinks(opts) })
}

// Fetch is [Context.Fetch] for this page.
func (o *Output[T]) Fetch(r *Request) (*Response, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return nil, ErrOutputClosed
	}
	return o.ctx.Fetch(r)
}

// send runs f while the output is open.
func (o *output) send(f func() bool) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed || o.ctx.job != nil && (o.ctx.job.abandoned.Load() || o.ctx.job.crawl.work.Err() != nil) || !f() {
		return ErrOutputClosed
	}
	return nil
}

func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
}

// direct tells whether the output hands over to the engine itself: not if somebody put channels of his own
// between the handler and the engine.
func (o *output) direct() bool { return o.ctx.job != nil && o.item == nil && o.req == nil }

func (o *output) sendItem(item *ItemMeta) bool {
	if o.direct() {
		return o.ctx.job.crawl.addItem(o.ctx.job, item)
	}
	return sendTo(o.ctx, o.item, item)
}

func (o *output) sendRequest(r *Request) bool {
	if o.direct() {
		o.ctx.job.crawl.accept(emission{parent: o.ctx.job}, &Context{Request: r})
		return true
	}
	return sendTo(o.ctx, o.req, NewContext(r))
}

// sendTo sends to a channel that somebody else receives from.
func sendTo[T any](ctx context.Context, to chan<- T, v T) bool {
	if to == nil {
		return false
	}
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *output) follow(ref string, opts []RequestOption) bool {
	resp := o.ctx.Response()
	if o.direct() && len(opts) == 0 && o.ctx.job.crawl.plain {
		return o.ctx.job.crawl.followRef(o.ctx.job, resp, ref)
	}
	r, err := resp.Follow(ref, opts...)
	if err != nil {
		o.refuse(ref, err)
		return true
	}
	if scheme := urlx.Scheme(r.Url); scheme != "http" && scheme != "https" {
		o.refuse(ref, errScheme)
		return true
	}
	return o.sendRequest(r)
}

var errScheme = errors.New("scheme")

// refuse settles a reference that cannot be followed.
func (o *output) refuse(ref string, err error) {
	if o.ctx.job == nil {
		return
	}
	reason := "url"
	switch {
	case errors.Is(err, errEmptyRef):
		reason = "empty"
	case errors.Is(err, errScheme):
		reason = "scheme"
	}
	o.ctx.job.crawl.refuseRef(ref, reason)
}

func (o *output) followLinks(opts []links.Option) bool {
	resp := o.ctx.Response()
	text, err := resp.decoded()
	if err != nil {
		return true
	}
	if o.direct() && o.ctx.job.crawl.plain {
		return o.ctx.job.crawl.followLinks(o.ctx.job, text, resp.URL, opts)
	}
	sent := true
	seen := make(map[string]bool)
	links.Walk(text, resp.URL, func(ref *links.Ref) bool {
		if !seen[string(ref.URL)] {
			seen[string(ref.URL)] = true
			sent = o.sendRequest(NewRequest(string(ref.URL), GET, nil))
		}
		return sent
	}, opts...)
	return sent
}

// followRef accepts a plain reference of a page: resolved, identified and known or not before any object
// exists.
func (c *crawl) followRef(j *job, resp *Response, ref string) bool {
	base, err := resp.documentBase()
	if err != nil || strings.TrimSpace(ref) == "" {
		c.refuseRef(ref, map[bool]string{true: "url", false: "empty"}[err != nil])
		return true
	}
	s := c.scratch.Get().(*scratch)
	defer c.scratch.Put(s)
	s.url, err = base.Resolve(s.url[:0], ref)
	if err != nil {
		c.refuseRef(ref, "url")
		return true
	}
	s.records, s.data = s.records[:0], s.data[:0]
	c.addPlain(s, j, s.url)
	return c.storePlain(s, j)
}

// followLinks accepts the links of a page in batches.
func (c *crawl) followLinks(j *job, text []byte, base string, opts []links.Option) bool {
	const batch = 64
	s := c.scratch.Get().(*scratch)
	defer c.scratch.Put(s)
	s.records, s.data = s.records[:0], s.data[:0]
	open := true
	links.Walk(text, base, func(ref *links.Ref) bool {
		c.addPlain(s, j, ref.URL)
		if len(s.records) == batch {
			open = c.storePlain(s, j)
		}
		return open
	}, opts...)
	return open && c.storePlain(s, j)
}

// addPlain puts a resolved URL into the batch, or settles it at once. It is accept for a GET request without
// anything else, when nobody wants to see the request.
func (c *crawl) addPlain(s *scratch, j *job, url []byte) {
	if i := indexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	host := plainHost(url)
	depth := j.rec.Depth + 1
	reason := ""
	var slot string
	switch {
	case host == nil:
		reason = "scheme"
	case len(url) > c.limits.URLLength:
		reason = "url-length"
	case c.tooDeep(depth):
		reason = "depth"
	default:
		if slot = j.rec.Slot; string(host) != slot {
			slot = string(host)
		}
		if c.domains != nil && !c.domains.allow(slot, string(url)) {
			reason = "offsite"
		}
	}
	if reason == "" {
		key, err := s.keyer.url(GET, url)
		if err == nil {
			start := len(s.data)
			s.data = c.codec.encodeURL(s.data, url)
			s.records = append(s.records, Record{Key: key, Parent: j.root().rec.Key, Slot: slot, Depth: depth,
				Data: s.data[start:len(s.data):len(s.data)]})
			return
		}
		reason = "url"
	}
	c.ledger.discover(1)
	c.ledger.refuse(1, Filtered, reason)
}

// storePlain hands the batch to the cache.
func (c *crawl) storePlain(s *scratch, j *job) bool {
	if len(s.records) == 0 {
		return true
	}
	from := emission{parent: j}
	if !c.enter(from) {
		return false
	}
	defer c.leave(from)
	c.ledger.discover(int64(len(s.records)))
	verdicts := c.store(from, s.records, 0)
	clear(s.records)
	s.records, s.data = s.records[:0], s.data[:0]
	return verdicts != nil
}

// refuseRef settles a reference that is no URL to follow.
func (c *crawl) refuseRef(ref, reason string) {
	c.ledger.discover(1)
	if f := c.cfg.events.RequestSettled; f != nil {
		c.settledEvent(&Request{Url: ref, Method: GET}, Filtered, reason)
	}
	c.ledger.refuse(1, Filtered, reason)
}

// plainHost returns the host of a serialised http(s) URL without port and credentials; nil for others.
func plainHost(url []byte) []byte {
	var rest []byte
	switch {
	case len(url) > 7 && string(url[:7]) == "http://":
		rest = url[7:]
	case len(url) > 8 && string(url[:8]) == "https://":
		rest = url[8:]
	default:
		return nil
	}
	for i, b := range rest {
		switch b {
		case '/', '?', ':':
			return rest[:i]
		case '@', '[':
			return []byte(urlx.Hostname(string(url)))
		}
	}
	return rest
}

func indexByte(b []byte, c byte) int {
	for i := range b {
		if b[i] == c {
			return i
		}
	}
	return -1
}

// checkPlain tells whether links can be accepted without making a request of each: nobody has asked to
// see or to name them.
func (c *crawl) checkPlain() bool {
	e := &c.cfg.events
	return len(c.filters) == 0 && c.dupes != nil && c.cfg.filter && c.cfg.politeness.SlotBy == nil &&
		e.RequestAccepted == nil && e.RequestSettled == nil && !c.log.debug
}
