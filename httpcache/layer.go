package httpcache

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
	"github.com/tegenaria/tegenaria/httpcache/internal/store"

	"github.com/tegenaria/tegenaria"
)

// layer is the cache in one run.
type layer struct {
	tegenaria.Downloader // the next one
	*Cache
	run string // names the run

	hits, revalidated, stale, stored, saved, passed, tooLarge atomic.Int64

	mu      sync.Mutex                       // guards the fields below
	used    map[uint64]struct{}              // the entries that have answered in this run
	staged  map[string][]staged              // by the CtxId of the attempt
	settled map[string]*tegenaria.Settlement // of the batch that is about to be prepared
	next    []staged                         // of the batch that was prepared: visible when it is stored
}

// staged is what an attempt has brought, and nobody sees before its request settles: a page, or the newer header of one.
type staged struct {
	page   *store.Pending
	header *store.Entry
	status int
}

var (
	_ tegenaria.Downloader         = (*layer)(nil)
	_ tegenaria.Answerer           = (*layer)(nil)
	_ tegenaria.Committer          = (*layer)(nil)
	_ tegenaria.SettlementListener = (*layer)(nil)
	_ tegenaria.Closer             = (*layer)(nil)
	_ tegenaria.CacheCounter       = (*layer)(nil)
)

func newLayer(c *Cache, next tegenaria.Downloader) *layer {
	return &layer{Downloader: next, Cache: c, run: rand.Text(), used: make(map[uint64]struct{}), staged: make(map[string][]staged)}
}

// concerns reports whether the cache has a part in requests like this one.
func (l *layer) concerns(ctx *tegenaria.Context) bool {
	r := ctx.Request
	switch policy := l.options.Policy; {
	case !ctx.IsForOwnDownloader(), ctx.IsInternal() && (policy == Refresh || policy == RFC9111):
		return false
	case policy == RFC9111: // it knows what ranges and preconditions mean, and what an unsafe method makes invalid
		return !hasUnreadBody(r) || methodOf(r) != http.MethodGet && methodOf(r) != http.MethodHead
	}
	return !hasUnreadBody(r) && !isConditional(r)
}

// Answer hands out a stored page.
func (l *layer) Answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	replay := l.options.Policy == Replay
	if !l.concerns(ctx) {
		if replay {
			return nil, &NotStoredError{URL: ctx.Request.Url, Method: methodOf(ctx.Request)}
		}
		return nil, nil
	}
	switch l.options.Policy {
	case Refresh:
		return nil, nil
	case RFC9111:
		return l.answerByStandard(ctx)
	}
	key := keyOf(ctx)
	e := l.find(ctx, key)
	if e != nil && (replay || l.mayUse(e)) {
		resp, err := l.handOut(ctx, e, whole(e), tegenaria.CacheHit, nil)
		if resp != nil || err != nil {
			return resp, err
		}
	}
	if replay {
		return nil, &NotStoredError{URL: key.URL, Method: key.Method, Folder: l.folder}
	}
	return nil, nil
}

// find returns the stored page of a request; nil if there is none.
func (c *Cache) find(ctx *tegenaria.Context, key store.Key) *store.Entry {
	entries := c.store.Get(key)
	if len(entries) == 0 {
		return nil
	}
	if i := rfc9111.Choose(requestOf(ctx, key), rulesOf(entries)); i >= 0 {
		return entries[i]
	}
	return nil
}

