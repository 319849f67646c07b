package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// On a site of which a tenth needs JavaScript everything is found, each page once, and nothing else is rendered.
func TestAdaptiveInChromium(t *testing.T) {
	const pages = 60
	b := openBrowser(t, browser.Options{})
	temporary(t)
	var log asked
	site := asSite(t, "127.0.0.1", &log, "User-agent: *\nDisallow:\n", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/p/%d", &i); err != nil {
			i = 0
		}
		content := fmt.Sprintf(`<ul><li>page %d</li></ul><a href="/p/%d">next</a>`, i, (i+1)%pages)
		if i%10 == 5 {
			fmt.Fprintf(w, "<!doctype html><title>x</title><div id=root></div><script>document.getElementById('root').innerHTML = `%s`</script>", content)
			return
		}
		fmt.Fprintf(w, "<!doctype html><title>x</title><div id=root>%s</div><script>document.title = 'y'</script>", content)
	})
	found := make(map[string]int)
	var mu sync.Mutex // guards found
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
		mu.Lock()
		found[strings.Join(page.CSS("li").Texts(), ",")]++
		mu.Unlock()
		return out.FollowLinks()
	})
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithMiddlewares(browser.Adaptive(browser.AdaptiveOptions{})),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("s", parser, site+"/p/0")))
	e.RegisterDownloader("browser", b)
	if err := e.Run(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		if name := fmt.Sprintf("page %d", i); found[name] != 1 {
			t.Errorf("%s was found %d times", name, found[name])
		}
	}
	if rendered := e.Stats().Outcomes[tegenaria.Filtered]; len(found) != pages || rendered != pages/10 {
		t.Errorf("%d pages were found, %d rendered: %v", len(found), rendered, found)
	}
}
