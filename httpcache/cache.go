package httpcache

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/store"

	"github.com/tegenaria/tegenaria"
)

// Policy says when a stored page is handed out.
type Policy int

// The policies.
const (
	// Develop, the default: every page is fetched once, whatever its header says, and then handed out from disk. It is for
	// writing a spider. A stored page answers once in a run: who asks for it again, as a retry, a poll or a new login do,
	// gets an answer of the site, which replaces it.
	Develop Policy = iota
	// Replay hands out what is stored, as often as it is asked for, and never uses the network. A request whose page is
	// not stored fails with a [*NotStoredError].
	Replay
	// Refresh asks the site for each page, by the ETag and Last-Modified of the stored one: if the site says that this is
	// still right, it is handed out. Everything else is stored in its place. A robots.txt is neither stored nor handed out.
	Refresh
	// RFC9111 follows what sites say, as a browser's cache does: a page is handed out while it is fresh by its Cache-Control,
	// Expires or Last-Modified, and after that the site is asked by its validators. Only responses to GET are stored that
	// their header lets be stored. The response with an error, or none at all, leaves the stored page in its place where
	// stale-if-error allows it. A request's own Cache-Control holds too. A robots.txt is neither stored nor handed out.
	RFC9111
)

// policies are their names.
var policies = [...]string{"develop", "replay", "refresh", "rfc9111"}

// String returns the name of the policy: "develop", "replay", "refresh" or "rfc9111".
func (p Policy) String() string {
	if p < 0 || int(p) >= len(policies) {
		return fmt.Sprintf("Policy(%d)", int(p))
	}
	return policies[p]
}

// MarshalText writes the name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Policy) UnmarshalText(text []byte) error {
	i := slices.Index(policies[:], string(text))
	if i < 0 {
		return fmt.Errorf("httpcache: %q is no policy; there are %q", text, policies)
	}
	*p = Policy(i)
	return nil
}

// Options are those of a cache. The zero value has sane defaults.
type Options struct {
	Policy Policy
	// MaxBytes is how much is stored (default 10 GiB). When there is more, the pages go that were not used for the longest
	// time. If the process has the folder open already, the value of then holds.
	MaxBytes int64
	// Statuses are the codes of responses that are stored (default: those from 200 to 399, 404 and 410). 206 and 304 never are.
	Statuses []int
	// Keep reports whether a response may be stored, beside its status; nil: all may. It is called when the response has come,
	// before the middlewares see it, and concurrently. It must not change the response.
	Keep func(resp *tegenaria.Response) bool
	// Unconditional is for the policy Refresh: each visit of this number asks for a page without the validators of the
	// stored one, so that a site whose validators never change is found out (default 10). 1 never uses validators, and a
	// negative number always does.
	Unconditional int
}

// defaultUnconditional is what Unconditional is by default.
const defaultUnconditional = 10

// Cache is a folder of stored pages. Its methods may be called concurrently.
type Cache struct {
	folder  string
	store   *store.Store
	options Options
}

// The errors of a cache.
type (
	// InUseError is the failure to open a folder that another process has open.
	//
	//	Folder string
	//	PID    int   // 0 if it is not known
	//	Err    error // of the operating system
	InUseError = store.InUseError
	// VersionError is the failure to open a folder that another version of this package has made.
	//
	//	Folder      string
	//	Stored, Own int // formats
	VersionError = store.VersionError
	// WriteError says that writing has failed, and that nothing is stored any more until the folder is opened again.
	//
	//	Folder string
	//	Err    error // such as syscall.ENOSPC: the disk is full
	WriteError = store.WriteError
)

// NotStoredError is the failure of a request whose page is not stored and that may not use the network: with the policy [Replay],
// or because its Cache-Control says only-if-cached (RFC 9111 §5.2.1.7, which has caches answer 504 there).
type NotStoredError struct {
	URL, Method  string
	Folder       string // of the cache; "" if the request is one that no cache answers
	OnlyIfCached bool   // the request says so
}

// Error names the page and the remedy.
func (e *NotStoredError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("httpcache: the cache does not answer the request %s %s: it is for another downloader, or has a "+
			"Range, a precondition or an unread body; leave that out, or use another policy than replay",
			e.Method, e.URL)
	}
	if e.OnlyIfCached {
		return fmt.Sprintf("httpcache: the page %s %s is not stored in %s, or not fresh, and the Cache-Control of the "+
			"request is only-if-cached: leave that out", e.Method, e.URL, e.Folder)
	}
	return fmt.Sprintf("httpcache: the page %s %s is not stored in %s, and the policy replay does not use the network: "+
		"crawl it once with the policy develop", e.Method, e.URL, e.Folder)
}

