package warc

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // a key of the index, and no protection
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Replay answers requests from an archive, by URL, method, body and variant ([tegenaria.RequestWithVariant]): a rendered page with actions
// never answers the request for the plain one. Redirects and failures are replayed as they were recorded. It
// is a [tegenaria.Downloader], and also a [tegenaria.Answerer], so that its answers cost neither a delay nor a page of a budget. It
// may be used concurrently, and for several runs.
//
// If an archive has several records of the same request, the first record answers the first such request, the second record the
// second, and the last record all further ones, so that a crawl runs as it did before; see [Nearest] for another rule. A request
// that the archive does not have fails with a [*NotArchivedError].
type Replay struct {
	near    time.Time // zero: in order
	files   []*source
	index   captures
	skipped int
	first   error // of the records that were skipped

	readers sync.Pool // of *reader

	mu    sync.Mutex // guards the field below
	turns map[string]int
}

var (
	_ tegenaria.Downloader = (*Replay)(nil)
	_ tegenaria.Answerer   = (*Replay)(nil)
)

// ReplayOption changes how an archive is replayed.
type ReplayOption func(*Replay)

// Nearest answers each request with the record whose time is nearest to t, and of two equally near records with the earlier one.
func Nearest(t time.Time) ReplayOption { return func(r *Replay) { r.near = t } }

// Open reads the list of records of an archive: a file, or a folder with files whose names contain .warc or end in .wacz. It takes
// memory for each record, about 200 bytes and its URL. Records that cannot be read are skipped, see [Replay.Skipped]; a file that cannot
// be opened, or not read to its end, is an error. Files are open only while something is read from them.
func Open(path string, opts ...ReplayOption) (*Replay, error) {
	r := &Replay{turns: make(map[string]int)}
	for _, opt := range opts {
		opt(r)
	}
	files, err := sourcesOf(path)
	if err != nil {
		return nil, fmt.Errorf("warc: opening an archive: %w", err)
	}
	r.files = files
	r.index.begin()
	for i, s := range files {
		err := s.each(func(one *Record, err error) error {
			if err == nil {
				err = r.index.add(one, i)
			}
			if err == nil {
				return nil
			}
			if r.skipped++; r.first == nil {
				r.first = fmt.Errorf("%s: %w", s.name, err)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("warc: opening an archive: %w", err)
		}
	}
	if r.index.end(); len(r.index.byKey) == 0 {
		return nil, errors.Join(fmt.Errorf("warc: the archive %s has no response", path), r.first)
	}
	return r, nil
}

// Skipped returns how many records could not be read, and why the first one could not.
func (r *Replay) Skipped() (n int, first error) { return r.skipped, r.first }

// Answer is part of tegenaria.Answerer.
func (r *Replay) Answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	key, found := r.find(ctx.Request)
	switch {
	case len(found) == 0:
		return nil, &NotArchivedError{URL: ctx.Request.Url, Method: methodOf(ctx.Request)}
	case r.peek(key, found).cut: // its failure has a response too, which only a download can have
		return nil, nil
	}
	return r.respond(ctx, r.take(ctx.Request, key, found))
}

// Download is part of tegenaria.Downloader.
func (r *Replay) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	resp, err := r.download(ctx)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request), tegenaria.ErrorWithResponse(resp), tegenaria.ErrorWithStage(tegenaria.StageDownload))
	}
	result <- ctx
}

func (r *Replay) download(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	key, found := r.find(ctx.Request)
	if len(found) == 0 {
		return nil, &NotArchivedError{URL: ctx.Request.Url, Method: methodOf(ctx.Request)}
	}
	return r.respond(ctx, r.take(ctx.Request, key, found))
}

// CheckStatus allows codes below 400 and those of the list.
func (r *Replay) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}

// Layer answers requests that the archive has and passes on the others: give it to [tegenaria.EngineWithDownloaderLayers].
func (r *Replay) Layer(next tegenaria.Downloader) tegenaria.Downloader {
	return &replayLayer{next, r}
}

type replayLayer struct {
	tegenaria.Downloader
	replay *Replay
}

var _ tegenaria.Answerer = (*replayLayer)(nil)

// Answer answers what the archive has.
func (l *replayLayer) Answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	resp, err := l.replay.Answer(ctx)
	if missing := (*NotArchivedError)(nil); errors.As(err, &missing) {
		return nil, nil
	}
	return resp, err
}

// Download passes on what the archive does not have.
func (l *replayLayer) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	if _, found := l.replay.find(ctx.Request); len(found) > 0 {
		l.replay.Download(ctx, result)
		return
	}
	l.Downloader.Download(ctx, result)
}

