package tegenaria

import "github.com/tegenaria/tegenaria/internal/guard"

// PageChange says what is known of a page before its parser runs: how it differs from the one that was last read.
type PageChange uint8

// The changes of pages.
const (
	ChangeUnknown     PageChange = iota // nothing is known: the page is another one, or may be
	ChangeNew                           // no earlier run of the history has read it
	ChangeNotModified                   // the site has said that the stored page is still right (304)
	ChangeSameText                      // the page is another one, and the part of it that the history compares is the same
)

// String returns "unknown", "new", "not modified" or "same text".
func (c PageChange) String() string {
	if names := [...]string{"unknown", "new", "not modified", "same text"}; int(c) < len(names) {
		return names[c]
	}
	return "invalid"
}

// PageHistory is an optional interface of any registered part that knows the pages of earlier runs, such as the pipeline of a history of
// package revisit.
//
// ChangeOf is asked about each page of the queue before its parser runs; key is that of its request. It may read from a disk, is called
// concurrently, and returns ChangeUnknown where it knows nothing. If several parts know a page, the first one counts.
type PageHistory interface {
	ChangeOf(key Key, page *Response) PageChange
}

// Change returns what is known of the page before its parser runs. A parser may spare itself work on a page that is not modified, such as
// requests to other services; links that it does not follow are not followed. With a history of package revisit, ChangeNew,
// ChangeNotModified and ChangeSameText say what the history knows. Without one, ChangeNotModified says that an HTTP
// cache has asked the site, and everything else is ChangeUnknown, as it always is in middlewares.
func (r *Response) Change() PageChange { return r.change }

// setChange finds out what is known of a page.
func (p *pages) setChange(j *job) {
	resp := j.ctx.Response()
	if resp == nil {
		return
	}
	if len(p.histories) == 0 {
		if resp.Cached().State == CacheRevalidated {
			resp.change = ChangeNotModified
		}
		return
	}
	for _, h := range p.histories {
		err := guard.Protect(func() error { resp.change = h.ChangeOf(j.rec.Key, resp); return nil })
		if err != nil {
			p.failures.handlerPanicked(&j.call, j.failure(StageParse, err), err)
		}
		if resp.change != ChangeUnknown {
			return
		}
	}
}
