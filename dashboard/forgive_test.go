package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The penalty of a host ends by the API and by the form, and there is an error where there is none.
func TestForgive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seeds := []string{"http://a.test/0", "http://a.test/1", "http://a.test/2"}
		w := enginetest.NewWorld()
		for _, seed := range seeds[:2] {
			w.Page(seed, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				return tegenaria.NewResponse(ctx.Request, 503, map[string][]string{"Retry-After": {"300"}}, nil), nil
			})
		}
		w.Page(seeds[2], enginetest.Text("x"))
		spider := enginetest.NewSpider(seeds...)
		spider.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}))
		board := dashboard.New(e, dashboard.Options{})
		defer board.Close()
		a := asker{t, board}
		began := time.Now()
		var control sync.WaitGroup
		control.Go(func() {
			enginetest.Sleep(10 * time.Second)
			var done dashboard.Done
			if a.ask("POST", "/api/v1/hosts/a.test/forgive", "", 200, &done); done.Done != "a.test: the penalty for its refusals has ended" {
				t.Errorf("it was said: %q", done.Done)
			}
			enginetest.Sleep(10 * time.Second)
			for _, want := range []int{http.StatusSeeOther, http.StatusConflict} {
				r := httptest.NewRequest("POST", "/hosts", strings.NewReader("host=a.test&field=forgive"))
				r.Header.Set("Authorization", "Bearer "+board.ControlToken())
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				answer := httptest.NewRecorder()
				if board.ServeHTTP(answer, r); answer.Code != want {
					t.Errorf("the form was answered with %d, want %d: %s", answer.Code, want, answer.Body)
				}
			}
			a.ask("POST", "/api/v1/hosts/b.test/forgive", "", 409, new(dashboard.Refusal))
		})
		enginetest.MustRun(t, e)
		control.Wait()
		if starts := w.StartsOf("a.test", began); len(starts) != 3 || starts[1] != 10*time.Second || starts[2] != 20*time.Second {
			t.Errorf("downloads began at %v", starts)
		}
	})
}
