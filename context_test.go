package tegenaria_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

type contextKey struct{}

// A Context of its own follows the context it was made with.
func TestContextFollowsItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), contextKey{}, "value"))
		deadline := time.Now().Add(time.Hour)
		timed, stop := context.WithDeadline(parent, deadline)
		defer stop()
		ctx := tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil), tegenaria.WithContext(timed))
		if at, ok := ctx.Deadline(); !ok || !at.Equal(deadline) {
			t.Errorf("Deadline: %v, %t", at, ok)
		}
		if ctx.Value(contextKey{}) != "value" || ctx.Err() != nil {
			t.Errorf("Value %v, Err %v", ctx.Value(contextKey{}), ctx.Err())
		}
		cancel(cause)
		<-ctx.Done()
		if ctx.Err() == nil || !errors.Is(context.Cause(ctx.Ctx), cause) {
			t.Errorf("Err %v, cause %v", ctx.Err(), context.Cause(ctx.Ctx))
		}
		empty := tegenaria.NewContext(nil)
		if _, ok := empty.Deadline(); ok || empty.Done() != nil {
			t.Error("a Context without a parent has a deadline or can end")
		}
	})
}

// CtxIds are random UUIDs, made with the request and kept until the item.
func TestCtxId(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	ctx := enginetest.Send("http://a.test/")
	if id, err := uuid.Parse(ctx.CtxId); err != nil || id.Version() != 4 || ctx.CtxId == enginetest.Send("http://a.test/").CtxId {
		t.Errorf("CtxId %q: %v", ctx.CtxId, err)
	}
	own := enginetest.Send("http://a.test/own")
	own.CtxId = "my own"
	w.Page("http://a.test/own", enginetest.Text("x"))
	var ids []string
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) { req <- ctx; req <- own }
	s.Parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(c, 1)
		return nil
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
		ids = append(ids, item.CtxId)
		return nil
	}})))
	if slices.Sort(ids); !slices.Contains(ids, ctx.CtxId) || !slices.Contains(ids, "my own") || len(ids) != 2 {
		t.Errorf("items have %q, want %q and %q", ids, ctx.CtxId, "my own")
	}
}

// WithContext gives up one request, and no other; its values reach every callback.
func TestWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/hang", enginetest.Hang).Page("http://a.test/", enginetest.Redirect(302, "/end")).Page("http://a.test/end", enginetest.Text("x")).
			Page("http://a.test/late", enginetest.Text("x"))
		cause := errors.New("given up")
		giveUp, cancel := context.WithCancelCause(t.Context())
		values := context.WithValue(t.Context(), contextKey{}, "value")
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/hang", "GET", nil), tegenaria.WithContext(giveUp))
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/late", "GET", nil, tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour))), tegenaria.WithContext(giveUp))
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil), tegenaria.WithContext(values))
		}
		parsed := 0
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			parsed++
			if ctx.Value(contextKey{}) != "value" || ctx.Request.Url != "http://a.test/end" {
				t.Errorf("%s has the value %v", ctx.Request.Url, ctx.Value(contextKey{}))
			}
			return nil
		})
		m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
			if want := ctx.Request.Url == "http://a.test/" || ctx.Request.Url == "http://a.test/end"; (ctx.Value(contextKey{}) == "value") != want {
				t.Errorf("the middleware sees %v for %s", ctx.Value(contextKey{}), ctx.Request.Url)
			}
			return nil
		}}
		go func() { enginetest.Sleep(time.Second); cancel(cause) }()
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
		if parsed != 1 || len(s.Errors()) != 2 {
			t.Errorf("%d parsed, errors %v", parsed, s.Errors())
		}
		for _, herr := range s.Errors() {
			if !errors.Is(herr, cause) {
				t.Errorf("ErrorHandler got %v, want the cause", herr)
			}
		}
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 2, tegenaria.Fetched: 1, tegenaria.Redirected: 1})
	})
}

// The values of Run's context reach the callbacks, and a Context ends with its request.
func TestContextOfARun(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	var kept *tegenaria.Context
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		kept = ctx
		if ctx.Value(contextKey{}) != "value" || ctx.Err() != nil {
			t.Errorf("Value %v, Err %v", ctx.Value(contextKey{}), ctx.Err())
		}
		return nil
	})
	e := enginetest.NewEngine(w, s)
	if err := e.Run(context.WithValue(t.Context(), contextKey{}, "value"), "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-kept.Done():
	default:
		t.Error("the Context of a request that has settled is not done")
	}
}
