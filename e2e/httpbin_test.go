package e2e_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// An independent server: what its end points promise comes out of a real crawl.
func TestHTTPBin(t *testing.T) {
	server := httptest.NewServer(httpbin.New())
	defer server.Close()
	ends := make(map[string]*binResult)
	s := enginetest.NewSpider()
	for _, tt := range []struct {
		path  string
		check func(r *binResult) bool
		opts  []tegenaria.RequestOption
	}{
		{"/get?a=1", says(`"a": [`), []tegenaria.RequestOption{tegenaria.RequestWithRequestParams(map[string]string{"b": "2 3"})}},
		{"/gzip", says(`"gzipped": true`), nil},
		{"/deflate", says(`"deflated": true`), nil},
		{"/redirect/3", func(r *binResult) bool {
			return r.resp != nil && strings.HasSuffix(r.resp.URL, "/get") && len(r.resp.Request().Redirects) == 3
		}, nil},
		{"/relative-redirect/2", func(r *binResult) bool { return r.resp != nil && strings.HasSuffix(r.resp.URL, "/get") }, nil},
		{"/absolute-redirect/2", func(r *binResult) bool { return r.resp != nil && strings.HasSuffix(r.resp.URL, "/get") }, nil},
		{"/redirect/30", func(r *binResult) bool { return r.err != nil && r.err.Stage == tegenaria.StageRedirect }, nil},
		{"/basic-auth/user/secret", fails(401), nil},
		{"/basic-auth/user/secret?ok", says(`"authorized": true`), []tegenaria.RequestOption{
			tegenaria.RequestWithRequestHeader(map[string]string{"Authorization": "Basic dXNlcjpzZWNyZXQ="})}},
		{"/status/418", fails(418), nil},
		{"/status/503", says(""), []tegenaria.RequestOption{tegenaria.RequestWithAllowedStatusCode([]uint64{503})}},
		{"/drip?duration=0.05s&numbytes=20&delay=0s", func(r *binResult) bool { return r.resp != nil && len(r.resp.Bytes()) == 20 }, nil},
		{"/stream/5", func(r *binResult) bool { return r.resp != nil && strings.Count(r.resp.String(), "\n") == 5 }, nil},
		{"/stream-bytes/5000", func(r *binResult) bool { return r.resp != nil && len(r.resp.Bytes()) == 5000 }, nil},
		{"/bytes/70000", func(r *binResult) bool {
			return r.resp != nil && len(r.resp.Bytes()) == 70000 && r.resp.ContentLength == 70000
		}, nil},
		{"/range/100", func(r *binResult) bool { return r.resp != nil && r.resp.Status == 206 && len(r.resp.Bytes()) == 10 },
			[]tegenaria.RequestOption{tegenaria.RequestWithRequestHeader(map[string]string{"Range": "bytes=5-14"})}},
		{"/trailers?x=1", func(r *binResult) bool { return r.resp != nil && r.resp.Status == 200 }, nil},
		{"/delay/10", func(r *binResult) bool {
			var late *tegenaria.TimeoutError
			return r.err != nil && errors.As(r.err, &late)
		},
			[]tegenaria.RequestOption{tegenaria.RequestWithTimeout(300 * time.Millisecond)}},
		{"/cookies", says(`"k": "v w"`), []tegenaria.RequestOption{tegenaria.RequestWithRequestCookies(map[string]string{"k": "v w"})}},
		{"/encoding/utf8", says("∮ E⋅da = Q"), nil},
		{"/headers", says(`"X-Own": [`), []tegenaria.RequestOption{tegenaria.RequestWithRequestHeader(map[string]string{"x-own": "1"})}},
		{"/unstable?failure_rate=1", fails(500), nil},
	} {
		r := &binResult{}
		ends[tt.path] = r
		s.Start = chain(s.Start, tegenaria.NewContext(tegenaria.NewRequest(server.URL+tt.path, tegenaria.GET,
			func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				r.resp = ctx.Response()
				return nil
			}, append(tt.opts, tegenaria.RequestWithRequestMeta(map[string]any{"path": tt.path}), tegenaria.RequestWithDoNotFilter(true),
				tegenaria.RequestWithSlot(tt.path))...))) // one that refuses holds up no other
		defer func() {
			if !tt.check(r) {
				t.Errorf("%s: %v, %v", tt.path, r.resp, r.err)
			}
		}()
	}
	s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
		path, _ := err.Request.Meta["path"].(string)
		ends[path].err = err
	}
	enginetest.Run(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1)))
}

// binResult is how a request ended.
type binResult struct {
	resp *tegenaria.Response
	err  *tegenaria.HandleError
}

func says(text string) func(*binResult) bool {
	return func(r *binResult) bool { return r.resp != nil && strings.Contains(r.resp.String(), text) }
}

func fails(status int) func(*binResult) bool {
	return func(r *binResult) bool {
		return r.resp == nil && r.err != nil && r.err.Response != nil && r.err.Response.Status == status
	}
}

// chain sends one request more.
func chain(start func(chan<- *tegenaria.Context), ctx *tegenaria.Context) func(chan<- *tegenaria.Context) {
	return func(req chan<- *tegenaria.Context) {
		if start != nil {
			start(req)
		}
		req <- ctx
	}
}
