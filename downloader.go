package tegenaria

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/module"
)

// Downloader fetches what requests ask for. The engine has one of its own; others are set by
// [EngineWithDownloader] or registered by name.
//
// Contract. Download fetches ctx.Request and sends exactly one result: ctx itself, its DownloadResult
// set to a Response, to an Error, or to both where a body was cut off. Any status code is a
// Response, a redirect too: it is the engine that follows it. The channel has room for the result, so sending it
// never blocks. A second one is discarded. More break the contract: the channel has no room for them, so a
// Download that sends them blocks until the request's timeout, and then it is abandoned and its results are
// discarded; a goroutine of its own that sends them after Download has returned blocks for ever. No result
// within the request's timeout is an error. Download may
// block, or send from a goroutine of its own after it has returned. It must give up when ctx, which
// is a context.Context, is done. It is called concurrently. A panic is a failure of the
// request. A Response made by [NewResponse] is completed by the engine.
//
// CheckStatus reports whether a response goes to its parser rather than to the ErrorHandlers.
// allowStatus names the codes that engine and request allow. It is called concurrently and must
// not block.
type Downloader interface {
	Download(ctx *Context, result chan<- *Context)
	CheckStatus(statusCode uint64, allowStatus []uint64) bool
}

// downloadSettings is what the downloader of a crawl needs to know.
type downloadSettings struct {
	limits       Limits          // with its defaults
	agent        string          // User-Agent of requests that have none
	allowPrivate []netip.Prefix  // special-purpose addresses that may be dialled
	allowStatus  []uint64        // codes of 400 and over that reach the parsers of all requests
	client       *http.Client    // the user's; nil: the downloader makes its own connections
	tls          *tls.Config     // of its own connections; nil: the default
	concurrency  int             // how many downloads run at once
	bodies       *fetch.Budget   // nil: no bound
	loopback     *fetch.Loopback // nil: none
}

// httpDownloader is the engine's own Downloader. It follows no redirects, and keeps one set of connections for itself and
// one for each proxy.
type httpDownloader struct {
	client      *fetch.Client
	limits      Limits
	allowStatus []uint64
}

var _ Downloader = (*httpDownloader)(nil)

func newHTTPDownloader(s downloadSettings) *httpDownloader {
	return &httpDownloader{limits: s.limits, allowStatus: s.allowStatus, client: fetch.New(fetch.Config{
		Limits: s.limits.ofExchange(), Agent: s.agent, AllowPrivate: s.allowPrivate, Loopback: s.loopback,
		HTTP: s.client, TLS: s.tls, Concurrency: s.concurrency, Bodies: s.bodies,
	})}
}

// ofExchange returns those that bound a single exchange.
func (l Limits) ofExchange() fetch.Limits {
	return fetch.Limits{
		Body: l.Body, Spool: l.Spool, Ratio: l.Ratio, Header: l.Header, HeaderFields: l.HeaderFields,
		Connect: l.Connect, Handshake: l.Handshake, FirstByte: l.FirstByte, Idle: l.Idle, MinRate: l.MinRate,
	}
}

// Download fetches one request in the caller's goroutine. A request that is too slow fails with a
// [*TimeoutError], and a body above its limit with a [*BodyTooLargeError], both without a Response;
// a body that breaks off with a [*TruncatedBodyError] and what there is of the Response.
//
// gzip, deflate, br and zstd are asked for and removed. A request with an Accept-Encoding of its own, or with a Range,
// asks for no others.
//
// A body for the request's ResponseWriter goes there as it comes, and the Response is empty; Limits.Body
// does not apply to it, the timeout does. The writer gets no bodies of redirects that are followed, nor
// of status codes that are not allowed: they are in the Response as usual.
func (d *httpDownloader) Download(ctx *Context, result chan<- *Context) {
	resp, err := d.fetch(ctx)
	ctx.DownloadResult = &RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = &HandleError{CtxId: ctx.CtxId, Err: err, Request: ctx.Request, Response: resp, Stage: StageDownload}
	}
	result <- ctx
}

// CheckStatus allows codes below 400 and those of the list.
func (d *httpDownloader) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}

// close closes all connections, and those that are still being made. A Download that is running fails.
func (d *httpDownloader) close() { d.client.Close() }

