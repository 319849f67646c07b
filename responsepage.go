package tegenaria

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// Links returns the page's links in document order, each URL once. The options know its encoding and,
// for links.Everything, its header. See package links for them. A spooled body that cannot be read is a panic, as with
// [Response.CSS].
func (r *Response) Links(opts ...links.Option) []links.Link {
	defer parsePanic()
	text, err := r.decoded()
	if err != nil {
		panic(err)
	}
	if tree := r.tree(text); tree != nil {
		return links.ExtractFrom(tree, r.URL, r.linkOptions(opts, len(text))...)
	}
	return links.Extract(text, r.URL, r.linkOptions(opts, len(text))...)
}

// eachLink calls yield for each link of the page until it returns false, see [links.Each].
func (r *Response) eachLink(opts []links.Option, yield func(*links.Ref) bool) {
	defer parsePanic()
	text, err := r.decoded()
	if err != nil {
		panic(err)
	}
	opts = r.linkOptions(opts, len(text))
	if tree := r.tree(text); tree != nil {
		links.EachFrom(tree, r.URL, opts...)(yield)
		return
	}
	links.Each(text, r.URL, opts...)(yield)
}

// tree returns the tree of the decoded body if it was parsed as HTML, and from its first byte on, else nil.
func (r *Response) tree(text []byte) *html.Document {
	r.mu.Lock()
	defer r.mu.Unlock()
	tree := r.doc.Root().Document()
	if tree == nil || tree.IsXML() || len(tree.Source()) != len(text) {
		return nil
	}
	return tree
}

// linkOptions puts in front of the options what the response says itself. Usually that is nothing.
func (r *Response) linkOptions(opts []links.Option, size int) []links.Option {
	r.mu.Lock()
	encoding := r.enc
	r.mu.Unlock()
	charged := size > smallPage && r.job() != nil
	if encoding == charset.UTF8 && len(opts) == 0 && !charged {
		return nil
	}
	if slices.ContainsFunc(opts, func(o links.Option) bool { return o == nil }) {
		return opts // package links says which one
	}
	all := []links.Option{links.Charset(encoding), links.Header(r.Header)}
	if charged {
		l := &r.job().crawl.limits
		all = append(all, links.Charge(&linkMemory{page: r}, html.MaxAttributes(l.Attributes), html.MaxNodes(min(l.Nodes, html.DefaultNodes(size)))))
	}
	return append(all, opts...)
}

// smallPage is the size in bytes of pages whose list of links is not worth being counted.
const smallPage = 64 << 10

// linkMemory grants the memory of one list of links.
type linkMemory struct {
	page *Response
	sum  int64
	most int64 // that was asked for
}

// Grow is part of [html.Memory].
func (m *linkMemory) Grow(n int64) error {
	m.sum += n
	if m.sum <= m.most {
		return nil
	}
	err := m.page.growCopy(m.most, m.sum)
	if err != nil {
		m.sum -= n
		return err
	}
	m.most = m.sum
	return nil
}

// parsePanic makes a panic with a limit of package html one with a [*selector.ParseError].
func parsePanic() {
	v := recover()
	if v == nil {
		return
	}
	if limit, ok := v.(*html.LimitError); ok {
		v = &selector.ParseError{Err: limit}
	}
	panic(v)
}

// Follow makes a GET request of a reference found in the page, resolved against the document's base
// as browsers do.
func (r *Response) Follow(ref string, opts ...RequestOption) (*Request, error) {
	url, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	return NewRequest(url, GET, nil, opts...), nil
}

// resolve makes a reference found in the page an absolute URL.
func (r *Response) resolve(ref string) (string, error) {
	base, encoding, err := r.documentBase()
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(ref) == "" {
		return "", &RequestError{URL: ref, Field: "Url", Err: errEmptyRef}
	}
	url, err := base.Resolve(nil, encodedRef(ref, encoding))
	if err != nil {
		return "", &RequestError{URL: ref, Field: "Url", Err: urlx.Cause(err)}
	}
	return string(url), nil
}

var errEmptyRef = errors.New("empty reference")

// documentBase returns the base that references in the page are resolved against, and the encoding that their
// queries are written in.
func (r *Response) documentBase() (*urlx.Base, charset.Encoding, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	encoding := charset.UTF8
	markup := isHTML(fetch.FirstHeader(r.Header, "Content-Type"))
	if r.base == nil {
		url := r.URL
		if markup {
			text, err := r.decodedLocked()
			if err != nil {
				return nil, 0, err
			}
			url = links.Base(text, r.URL)
		}
		base, err := urlx.ParseBase(url)
		if err != nil {
			return nil, 0, &RequestError{URL: r.URL, Field: "Url", Err: urlx.Cause(err)}
		}
		r.base = base
	}
	if markup {
		encoding = r.enc
	}
	return r.base, encoding, nil
}

