package feedtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// ItemsPerPage is how many items each page of a job that is killed has.
const ItemsPerPage = 3

// Crawl is the job that is killed: each page of the site becomes items.
func Crawl(ctx context.Context, cache tegenaria.CacheInterface, url string, f Feed) error {
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[Book]) error {
		for n := range ItemsPerPage {
			if err := out.Item(Book{SKU: fmt.Sprint(resp.URL[len(url):], ".", n), Title: "book"}); err != nil {
				return err
			}
		}
		return out.FollowLinks()
	}
	return tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("killed", tegenaria.Handle(parse), url+"/0")),
		tegenaria.EngineWithPipelines(f),
	).Run(ctx, "killed")
}

// Kills runs a program, which runs [Crawl], and kills it again and again after a random number of requests, until it has come to its
// end. command returns its arguments. No page is being answered in two of the kills: the engine gives a page up with which the process
// has died three times in a row, and after a kill it fetches the pages that were in flight one by one.
func Kills(t *testing.T, pages int, seed uint64, command func(url string) []string) {
	loop := &killtest.Loop{Seed: seed, Log: t.Logf}
	var spared sync.Map // pages with which the program was killed
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		if _, known := spared.Load(n); !known && loop.Count() {
			spared.Store(n, true)
		}
		for child := 3*n + 1; child <= 3*n+3 && child < pages; child++ {
			fmt.Fprintf(w, `<a href="/%d">next</a>`, child)
		}
	}))
	defer site.Close()
	loop.Next = func(_ int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		return exec.Command(os.Args[0], command(site.URL)...), []killtest.Fault{{Count: 10 + random.IntN(pages/8)}}
	}
	starts, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if starts-1 < max(3, pages/80) {
		t.Error("too few kills")
	}
}
