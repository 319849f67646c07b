package browser

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// AdaptiveOptions say which pages [Adaptive] has rendered. The zero value is a sensible default.
type AdaptiveOptions struct {
	// Priority is the middleware's place; 0 is 580: responses come to it after cookies and refreshes, and before the trap guard, which
	// would take the empty pages of a site for its error pages.
	Priority int
	// Downloader is the name under which the browser is registered; "" is "browser".
	Downloader string
	// Requires is a CSS selector of what each page has. A page without it is rendered, whatever else it looks like. Adaptive panics if
	// the selector is invalid.
	Requires string
	// Unfinished decides which pages are rendered; nil is the func [Unfinished]. It is called concurrently.
	Unfinished func(page *tegenaria.Response) bool
	// Agree is how many pages of a shape in a row have to be unfinished, until others are rendered at once; 0 is 5.
	Agree int
	// Recheck is of how many pages that would be rendered at once one is downloaded first all the same, about; 0 is 20. The URL decides
	// which, so that a job that goes on decides as before.
	Recheck int
}

// rendered is the variant of the requests that Adaptive sends.
const rendered = "browser"

// errRendered ends a request in whose place Adaptive sends another one.
var errRendered = tegenaria.IgnoreRequest("rendered")

// AdaptiveMiddleware is made by [Adaptive].
type AdaptiveMiddleware struct {
	options  AdaptiveOptions
	requires *selector.Query // nil: nothing
	learner  *learner
}

var (
	_ tegenaria.MiddlewaresInterface = (*AdaptiveMiddleware)(nil)
	_ tegenaria.ErrorMiddleware      = (*AdaptiveMiddleware)(nil)
)

// Adaptive returns a middleware that has the browser render those pages alone that need it. A page is downloaded first. If it looks
// unfinished, it is not parsed: its request ends as filtered, with the reason "rendered", and one for the browser takes its place in the
// queue, of the same depth, parser and Meta. Delay, robots.txt and limits hold for that one as for any other.
//
// It learns: when enough pages of a host whose paths are alike were unfinished, one after the other, the rest of them is rendered without
// being downloaded first. Now and then one is downloaded all the same, and if that is finished, the others are downloaded again too. Only
// HTML with a status of 2xx teaches anything. With a durable job what was learnt is stored.
//
// Requests that name a downloader, have a variant, such as those with [Do], or are nothing for a browser (other methods than GET, a body,
// a proxy, a ResponseWriter), and those of Fetch, are left alone.
func Adaptive(o AdaptiveOptions) *AdaptiveMiddleware {
	m := &AdaptiveMiddleware{options: o}
	if o.Requires != "" {
		query, err := selector.Compile(o.Requires)
		if err != nil {
			panic(err)
		}
		m.requires = query
	}
	m.options.Priority, m.options.Downloader = cmp.Or(o.Priority, 580), cmp.Or(o.Downloader, "browser")
	m.options.Agree, m.options.Recheck = cmp.Or(max(o.Agree, 0), 5), cmp.Or(max(o.Recheck, 0), 20)
	if o.Unfinished == nil {
		m.options.Unfinished = Unfinished
	}
	m.learner = newLearner(m.options.Agree)
	return m
}

// GetName names the middleware in messages.
func (m *AdaptiveMiddleware) GetName() string { return "adaptive browser" }

// GetPriority is its place among the middlewares.
func (m *AdaptiveMiddleware) GetPriority() int { return m.options.Priority }

// Learnt returns the shapes of URLs with pages that were unfinished, sorted.
func (m *AdaptiveMiddleware) Learnt() []PathShape { return m.learner.list() }

// Reset forgets what was learnt.
func (m *AdaptiveMiddleware) Reset() { m.learner.reset() }

// ProcessRequest sends a page to the browser at once that is likely to need it.
func (m *AdaptiveMiddleware) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	if !mayRender(ctx) || !m.learner.asksBrowser(shapeOf(r.Url)) || hash(r.Url)%uint32(m.options.Recheck) == 0 {
		return nil
	}
	return errRendered
}

// ProcessResponse sends a page to the browser that looks unfinished.
func (m *AdaptiveMiddleware) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	r, page := ctx.Request, ctx.Response()
	if r.Variant() == rendered {
		m.leave(r, page)
		return nil
	}
	header := http.Header(page.Header)
	if page.Status < 200 || page.Status > 299 || len(page.Bytes()) == 0 || header.Get("Content-Type") == "" || !isRendered(header) || !mayRender(ctx) {
		return nil
	}
	unfinished := m.lacks(page) || m.options.Unfinished(page)
	m.learner.add(shapeOf(r.Url), unfinished)
	if unfinished {
		return errRendered
	}
	return nil
}

// ProcessError sends the request for the browser. So it is accepted before the one that it replaces is settled, and a crash between the two
// lets the latter run again, which sends a duplicate.
func (m *AdaptiveMiddleware) ProcessError(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
	if !errors.Is(err, errRendered) {
		return err
	}
	again := *ctx.Request
	for _, option := range []tegenaria.RequestOption{
		tegenaria.RequestWithDownloader(m.options.Downloader), tegenaria.RequestWithVariant(rendered), tegenaria.RequestWithSameDepth(),
	} {
		option(&again)
	}
	if slices.Contains(again.Redirects, again.Url) { // it may have been rendered before, without the cookies that it has got since
		tegenaria.RequestWithDoNotFilter(true)(&again)
	}
	req <- tegenaria.NewContext(&again)
	return err
}

// leave takes a request out of the browser whose page leads to another one: that one is downloaded first, as any other, and is no other
// page for being found this way. A page that only loads itself again stays in the browser.
func (m *AdaptiveMiddleware) leave(r *tegenaria.Request, page *tegenaria.Response) {
	if !fetch.IsRedirect(page.Status, page.Header) {
		return
	}
	target, err := urlx.Resolve(r.Url, fetch.LocationURL(fetch.FirstHeader(page.Header, "Location")))
	if own, _ := urlx.CutFragment(r.Url); err == nil {
		if target, _ = urlx.CutFragment(target); target == own {
			return
		}
	}
	tegenaria.RequestWithDownloader("")(r)
	tegenaria.RequestWithVariant("")(r)
}

// lacks reports whether a page does not have what each page has.
func (m *AdaptiveMiddleware) lacks(page *tegenaria.Response) bool {
	if m.requires == nil {
		return false
	}
	root, ok := rootOf(page)
	return ok && root.Select(m.requires).Len() == 0
}

// mayRender reports whether a request is one that leaves the choice to the middleware.
func mayRender(ctx *tegenaria.Context) bool {
	r := ctx.Request
	if ctx.IsInline() || r.Downloader() != "" || r.Variant() != "" || r.ResponseWriter != nil {
		return false
	}
	_, err := newQuery(r)
	return err == nil
}

// StateKey names what was learnt in a durable job. The engine calls it and the methods below; no program needs to.
func (m *AdaptiveMiddleware) StateKey() string { return "browser.adaptive" }

// RestoreState adds what a durable job has stored.
func (m *AdaptiveMiddleware) RestoreState(state map[string][]byte) error {
	return m.learner.restore(state)
}

// ChangedState returns what has changed since a version, and the version.
func (m *AdaptiveMiddleware) ChangedState(since uint64) (state map[string][]byte, version uint64, err error) {
	return m.learner.changedState(since)
}
