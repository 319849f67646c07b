package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/module"
)

// Downloader downloads requests. The engine has one of its own; others are set by
// [EngineWithDownloader] or registered by name.
//
// Contract. Download fetches ctx.Request and sends exactly one result: ctx itself, with its DownloadResult set to a
// Response, to an Error, or to both if the body was cut off. A response with any status code is a Response; redirects
// too, since the engine follows them. Download may block, or send the result from its own goroutine after it has
// returned; without a result within the request's timeout the request fails. It must return when ctx, which is a
// context.Context, is done. It is called concurrently. A panic is a failure of the request. The engine fills in the
// missing fields of a Response made by [NewResponse].
//
// The channel has room for the result, so sending it never blocks. A second result is discarded. More results break the
// contract: a Download that sends them blocks until the request's timeout, is then abandoned, and its results are
// discarded; a goroutine that sends them after Download has returned blocks for ever.
//
// CheckStatus reports whether a response goes to its parser rather than to the ErrorHandlers.
// allowStatus has the codes that the engine and the request allow. It is called concurrently and must
// not block.
type Downloader interface {
	Download(ctx *Context, result chan<- *Context)
	CheckStatus(statusCode uint64, allowStatus []uint64) bool
}

// LimitedDownloader is an optional interface of a [Downloader] that makes a bounded number of downloads at once, as a browser with
// its tabs does. Capacity returns that number, and 0 for no bound; it is called once in each run, before the first
// request, and must not block.
//
// The engine gives such a downloader no more requests at a time. Further ones wait before their downloads start, without
// a worker and without their timeout, as they wait for Politeness.PerProxy: a slot whose next request waits is held up,
// other slots go on. Requests of [Context.Fetch] wait likewise. Those for robots.txt, and what a layer downloads for
// itself, are not counted. Of several downloaders with one name the capacities are added; one that has none lifts the
// bound. What is asked is the downloader itself, whatever layers are around it.
type LimitedDownloader interface {
	Capacity() int
}

// downloaderModule is a downloader that is counted.
type downloaderModule struct {
	*module.Base
	Downloader
	name string // "" for the default one
}

// Summary adds the name to the counts.
func (d *downloaderModule) Summary() module.SummaryStruct {
	s := d.Base.Summary()
	s.Name = d.name
	return s
}

// downloaderSet finds the downloader of a request: several may be registered under one name, then the one
// that is least loaded and healthiest gets the next request.
type downloaderSet struct {
	*module.Set[*downloaderModule]
	capacities map[string]int         // by name; names without a bound are left out
	taking     map[string]*sync.Mutex // by names of several; held while one of them is picked and counted
}

// newDownloaderSet counts the default downloader as the one named "".
func newDownloaderSet(fallback Downloader, named []namedDownloader) (s downloaderSet, err error) {
	s = downloaderSet{module.NewSet[*downloaderModule](), make(map[string]int), make(map[string]*sync.Mutex)}
	unbounded, registered := make(map[string]bool), make(map[string]bool)
	for i, d := range append([]namedDownloader{{"", fallback}}, named...) {
		if registered[d.name] {
			s.taking[d.name] = new(sync.Mutex)
		}
		registered[d.name] = true
		var score module.CalculateScore
		if capacity := capacityOf(d.downloader); capacity > 0 {
			s.capacities[d.name] += capacity
			score = scoreWithin(capacity)
		} else {
			unbounded[d.name] = true
		}
		mid, err := module.GenMID(module.TypeDownloader, uint64(i+1), netip.AddrPort{})
		if err != nil {
			return s, err
		}
		base, err := module.NewBase(mid, score)
		if err != nil {
			return s, err
		}
		if err := s.Add(d.name, &downloaderModule{base, d.downloader, d.name}); err != nil {
			return s, err
		}
	}
	maps.DeleteFunc(s.capacities, func(name string, _ int) bool { return unbounded[name] })
	return s, nil
}

// capacityOf returns how many downloads a downloader makes at once; 0 for no bound.
func capacityOf(d Downloader) int {
	if b, ok := d.(LimitedDownloader); ok {
		return max(b.Capacity(), 0)
	}
	return 0
}

// scoreWithin scores a downloader that is one of several with its name: one that is full comes last.
func scoreWithin(capacity int) module.CalculateScore {
	return func(c module.Counts) uint64 {
		score := module.DefaultScore(c)
		if c.HandlingNumber >= uint64(capacity) {
			score += math.MaxUint32
		}
		return score
	}
}

// pick returns the downloader that a request by this name goes to.
func (s downloaderSet) pick(name string) (*downloaderModule, error) {
	d, known, err := s.Pick(module.TypeDownloader, name)
	if !known {
		return nil, fmt.Errorf("no downloader is registered as %q; use RegisterDownloader", name)
	}
	return d, err
}

// take is pick for a download that follows, by CallTaken: it counts before another request picks.
func (s downloaderSet) take(name string) (*downloaderModule, error) {
	if taking := s.taking[name]; taking != nil {
		taking.Lock()
		defer taking.Unlock()
	}
	d, err := s.pick(name)
	if err == nil {
		d.IncrHandlingNumber()
	}
	return d, err
}

type namedDownloader struct {
	name       string
	downloader Downloader
}

// DownloaderFunc is a [Downloader] made of a func: one that drives a browser, say, or reads pages from an archive.
//
//	engine.RegisterDownloader("archive", tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
//		body, err := os.ReadFile(archive + url.PathEscape(r.Url))
//		return tegenaria.NewResponse(r, 200, nil, body), err
//	}))
//
// The func returns the response of r, made by [NewResponse], whatever its status is; or an error, which is the failure
// of the request; or both for a body that was cut off. It follows no redirects: the engine does. It may block, and must
// return when ctx, which is the request's [*Context], is done: at the latest when the request's timeout is over. It is
// called concurrently, and must not change r. Status codes of 400 and over reach the parser only if they are allowed,
// as with the default downloader.
type DownloaderFunc func(ctx context.Context, r *Request) (*Response, error)

var _ Downloader = DownloaderFunc(nil)

// Download calls the func, and sends what it returns.
func (f DownloaderFunc) Download(ctx *Context, result chan<- *Context) {
	resp, err := f(ctx, ctx.Request)
	if resp == nil && err == nil {
		err = errors.New("the DownloaderFunc returned neither a response nor an error")
	}
	ctx.downloaded(resp, err)
	result <- ctx
}

// CheckStatus allows codes below 400 and those of the list.
func (f DownloaderFunc) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}
