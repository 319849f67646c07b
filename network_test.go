package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// dialling is a downloader that is given the network of the run, and keeps what it has dialled.
type dialling struct {
	tegenaria.Downloader
	given   int
	network tegenaria.Network
}

func (d *dialling) UseNetwork(n tegenaria.Network) { d.given, d.network = d.given+1, n }

// It fails if a part that makes connections of its own can reach more, or less, than the engine's own downloader, or if its
// connections outlive the run.
func TestNetwork(t *testing.T) {
	nothing := func(http.ResponseWriter, *http.Request) {}
	seed, private := httptest.NewServer(http.HandlerFunc(nothing)), httptest.NewServer(http.HandlerFunc(nothing))
	t.Cleanup(seed.Close)
	t.Cleanup(private.Close)
	for _, test := range []struct {
		name    string
		allowed []netip.Prefix
		refused bool
	}{
		{"seeds alone", nil, true},
		{"allowed", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := new(dialling)
			var conns []net.Conn
			d.Downloader = tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
				conn, err := d.network.Dial(ctx, "tcp", seed.Listener.Addr().String())
				if err != nil {
					t.Errorf("the seed: %v", err)
				} else {
					conns = append(conns, conn)
				}
				conn, err = d.network.Dial(ctx, "tcp", private.Listener.Addr().String())
				if _, refused := errors.AsType[*tegenaria.PrivateAddressError](err); refused != test.refused || (err == nil) == test.refused {
					t.Errorf("the private address: %v", err)
				}
				if err == nil {
					conns = append(conns, conn)
				}
				if _, err := d.network.Dial(ctx, "udp", seed.Listener.Addr().String()); !errors.Is(err, net.UnknownNetworkError("udp")) {
					t.Errorf("udp: %v", err)
				}
				return tegenaria.NewResponse(r, 200, nil, nil), nil
			})
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithDownloader(d),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, AllowPrivate: test.allowed}))
			e.RegisterSpiders(tegenaria.NewSpider("s", nothingToParse, seed.URL))
			if err := e.Run(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			if d.given != 1 {
				t.Errorf("the network was given %d times", d.given)
			}
			for _, conn := range conns {
				if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a connection outlives the run: %v", err)
				}
			}
			if _, err := d.network.Dial(t.Context(), "tcp", seed.Listener.Addr().String()); err == nil {
				t.Error("the network outlives the run")
			}
		})
	}
}

func nothingToParse(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// It fails if a part whose pages make requests of their own cannot have them obey robots.txt and the pauses of hosts.
func TestNetworkOfSubRequests(t *testing.T) {
	var asked atomic.Int64 // for robots.txt
	serve := func(status int) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1); r.URL.Path != "/robots.txt" || r.UserAgent() != "spider/1" {
				t.Errorf("%s was asked for by %q", r.URL, r.UserAgent())
			}
			w.WriteHeader(status)
			io.WriteString(w, "User-agent: spider\nDisallow: /private\n")
		}))
		t.Cleanup(s.Close)
		return s
	}
	site, broken, gone := serve(200), serve(500), serve(200)
	gone.Close()
	for _, ignored := range []bool{false, true} {
		t.Run(fmt.Sprintf("ignored: %t", ignored), func(t *testing.T) {
			asked.Store(0)
			d := new(dialling)
			check := func(ctx context.Context, n tegenaria.Network) {
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						if err := n.Robots(ctx, site.URL+"/public?private"); err != nil {
							t.Errorf("what is allowed: %v", err)
						}
					})
				}
				all.Wait()
				for _, test := range []struct {
					url  string
					want error
				}{
					{site.URL + "/private?x", &tegenaria.RobotsError{URL: site.URL + "/private?x"}},
					{broken.URL + "/", &tegenaria.RobotsError{URL: broken.URL + "/", Unreachable: true}},
				} {
					if err := n.Robots(ctx, test.url); ignored == (err != nil) || err != nil && !reflect.DeepEqual(err, test.want) {
						t.Errorf("%s: %v, want %v", test.url, err, test.want)
					}
				}
				_, unreachable := errors.AsType[*tegenaria.RobotsUnreachableError](n.Robots(ctx, gone.URL+"/"))
				if unreachable == ignored {
					t.Errorf("a dead host: a RobotsUnreachableError is %t", unreachable)
				}
				if _, is := errors.AsType[*tegenaria.RequestError](n.Robots(ctx, "ftp://a.example/")); !is {
					t.Error("an ftp URL is no RequestError")
				}
				over, cancel := context.WithCancelCause(ctx)
				cancel(io.ErrNoProgress)
				if err := n.Robots(over, "http://late.example/"); !ignored && !errors.Is(err, io.ErrNoProgress) {
					t.Errorf("with a context that is over: %v", err)
				}
				if got := n.UserAgent(); got != "spider/1" {
					t.Errorf("the agent is %q", got)
				}
				for url, want := range map[string]bool{
					"http://a.example/": true, "http://elsewhere.test/": false, "ftp://a.example/": false, "http://a.example/unwanted": false,
				} {
					if n.InScope(url) != want {
						t.Errorf("%s is in scope: %t", url, !want)
					}
				}
				n.Refused("http://busy.example/a", 404, "60")
				if at := n.PausedUntil("http://busy.example/"); !at.IsZero() {
					t.Errorf("404 gives a pause until %v", at)
				}
				n.Refused("http://busy.example/a", 429, "60")
				n.Refused("https://busier.example/a", 503, "")
				if left := time.Until(n.PausedUntil("https://busy.example:444/b")); left < 30*time.Second || left > time.Minute {
					t.Errorf("after Retry-After: 60 the pause is %v", left)
				}
				if n.PausedUntil("https://busier.example/").IsZero() || !n.PausedUntil("https://calm.example/").IsZero() {
					t.Error("a refusal without Retry-After gives no pause, or pauses others")
				}
			}
			d.Downloader = tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
				if strings.HasSuffix(r.Url, "/robots.txt") {
					return tegenaria.NewResponse(r, 404, nil, nil), nil
				}
				check(ctx, d.network)
				return tegenaria.NewResponse(r, 200, nil, nil), nil
			})
			filter := &enginetest.FilterHooks{Accept: func(parent *tegenaria.Response, r *tegenaria.Request) error {
				if parent == nil && r.Url == "http://a.example/unwanted" {
					return tegenaria.IgnoreRequest("unwanted")
				}
				return nil
			}}
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithMiddlewares(filter),
				tegenaria.EngineWithAllowedDomains("a.example", "page.example"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
					IgnoreRobots: ignored, UserAgent: "spider/1", PerSlot: 1, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
			e.RegisterDownloader("own", d)
			e.RegisterSpiders(tegenaria.NewSpiderOf("s", nothingToParse,
				tegenaria.NewRequest("http://page.example/", "", nil, tegenaria.RequestWithDownloader("own"))))
			if err := e.Run(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			if stats := e.Stats(); stats.Discovered != 1 {
				t.Errorf("%d requests are counted", stats.Discovered)
			}
			want := int64(2)
			if ignored {
				want = 0
			}
			if got := asked.Load(); got != want {
				t.Errorf("robots.txt was asked for %d times, want %d", got, want)
			}
		})
	}
}
