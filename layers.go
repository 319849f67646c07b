package tegenaria

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Answerer is an optional interface of a [Downloader] and of a layer around one: it answers a request without a
// download, as a cache or an archive does. Such an answer causes no delay and does not count towards MaxPages. It is
// counted in Stats.Answered, not in Stats.RequestDownloaded.
//
// Answer is called after ProcessRequest, when the request's slot lets it begin: for requests, for Fetch and for
// robots.txt. The layers are asked first, from the outermost one inwards, then the request's downloader. The first
// response is the answer; make it with [NewResponse] or [Context.Respond]. If Answer returns neither a response nor an
// error, the next one is asked; if none answers, the request is downloaded. An error fails the request like an error of
// its download. Answer may block for no longer than Limits.Callback; it is called concurrently.
type Answerer interface {
	Answer(ctx *Context) (*Response, error)
}

// layers are those around the downloaders of a crawl. The zero value is none.
type layers struct {
	top       Downloader // the outermost one; nil: there is none
	parts     []any      // the outermost one first
	answerers []Answerer // of them
	answers   bool       // a layer or a downloader is an Answerer
}

// cacheStats sums up the counters of the HTTP caches among the layers, nil if there are none.
func (l layers) cacheStats() (sum *CacheStats) {
	for _, c := range all[CacheCounter](l.parts) {
		if sum == nil {
			sum = new(CacheStats)
		}
		_ = guard.Protect(func() error { sum.add(c.CacheStats()); return nil })
	}
	return sum
}

// newLayers makes the layers around a set of downloaders.
func newLayers(wrap []func(next Downloader) Downloader, set downloaderSet) (l layers, err error) {
	var errs []error
	next := Downloader(base{set})
	for i := len(wrap) - 1; i >= 0; i-- {
		if wrap[i] == nil {
			errs = append(errs, fmt.Errorf("EngineWithDownloaderLayers: layer %d is nil", i+1))
			continue
		}
		layer := wrap[i](next)
		if err := notNil(layer, "EngineWithDownloaderLayers, the downloader that its func returned", i); err != nil {
			errs = append(errs, err)
			continue
		}
		if layer == next {
			continue
		}
		next = layer
		l.top, l.parts = layer, append([]any{layer}, l.parts...)
		if a, ok := layer.(Answerer); ok {
			l.answerers = append([]Answerer{a}, l.answerers...)
		}
	}
	l.answers = len(l.answerers) > 0 || slices.ContainsFunc(set.All(),
		func(d *downloaderModule) bool { _, ok := d.Downloader.(Answerer); return ok })
	return l, errors.Join(errs...)
}
