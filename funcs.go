package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// DownloaderFunc is a [Downloader] made of a func: one that drives a browser, say, or reads pages from an archive.
//
//	engine.RegisterDownloader("archive", tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
//		body, err := os.ReadFile(archive + url.PathEscape(r.Url))
//		return tegenaria.NewResponse(r, 200, nil, body), err
//	}))
//
// The func returns the response of r, made by [NewResponse], whatever its status is; or an error, which is the failure of the
// request; or both for a body that was cut off. It follows no redirects: the engine does. It may block, and must return when ctx, which is the request's
// [*Context], is done: at the latest when the request's timeout is over. It is called concurrently, and must not change r. Status codes
// of 400 and over reach the parser only if they are allowed, as with the default downloader.
type DownloaderFunc func(ctx context.Context, r *Request) (*Response, error)

var _ Downloader = DownloaderFunc(nil)

var errNoDownload = errors.New("the DownloaderFunc returned neither a response nor an error")

// Download calls the func, and sends what it returns.
func (f DownloaderFunc) Download(ctx *Context, result chan<- *Context) {
	resp, err := f(ctx, ctx.Request)
	if resp == nil && err == nil {
		err = errNoDownload
	}
	ctx.DownloadResult = &RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = NewError(ctx.CtxId, err, ErrorWithRequest(ctx.Request), ErrorWithResponse(resp), ErrorWithStage(StageDownload))
	}
	result <- ctx
}

// CheckStatus allows codes below 400 and those of the list.
func (f DownloaderFunc) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}

// MiddlewareFuncs is a middleware made of funcs:
//
//	tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{
//		Name: "language",
//		Request: func(ctx *tegenaria.Context) error {
//			ctx.Request.Header["Accept-Language"] = "en"
//			return nil
//		},
//	})
//
// A func that is nil does nothing; one of them must be there, or Run fails. The funcs may be called concurrently. For the other abilities of a
// middleware, such as [RequestFilter], [Opener] and [Closer], write a type: it may embed a MiddlewareFuncs.
type MiddlewareFuncs struct {
	Name     string                                                   // GetName: names the middleware in messages
	Internal bool                                                     // SeesInternal of [InternalMiddleware]: it also sees the requests for robots.txt
	Priority int                                                      // GetPriority: the smaller, the nearer to the queue
	Request  func(ctx *Context) error                                 // ProcessRequest
	Response func(ctx *Context, req chan<- *Context) error            // ProcessResponse
	Error    func(ctx *Context, err error, req chan<- *Context) error // ProcessError of [ErrorMiddleware]
}

var (
	_ MiddlewaresInterface = MiddlewareFuncs{}
	_ ErrorMiddleware      = MiddlewareFuncs{}
	_ InternalMiddleware   = MiddlewareFuncs{}
)

// GetPriority returns Priority.
func (m MiddlewareFuncs) GetPriority() int { return m.Priority }

// SeesInternal returns Internal.
func (m MiddlewareFuncs) SeesInternal() bool { return m.Internal }

// GetName returns Name.
func (m MiddlewareFuncs) GetName() string { return m.Name }

// ProcessRequest calls Request.
func (m MiddlewareFuncs) ProcessRequest(ctx *Context) error {
	if m.Request == nil {
		return nil
	}
	return m.Request(ctx)
}

// ProcessResponse calls Response.
func (m MiddlewareFuncs) ProcessResponse(ctx *Context, req chan<- *Context) error {
	if m.Response == nil {
		return nil
	}
	return m.Response(ctx, req)
}

// ProcessError calls Error, or returns err.
func (m MiddlewareFuncs) ProcessError(ctx *Context, err error, req chan<- *Context) error {
	if m.Error == nil {
		return err
	}
	return m.Error(ctx, err, req)
}

// hasFuncs refuses a MiddlewareFuncs without funcs. Types that embed one may have methods of their own.
func hasFuncs(part MiddlewaresInterface) error {
	m, ok := part.(MiddlewareFuncs)
	if p, isPointer := part.(*MiddlewareFuncs); isPointer && p != nil {
		m, ok = *p, true
	}
	if ok && m.Request == nil && m.Response == nil && m.Error == nil {
		return fmt.Errorf("MiddlewareFuncs %q: Request, Response and Error are nil, so it does nothing; set one of them", m.Name)
	}
	return nil
}