// mayUse reports whether an entry may answer: it is of an earlier run, and has not answered in this one.
func (l *layer) mayUse(e *store.Entry) bool {
	if e.Run == l.run {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, used := l.used[e.ID]
	l.used[e.ID] = struct{}{}
	return !used
}

// whole is a stored page as it is.
func whole(e *store.Entry) rfc9111.Reply {
	return rfc9111.Reply{Status: e.Status, Header: e.Header, Age: max(time.Since(e.Received), 0)}
}

// respond makes a response of a stored page. It returns nil and no error if the body is not there any more.
func (c *Cache) respond(ctx *tegenaria.Context, e *store.Entry, r rfc9111.Reply) (*tegenaria.Response, error) {
	stored, ok := c.store.Open(e)
	if !ok {
		return nil, nil
	}
	defer stored.Close()
	var body io.Reader = stored
	switch {
	case methodOf(ctx.Request) == http.MethodHead || r.Status == http.StatusNotModified:
		body = nil
	case r.Range != nil:
		if _, err := io.CopyN(io.Discard, stored, r.Range.Start); err != nil {
			return nil, err
		}
		body = io.LimitReader(stored, r.Range.Length)
	}
	resp, err := ctx.Respond(r.Status, r.Header, body)
	if err != nil {
		return nil, err // never a part of a body
	}
	return resp, nil
}

// Download asks the site, and stages what comes.
func (l *layer) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	if !l.concerns(ctx) {
		if !ctx.IsInternal() && !ctx.IsForOwnDownloader() {
			l.passed.Add(1)
		}
		l.Downloader.Download(ctx, result)
		return
	}
	x := exchange{layer: l, ctx: ctx, asked: ctx, key: keyOf(ctx)}
	switch l.options.Policy {
	case Refresh:
		if e := l.find(ctx, x.key); e != nil && x.key.Method == http.MethodGet && len(e.Condition()) > 0 && l.mayAsk(e) {
			x.old = e
			x.addCondition(e.Condition())
		}
	case RFC9111:
		x.decision, x.entries = l.decide(ctx, x.key)
		x.addCondition(x.decision.Condition)
	}
	x.began = time.Now()
	got := x.ask()
	if got == nil {
		return // it was given up
	}
	x.take(got)
	result <- ctx
}

// exchange is one download.
type exchange struct {
	layer  *layer
	ctx    *tegenaria.Context
	asked  *tegenaria.Context // with the condition, which neither parser nor retry sees
	key    store.Key
	old    *store.Entry // that Refresh asks about; nil: there is none
	began  time.Time
	stream *store.Writer // takes a body that goes to a ResponseWriter; nil: it does not

	decision rfc9111.Decision // of the policy RFC9111
	entries  []*store.Entry   // that it was made from
}

// addCondition has the site asked whether a stored page is still right.
func (x *exchange) addCondition(condition http.Header) {
	if len(condition) == 0 {
		return
	}
	asked, request := *x.ctx, *x.ctx.Request
	request.Header = maps.Clone(request.Header)
	if request.Header == nil {
		request.Header = make(map[string]string)
	}
	for name, values := range condition {
		request.Header[name] = values[0]
	}
	asked.Request = &request
	x.asked = &asked
}

// ask passes the request on, and returns its result; nil if the request has ended meanwhile.
func (x *exchange) ask() *tegenaria.Context {
	if x.ctx.Request.ResponseWriter != nil {
		x.stream = x.layer.store.Create()
		x.asked.CopyWire(lenient{x.stream})
	}
	own := make(chan *tegenaria.Context, 2) // a second result is discarded
	x.layer.Downloader.Download(x.asked, own)
	select {
	case got := <-own:
		return got
	case <-x.ctx.Done():
		select {
		case got := <-own:
			return got
		default: // it was given up: the downloader may still write to the stream, which is left to it
			return nil
		}
	}
}

// lenient lets a download go on though its body cannot be stored.
type lenient struct{ to *store.Writer }

// Write never fails: Finish does.
func (l lenient) Write(p []byte) (int, error) {
	_, _ = l.to.Write(p)
	return len(p), nil
}

// take sets the result of the request, and stages what has come.
func (x *exchange) take(got *tegenaria.Context) {
	if got == nil || got.DownloadResult == nil {
		x.discard()
		return
	}
	result := got.DownloadResult
	x.ctx.DownloadResult = result
	if result.Error != nil && result.Error.Request == x.asked.Request {
		result.Error.Request = x.ctx.Request
	}
	if x.layer.options.Policy == RFC9111 {
		x.takeByStandard(result)
		return
	}
	resp := result.Response
	if resp == nil || result.Error != nil || resp.Transfer().Err != nil { // failed, truncated or damaged
		x.discard()
		return
	}
	if x.old != nil && resp.Status == http.StatusNotModified {
		x.discard()
		x.ctx.DownloadResult = x.validated(result)
		return
	}
	x.store(rfc9111.NewEntry(requestOf(x.ctx, x.key), x.response(resp)), resp, nil)
	x.discard()
}