// fetch makes the exchange that a Context's request asks for, and a Response of what came.
func (d *httpDownloader) fetch(ctx *Context) (*Response, error) {
	r := ctx.Request
	if r == nil {
		return nil, errNoRequest
	}
	answer, err := d.client.Do(ctx.parent(), d.request(ctx, r))
	if answer == nil {
		return nil, ownError(err)
	}
	resp := NewResponse(r, answer.Status, answer.Header, answer.Body)
	resp.URL, resp.Delay, resp.ContentLength = answer.URL, answer.Took.Seconds(), int(answer.Length)
	resp.ctx, resp.transfer = ctx, answer.Transfer
	if answer.File != nil {
		resp.Buffer, resp.view, resp.file, resp.readable = nil, nil, answer.File, d.limits.Body
	}
	return resp, err
}

// ownError returns the error of an exchange in the words of this package.
func ownError(err error) error {
	var unfit *fetch.RequestError
	if errors.As(err, &unfit) {
		return (*RequestError)(unfit)
	}
	return err
}

// request says what to fetch.
func (d *httpDownloader) request(ctx *Context, r *Request) fetch.Request {
	asked := fetch.Request{
		URL: r.Url, Method: r.Method, Params: r.Params, Header: r.Header, Cookies: r.Cookies, Body: r.Body,
		Follows: follows(r), Spool: r.spool, Partial: r.partial,
		Hold: ctx.hold(), Unbounded: ctx.job == nil || ctx.job.caller != nil, // the engine's own request, or an inline one
	}
	if r.Proxy != nil {
		asked.Proxy = &r.Proxy.ProxyUrl
	}
	if r.timeout >= 0 {
		asked.Timeout = r.timeoutOrDefault()
	}
	if r.ResponseWriter != nil {
		asked.Writer = &bodyWriter{down: d, ctx: ctx}
	}
	if r.BodyReader != nil {
		asked.ReadBody = func() ([]byte, error) {
			err := r.readBody(d.limits.Body)
			return r.Body, err
		}
	}
	if ctx.internal() != nil {
		asked.Beginning = internalBody
	}
	return asked
}

// downloaderModule is a downloader that is counted.
type downloaderModule struct {
	*module.Base
	Downloader
}

// downloaderSet finds the downloader of a request: several may be registered under one name, then the one
// that is least loaded and healthiest gets the next request.
type downloaderSet struct {
	named map[string]*module.Registrar[*downloaderModule]
	only  map[string]*downloaderModule // names with one downloader
	all   []*downloaderModule          // in order of registration, the default one first
}

// newDownloaderSet counts the default downloader as the one named "".
func newDownloaderSet(fallback Downloader, named []namedDownloader) (*downloaderSet, error) {
	s := &downloaderSet{
		named: make(map[string]*module.Registrar[*downloaderModule]),
		only:  make(map[string]*downloaderModule),
	}
	for i, d := range append([]namedDownloader{{"", fallback}}, named...) {
		mid, err := module.GenMID(module.TypeDownloader, uint64(i+1), netip.AddrPort{})
		if err != nil {
			return nil, err
		}
		base, err := module.NewBase(mid, nil)
		if err != nil {
			return nil, err
		}
		m := &downloaderModule{base, d.downloader}
		registrar := s.named[d.name]
		if registrar == nil {
			registrar = module.NewRegistrar[*downloaderModule]()
			s.named[d.name] = registrar
			s.only[d.name] = m
		} else {
			delete(s.only, d.name)
		}
		if _, err := registrar.Register(m); err != nil {
			return nil, err
		}
		s.all = append(s.all, m)
	}
	return s, nil
}

// pick returns the downloader that a request by this name goes to.
func (s *downloaderSet) pick(name string) (*downloaderModule, error) {
	if m := s.only[name]; m != nil {
		return m, nil
	}
	registrar := s.named[name]
	if registrar == nil {
		return nil, fmt.Errorf("no downloader is registered as %q; use RegisterDownloader", name)
	}
	return registrar.Get(module.TypeDownloader)
}

// IsPublicAddr reports whether an address is one that the default downloader dials without being allowed to by
// Politeness.AllowPrivate: a unicast address of the public internet, none of the special-purpose ranges of
// the IANA registries (RFC 6890), and, for an IPv6 address that a translator or tunnel forwards to an
// IPv4 one, that one public too. An invalid address is not public. For those who bring an http.Client of their own
// (EngineWithHTTPClient): its dialer has to judge what it dials.
func IsPublicAddr(addr netip.Addr) bool {
	return fetch.IsPublic(addr)
}