// find returns what the archive has of a request, by time, and its key.
func (r *Replay) find(req *tegenaria.Request) (key string, found []capture) {
	key = requestKey(methodOf(req), targetOf(urlOf(req)), bodyKeyOf(req.Body), variantKeyOf(req.Variant()))
	return key, r.index.byKey[key]
}

// peek returns the next capture that answers a request.
func (r *Replay) peek(key string, found []capture) capture {
	if !r.near.IsZero() {
		return found[nearest(found, r.near.UnixNano())]
	}
	if len(found) == 1 {
		return found[0]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return found[min(r.turns[key], len(found)-1)]
}

// take returns the capture that answers a request, whose turn is over then.
func (r *Replay) take(req *tegenaria.Request, key string, found []capture) capture {
	c := r.peek(key, found)
	if len(found) > 1 && r.near.IsZero() {
		r.mu.Lock()
		c = found[min(r.turns[key], len(found)-1)]
		r.turns[key] = min(r.turns[key]+1, len(found)-1)
		r.mu.Unlock()
	}
	if c.kind != notModified || isConditional(req) {
		return c
	}
	whole := r.index.whole[key]
	if len(whole) == 0 {
		return c
	}
	return whole[nearest(whole, c.date)]
}

// nearest returns the capture that is nearest to a time, of those that are sorted by time; of two equally near ones the first.
func nearest(found []capture, date int64) int {
	after := firstSince(found, date)
	if after == 0 {
		return 0
	}
	before := firstSince(found, found[after-1].date)
	if after < len(found) && distance(found[after].date, date) < distance(found[before].date, date) {
		return after
	}
	return before
}

// firstSince returns the first capture that is not before a time.
func firstSince(found []capture, date int64) int {
	i, _ := slices.BinarySearchFunc(found, date, func(c capture, date int64) int { return cmp.Compare(c.date, date) })
	return i
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// isConditional reports whether a request may be answered by 304 (RFC 9110 §13.1).
func isConditional(r *tegenaria.Request) bool {
	for name := range r.Header {
		switch http.CanonicalHeaderKey(name) {
		case "If-None-Match", "If-Modified-Since":
			return true
		}
	}
	return false
}

// respond makes the response of a capture.
func (r *Replay) respond(ctx *tegenaria.Context, c capture) (*tegenaria.Response, error) {
	one, done, err := r.open(c.place)
	if err != nil {
		return nil, err
	}
	defer done()
	if c.kind == failed {
		return nil, failureOf(ctx.Request.Url, one)
	}
	status, header, body, err := readHTTP(one.Block)
	bare := c.kind != whole && one.Header.Get("Content-Length") == "0" // a revisit need not have a block (ISO 28500 §6.7)
	switch {
	case bare && c.kind == notModified:
		status, header = http.StatusNotModified, make(http.Header)
	case err != nil && !bare:
		return nil, r.damaged(c.place, err)
	}
	if c.kind == identical {
		p, ok := r.index.originalOf(c)
		if !ok {
			return nil, r.damaged(c.place, errors.New("the record that it refers to is not in the archive"))
		}
		origin, done, err := r.open(p)
		if err != nil {
			return nil, err
		}
		defer done()
		originStatus, originHeader, originBody, err := readHTTP(origin.Block)
		if err != nil {
			return nil, r.damaged(p, err)
		}
		if body = originBody; bare {
			status, header = originStatus, originHeader
		}
		dropCodings(header, body)
	}
	switch {
	case c.kind == notModified || methodOf(ctx.Request) == http.MethodHead:
		return ctx.Respond(status, header, nil)
	case c.cut:
		return ctx.Respond(status, header, io.MultiReader(body, cutOff{}))
	}
	return ctx.Respond(status, header, body)
}

// cutOff is the end of a body that was cut off.
type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// open returns the record at a place. done is called when it is not needed any more.
func (r *Replay) open(p place) (one *Record, done func(), err error) {
	from, _ := r.readers.Get().(*reader)
	if from == nil {
		from = newReader(16 << 10)
	}
	s := r.files[p.file]
	file, err := os.Open(s.name)
	if err != nil {
		return nil, nil, fmt.Errorf("warc: opening an archive: %w", err)
	}
	done = func() {
		_ = file.Close() // it was read only
		r.readers.Put(from)
	}
	if one, err = s.at(file, from, p); err != nil {
		done()
		return nil, nil, r.damaged(p, err)
	}
	return one, done, nil
}

func (r *Replay) damaged(p place, err error) error {
	return &DamagedError{Path: r.files[p.file].name, Offset: p.offset, Err: err}
}

// bodyKeyOf returns what tells bodies of requests apart; "" for none.
func bodyKeyOf(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha1.Sum(body) //nolint:gosec // a key of the index, and no protection
	return string(sum[:])
}