// store stages a page, in the place of others, if the options allow it.
func (x *exchange) store(entry rfc9111.Entry, resp *tegenaria.Response, drop []uint64) {
	if !x.layer.stores(resp.Status) || x.layer.options.Keep != nil && !x.layer.options.Keep(resp) {
		return
	}
	page, err := x.write(&store.Entry{Key: x.key, Run: x.layer.run, Entry: entry}, resp, drop)
	switch {
	case errors.Is(err, store.ErrTooLarge):
		x.layer.tooLarge.Add(1)
	case err == nil && page != nil:
		x.layer.stage(x.ctx, staged{page: page, status: resp.Status})
	}
}

// response is what has come, without its body.
func (x *exchange) response(resp *tegenaria.Response) rfc9111.Response {
	return rfc9111.Response{Status: resp.Status, Header: http.Header(resp.Header).Clone(), Requested: x.began, Received: time.Now()}
}

// write writes the body. It returns nil if it cannot be had.
func (x *exchange) write(e *store.Entry, resp *tegenaria.Response, drop []uint64) (*store.Pending, error) {
	w := x.stream
	x.stream = nil
	streamed := w != nil && x.ctx.Request.ResponseWriter != nil && len(resp.Bytes()) == 0 && resp.ContentLength > 0
	if streamed {
		if len(resp.Transfer().Removed()) > 0 { // the stream has the body in a content coding
			w.Discard()
			return nil, nil
		}
		return w.Finish(e, drop...)
	}
	if w != nil { // the body did not go to the ResponseWriter after all
		w.Discard()
	}
	w = x.layer.store.Create()
	body := io.NopCloser(io.Reader(bytes.NewReader(resp.Bytes())))
	if resp.Bytes() == nil {
		body = resp.Reader() // of a file
	}
	defer body.Close()
	if _, err := io.Copy(w, body); err != nil {
		w.Discard()
		return nil, err
	}
	return w.Finish(e, drop...)
}

// discard throws the stream away.
func (x *exchange) discard() {
	if x.stream != nil {
		x.stream.Discard()
		x.stream = nil
	}
}

// validated is the result of a download whose answer was 304: the stored page, with the newer header.
func (x *exchange) validated(came *tegenaria.RequestResult) *tegenaria.RequestResult {
	e := *x.old
	var fits bool
	if e.Entry, fits = x.old.Validated(x.response(came.Response)); !fits {
		return x.askAgain(&e)
	}
	page, err := x.layer.handOut(x.ctx, &e, whole(&e), tegenaria.CacheRevalidated, came)
	switch {
	case err != nil:
		return x.failure(err)
	case page == nil:
		return x.failure(x.damaged())
	}
	e.Run = x.layer.run
	e.Confirmed++
	x.layer.stage(x.ctx, staged{header: &e, status: e.Status})
	return &tegenaria.RequestResult{Response: page}
}

// askAgain has a request run again without a condition, since the 304 was about another page than the stored one.
func (x *exchange) askAgain(e *store.Entry) *tegenaria.RequestResult {
	_ = x.layer.store.Delete(e.Key, e.ID) // it is not handed out any more, and Stats tells of the error
	return x.failure(tegenaria.Retry(0, fmt.Errorf("httpcache: the 304 for %s is about another page than the stored one", e.URL)))
}

// damaged has a request run again without a condition, since the page that is still right is not there any more.
func (x *exchange) damaged() error {
	return tegenaria.Retry(0, fmt.Errorf("httpcache: the stored page of %s is damaged", x.key.URL))
}

func (x *exchange) failure(err error) *tegenaria.RequestResult {
	return &tegenaria.RequestResult{Error: tegenaria.NewError(x.ctx.CtxId, err, tegenaria.ErrorWithRequest(x.ctx.Request),
		tegenaria.ErrorWithStage(tegenaria.StageDownload))}
}