// Open opens the cache in a folder, which is made if there is none. The caller closes it after the last run that uses it. The error is
// an [*InUseError] if another process has it open, and a [*VersionError] if another version has made it. Within a process a
// folder can be open several times, with different options.
func Open(folder string, o Options) (*Cache, error) {
	if o.Policy < 0 || int(o.Policy) >= len(policies) {
		return nil, fmt.Errorf("httpcache: %s is no policy; there are %q", o.Policy, policies)
	}
	if o.MaxBytes < 0 {
		return nil, fmt.Errorf("httpcache: MaxBytes is %d; it must not be negative, and 0 stands for 10 GiB", o.MaxBytes)
	}
	s, err := store.Open(folder, store.Options{MaxBytes: o.MaxBytes})
	if err != nil {
		return nil, err
	}
	o.Statuses, o.Unconditional = slices.Clone(o.Statuses), cmp.Or(o.Unconditional, defaultUnconditional)
	return &Cache{folder, s, o}, nil
}

// Close closes the cache. It is called when no engine uses the cache any more.
func (c *Cache) Close() error { return c.store.Close() }

// Layer is for [tegenaria.EngineWithDownloaderLayers]. Each run makes a layer of its own.
func (c *Cache) Layer(next tegenaria.Downloader) tegenaria.Downloader { return newLayer(c, next) }

// mayAsk reports whether a stored page may be asked about by its validators.
func (c *Cache) mayAsk(e *store.Entry) bool {
	visit := e.Confirmed + 2 // the first one has stored it
	return c.options.Unconditional < 0 || visit < c.options.Unconditional
}

// stores reports whether responses with a status are stored.
func (c *Cache) stores(status int) bool {
	switch {
	case status < 200, status == http.StatusPartialContent, status == http.StatusNotModified:
		return false
	case c.options.Statuses != nil:
		return slices.Contains(c.options.Statuses, status)
	}
	return status < 400 || status == http.StatusNotFound || status == http.StatusGone
}

// Stats are the figures of a cache.
type Stats struct {
	Entries int64 // pages that are stored
	Bodies  int64 // different ones
	Bytes   int64 // that pages take on disk
	// Damaged counts what was found damaged since the cache was opened, and Evicted the pages that had to go because of MaxBytes.
	Damaged, Evicted int64
	BeganAnew        error // why the index was thrown away and begun anew since the cache was opened; nil: it was not
	Failed           error // a *WriteError: why nothing is stored any more; nil: everything is
}

// Stats returns the figures.
func (c *Cache) Stats() Stats {
	s := c.store.Stats()
	stats := Stats{Entries: s.Entries, Bodies: s.Bodies, Bytes: s.Bytes, Damaged: s.Damaged, Evicted: s.Evicted, BeganAnew: s.BeganAnew}
	if s.Failed != nil {
		stats.Failed = s.Failed
	}
	return stats
}

// Page is a stored page without its body.
type Page struct {
	URL, Method string
	Status      int
	Header      http.Header
	Received    time.Time // when the site has sent it, or has said that it is still right
	Length      int64     // of the body, without content coding

	entry *store.Entry
}

// Pages returns the stored pages whose URL begins with a prefix, sorted by URL. The caller may change the cache meanwhile.
func (c *Cache) Pages(prefix string) iter.Seq[Page] {
	return func(yield func(Page) bool) {
		for e := range c.store.List(prefix) {
			if !yield(Page{e.URL, e.Method, e.Status, e.Header, e.Received, e.Length, e}) {
				return
			}
		}
	}
}

// Body returns the body of a page that [Cache.Pages] has returned. The caller closes it. ok is false if the page is not stored any more.
func (c *Cache) Body(p Page) (body io.ReadCloser, ok bool) {
	if p.entry == nil {
		return nil, false
	}
	return c.store.Open(p.entry)
}

// Stored returns the stored page that answers the request of a Context, whatever the policy and the age of the page; nil if there is
// none, or the request is one that no cache answers. [tegenaria.Response.Cached] says that it is stale. It is for Options.Pages of a
// history of package revisit, and may be called concurrently.
func (c *Cache) Stored(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	if !ctx.IsForOwnDownloader() || hasUnreadBody(ctx.Request) || isConditional(ctx.Request) {
		return nil, nil
	}
	e := c.find(ctx, keyOf(ctx))
	if e == nil {
		return nil, nil
	}
	reply := whole(e)
	resp, err := c.respond(ctx, e, reply)
	if resp != nil {
		resp.SetCached(tegenaria.CacheStatus{State: tegenaria.CacheStale, Age: reply.Age}, nil)
	}
	return resp, err
}

// Delete removes all pages of a URL, whoever has asked for them. The error is a [*WriteError].
func (c *Cache) Delete(url string) error { return c.store.DeleteURL(url) }
