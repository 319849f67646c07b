package tegenaria_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// A middleware that takes the Context's Request away fails the request, and the handlers still see which one.
//
// It fails if keepRequest does nothing.
func TestMiddlewareTakesTheRequestAway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   func(m *errorHooks)
		stage tegenaria.Stage
		is    error // nil: that the Request is missing
	}{
		{"ProcessRequest", func(m *errorHooks) {
			m.request = func(ctx *tegenaria.Context) error { ctx.Request = nil; return nil }
		}, tegenaria.StageRequest, nil},
		{"ProcessRequest with an answer", func(m *errorHooks) {
			m.request = func(ctx *tegenaria.Context) error {
				ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, nil)}
				ctx.Request = nil
				return nil
			}
		}, tegenaria.StageRequest, nil},
		{"ProcessRequest with an error", func(m *errorHooks) {
			m.request = func(ctx *tegenaria.Context) error { ctx.Request = nil; return errBroken }
		}, tegenaria.StageRequest, errBroken},
		{"ProcessResponse", func(m *errorHooks) {
			m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.Request = nil; return nil }
		}, tegenaria.StageResponse, nil},
		{"ProcessResponse with an error", func(m *errorHooks) {
			m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.Request = nil; return errBroken }
		}, tegenaria.StageResponse, errBroken},
	} {
		for _, inline := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/inline %t", tt.name, inline), func(t *testing.T) {
				const url = "http://a.test/x"
				w := onePage().page(url, text("x"))
				s := newSpider("http://a.test/")
				m := &errorHooks{}
				tt.set(m)
				request, response := m.request, m.response
				m.request = func(ctx *tegenaria.Context) error {
					if request == nil || ctx.Request.Url != url {
						return nil
					}
					return request(ctx)
				}
				m.response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
					if response == nil || ctx.Request.Url != url {
						return nil
					}
					return response(ctx, req)
				}
				check := func(who string, err error) {
					var herr *tegenaria.HandleError
					switch {
					case !errors.As(err, &herr) || herr.Stage != tt.stage || herr.Request == nil || herr.Request.Url != url:
						t.Errorf("%s got %v", who, err)
					case tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && !strings.Contains(err.Error(), "took the Context's Request away"):
						t.Errorf("%s got %v", who, err)
					}
				}
				m.failed = func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					check("ProcessError", err)
					if ctx.Request == nil || ctx.Request.Url != url {
						t.Errorf("ProcessError sees the request %v", ctx.Request)
					}
					return err
				}
				s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					if inline {
						_, err := get(ctx, url)
						check("Fetch", err)
						return nil
					}
					req <- send(url)
					return nil
				}
				stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
				wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1})
				if !inline {
					check("ErrorHandler", s.onlyError(t))
				}
			})
		}
	}
}

// What a parser or an ErrorMiddleware does to the Context's Request breaks nothing either.
func TestRequestTakenAwayLate(t *testing.T) {
	take := func(ctx *tegenaria.Context) error { ctx.Request = nil; return errBroken }
	t.Run("parser", func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = parserOf(take)
		stats := mustRun(t, newEngine(onePage(), s))
		if herr := s.onlyError(t); !errors.Is(herr, errBroken) || herr.Stage != tegenaria.StageParse {
			t.Errorf("ErrorHandler got %v", herr)
		}
		wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
	})
	t.Run("ProcessError", func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = parserOf(func(*tegenaria.Context) error { return errBroken })
		m := &errorHooks{failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
			ctx.Request = nil
			return err
		}}
		stats := mustRun(t, newEngine(onePage(), s, tegenaria.EngineWithMiddlewares(m)))
		if herr := s.onlyError(t); !errors.Is(herr, errBroken) || herr.Request == nil {
			t.Errorf("ErrorHandler got %v", herr)
		}
		wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
	})
}
