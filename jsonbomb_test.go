package tegenaria_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
)

// A JSON text of 8 MB that is 200 MB of Go values is refused before they are made; a type that takes little of it is not,
// nor is a text that is long by its strings. The test fails if Response.Decode does not ask jsonsize.Of.
func TestH01JSONBombIsRefused(t *testing.T) {
	pages := map[string]string{
		"/bomb": "[" + strings.Repeat("{},", 8<<20/3) + "{}]",
		"/long": `{"text":"` + strings.Repeat("a", 8<<20) + `","number":7}`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(pages[r.URL.Path]))
	}))
	defer site.Close()
	looked := 0
	parse := func(_ context.Context, resp *tegenaria.Response, _ *tegenaria.Output[string]) error {
		looked++
		var limit *html.LimitError
		var some []struct{}
		if strings.HasSuffix(resp.URL, "/bomb") {
			if err := resp.Decode(&some); err != nil || len(some) < 1000 {
				t.Errorf("into a list of nothing: %v", err)
			}
			var all any
			if err := resp.Decode(&all); !errors.As(err, &limit) || all != nil {
				t.Errorf("a bomb: %v", err)
			}
			if resp.Json() != nil {
				t.Error("a bomb is an object")
			}
			return nil
		}
		if v := resp.Json(); v["number"] != 7.0 {
			t.Errorf("a long text: %v", resp.Decode(new(any)))
		}
		return nil
	}
	spider := tegenaria.NewSpider("test", tegenaria.Handle(parse), site.URL+"/bomb", site.URL+"/long")
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1))
	if err := engine.Execute("test"); err != nil || looked != 2 {
		t.Errorf("%d pages, %v", looked, err)
	}
}
