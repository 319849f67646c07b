// Package httpcache keeps the pages of crawls on disk, so that a spider that is run again does not ask the site again.
//
//	cache, err := httpcache.Open("cache", httpcache.Options{})
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithDownloaderLayers(cache.Layer),
//		tegenaria.EngineWithSpiders(spider))
//
// The [Policy] says when a stored page is the answer: [Develop] while a spider is written, [Replay] without the network,
// [Refresh] to bring what is stored up to date. [Response.Cached] says what part the cache has had in a page, and
// Stats.Cache and the end of the log what it has saved.
//
// The way of a request, after the middlewares and when its slot lets it begin:
//
//	Answer    a stored page is handed out, by RFC9111 if it is fresh: no delay, no page of MaxPages, no byte of Limits.Bytes, no sample of AutoThrottle
//	Download  the site is asked, by Refresh and RFC9111 with the validators of the stored page; what comes is written, and seen
//	          by nobody
//	Settling  the engine says how the request has ended
//	Prepare   the page is thrown away if its request has not ended well
//	Settled   the page becomes visible
//
// # Whose page it is
//
// A page is found by the URL as it is sent, the method, the body of the request, its [tegenaria.RequestWithVariant], the
// request header fields that the page's Vary names, and by who has asked: the name of the cookie jar, the request's own
// cookies, its Authorization, and the user in its URL. The cookies that a jar has collected are not part of that, unless Vary names
// Cookie. Of what is secret only a digest is stored. The responses are stored as they come, with their Set-Cookie.
//
// # What is stored
//
// Pages that were fetched, redirected, or failed in their parser: a parser that panics keeps its page. Pages of 404, 410 and other
// codes of Options.Statuses are stored too, though such a request fails. Pages are not stored if
//
//   - the request is tried again, is given up, or a middleware has refused its page
//   - the body is truncated or damaged, or takes more than a quarter of MaxBytes
//   - the status is 206 or 304, or the request has a Range or a precondition of its own: by RFC9111 these are answered from
//     whole pages that are stored
//   - by RFC9111: the standard forbids it, or it would be of no use, since the page is neither fresh nor has a validator
//   - another downloader has fetched it, a browser for example: the log counts them at the end
//   - the body went to a ResponseWriter in a content coding
//
// Files have the mode 0600, folders 0700. One process has a cache open at a time; several engines of a process share it.
//
// [Response.Cached]: https://pkg.go.dev/github.com/tegenaria/tegenaria#Response.Cached
package httpcache