// stage keeps what has come until its request settles. A robots.txt has no request: what the engine has read of it holds from now on.
func (l *layer) stage(ctx *tegenaria.Context, s staged) {
	if ctx.IsInternal() {
		l.commit([]staged{s})
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.staged[ctx.CtxId] = append(l.staged[ctx.CtxId], s)
}

// commit makes pages visible. If the disk does not take them, they are not stored, and CacheStats says so.
func (l *layer) commit(list []staged) {
	var pages []*store.Pending
	for _, s := range list {
		if s.page != nil {
			pages = append(pages, s.page)
		} else {
			_ = l.store.Update(s.header) // see above
		}
	}
	if len(pages) > 0 && l.store.Commit(pages...) == nil {
		l.stored.Add(int64(len(pages)))
	}
}

// CommitKey is part of tegenaria.Committer.
func (l *layer) CommitKey() string { return "httpcache:" + l.folder }

// Restore is part of tegenaria.Committer: what was not visible when an earlier run died is gone, and its requests run again.
func (l *layer) Restore(context.Context, []byte) error { return nil }

// Settling is part of tegenaria.SettlementListener.
func (l *layer) Settling(settlements []tegenaria.Settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = make(map[string]*tegenaria.Settlement, len(settlements))
	for _, s := range settlements {
		l.settled[s.CtxId] = &s
	}
}

// Prepare is part of tegenaria.Committer. The pages of requests that have ended well become visible when the batch is stored, not
// here: a crawl that is killed between would find pages in the cache whose requests run again, and which neither a web archive nor
// anything else below this layer has kept.
func (l *layer) Prepare(_ context.Context, ids []string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		how := l.settled[id]
		for _, s := range l.staged[id] {
			if how != nil && keeps(how, s.status) {
				l.next = append(l.next, s)
			} else if s.page != nil {
				defer s.page.Discard()
			}
		}
		delete(l.staged, id)
	}
	l.settled = nil
	return nil, nil
}

// Settled is part of tegenaria.SettlementListener: pages become visible.
func (l *layer) Settled() {
	l.mu.Lock()
	visible := l.next
	l.next = nil
	l.mu.Unlock()
	l.commit(visible)
}

// keeps reports whether the page of a request that has ended so is stored, see the package comment. A page whose status is an error
// ends as a failure or is left out, by the engine or by a middleware for such statuses: it is stored because Statuses has it.
func keeps(how *tegenaria.Settlement, status int) bool {
	switch how.Outcome {
	case tegenaria.Fetched, tegenaria.Redirected:
		return true
	case tegenaria.GaveUp:
		return false
	}
	refused := how.Failed == tegenaria.StageStatus || how.Failed == tegenaria.StageResponse
	return how.Failed == tegenaria.StageParse || status >= 400 && refused && how.Outcome != tegenaria.Dropped
}

// Discard is part of tegenaria.Committer.
func (l *layer) Discard(id string) {
	l.mu.Lock()
	list := l.staged[id]
	delete(l.staged, id)
	l.mu.Unlock()
	for _, s := range list {
		if s.page != nil {
			s.page.Discard()
		}
	}
}

// Close throws away what is still staged, and what was prepared and not stored.
func (l *layer) Close(context.Context, string) error {
	l.mu.Lock()
	next := l.next
	l.next = nil
	ids := make([]string, 0, len(l.staged))
	for id := range l.staged {
		ids = append(ids, id)
	}
	l.mu.Unlock()
	for _, s := range next {
		if s.page != nil {
			s.page.Discard()
		}
	}
	for _, id := range ids {
		l.Discard(id)
	}
	return nil
}

// CacheStats is part of tegenaria.CacheCounter.
func (l *layer) CacheStats() tegenaria.CacheStats {
	s := tegenaria.CacheStats{
		Hits: l.hits.Load(), Revalidated: l.revalidated.Load(), Stale: l.stale.Load(), Stored: l.stored.Load(),
		BytesSaved: l.saved.Load(), Passed: l.passed.Load(),
	}
	stats := l.Stats()
	if stats.BeganAnew != nil {
		s.Problems = append(s.Problems, stats.BeganAnew.Error())
	}
	if stats.Failed != nil {
		s.Problems = append(s.Problems, stats.Failed.Error())
	}
	if n := l.tooLarge.Load(); n > 0 {
		s.Problems = append(s.Problems, fmt.Sprintf("%s; pages of this run: %d", store.ErrTooLarge, n))
	}
	return s
}
