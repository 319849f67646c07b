package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

type heading struct{ URL, Text string }

// crawlFor crawls the site of a URL that a user has given, and returns what it has found so far with an error that says
// why it is not all.
func crawlFor(ctx context.Context, url string, opts ...tegenaria.EngineOption) (found []heading, err error) {
	spider := tegenaria.NewSpider("site", tegenaria.Handle(readHeadings), url)
	opts = append(opts,
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second, DenyLoopback: true}),
		tegenaria.EngineWithLimits(tegenaria.Limits{
			Pages: 200, Time: 5 * time.Minute, Depth: 3, Bytes: 100 << 20,
			Body: 4 << 20, BodiesInFlight: 16 << 20, QueueBytes: 16 << 20, Callback: 10 * time.Second,
		}),
		tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithQuiet())
	for item, failed := range tegenaria.Crawl[heading](ctx, spider, opts...) {
		if err = failed; err == nil {
			found = append(found, item)
		}
	}
	return found, err
}

func readHeadings(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[heading]) error {
	for _, h := range page.CSS("h1").All() {
		if err := out.Item(heading{page.URL, h.Text()}); err != nil {
			return err
		}
	}
	return out.FollowLinks()
}

// A service crawls for many users at once. It fails if a crawl loses an item, ends for another reason than its own, or
// leaves a goroutine behind, which the bubble would wait for.
func TestCrawlsForUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		for i := range 80 {
			site := fmt.Sprintf("http://site%d.test/", i)
			w.Page(site, enginetest.Text(`<h1>one</h1><a href="/2">2</a>`)).Page(site+"2", enginetest.Text(`<h1>two</h1>`))
		}
		w.Page("http://endless.test/", enginetest.Hang)
		var users sync.WaitGroup
		for i := range 80 {
			users.Go(func() {
				site := fmt.Sprintf("http://site%d.test/", i)
				found, err := crawlFor(t.Context(), site, tegenaria.EngineWithDownloader(w))
				if want := []heading{{site, "one"}, {site + "2", "two"}}; err != nil || !slices.Equal(found, want) {
					t.Errorf("%s: %v, %v", site, found, err)
				}
			})
		}
		users.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := crawlFor(ctx, "http://endless.test/", tegenaria.EngineWithDownloader(w)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a crawl that its user has given up: %v", err)
			}
		})
		users.Wait()
	})
}

// Nothing on this machine is asked, whatever a user writes, and whoever sends the seed. It fails if one spelling is
// taken for another host, or if one of the ways to a seed is forgotten.
func TestDenyLoopback(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for _, host := range []string{"localhost", "LOCALHOST.", "shop.localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1",
		"0177.0.0.1", "127.255.255.254", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "①②⑦.0.0.1"} {
		url := "http://" + host + ":" + port + "/"
		seed := tegenaria.NewRequest(url, "GET", nil)
		for name, spider := range map[string]tegenaria.SpiderInterface{
			"FeedUrls": tegenaria.NewSpider("site", enginetest.Nothing, url),
			"requests": tegenaria.NewSpiderOf("site", enginetest.Nothing, seed),
			"start": tegenaria.NewSpiderOf("site", enginetest.Nothing).OnStart(
				func(_ context.Context, emit func(*tegenaria.Request) error) error { return emit(seed) }),
			"proxy": tegenaria.NewSpiderOf("site", enginetest.Nothing, tegenaria.NewRequest(url, "GET", nil,
				tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: server.URL}))),
		} {
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithQuiet(),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{DenyLoopback: true}))
			err := e.Run(t.Context(), "site")
			var private *tegenaria.PrivateAddressError
			if !errors.As(err, &private) {
				t.Errorf("%s as %s: %v", url, name, err)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// What an earlier run has allowed is not allowed any more.
func TestDenyLoopbackOfStoredJob(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/1">1</a><a href="/2">2</a>`)
	}))
	defer server.Close()
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run := func(deny bool, pages int) error {
		spider := tegenaria.NewSpider("site", tegenaria.Handle(
			func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				return out.FollowLinks()
			}), server.URL+"/")
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithQuiet(), tegenaria.EngineWithCache(store),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, DenyLoopback: deny}),
			tegenaria.EngineWithLimits(tegenaria.Limits{Pages: pages}), tegenaria.EngineWithConcurrency(1))
		return e.Run(t.Context(), "site")
	}
	enginetest.WantStopped(t, run(false, 1), "limit: pages")
	before := asked.Load()
	if err := run(true, 0); err != nil || asked.Load() != before {
		t.Errorf("the job went on with %v, and asked the server %d times", err, asked.Load()-before)
	}
}

// A range that contains loopback addresses contradicts the option.
func TestDenyLoopbackAndAllowPrivate(t *testing.T) {
	for _, allowed := range []string{"127.0.0.1/32", "::1/128", "0.0.0.0/0"} {
		err := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("site", enginetest.Nothing, "http://a.test/")),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{DenyLoopback: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix(allowed)}})).
			Run(t.Context(), "site")
		if err == nil || !strings.Contains(err.Error(), "DenyLoopback") {
			t.Errorf("%s: %v", allowed, err)
		}
	}
}
