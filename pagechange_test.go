package tegenaria_test

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// pageHistory is a part that knows pages by the end of their URL.
type pageHistory struct {
	tegenaria.PipelinesInterface
	changes map[string]tegenaria.PageChange
	panics  bool
}

func (h *pageHistory) ChangeOf(key tegenaria.Key, page *tegenaria.Response) tegenaria.PageChange {
	if h.panics {
		panic("broken")
	}
	if key == (tegenaria.Key{}) {
		panic("a page without a key")
	}
	return h.changes[page.URL[strings.LastIndexByte(page.URL, '/'):]]
}

// What parsers are told of their pages.
func TestPageChange(t *testing.T) {
	known := func(changes map[string]tegenaria.PageChange) *pageHistory {
		return &pageHistory{PipelinesInterface: enginetest.PipelineFunc{}, changes: changes}
	}
	revalidated := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		resp := tegenaria.NewResponse(ctx.Request, 200, nil, nil)
		resp.SetCached(tegenaria.CacheStatus{State: tegenaria.CacheRevalidated}, nil)
		return resp, nil
	}
	first := known(map[string]tegenaria.PageChange{"/a": tegenaria.ChangeNew})
	second := known(map[string]tegenaria.PageChange{"/a": tegenaria.ChangeNotModified, "/b": tegenaria.ChangeNotModified})
	broken := known(nil)
	broken.panics = true
	for name, test := range map[string]struct {
		parts  []tegenaria.PipelinesInterface
		want   map[string]string
		errors uint64
	}{
		"without a history":    {nil, map[string]string{"/a": "unknown", "/b": "unknown", "/304": "not modified"}, 0},
		"the first part knows": {[]tegenaria.PipelinesInterface{first, second}, map[string]string{"/a": "new", "/b": "not modified", "/304": "unknown"}, 0},
		"a part that panics":   {[]tegenaria.PipelinesInterface{broken, first}, map[string]string{"/a": "new", "/b": "unknown", "/304": "unknown"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/a", enginetest.Text("a")).Page("http://a.test/b", enginetest.Text("b")).
				Page("http://a.test/304", revalidated)
			s := enginetest.NewSpider("http://a.test/a", "http://a.test/b", "http://a.test/304")
			var mu sync.Mutex
			got := make(map[string]string)
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				mu.Lock()
				defer mu.Unlock()
				got[strings.TrimPrefix(ctx.Request.Url, "http://a.test")] = ctx.Response().Change().String()
				return nil
			}
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(test.parts...))
			stats := enginetest.MustRun(t, e)
			if !maps.Equal(got, test.want) {
				t.Errorf("the pages are %v, not %v", got, test.want)
			}
			if uint64(stats.ErrorCount) != test.errors || stats.Outcomes[tegenaria.Fetched] != 3 {
				t.Errorf("%d errors, not %d; outcomes %v", stats.ErrorCount, test.errors, stats.Outcomes)
			}
		})
	}
}