// encodedRef writes the query of a reference as browsers do on a page in an encoding (URL standard §4.4).
func encodedRef(ref string, e charset.Encoding) string {
	if e == charset.UTF8 || !strings.ContainsFunc(ref, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return ref
	}
	return string(e.AppendReference(nil, ref))
}

// isHTML reports whether a Content-Type says HTML, or says nothing.
func isHTML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return contentType == "" || strings.Contains(strings.ToLower(media), "html")
}

// isXML reports whether a Content-Type says XML (MIME Sniffing standard, section 4.6) other than XHTML, which
// many servers announce and few write.
func isXML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/xml" || media == "application/xml" || strings.HasSuffix(media, "+xml") && media != "application/xhtml+xml"
}

// What is made of a page (its tree and the index of that, its text, its list of links, the results of queries) counts in
// Limits.BodiesInFlight with the page's body, and is given back with it. A parser waits for room as a download does. It
// lends its place among the parsers meanwhile: so the one request that may go over the bound always finds a place to
// be parsed, and no two wait for each other. Code that another part may wait for does not wait itself: a parser
// whose page has items in the pipelines or a Fetch under way, and all code that is no parser.

// pageHost is a Response as package selector needs it.
type pageHost Response

// Resolve makes a reference found in the page an absolute URL.
func (p *pageHost) Resolve(ref string) (string, error) { return (*Response)(p).resolve(ref) }

// Grow grants memory for results made of the page.
func (p *pageHost) Grow(bytes int64) error { return (*Response)(p).grow(bytes) }

// grow adds n bytes to the memory that is made of the page, and waits until there is room. A negative number gives bytes back. The error is
// an [*html.LimitError] if one page takes too much, or else the cause of the end of the request's context.
func (r *Response) grow(n int64) error {
	j := r.job()
	switch {
	case j == nil:
		return nil
	case n <= 0:
		r.made.Add(n)
		j.crawl.fetcher.bodies.Shrink(&j.root().hold, -n)
		return nil
	}
	if limit := j.crawl.limits.page(); r.made.Add(n) > limit {
		r.made.Add(-n)
		return &html.LimitError{What: "bytes of memory for one page (the larger of Limits.BodiesInFlight and twice Limits.Body)", Limit: int(limit)}
	}
	if err := growPage(j, n); err != nil {
		r.made.Add(-n)
		return err
	}
	return nil
}

// growCopy is grow for a copy of the page that is handed out, which grows from so many bytes to more. The largest one
// counts; the ones before it are garbage, for all that is known. The error is a [*selector.ParseError].
func (r *Response) growCopy(from, to int64) error {
	if err := r.copies.Grow(from, to, r.grow); err != nil {
		return &selector.ParseError{Err: err}
	}
	return nil
}

// job returns the job that the response belongs to, nil outside a run.
func (r *Response) job() *job {
	if r.ctx == nil || r.ctx.job == nil || r.ctx.job.crawl == nil {
		return nil
	}
	return r.ctx.job
}

// growPage adds n bytes to the share of the request. A parser waits for them.
func growPage(j *job, n int64) error {
	c, root := j.crawl, j.root()
	hold := &root.hold
	if c.fetcher.bodies.TryGrow(hold, n) {
		return nil
	}
	if j != root || !c.reader.lendToWait(j) {
		c.fetcher.bodies.Add(hold, n)
		return nil
	}
	c.watch.Pause(&j.call)
	err := c.fetcher.bodies.GrowUnless(j.ctx, hold, n, func() bool { return mustGetMemory(j) })
	back := c.reader.places.Reclaim(j.ctx, &j.place)
	c.watch.Resume(&j.call)
	if err == nil {
		err = back
	}
	return err
}

// mustGetMemory reports whether other code may wait for the parser while it waits for memory: an item of the page is in the
// pipelines, or a Fetch of it is under way. Another goroutine of the parser may have begun that; tryOpen ends the waiting.
func mustGetMemory(j *job) bool { return j.open.Load() > 1 }

// page returns the largest number of bytes that may be made of one page.
func (l Limits) page() int64 {
	return max(l.BodiesInFlight, min(l.Body, math.MaxInt64/2)*2)
}

// parserOptions are the bounds of the trees of a crawl, made once.
type parserOptions struct {
	nodes        int
	small, large selector.Option // of pages for which the default of html.MaxNodes is smaller than nodes, and others
}

func newParserOptions(l Limits) parserOptions {
	attributes := html.MaxAttributes(l.Attributes)
	return parserOptions{
		nodes: l.Nodes,
		small: selector.Bounds(attributes),
		large: selector.Bounds(attributes, html.MaxNodes(l.Nodes)),
	}
}

// of returns the bounds for a page.
func (o *parserOptions) of(text []byte) selector.Option {
	if html.DefaultNodes(len(text)) > o.nodes {
		return o.large
	}
	return o.small
}
