package tegenaria

import (
	"maps"
	"net/http"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// A spider may ask for a robots.txt itself, as those that start from sitemaps do. The engine has just asked for the same
// file then, because of that very request: so it answers the request with a copy of what came, and the site is asked
// once. A copy lives no longer than the requests that wait for the file.

// copyForOthers returns a copy of what the server has answered to the engine's own request for a robots.txt, nil if it is not
// whole or tells of a failure.
func copyForOthers(resp *Response, own *Request) *Response {
	body := resp.Bytes()
	switch {
	case resp.Status <= 0 || resp.Status >= 500 || resp.Status == http.StatusTooManyRequests:
		return nil
	case len(body) > robots.MaxBytes || len(body) == 0 && resp.hasBody(): // there may be more, or it is elsewhere
		return nil
	}
	return copyOf(resp, own)
}

// copyOf makes a response with the same content, for a request.
func copyOf(resp *Response, r *Request) *Response {
	same := NewResponse(r, resp.Status, maps.Clone(resp.Header), resp.Bytes())
	same.URL, same.Delay, same.transfer = resp.URL, resp.Delay, resp.transfer
	return same
}

// takeCopy keeps the copy of a robots.txt, if the job asks for that file itself.
func (j *job) takeCopy(copy *Response) {
	if r := j.ctx.Request; copy != nil && r.Url == urlx.Origin(r.Url)+"/robots.txt" {
		j.copy = copy
	}
}

// answerByCopy answers the job with the copy that it was given, if there is one and the job's request, as the middlewares
// have left it, sends nothing that the engine's own did not send.
func (g robotsGate) answerByCopy(j *job) {
	resp := j.copy
	if j.copy = nil; resp == nil || !likeOwn(j.ctx.Request, resp.Request()) {
		return
	}
	g.crawl.fetcher.bodies.Add(&j.root().hold, int64(len(resp.Bytes())))
	j.ctx.DownloadResult = &RequestResult{Response: copyOf(resp, j.ctx.Request)}
}

// likeOwn reports whether a request would be answered as the engine's own was.
func likeOwn(r, own *Request) bool {
	if r.Url != own.Url || r.method() != GET || len(r.Params) > 0 || len(r.Body) > 0 || len(r.Cookies) > 0 ||
		r.BodyReader != nil || r.ResponseWriter != nil || r.spool || r.downloader != own.downloader {
		return false
	}
	if (r.Proxy == nil) != (own.Proxy == nil) || r.Proxy != nil && *r.Proxy != *own.Proxy {
		return false
	}
	for name, value := range r.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Language", "Referer":
		default:
			if own.Header[name] != value {
				return false
			}
		}
	}
	return true
}
