package cookbook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// The programs of docs/guides/blocked.md.

// blocks recognises what a shop sends to those that it does not want to serve.
func blocks() *middleware.Blocks {
	return middleware.NewBlocks(middleware.BlockRules{
		Status:   []int{http.StatusForbidden},
		Header:   map[string]string{"X-Guard": "challenge"},
		Text:     []string{"are you a robot"},
		Redirect: []string{"/challenge"},
		Func: func(page *tegenaria.Response) string {
			if strings.Contains(page.URL, "/product/") && page.CSS(".price").Len() == 0 {
				return "a product without a price: " + page.CSS("title").Text()
			}
			return ""
		},
	})
}

// refusals is an error handler that says which pages a site has refused, and by what that was recognised.
func refusals(say func(line string)) tegenaria.EngineOption {
	return tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
		if blocked, ok := errors.AsType[*tegenaria.BlockedError](err); ok {
			say(fmt.Sprintf("%s: %s (%s)", blocked.URL, blocked.Rule, blocked.Evidence))
		}
	})
}

// It fails if a page that is refused is not recognised, or is parsed.
func TestRefusals(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href="/product/1">1</a><a href="/product/2">2</a><a href="/product/3">3</a>`)
		case "/product/1":
			fmt.Fprint(w, `<title>lamp</title><p class="price">9 €</p>`)
		case "/product/2":
			fmt.Fprint(w, `<title>Just a moment</title>`)
		case "/product/3":
			http.Error(w, "go away", http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	var mu sync.Mutex
	var said, parsed []string
	spider := tegenaria.NewSpider("shop", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		mu.Lock()
		parsed = append(parsed, strings.TrimPrefix(page.URL, site.URL))
		mu.Unlock()
		return out.FollowLinks()
	}), site.URL+"/")
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithMiddlewares(blocks()),
		tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1}), refusals(func(line string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, strings.TrimPrefix(line, site.URL))
		}))
	if err := engine.Run(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(said)
	slices.Sort(parsed)
	if want := []string{"/product/2: own rule (a product without a price: Just a moment)", "/product/3: status 403 (go away)"}; !slices.Equal(said, want) {
		t.Errorf("said: %q", said)
	}
	if !slices.Equal(parsed, []string{"/", "/product/1"}) || engine.Stats().Blocked != 2 {
		t.Errorf("parsed: %q, blocked: %d", parsed, engine.Stats().Blocked)
	}
}
