package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// explain asks what became of a URL.
func (a asker) explain(url string) dashboard.Explained {
	a.t.Helper()
	var x dashboard.Explained
	a.ask("GET", "/api/v1/url?u="+url, "", http.StatusOK, &x)
	return x
}

// What became of a URL is known without a durable job too, as far as the board has seen it; of one that waits its host is shown.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/gone", enginetest.After(100*time.Millisecond, enginetest.Status(404))).Page("http://a.test/fetched", enginetest.Text("x"))
		seeds := []string{"http://a.test/gone", "http://a.test/b", "http://a.test/c"}
		for _, seed := range seeds[1:] {
			w.Page(seed, enginetest.Text("x"))
		}
		spider := enginetest.NewSpider(seeds...)
		spider.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if strings.HasSuffix(ctx.Request.Url, "/c") {
				_, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/fetched", tegenaria.GET, nil))
				return err
			}
			return nil
		}
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: 10 * time.Second}))
		board := dashboard.New(e, dashboard.Options{})
		defer board.Close()
		a := asker{t, board}
		var looking sync.WaitGroup
		looking.Go(func() {
			enginetest.Sleep(time.Second)
			gone := a.explain("HTTP://a.test:80/gone") // another spelling of the same key
			if want := []string{"Its request has ended at 00:00:00: failed (status), status 404, the download took 100ms."}; gone.State != "ended" || fmt.Sprint(gone.Text) != fmt.Sprint(want) || gone.Host != nil {
				t.Errorf("a page that is gone: %+v", gone)
			}
			waits := a.explain("http://a.test/c")
			want := []string{"No request of this URL has ended in this run.",
				"Whether it waits, was refused when it was found, or was never found is not known: only a durable job can be asked that.",
				"At a.test 2 requests wait, in an order that is not known here, and 0 of 8 downloads are in flight; between two of them is a delay of 10s (settings); the next may start in 9s."}
			if fmt.Sprint(waits.Text) != fmt.Sprint(want) || waits.State != "unknown" || waits.Host.Name != "a.test" || waits.Host.Pending != 2 {
				t.Errorf("a page that waits: %+v", waits)
			}
			if other := a.explain("http://me:s3cret@b.test/"); len(other.Text) != 3 || other.URL != "http://me:xxxxx@b.test/" ||
				other.Text[2] != "At b.test 0 requests wait, in an order that is not known here, and 0 of 8 downloads are in flight; between two of them is a delay of 10s (settings); the next may start now." {
				t.Errorf("a page of a host without requests: %+v", other)
			}
		})
		_ = e.Run(t.Context(), spider.GetName())
		looking.Wait()
		if fetched := a.explain("http://a.test/fetched"); fetched.State != "ended" || !strings.Contains(fetched.Text[0], ": fetched, status 200") {
			t.Errorf("a page that was fetched inline: %+v", fetched)
		}
		if other := a.explain("http://b.test/"); other.Text[len(other.Text)-1] != "No crawl is running." {
			t.Errorf("after the crawl: %+v", other)
		}
	})
}

// A durable job is asked instead.
func TestExplainJob(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	chain := []dashboard.JobRequest{{URL: "http://a.test/c", State: "ended", Why: "failed (status), status 404", Depth: 1, Attempt: 2, At: &at}}
	for range 150 {
		chain = append(chain, dashboard.JobRequest{URL: "http://a.test/", State: "ended", Why: "fetched"})
	}
	board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{Explain: func(_ context.Context, url string) ([]dashboard.JobRequest, error) {
		if url != "http://a.test/c" {
			return nil, errors.New("the job does not know <script>\u202e")
		}
		return chain, nil
	}})
	defer board.Close()
	a := asker{t, board}
	x := a.explain("http://a.test/c")
	if x.State != "ended" || len(x.Requests) != 100 || len(x.Text) != 101 || x.Text[0] != "failed (status), status 404, depth 1, tried 2 times before, at 2026-01-02 03:04:05." ||
		x.Text[1] != "Found by http://a.test/: fetched, depth 0." || x.Text[100] != "It was found through 51 requests more." {
		t.Errorf("a page that has failed: %+v", x)
	}
	if x := a.explain("http://a.test/d"); x.State != "unknown" || x.Text[0] != "the job does not know <script>\u202e." || x.Text[1] != "No crawl is running." {
		t.Errorf("a page that is not known: %+v", x)
	}
	checkPage(t, "/url", get(t, board, "/url?u=http://a.test/d", board.ViewToken()), false)
}

// The board keeps the last 10,000 requests that have ended, and says that there were more.
func TestManyEnds(t *testing.T) {
	board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{})
	defer board.Close()
	page := func(i int) string { return fmt.Sprintf("http://a.test/%d", i) }
	reason := strings.Repeat("x", 1<<20)
	for i := range 10100 {
		request := tegenaria.NewRequest(page(i), tegenaria.GET, nil)
		dashboard.Ended(board, tegenaria.RequestEnd{Request: request, Outcome: tegenaria.Fetched, Reason: reason, Attempt: 1})
	}
	a := asker{t, board}
	for _, i := range []int{0, 99} {
		if x := a.explain(page(i)); x.State != "unknown" || x.Text[0] != "It is not among the last 10000 requests of this run that have ended." {
			t.Errorf("page %d: %+v", i, x)
		}
	}
	for _, i := range []int{100, 10099} {
		if x := a.explain(page(i)); x.State != "ended" || !strings.Contains(x.Text[0], ": fetched (x") || !strings.HasSuffix(x.Text[0], "), tried once before.") || len(x.Text[0]) > 300 {
			t.Errorf("page %d: %+v", i, x)
		}
	}
}
