package tegenaria_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
)

// IgnoreRequest and GiveUp say how a request ends and why, whoever returns them.
func TestVerbsWithReason(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verb    error
		outcome tegenaria.Outcome
		reason  string
		told    int // calls of the ErrorHandler
	}{
		{"IgnoreRequest", tegenaria.IgnoreRequest("trap: calendar"), tegenaria.Filtered, "filtered: trap: calendar", 0},
		{"IgnoreRequest wrapped", errors.Join(tegenaria.IgnoreRequest("trap: calendar")), tegenaria.Filtered, "filtered: trap: calendar", 0},
		{"IgnoreRequest without a reason", tegenaria.IgnoreRequest(""), tegenaria.Filtered, "filtered: ignored", 0},
		{"ErrIgnoreRequest", tegenaria.ErrIgnoreRequest, tegenaria.Filtered, "filtered: ignored", 0},
		{"GiveUp", tegenaria.GiveUp(errBroken), tegenaria.GaveUp, "gave-up: " + errBroken.Error(), 1},
		{"GiveUp of nothing", tegenaria.GiveUp(nil), tegenaria.GaveUp, "gave-up: retry", 1},
	} {
		for _, where := range []string{"ProcessRequest", "ProcessResponse", "ProcessError", "Parser", "Fetch"} {
			t.Run(tt.name+" from "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &errorHooks{failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }}
					s := newSpider("http://a.test/x")
					s.parse = nothing
					switch where {
					case "ProcessRequest":
						m.request = func(*tegenaria.Context) error { return tt.verb }
					case "ProcessResponse":
						m.response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return tt.verb }
					case "ProcessError":
						m.response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return errors.New("to be replaced") }
						m.failed = func(*tegenaria.Context, error, chan<- *tegenaria.Context) error { return tt.verb }
					case "Parser":
						s.parse = parserOf(func(*tegenaria.Context) error { return tt.verb })
					case "Fetch":
						m.request = func(ctx *tegenaria.Context) error {
							if ctx.Request.Url == "http://a.test/inline" {
								return tt.verb
							}
							return nil
						}
						s.parse = parserOf(func(ctx *tegenaria.Context) error {
							if _, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/inline", tegenaria.GET, nil)); err == nil {
								t.Error("Fetch returned no error")
							}
							return nil
						})
					}
					w := newWorld().page("http://a.test/x", text("x")).page("http://a.test/inline", text("x"))
					stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
					want := map[tegenaria.Outcome]int64{tt.outcome: 1}
					told := tt.told
					if where == "Fetch" {
						want[tegenaria.Fetched], told = 1, 0
					}
					wantOutcomes(t, stats, want)
					if stats.Reasons[tt.reason] != 1 {
						t.Errorf("reasons are %v, want one %q", stats.Reasons, tt.reason)
					}
					if got := len(s.errors()); got != told {
						t.Errorf("the ErrorHandler was called %d times, want %d", got, told)
					}
				})
			})
		}
	}
}

// priorityFilter changes the priority of what is accepted.
type priorityFilter struct{ hooks }

func (priorityFilter) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	if r.Url == "http://a.test/last" {
		r.Priority -= 10
	}
	return nil
}

// A filter may change the order in which requests are asked.
func TestFilterChangesPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page("http://a.test/", page("/last", "/first", "/second"))
		for _, ref := range []string{"last", "first", "second"} {
			w.page("http://a.test/"+ref, text("x"))
		}
		e := newEngine(w, newSpider("http://a.test/"), tegenaria.EngineWithMiddlewares(&priorityFilter{}),
			tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1))
		mustRun(t, e)
		want := []string{"http://a.test/", "http://a.test/first", "http://a.test/second", "http://a.test/last"}
		if got := w.urls(); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// What a server writes into Location in a charset of its own is asked for in these bytes.
func TestRedirectLocationBytes(t *testing.T) {
	for _, tt := range []struct{ name, location, want string }{
		{"latin-1", "/a\xe7\xe3o?q=\xe9", "http://a.test/a%E7%E3o?q=%E9"},
		{"utf-8", "/a\xc3\xa7\xc3\xa3o", "http://a.test/a%C3%A7%C3%A3o"},
		{"many slashes", "///b.test/302", "http://b.test/302"},
		{"white space around", " \t/to ", "http://a.test/to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld().page("http://a.test/", redirect(302, tt.location)).page(tt.want, text("x"))
			s := newSpider("http://a.test/")
			s.parse = nothing
			wantOutcomes(t, mustRun(t, newEngine(w, s)), map[tegenaria.Outcome]int64{tegenaria.Redirected: 1, tegenaria.Fetched: 1})
		})
	}
}

func TestAllowsStatus(t *testing.T) {
	r := tegenaria.NewRequest("http://a.test/", tegenaria.GET, nil, tegenaria.RequestWithAllowedStatusCode([]uint64{304, 404}))
	for code, want := range map[int]bool{304: true, 404: true, 200: false, -404: false} {
		if got := r.AllowsStatus(code); got != want {
			t.Errorf("AllowsStatus(%d) is %v", code, got)
		}
	}
}
